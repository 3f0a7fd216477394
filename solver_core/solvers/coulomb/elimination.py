# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints that hold, and springs, eliminated exactly; contacts, motors and limits are left as a small dense problem in impulses.

A row of a joint that may pull in both directions without bound is linear: J v + b + gamma lam = 0, gamma > 0. All of them
together turn M into

    A = M + J_e^T diag(1 / gamma) J_e,    A v = M v_hat - J_e^T b_e / gamma + J_d^T lam_d,

whose Cholesky factor has one block for each pair of *jointed* bodies, and none for pairs in contact: joints in a tree have no
fill. The rows that are left, J_d, are contacts, motors, rows with the bounds of a breaking impulse, and those limits that push
or that the velocities would break; the latter are taken in a few at a time. Their Delassus operator G = J_d A^-1 J_d^T is
dense, and `newton_in_impulses.py` solves for their impulses.

A has a condition of about 1 / gamma, and rounding costs as many digits. Iterative refinement of the eliminated rows brings them
back (Higham 2002, "Accuracy and Stability of Numerical Algorithms", chapter 12).

G and the factor depend on the Jacobians and compliances only. Where joints are corrected about the velocities that came out,
their bias alone changes, so an `Elimination` serves for all corrections of a step.
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

ROUNDS = 6  # in which limits are taken in that the velocities of the round before would break
REFINEMENTS = 3  # at most
OF_REFINED = 0.1  # of the target: what refinement leaves to the eliminated rows
# Compliances of Newton's method, over what rows give way by themselves, in turn. G is known to some ten digits, and redundant
# contacts share their load by chance if they give way by less than G is off. Twice the last: the second is about the answer.
HARDLY_GIVING = np.array([1e-7, 1e-7])
GIVING_LESS_AND_LESS = np.array([1.0, 0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-6, 1e-7, 1e-7])
OF_A_PRODUCT = 216  # multiplications of two blocks of six by six, in which work is counted


