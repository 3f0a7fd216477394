# SPDX-License-Identifier: GPL-3.0-or-later
"""Tasks that do not depend on each other, done in several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import kernel

__all__ = ["ends_of_runs", "runs", "side_by_side"]

Result = TypeVar("Result")

MOST_RUNS = 16
WAIT = 0.02  # s


def runs(sizes: NDArray[np.int64], least: int) -> list[tuple[int, int]]:
    """Items, in their order, cut into runs (first, one after the last) of about the same size, about `least` or more. It
    depends on the sizes alone, so what runs come to does not on the number of threads."""
    return list(pairwise(ends_of_runs(sizes, least).tolist()))


@kernel
def ends_of_runs(sizes, least):
    """(runs + 1,) the first item of each of the `runs`, and how many items there are."""
    share = max(least, -(-sizes.sum() // MOST_RUNS))
    ends, count, before, last = np.empty(sizes.size + 1, np.int64), 0, 0, -1
    for i in range(sizes.size):
        if before // share > last:
            ends[count], count = i, count + 1
        last = before // share
        before += sizes[i]
    ends[count] = sizes.size
    return ends[: count + 1].copy()


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
