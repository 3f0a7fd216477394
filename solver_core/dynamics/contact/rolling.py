# SPDX-License-Identifier: GPL-3.0-or-later
"""What rolls on, or spins about, a point or a line: its contacts hold along the step, as joints do, and not where it begins.

With J at the step's begin J v = 0 is first order where the lever turns: a top on its tip walks, a disc on its rim loses what
it has. So u = J v + b, with b = u(w) - J w for a motion w of both bodies through the step near the one that comes out: that to
which the last step's impulses lead. Where it ends contacts are looked for once more, with the same features:

- Along the normal h u(w) is by how much the gap changes, so that contacts hold where the step ends (SHAKE).
- Across, each body brings x' + <omega x r>, the mean over the way of its lever from the contact at the begin to that at the
  end. A tip is the same point of the body at both, and <omega x r> is its chord; a rim has another point; on a ball r does not
  change at all. A lever that turns by alpha about omega goes along an arc, whose mean is tan(alpha / 2) / (alpha / 2) times
  that of its ends. For the lever between the surfaces stand the levers of the two surfaces.
- Friction acts from the middle of the last step to that of this one, and so opposes the slip as the step begins; a contact
  problem opposes u, the slip half a step later. Of what slides the part of u(w) across the earlier slip is therefore left out
  of the bias. That is for contacts that bore all the friction there may be, and go on sliding: an offset smaller than the slip
  without friction gains no energy, whether the contact slides or comes to rest.

The error is of second order in the step, as w is known to first. That is for a body that turns by a few hundredths of a radian
in a step, or whose axis does, as that of a disc that tumbles at a small tilt, and that bore in the last step on one body that
no impulse moves, at no more than two points: of an impact w would be a guess, what stands on three does not roll, and what
rolls on two bodies or more at once could hold to one only where it slid on the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...collision.detect import detect
from ...compile.kernel import kernel, kernel_part, leaf_kernel
from ...geometry.shapes import HULL, PLANE, ShapeTable
from ...linalg.elementary import arctangent
from ...linalg.mat3 import solve
from ...linalg.vec3 import dot, rotated, rotated_back
from ..look_ahead.impacts import ImpactFinder
from ..look_ahead.later_contacts import twist_between
from ..model.bodies import Bodies, State
from ..model.island_motion import IslandMotion
from ..model.predict import Begin, is_locked
from ..model.rest_gaps import rest_offsets
from ..motion.deformation import Deformation
from ..motion.rotation import matrices
from .borne import moved_by
from .memory import ContactMemory, match

__all__ = ["Rolling"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SPIN = 2e-2  # rad in a step: where neither a body nor its axis turns by more, levers hardly do
SLOW = 5e-3  # rad in a step: what turns by less has no axis to speak of
SLOW_ABOUT_AN_AXIS = 0.5 * SLOW  # of what is as fast at least one component is more than that
POINTS_OF_A_LINE = 2  # contacts of two bodies that bear: with more they stand on each other
ROUND_ENOUGH = 1e-9  # of a radius, that a ball may differ by
STILL_SLIDES = 2.0 / 3.0  # of the slip as a step begins: what has less left in its middle may come to rest in it
STILL_ITS_NORMAL = 0.7  # cosine: of normals that turn by more in the step the one says nothing about the other


class Rolling:
    """Finds by how much the velocities at contacts of what rolls differ from J v; made once for a scene."""

    def __init__(
        self, bodies: Bodies, impacts: ImpactFinder, deformation: Deformation, island_motion: IslandMotion, bends: Flags
    ) -> None:
        """bends: (n,) which bodies do."""
        self._bodies, self._impacts, self._deformation, self._island_motion = bodies, impacts, deformation, island_motion
        self._bends = bends
        self._rest = rest_offsets(bodies.model.size)
        self._balls, self._flat = balls_and_flats(bodies.shapes)

    def contacts(self, begin: Begin, state: State, contacts: ContactSet, memory: ContactMemory) -> tuple[Flags, Floats]:
        """(m,) which contacts are of bodies that roll, and (n, 6) the velocities of all bodies, of these with the impulses of
        the last step."""
        # a part of a step is no other law
        step = begin.single
        predicted = begin.bodies.predicted
        if not anything_turns(predicted, SLOW_ABOUT_AN_AXIS / step):
            return np.zeros(len(contacts), np.bool_), predicted
        of_bodies = self._island_motion.members, self._bends, self._deformation.speed, self._balls, self._flat
        return that_roll(begin.model, begin.bodies, state.position, contacts, memory, of_bodies, step, begin.force_time)

    def turning(
        self, begin: Begin, state: State, moved: State, twist: Floats, contacts: ContactSet, which: Flags
    ) -> tuple[Floats, Floats, Flags]:
        """u(w) - J w, (m, 3) m/s, world, of those contacts `which` (m,) that a motion from one state to another leaves
        there; (m, 3) m/s, what is added to it where they slide; and (m,) which these are.

        twist: (n, 6) the velocities w of that motion, as they stand in J w.
        """
        chosen = np.zeros(len(twist), np.bool_)
        chosen[contacts.body_a[which]] = chosen[contacts.body_b[which]] = True
        reach = 2.0 * self._rest + np.where(chosen, self._impacts.reach(twist, begin.h), 0.0)
        scene = moved.position, matrices(moved.orientation), reach, begin.model.collections
        found = detect(self._bodies.shapes, *scene, chosen & (begin.model.dof >= 0), self._bodies.excluded)
        way = twist_between(state, moved, twist, begin.h)
        # what goes on as it did neither leaves nor comes in by more than twice what gravity does in a step: it is no impact
        largest_change = 2.0 * begin.single * begin.least_bounce
        before, after = (contacts, state.position), (found, moved.position)
        at_begin = velocities_at_begin(begin.model, begin.bodies, state, moved, twist, chosen)
        return along_the_way(before, after, which, (at_begin, twist, way, begin.h), largest_change)


def balls_and_flats(shapes: ShapeTable) -> tuple[Flags, Flags]:
    """(n,) which bodies are balls about their centres of mass, and which have plane faces only. A ball that rolls on these has
    the same lever all along."""
    first, alone = shapes.first_collider[:-1], np.diff(shapes.first_collider) == 1
    curved = np.bincount(shapes.body, ~((shapes.kind == PLANE) | (shapes.box & (shapes.margin == 0.0))), len(alone)) > 0
    kind, margin = np.append(shapes.kind, PLANE), np.append(shapes.margin, 0.0)  # the last body may have no collider
    return alone & (kind[first] == HULL) & (shapes.radius <= (1.0 + ROUND_ENOUGH) * margin[first]), ~curved


@kernel
def anything_turns(twist, speed):
    """Whether any of twists (n, 6) turns faster than a speed in rad/s about an axis of the world."""
    for i in range(len(twist)):
        for row in range(3, 6):
            if abs(twist[i, row]) > speed:
                return True
    return False


@kernel
def that_roll(model, bodies, position, contacts, memory, of_bodies, step, force_time):
    """(m,) and (n, 6) as of `Rolling.contacts`. of_bodies: (n,) which are in large islands in motion, which bend, how fast they
    deform, m/s, which are balls, and which have plane faces only."""
    m, n, (members, bends, speed, balls, flat) = contacts.gap.size, len(model.dof), of_bodies
    # neither meshes that deform, whose surface is not where it will be, nor large islands in motion, where it is not seen
    apart = ~(members | bends | (speed > 0.0))
    rolls, twist = np.zeros(m, np.bool_), bodies.predicted
    turns, some = np.zeros(n, np.bool_), False
    for i in range(n):
        if model.dof[i] >= 0 and square_of(twist[i, 3:]) * step * step > SLOW * SLOW:
            turns[i], some = apart[i], True
    if not some:
        return rolls, twist
    points, support, pushed = np.zeros(n, np.int64), np.full(n, -1), np.zeros((n, 6))
    old = match(memory, contacts.body_a, contacts.body_b, contacts.feature)
    _stand_alone((model.dof, apart), position, contacts, (memory.impulse, old), turns, (points, support, pushed))
    is_changed = False
    for i in range(n):
        turns[i] &= 0 < points[i] <= POINTS_OF_A_LINE and not (balls[i] and flat[support[i]])
        if not turns[i]:
            continue
        v = twist[i] + moved_by(bodies.inverse_mass[model.dof[i]], model.lock[i] * pushed[i])
        turns[i] = turns_fast(step * twist[i, 3:], step * (v[3:] - bodies.twist[i, 3:]), force_time / step)
        if turns[i]:
            if not is_changed:
                twist, is_changed = twist.copy(), True
            twist[i] = v
    if is_changed:
        for k in range(m):
            a, b = contacts.body_a[k], contacts.body_b[k]
            rolls[k] = (turns[a] and support[a] == b) or (turns[b] and support[b] == a)
    return rolls, twist


@leaf_kernel
def _stand_alone(of_bodies, position, contacts, remembered, turns, out):
    """Of bodies that turn (n,), on which one each bore in the last step, at how many points, and how it pushed (n, 6) about
    the centre of mass, N s; those that bore on several, or on what moves, no longer count."""
    (impulse, old), (dof, apart), (points, support, pushed) = remembered, of_bodies, out
    for k in range(old.size):
        if old[k] < 0 or not impulse[old[k], 0] > 0.0:
            continue
        a, b = contacts.body_a[k], contacts.body_b[k]
        for body, other, sign in ((a, b, -1.0), (b, a, 1.0)):
            if not turns[body]:
                continue
            is_another = points[body] > 0 and support[body] != other
            if dof[other] >= 0 or not apart[other] or is_another:
                turns[body] = False
                continue
            points[body], support[body] = points[body] + 1, other
            _add_push(pushed[body], impulse[old[k]], contacts.normal[k], contacts.point[k], position[body], sign)


@leaf_kernel
def square_of(x):
    """|x|^2 of three numbers."""
    return x[0] * x[0] + x[1] * x[1] + x[2] * x[2]


@kernel_part
def _add_push(out, impulse, normal, point, center, sign):
    """out (6,) += what a remembered impulse (4,) at a contact does to a body, friction turned into the contact's plane."""
    along = impulse[1] * normal[0] + impulse[2] * normal[1] + impulse[3] * normal[2]
    x, y, z = point[0] - center[0], point[1] - center[1], point[2] - center[2]
    p = sign * (impulse[1] + (impulse[0] - along) * normal[0])
    q = sign * (impulse[2] + (impulse[0] - along) * normal[1])
    r = sign * (impulse[3] + (impulse[0] - along) * normal[2])
    out[0] += p
    out[1] += q
    out[2] += r
    out[3] += y * r - z * q
    out[4] += z * p - x * r
    out[5] += x * q - y * p


