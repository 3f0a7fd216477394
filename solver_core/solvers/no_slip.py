# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts with mu = inf: where one presses it does not slip, lam = 0 or u_t = 0.

Coulomb's law with a coefficient that is large enough is the same: an answer in which no such contact slides has both laws. How
large that is depends on how flat friction may lie, so it is raised until the answer has the law without a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ..problem.contact_problem import ContactProblem
from ..problem.result import Result, Status, together

__all__ = ["has_ties", "solve_ties"]

ENOUGH = (1e2, 1e4, 1e6)  # coefficients in turn: a cone of 90 degrees but 0.6, 0.006, 0.00006

Floats = NDArray[np.float64]


def has_ties(problem: ContactProblem) -> bool:
    """Whether a contact of the problem cannot slip."""
    return bool(np.isposinf(problem.system.mu).any())


def solve_ties(
    problem: ContactProblem,
    solve: Callable[[ContactProblem, float, Floats | None], Result],
    measured: Callable[[Result], float],
    limits: tuple[float, float],
    start: Floats | None,
) -> Result:
    """Solve a problem some of whose contacts cannot slip. solve: of a problem with coefficients, s, and impulses to start from.
    measured: the largest relative residual of the law with mu = inf. limits: the tolerance, and s."""
    tolerance, time_limit = limits
    deadline = perf_counter() + time_limit
    tied = np.isposinf(problem.system.mu)
    best, least, stats = None, np.inf, None
    for mu in ENOUGH:
        finite = np.where(tied, mu, problem.system.mu)
        bounded = replace(problem, system=problem.system._replace(mu=finite), mu=finite, mu_dynamic=finite)
        result = solve(bounded, max(deadline - perf_counter(), 0.0), start)
        stats = result.stats if stats is None else together(stats, result.stats, result.stats.found)
        error = measured(result)
        if best is None or error < least or error <= tolerance:
            best, least = result, error
        if error <= tolerance or result.status in (Status.INFEASIBLE, Status.TIME_LIMIT):
            break
        start = result.impulse
    assert best is not None and stats is not None
    status = best.status
    if status is Status.SOLVED and not least <= tolerance:
        status = Status.UNCONFIRMED
    return replace(best, status=status, stats=stats if status is Status.SOLVED else replace(stats, found=None))
