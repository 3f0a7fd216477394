# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlaps undone without giving bodies momentum."""

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

SOON, EXACTLY, COMPROMISE = range(3)  # the ways to part, one after the other
# Of the multipliers, where overlaps contradict each other, for a compromise: a peg that fills its hole would slip out along
# normals that hardly lean.
COMPROMISE_STEPS = 1
CONTRADICTION = 0.25  # what contradicts each other would be parted faster than that by one over this
# Times the fastest that a contact of an island is to open at: the most that bodies in it move against each other.
FASTEST = 1.5
FACTORISING = 30  # iterations of a solve, of which it may do the factorisations
# Of the fastest that a contact is to open at: what is aimed at, what will do where that is slow, and what will do in large
# islands in motion, of which the next step parts what is left with what comes then; what stands would be unsettled by it.
PARTED, NEARLY_PARTED, PARTED_IN_MOTION = 1e-3, 1e-2, 1e-1
CLEAR = 10.0  # rest offsets: nearer bodies may bear each other, and are brought no nearer; what is beyond is room
PUSHING_ROUNDS = 12  # each with the contacts that the one before pushed against; then come all
# Of the rest offset: what is nearer than this to its place is left there; in large islands in motion half of it is, for what
# they are solved to lets as much in at a thousand contacts in each step
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
    """Velocities (dof,) that, over this step and in addition to v, part bodies that are nearer than their rest offset.

    They move positions only, so an overlap is undone without a pop: the smallest motion in the kinetic metric (a contact
    projection, by sweeps and ADMM where these come near enough) that opens overlaps at no more than the recovery speed, in half
    extents of the smaller body a second, beyond what they let in themselves, and closes no gap but of bodies that stand clear:
    what must not come nearer to that is pressed deeper into what it overlaps. Where overlaps contradict each other, a
    compromise, unless it makes the deepest deeper. What v opens by itself is left to it. Joints hold meanwhile; joined: (k, 2)
    bodies that they hold together, and (j, 3, 3) what they do. in_motion: (n,) those in large islands in motion. means: effort,
    what it may cost, with all else in the step, and a warm start: (m,) N s, what contacts parted by in the try before of this
    step. Also returns what they part by in this one.
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
        # not by bending: what is bent to make room springs back, and into what it was parted from
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
    """The system of the frames alone, at rest; modes come after the twist of each body, and no mass couples them to it."""
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
    """What contacts are to be parted by, on top of velocities v (dof,): whether any is; (m,) which are; (m,) m/s, what the
    slack of each is for that; (m,) m, the half extent of the smaller body; and whether all that are to be parted are of large
    islands in motion.

    of_contacts: (m,) bodies A and B, gaps, gaps at rest, rest offsets. of_bodies: (n,) degrees of freedom, half extents,
    predicted twists (n, 6), and which are in large islands in motion. recovery_speed: half extents a second.

    A contact's normal velocity is not negative where the step begins. Over the step, a point at a distance r from the axis of a
    rotating body leaves its tangent by omega^2 r h^2 / 2, and what slides over a surface of radius r leaves that by
    u_t^2 h^2 / 2 r; half extents stand for both. So much the steps themselves let in.
    """
    (body_a, body_b, gap, rest, offset), (dof, extent, predicted, in_motion) = of_contacts, of_bodies
    m, is_any, all_move = gap.size, False, True
    near, wanted, size = np.empty(m, np.bool_), np.empty(m), np.empty(m)
    for k in range(m):
        moves = in_motion[body_a[k]] or in_motion[body_b[k]]
        # by how much bodies come nearer than they rest, or are
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
    """Velocities (dof,) that part what overlaps, and (m,) N s what contacts part by: in the first of three ways that comes to
    an answer, and as a compromise where bodies would have to move too fast for that.

    apart: a system whose contacts are to open at the speeds that their slacks are below zero by. ends: (n,) degrees of
    freedom, and the bodies of contacts, (m,) and (m,). links: (k,) and (k,) bodies that hang together. gaps: (m,) m, as they
    are and at rest, and half extents. begun: (m,) which overlap, (m,) N s what parted them in the try before. limits: s, the
    step, and how nearly methods of first order have to part them.
    """
    (dof, body_a, body_b), (near, pushed), (h, nearly) = ends, begun, limits
    m, rows, out = near.size, apart.body_a.size, np.zeros(apart.velocity.size)
    impulse, acting, overlapping = np.zeros((rows, 3)), np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    overlapping[:m] = near
    acting[:m] = near | (pushed > 0.0)
    # of those that pushed, those that what overlaps now pushes against
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
        # another way to the same answer contradicts itself as much
        way = way + 1 if not is_parted or way == COMPROMISE else COMPROMISE
        impulse[:] = 0.0
    leave_what_gets_worse(apart, of_islands, gaps, h, out)
    return out, np.zeros(m)


@kernel_part
def _part_by(way, nearly, apart, acting, fastest, effort, impulse, out):
    """Velocities (n,) that part what overlaps, by some of the contacts, (m,): those that overlap, and whatever these push
    against. False where the way to solve it comes to nothing.

    What is pushed less, the farther away it is, ends with the contacts near by: a heap of a thousand bodies in which two
    overlap is not asked as a whole.
    """
    # what rests is parted exactly, lest it be moved a little in every other step
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
    """Of the contacts that act, (m,), those of islands that have a new one, (m,); ascending. The others are as they were."""
    chosen = np.flatnonzero(acting)
    start, contacts = contact_islands(system.offset.size - 1, system.body_a[chosen], system.body_b[chosen])
    wanted = np.zeros(chosen.size, np.bool_)
    for i in range(start.size - 1):
        island = contacts[start[i] : start[i + 1]]
        wanted[island] = new[chosen[island]].any()
    return chosen[wanted]


@inner_kernel
def _scatter(system, bodies, some, out):
    """out (n,) := the velocities of some bodies, in their rows."""
    at = 0
    for body in bodies:
        for row in range(system.offset[body], system.offset[body + 1]):
            out[row] = some[at]
            at += 1


@kernel_part
def resists(system, acting, slow, out):
    """(m,) which contacts, and rows of joints, velocities (n,) would break by more than `slow`, of those that do not act."""
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
    """(j, 3) what of velocities (j, 3) in the rows of joints may be used up by velocities on top of them: what is left up to a
    limit, by the laws (j, 3, 3)."""
    to_lower, to_upper = box[..., 0] == 0.0, box[..., 1] == 0.0
    return np.where(to_lower, np.maximum(velocity, 0.0), np.where(to_upper, np.minimum(velocity, 0.0), 0.0))


@kernel_part
def _part_soon(nearly, apart, chosen, fastest, effort, impulse, out):
    """By methods of first order, to a small part of what is wanted, or exactly where bodies are few; False where the first do
    not reach that."""
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
    """By a contact projection of some contacts, impulse (m, 3), and the velocities (n,) of their bodies.

    A compromise has so few multiplier steps that overlaps which contradict each other share what they can have: from none each
    time, for with every step more the impulses of a contradiction grow.
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
    """Scales the velocities (dof,) of islands so that in none bodies move against each other faster than FASTEST times what its
    contacts are to open at; returns the smallest scale. of_islands: (n,) degrees of freedom and islands, and the bodies of
    contacts.

    What parts two overlaps whose normals nearly oppose each other is a fast motion across both.
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
    """Stops those islands (n,) in which the velocities (dof,) bring the deepest overlap deeper within h seconds.

    apart: the system, without bias. of_islands: as of `slow_down`, gaps: as of `parted`. A light body between the ground and a
    heavy one that leans on it has no room to be parted in, and the nearest that there is to it may be far down.
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
