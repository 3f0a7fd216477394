# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts with mu = inf: if one is active it does not slip, lam = 0 or u_t = 0.

Coulomb's law with a large enough coefficient is the same: a solution in which no such contact slides satisfies both laws. How
large depends on how flat the friction impulses are, so the coefficient is increased until the solution satisfies the law
without a bound. Methods that work with cones become slow if these are nearly half-spaces. Pivoting does not, because contacts
that stick are equations for it, so it goes first if there are few contacts.

There may be no solution, as with very large dry friction: bodies that wedge each other slide at any coefficient, with ever
    smaller normal impulses. The status is then UNCONFIRMED.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ..problem.contact_problem import ContactProblem
from ..problem.result import Found, Result, Status, together

__all__ = ["MOST_PIVOTED", "has_ties", "solve_ties"]

ENOUGH = (1e2, 1e4, 1e6)  # coefficients in order; their cones differ from a half-space by 0.6, 0.006 and 0.00006 degrees
MOST_PIVOTED = 100  # largest number of contacts for pivoting, because a pivot costs the square of it

Start = NDArray[np.float64] | None
Solve = Callable[[ContactProblem, float, Start], Result]


def has_ties(problem: ContactProblem) -> bool:
    """Return True if a contact of the problem cannot slip."""
    return bool(np.isposinf(problem.system.mu).any())


def solve_ties(
    problem: ContactProblem,
    ways: Sequence[Solve],
    measured: Callable[[Result], float],
    limits: tuple[float, float],
    start: Start,
) -> Result:
    """Solve a problem with contacts that cannot slip.

    ways: solvers of a problem with finite coefficients, in order; called with a time limit [s] and a warm start.
    measured: returns the largest relative residual of the law with mu = inf.
    limits: tolerance, and time limit [s].
    start: (m, dim) warm start [N s], or None.
    """
    tolerance, time_limit = limits
    deadline = perf_counter() + time_limit
    tied = np.isposinf(problem.system.mu)
    best, least, stats = None, np.inf, None
    for mu, solve in product(ENOUGH, ways):
        finite = np.where(tied, mu, problem.system.mu)
        bounded = replace(problem, system=problem.system._replace(mu=finite), mu=finite, mu_dynamic=finite)
        result = solve(bounded, max(deadline - perf_counter(), 0.0), start)
        stats = result.stats if stats is None else together(stats, result.stats, result.stats.found)
        error = measured(result)
        if best is None or error < least:
            best, least = result, error
        if error <= tolerance or result.status in (Status.INFEASIBLE, Status.TIME_LIMIT):
            break
    assert best is not None and stats is not None
    if least <= tolerance:
        return replace(
            best, status=Status.SOLVED, solver="staggered", stats=replace(stats, found=stats.found or Found.PIVOTING)
        )
    status = Status.UNCONFIRMED if best.status is Status.SOLVED else best.status
    return replace(best, status=status, solver="staggered", stats=replace(stats, found=None))
