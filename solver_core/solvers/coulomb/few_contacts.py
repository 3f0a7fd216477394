# SPDX-License-Identifier: GPL-3.0-or-later
"""Few contacts, solved at once: sweeps, Newton's method in impulses, and one iteration of Algorithm 1 that accepts what they found.

A problem of ten contacts takes less time than to look up how it should be solved, so all of it is one kernel, which `sc.solve`
calls once and `sc.solve_many` for each of many problems. What it does not accept the cascade solves from the beginning, as if
nothing had been tried.

Newton's method is that of `dense_newton.py`, on contacts that press: with lam = y(lam - kappa u) the law and D = dy/dw

    (1 - D + kappa D G + c D) dlam = y - lam,

where c, a compliance over what a contact gives way by itself, is so small that it holds back nothing but impulses that
redundant contacts hand to each other: a proximal point step (Rockafellar 1976).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, inlined_kernel, inner_kernel, kernel, leaf_kernel
from ...problem.contact_problem import ContactProblem
from ...problem.coulomb import respond
from ...problem.residuals import effective_masses, law_of_impulses, natural_error, scales
from ...problem.result import Found, Status
from ...problem.system import effective_inverse_mass, relative_velocities
from ..block_operator import State, update_velocities
from ..criteria import ACCEPTABLE, relative_target
from ..effort import DONE
from .cascade import PLAIN, Request, solve_system
from .gauss_seidel import delassus_blocks, sweep

__all__ = ["MOST_FEW", "FewAnswer", "is_few", "solve_few"]

Floats = NDArray[np.float64]

MOST_FEW = 16  # contacts: of more, a factorisation takes longer than the way to the methods for many
SWEEPS = (4, 40)  # before Newton's method, and before it is tried once more
NEWTON_STEPS = 12
HALVINGS = 4  # of a Newton step that makes matters worse
COMPLIANCE = 1e-9
SMALLEST_PIVOT = 1e-15  # of the largest entry of a matrix whose rows are near one
# numpy's: a Python literal triggers its own specialisation
ONCE, DISK, AS_IT_IS = np.int64(1), np.int64(0), np.int64(PLAIN)


class FewAnswer(NamedTuple):
    """solved: whether impulses are accepted. found, iterations, factorisations: as of `Statistics`. velocity: (m, 3). worst: the
    largest relative Coulomb residual, from the impulses alone. change, residual: (28) and (29) of the iteration."""

    solved: bool
    found: Found
    factorisations: int
    velocity: Floats
    worst: float
    change: float
    residual: float


def is_few(problem: ContactProblem) -> bool:
    """Whether a problem has few contacts, and nothing else."""
    return problem.is_plain and 0 < problem.contacts <= MOST_FEW and not problem.joints


@inlined_kernel
def _dot(one, other, size):
    total = 0.0
    for i in range(size):
        total += one[i] * other[i]
    return total


@leaf_kernel
def _add_pairs(system, blocks, G, k, other):
    """G of the triples k and other."""
    a, b, c, d = system.body_a[k], system.body_b[k], system.body_a[other], system.body_b[other]
    for r in range(3):
        for s in range(3):
            total = 0.0
            if a >= 0:
                size = system.offset[a + 1] - system.offset[a]
                if a == c:
                    total += _dot(system.jacobian_a[k, r], blocks.of_a[other, s], size)
                if a == d:
                    total += _dot(system.jacobian_a[k, r], blocks.of_b[other, s], size)
            if b >= 0:
                size = system.offset[b + 1] - system.offset[b]
                if b == c:
                    total += _dot(system.jacobian_b[k, r], blocks.of_a[other, s], size)
                if b == d:
                    total += _dot(system.jacobian_b[k, r], blocks.of_b[other, s], size)
            G[3 * k + r, 3 * other + s] = total
            G[3 * other + s, 3 * k + r] = total


@inner_kernel
def _delassus(system, blocks):
    """G, (3 m, 3 m)."""
    m = system.body_a.size
    G = np.empty((3 * m, 3 * m))
    for k in range(m):
        for other in range(k + 1):
            _add_pairs(system, blocks, G, k, other)
    return G


@leaf_kernel
def _look(system, kappa, state, velocity, y, slope, off):
    """What impulses lack of those that their velocities ask for, off (m, 3), and how much that is; slope: (m, 3, 3) D."""
    total, w = 0.0, off[off.shape[0] - 1]
    for k in range(kappa.size):
        for r in range(3):
            slack = system.slack[k] if r == 0 else 0.0
            w[r] = state.impulse[k, r] - kappa[k] * (velocity[k, r] + slack)
        respond(system.mu[k], 0, 1.0, w, y, slope[k])
        for r in range(3):
            off[k, r] = y[r] - state.impulse[k, r]
            if kappa[k] > 0.0:
                total += off[k, r] * off[k, r] / kappa[k]
    return total


@leaf_kernel
def _eliminate(A, n):
    """Solve A x = b for b in column n, x in its place; False where A is singular."""
    for i in range(n):
        best, pivot = i, abs(A[i, i])
        for j in range(i + 1, n):
            if abs(A[j, i]) > pivot:
                best, pivot = j, abs(A[j, i])
        if not pivot > SMALLEST_PIVOT:
            return False
        if best != i:
            for j in range(i, n + 1):
                A[i, j], A[best, j] = A[best, j], A[i, j]
        over, row = 1.0 / A[i, i], A[i]
        for j in range(i + 1, n):
            f = A[j, i] * over
            if f != 0.0:
                other = A[j]
                for c in range(i + 1, n + 1):
                    other[c] -= f * row[c]
    for i in range(n - 1, -1, -1):
        total = A[i, n]
        for j in range(i + 1, n):
            total -= A[i, j] * A[j, n]
        A[i, n] = total / A[i, i]
    return True


@leaf_kernel
def _step(G, kappa, slope, off, A, chosen, step):
    """The Newton step, (3 m,); False where there is none."""
    m, count = kappa.size, 0
    for k in range(m):
        presses = slope[k, 0, 0] > 0.0
        for r in range(3):
            step[3 * k + r] = 0.0 if presses else off[k, r]
        if presses:
            chosen[count] = k
            count += 1
    n = 3 * count
    for i in range(count):
        k = chosen[i]
        for r in range(3):
            row, d = A[3 * i + r], slope[k, r]
            d0, d1, d2 = kappa[k] * d[0], kappa[k] * d[1], kappa[k] * d[2]
            first, second, third = G[3 * k], G[3 * k + 1], G[3 * k + 2]
            right = off[k, r]
            for c in range(3 * m):
                if step[c] != 0.0:
                    right -= (d0 * first[c] + d1 * second[c] + d2 * third[c]) * step[c]
            for j in range(count):
                at = 3 * chosen[j]
                for s in range(3):
                    row[3 * j + s] = d0 * first[at + s] + d1 * second[at + s] + d2 * third[at + s]
            for s in range(3):
                row[3 * i + s] += (COMPLIANCE - 1.0) * d[s]
            row[3 * i + r] += 1.0
            row[n] = right
    if not _eliminate(A, n):
        return False
    for i in range(count):
        for r in range(3):
            step[3 * chosen[i] + r] = A[3 * i + r, n]
    return True


@leaf_kernel
def _velocities(G, system, free, state, velocity):
    """velocity (m, 3) := G lam + g, g being `free`."""
    for i in range(G.shape[0]):
        row, total = G[i], free[i // 3, i % 3]
        for k in range(state.impulse.shape[0]):
            for r in range(3):
                total += row[3 * k + r] * state.impulse[k, r]
        velocity[i // 3, i % 3] = total


@inner_kernel
def _newton(system, blocks, kappa, target, state):
    """Newton's method from the impulses of a state, which are those that it comes to; its factorisations."""
    m, G = kappa.size, _delassus(system, blocks)
    free, velocity = relative_velocities(system, system.velocity), np.empty((m, 3))
    slope, off, y = np.empty((m, 3, 3)), np.empty((m + 1, 3)), np.empty(3)
    A, chosen, step, before = np.empty((3 * m, 3 * m + 1)), np.empty(m, np.int64), np.empty(3 * m), np.empty((m, 3))
    _velocities(G, system, free, state, velocity)
    now = _look(system, kappa, state, velocity, y, slope, off)
    for done in range(NEWTON_STEPS):
        if _is_near(off, kappa, target):
            return done
        if not _step(G, kappa, slope, off, A, chosen, step):
            return done + 1
        before[:] = state.impulse
        t, after = 1.0, np.inf
        for _ in range(HALVINGS + 1):
            for k in range(m):
                for r in range(3):
                    state.impulse[k, r] = before[k, r] + t * step[3 * k + r]
            _velocities(G, system, free, state, velocity)
            after = _look(system, kappa, state, velocity, y, slope, off)
            if after < now:
                break
            t *= 0.5
        if not np.isfinite(after):
            state.impulse[:] = before
            return done + 1
        now = after
    return NEWTON_STEPS