@kernel_part
def turns_fast(spin, change, share):
    """Whether a body that turns by `spin` (3,) in a step, or its axis where the spin changes, does by so much that levers turn;
    share: of the step, for which forces act."""
    axis, square = np.cross(spin, change), square_of(spin)
    return square > SPIN * SPIN or square_of(axis) > (SPIN * share * square) ** 2


@kernel
def along_the_way(before, after, which, motion, largest_change):
    """(m, 3), (m, 3) and (m,) as of `Rolling.turning`. before, after: the contacts at the begin of the way and at its end,
    and the positions of bodies (n, 3). motion: the velocities (n, 6) as the way begins,
    those that stand in J w, those from begin to end, and the step. largest_change: m, that gaps may change by."""
    (contacts, position), (later, to_position) = before, after
    (at_begin, twist, way, h), slip, now = motion, np.empty(3), np.empty(3)
    out, aside, known = np.zeros((which.size, 3)), np.zeros((which.size, 3)), np.zeros(which.size, np.bool_)
    for k in np.flatnonzero(which):
        a, b, point, gap = contacts.body_a[k], contacts.body_b[k], contacts.point[k], contacts.gap[k]
        for j in range(later.gap.size):
            if later.body_a[j] == a and later.body_b[j] == b and later.feature[j] == contacts.feature[k]:
                break
        else:
            continue
        n, change = contacts.normal[k], later.gap[j] - gap
        if not (dot(n, later.normal[j]) > STILL_ITS_NORMAL and abs(change) <= largest_change):
            continue
        known[k] = True
        slip[:], now[:] = 0.0, 0.0
        for body, side in ((b, 1.0), (a, -1.0)):
            begin = point + (0.5 * side * gap) * n - position[body]
            end = later.point[j] + (0.5 * side * later.gap[j]) * later.normal[j] - to_position[body]
            mean = way[body, :3] + mean_along_arc(way[body, 3:], begin, end)
            told = twist[body, :3] + np.cross(twist[body, 3:], point - position[body])
            first = at_begin[body, :3] + np.cross(at_begin[body, 3:], begin)
            # across as the way has it, along the normal as the gap closes
            slip += side * (mean - dot(mean, n) * n)
            now += side * (first - dot(first, n) * n)
            out[k] -= side * told
        out[k] += slip + change / h * n
        square, forward = square_of(now), dot(slip, now)
        if forward > STILL_SLIDES * square:
            aside[k] = forward / square * now - slip
    return out, aside, known


