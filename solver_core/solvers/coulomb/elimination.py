# SPDX-License-Identifier: GPL-3.0-or-later
"""Elimination of rigid joints and springs. Newton's method in impulses solves for contacts, motors and limits.

A joint row without bounds on its impulse is linear: J v + b + gamma lam = 0, gamma > 0. All of these rows together turn M into

    A = M + J_e^T diag(1 / gamma) J_e,    A v = M v_hat - J_e^T b_e / gamma + J_d^T lam_d.

The Cholesky factor of A has one block per pair of *jointed* bodies, and none per pair in contact. Joints in a tree cause no
fill-in. The remaining rows J_d are contacts, motors, limits, and rows with the bounds of a breaking impulse. Their impulses
come from Newton's method (`newton_beside_joints.py`).

A has a condition number of about 1 / gamma, which costs that many digits. Iterative refinement of the eliminated rows restores
them (Higham 2002, "Accuracy and Stability of Numerical Algorithms", chapter 12).

The factor of A depends on the Jacobians and compliances only. If joints are corrected after a solve, only their bias changes,
so one `Elimination` serves for all corrections of a step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import TRUE, inlined_kernel, inner_kernel, kernel, leaf_kernel
from ...linalg.block_cholesky import factorise
from ...linalg.block_triangular import solve_in_place
from ...linalg.copying import copy_rows
from ...problem.residuals import effective_masses, fastest_velocity, relative_coulomb
from ...problem.system import apply_mass, effective_inverse_mass, relative_velocities
from ..block_operator import State, assemble, operator_of, operator_of_joints, update_velocities
from ..criteria import LARGE, MOST_BESIDE_JOINTS, good_enough, relative_target
from ..effort import DONE, allow, count_factorisation, count_products
from ..kaufman_2008.staggered import into_cones, residual
from .newton_beside_joints import Elimination, newton_beside_joints, velocities_with

__all__ = ["begin_elimination", "can_eliminate", "propose_elimination", "solve_eliminated"]

Floats = NDArray[np.float64]

REFINEMENTS = 3  # maximum number of refinements; each restores the digits of one solve with the factor
OF_REFINED = 0.1  # largest error of eliminated rows, relative to the target, so that the target is met by all rows
# Compliances of Newton's method in order, relative to 1 / kappa, first from the warm start, then from any start. With a larger
# first one, warm starts take more steps; with a smaller last one, redundant contacts share their load by round-off. The last
# compliance of the warm start is used twice, so that the second step is about the solution and the compliance does not show in
# the result. Most warm starts of large islands are far away, so these use the second list only. It solves 97 % of large piles
# of ragdolls; a list with factors of a hundred solves 78 %.
HARDLY_GIVING = np.array([1e-7, 1e-7])
GIVING_LESS_AND_LESS = np.array([1e-2, 1e-3, 1e-4, 1e-5, 1e-7])


@inlined_kernel
def _row_velocity(system, k, r, x):
    """Return J_kr x, the velocity of row r of triple k."""
    total, a, b = 0.0, system.body_a[k], system.body_b[k]
    if a >= 0:
        first, row = system.offset[a], system.jacobian_a[k, r]
        own = x[first:]
        for i in range(system.offset[a + 1] - first):
            total += row[i] * own[i]
    if b >= 0:
        first, row = system.offset[b], system.jacobian_b[k, r]
        own = x[first:]
        for i in range(system.offset[b + 1] - first):
            total += row[i] * own[i]
    return total


@inlined_kernel
def _push_row(system, k, r, impulse, x):
    """Add J_kr^T impulse to x."""
    a, b = system.body_a[k], system.body_b[k]
    if a >= 0:
        first, row = system.offset[a], system.jacobian_a[k, r]
        own = x[first:]
        for i in range(system.offset[a + 1] - first):
            own[i] += row[i] * impulse
    if b >= 0:
        first, row = system.offset[b], system.jacobian_b[k, r]
        own = x[first:]
        for i in range(system.offset[b + 1] - first):
            own[i] += row[i] * impulse


@inlined_kernel
def _is_linear(law):
    """Return True if a joint row is eliminated. law: (3,) its smallest and largest impulse and its compliance."""
    return law[0] == -np.inf and law[1] == np.inf and law[2] > 0.0


@kernel
def can_eliminate(system, sides):
    """Return True if the elimination of the joints pays.

    It does with as many joints as contacts, or few contacts, all with finite friction.

    sides: number of sides of the friction polygon, 0 for the disk.
    """
    contacts, joints = system.mu.size, system.box.shape[0]
    if joints == 0 or contacts > max(MOST_BESIDE_JOINTS, joints) or sides > 0:
        return False
    for k in range(contacts):
        if not system.mu[k] < np.inf:
            return False
    for j in range(joints):
        for r in range(3):
            if _is_linear(system.box[j, r]):
                return True
    return False


@leaf_kernel
def _fill_stiffness(system, stiffness, derivative):
    """Set stiffness (j, 3) := 1 / gamma of the linear rows, and the diagonals of derivative (j, 3, 3) likewise."""
    for j in range(stiffness.shape[0]):
        for r in range(3):
            law = system.box[j, r]
            if _is_linear(law):
                derivative[j, r, r] = stiffness[j, r] = 1.0 / law[2]


@inner_kernel
def begin_elimination(system, effort):
    """Return the `Elimination` of a system, and False if A has no factor. effort: counts the work."""
    joints = system.box.shape[0]
    one = Elimination(operator_of(system), operator_of_joints(system), np.zeros((joints, 3)))
    derivative = np.zeros((joints, 3, 3))
    _fill_stiffness(system, one.stiffness, derivative)
    assemble(one.joints, derivative, TRUE)
    count_products(effort, one.joints.blocks.structure.target.size)
    return one, factorise(one.joints.blocks.structure, one.joints.factor)


@leaf_kernel
def _fill_momentum(system, one, momentum):
    """Set momentum (n,) := M v_hat - J_e^T b / gamma, the right side of the velocities without impulses of other rows."""
    apply_mass(system, system.velocity, momentum)
    contacts = system.mu.size
    for j in range(one.stiffness.shape[0]):
        for r in range(3):
            if one.stiffness[j, r] > 0.0:
                _push_row(system, contacts + j, r, -one.stiffness[j, r] * system.bias[contacts + j, r], momentum)


@leaf_kernel
def _gather(system, one, impulse, lam):
    """Copy the impulses (m, 3) to lam (3 m,), zero for the eliminated rows."""
    contacts = system.mu.size
    for k in range(impulse.shape[0]):
        for r in range(3):
            is_eliminated = k >= contacts and one.stiffness[k - contacts, r] > 0.0
            lam[3 * k + r] = 0.0 if is_eliminated else impulse[k, r]


@leaf_kernel
def _scatter(system, one, lam, v, impulse):
    """Set impulse (m, 3) to lam (3 m,), and the impulses of eliminated rows to -(J v + b) / gamma."""
    contacts = system.mu.size
    for k in range(impulse.shape[0]):
        for r in range(3):
            stiffness = one.stiffness[k - contacts, r] if k >= contacts else 0.0
            if stiffness > 0.0:
                impulse[k, r] = -stiffness * (_row_velocity(system, k, r, v) + system.bias[k, r])
            else:
                impulse[k, r] = lam[3 * k + r]


@leaf_kernel
def _off_linear(system, one, impulse, v, off, push):
    """Compute the errors of the eliminated rows, and return the largest absolute one [m/s].

    off: (j, 3) output, J v + b + gamma lam [m/s]. push: (n,) output, -J_e^T off / gamma [N s].
    """
    contacts, largest = system.mu.size, 0.0
    push[:] = 0.0
    for j in range(one.stiffness.shape[0]):
        k = contacts + j
        for r in range(3):
            if one.stiffness[j, r] > 0.0:
                here = _row_velocity(system, k, r, v) + system.bias[k, r] + system.box[j, r, 2] * impulse[k, r]
                off[j, r], largest = here, max(largest, abs(here))
                _push_row(system, k, r, -one.stiffness[j, r] * here, push)
    return largest


@leaf_kernel
def _correct_linear(system, one, off, change, impulse):
    """Correct the impulses (m, 3) of the eliminated rows for their errors off (j, 3) and a velocity change (n,)."""
    contacts = system.mu.size
    for j in range(one.stiffness.shape[0]):
        k = contacts + j
        for r in range(3):
            if one.stiffness[j, r] > 0.0:
                impulse[k, r] -= one.stiffness[j, r] * (_row_velocity(system, k, r, change) + off[j, r])


@inner_kernel
def _refine(system, one, target, state):
    """Reduce the errors of the eliminated rows below `OF_REFINED` times the target [m/s] by iterative refinement.

    The velocities of the state are updated.
    """
    change, off = np.empty(state.v.size), np.zeros(one.stiffness.shape)
    update_velocities(system, state)
    for _ in range(REFINEMENTS):
        if not _off_linear(system, one, state.impulse, state.v, off, change) > OF_REFINED * target:
            break
        solve_in_place(one.joints.blocks.structure, one.joints.factor, change)
        _correct_linear(system, one, off, change, state.impulse)
        update_velocities(system, state)


@inner_kernel
def solve_eliminated(system, one, target, effort, state):
    """Solve a system by Newton's method on the rows that its `Elimination` leaves.

    The result is not checked; the caller measures its residuals.

    one: `Elimination` with the Jacobians and compliances of the system.
    target: target of Newton's method, as a velocity [m/s].
    effort: counts the work.
    state: on input, the warm start; on output, impulses and velocities.

    Returns the number of Newton steps, and whether the target was reached.
    """
    momentum, lam = np.empty(state.v.size), np.empty(3 * state.impulse.shape[0])
    steps, is_near = 0, False
    _fill_momentum(system, one, momentum)
    if system.offset.size - 1 <= LARGE:
        _gather(system, one, state.impulse, lam)
        steps, is_near = newton_beside_joints(one, np.asarray(HARDLY_GIVING), momentum, target, effort, lam)
    if not is_near:
        _gather(system, one, state.impulse, lam)
        more, is_near = newton_beside_joints(one, np.asarray(GIVING_LESS_AND_LESS), momentum, target, effort, lam)
        steps += more
    velocities_with(one, momentum, lam, state.v)
    _scatter(system, one, lam, state.v, state.impulse)
    _refine(system, one, target, state)
    return steps, is_near


@inner_kernel
def _worst_of(system, kappa, fastest, state):
    """Return the largest of the five relative residuals of Coulomb's law of a state."""
    value, index = np.empty(5), np.empty(5, np.int64)
    worst, _ = relative_coulomb(system, state.impulse, relative_velocities(system, state.v), kappa, 0, fastest, value, index)
    return worst


