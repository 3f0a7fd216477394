# SPDX-License-Identifier: GPL-3.0-or-later
"""Few contacts, solved by one kernel: sweeps, Newton's method in impulses, and an iteration of Algorithm 1 that accepts.

For ten contacts, choosing a method takes longer than solving. So one kernel does everything. `sc.solve` calls it once, and
`sc.solve_many` calls it for each of many problems. A problem that it does not solve goes to the cascade from its original
start, so no solution is lost. The kernel contains the iteration of Algorithm 1 but not the cascade, so it compiles in a
fraction of the time.

Newton's method is that of `newton_in_impulses.py`, with a compliance near zero. If it fails, the compliance starts at 1, where
each contact depends mostly on itself, and decreases.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import FALSE, inlined_kernel, kernel, kernel_part, leaf_kernel
from ..linalg.copying import copy_vector
from ..problem.contact_problem import ContactProblem
from ..problem.residuals import effective_masses, fastest_velocity, law_of_impulses, natural_error
from ..problem.result import Found, Result, Statistics, Status
from ..problem.system import effective_inverse_mass, relative_velocities
from ..solvers.block_operator import State, update_velocities
from ..solvers.coulomb.gauss_seidel import delassus_blocks, sweep
from ..solvers.coulomb.newton_in_impulses import DenseLaw, newton_in_impulses
from ..solvers.criteria import ACCEPTABLE, relative_target
from ..solvers.effort import DONE, effort_of_a_step
from ..solvers.kaufman_2008.projection import DISK
from ..solvers.kaufman_2008.staggered import accepts

__all__ = ["MOST_FEW", "FewAnswer", "answer_few", "is_few", "solve_few"]

Floats = NDArray[np.float64]

MOST_FEW = 16  # largest number of contacts; for more, a dense factorization takes longer than choosing another method
SWEEPS_OF_FEW = (4, 20)  # sweeps before Newton's method, and before its second try; more cost time, fewer cost Newton steps
# Compliances relative to 1 / kappa. The first try uses the last one only, the second try all in order.
EVER_STIFFER = np.array([1.0, 0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9])
# a numpy integer, because a Python literal triggers a separate numba specialization
ROUND: Any = DISK


class FewAnswer(NamedTuple):
    """Result of `solve_few`.

    solved: True if the impulses are accepted.
    found, factorisations: as in `Statistics`.
    velocity: (m, 3) relative velocities [m/s].
    worst: largest relative Coulomb residual, computed from the impulses alone.
    """

    solved: bool
    found: Found
    factorisations: int
    velocity: Floats
    worst: float


def is_few(problem: ContactProblem) -> bool:
    """Return True if a problem has few contacts, and nothing else."""
    return problem.is_plain and 0 < problem.contacts <= MOST_FEW and not problem.joints


def answer_few(problem: ContactProblem, tolerance: float, start: Floats | None) -> Result | None:
    """Solve a problem of few contacts, and return None if the kernel does not solve it.

    tolerance: relative. start: (m, dim) warm start [N s], or None.
    """
    system, dim, begin = problem.system, problem.dim, perf_counter()
    impulse, history, v = np.zeros((problem.contacts, 3)), np.zeros((1, 3)), np.empty_like(system.velocity)
    if start is not None:
        impulse[:, :dim] = start
    answer = solve_few(system, tolerance, effort_of_a_step(), history, impulse, v)
    if not answer.solved:
        return None
    stats = Statistics(
        iterations=1,
        factorisations=answer.factorisations,
        seconds=perf_counter() - begin,
        relative_error=history[:, 0],
        residual=history[:, 1],
        coulomb=history[:, 2],
        found=Found(answer.found),
    )
    return Result(Status.SOLVED, impulse[:, :dim], answer.velocity[:, :dim], v, stats, "staggered")


@inlined_kernel
def _add_products(left, right, size, G, row, column):
    """Add left right^T to the (3, 3) block of G at a row and a column.

    Nine sums are computed at once, so that none waits for another. size: number of columns of left and right.
    """
    g00, g01, g02, g10, g11, g12, g20, g21, g22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(size):
        x0, x1, x2, y0, y1, y2 = left[0, i], left[1, i], left[2, i], right[0, i], right[1, i], right[2, i]
        g00, g01, g02 = g00 + x0 * y0, g01 + x0 * y1, g02 + x0 * y2
        g10, g11, g12 = g10 + x1 * y0, g11 + x1 * y1, g12 + x1 * y2
        g20, g21, g22 = g20 + x2 * y0, g21 + x2 * y1, g22 + x2 * y2
    first, second, third = G[row], G[row + 1], G[row + 2]
    first[column], first[column + 1], first[column + 2] = first[column] + g00, first[column + 1] + g01, first[column + 2] + g02
    second[column], second[column + 1], second[column + 2] = (
        second[column] + g10,
        second[column + 1] + g11,
        second[column + 2] + g12,
    )
    third[column], third[column + 1], third[column + 2] = third[column] + g20, third[column + 1] + g21, third[column + 2] + g22


@leaf_kernel
def _fill_delassus(system, blocks, G):
    """Set G (3 m, 3 m), zero on input, to the Delassus operator."""
    for k in range(system.body_a.size):
        a, b = system.body_a[k], system.body_b[k]
        for other in range(k + 1):
            c, d = system.body_a[other], system.body_b[other]
            if a >= 0:
                size = system.offset[a + 1] - system.offset[a]
                if a == c:
                    _add_products(system.jacobian_a[k], blocks.of_a[other], size, G, 3 * k, 3 * other)
                if a == d:
                    _add_products(system.jacobian_a[k], blocks.of_b[other], size, G, 3 * k, 3 * other)
            if b >= 0:
                size = system.offset[b + 1] - system.offset[b]
                if b == c:
                    _add_products(system.jacobian_b[k], blocks.of_a[other], size, G, 3 * k, 3 * other)
                if b == d:
                    _add_products(system.jacobian_b[k], blocks.of_b[other], size, G, 3 * k, 3 * other)
    for i in range(G.shape[0]):
        for j in range(i):
            G[j, i] = G[i, j]


@kernel_part
def _delassus(system, blocks):
    """Return the Delassus operator (3 m, 3 m) [1/kg]."""
    m = system.body_a.size
    G = np.zeros((3 * m, 3 * m))
    _fill_delassus(system, blocks, G)
    return G


@kernel_part
def _newton(system, G, kappa, compliances, target, state):
    """Improve the impulses of a state by Newton's method with some compliances in order, and return the number of steps."""
    free = relative_velocities(system, system.velocity)
    for k in range(kappa.size):
        free[k, 0] += system.slack[k]
    law = DenseLaw(G, free.reshape(3 * kappa.size), system.mu, kappa)
    return newton_in_impulses(law, compliances, target, state.impulse.reshape(3 * kappa.size))[0]


