# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes a sweep on this machine: each thread of a pool waits for a process that bakes."""

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
def local_pool(workers: int, heard: Heard) -> Iterator[LocalPool]:
    """So many processes of this machine, which end with the block, and with this process however that ends."""
    bakers = Bakers()
    with ThreadPoolExecutor(workers, thread_name_prefix="bake") as threads:
        pool = LocalPool(threads, bakers, heard)
        try:
            yield pool
        finally:
            pool.cancel()


class LocalPool:
    """A `Pool` of threads, which wait for `Bakers`."""

    def __init__(self, threads: ThreadPoolExecutor, bakers: Bakers, heard: Heard):
        self._threads, self._bakers, self._heard = threads, bakers, heard

    def submit(self, order: Order) -> Future[Outcome]:
        """Bake a variation as soon as a thread is free."""
        return self._threads.submit(bake_variation, order, self._bakers, self._heard)

    def cancel(self) -> None:
        """End all bakes; their caches keep the frames so far."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._bakers.end()

    def refuse_lost(self) -> None:
        """Do nothing: this machine is never lost."""

    def why(self, error: BaseException) -> str:
        """Why a bake that raised this has failed."""
        return f"{type(error).__name__}: {error}"