@kernel
def propose_elimination(system, request, effort, state, history):
    """Solve a system for which `can_eliminate` is True.

    The impulses are accepted like a warm start: if an iteration of Algorithm 1 would leave them unchanged. If they are not
    accepted but better than the warm start, the cascade starts from them.

    request: `Request`.
    effort: counts the work.
    state: on input, the warm start; on output, impulses and velocities.
    history: (max_iterations, 3) output, as in `solve_island`; its first row is set if the impulses are accepted.

    Returns whether the impulses are accepted, and whether the state has them.
    """
    kappa, fastest = effective_masses(effective_inverse_mass(system)), fastest_velocity(system)
    allow(effort, request.max_iterations, 0, kappa.size)
    one, is_factored = begin_elimination(system, effort)
    count_factorisation(effort)
    if not is_factored:
        return False, False
    into_cones(system, state.impulse)
    given = State(state.impulse.copy(), np.empty(state.v.size))
    target = relative_target(request.tolerance, request.tumbles) * fastest
    effort[DONE] += solve_eliminated(system, one, target, effort, state)[0]
    into_cones(system, state.impulse)
    update_velocities(system, state)
    worst = _worst_of(system, kappa, fastest, state)
    if worst <= good_enough(request.tolerance, request.tumbles):
        history[0, 0], history[0, 1], history[0, 2] = 0.0, residual(system, state.impulse, state.v), worst
        return True, True
    update_velocities(system, given)
    if worst < _worst_of(system, kappa, fastest, given):
        return False, True
    copy_rows(given.impulse, state.impulse)
    return False, False
