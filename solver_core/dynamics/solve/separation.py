# SPDX-License-Identifier: GPL-3.0-or-later
"""Separation of overlapping bodies by a change of positions that adds no momentum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...compile.kernel import inner_kernel, kernel, kernel_part
from ...linalg.disjoint_sets import connected
from ...problem.subsystem import contact_islands, subsystem
from ...problem.system import System, relative_velocities, relative_velocity
from ...solvers.block_operator import CONTACT, State, operator_of
from ...solvers.coulomb.first_order import sweeps_and_admm
from ...solvers.criteria import FEW_BODIES, MAX_CHECKS, StoppingCriteria
from ...solvers.effort import allow
from ...solvers.kaufman_2008.projection import DISK, MULTIPLIER_STEPS, Sets, project
from ..model.bodies import RIGID
from ..model.predict import Begin, all_twists
from ..model.rest_gaps import REST_OFFSET

__all__ = ["leave_what_gets_worse", "left_to_limits", "separation"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Bools = NDArray[np.bool_]

SOON, EXACTLY, COMPROMISE = range(3)  # the methods, in the order in which they are tried
# Multiplier steps of a compromise between conflicting overlaps. With more steps, a peg that fills its hole would slip out along
# normals that are almost perpendicular to its axis.
COMPROMISE_STEPS = 1
CONTRADICTION = 0.25  # overlaps conflict if `slow_down` would have to scale the velocities of an island by this or less
FASTEST = 1.5  # limit on relative speeds at the contacts of an island, relative to its largest requested opening speed
FACTORISING = 30  # number of iterations whose factorizations the work budget of a solve allows
# Tolerances of the separation solve, relative to the largest requested opening speed: the target, what is accepted if progress
# is slow, and what is accepted in large moving islands. There the next step corrects the rest together with new overlaps. A
# resting stack would not settle with the last tolerance.
PARTED, NEARLY_PARTED, PARTED_IN_MOTION = 1e-3, 1e-2, 1e-1
CLEAR = 10.0  # rest offsets; bodies at a smaller gap may support each other and are brought no closer, larger gaps may close
PUSHING_ROUNDS = 12  # each adds the contacts that the previous round violated; the round after them adds all contacts
# Fraction of the rest offset; a smaller overlap is not corrected. The fraction is larger in large moving islands, because the
# tolerance of their contact solve admits as much overlap in each step at a thousand contacts.
NEGLIGIBLE, NEGLIGIBLE_IN_MOTION = 0.05, 0.5


def separation(
    begin: Begin,
    system: System,
    contacts: ContactSet,
    joined: tuple[Indices, Floats],
    v: Floats,
    recovery_speed: float,
    in_motion: Bools,
    means: tuple[Indices, Floats],
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
    joined : (k, 2) bodies connected by joints, and (j, 3, 3) the bounds of the rows of joints, which stay satisfied
    v : (dof,) m/s and rad/s, the solved velocities; their own opening speed counts toward the target
    recovery_speed : half sizes of the smaller body per second; the largest opening speed, in addition to the overlap speed that
        the curvature of the motion causes within the step
    in_motion : (n,) bodies of large moving islands, which have looser tolerances
    means : the work budget of the step, updated in place; and the warm start, (m,) N s, the separation impulses of the
        previous attempt at this step

    Returns
    -------
    velocities (dof,), to be added to `v` when positions are integrated; and (m,) N s, the separation impulses, zero if the
    result is a compromise

    Notes
    -----
    Contacts with a gap of at most `CLEAR` rest offsets may not close. A larger gap may close to that distance: if it could not,
    a body would be pressed deeper into the body that it overlaps. If overlaps conflict, the result is a compromise, and islands
    whose deepest overlap it would deepen do not move.
    """
    effort, pushed = means
    model, h, (pairs, box) = begin.model, begin.h, joined
    body_a, body_b, gap = contacts.body_a, contacts.body_b, contacts.gap
    rest, offset, _ = begin.at_rest(contacts)
    of_contacts = body_a, body_b, gap, rest, offset
    of_bodies = model.dof, model.size, begin.bodies.predicted, in_motion
    is_any, near, wanted, size, all_move = openings(system, v, of_contacts, of_bodies, h, recovery_speed)
    if not is_any:
        return np.zeros(len(v)), np.zeros(len(gap))
    bias = np.zeros_like(system.bias)
    if len(box):
        bias[len(gap) :] = left_to_limits(relative_velocities(system, v)[len(gap) :], box)
    apart = system._replace(velocity=np.zeros_like(v), bias=bias, slack=wanted, mu=np.zeros_like(system.mu), box=box)
    if begin.bend is not None:
        # Flexible bodies are not deformed: they would spring back into the bodies that they were separated from.
        apart = frames_of(apart)
    linked_a, linked_b = body_a, body_b
    if len(pairs):
        linked_a, linked_b = np.concatenate([body_a, pairs[:, 0]]), np.concatenate([body_b, pairs[:, 1]])
    limits = h, PARTED_IN_MOTION if all_move else NEARLY_PARTED
    ends, gaps = (model.dof, body_a, body_b), (gap, rest, size)
    moved, parting = parted(apart, ends, (linked_a, linked_b), gaps, (near, pushed), limits, effort)
    if begin.bend is None:
        return moved, parting
    velocities = np.zeros(len(v))
    velocities[begin.rigid.ravel()] = moved
    return velocities, parting


