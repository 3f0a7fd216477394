# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's method on contact and Coulomb friction together, to find a fixed point that staggering approaches only slowly.

The friction radii are no longer held: with y = (alpha, beta) and rho > 0,

    alpha(v) = max(0, alpha - rho (u_n + c)),   beta(v) = P_{mu alpha(v)}(beta - rho u_t),   M (v - v_hat) = J^T (alpha(v),
    beta(v)),

and y := (alpha, beta)(v) repeats, as in `projection` (Alart and Curnier 1991, "A mixed formulation for frictional contact
problems prone to Newton like solution methods"). The dependence of the radii on v makes the derivative  M + J^T D J
unsymmetric where a contact slides, there is no function that every step brings down, and convergence is only local: this is a
way to propose impulses, never to accept them.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, inner_kernel, kernel_part, leaf_kernel
from ...linalg.block_lu import factorise_lu, solve_lu_in_place
from ...linalg.rows_of_six import weigh_rows
from ...problem.cones import project_interval
from ...problem.coulomb import respond
from ...problem.residuals import natural_error
from ...problem.system import apply_inverse_mass, apply_mass, relative_velocity
from ..block_operator import BOTH, add_product, gap_velocity, generalised_impulse, velocity_after
from ..effort import count_factorisation, spent
from .projection import JOINT_PENALTY

__all__ = ["SHORTEST_STEP", "assemble_unsymmetric", "coulomb_newton", "find_imbalance"]

FIRST_PENALTIES = (1e2, 1e1, 1e3, 1e0)  # rho_k times the effective inverse mass, one try after the other
LAST_JOINT_PENALTY = 1e6
JOINT_MULTIPLIER_STEPS = 15
JOINT_NEWTON_STEPS = 25
SHORTEST_STEP = 0.06
JOINT_UPHILL_STEPS = 4
KEEPS = 0.1  # of what is out of balance: a factor that leaves no more of it a step is used again where joints, linear, prevail


@leaf_kernel
def _respond_of_joint(box, joint, rho, w, y, d):
    """y := (alpha, beta) for the trial impulse w of the rows of a joint, each by itself; d (3, 3) := -dy/du = rho dy/dw."""
    d[:] = 0.0
    for r in range(3):
        y[r], slope = project_interval(w[r], box[joint, r, 0], box[joint, r, 1], 1.0 + rho * box[joint, r, 2])
        d[r, r] = rho * slope


@inlined_kernel
def _weigh(d, jacobian, size, out):
    """out[:, :size] := D J."""
    if size == 6:
        weigh_rows(out[0], d[0, 0], d[0, 1], d[0, 2], jacobian)
        weigh_rows(out[1], d[1, 0], d[1, 1], d[1, 2], jacobian)
        weigh_rows(out[2], d[2, 0], d[2, 1], d[2, 2], jacobian)
        return
    for r in range(3):
        for j in range(size):
            out[r, j] = d[r, 0] * jacobian[0, j] + d[r, 1] * jacobian[1, j] + d[r, 2] * jacobian[2, j]


@inlined_kernel
def _add_contact(lower, upper, system, blocks, k, d, weighed_a, weighed_b):
    """J_k^T D J_k on top of all four blocks."""
    a, b = system.body_a[k], system.body_b[k]
    size_a = system.offset[a + 1] - system.offset[a] if a >= 0 else 0
    size_b = system.offset[b + 1] - system.offset[b] if b >= 0 else 0
    ja, jb = system.jacobian_a[k], system.jacobian_b[k]
    if a >= 0:
        _weigh(d, ja, size_a, weighed_a)
        add_product(lower[blocks.diagonal_a[k] :], ja, size_a, weighed_a, size_a)
    if b >= 0:
        _weigh(d, jb, size_b, weighed_b)
        add_product(lower[blocks.diagonal_b[k] :], jb, size_b, weighed_b, size_b)
    if a >= 0 and b >= 0:
        of_b, of_a = (lower, upper) if blocks.b_is_row[k] else (upper, lower)
        add_product(of_b[blocks.between[k] :], jb, size_b, weighed_a, size_a)
        add_product(of_a[blocks.between[k] :], ja, size_a, weighed_b, size_b)


@leaf_kernel
def _assemble(lower, upper, system, blocks, derivative, weighed_a, weighed_b):
    structure = blocks.structure
    for i in range(structure.length):
        lower[i] = upper[i] = 0.0
    for j in range(structure.order.size):
        at, block = structure.diagonal[j], system.block_start[structure.order[j]]
        for i in range(structure.size[j] * structure.size[j]):
            lower[at + i] = system.mass[block + i]
    for k in range(system.body_a.size):
        d = derivative[k]
        if d[0, 0] != 0.0 or k >= system.mu.size:
            _add_contact(lower, upper, system, blocks, k, d, weighed_a, weighed_b)


@inner_kernel
def assemble_unsymmetric(lower, upper, system, blocks, derivative):
    """M + J^T D J, all blocks."""
    widest = system.jacobian_a.shape[2]
    _assemble(lower, upper, system, blocks, derivative, np.empty((3, widest)), np.empty((3, widest)))


@leaf_kernel
def _respond_all(system, sides, rho, y, v, u, w, fresh, derivative):
    """fresh := (alpha, beta)(v), derivative := what D is then; u, w: (3,)."""
    for k in range(rho.size):
        gap_velocity(system, k, v, u)
        for r in range(3):
            w[r] = y[k, r] - rho[k] * u[r]
        if k < system.mu.size:
            respond(system.mu[k], sides, rho[k], w, fresh[k], derivative[k])
        else:
            _respond_of_joint(system.box, k - system.mu.size, rho[k], w, fresh[k], derivative[k])


@inner_kernel
def find_imbalance(system, sides, rho, y, v, fresh, derivative, work, gradient, back):
    """The kinetic norm of M (v - v_hat) - J^T fresh, fresh := (alpha, beta)(v); it is left in gradient, and its derivative's
    D."""
    _respond_all(system, sides, rho, y, v, np.empty(3), np.empty(3), fresh, derivative)
    generalised_impulse(system, BOTH, rho.size, fresh, work)
    apply_mass(system, v - system.velocity, gradient)
    gradient -= work
    apply_inverse_mass(system, gradient, back)
    return np.sqrt(max(0.0, np.dot(gradient, back)))


@kernel_part
def coulomb_newton(system, blocks, lower, upper, sides, inverse, kappa, attempt, goal, enough, effort, impulse, v):
    """Improve impulses (m, 3) and their velocities v (n,); returns the largest natural map reached, m/s.

    attempt: how often it was tried before in this solve. Which of several first penalties leads to a solution differs from
    problem to problem, so tries take them in turn.
    """
    first = FIRST_PENALTIES[attempt % len(FIRST_PENALTIES)]
    m, n = impulse.shape[0], v.size
    rho = np.empty(m)
    for k in range(m):
        total = inverse[k].sum()
        rho[k] = 3.0 * first / total if total > 0.0 else 0.0
        if k >= system.mu.size:
            rho[k] *= JOINT_PENALTY
    y, fresh, derivative = impulse.copy(), np.zeros((m, 3)), np.zeros((m, 3, 3))
    work, gradient, back, trial, u = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(3)
    generalised_impulse(system, BOTH, m, y, work)
    now_v = np.empty(n)
    velocity_after(system, system.velocity, work, now_v)
    uphill = JOINT_UPHILL_STEPS
    penalty, least, factored, joined = first, np.inf, False, system.box.shape[0] > 0
    for _ in range(JOINT_MULTIPLIER_STEPS):
        now, last = find_imbalance(system, sides, rho, y, now_v, fresh, derivative, work, gradient, back), np.inf
        for _newton in range(JOINT_NEWTON_STEPS):
            fastest = 0.0
            for k in range(m):
                u[0], u[1], u[2] = relative_velocity(system, k, back)
                for r in range(3):
                    fastest = max(fastest, abs(u[r] - system.bias[k, r]))
            if fastest <= 0.1 * goal:
                break
            if spent(effort):
                return least
            is_new = not (factored and joined) or now > KEEPS * last
            if is_new:
                assemble_unsymmetric(lower, upper, system, blocks, derivative)
                count_factorisation(effort)
                if not factorise_lu(blocks.structure, lower, upper):
                    return least
                factored = True
            last = now
            step = -gradient
            solve_lu_in_place(blocks.structure, lower, upper, step)
            t = 1.0
            while True:
                for i in range(n):
                    trial[i] = now_v[i] + t * step[i]
                after = find_imbalance(system, sides, rho, y, trial, fresh, derivative, work, gradient, back)
                if after < (1.0 - 0.1 * t) * now or t < SHORTEST_STEP:
                    break
                t *= 0.5
            if not after < now and not is_new:
                # not along the step of a factor that was another place's
                factored = False
                now = find_imbalance(system, sides, rho, y, now_v, fresh, derivative, work, gradient, back)
                continue
            if not after < now:
                if fastest <= 0.1 * enough:
                    # round-off, on what is almost solved: the multipliers have the last word
                    find_imbalance(system, sides, rho, y, now_v, fresh, derivative, work, gradient, back)
                    break
                if uphill == 0:
                    return least
                # no step along this direction goes down: where pieces of the map meet, the whole one often leads on
                uphill -= 1
                for i in range(n):
                    trial[i] = now_v[i] + step[i]
                after = find_imbalance(system, sides, rho, y, trial, fresh, derivative, work, gradient, back)
            now = after
            now_v[:] = trial
        y[:] = fresh
        generalised_impulse(system, BOTH, m, y, work)
        velocity_after(system, system.velocity, work, now_v)
        before = least
        error = natural_error(system, y, now_v, kappa, sides)
        if not error < least:
            break
        least = error
        impulse[:] = y
        v[:] = now_v
        slow = error > 0.1 * before
        if error <= goal or (slow and error <= enough):
            break
        if slow:
            if penalty >= LAST_JOINT_PENALTY:
                break
            penalty *= 10.0
            rho *= 10.0
            factored = False
    return least