@leaf_kernel
def _is_near(off, kappa, target):
    """Whether no contact is off by more than the impulse that a velocity `target` is worth there."""
    for k in range(kappa.size):
        for r in range(3):
            if not abs(off[k, r]) <= target * kappa[k]:
                return False
    return True


@inner_kernel
def _proposed(system, kappa, target, acceptable, state):
    """Improve the impulses of a state until their natural map, m/s, is at the target, or acceptable where that is not reached;
    what found them, and the factorisations."""
    update_velocities(system, state)
    if natural_error(system, state.impulse, state.v, kappa, 0) <= target:
        return Found.START, 0
    blocks, factorisations = delassus_blocks(system), 0
    for most in SWEEPS:
        for i in range(most):
            sweep(system, blocks, i % 2 == 1, state)
            if natural_error(system, state.impulse, state.v, kappa, 0) <= target:
                return Found.SWEEPS, factorisations
        factorisations += _newton(system, blocks, kappa, target, state)
        update_velocities(system, state)
        if natural_error(system, state.impulse, state.v, kappa, 0) <= acceptable:
            break
    return Found.NEWTON, factorisations


@kernel
def solve_few(system, tolerance, effort, history, impulse, v):
    """Solve a system of few contacts and no joints; a `FewAnswer`.

    effort, history: room, (5,) and (1, 3). impulse: (m, 3) warm start and answer. v: (n,) velocities, answer.
    """
    fastest, _ = scales(system, impulse)
    kappa = effective_masses(effective_inverse_mass(system))
    target, acceptable = relative_target(tolerance, FALSE) * fastest, ACCEPTABLE * tolerance * fastest
    found, factorisations = _proposed(system, kappa, target, acceptable, State(impulse, v))
    answer = solve_system(system, Request(tolerance, FALSE, ONCE, DISK), AS_IT_IS, effort, impulse, v, history)
    worst, velocity, after = law_of_impulses(system, impulse, kappa, fastest, DISK)
    v[:] = after
    solved = answer.status == Status.SOLVED and worst <= tolerance
    return FewAnswer(solved, found, factorisations + effort[DONE], velocity, worst, history[0, 0], history[0, 1])