def frames_of(system: System) -> System:
    """Return the system without modes, with bodies at rest.

    The modes of a body follow its twist, and the mass matrix does not couple them to it.
    """
    bodies, six = np.arange(len(system.offset), dtype=np.int64), np.arange(RIGID)
    rows = system.block_start[:-1, None] + np.diff(system.offset)[:, None] * six
    entries = (rows[:, :, None] + six).ravel()
    return system._replace(
        offset=RIGID * bodies,
        block_start=RIGID**2 * bodies,
        mass=system.mass[entries],
        inverse_mass=system.inverse_mass[entries],
        velocity=np.zeros(RIGID * bodies[-1]),
        jacobian_a=np.ascontiguousarray(system.jacobian_a[:, :, :RIGID]),
        jacobian_b=np.ascontiguousarray(system.jacobian_b[:, :, :RIGID]),
    )


@kernel
def openings(system, v, of_contacts, of_bodies, h, recovery_speed):
    """Return the target of each contact for the separation solve, in addition to velocities v.

    Parameters
    ----------
    system : the contact problem
    v : (dof,) m/s and rad/s, the solved velocities
    of_contacts : (m,) bodies A and B, gaps, gaps at rest and rest offsets in m
    of_bodies : (n,) degrees of freedom, half sizes in m, predicted twists (n, 6), and which are in large moving islands
    h : s, the step
    recovery_speed : half sizes per second

    Returns
    -------
    is_any : whether any contact has to be separated; if not, the arrays below are incomplete
    near : (m,) which contacts have to be separated
    wanted : (m,) m/s, the slack of each contact; negative if it has to open
    size : (m,) m, the half size of the smaller body
    all_move : whether all contacts that have to be separated belong to large moving islands

    Notes
    -----
    The contact law keeps normal velocities from being negative at the start of the step. Over the step, a point at distance r
    from the axis of a rotating body leaves its tangent by omega^2 r h^2 / 2, and a body that slides over a surface of radius r
    leaves the tangent plane by u_t^2 h^2 / 2 r. Half sizes are used for both radii. Steps can cause this much overlap
    themselves, so it is corrected in addition to the recovery speed.
    """
    (body_a, body_b, gap, rest, offset), (dof, extent, predicted, in_motion) = of_contacts, of_bodies
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
        return is_any, near, wanted, size, all_move
    twist = all_twists(dof, system.offset, predicted, v)
    for k in range(m):
        a, b = body_a[k], body_b[k]
        size[k], spin = min(extent[a], extent[b]), 0.0
        opens, s, t = relative_velocity(system, k, v)
        if not near[k]:
            room = gap[k] + (offset[k] - rest[k]) - CLEAR * offset[k] + h * opens
            wanted[k] = max(room, 0.0) / h
            continue
        for body in (a, b):
            square = twist[body, 3] ** 2 + twist[body, 4] ** 2 + twist[body, 5] ** 2
            spin += extent[body] * square if square > 0.0 else 0.0
        inward = 0.5 * h * (spin + (s * s + t * t) / size[k])
        wanted[k] = -min(wanted[k] / h, recovery_speed * size[k] + inward)
    return is_any, near, wanted, size, all_move


