# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlaps undone without giving bodies momentum."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...compile.kernel import kernel
from ...linalg.disjoint_sets import connected
from ...problem.subsystem import contact_islands, subsystem
from ...problem.system import System, relative_velocities, relative_velocity
from ...solvers.block_operator import CONTACT, State, operator_of
from ...solvers.coulomb.first_order import sweeps_and_admm
from ...solvers.criteria import FEW_BODIES, MAX_CHECKS, StoppingCriteria
from ...solvers.effort import allow
from ...solvers.kaufman_2008.projection import DISK, MULTIPLIER_STEPS, Sets, project
from ..model.bodies import RIGID, Model
from ..model.predict import Begin, all_twists
from ..model.rest_gaps import REST_OFFSET

__all__ = ["leave_what_gets_worse", "left_to_limits", "separation"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Bools = NDArray[np.bool_]
Part = Callable[[System, Indices, float, Indices, Floats, Floats], bool]

# Of the multipliers, where overlaps contradict each other, for a compromise: a peg that fills its hole would slip out along
# normals that hardly lean.
COMPROMISE = np.int64(1)
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
    model, h = begin.model, begin.h
    body_a, body_b, gap = contacts.body_a, contacts.body_b, contacts.gap
    out, pushes = np.zeros_like(v), np.zeros(len(gap))
    rest, offset, _ = begin.at_rest(contacts)
    places, bodies = (body_a, body_b, gap, rest, offset), (model.dof, model.size, begin.bodies.predicted, in_motion)
    is_any, near, wanted, size, moves = openings(system, v, places, bodies, (h, recovery_speed))
    if not is_any:
        return out, pushes
    (pairs, box), bias = joined, np.zeros_like(system.bias)
    if len(box):
        bias[len(gap) :] = left_to_limits(relative_velocities(system, v)[len(gap) :], box)
    apart = system._replace(velocity=np.zeros_like(v), bias=bias, slack=wanted, mu=np.zeros_like(system.mu), box=box)
    if begin.bend is not None:
        # not by bending: what is bent to make room springs back, and into what it was parted from
        apart = apart._replace(jacobian_a=rigid_part(apart.jacobian_a), jacobian_b=rigid_part(apart.jacobian_b))
    linked_a, linked_b = body_a, body_b
    if len(pairs):
        linked_a, linked_b = np.concatenate([body_a, pairs[:, 0]]), np.concatenate([body_b, pairs[:, 1]])
    islands = connected(len(model.dof), model.dof >= 0, linked_a, linked_b)
    impulse, acting = np.zeros((len(system.body_a), 3)), np.zeros(len(system.body_a), dtype=np.bool_)
    acting[: len(near)] = near | (pushed > 0.0)
    # of those that pushed, those that what overlaps now pushes against
    overlapping = np.zeros_like(acting)
    overlapping[: len(near)] = near
    chosen = islands_with(apart, acting, overlapping)
    acting[:] = False
    acting[chosen] = True
    impulse[: len(near), 0] = np.where(acting[: len(near)], pushed, 0.0)
    nearly = PARTED_IN_MOTION if moves else NEARLY_PARTED
    ways: list[Part] = [partial(_part_soon, nearly), _project_apart, _compromise_apart]
    while ways:
        solve = ways.pop(0)
        if _part_by(solve, nearly, apart, acting, -wanted.min(), effort, impulse, out):
            if slow_down(model, apart, islands, body_a, body_b, -wanted, out) > CONTRADICTION:
                pushes[:] = impulse[: len(near), 0]
                return out, pushes
            # another way to the same answer contradicts itself as much
            ways = [_compromise_apart] if solve is not _compromise_apart else []
        impulse[:] = 0.0
    leave_what_gets_worse(model, apart, islands, contacts, rest, size, h, out)
    return out, pushes


def rigid_part(jacobian: Floats) -> Floats:
    """Rows (m, 3, .) that act on twists alone; modes come after them."""
    rows = np.zeros_like(jacobian)
    rows[:, :, :RIGID] = jacobian[:, :, :RIGID]
    return rows


@kernel
def openings(system, v, contacts, bodies, limits):
    """What contacts (body_a, body_b, gap, rest, offset), all (m,), are to be parted by, on top of velocities v (dof,): whether
    any is; (m,) which are; (m,) m/s, what the slack of each is for that; (m,) m, the half extent of the smaller body; and
    whether all that are to be parted are of large islands in motion.

    bodies: (n,) degrees of freedom, half extents, predicted twists (n, 6), and which are in large islands in motion. limits: s,
    the step, and half extents a second.

    A contact's normal velocity is not negative where the step begins. Over the step, a point at a distance r from the axis of a
    rotating body leaves its tangent by omega^2 r h^2 / 2, and what slides over a surface of radius r leaves that by
    u_t^2 h^2 / 2 r; half extents stand for both. So much the steps themselves let in.
    """
    (body_a, body_b, gap, rest, offset), (dof, extent, predicted, in_motion), (h, recovery_speed) = contacts, bodies, limits
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


def _part_by(
    solve: Part, nearly: float, apart: System, acting: Bools, fastest: float, effort: Indices, impulse: Floats, out: Floats
) -> bool:
    """Velocities (n,) that part what overlaps, by some of the contacts, (m,): those that overlap, and whatever these push
    against. False where the way to solve it comes to nothing.

    What is pushed less, the farther away it is, ends with the contacts near by: a heap of a thousand bodies in which two
    overlap is not asked as a whole.
    """
    # what rests is parted exactly, lest it be moved a little in every other step
    slow = (nearly if len(apart.offset) - 1 > FEW_BODIES else PARTED) * fastest
    new = acting
    out[:] = 0.0
    for rounds in range(1, PUSHING_ROUNDS + 2):
        if not solve(apart, islands_with(apart, acting, new), fastest, effort, impulse, out):
            return False
        resisting = resists(apart, acting, slow, out)
        if not resisting.any():
            return True
        new = resisting if rounds < PUSHING_ROUNDS else ~acting
        acting |= new
    return True


@kernel
def islands_with(system, acting, new):
    """Of the contacts that act, (m,), those of islands that have a new one, (m,); ascending. The others are as they were."""
    chosen = np.flatnonzero(acting)
    start, contacts = contact_islands(system.offset.size - 1, system.body_a[chosen], system.body_b[chosen])
    wanted = np.zeros(chosen.size, np.bool_)
    for i in range(start.size - 1):
        island = contacts[start[i] : start[i + 1]]
        wanted[island] = new[chosen[island]].any()
    return chosen[wanted]


@kernel
def scatter(system, bodies, some, out):
    """out (n,) := the velocities of some bodies, in their rows."""
    at = 0
    for body in bodies:
        for row in range(system.offset[body], system.offset[body + 1]):
            out[row] = some[at]
            at += 1


@kernel
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


def _part_soon(
    nearly: float, apart: System, chosen: Indices, fastest: float, effort: Indices, impulse: Floats, out: Floats
) -> bool:
    """By methods of first order, to a small part of what is wanted, or exactly where bodies are few; False where the first do
    not reach that."""
    if how_many(apart, chosen) <= FEW_BODIES:
        return _project_apart(apart, chosen, fastest, effort, impulse, out)
    part, bodies = subsystem(apart, chosen, np.full(len(apart.offset) - 1, -1))
    velocity, pushes = np.zeros_like(part.velocity), impulse[chosen]
    enough = nearly * fastest
    criteria = StoppingCriteria(PARTED * fastest, enough, enough, fastest, 0, MAX_CHECKS)
    _, error = sweeps_and_admm(part, criteria, True, effort, State(pushes, velocity))
    if not error <= enough:
        return False
    impulse[chosen] = pushes
    scatter(apart, bodies, velocity, out)
    return True


def _project_apart(apart: System, chosen: Indices, fastest: float, effort: Indices, impulse: Floats, out: Floats) -> bool:
    """By a contact projection."""
    project_chosen(apart, chosen, fastest, MULTIPLIER_STEPS, effort, impulse, out)
    return True


def _compromise_apart(apart: System, chosen: Indices, fastest: float, effort: Indices, impulse: Floats, out: Floats) -> bool:
    """By a contact projection of so few multiplier steps that overlaps which contradict each other share what they can have:
    from none each time, for with every step more the impulses of a contradiction grow."""
    impulse[chosen] = 0.0
    project_chosen(apart, chosen, fastest, COMPROMISE, effort, impulse, out)
    return True


@kernel
def project_chosen(apart, chosen, fastest, steps, effort, impulse, out):
    """By a contact projection of some contacts, impulse (m, 3), and the velocities (n,) of their bodies."""
    part, bodies = subsystem(apart, chosen, np.full(apart.offset.size - 1, -1))
    m, operator = chosen.size, operator_of(part)
    allow(effort, FACTORISING, operator.blocks.structure.target.size, m)
    pushes, velocity, nearly = impulse[chosen], np.zeros_like(part.velocity), NEARLY_PARTED * fastest
    criteria = StoppingCriteria(PARTED * fastest, nearly, nearly, fastest, 0, MAX_CHECKS)
    sets, target = Sets(CONTACT, DISK, np.zeros(m), part.box), np.zeros_like(velocity)
    project(operator, sets, target, criteria, effort, State(pushes, velocity), steps)
    for i in range(m):
        impulse[chosen[i]] = pushes[i]
    scatter(apart, bodies, velocity, out)


@kernel
def how_many(system, chosen):
    """Bodies that some contacts are between."""
    seen, count = np.zeros(system.offset.size, np.bool_), 0
    for k in chosen:
        for body in (system.body_a[k], system.body_b[k]):
            if body >= 0 and not seen[body]:
                seen[body] = True
                count += 1
    return count


@kernel
def slow_down(model, system, islands, body_a, body_b, speed, out):
    """Scales the velocities (dof,) of islands so that in none bodies move against each other faster than FASTEST times what its
    contacts are to open at, speed (m,); returns the smallest scale. islands: (n,) as from `connected`.

    What parts two overlaps whose normals nearly oppose each other is a fast motion across both.
    """
    wanted, found = np.zeros(islands.size), np.zeros(islands.size)
    for k in range(speed.size):
        u, s, t = relative_velocity(system, k, out)
        island = islands[body_a[k] if model.dof[body_a[k]] >= 0 else body_b[k]]
        wanted[island] = max(wanted[island], speed[k])
        found[island] = max(found[island], np.sqrt(u * u + s * s + t * t))
    least = 1.0
    for b in range(islands.size):
        island, d = islands[b], model.dof[b]
        if d < 0 or found[island] <= FASTEST * wanted[island]:
            continue
        scale = FASTEST * wanted[island] / found[island]
        least = min(least, scale)
        for row in range(system.offset[d], system.offset[d + 1]):
            out[row] *= scale
    return least


def leave_what_gets_worse(
    model: Model, apart: System, islands: Indices, contacts: ContactSet, rest: Floats, size: Floats, h: float, out: Floats
) -> None:
    """Stops those islands (n,) in which the velocities (dof,) bring the deepest overlap deeper within h seconds.

    apart: the system, without bias. rest, size: (m,) m, of the contacts, the gaps at rest and the smaller half extents. A light
    body between the ground and a heavy one that leans on it has no room to be parted in, and the nearest that there is to it
    may be far down.
    """
    before = (rest - contacts.gap) / size
    after = before - h * relative_velocities(apart, out)[: len(size), 0] / size
    island = islands[np.where(model.dof[contacts.body_a] >= 0, contacts.body_a, contacts.body_b)]
    deepest, deeper = np.zeros(islands.size), np.zeros(islands.size)
    np.maximum.at(deepest, island, before)
    np.maximum.at(deeper, island, after)
    worse = deeper > deepest + NEGLIGIBLE * REST_OFFSET
    for body in np.flatnonzero(worse[islands] & (model.dof >= 0)):
        dof = model.dof[body]
        out[apart.offset[dof] : apart.offset[dof + 1]] = 0.0
