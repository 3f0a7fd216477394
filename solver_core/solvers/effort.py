"""How much a solve may cost: a bound on its factorisations, which is the same on every run, and one on time, which is not.

Kernels cannot ask the time in a way that is portable and can be cached. So they read, between any two factorisations, an array
that a thread of Python's writes to while they run (Kaufman et al. 2008, section 7: a contact projection is the last thing done
when time is over).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import leaf_kernel

__all__ = ["BELL", "DONE", "MOST", "effort_of", "is_over", "ringing", "spent"]

BELL, DONE, MOST = range(3)
FACTORISATIONS_PER_ITERATION = 80  # for each iteration that is allowed

LAST_CALL, CLOSED = 1, 2  # of the bell


def effort_of(max_iterations: int) -> NDArray[np.int64]:
    """(3,) how often the bell has rung, factorisations done, and how many may be."""
    return np.array([0, 0, FACTORISATIONS_PER_ITERATION * max_iterations], dtype=np.int64)


@leaf_kernel
def spent(effort):
    """Whether nothing but a contact projection should be begun."""
    return effort[BELL] >= LAST_CALL or effort[DONE] >= effort[MOST]


@leaf_kernel
def is_over(effort):
    """Whether a contact projection, too, should end as it is."""
    return effort[BELL] >= CLOSED


@contextmanager
def ringing(effort: NDArray[np.int64], seconds: float) -> Iterator[None]:
    """Ring the bell of an effort after so many seconds (inf: never), and again after as many, which are for contact alone."""
    effort[BELL] = 0
    if seconds == np.inf:
        yield
        return
    done = threading.Event()

    def ring() -> None:
        while effort[BELL] < CLOSED and not done.wait(seconds):
            effort[BELL] += 1

    watch = threading.Thread(target=ring, daemon=True)
    watch.start()
    try:
        yield
    finally:
        done.set()
        watch.join()