class Elimination(NamedTuple):
    """A system whose linear rows of joints are eliminated.

    operator: of the rows of joints alone, with the factor of A. stiffness: (j, 3) kg, 1 / gamma of the eliminated rows, 0 of
    others. place: (j, 3) the dense row of a row with bounds, -1 where it has none. bounded: (r,) of the rows with bounds that
    are dense, 3 j + row, in order. columns: (r, n) A^-1 J_d^T. G: (r, r) 1/kg. taken: (1,) how many of `bounded` there are.
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
    """J_kr x."""
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
    """x += J_kr^T impulse."""
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
    """Whether a row of a joint, by its least and largest impulse and its compliance, is eliminated."""
    return law[0] == -np.inf and law[1] == np.inf and law[2] > 0.0


@leaf_kernel
def can_eliminate(system, sides):
    """Whether joints of a system are worth eliminating: few contacts beside them, of finite friction, and few rows that have
    two bounds. sides: of a friction polygon, 0 for the disk."""
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
    """stiffness (j, 3) := 1 / gamma of the linear rows; derivative (j, 3, 3): the same on its diagonal. Returns how many rows
    may have impulses and are not linear."""
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
    """Row r of triple k as the dense row `here`; those before it are there."""
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
    for k in range(system.mu.size):
        for r in range(3):
            _take_in_row(system, one, k, r, 3 * k + r)


@leaf_kernel
def _take_in(system, one, v, impulse):
    """Take in the rows with bounds that velocities (n,) would break, or that have an impulse (m, 3); how many, or -1 where
    there is no room for all."""
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
    """The `Elimination` of a system, its contacts taken in, and whether A has a factor. effort: what it costs is counted in."""
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
    """v (n,) := the velocities that the linear rows lead to alone."""
    apply_mass(system, system.velocity, v)
    contacts = system.mu.size
    for j in range(one.stiffness.shape[0]):
        for r in range(3):
            if one.stiffness[j, r] > 0.0:
                _push_row(system, contacts + j, r, -one.stiffness[j, r] * system.bias[contacts + j, r], v)
    solve_in_place(one.operator.blocks.structure, one.operator.factor, v)


@leaf_kernel
def _gather(system, one, impulse, lam):
    """lam (r,) := the impulses (m, 3) of the dense rows."""
    contacts = system.mu.size
    for at in range(3 * contacts):
        lam[at] = impulse[at // 3, at % 3]
    for i in range(one.taken[0]):
        at = one.bounded[i]
        lam[3 * contacts + i] = impulse[contacts + at // 3, at % 3]


@leaf_kernel
def _scatter(system, one, lam, impulse):
    """The impulses (m, 3) of the dense rows := lam (r,)."""
    contacts = system.mu.size
    for at in range(3 * contacts):
        impulse[at // 3, at % 3] = lam[at]
    for i in range(one.taken[0]):
        at = one.bounded[i]
        impulse[contacts + at // 3, at % 3] = lam[3 * contacts + i]


@leaf_kernel
def _fill_law(system, one, free, law):
    """The velocities (n,) without dense impulses, and the bounds and effective masses, of the dense rows, into their law."""
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
    """The `DenseLaw` of the dense rows, beside velocities (n,) without their impulses."""
    contacts, taken = system.mu.size, one.taken[0]
    rows = 3 * contacts + taken
    law = DenseLaw(one.G[:rows, :rows], np.empty(rows), system.mu, np.empty((taken, 2)), np.empty(contacts + taken))
    _fill_law(system, one, free, law)
    return law


@leaf_kernel
def _velocities_with(one, free, lam, v):
    """v := free + A^-1 J_d^T lam, all (n,)."""
    copy_vector(free, v)
    for i in range(lam.size):
        if lam[i] != 0.0:
            x, s = one.columns[i], lam[i]
            for d in range(v.size):
                v[d] += s * x[d]


@leaf_kernel
def _impulses_of_linear(system, one, v, impulse):
    """The impulses (m, 3) of the eliminated rows := those that velocities (n,) mean."""
    contacts = system.mu.size
    for j in range(one.stiffness.shape[0]):
        k = contacts + j
        for r in range(3):
            if one.stiffness[j, r] > 0.0:
                impulse[k, r] = -one.stiffness[j, r] * (_row_velocity(system, k, r, v) + system.bias[k, r])


@leaf_kernel
def _off_linear(system, one, impulse, v, off, push):
    """off (j, 3) := J v + b + gamma lam of the eliminated rows, m/s; push (n,) := -J_e^T off / gamma. The largest, without its
    sign."""
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
    """Impulses (m, 3) of the eliminated rows, corrected for what they are off, (j, 3), by a change (n,) of velocities."""
    contacts = system.mu.size
    for j in range(one.stiffness.shape[0]):
        k = contacts + j
        for r in range(3):
            if one.stiffness[j, r] > 0.0:
                impulse[k, r] -= one.stiffness[j, r] * (_row_velocity(system, k, r, change) + off[j, r])


@inner_kernel
def _refine(system, one, target, state):
    """Bring the eliminated rows of a state to a part of the target, m/s, by iterative refinement, and its velocities up to
    date."""
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
    """Solve a system, whose matrix that of an `Elimination` is, by Newton's method on its dense rows.

    target: m/s, of the natural map. effort: what it costs is counted in. state: impulses (m, 3), warm start and answer, and
    velocities (n,), answer. Returns the steps of Newton's method, and whether it reached the target: not where there are more
    rows than room. How good the answer is as a whole is for the caller to measure.
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
    """The largest relative residual of Coulomb's law of a state, natural map and penetration among them."""
    value, index = np.empty(5), np.empty(5, np.int64)
    worst, _ = relative_coulomb(system, state.impulse, relative_velocities(system, state.v), kappa, 0, fastest, value, index)
    return worst


@kernel
def propose_elimination(system, request, effort, state, history):
    """Solve a system that `can_eliminate`; whether its impulses are accepted, and whether the state has them.

    They are accepted like impulses that are given: if an iteration of Algorithm 1 would leave them as they are. Otherwise the
    state has them where they are better than what was given, for the cascade to go on from. request: as of `solve_island`.
    effort: what it costs. state: impulses (m, 3), warm start and answer, and velocities (n,), answer. history: as of
    `solve_island`.
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
