# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems given as a sparse matrix with an island too wide to be made dense: solved in impulses, by the matrix alone.

What proposes impulses to Staggered Projections for other matrices (`coulomb/given_as_matrix.py`) takes time and memory for the
entries of G and of its sparse factors. There are no projections here to accept them, for these need G = F F^T: SOLVED claims
that the residuals of Coulomb's law are within the tolerance, and nothing of the relative error (28).
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from ..problem.accuracy import coulomb_error, masses_of
from ..problem.contact_problem import ContactProblem
from ..problem.residuals import scales
from ..problem.result import Found, Result, Statistics, Status
from .coulomb.dense_newton import Island
from .coulomb.given_as_matrix import solve_matrix_island
from .effort import OVERDUE, deadline_timer, effort_of_a_step

__all__ = ["solve_sparse"]

TRIES, TIGHTER_A_TRY = 3, 0.1  # of a tolerance: the natural map is what is aimed at, and other residuals may be larger


def solve_sparse(problem: ContactProblem, tolerance: float, time_limit: float, start: NDArray[np.float64] | None) -> Result:
    """Solve a problem that has its matrix; start: (m, dim) impulses."""
    assert problem.matrix is not None
    begin, m, dim = perf_counter(), problem.contacts, problem.dim
    impulse = np.zeros((m, 3))
    if start is not None:
        impulse[:, :dim] = start
    island, (fastest, _) = _island(problem), scales(problem.system, np.zeros((m, 3)))
    found, tries, factorisations, error = Found.START, 0, 0, np.inf
    best, effort = impulse, effort_of_a_step()
    with deadline_timer(effort, time_limit):
        while tries < TRIES and error > tolerance and not effort[OVERDUE]:
            aim = tolerance * TIGHTER_A_TRY**tries
            impulse, found, cost = solve_matrix_island(island, impulse, aim, fastest, effort)
            tries, factorisations = tries + 1, factorisations + cost
            here = coulomb_error(problem, _result(problem, impulse, Status.SOLVED, Statistics(0, 0, 0.0)), 0)
            if here < error:
                best, error = impulse, here
        is_over = bool(effort[OVERDUE])
    status = Status.SOLVED if error <= tolerance else (Status.TIME_LIMIT if is_over else Status.MAX_ITERATIONS)
    by = found if status is Status.SOLVED else None
    return _result(problem, best, status, Statistics(tries, factorisations, perf_counter() - begin, found=by))


def _island(problem: ContactProblem) -> Island:
    """All contacts as one island, with three rows each."""
    assert problem.matrix is not None
    m, dim = problem.contacts, problem.dim
    place = (3 * np.arange(m)[:, None] + np.arange(dim)).ravel()
    wider = csr_matrix((np.ones(m * dim), (place, np.arange(m * dim))), shape=(3 * m, m * dim))
    free = np.zeros((m, 3))
    free[:, :dim] = problem.free_velocity
    free[:, 0] += problem.system.slack
    return Island(csr_matrix(wider @ problem.matrix @ wider.T), free, problem.system.mu, masses_of(problem))


def _result(problem: ContactProblem, impulse: NDArray[np.float64], status: Status, stats: Statistics) -> Result:
    assert problem.matrix is not None
    given = impulse[:, : problem.dim].copy()
    velocity = problem.free_velocity + (problem.matrix @ given.ravel()).reshape(given.shape)
    return Result(status, given, velocity, np.zeros(0), stats, "staggered")
