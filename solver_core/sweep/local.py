# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps on this machine: each thread of a pool waits for a baking process."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from .baker import Bakers
from .outcome import Outcome
from .pool import Heard, Order
from .task import bake_variation

__all__ = ["LocalPool", "local_pool"]


@contextmanager
def local_pool(workers: int, on_record: Heard) -> Iterator[LocalPool]:
    """Context with this number of local processes, which end with the block, and with this process."""
    bakers = Bakers()
    with ThreadPoolExecutor(workers, thread_name_prefix="bake") as threads:
        pool = LocalPool(threads, bakers, on_record)
        try:
            yield pool
        finally:
            pool.cancel()


class LocalPool:
    """A `Pool` of threads that wait for `Bakers`."""

    def __init__(self, threads: ThreadPoolExecutor, bakers: Bakers, on_record: Heard):
        self._threads, self._bakers, self._heard = threads, bakers, on_record

    def submit(self, order: Order) -> Future[Outcome]:
        """Bake a variation as soon as a thread is free."""
        return self._threads.submit(bake_variation, order, self._bakers, self._heard)

    def cancel(self) -> None:
        """End all bakes; their caches keep the finished frames."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._bakers.end()

    def refuse_lost(self) -> None:
        """Do nothing, because this machine is never lost."""

    def why(self, error: BaseException) -> str:
        """Return why a bake that raised this error failed."""
        return f"{type(error).__name__}: {error}"
