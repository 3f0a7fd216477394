# SPDX-License-Identifier: GPL-3.0-or-later
"""How much a step may cost: bounds on factorisations and on work, the same on every run, and one on time, which is not.

Iterations bound nothing: one costs a factorisation or a hundred, and a factorisation of two cards takes a thousand
multiplications, one of a block in two hundred pieces ten million. So a solve has factorisations in proportion to the
iterations that it is allowed, and a step has multiplications: when these are spent a solve has as many factorisations as some
iterations take. A step is not tried again then, unless its contacts are so many that a few tries alone take as much.

Kernels cannot read a clock in a way that is portable and can be cached. So they read, between any two factorisations, an array
that a thread of Python's writes to while they run. Contact is kept when time is over, and a contact projection the last thing
done (Kaufman et al. 2008, section 7): the clock never cuts one short, since what it has halfway is worse than nothing. It is a
convex problem, and what it may cost is bounded in factorisations.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import kernel, leaf_kernel

__all__ = [
    "DONE",
    "LEAST",
    "MOST",
    "MULTIPLICATIONS",
    "OVERDUE",
    "WORK",
    "allow",
    "count_factorisation",
    "count_products",
    "deadline_timer",
    "effort_of_a_step",
    "is_over",
    "is_worked_off",
    "patience",
    "spent",
]

# entries of an effort: whether the deadline has passed; factorisations that a solve has done, how many it may do, and the
# multiplications in one; multiplications that the step has done
OVERDUE, DONE, MOST, COST, WORK = range(5)
FACTORISATIONS_PER_ITERATION = 80  # for each iteration that is allowed
LEAST = 400  # factorisations that any solve may do, some iterations
MULTIPLICATIONS = 30_000_000_000  # in a step: about half a minute
PATIENT_PART = 40  # of the factorisations that a solve may do: one that does not halve an error is enough
WITHOUT_PROGRESS = 100_000_000  # multiplications, about a tenth of a second, that may well do no good
OF_A_CONTACT_IN_ALL_TRIES = 6_400_000  # in a step of many: eight tries, of what one takes in a heap of 8,000 cubes
OF_A_PRODUCT = 216  # multiplications, of two blocks of six by six
OF_A_CONTACT = 400  # about, to put it into the matrix and to look at it


def effort_of_a_step() -> NDArray[np.int64]:
    """(5,) an effort of which nothing is done."""
    return np.zeros(5, dtype=np.int64)


@kernel
def allow(effort, max_iterations, products, contacts):
    """Begin a solve of so many iterations at most. products: of blocks, in a factorisation."""
    cost = OF_A_PRODUCT * products + OF_A_CONTACT * contacts + 1
    left = (MULTIPLICATIONS - effort[WORK]) // cost + 1
    effort[DONE], effort[COST] = 0, cost
    effort[MOST] = min(FACTORISATIONS_PER_ITERATION * max_iterations, max(LEAST, left))


@leaf_kernel
def count_factorisation(effort):
    """To be called for each."""
    effort[DONE] += 1
    effort[WORK] += effort[COST]


@leaf_kernel
def count_products(effort, products):
    """As many products of two blocks that are no part of a factorisation; other work is counted in them."""
    effort[WORK] += OF_A_PRODUCT * products


def is_worked_off(effort: NDArray[np.int64], contacts: int = 0) -> bool:
    """Whether a step of so many contacts has done all the work that it may."""
    return bool(effort[WORK] >= max(MULTIPLICATIONS, OF_A_CONTACT_IN_ALL_TRIES * contacts))


@leaf_kernel
def spent(effort):
    """Whether nothing but a contact projection should be begun."""
    return effort[OVERDUE] > 0 or effort[DONE] >= effort[MOST]


@leaf_kernel
def patience(effort):
    """Factorisations after which what has not halved its error is given up: a part of what the solve may do, more of small
    matrices."""
    return max(LEAST, effort[MOST] // PATIENT_PART, WITHOUT_PROGRESS // effort[COST])


@leaf_kernel
def is_over(effort):
    """Whether a contact projection, too, should end as it is: not for the time that it takes."""
    return effort[WORK] >= 2 * MULTIPLICATIONS and effort[DONE] >= 2 * LEAST


@contextmanager
def deadline_timer(effort: NDArray[np.int64], seconds: float) -> Iterator[None]:
    """Mark an effort as overdue after so many seconds (inf: never): what is begun after that is contact alone."""
    effort[OVERDUE] = effort[WORK] = 0
    if seconds == np.inf:
        yield
        return
    done = threading.Event()

    def expire() -> None:
        if not done.wait(seconds):
            effort[OVERDUE] = 1

    watch = threading.Thread(target=expire, daemon=True)
    watch.start()
    try:
        yield
    finally:
        done.set()
        watch.join()