@kernel_part
def _proposed(system, kappa, target, acceptable, state):
    """Improve the impulses of a state until their natural map is at most the target, or acceptable after the first try.

    target, acceptable: [m/s].

    Returns the method that found them, and the number of factorizations.
    """
    update_velocities(system, state)
    if natural_error(system, state.impulse, state.v, kappa, 0) <= target:
        return Found.START, 0
    blocks, factorisations = delassus_blocks(system), 0
    G, stiffer = _delassus(system, blocks), np.asarray(EVER_STIFFER)
    for turn in range(2):
        for i in range(SWEEPS_OF_FEW[turn]):
            sweep(system, blocks, i % 2 == 1, state)
            if natural_error(system, state.impulse, state.v, kappa, 0) <= target:
                return Found.SWEEPS, factorisations
        factorisations += _newton(system, G, kappa, stiffer[stiffer.size - 1 :] if turn == 0 else stiffer, target, state)
        update_velocities(system, state)
        if natural_error(system, state.impulse, state.v, kappa, 0) <= acceptable:
            break
    return Found.NEWTON, factorisations


@kernel
def solve_few(system, tolerance, effort, history, impulse, v):
    """Solve a system of few contacts without joints, and return a `FewAnswer`.

    tolerance: relative. effort: (5,) work array. history: (1, 3) output, as in `staggered.accepts`.
    impulse: (m, 3) on input, the warm start; on output, the result [N s]. v: (n,) output, velocities.
    """
    fastest = fastest_velocity(system)
    kappa = effective_masses(effective_inverse_mass(system))
    target, acceptable = relative_target(tolerance, FALSE) * fastest, ACCEPTABLE * tolerance * fastest
    found, factorisations = _proposed(system, kappa, target, acceptable, State(impulse, v))
    effort[DONE] = 0
    accepted = accepts(system, ROUND, tolerance, effort, State(impulse, v), history)
    worst, velocity, after = law_of_impulses(system, impulse, kappa, fastest, ROUND)
    copy_vector(after, v)
    solved = accepted and worst <= tolerance
    return FewAnswer(solved, found, factorisations + effort[DONE], velocity, worst)