@kernel
def parted(apart, ends, links, gaps, begun, limits, effort):
    """Solve for the separation velocities with the first of three methods that succeeds.

    The result is a compromise if bodies would have to move too fast otherwise.

    Parameters
    ----------
    apart : the separation problem; a contact with negative slack has to open at that speed
    ends : (n,) degrees of freedom, and (m,) and (m,) the bodies of the contacts
    links : (k,) and (k,) bodies coupled by contacts or joints
    gaps : (m,) m, current gaps, gaps at rest, and half sizes
    begun : (m,) which contacts overlap, and (m,) N s, the separation impulses of the previous attempt
    limits : s, the step; and the relative error that first-order methods have to reach

    Returns
    -------
    velocities (dof,), and (m,) N s, the separation impulses, zero for a compromise
    """
    (dof, body_a, body_b), (near, pushed), (h, nearly) = ends, begun, limits
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
    islands = connected(dof.size, dof >= 0, links[0], links[1])
    of_islands, fastest, way = (dof, islands, body_a, body_b), -apart.slack.min(), SOON
    while way <= COMPROMISE:
        is_parted = _part_by(way, nearly, apart, acting, fastest, effort, impulse, out)
        if is_parted and slow_down(apart, of_islands, out) > CONTRADICTION:
            return out, impulse[:m, 0].copy()
        # If the solution was too fast, another exact method would be too fast as well.
        way = way + 1 if not is_parted or way == COMPROMISE else COMPROMISE
        impulse[:] = 0.0
    leave_what_gets_worse(apart, of_islands, gaps, h, out)
    return out, np.zeros(m)


@kernel_part
def _part_by(way, nearly, apart, acting, fastest, effort, impulse, out):
    """Compute the separation velocities `out` (dof,) with one method; return whether it succeeded.

    The active contacts, `acting` (m,), are those that overlap. Contacts that the solution violates are added round by round.
    Motion decreases with distance from an overlap, so an overlap of two bodies in a pile of a thousand is solved with the
    contacts near it.
    """
    # Few bodies are separated exactly. Otherwise bodies at rest would move a little in every other step.
    slow = (nearly if apart.offset.size - 1 > FEW_BODIES else PARTED) * fastest
    new = acting
    out[:] = 0.0
    is_solved = True
    for rounds in range(1, PUSHING_ROUNDS + 2):
        chosen = islands_with(apart, acting, new)
        if way == SOON:
            is_solved = _part_soon(nearly, apart, chosen, fastest, effort, impulse, out)
        else:
            _project_apart(apart, chosen, fastest, way == COMPROMISE, effort, impulse, out)
        if not is_solved:
            break
        resisting = resists(apart, acting, slow, out)
        if not resisting.any():
            break
        new = resisting if rounds < PUSHING_ROUNDS else ~acting
        acting |= new
    return is_solved


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
def resists(system, acting, slow, out):
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


def left_to_limits(velocity: Floats, box: Floats) -> Floats:
    """Return (j, 3) the velocities of joint rows that additional velocities may cancel.

    These are velocities away from an active limit. velocity: (j, 3). box: (j, 3, 3), the bounds of the rows.
    """
    to_lower, to_upper = box[..., 0] == 0.0, box[..., 1] == 0.0
    return np.where(to_lower, np.maximum(velocity, 0.0), np.where(to_upper, np.minimum(velocity, 0.0), 0.0))


