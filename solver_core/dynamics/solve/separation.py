# SPDX-License-Identifier: GPL-3.0-or-later
"""Separation of overlapping bodies by a change of positions that adds no momentum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...compile.kernel import inner_kernel, kernel, kernel_part
from ...linalg.disjoint_sets import connected
from ...problem.subsystem import contact_islands, subsystem
from ...problem.system import System, relative_velocity
from ...solvers.block_operator import CONTACT, State, operator_of
from ...solvers.coulomb.elimination import begin_elimination, can_eliminate, solve_eliminated
from ...solvers.coulomb.first_order import sweeps_and_admm
from ...solvers.criteria import FEW_BODIES, MAX_CHECKS, StoppingCriteria
from ...solvers.effort import allow
from ...solvers.kaufman_2008.projection import DISK, MULTIPLIER_STEPS, Sets, project
from ..model.bodies import RIGID
from ..model.predict import Begin, all_twists
from ..model.rest_gaps import REST_OFFSET

__all__ = [
    "BodyIslands",
    "ContactGaps",
    "JointBounds",
    "SeparationLimits",
    "left_to_limits",
    "separation",
    "stop_deepening_islands",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Bools = NDArray[np.bool_]

FIRST_ORDER, PROJECTION, COMPROMISE = range(3)  # the methods, in the order in which they are tried
# Multiplier steps of a compromise between conflicting overlaps. With more steps, a peg that fills its hole would slip out along
# normals that are almost perpendicular to its axis.
COMPROMISE_STEPS = 1
# Newton steps that do not halve the gradient, after which a multiplier step ends. With more, conflicting overlaps, which have
# no solution, push each other longer: a peg that fills its hole overlaps by 0.22 mm in place of 0.02 mm.
SEPARATION_STALLS = 1
MIN_SPEED_SCALE = 0.25  # overlaps conflict if `limit_speeds` would have to scale the velocities of an island by this or less
# Limit on relative speeds at the contacts of an island, relative to its largest requested opening speed.
MAX_SPEED_FACTOR = 1.5
FACTORISING = 30  # number of iterations whose factorizations the work budget of a solve allows
# Tolerances of the separation solve, relative to the largest requested opening speed: the target, what is accepted if progress
# is slow, and what is accepted in large moving islands. There the next step corrects the rest together with new overlaps. A
# resting stack would not settle with the last tolerance.
SEPARATION_TARGET, SEPARATED, SEPARATED_MOVING = 1e-3, 1e-2, 1e-1
# Rest offsets; bodies at a smaller gap may support each other and are brought no closer. Larger gaps may close to this one.
SUPPORT_RANGE = 10.0
PUSHING_ROUNDS = 12  # each adds the contacts that the previous round violated; the round after them adds all contacts
# Fraction of the rest offset; a smaller overlap is not corrected. The fraction is larger in large moving islands, because the
# tolerance of their contact solve admits as much overlap in each step at a thousand contacts.
NEGLIGIBLE, NEGLIGIBLE_IN_MOTION = 0.05, 0.5


class JointBounds(NamedTuple):
    """The joints of a step. pairs: (k, 2) bodies connected by joints. box: (j, 3, 3) the bounds of their rows."""

    pairs: Indices
    box: Floats


class SeparationLimits(NamedTuple):
    """The limits of a separation.

    recovery_speed: half sizes of the smaller body per second; the largest opening speed, in addition to the overlap speed that
    the curvature of the motion causes within the step. in_large_island: (n,) bodies of large moving islands, which have looser
    tolerances.
    """

    recovery_speed: float
    in_large_island: Bools


class SeparationContacts(NamedTuple):
    """The m contacts of a step.

    body_a, body_b: (m,) bodies A and B. gap, rest_gap, rest_offset: (m,) m. pushed: (m,) N s, the separation impulses of the
    previous attempt at the step.
    """

    body_a: Indices
    body_b: Indices
    gap: Floats
    rest_gap: Floats
    rest_offset: Floats
    pushed: Floats


class SeparationBodies(NamedTuple):
    """The n bodies of a step.

    dof: (n,) the index of each body among those that the solver moves, or -1. half_size: (n,) m. predicted: (n, 6) twists
    without contacts. in_large_island: (n,) bodies of large moving islands.
    """

    dof: Indices
    half_size: Floats
    predicted: Floats
    in_large_island: Bools


class Openings(NamedTuple):
    """The targets of m contacts, in addition to the solved velocities.

    is_any: whether any contact has to be separated; if not, the arrays are incomplete. overlaps: (m,) the contacts that have to
    be separated. slack: (m,) m/s, negative if a contact has to open. half_size: (m,) m, of the smaller body. all_move: whether
    all contacts that have to be separated belong to large moving islands.
    """

    is_any: bool
    overlaps: Bools
    slack: Floats
    half_size: Floats
    all_move: bool


class BodyIslands(NamedTuple):
    """The islands of n bodies that m contacts and the joints couple.

    dof: (n,) as in `SeparationBodies`. island: (n,) of each body. body_a, body_b: (m,) of the contacts.
    """

    dof: Indices
    island: Indices
    body_a: Indices
    body_b: Indices


class ContactGaps(NamedTuple):
    """The gaps of m contacts: gap, rest_gap (m,) m; half_size (m,) m, of the smaller body."""

    gap: Floats
    rest_gap: Floats
    half_size: Floats


class SeparationStart(NamedTuple):
    """The start of a separation solve.

    overlaps: (m,) the contacts to separate. impulse: (m,) N s, the separation impulses of the previous attempt at the step.
    """

    overlaps: Bools
    impulse: Floats


def separation(
    begin: Begin,
    system: System,
    contacts: ContactSet,
    joints: JointBounds,
    v: Floats,
    limits: SeparationLimits,
    effort: Indices,
    pushed: Floats,
) -> tuple[Floats, Floats]:
    """Compute velocities that separate overlapping bodies. They change positions only.

    They are the smallest motion in the kinetic metric (a frictionless contact projection) that opens every overlapping contact
    at its target speed. They add no momentum, so overlaps disappear without a pop. Sweeps and ADMM compute them if they come
    close enough.

    Parameters
    ----------
    begin : the step
    system : the contact problem, with m contacts and then the rows of joints
    contacts : the m contacts
    joints : whose rows stay satisfied
    v : (dof,) m/s and rad/s, the solved velocities; their own opening speed counts toward the target
    limits : of the opening speed and of the tolerances
    effort : (5,) the work budget of the step, updated in place
    pushed : (m,) N s, the warm start: the separation impulses of the previous attempt at this step

    Returns
    -------
    velocities (dof,), to be added to `v` when positions are integrated; and (m,) N s, the separation impulses, zero if the
    result is a compromise

    Notes
    -----
    Contacts with a gap of at most `SUPPORT_RANGE` rest offsets may not close. A larger gap may close to that distance: if it
    could not, a body would be pressed deeper into the body that it overlaps. If overlaps conflict, the result is a compromise,
    and islands whose deepest overlap it would deepen do not move.
    """
    if not len(contacts):
        return np.zeros(len(v)), np.zeros(0)
    rest, offset, _ = begin.at_rest(contacts)
    of_contacts = SeparationContacts(contacts.body_a, contacts.body_b, contacts.gap, rest, offset, pushed)
    model, predicted = begin.model, begin.bodies.predicted
    of_bodies = SeparationBodies(model.dof, model.size, predicted, limits.in_large_island)
    wanted = target_openings(system, v, of_contacts, of_bodies, begin.h, limits.recovery_speed)
    if not wanted.is_any:
        # A scene whose bodies never overlap need not compile the kernel that separates them.
        return np.zeros(len(v)), np.zeros(len(contacts))
    return separate(system, of_contacts, of_bodies, joints, v, wanted, begin.h, effort)


@kernel
def separate(system, contacts, bodies, joints, v, wanted, h, effort):
    """Return the velocities (dof,) that separate overlaps, and the separation impulses (m,) N s, as `separation` does.

    Parameters
    ----------
    system : the contact problem
    contacts : `SeparationContacts`
    bodies : `SeparationBodies`
    joints : `JointBounds`
    v : (dof,) m/s and rad/s, the solved velocities
    wanted : `Openings`
    h : s, the step
    effort : (5,) the work budget of the step, updated
    """
    body_a, body_b, dof = contacts.body_a, contacts.body_b, bodies.dof
    linked_a = np.concatenate((body_a, joints.pairs[:, 0]))
    linked_b = np.concatenate((body_b, joints.pairs[:, 1]))
    islands = BodyIslands(dof, connected(dof.size, dof >= 0, linked_a, linked_b), body_a, body_b)
    gaps = ContactGaps(contacts.gap, contacts.rest_gap, wanted.half_size)
    start = SeparationStart(wanted.overlaps, contacts.pushed)
    # Flexible bodies are not deformed: they would spring back into the bodies that they were separated from.
    apart = without_modes(separation_problem(system, joints.box, wanted.slack, v))
    acceptable = SEPARATED_MOVING if wanted.all_move else SEPARATED
    moved, parting = solve_separation(apart, islands, gaps, start, h, acceptable, effort)
    out = np.zeros(v.size)
    for d in range(system.offset.size - 1):
        out[system.offset[d] : system.offset[d] + RIGID] = moved[apart.offset[d] : apart.offset[d] + RIGID]
    return out, parting


@inner_kernel
def separation_problem(system, box, slack, v):
    """Return the contact problem of a separation, without friction and with bodies at rest.

    Parameters
    ----------
    system : the contact problem of the step
    box : (j, 3, 3) the bounds of the joint rows
    slack : (m,) m/s, negative if a contact has to open
    v : (dof,) m/s and rad/s, the solved velocities
    """
    bias, speed = np.zeros_like(system.bias), np.empty((box.shape[0], 3))
    for j in range(box.shape[0]):
        speed[j, 0], speed[j, 1], speed[j, 2] = relative_velocity(system, slack.size + j, v)
    bias[slack.size :] = left_to_limits(speed, box)
    return System(
        system.offset,
        system.block_start,
        system.mass,
        system.inverse_mass,
        np.zeros(v.size),
        system.body_a,
        system.body_b,
        system.jacobian_a,
        system.jacobian_b,
        bias,
        slack,
        np.zeros(slack.size),
        box,
        system.least_scale,
    )


@inner_kernel
def without_modes(system):
    """Return the system without modes, with bodies at rest.

    The modes of a body follow its twist, and the mass matrix does not couple them to it.
    """
    bodies = system.offset.size - 1
    if system.offset[bodies] == RIGID * bodies:
        return system
    mass, inverse_mass = np.empty((bodies, RIGID, RIGID)), np.empty((bodies, RIGID, RIGID))
    for d in range(bodies):
        width, first = system.offset[d + 1] - system.offset[d], system.block_start[d]
        for i in range(RIGID):
            own = slice(first + i * width, first + i * width + RIGID)
            mass[d, i], inverse_mass[d, i] = system.mass[own], system.inverse_mass[own]
    return System(
        RIGID * np.arange(bodies + 1),
        RIGID * RIGID * np.arange(bodies + 1),
        mass.ravel(),
        inverse_mass.ravel(),
        np.zeros(RIGID * bodies),
        system.body_a,
        system.body_b,
        system.jacobian_a[:, :, :RIGID].copy(),
        system.jacobian_b[:, :, :RIGID].copy(),
        system.bias,
        system.slack,
        system.mu,
        system.box,
        system.least_scale,
    )


@kernel
def target_openings(system, v, contacts, bodies, h, recovery_speed):
    """Return the `Openings` of a step: the target of each contact for the separation solve, in addition to velocities v.

    Parameters
    ----------
    system : the contact problem
    v : (dof,) m/s and rad/s, the solved velocities
    contacts : `SeparationContacts`
    bodies : `SeparationBodies`
    h : s, the step
    recovery_speed : half sizes per second

    Notes
    -----
    The contact law keeps normal velocities from being negative at the start of the step. Over the step, a point at distance r
    from the axis of a rotating body leaves its tangent by omega^2 r h^2 / 2, and a body that slides over a surface of radius r
    leaves the tangent plane by u_t^2 h^2 / 2 r. Half sizes are used for both radii. Steps can cause this much overlap
    themselves, so it is corrected in addition to the recovery speed.
    """
    body_a, body_b, gap, rest, offset = contacts.body_a, contacts.body_b, contacts.gap, contacts.rest_gap, contacts.rest_offset
    extent, in_motion = bodies.half_size, bodies.in_large_island
    m, is_any, all_move = gap.size, False, True
    near, wanted, size = np.empty(m, np.bool_), np.empty(m), np.empty(m)
    for k in range(m):
        moves = in_motion[body_a[k]] or in_motion[body_b[k]]
        # How much smaller than the gap at rest the gap is, after the opening that v gives.
        wanted[k] = rest[k] - gap[k] - h * max(relative_velocity(system, k, v)[0], 0.0)
        near[k] = wanted[k] > offset[k] * (NEGLIGIBLE_IN_MOTION if moves else NEGLIGIBLE)
        is_any |= near[k]
        all_move &= moves or not near[k]
    if not is_any:
        return Openings(is_any, near, wanted, size, all_move)
    twist = all_twists(bodies.dof, system.offset, bodies.predicted, v)
    for k in range(m):
        a, b = body_a[k], body_b[k]
        size[k], spin = min(extent[a], extent[b]), 0.0
        opens, s, t = relative_velocity(system, k, v)
        if not near[k]:
            room = gap[k] + (offset[k] - rest[k]) - SUPPORT_RANGE * offset[k] + h * opens
            wanted[k] = max(room, 0.0) / h
            continue
        for body in (a, b):
            square = twist[body, 3] ** 2 + twist[body, 4] ** 2 + twist[body, 5] ** 2
            spin += extent[body] * square if square > 0.0 else 0.0
        inward = 0.5 * h * (spin + (s * s + t * t) / size[k])
        wanted[k] = -min(wanted[k] / h, recovery_speed * size[k] + inward)
    return Openings(is_any, near, wanted, size, all_move)


@inner_kernel
def solve_separation(apart, islands, gaps, start, h, acceptable, effort):
    """Solve for the separation velocities with the first of three methods that succeeds.

    The result is a compromise if bodies would have to move too fast otherwise.

    Parameters
    ----------
    apart : the separation problem; a contact with negative slack has to open at that speed
    islands : `BodyIslands`
    gaps : `ContactGaps`
    start : `SeparationStart`
    h : s, the step
    acceptable : the relative error that first-order methods have to reach
    effort : (5,) the work budget of the step, updated

    Returns
    -------
    velocities (dof,), and (m,) N s, the separation impulses, zero for a compromise
    """
    near, pushed = start.overlaps, start.impulse
    m, rows, out = near.size, apart.body_a.size, np.zeros(apart.velocity.size)
    impulse, acting, overlapping = np.zeros((rows, 3)), np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    overlapping[:m] = near
    acting[:m] = near | (pushed > 0.0)
    # Keep the contacts with a warm start only in islands that have an overlap now.
    chosen = islands_with(apart, acting, overlapping)
    acting[:] = False
    acting[chosen] = True
    for k in chosen:
        impulse[k, 0] = pushed[k]
    fastest, method = -apart.slack.min(), FIRST_ORDER
    while method <= COMPROMISE:
        is_separated = _separate_by(method, acceptable, apart, acting, fastest, effort, impulse, out)
        if is_separated and limit_speeds(apart, islands, out) > MIN_SPEED_SCALE:
            return out, impulse[:m, 0].copy()
        # If the solution was too fast, another exact method would be too fast as well.
        method = method + 1 if not is_separated or method == COMPROMISE else COMPROMISE
        impulse[:] = 0.0
    stop_deepening_islands(apart, islands, gaps, h, out)
    return out, np.zeros(m)


@kernel_part
def _separate_by(method, acceptable, apart, acting, fastest, effort, impulse, out):
    """Compute the separation velocities `out` (dof,) with one method; return whether it succeeded.

    The active contacts, `acting` (m,), are those that overlap. Contacts that the solution violates are added round by round.
    Motion decreases with distance from an overlap, so an overlap of two bodies in a pile of a thousand is solved with the
    contacts near it. Joints transmit motion without decrease, and each round would add the next joint of a chain. So islands
    with joints and few contacts are solved whole, with their joints eliminated.
    """
    # Few bodies are separated exactly. Otherwise bodies at rest would move a little in every other step.
    slow = (acceptable if apart.offset.size - 1 > FEW_BODIES else SEPARATION_TARGET) * fastest
    new, is_solved = acting.copy(), True
    out[:] = 0.0
    if apart.box.shape[0] > 0 and method < COMPROMISE:
        _separate_jointed(apart, acting, new, fastest, effort, impulse, out)
        if not new.any():
            return True
    for rounds in range(1, PUSHING_ROUNDS + 2):
        chosen = islands_with(apart, acting, new)
        if method == FIRST_ORDER:
            is_solved = _separate_first_order(acceptable, apart, chosen, fastest, effort, impulse, out)
        else:
            _project(apart, chosen, fastest, method == COMPROMISE, effort, impulse, out)
        if not is_solved:
            break
        resisting = violated_rows(apart, acting, slow, out)
        if not resisting.any():
            break
        new = resisting if rounds < PUSHING_ROUNDS else ~acting
        acting |= new
    return is_solved


@inner_kernel
def _separate_jointed(apart, acting, new, fastest, effort, impulse, out):
    """Separate the islands with joints whose joints can be eliminated (`solvers/coulomb/elimination.py`).

    An island whose solution violates a row by more than the projection accepts is left to the other methods.

    Parameters
    ----------
    apart : the separation problem, with m contacts and triples of joint rows
    acting : (m,) active rows; all rows of a solved island become active
    new : (m,) rows whose islands have to be solved, updated
    fastest : m/s, the largest requested opening speed
    effort : (5,) the work budget of the step, updated
    impulse : (m, 3) N s, the warm start, overwritten in solved islands
    out : (dof,) m/s and rad/s, written for the bodies of solved islands
    """
    bodies = apart.offset.size - 1
    start, contacts = contact_islands(bodies, apart.body_a, apart.body_b)
    for i in range(start.size - 1):
        rows = contacts[start[i] : start[i + 1]]
        if not new[rows].any():
            continue
        part, own = subsystem(apart, rows, np.full(bodies, -1))
        if not can_eliminate(part, 0):
            continue
        one, is_solved = begin_elimination(part, effort)
        if not is_solved:
            continue
        state = State(impulse[rows], np.zeros(part.velocity.size))
        _, is_solved = solve_eliminated(part, one, SEPARATION_TARGET * fastest, effort, state)
        if not is_solved or violated_rows(part, np.zeros(rows.size, np.bool_), SEPARATED * fastest, state.v).any():
            continue
        acting[rows], new[rows] = True, False
        impulse[rows] = state.impulse
        _scatter(apart, own, state.v, out)


@inner_kernel
def islands_with(system, acting, new):
    """Return the active contacts, (m,), of islands that have a new one, (m,), in ascending order.

    The solution of the other islands is unchanged.
    """
    chosen = np.flatnonzero(acting)
    start, contacts = contact_islands(system.offset.size - 1, system.body_a[chosen], system.body_b[chosen])
    wanted = np.zeros(chosen.size, np.bool_)
    for i in range(start.size - 1):
        island = contacts[start[i] : start[i + 1]]
        wanted[island] = new[chosen[island]].any()
    return chosen[wanted]


@inner_kernel
def _scatter(system, bodies, some, out):
    """Write the velocities `some` of the given bodies to their entries of `out` (dof,)."""
    at = 0
    for body in bodies:
        for row in range(system.offset[body], system.offset[body + 1]):
            out[row] = some[at]
            at += 1


@kernel_part
def violated_rows(system, acting, slow, out):
    """Return (m,) which inactive contacts and triples of joint rows the velocities `out` (dof,) violate by more than `slow`."""
    contacts, resisting = system.mu.size, np.zeros(acting.size, np.bool_)
    for k in range(acting.size):
        if acting[k]:
            continue
        u = relative_velocity(system, k, out)
        if k < contacts:
            resisting[k] = u[0] + system.slack[k] < -slow
            continue
        for r in range(3):
            low, high = system.box[k - contacts, r, 0], system.box[k - contacts, r, 1]
            resisting[k] |= (high > 0.0 and u[r] < -slow) or (low < 0.0 and u[r] > slow)
    return resisting


@kernel
def left_to_limits(velocity, box):
    """Return (j, 3) the velocities of joint rows that additional velocities may cancel.

    These are velocities away from an active limit. velocity: (j, 3). box: (j, 3, 3), the bounds of the rows.
    """
    left = np.zeros_like(velocity)
    for j in range(len(velocity)):
        for row in range(3):
            if box[j, row, 0] == 0.0:
                left[j, row] = max(velocity[j, row], 0.0)
            elif box[j, row, 1] == 0.0:
                left[j, row] = min(velocity[j, row], 0.0)
    return left


@kernel_part
def _separate_first_order(acceptable, apart, chosen, fastest, effort, impulse, out):
    """Solve with first-order methods to the relative error `acceptable`, or exactly if there are few bodies.

    Returns False if the first-order methods do not reach that error.
    """
    part, bodies = subsystem(apart, chosen, np.full(apart.offset.size - 1, -1))
    if bodies.size <= FEW_BODIES:
        _project(apart, chosen, fastest, False, effort, impulse, out)
        return True
    velocity, pushes, enough = np.zeros(part.velocity.size), impulse[chosen], acceptable * fastest
    criteria = StoppingCriteria(SEPARATION_TARGET * fastest, enough, enough, fastest, 0, MAX_CHECKS)
    _, error = sweeps_and_admm(part, criteria, True, effort, State(pushes, velocity))
    if not error <= enough:
        return False
    impulse[chosen] = pushes
    _scatter(apart, bodies, velocity, out)
    return True


@inner_kernel
def _project(apart, chosen, fastest, is_compromise, effort, impulse, out):
    """Solve a contact projection of the chosen contacts; write their impulses (m, 3) and the velocities `out` (dof,).

    A compromise starts from zero impulses and takes few multiplier steps, because the impulses of conflicting overlaps grow
    with each step. The error is then distributed over these overlaps.
    """
    part, bodies = subsystem(apart, chosen, np.full(apart.offset.size - 1, -1))
    m, operator = chosen.size, operator_of(part)
    allow(effort, FACTORISING, operator.blocks.structure.target.size, m)
    pushes, velocity, nearly = impulse[chosen], np.zeros(part.velocity.size), SEPARATED * fastest
    if is_compromise:
        pushes[:] = 0.0
    criteria = StoppingCriteria(SEPARATION_TARGET * fastest, nearly, nearly, fastest, 0, MAX_CHECKS)
    sets, target = Sets(CONTACT, DISK, np.zeros(m), part.box), np.zeros(velocity.size)
    steps = COMPROMISE_STEPS if is_compromise else MULTIPLIER_STEPS
    project(operator, sets, target, criteria, effort, State(pushes, velocity), steps, SEPARATION_STALLS)
    impulse[chosen] = pushes
    _scatter(apart, bodies, velocity, out)


@kernel_part
def limit_speeds(system, islands, out):
    """Scale the velocities (dof,) of islands and return the smallest scale.

    In each island, relative speeds at contacts are limited to MAX_SPEED_FACTOR times the largest requested opening speed.
    Without this limit, two overlaps with nearly opposite normals are separated by a fast motion across both.

    islands: `BodyIslands`.
    """
    dof, body_a, body_b = islands.dof, islands.body_a, islands.body_b
    wanted, found = np.zeros(dof.size), np.zeros(dof.size)
    for k in range(system.slack.size):
        u, s, t = relative_velocity(system, k, out)
        island = islands.island[body_a[k] if dof[body_a[k]] >= 0 else body_b[k]]
        wanted[island] = max(wanted[island], -system.slack[k])
        found[island] = max(found[island], np.sqrt(u * u + s * s + t * t))
    least = 1.0
    for b in range(dof.size):
        island, d = islands.island[b], dof[b]
        if d < 0 or found[island] <= MAX_SPEED_FACTOR * wanted[island]:
            continue
        scale = MAX_SPEED_FACTOR * wanted[island] / found[island]
        least = min(least, scale)
        for row in range(system.offset[d], system.offset[d + 1]):
            out[row] *= scale
    return least


@kernel
def stop_deepening_islands(apart, islands, gaps, h, out):
    """Set the velocities (dof,) to zero in islands whose deepest overlap they would deepen within h seconds.

    A light body between the ground and a heavy body that leans on it has no room to separate. The compromise may then push it
    far down.

    apart: the separation problem, without bias. islands: `BodyIslands`. gaps: `ContactGaps`.
    """
    dof, body_a, body_b = islands.dof, islands.body_a, islands.body_b
    gap, rest, size = gaps.gap, gaps.rest_gap, gaps.half_size
    deepest, deeper = np.zeros(dof.size), np.zeros(dof.size)
    for k in range(gap.size):
        island = islands.island[body_a[k] if dof[body_a[k]] >= 0 else body_b[k]]
        before = (rest[k] - gap[k]) / size[k]
        deepest[island] = max(deepest[island], before)
        deeper[island] = max(deeper[island], before - h * relative_velocity(apart, k, out)[0] / size[k])
    for body in range(dof.size):
        island = islands.island[body]
        if dof[body] >= 0 and deeper[island] > deepest[island] + NEGLIGIBLE * REST_OFFSET:
            out[apart.offset[dof[body]] : apart.offset[dof[body] + 1]] = 0.0
