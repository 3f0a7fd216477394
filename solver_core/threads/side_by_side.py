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

MOST_RUNS = 16  # two for each of eight threads, the limit of `number_of_threads(0)`
WAIT = 0.02  # s


def runs(sizes: NDArray[np.int64], least: int) -> list[tuple[int, int]]:
    """Cut items, in their order, into runs of about the same size.

    The runs depend on the sizes alone, so the results of runs do not depend on the number of threads.

    Parameters
    ----------
    sizes : (items,) sizes
    least : the least size of a run; only a single run may be smaller

    Returns
    -------
    (first item, the one after the last item) of each run
    """
    return list(pairwise(ends_of_runs(sizes, least).tolist()))


@kernel
def ends_of_runs(sizes, least):
    """Return (runs + 1,) the first item of each of the `runs`, and the number of items."""
    left = sizes.sum()
    share = max(least, -(-left // MOST_RUNS))
    ends, count, run = np.empty(sizes.size + 1, np.int64), 0, 0
    for i in range(sizes.size):
        if i == 0 or (run >= share and left >= least):
            ends[count], count, run = i, count + 1, 0
        run += sizes[i]
        left -= sizes[i]
    ends[count] = sizes.size
    return ends[: count + 1].copy()


def side_by_side(
    threads: int, tasks: Sequence[Callable[[], Result]], meanwhile: Callable[[], object] = lambda: None
) -> list[Result]:
    """Do tasks in several threads, and return their results in their order.

    If tasks raise exceptions, the exception of the first of them is raised.

    meanwhile: called every `WAIT` seconds until all tasks are done.
    """
    if threads == 1 or len(tasks) < 2:
        return [task() for task in tasks]
    with ThreadPoolExecutor(min(threads, len(tasks))) as pool:
        futures = [pool.submit(task) for task in tasks]
        while wait(futures, WAIT).not_done:
            meanwhile()
    return [future.result() for future in futures]