@kernel_part
def _part_soon(nearly, apart, chosen, fastest, effort, impulse, out):
    """Solve with first-order methods to the relative error `nearly`, or exactly if there are few bodies.

    Returns False if the first-order methods do not reach that error.
    """
    part, bodies = subsystem(apart, chosen, np.full(apart.offset.size - 1, -1))
    if bodies.size <= FEW_BODIES:
        _project_apart(apart, chosen, fastest, False, effort, impulse, out)
        return True
    velocity, pushes, enough = np.zeros(part.velocity.size), impulse[chosen], nearly * fastest
    criteria = StoppingCriteria(PARTED * fastest, enough, enough, fastest, 0, MAX_CHECKS)
    _, error = sweeps_and_admm(part, criteria, True, effort, State(pushes, velocity))
    if not error <= enough:
        return False
    impulse[chosen] = pushes
    _scatter(apart, bodies, velocity, out)
    return True


@inner_kernel
def _project_apart(apart, chosen, fastest, is_compromise, effort, impulse, out):
    """Solve a contact projection of the chosen contacts; write their impulses (m, 3) and the velocities `out` (dof,).

    A compromise starts from zero impulses and takes few multiplier steps, because the impulses of conflicting overlaps grow
    with each step. The error is then distributed over these overlaps.
    """
    part, bodies = subsystem(apart, chosen, np.full(apart.offset.size - 1, -1))
    m, operator = chosen.size, operator_of(part)
    allow(effort, FACTORISING, operator.blocks.structure.target.size, m)
    pushes, velocity, nearly = impulse[chosen], np.zeros(part.velocity.size), NEARLY_PARTED * fastest
    if is_compromise:
        pushes[:] = 0.0
    criteria = StoppingCriteria(PARTED * fastest, nearly, nearly, fastest, 0, MAX_CHECKS)
    sets, target = Sets(CONTACT, DISK, np.zeros(m), part.box), np.zeros(velocity.size)
    steps = COMPROMISE_STEPS if is_compromise else MULTIPLIER_STEPS
    project(operator, sets, target, criteria, effort, State(pushes, velocity), steps)
    impulse[chosen] = pushes
    _scatter(apart, bodies, velocity, out)


@kernel_part
def slow_down(system, of_islands, out):
    """Scale the velocities (dof,) of islands and return the smallest scale.

    In each island, relative speeds at contacts are limited to FASTEST times the largest requested opening speed. Without this
    limit, two overlaps with nearly opposite normals are separated by a fast motion across both.

    of_islands: (n,) degrees of freedom and islands, and (m,) and (m,) the bodies of the contacts.
    """
    dof, islands, body_a, body_b = of_islands
    wanted, found = np.zeros(islands.size), np.zeros(islands.size)
    for k in range(system.slack.size):
        u, s, t = relative_velocity(system, k, out)
        island = islands[body_a[k] if dof[body_a[k]] >= 0 else body_b[k]]
        wanted[island] = max(wanted[island], -system.slack[k])
        found[island] = max(found[island], np.sqrt(u * u + s * s + t * t))
    least = 1.0
    for b in range(islands.size):
        island, d = islands[b], dof[b]
        if d < 0 or found[island] <= FASTEST * wanted[island]:
            continue
        scale = FASTEST * wanted[island] / found[island]
        least = min(least, scale)
        for row in range(system.offset[d], system.offset[d + 1]):
            out[row] *= scale
    return least


@kernel
def leave_what_gets_worse(apart, of_islands, gaps, h, out):
    """Set the velocities (dof,) to zero in islands whose deepest overlap they would deepen within h seconds.

    A light body between the ground and a heavy body that leans on it has no room to separate. The compromise may then push it
    far down.

    apart: the separation problem, without bias. of_islands: as in `slow_down`. gaps: as in `parted`.
    """
    (dof, islands, body_a, body_b), (gap, rest, size) = of_islands, gaps
    deepest, deeper = np.zeros(islands.size), np.zeros(islands.size)
    for k in range(gap.size):
        island = islands[body_a[k] if dof[body_a[k]] >= 0 else body_b[k]]
        before = (rest[k] - gap[k]) / size[k]
        deepest[island] = max(deepest[island], before)
        deeper[island] = max(deeper[island], before - h * relative_velocity(apart, k, out)[0] / size[k])
    for body in range(dof.size):
        island = islands[body]
        if dof[body] >= 0 and deeper[island] > deepest[island] + NEGLIGIBLE * REST_OFFSET:
            out[apart.offset[dof[body]] : apart.offset[dof[body] + 1]] = 0.0
