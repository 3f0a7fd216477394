# SPDX-License-Identifier: GPL-3.0-or-later
"""The budget of a step: reproducible bounds on factorizations and work, and a bound on time, which is not reproducible.

The number of iterations does not bound the cost. An iteration takes one factorization or a hundred. A factorization for two
cards takes a thousand multiplications, one for a block in two hundred pieces takes ten million. So a solve may do a number of
factorizations in proportion to its iterations, and a step may do a number of multiplications. When these are used up, a solve
still gets the factorizations of a few iterations. The step is then not retried, unless it has so many contacts that a few tries
alone take that much work.

Kernels cannot read a clock in a way that is portable and can be cached. Between two factorizations they read an array instead,
which a Python thread changes when the time runs out. The solve then ends with a contact projection (Kaufman et al. 2008,
section 7), so that the result satisfies contact. The clock never stops a contact projection, because a partial one is worse
than none. It is a convex problem whose cost is bounded in factorizations.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import kernel, leaf_kernel
from ..threads.side_by_side import side_by_side

__all__ = [
    "DONE",
    "LEAST",
    "MOST",
    "MULTIPLICATIONS",
    "OF_A_RUN",
    "OVERDUE",
    "WORK",
    "allow",
    "count_factorisation",
    "count_products",
    "deadline_timer",
    "do_within_budget",
    "effort_of_a_step",
    "has_work_left",
    "is_over",
    "is_worked_off",
    "patience",
    "spent",
]

Result = TypeVar("Result")

# Indices of the entries of an effort. OVERDUE: 1 after the deadline. DONE, MOST: factorizations of the solve so far, and their
# limit. COST: multiplications per factorization. WORK: multiplications of the step so far.
OVERDUE, DONE, MOST, COST, WORK = range(5)
# Larger limits let failing solves and steps take longer; with smaller ones hard steps stay unsolved.
FACTORISATIONS_PER_ITERATION = 80  # limit of factorizations, for each iteration that is allowed
LEAST = 400  # factorizations that any solve may do if its iterations allow, so that a step out of budget is still solved once
MULTIPLICATIONS = 30_000_000_000  # limit of multiplications per step, about half a minute
OF_A_CONTACT_IN_ALL_TRIES = 6_400_000  # the same per contact, above 4,700 contacts: eight tries in a pile of 8,000 cubes
# A method may use 1 / PATIENT_PART of a solve's factorizations, or WITHOUT_PROGRESS multiplications (about 0.1 s) if that is
# more, without halving its error. With more, failing methods take longer; with less, slow ones are stopped.
PATIENT_PART = 40
WITHOUT_PROGRESS = 100_000_000
# The unit of work is a multiplication.
OF_A_PRODUCT = 216  # in a product of two 6 by 6 blocks
OF_A_CONTACT = 400  # to assemble and evaluate a contact, approximately

# Least number of contacts and joints in a run, which one thread solves. Smaller runs do not make up for the 1 ms in which a
# thread starts; larger ones leave threads without work.
OF_A_RUN = 1000


def effort_of_a_step() -> NDArray[np.int64]:
    """Return an effort (5,) without any work done."""
    return np.zeros(5, dtype=np.int64)


@kernel
def allow(effort, max_iterations, products, contacts):
    """Set the limits at the start of a solve.

    max_iterations: maximum number of iterations. products: block products per factorization. contacts: number of contacts.
    """
    cost = OF_A_PRODUCT * products + OF_A_CONTACT * contacts + 1
    units_left = (MULTIPLICATIONS - effort[WORK]) // cost + 1
    effort[DONE], effort[COST] = 0, cost
    effort[MOST] = min(FACTORISATIONS_PER_ITERATION * max_iterations, max(LEAST, units_left))


@leaf_kernel
def count_factorisation(effort):
    """Count one factorization. Call it for each."""
    effort[DONE] += 1
    effort[WORK] += effort[COST]


@leaf_kernel
def count_products(effort, products):
    """Count work outside factorizations, in products of two 6 by 6 blocks."""
    effort[WORK] += OF_A_PRODUCT * products


def is_worked_off(effort: NDArray[np.int64], contacts: int = 0) -> bool:
    """Return True if a step with this number of contacts has used up its work."""
    return bool(effort[WORK] >= max(MULTIPLICATIONS, OF_A_CONTACT_IN_ALL_TRIES * contacts))


@leaf_kernel
def has_work_left(effort):
    """Return True if the step may do more work, whatever a solve has done."""
    return effort[OVERDUE] == 0 and effort[WORK] < MULTIPLICATIONS


@leaf_kernel
def spent(effort):
    """Return True if the budget or the time is used up, so that only a contact projection may start."""
    return effort[OVERDUE] > 0 or effort[DONE] >= effort[MOST]


@leaf_kernel
def patience(effort):
    """Return the number of factorizations without halving the error after which a method stops.

    It is a fraction of the solve's limit, and larger for small matrices.
    """
    return max(LEAST, effort[MOST] // PATIENT_PART, WITHOUT_PROGRESS // effort[COST])


@leaf_kernel
def is_over(effort):
    """Return True if even a contact projection must stop. This depends on work and factorizations, never on the clock."""
    return effort[WORK] >= 2 * MULTIPLICATIONS and effort[DONE] >= 2 * LEAST


def do_within_budget(
    threads: int, effort: NDArray[np.int64], tasks: Sequence[Callable[[NDArray[np.int64]], Result]]
) -> list[Result]:
    """Do tasks that share the budget of a step, in several threads.

    Each task starts with the work that the step has done before all of them, so that the results do not depend on the number
    of threads.

    Parameters
    ----------
    threads : number of threads
    effort : (5,) of the step; the work of all tasks is added
    tasks : each is called with an effort, which counts its work

    Returns
    -------
    the results of the tasks, in their order
    """
    begin, done = int(effort[WORK]), 0
    if threads == 1 or len(tasks) < 2:
        results = []
        for task in tasks:
            effort[WORK] = begin
            results.append(task(effort))
            done += int(effort[WORK]) - begin
    else:
        efforts = np.tile(effort, (len(tasks), 1))

        def pass_on_deadline() -> None:
            efforts[:, OVERDUE] = effort[OVERDUE]

        each = [partial(task, of_task) for task, of_task in zip(tasks, efforts, strict=True)]
        results, done = side_by_side(threads, each, pass_on_deadline), int((efforts[:, WORK] - begin).sum())
    effort[WORK] = begin + done
    return results


@contextmanager
def deadline_timer(effort: NDArray[np.int64], seconds: float) -> Iterator[None]:
    """Mark an effort as overdue after `seconds` (inf: never). After that, only contact projections start."""
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
