# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems given as a matrix that was rounded: solved with the matrix mended, until the law holds with the one that was given.

With G the mended matrix and G + E the given one, which may have no symmetry and negative eigenvalues, what is solved is

    u = G lam + (E lam' + g),    lam' the impulses found before,

and a fixed point has the law with u = (G + E) lam + g. E is as small as the rounding was, so that one or two corrections do.
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

CORRECTIONS_OF_ROUNDING = 6

Solve = Callable[
    [ContactProblem, float, float, np.ndarray | None], Result
]  # of a tolerance, seconds, and impulses to start from


def solve_rounded(
    problem: ContactProblem,
    solve: Solve,
    measured: Callable[[Result], float],
    limits: tuple[float, float],
    start: np.ndarray | None,
) -> Result:
    """Solve a problem whose matrix was mended, so that it has the law with the matrix that was given.

    measured: the largest relative residual of a result with that. limits: the tolerance, and s. Where corrections do not lead
    there, the best of them is UNCONFIRMED.
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
        given = problem.rounded.velocity(flat, np.concatenate([problem.free_velocity.ravel(), free]))
        answer = replace(result, velocity=given[: m * dim].reshape(m, dim))
        error = measured(answer)
        if best is None or error < least:
            best, least = answer, error
        if error <= tolerance or result.status is not Status.SOLVED or perf_counter() > deadline:
            break
        # what the mended matrix makes of these impulses, without what the last correction added
        mended = answer_of(plain, flat)
        bias = whole.bias.copy()
        bias[:, :dim] += (given - mended)[: m * dim].reshape(m, dim)
        shifted = replace(plain, system=whole._replace(bias=bias), bilateral=(rows, free + (given - mended)[m * dim :]))
        start = result.impulse
    assert best is not None and stats is not None
    status = best.status
    if status is Status.SOLVED and not least <= tolerance:
        status = Status.UNCONFIRMED
    return replace(best, status=status, stats=stats if status is Status.SOLVED else replace(stats, found=None))


def answer_of(problem: ContactProblem, impulse: np.ndarray) -> np.ndarray:
    """(m dim + b,) velocities of contacts, then of bilateral constraints, after impulses (m dim + b,) of a problem given as a
    matrix, whose bodies are of mass 1."""
    m, dim, (rows, free) = problem.contacts, problem.dim, problem.bilateral
    if problem.matrix is not None:
        return problem.matrix @ impulse + problem.free_velocity.ravel()
    padded = np.zeros((m, 3))
    padded[:, :dim] = impulse[: m * dim].reshape(m, dim)
    v = rows.T @ impulse[m * dim :]
    transpose_product(problem.system, padded, v)
    velocity = relative_velocities(problem.system, v)[:, :dim]
    return np.concatenate([velocity.ravel(), rows @ v + free])
