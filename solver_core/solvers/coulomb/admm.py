# SPDX-License-Identifier: GPL-3.0-or-later
"""The alternating direction method of multipliers on contact and friction together: one factorisation, many cheap iterations.

With s_k = mu_k |u_t,k| added to the normal velocities Coulomb's law is a second-order cone complementarity problem (De Saxce
and Feng 1998), and for a given s the minimum of a convex function (Acary, Cadoux, Lemarechal and Malick 2011, "A formulation
of the linear discrete Coulomb friction problem via convex optimization"):

    min over v, z of  1/2 |v - v_hat|_M^2    with  J v + c + s e_n = z,    z in K*,

K* the dual of the friction cones K. The method (Boyd, Parikh, Chu, Peleato and Eckstein 2011, "Distributed optimization and
statistical learning via the alternating direction method of multipliers", section 3.1.1, over-relaxed as in 3.4.3) repeats

    v := argmin 1/2 |v - v_hat|_M^2 + 1/2 |J v + c + s e_n - z + w|_rho^2,
    z := P_K*(x),  w := x - z,  with  x = alpha (J v + c + s e_n) + (1 - alpha) z + w,

where lam = -rho w are impulses, always in K, and s := mu |z_t| is renewed each time (as Carpentier, Montaut and Le Lidec 2024,
"From compliant to rigid contact simulation", do). The matrix M + J^T rho J stays the same, so all iterations share one
Cholesky factor. Two triangular solves and a pass over the contacts are an iteration: a heap's 1e-4 takes a hundred. With s
renewed it is no longer one convex function that is brought down, and where sliding and pressing depend on each other much,
iterations go in circles; these are the narrower, the lower the penalty, which is lowered where nothing gets better. At low ones
the contacts that bear load are found slowly, so the first comes again after the last, as long as a round halves the error.

What is slow is mostly a drift: redundant contacts hand impulses on among them, the same little in every iteration, until one of
them lets go or slides. x then moves along a straight line, and is extrapolated along it (Poon and Liang 2019, "Trajectory of
alternating direction method of multipliers and adaptive acceleration"): by more each time that does no harm, by less where it
did, which is taken back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, TRUE, inlined_kernel, inner_kernel, kernel_part, leaf_kernel
from ...linalg.block_cholesky import factorise
from ...linalg.block_triangular import solve_in_place
from ...linalg.copying import copy_rows
from ...problem.system import apply_mass, push_bodies
from ..block_operator import Operator, assemble, measure
from ..criteria import HALVED, is_converged
from ..effort import count_factorisation, count_products, spent
from .splitting import change_penalty, contact_target, extrapolate, joint_target, relax, split_all, start

__all__ = ["Workspace", "admm", "iterate", "workspace"]

ADMM_PENALTY, LAST_ADMM_PENALTY, CHANGE = 3.0, 0.3, np.sqrt(0.1)  # rho_k times the effective inverse mass
ITERATIONS_A_CHECK = 10  # iterations between two measurements of the residuals
PATIENT_CHECKS = 25  # checks without half of an error, until the penalty is lowered
DRIFTING = 0.7  # of an error from check to check: x is extrapolated
HARM = 2.0  # times the error before: that was too far
FIRST_JUMP, LONGEST_JUMP = 4.0, 64.0  # times what x moved by between two checks

Floats = NDArray[np.float64]


class Workspace(NamedTuple):
    """An `Operator` and all arrays that iterations write to beside a state. rho, offset: (m,), x, z: (m, 3), as above;
    momentum: (n,) M v_hat; v: (n,) of the last iteration."""

    operator: Operator
    rho: Floats
    offset: Floats
    x: Floats
    z: Floats
    momentum: Floats
    v: Floats


@kernel_part
def workspace(operator):
    """A `Workspace`, of which the momentum is filled in."""
    m, n = operator.kappa.size, operator.system.velocity.size
    momentum = np.empty(n)
    apply_mass(operator.system, operator.system.velocity, momentum)
    return Workspace(operator, np.empty(m), np.empty(m), np.empty((m, 3)), np.empty((m, 3)), momentum, np.empty(n))


@inlined_kernel
def _update_contacts(work, relaxed, targeted, out):
    """Bring x up to date with new velocities, and add J^T y of their next targets to `out`."""
    system, rho, x, z, offset, v = work.operator.system, work.rho, work.x, work.z, work.offset, work.v
    for k in range(system.mu.size):
        now = relax(system, k, v, offset, z, x) if relaxed else (x[k, 0], x[k, 1], x[k, 2])
        if targeted:
            n, t1, t2 = contact_target(system, rho, k, now, offset, z)
            push_bodies(system, k, n, t1, t2, out)
    for k in range(system.mu.size, rho.size):
        now = relax(system, k, v, offset, z, x) if relaxed else (x[k, 0], x[k, 1], x[k, 2])
        if targeted:
            n, t1, t2 = joint_target(system, rho, k, now, offset, z)
            push_bodies(system, k, n, t1, t2, out)


@leaf_kernel
def iterate(work, times, right):
    """So many iterations, with the factor of M + J^T rho J. right: (n,) work array."""
    operator, v = work.operator, work.v
    for i in range(times):
        right[:] = 0.0
        if i == 0:
            _update_contacts(work, FALSE, TRUE, right)
        else:
            _update_contacts(work, TRUE, TRUE, right)
        for j in range(v.size):
            v[j] = right[j] + work.momentum[j]
        solve_in_place(operator.blocks.structure, operator.factor, v)
    _update_contacts(work, TRUE, FALSE, right)


@leaf_kernel
def _next_change(penalty, least, least_of_round):
    """The factor to the next penalty of a round, 0 after the last round, and the least error as the round began."""
    if penalty > 1.01 * LAST_ADMM_PENALTY:
        return CHANGE, least_of_round
    if least > HALVED * least_of_round:
        return 0.0, least_of_round
    return ADMM_PENALTY / penalty, least


@kernel_part
def _factorise(work, effort):
    """Whether M + J^T rho J has a factor, which the operator has then."""
    rho, operator = work.rho, work.operator
    derivative = np.zeros((rho.size, 3, 3))
    for k in range(rho.size):
        derivative[k, 0, 0], derivative[k, 1, 1], derivative[k, 2, 2] = rho[k], rho[k], rho[k]
    assemble(operator, derivative, TRUE)
    count_factorisation(effort)
    return factorise(operator.blocks.structure, operator.factor)


@inner_kernel
def admm(operator, criteria, effort, state):
    """Iterate until the natural map converges, or is within `criteria.fallback` where the penalty would have to be another one;
    returns the least that was seen, m/s."""
    work, impulse, right = workspace(operator), state.impulse, np.empty(state.v.size)
    x = work.x
    x_before, x_kept, best = np.empty_like(x), np.empty_like(x), impulse.copy()
    error, _ = measure(operator, criteria.acceptable, state)
    start(operator.system, operator.kappa, ADMM_PENALTY, impulse, state.v, work.rho, x)
    least, base, error_kept, jump, penalty = error, error, np.inf, FIRST_JUMP, ADMM_PENALTY
    factored, followed, jumped, checks, least_of_round = False, False, False, 0, np.inf
    for _ in range(criteria.max_checks):
        if not factored:
            factored = _factorise(work, effort)
            if not factored:
                break
        iterate(work, ITERATIONS_A_CHECK, right)
        count_products(effort, ITERATIONS_A_CHECK * (operator.blocks.structure.length // 100 + impulse.shape[0]))
        before, least_before = error, least
        split_all(operator.system, work.rho, x, impulse)
        error, unconverged = measure(operator, criteria.acceptable, state)
        if error < least or 0 < unconverged <= criteria.max_unconverged:
            least = error
            copy_rows(impulse, best)
        if is_converged(criteria, error, least_before, unconverged) or not np.isfinite(error) or spent(effort):
            break
        if jumped and error > HARM * error_kept:
            copy_rows(x_kept, x)
            error, jump = error_kept, max(0.25 * jump, 1.0)
            followed, jumped = False, False
            continue
        jump = min(2.0 * jump, LONGEST_JUMP) if jumped else jump
        checks += 1
        if error < HALVED * base:
            base, checks = error, 0
        if checks >= PATIENT_CHECKS:
            if least <= criteria.fallback:
                break
            change, least_of_round = _next_change(penalty, least, least_of_round)
            if change == 0.0:
                break
            change_penalty(impulse, work.rho, x, change)
            penalty *= change
            base, checks, factored, followed, jumped = error, 0, False, False, False
            continue
        jumped = followed and error > DRIFTING * before
        if jumped:
            copy_rows(x, x_kept)
            error_kept = error
            extrapolate(x, x_before, jump)
        copy_rows(x, x_before)
        followed = True
    copy_rows(best, impulse)
    measure(operator, criteria.acceptable, state)
    return least
