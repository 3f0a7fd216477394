# SPDX-License-Identifier: GPL-3.0-or-later
"""Proposals for problems given as a matrix, in impulses, with G as it is.

An island of such a problem has no bodies. As one body of n degrees of freedom, each factorization would cost O(n^3). In
impulses the methods need only the rows of G that carry load, and most blocks of G are zero if there are many bodies, because
two contacts without a common body are not coupled. With u = G lam + g:

- ADMM (`solvers/coulomb/admm.py` has the method and its sources) solves in each iteration

      (G + 1/rho) lam = z - w - c - s e_n - g,    u = z - w - c - s e_n - lam / rho;

- then Newton's method solves proximal point steps with a decreasing compliance (`solvers/coulomb/dense_newton.py`).

The results are proposals: Staggered Projections accept them. An exception is a sparse matrix with an island too large to be
    made dense. Projections need G = F F^T, which is not available there, so the proposals are the whole solve. SOLVED then
    claims that the residuals of Coulomb's law are within the tolerance, and nothing about the relative error (28) of Kaufman et
    al. 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from ..problem.accuracy import coulomb_error, masses_of
from ..problem.contact_problem import ContactProblem
from ..problem.coulomb import project_onto_cones
from ..problem.residuals import fastest_velocity
from ..problem.result import Found, Result, Statistics, Status
from ..problem.system import System, relative_velocities
from ..solvers.coulomb.admm_iteration import ADMM_PENALTY, ITERATIONS_A_CHECK, AdmmArrays, AdmmOperator, admm_iteration
from ..solvers.coulomb.dense_newton import Island, continuation, island_of, natural_map, solver, with_diagonal
from ..solvers.coulomb.splitting import RELAXATION
from ..solvers.criteria import ACCEPTABLE, COARSE, TIGHTER_A_TRY, StoppingCriteria, is_converged
from ..solvers.effort import OVERDUE, deadline_timer, effort_of_a_step
from .by_islands import WIDE

__all__ = ["is_matrix", "propose_for_matrix", "solve_matrix_island", "solve_sparse"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

MAX_MATRIX_CHECKS = 300  # checks of ADMM; Newton's method solves what needs more
TRIES = 3  # tries for a sparse matrix, each with a tighter tolerance; the residuals of the law are then within the first one


class MatrixAnswer(NamedTuple):
    """Impulses of an island (k, 3) [N s], the method that found them, and the number of factorizations."""

    impulse: Floats
    found: Found
    factorisations: int


def is_matrix(system: System) -> bool:
    """Return True if each island of a system is one dense body, and one of them is too large to be factored in each step."""
    return bool((system.body_a < 0).all() and np.diff(system.offset).max(initial=0) > WIDE and not system.box.size)


def propose_for_matrix(system: System, impulse: Floats, tolerance: float, effort: Indices) -> tuple[int, Found]:
    """Improve impulses of a problem given as a matrix.

    system: a system for which `is_matrix` is True.
    impulse: (m, 3) on input, the start; on output, the result [N s].
    tolerance: bound on the natural map, relative to the velocity scale.
    effort: its deadline ends the solve.

    Returns the number of factorizations, and the method that found the impulses.
    """
    fastest = fastest_velocity(system)
    free = relative_velocities(system, system.velocity)
    free[:, 0] += system.slack
    found, factorisations = Found.START, 0
    for body in range(len(system.offset) - 1):
        chosen = np.flatnonzero(system.body_b == body)
        if chosen.size == 0:
            continue
        island = _island(system, body, chosen, free[chosen])
        answer = solve_matrix_island(island, impulse[chosen], tolerance, fastest, effort)
        impulse[chosen] = answer.impulse
        found = answer.found if found is not Found.NEWTON else found
        factorisations += answer.factorisations
    return factorisations, found


def _island(system: System, body: int, chosen: Indices, free: Floats) -> Island:
    """Return the `Island` of the chosen contacts of one body. free: (k, 3) velocities without impulses [m/s]."""
    size = int(system.offset[body + 1] - system.offset[body])
    jacobian = system.jacobian_b[chosen, :, :size].reshape(-1, size)
    block = system.inverse_mass[system.block_start[body] : system.block_start[body + 1]].reshape(size, size)
    if not np.array_equal(block, np.eye(size)):
        jacobian = jacobian @ np.linalg.cholesky(block)
    return island_of(jacobian @ jacobian.T, free, system.mu[chosen])


def solve_matrix_island(island: Island, impulse: Floats, tolerance: float, fastest: float, effort: Indices) -> MatrixAnswer:
    """Solve an island by ADMM, and by Newton's method if that is not enough.

    impulse: (k, 3) start [N s].
    tolerance: bound on the natural map, relative to the velocity scale `fastest` [m/s].
    effort: its deadline ends the solve.
    """
    acceptable = ACCEPTABLE * tolerance * fastest
    error = natural_map(island, impulse).max(initial=0.0)
    if error <= acceptable or fastest == 0.0:
        return MatrixAnswer(impulse, Found.START, 0)
    impulse, error, cost = _admm(island, impulse, max(acceptable, ACCEPTABLE * COARSE * fastest), effort)
    if error <= acceptable:
        return MatrixAnswer(impulse, Found.ADMM, cost)
    impulse, _, more = continuation(island, impulse, acceptable, fastest, effort)
    return MatrixAnswer(impulse, Found.NEWTON, cost + more)


@dataclass
class _Equation:
    """An island, as the functions of `ADMM_WITH_MATRIX` know it.

    rho: (k, 1) penalties [kg]. acceptable: bound on the natural map [m/s]. effort: its deadline ends the solve.
    solve: solves with G + 1/rho. factorisations: their number so far.
    """

    island: Island
    rho: Floats
    acceptable: float
    effort: Indices
    solve: Callable[[Floats], Floats] = field(init=False)
    factorisations: int = 0


def _factorise(equation: _Equation, _arrays: AdmmArrays) -> bool:
    """Factor G + 1/rho. A singular matrix shows in the next measurement, which is nan."""
    diagonal = np.repeat(1.0 / equation.rho[:, 0], 3)
    equation.solve = solver(with_diagonal(equation.island.matrix, diagonal), symmetric=True)
    equation.factorisations += 1
    return True


def _advance(equation: _Equation, arrays: AdmmArrays) -> None:
    """Do the iterations between two checks."""
    island, rho, x = equation.island, equation.rho, arrays.x
    for _ in range(ITERATIONS_A_CHECK):
        w = -project_onto_cones(island.mu, -x)
        z = x - w
        pull = z - w
        pull[:, 0] -= island.mu * np.linalg.norm(z[:, 1:], axis=1)
        moved = pull - equation.solve((pull - island.free).ravel()).reshape(-1, 3) / rho
        x += RELAXATION * (moved - pull - w)


def _measure(equation: _Equation, arrays: AdmmArrays) -> tuple[float, int]:
    """Update the impulses to x, and return their natural map [m/s] and the number of contacts that are not acceptable."""
    arrays.impulse[:] = equation.rho * project_onto_cones(equation.island.mu, -arrays.x)
    errors = natural_map(equation.island, arrays.impulse)
    return float(errors.max()), int(np.count_nonzero(errors > equation.acceptable))


def _is_done(equation: _Equation, criteria: StoppingCriteria, error: float, before: float, unconverged: int) -> bool:
    """Return True if the natural map has converged, or the time is used up."""
    return is_converged.py_func(criteria, error, before, unconverged) or bool(equation.effort[OVERDUE] > 0)


def _change_penalty(equation: _Equation, arrays: AdmmArrays, change: float) -> None:
    """Multiply the penalties by a factor, and keep the impulses and z."""
    arrays.x[:] += (1.0 - 1.0 / change) * arrays.impulse / equation.rho
    equation.rho = change * equation.rho


def _copy(source: Floats, out: Floats) -> None:
    """Set out := source."""
    out[:] = source


def _extrapolate(x: Floats, before: Floats, times: float) -> None:
    """Add times (x - before) to x."""
    x += times * (x - before)


ADMM_WITH_MATRIX = AdmmOperator(_factorise, _advance, _measure, _is_done, _change_penalty, _copy, _extrapolate)


def _admm(island: Island, impulse: Floats, acceptable: float, effort: Indices) -> tuple[Floats, float, int]:
    """Improve impulses by ADMM until their natural map is acceptable, or progress stalls.

    There is one penalty: Newton's method solves sooner what this one does not, than ADMM with a smaller one.

    impulse: (k, 3) start [N s]. acceptable: bound on the natural map [m/s].

    Returns impulses (k, 3), their natural map [m/s], and the number of factorizations.
    """
    rho = np.where(island.kappa > 0.0, ADMM_PENALTY * island.kappa, 1.0)[:, None]
    u = island.velocity(impulse)
    u[:, 0] += island.mu * np.linalg.norm(u[:, 1:], axis=1)
    x = u - impulse / rho
    arrays = AdmmArrays(x, impulse.copy(), x.copy(), x.copy(), impulse.copy())
    equation = _Equation(island, rho, acceptable, effort)
    criteria = StoppingCriteria(acceptable, acceptable, np.inf, acceptable, 0, MAX_MATRIX_CHECKS)
    error = float(natural_map(island, impulse).max())
    least = admm_iteration.py_func(ADMM_WITH_MATRIX, equation, arrays, criteria, error)
    return arrays.best, least, equation.factorisations


def solve_sparse(problem: ContactProblem, tolerance: float, time_limit: float, start: Floats | None) -> Result:
    """Solve a problem given as a sparse matrix.

    problem: a problem with `matrix`.
    tolerance: bound on the relative residuals of Coulomb's law.
    time_limit: limit of time [s].
    start: (m, dim) impulses to start from [N s], or None.
    """
    assert problem.matrix is not None
    begin, m, dim = perf_counter(), problem.contacts, problem.dim
    impulse = np.zeros((m, 3))
    if start is not None:
        impulse[:, :dim] = start
    island, fastest = _sparse_island(problem), fastest_velocity(problem.system)
    found, tries, factorisations, error = Found.START, 0, 0, np.inf
    best, effort = impulse, effort_of_a_step()
    with deadline_timer(effort, time_limit):
        while tries < TRIES and error > tolerance and not effort[OVERDUE]:
            tighter = tolerance * TIGHTER_A_TRY**tries
            answer = solve_matrix_island(island, impulse, tighter, fastest, effort)
            impulse, found = answer.impulse, answer.found
            tries, factorisations = tries + 1, factorisations + answer.factorisations
            here = coulomb_error(problem, _result(problem, impulse, Status.SOLVED, Statistics(0, 0, 0.0)), 0)
            if here < error:
                best, error = impulse, here
        is_over = bool(effort[OVERDUE])
    status = Status.SOLVED if error <= tolerance else (Status.TIME_LIMIT if is_over else Status.MAX_ITERATIONS)
    by = found if status is Status.SOLVED else None
    return _result(problem, best, status, Statistics(tries, factorisations, perf_counter() - begin, found=by))


def _sparse_island(problem: ContactProblem) -> Island:
    """Return all contacts of a problem as one island, with three rows each."""
    assert problem.matrix is not None
    m, dim = problem.contacts, problem.dim
    place = (3 * np.arange(m)[:, None] + np.arange(dim)).ravel()
    wider = csr_matrix((np.ones(m * dim), (place, np.arange(m * dim))), shape=(3 * m, m * dim))
    free = np.zeros((m, 3))
    free[:, :dim] = problem.free_velocity
    free[:, 0] += problem.system.slack
    return Island(csr_matrix(wider @ problem.matrix @ wider.T), free, problem.system.mu, masses_of(problem))


def _result(problem: ContactProblem, impulse: Floats, status: Status, stats: Statistics) -> Result:
    """Return the result of impulses (m, 3), with their velocities."""
    assert problem.matrix is not None
    impulses = impulse[:, : problem.dim].copy()
    velocity = problem.free_velocity + (problem.matrix @ impulses.ravel()).reshape(impulses.shape)
    return Result(status, impulses, velocity, np.zeros(0), stats, "staggered")
