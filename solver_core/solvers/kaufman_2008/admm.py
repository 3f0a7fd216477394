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
Cholesky factor. Two triangular solves and a look at each contact are an iteration: a heap's 1e-4 takes a hundred. With s
renewed it is no longer one convex function that is brought down, and where sliding and pressing depend on each other much,
iterations go in circles; these are the narrower, the lower the penalty, which is lowered where nothing gets better. At low ones
what carries is found slowly, so the first comes again after the last, as long as a round of them halves the error.

What is slow is mostly a drift: redundant contacts hand impulses on among them, the same little in every iteration, until one of
them lets go or slides. x then moves along a straight line, and is carried on along it (Poon and Liang 2019, "Trajectory of
alternating direction method of multipliers and adaptive acceleration"): by more each time that does no harm, by less where it
did, which is taken back.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, inner_kernel, leaf_kernel
from ...linalg.block_cholesky import factorise
from ...linalg.block_triangular import solve_in_place
from ...problem.cones import project_interval
from ...problem.residuals import natural_error
from ...problem.system import apply_mass
from ..effort import count_factorisation, count_products, spent
from .aim import is_near
from .projection import BOTH, assemble, gap_velocity, generalised_impulse, velocity_after

__all__ = ["admm"]

ADMM_PENALTY, LAST_ADMM_PENALTY, CHANGE = 3.0, 0.3, np.sqrt(0.1)  # rho_k times the effective inverse mass
JOINT_FACTOR = 1e2  # times that of contacts, for joints: what is linear has nothing to find out
RELAXATION = 1.6
ADMM_ITERATIONS = 6000  # iterations
ITERATIONS_A_LOOK = 10  # iterations between two looks at the residuals
PATIENT_LOOKS = 25  # looks without half of an error, until the penalty is lowered
ROUND = 0.5  # of an error: where all penalties in turn bring it no lower, that is all
DRIFTING = 0.7  # of an error from look to look: x is carried on
HARM = 2.0  # times the error before: that was too far
FIRST_JUMP, LONGEST_JUMP = 4.0, 64.0  # times what x moved by between two looks


@inlined_kernel
def _project_cone(mu, x0, x1, x2):
    """P_K(x), K = {|t| <= mu n}."""
    size = np.sqrt(x1 * x1 + x2 * x2)
    if size <= mu * x0:
        return x0, x1, x2
    if mu * size <= -x0:
        return 0.0, 0.0, 0.0
    n = (x0 + mu * size) / (1.0 + mu * mu)
    return n, mu * n * x1 / size, mu * n * x2 / size


@leaf_kernel
def _joint_impulses(system, rho, x, impulse):
    """impulse := -rho w in the rows of joints, where it is the projection of -rho x onto what the row may do."""
    contacts = system.mu.size
    for k in range(contacts, rho.size):
        for r in range(3):
            low, high, gamma = system.box[k - contacts, r, 0], system.box[k - contacts, r, 1], system.box[k - contacts, r, 2]
            impulse[k, r], _ = project_interval(-rho[k] * x[k, r], low, high, 1.0 + rho[k] * gamma)


@leaf_kernel
def _split(system, rho, x, impulse):
    """impulse := -rho w, w = -P_K(-x); of joints, the interval's in place of the cone's."""
    _joint_impulses(system, rho, x, impulse)
    for k in range(system.mu.size):
        n, t1, t2 = _project_cone(system.mu[k], -x[k, 0], -x[k, 1], -x[k, 2])
        impulse[k, 0], impulse[k, 1], impulse[k, 2] = rho[k] * n, rho[k] * t1, rho[k] * t2


@leaf_kernel
def _pull(system, rho, x, offset, z, y):
    """z := P_K*(x), s := mu |z_t|, and y := rho (z - w - c - s e_n), what v is pulled to."""
    contacts = system.mu.size
    _joint_impulses(system, rho, x, y)
    for k in range(contacts, rho.size):
        offset[k] = 0.0
        for r in range(3):
            # of an impulse lam = -rho w, z = x - w and z - w = x - 2 w
            z[k, r] = x[k, r] + y[k, r] / rho[k]
            y[k, r] = rho[k] * (x[k, r] - system.bias[k, r]) + 2.0 * y[k, r]
    for k in range(contacts):
        n, t1, t2 = _project_cone(system.mu[k], -x[k, 0], -x[k, 1], -x[k, 2])
        z0, z1, z2 = x[k, 0] + n, x[k, 1] + t1, x[k, 2] + t2
        z[k, 0], z[k, 1], z[k, 2] = z0, z1, z2
        offset[k] = system.mu[k] * np.sqrt(z1 * z1 + z2 * z2)
        y[k, 0] = rho[k] * (z0 + n - system.bias[k, 0] - system.slack[k] - offset[k])
        y[k, 1] = rho[k] * (z1 + t1 - system.bias[k, 1])
        y[k, 2] = rho[k] * (z2 + t2 - system.bias[k, 2])


@leaf_kernel
def _relax(system, rho, v, offset, z, x, u):
    """x := alpha (J v + c + s e_n) + (1 - alpha) z + w, where x is z + w before."""
    for k in range(rho.size):
        gap_velocity(system, k, v, u)
        u[0] += offset[k]
        for r in range(3):
            x[k, r] += RELAXATION * (u[r] - z[k, r])


@leaf_kernel
def _carry_on(x, before, times):
    """x := x + times (x - before)."""
    for k in range(x.shape[0]):
        for r in range(3):
            x[k, r] += times * (x[k, r] - before[k, r])


@leaf_kernel
def _start(system, inverse, impulse, v, rho, x, u):
    """rho, and x = z + w such that impulse = -rho w and z are the velocities v (n,), s added."""
    for k in range(rho.size):
        total, rows = 0.0, 0
        for r in range(3):
            if inverse[k, r] > 0.0:
                total += inverse[k, r]
                rows += 1
        rho[k] = ADMM_PENALTY * rows / total if rows > 0 else 1.0
        if k >= system.mu.size:
            rho[k] *= JOINT_FACTOR
        gap_velocity(system, k, v, u)
        if k < system.mu.size:
            u[0] += system.mu[k] * np.sqrt(u[1] * u[1] + u[2] * u[2])
        for r in range(3):
            x[k, r] = u[r] - impulse[k, r] / rho[k]


@leaf_kernel
def _change_penalty(impulse, rho, x, change):
    """rho by a factor, x = z + w such that z and impulse = -rho w stay."""
    for k in range(rho.size):
        for r in range(3):
            x[k, r] += (1.0 - 1.0 / change) * impulse[k, r] / rho[k]
        rho[k] *= change


@leaf_kernel
def _next_change(penalty, least, least_of_round):
    """The factor to the next penalty of a round, 0 after the last round, and the least error as the round began."""
    if penalty > 1.01 * LAST_ADMM_PENALTY:
        return CHANGE, least_of_round
    if least > ROUND * least_of_round:
        return 0.0, least_of_round
    return ADMM_PENALTY / penalty, least


@leaf_kernel
def _error(system, kappa, impulse, work, v):
    """The natural map of impulses (m, 3); v (n,) := their velocities."""
    generalised_impulse(system, BOTH, kappa.size, impulse, work)
    velocity_after(system, system.velocity, work, v)
    return natural_error(system, impulse, v, kappa, 0)


@inner_kernel
def _factor(system, blocks, rho, effort, values):
    """The factor of M + J^T rho J in `values`; False where there is none."""
    derivative = np.zeros((rho.size, 4))
    for k in range(rho.size):
        derivative[k, 0], derivative[k, 1], derivative[k, 3] = rho[k], rho[k], rho[k]
    assemble(values, system, blocks, derivative)
    count_factorisation(effort)
    return factorise(blocks.structure, values)


@inner_kernel
def admm(system, blocks, values, aim, effort, impulse, v):
    """Iterate until the natural map is at most `aim.goal`, or `aim.enough` and that is slow; returns the least that was seen.

    values: work array of the factor. impulse: (m, 3) warm start and answer; v: (n,), those of the answer.
    """
    m, n = impulse.shape[0], v.size
    rho, offset = np.empty(m), np.empty(m)
    x, y, z, u = np.empty((m, 3)), np.empty((m, 3)), np.empty((m, 3)), np.empty(3)
    x_before, x_kept, best = np.empty((m, 3)), np.empty((m, 3)), impulse.copy()
    momentum, work = np.empty(n), np.empty(n)
    apply_mass(system, system.velocity, momentum)
    error = _error(system, aim.kappa, impulse, work, v)
    _start(system, aim.inverse, impulse, v, rho, x, u)
    least, base, error_kept, jump, penalty = error, error, np.inf, FIRST_JUMP, ADMM_PENALTY
    factored, followed, jumped, looks, least_of_round = False, False, False, 0, np.inf
    for done in range(1, ADMM_ITERATIONS + 1):
        if not factored:
            factored = _factor(system, blocks, rho, effort, values)
            if not factored:
                break
        _pull(system, rho, x, offset, z, y)
        generalised_impulse(system, BOTH, m, y, work)
        work += momentum
        solve_in_place(blocks.structure, values, work)
        _relax(system, rho, work, offset, z, x, u)
        if done % ITERATIONS_A_LOOK > 0:
            continue
        count_products(effort, ITERATIONS_A_LOOK * (blocks.structure.length // 100 + m))
        before, least_before = error, least
        _split(system, rho, x, impulse)
        error = _error(system, aim.kappa, impulse, work, v)
        if error < least:
            least = error
            best[:] = impulse
        if is_near(aim, error, least_before) or not np.isfinite(error) or spent(effort):
            break
        if jumped and error > HARM * error_kept:
            x[:] = x_kept
            error, jump = error_kept, max(0.25 * jump, 1.0)
            followed, jumped = False, False
            continue
        jump = min(2.0 * jump, LONGEST_JUMP) if jumped else jump
        looks += 1
        if error < 0.5 * base:
            base, looks = error, 0
        if looks >= PATIENT_LOOKS:
            change, least_of_round = _next_change(penalty, least, least_of_round)
            if change == 0.0:
                break
            _change_penalty(impulse, rho, x, change)
            penalty *= change
            base, looks, factored, followed, jumped = error, 0, False, False, False
            continue
        jumped = followed and error > DRIFTING * before
        if jumped:
            x_kept[:] = x
            error_kept = error
            _carry_on(x, x_before, jump)
        x_before[:] = x
        followed = True
    impulse[:] = best
    _error(system, aim.kappa, impulse, work, v)
    return least
