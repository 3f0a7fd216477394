# SPDX-License-Identifier: GPL-3.0-or-later
"""Elimination of rigid joints and springs. Contacts, motors and limits remain as a small dense problem in impulses.

A joint row without bounds on its impulse is linear: J v + b + gamma lam = 0, gamma > 0. All of these rows together turn M into

    A = M + J_e^T diag(1 / gamma) J_e,    A v = M v_hat - J_e^T b_e / gamma + J_d^T lam_d.

The Cholesky factor of A has one block per pair of *jointed* bodies, and none per pair in contact. Joints in a tree cause no
fill-in. The remaining rows J_d are contacts, motors, rows with the bounds of a breaking impulse, and limits. A limit is
included when it has an impulse or when the velocities would violate it, so limits enter in several rounds. The Delassus
operator of these rows, G = J_d A^-1 J_d^T, is dense, and `newton_in_impulses.py` solves for their impulses.

A has a condition number of about 1 / gamma, which costs that many digits. Iterative refinement of the eliminated rows restores
them (Higham 2002, "Accuracy and Stability of Numerical Algorithms", chapter 12).

G and the factor depend on the Jacobians and compliances only. If joints are corrected after a solve, only their bias changes,
so one `Elimination` serves for all corrections of a step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import TRUE, inlined_kernel, inner_kernel, kernel, leaf_kernel
from ...linalg.block_cholesky import factorise
from ...linalg.block_triangular import solve_in_place
from ...linalg.copying import copy_rows, copy_vector
from ...problem.residuals import effective_masses, fastest_velocity, relative_coulomb
from ...problem.system import apply_mass, effective_inverse_mass, relative_velocities
from ..block_operator import Operator, State, assemble, operator_of_joints, update_velocities
from ..criteria import MOST_BESIDE_JOINTS, ROWS_BESIDE_JOINTS, good_enough, relative_target
from ..effort import DONE, allow, count_factorisation, count_products
from ..kaufman_2008.staggered import into_cones, residual
from .newton_in_impulses import DenseLaw, newton_in_impulses

__all__ = ["Elimination", "begin_elimination", "can_eliminate", "propose_elimination", "solve_eliminated"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDS = 6  # maximum number of rounds in which violated limits are included; with fewer, more solves are left to the cascade
REFINEMENTS = 3  # maximum number of refinements; each restores the digits of one solve with the factor
OF_REFINED = 0.1  # largest error of eliminated rows, relative to the target, so that the target is met by all rows
# Compliances of Newton's method in order, relative to 1 / kappa, first from the warm start, then from any start. G is known to
# about ten digits. With a compliance below its error, redundant contacts would share their load at random. The last compliance
# is used twice, so that the second step is about the solution and the compliance does not show in the result.
HARDLY_GIVING = np.array([1e-7, 1e-7])
GIVING_LESS_AND_LESS = np.array([1.0, 0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-6, 1e-7, 1e-7])
OF_A_PRODUCT = 216  # multiplications in a product of two 6 by 6 blocks, the unit of `effort.count_products`


class Elimination(NamedTuple):
    """A system whose linear joint rows are eliminated.

    operator: operator of the joint rows only, with the factor of A.
    stiffness: (j, 3) 1 / gamma of the eliminated rows [kg], 0 for the others.
    place: (j, 3) index of the dense row of each bounded row, -1 if it is not included.
    bounded: (r,) the included bounded rows in order, as 3 * joint + row.
    columns: (r, n) transpose of A^-1 J_d^T.
    G: (r, r) Delassus operator of the dense rows [1/kg].
    taken: (1,) number of included bounded rows.
    """

    operator: Operator
    stiffness: Floats
    place: Ints
    bounded: Ints
    columns: Floats
    G: Floats
    taken: Ints


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


@leaf_kernel
def can_eliminate(system, sides):
    """Return True if the elimination of the joints pays: few contacts with finite friction, and few rows with two bounds.

    sides: number of sides of the friction polygon, 0 for the disk.
    """
    contacts, joints = system.mu.size, system.box.shape[0]
    if joints == 0 or contacts > MOST_BESIDE_JOINTS or sides > 0:
        return False
    for k in range(contacts):
        if not system.mu[k] < np.inf:
            return False
    linear, rows = 0, 3 * contacts
    for j in range(joints):
        for r in range(3):
            law = system.box[j, r]
            if _is_linear(law):
                linear += 1
            elif law[0] < 0.0 and law[1] > 0.0:
                rows += 1
    return linear > 0 and rows <= ROWS_BESIDE_JOINTS


@leaf_kernel
def _fill_stiffness(system, stiffness, derivative):
    """Set stiffness (j, 3) := 1 / gamma of the linear rows, and the diagonals of derivative (j, 3, 3) likewise.

    Returns the number of bounded rows that may have impulses.
    """
    bounded = 0
    for j in range(stiffness.shape[0]):
        for r in range(3):
            law = system.box[j, r]
            if _is_linear(law):
                derivative[j, r, r] = stiffness[j, r] = 1.0 / law[2]
            elif law[0] < 0.0 or law[1] > 0.0:
                bounded += 1
    return bounded


@leaf_kernel
def _take_in_row(system, one, k, r, here):
    """Include row r of triple k as dense row `here`. All dense rows before it are included already."""
    contacts, structure = system.mu.size, one.operator.blocks.structure
    x = one.columns[here]
    x[:] = 0.0
    _push_row(system, k, r, 1.0, x)
    solve_in_place(structure, one.operator.factor, x)
    for other in range(min(here + 1, 3 * contacts)):
        one.G[other, here] = one.G[here, other] = _row_velocity(system, other // 3, other % 3, x)
    for other in range(3 * contacts, here + 1):
        at = one.bounded[other - 3 * contacts]
        one.G[other, here] = one.G[here, other] = _row_velocity(system, contacts + at // 3, at % 3, x)


@leaf_kernel
def _take_in_contacts(system, one):
    """Include the three rows of each contact."""
    for k in range(system.mu.size):
        for r in range(3):
            _take_in_row(system, one, k, r, 3 * k + r)


@leaf_kernel
def _take_in(system, one, v, impulse):
    """Include the bounded rows that velocities v (n,) violate, or that have an impulse (m, 3).

    Returns the number of rows that were added, or -1 if there is not enough storage.
    """
    contacts, before = system.mu.size, one.taken[0]
    for j in range(one.place.shape[0]):
        k = contacts + j
        for r in range(3):
            law = system.box[j, r]
            if one.place[j, r] >= 0 or _is_linear(law) or not (law[0] < 0.0 or law[1] > 0.0):
                continue
            u = _row_velocity(system, k, r, v) + system.bias[k, r]
            if not ((law[1] > 0.0 and u < 0.0) or (law[0] < 0.0 and u > 0.0) or impulse[k, r] != 0.0):
                continue
            here = 3 * contacts + one.taken[0]
            if here >= one.G.shape[0]:
                return -1
            one.place[j, r], one.bounded[one.taken[0]] = here, 3 * j + r
            _take_in_row(system, one, k, r, here)
            one.G[here, here] += law[2]
            one.taken[0] += 1
    return one.taken[0] - before


@inner_kernel
def begin_elimination(system, effort):
    """Return the `Elimination` of a system with its contacts, and False if A has no factor. effort: counts the work."""
    contacts, joints, n = system.mu.size, system.box.shape[0], system.velocity.size
    operator = operator_of_joints(system)
    stiffness, derivative = np.zeros((joints, 3)), np.zeros((joints, 3, 3))
    rows = min(3 * contacts + _fill_stiffness(system, stiffness, derivative), ROWS_BESIDE_JOINTS)
    assemble(operator, derivative, TRUE)
    count_products(effort, operator.blocks.structure.target.size + rows * n // OF_A_PRODUCT)
    is_factored = factorise(operator.blocks.structure, operator.factor)
    place, bounded, taken = np.full((joints, 3), -1, np.int64), np.empty(rows, np.int64), np.zeros(1, np.int64)
    one = Elimination(operator, stiffness, place, bounded, np.empty((rows, n)), np.zeros((rows, rows)), taken)
    if is_factored:
        _take_in_contacts(system, one)
    return one, is_factored


@leaf_kernel
def _free_velocity(system, one, v):
    """Set v (n,) to the velocities with the impulses of the linear rows only."""
    apply_mass(system, system.velocity, v)
    contacts = system.mu.size
    for j in range(one.stiffness.shape[0]):
        for r in range(3):
            if one.stiffness[j, r] > 0.0:
                _push_row(system, contacts + j, r, -one.stiffness[j, r] * system.bias[contacts + j, r], v)
    solve_in_place(one.operator.blocks.structure, one.operator.factor, v)


@leaf_kernel
def _gather(system, one, impulse, lam):
    """Copy the impulses of the dense rows from impulse (m, 3) to lam (r,)."""
    contacts = system.mu.size
    for at in range(3 * contacts):
        lam[at] = impulse[at // 3, at % 3]
    for i in range(one.taken[0]):
        at = one.bounded[i]
        lam[3 * contacts + i] = impulse[contacts + at // 3, at % 3]


@leaf_kernel
def _scatter(system, one, lam, impulse):
    """Copy the impulses of the dense rows from lam (r,) to impulse (m, 3)."""
    contacts = system.mu.size
    for at in range(3 * contacts):
        impulse[at // 3, at % 3] = lam[at]
    for i in range(one.taken[0]):
        at = one.bounded[i]
        impulse[contacts + at // 3, at % 3] = lam[3 * contacts + i]


@leaf_kernel
def _fill_law(system, one, free, law):
    """Fill `free`, `bounds` and `kappa` of the law of the dense rows. free: (n,) velocities without dense impulses."""
    contacts = system.mu.size
    for k in range(contacts):
        total = 0.0
        for r in range(3):
            at = 3 * k + r
            law.free[at] = _row_velocity(system, k, r, free) + system.bias[k, r]
            total += one.G[at, at]
        law.free[3 * k] += system.slack[k]
        law.kappa[k] = 3.0 / total if total > 0.0 else 0.0
    for i in range(one.taken[0]):
        at, here = one.bounded[i], 3 * contacts + i
        j, r = at // 3, at % 3
        law.free[here] = _row_velocity(system, contacts + j, r, free) + system.bias[contacts + j, r]
        law.bounds[i, 0], law.bounds[i, 1] = system.box[j, r, 0], system.box[j, r, 1]
        law.kappa[contacts + i] = 1.0 / one.G[here, here] if one.G[here, here] > 0.0 else 0.0


@inner_kernel
def _law_of(system, one, free):
    """Return the `DenseLaw` of the dense rows. free: (n,) velocities without their impulses."""
    contacts, taken = system.mu.size, one.taken[0]
    rows = 3 * contacts + taken
    law = DenseLaw(one.G[:rows, :rows], np.empty(rows), system.mu, np.empty((taken, 2)), np.empty(contacts + taken))
    _fill_law(system, one, free, law)
    return law


@leaf_kernel
def _velocities_with(one, free, lam, v):
    """Set v (n,) := free + A^-1 J_d^T lam."""
    copy_vector(free, v)
    for i in range(lam.size):
        if lam[i] != 0.0:
            x, s = one.columns[i], lam[i]
            for d in range(v.size):
                v[d] += s * x[d]


@leaf_kernel
def _impulses_of_linear(system, one, v, impulse):
    """Set the impulses of the eliminated rows in impulse (m, 3) to those that follow from velocities v (n,)."""
    contacts = system.mu.size
    for j in range(one.stiffness.shape[0]):
        k = contacts + j
        for r in range(3):
            if one.stiffness[j, r] > 0.0:
                impulse[k, r] = -one.stiffness[j, r] * (_row_velocity(system, k, r, v) + system.bias[k, r])


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
        solve_in_place(one.operator.blocks.structure, one.operator.factor, change)
        _correct_linear(system, one, off, change, state.impulse)
        update_velocities(system, state)


@inner_kernel
def solve_eliminated(system, one, target, effort, state):
    """Solve a system by Newton's method on the dense rows of its `Elimination`.

    The result is not checked; the caller measures its residuals.

    one: `Elimination` with the Jacobians and compliances of the system.
    target: target of Newton's method, as a velocity [m/s].
    effort: counts the work.
    state: on input, the warm start; on output, impulses and velocities.

    Returns the number of Newton steps, and whether the target was reached, which is False if there is not enough storage for
    all violated limits.
    """
    impulse, n, done, is_near, contacts = state.impulse, state.v.size, 0, True, system.mu.size
    free, lam = np.empty(n), np.empty(3 * contacts + one.taken[0])
    _free_velocity(system, one, free)
    _gather(system, one, impulse, lam)
    _velocities_with(one, free, lam, state.v)
    for turn in range(ROUNDS):
        taken = _take_in(system, one, state.v, impulse)
        if taken < 0:
            return done, False
        if taken == 0 and turn > 0:
            break
        law = _law_of(system, one, free)
        lam = np.empty(law.free.size)
        if lam.size == 0:
            break
        _gather(system, one, impulse, lam)
        start = lam.copy()
        steps, is_near = newton_in_impulses(law, np.asarray(HARDLY_GIVING), target, lam)
        if not is_near:
            copy_vector(start, lam)
            more, is_near = newton_in_impulses(law, np.asarray(GIVING_LESS_AND_LESS), target, lam)
            steps += more
        done += steps
        count_products(effort, steps * lam.size**3 // OF_A_PRODUCT)
        _scatter(system, one, lam, impulse)
        _velocities_with(one, free, lam, state.v)
        if not is_near:
            break
    _impulses_of_linear(system, one, state.v, impulse)
    _refine(system, one, target, state)
    return done, is_near


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
    steps, is_near = solve_eliminated(system, one, target, effort, state)
    effort[DONE] += steps
    worst = np.inf
    if is_near:
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