@kernel
def velocities_at_begin(model, bodies, state, moved, twist, chosen):
    """Velocities (n, 6) of those chosen (n,) at the moment between the middle of the last step, with which a motion begins, and
    that of this one; twist: (n, 6) that it ends with. Of the others what is there."""
    out = twist.copy()
    for i in range(chosen.size):
        if not chosen[i] or model.dof[i] < 0:
            continue
        out[i] = 0.5 * (bodies.twist[i] + twist[i])
        if not is_locked(model.lock[i]):
            # those of the step are about the axes that the body has in its middle
            momentum = 0.5 * (state.angular_momentum[i] + moved.angular_momentum[i])
            spin = solve(model.inertia[i], rotated_back(bodies.rotation[i], momentum))
            out[i, 3], out[i, 4], out[i, 5] = rotated(bodies.rotation[i], spin)
    return out


@kernel_part
def mean_along_arc(turn, begin, end):
    """(3,) m/s: the mean of omega x r where a lever r (3,) goes from begin to end on an arc about omega (3,)."""
    first, last = np.cross(turn, begin), np.cross(turn, end)
    chord, both = np.sqrt(square_of(last - first)), np.sqrt(square_of(first + last))
    # tan(alpha / 2); a lever that comes out on the other side has not gone there on an arc
    tangent = chord / both if chord < both else 0.0
    return (0.5 * tangent / arctangent(tangent, 1.0) if tangent > 0.0 else 0.5) * (first + last)
