# SPDX-License-Identifier: GPL-3.0-or-later
"""Proposals for problems that are given as a matrix, whose islands have no bodies to go by: in impulses, with G as it is.

What takes a problem apart into bodies costs O(n^3) for every factorisation where there is one body of n degrees of freedom. In
impulses the two methods that begin Staggered Projections need G alone, of the contacts that press, and most blocks of G vanish
where bodies are many: two contacts without a body in common have none. With u = G lam + g,

- the alternating direction method of multipliers (`admm.py` has the method and its sources) solves

      (G + 1/rho) lam = z - w - c - s e_n - g,    u = z - w - c - s e_n - lam / rho;

- what comes after it is Newton's method on contacts that give way ever less (`dense_newton.py`).

A proposal, like all others, but for a sparse matrix with an island too wide to be made dense, whose only method this is: there
are no projections to accept it, for these need G = F F^T. SOLVED claims there that the residuals of Coulomb's law are within
the tolerance, and nothing of the relative error (28) of Kaufman et al. 2008.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from ..problem.accuracy import coulomb_error, masses_of
from ..problem.contact_problem import ContactProblem
from ..problem.coulomb import project_onto_cones
from ..problem.residuals import fastest_velocity
from ..problem.result import Found, Result, Statistics, Status
from ..problem.system import System, relative_velocities
from ..solvers.coulomb.admm import ADMM_PENALTY, ITERATIONS_A_CHECK
from ..solvers.coulomb.dense_newton import Island, continuation, island_of, natural_map, solver, with_diagonal
from ..solvers.coulomb.splitting import RELAXATION
from ..solvers.criteria import ACCEPTABLE, COARSE, HALVED, TIGHTER_A_TRY
from ..solvers.effort import OVERDUE, deadline_timer, effort_of_a_step
from .by_islands import WIDE

__all__ = ["is_matrix", "propose_for_matrix", "solve_matrix_island", "solve_sparse"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

FIRST_ORDER_ITERATIONS, LOOKS_WITHOUT_HALF = 3000, 15
TRIES = 3  # of a sparse matrix, each at a tighter tolerance


def is_matrix(system: System) -> bool:
    """Whether a system is one dense body an island, of more degrees of freedom than a factorisation should have at once."""
    return bool((system.body_a < 0).all() and np.diff(system.offset).max(initial=0) > WIDE and not system.box.size)


def propose_for_matrix(system: System, impulse: Floats, tolerance: float, effort: Indices) -> tuple[int, Found]:
    """Improve impulses (m, 3) of a problem given as a matrix until their natural map is within the tolerance, or that gets
    nowhere; returns the factorisations, and what found the impulses."""
    fastest = fastest_velocity(system)
    free = relative_velocities(system, system.velocity)
    free[:, 0] += system.slack
    found, factorisations = Found.START, 0
    for body in range(len(system.offset) - 1):
        chosen = np.flatnonzero(system.body_b == body)
        if chosen.size == 0:
            continue
        island = _island(system, body, chosen, free[chosen])
        better, by, cost = solve_matrix_island(island, impulse[chosen], tolerance, fastest, effort)
        impulse[chosen] = better
        found, factorisations = by if found is not Found.NEWTON else found, factorisations + cost
    return factorisations, found


def _island(system: System, body: int, chosen: Indices, free: Floats) -> Island:
    size = int(system.offset[body + 1] - system.offset[body])
    jacobian = system.jacobian_b[chosen, :, :size].reshape(-1, size)
    block = system.inverse_mass[system.block_start[body] : system.block_start[body + 1]].reshape(size, size)
    if not np.array_equal(block, np.eye(size)):
        jacobian = jacobian @ np.linalg.cholesky(block)
    return island_of(jacobian @ jacobian.T, free, system.mu[chosen])


def solve_matrix_island(island: Island, impulse: Floats, tolerance: float, fastest: float, effort: Indices):
    """(impulses (k, 3), what found them, factorisations)."""
    acceptable = ACCEPTABLE * tolerance * fastest
    error = natural_map(island, impulse).max(initial=0.0)
    if error <= acceptable or fastest == 0.0:
        return impulse, Found.START, 0
    impulse, error = _first_order(island, impulse, max(acceptable, ACCEPTABLE * COARSE * fastest), effort)
    if error <= acceptable:
        return impulse, Found.ADMM, 1
    impulse, _, more = continuation(island, impulse, acceptable, fastest, effort)
    return impulse, Found.NEWTON, 1 + more


def _first_order(island: Island, impulse: Floats, acceptable: float, effort: Indices) -> tuple[Floats, float]:
    """Impulses (k, 3) improved until their natural map is at most `acceptable` or that takes too long, and their natural map,
    with one factorisation.

    With one penalty: what it does not solve is left to Newton's method, which is sooner there than it is at a lower one.
    """
    rho = np.where(island.kappa > 0.0, ADMM_PENALTY * island.kappa, 1.0)[:, None]
    u = island.velocity(impulse)
    u[:, 0] += island.mu * np.linalg.norm(u[:, 1:], axis=1)
    x = u - impulse / rho
    best, least, base, looks = impulse, np.inf, np.inf, 0
    solve = solver(with_diagonal(island.matrix, np.repeat(1.0 / rho[:, 0], 3)), symmetric=True)
    for done in range(1, FIRST_ORDER_ITERATIONS + 1):
        w = -project_onto_cones(island.mu, -x)
        z = x - w
        pull = z - w
        pull[:, 0] -= island.mu * np.linalg.norm(z[:, 1:], axis=1)
        moved = pull - solve((pull - island.free).ravel()).reshape(-1, 3) / rho
        x = x + RELAXATION * (moved - pull - w)
        if done % ITERATIONS_A_CHECK > 0:
            continue
        impulse = rho * project_onto_cones(island.mu, -x)
        error = natural_map(island, impulse).max()
        if error < least:
            best, least = impulse, error
        looks += 1
        if error < HALVED * base:
            base, looks = error, 0
        is_over = error <= acceptable or not np.isfinite(error) or effort[OVERDUE] > 0
        if is_over or looks >= LOOKS_WITHOUT_HALF:
            break
    return best, least


def solve_sparse(problem: ContactProblem, tolerance: float, time_limit: float, start: Floats | None) -> Result:
    """Solve a problem that has its matrix; start: (m, dim) impulses."""
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
            impulse, found, cost = solve_matrix_island(island, impulse, tighter, fastest, effort)
            tries, factorisations = tries + 1, factorisations + cost
            here = coulomb_error(problem, _result(problem, impulse, Status.SOLVED, Statistics(0, 0, 0.0)), 0)
            if here < error:
                best, error = impulse, here
        is_over = bool(effort[OVERDUE])
    status = Status.SOLVED if error <= tolerance else (Status.TIME_LIMIT if is_over else Status.MAX_ITERATIONS)
    by = found if status is Status.SOLVED else None
    return _result(problem, best, status, Statistics(tries, factorisations, perf_counter() - begin, found=by))


def _sparse_island(problem: ContactProblem) -> Island:
    """All contacts as one island, with three rows each."""
    assert problem.matrix is not None
    m, dim = problem.contacts, problem.dim
    place = (3 * np.arange(m)[:, None] + np.arange(dim)).ravel()
    wider = csr_matrix((np.ones(m * dim), (place, np.arange(m * dim))), shape=(3 * m, m * dim))
    free = np.zeros((m, 3))
    free[:, :dim] = problem.free_velocity
    free[:, 0] += problem.system.slack
    return Island(csr_matrix(wider @ problem.matrix @ wider.T), free, problem.system.mu, masses_of(problem))


def _result(problem: ContactProblem, impulse: Floats, status: Status, stats: Statistics) -> Result:
    assert problem.matrix is not None
    given = impulse[:, : problem.dim].copy()
    velocity = problem.free_velocity + (problem.matrix @ given.ravel()).reshape(given.shape)
    return Result(status, given, velocity, np.zeros(0), stats, "staggered")
