# SPDX-License-Identifier: GPL-3.0-or-later
"""Tasks that do not depend on each other, done in several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["runs", "side_by_side"]

Result = TypeVar("Result")

MOST_RUNS = 16
WAIT = 0.02  # s


def runs(sizes: NDArray[np.int64], least: int) -> list[tuple[int, int]]:
    """Items, in their order, cut into runs (first, one after the last) of about the same size, about `least` or more. It
    depends on the sizes alone, so what runs come to does not on the number of threads."""
    if len(sizes) == 0:
        return []
    total = int(sizes.sum())
    share = max(least, -(-total // MOST_RUNS))
    begins = np.flatnonzero(np.diff((np.cumsum(sizes) - sizes) // share, prepend=-1) > 0).tolist()
    return list(zip(begins, [*begins[1:], len(sizes)], strict=True))


def side_by_side(
    threads: int, tasks: Sequence[Callable[[], Result]], meanwhile: Callable[[], object] = lambda: None
) -> list[Result]:
    """What tasks return, in their order; `meanwhile` is called every now and then while they are done in other threads. Raises
    what the first of them raises."""
    if threads == 1 or len(tasks) < 2:
        return [task() for task in tasks]
    with ThreadPoolExecutor(min(threads, len(tasks))) as pool:
        futures = [pool.submit(task) for task in tasks]
        while wait(futures, WAIT).not_done:
            meanwhile()
    return [future.result() for future in futures]
