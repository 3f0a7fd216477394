# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems given as an inexact matrix: the repaired matrix is solved, and corrected until the law holds with the original.

Let G be the repaired matrix and G + E the original, which may be unsymmetric with negative eigenvalues. The problem

    u = G lam + (E lam' + g),    lam' the impulses of the last solve,

is solved repeatedly. At a fixed point the law holds with u = (G + E) lam + g. E is as small as the round-off, so one or two
corrections are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np

from ..problem.contact_problem import ContactProblem
from ..problem.result import Result, Status, together
from ..problem.system import relative_velocities, transpose_product
from ..solvers.criteria import OF_MENDED

__all__ = ["solve_rounded"]

CORRECTIONS_OF_ROUNDING = 6  # maximum number of corrections; one or two are enough where they converge

# Called with a problem, a tolerance, a time limit [s] and a warm start (m, dim) [N s].
Solve = Callable[[ContactProblem, float, float, np.ndarray | None], Result]


def solve_rounded(
    problem: ContactProblem,
    solve: Solve,
    measured: Callable[[Result], float],
    limits: tuple[float, float],
    start: np.ndarray | None,
) -> Result:
    """Solve a problem whose matrix was repaired, such that the law holds with the original matrix.

    If the corrections do not reach the tolerance, the best result is returned with the status UNCONFIRMED.

    solve: solver of problems with the repaired matrix.
    measured: returns the largest relative residual of a result with the original matrix.
    limits: tolerance, and time limit [s].
    start: (m, dim) warm start [N s], or None.
    """
    tolerance, time_limit = limits
    deadline = perf_counter() + time_limit
    assert problem.rounded is not None
    m, dim, whole = problem.contacts, problem.dim, problem.system
    rows, free = problem.bilateral
    plain = replace(problem, rounded=None)
    shifted, best, least, stats = plain, None, np.inf, None
    for _ in range(1 + CORRECTIONS_OF_ROUNDING):
        result = solve(shifted, OF_MENDED * tolerance, max(deadline - perf_counter(), 0.0), start)
        stats = result.stats if stats is None else together(stats, result.stats, result.stats.found)
        flat = np.concatenate([result.impulse.ravel(), result.bilateral])
        exact = problem.rounded.velocity(flat, np.concatenate([problem.free_velocity.ravel(), free]))
        answer = replace(result, velocity=exact[: m * dim].reshape(m, dim))
        error = measured(answer)
        if best is None or error < least:
            best, least = answer, error
        if error <= tolerance or result.status is not Status.SOLVED or perf_counter() > deadline:
            break
        # The velocities of these impulses with the repaired matrix, without the last correction.
        repaired = answer_of(plain, flat)
        bias = whole.bias.copy()
        bias[:, :dim] += (exact - repaired)[: m * dim].reshape(m, dim)
        shifted = replace(plain, system=whole._replace(bias=bias), bilateral=(rows, free + (exact - repaired)[m * dim :]))
        start = result.impulse
    assert best is not None and stats is not None
    status = best.status
    if status is Status.SOLVED and not least <= tolerance:
        status = Status.UNCONFIRMED
    return replace(best, status=status, stats=stats if status is Status.SOLVED else replace(stats, found=None))


def answer_of(problem: ContactProblem, impulse: np.ndarray) -> np.ndarray:
    """Return the velocities (m dim + b,) of contacts and bilateral constraints [m/s] with the repaired matrix.

    problem: a problem given as a matrix, whose bodies have unit mass. impulse: (m dim + b,) [N s].
    """
    m, dim, (rows, free) = problem.contacts, problem.dim, problem.bilateral
    if problem.matrix is not None:
        return problem.matrix @ impulse + problem.free_velocity.ravel()
    padded = np.zeros((m, 3))
    padded[:, :dim] = impulse[: m * dim].reshape(m, dim)
    v = rows.T @ impulse[m * dim :]
    transpose_product(problem.system, padded, v)
    velocity = relative_velocities(problem.system, v)[:, :dim]
    return np.concatenate([velocity.ravel(), rows @ v + free])
