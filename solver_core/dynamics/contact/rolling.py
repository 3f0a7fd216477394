# SPDX-License-Identifier: GPL-3.0-or-later
"""Bias terms of bodies that roll on, or spin about, a point or a line. Their contacts are satisfied at the end of the step.

With J at the start of the step, J v = 0 is only of first order if the lever rotates: a top would wander on its tip, and a disc
rolling on its rim would lose energy. Therefore u = J v + b with b = u(w) - J w. Here w is a motion of both bodies in the step
near the solution: that which the impulses of the last step cause. Contacts with the same features are detected again at the end
of this motion:

- Along the normal, h u(w) is the change of the gap, so that contacts are satisfied at the end of the step (SHAKE).
- In the tangent plane, each body contributes x' + <omega x r>, a mean over its lever from the contact at the start to the
  contact at the end. A tip is the same point of the body at both, and <omega x r> is its chord; on a rim the point changes; on
  a ball r is constant. A lever that rotates by alpha about omega follows an arc, whose mean is tan(alpha / 2) / (alpha / 2)
  times that of its ends. The levers of the two surfaces are used in place of the lever of the contact point between them.
- Friction acts from the middle of the last step to the middle of this one, and so opposes the slip at the start of the step. A
  contact problem opposes u, the slip half a step later. For sliding contacts, the part of u(w) across the earlier slip is
  therefore removed from the bias. This applies to contacts that had all possible friction and continue to slide: an offset
  smaller than the slip without friction adds no energy, whether the contact slides or comes to rest.

The error is of second order in the step, because w is known to first order. The terms are used for a body that rotates by a few
hundredths of a radian in a step, or whose axis does, as that of a disc that tumbles at a small tilt. In the last step it must
have been supported by a single body that no impulse moves, at no more than two points. After an impact w would be a guess, a
body on three points does not roll, and a body that rolls on two bodies could stick to one only if it slid on the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...collision.detect import detect
from ...compile.kernel import kernel, kernel_part, leaf_kernel
from ...geometry.shapes import HULL, PLANE, ShapeTable
from ...linalg.elementary import arctangent
from ...linalg.mat3 import solve
from ...linalg.vec3 import add, dot, rotated, rotated_back, scaled
from ..look_ahead.impacts import ImpactFinder
from ..look_ahead.later_contacts import twists_between
from ..model.bodies import Bodies, State
from ..model.island_motion import IslandMotion
from ..model.predict import Begin, is_locked
from ..model.rest_gaps import rest_offsets
from ..motion.deformation import Deformation
from ..motion.rotation import matrices
from .borne import moved_by
from .memory import ContactMemory, StoredImpulses, match

__all__ = ["Rolling"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SPIN = 2e-2  # rad per step; if neither a body nor its axis rotates by more, levers change little
SLOW = 5e-3  # rad per step; a body that rotates by less has no well-defined axis
SLOW_ABOUT_AN_AXIS = 0.5 * SLOW  # a body that rotates by SLOW has at least one component larger than this
POINTS_OF_A_LINE = 2  # loaded contacts of two bodies; with more, one rests on the other
ROUND_ENOUGH = 1e-9  # relative deviation from a sphere that a ball may have
STILL_SLIDES = 2.0 / 3.0  # fraction of the initial slip; a contact with less in the middle of the step may come to rest
STILL_ITS_NORMAL = 0.7  # cosine; normals that rotate by more in the step are unrelated


class RollingBodies(NamedTuple):
    """The properties of n bodies that decide whether they may roll.

    in_large_island, flexible: (n,) bodies of large moving islands, and flexible bodies. surface_speed: (n,) m/s, of the fastest
    point of a deforming surface. is_ball: (n,) balls about their centers of mass. is_flat: (n,) bodies with plane faces only.
    """

    in_large_island: Flags
    flexible: Flags
    surface_speed: Floats
    is_ball: Flags
    is_flat: Flags


class Supports(NamedTuple):
    """The support of each of n bodies in the last step.

    points: (n,) the number of loaded contacts. body: (n,) the supporting body, -1 for none. impulse: (n, 6) N s and N m s, of
    the support on the body about its center of mass.
    """

    points: NDArray[np.int64]
    body: NDArray[np.int64]
    impulse: Floats


class ArcMotion(NamedTuple):
    """The motion w of n bodies in a step.

    begin, end: the states of the bodies at its start and at its end. twist: (n, 6) the velocities w, as used in J w. h: s, the
    step.
    """

    begin: State
    end: State
    twist: Floats
    h: float


class Rolling:
    """Computes the bias terms of rolling and spinning bodies. One instance serves a scene."""

    def __init__(
        self, bodies: Bodies, impacts: ImpactFinder, deformation: Deformation, island_motion: IslandMotion, bends: Flags
    ) -> None:
        """bends: (n,) which bodies are flexible."""
        self._bodies, self._impacts, self._deformation, self._island_motion = bodies, impacts, deformation, island_motion
        self._bends = bends
        self._rest = rest_offsets(bodies.model.size)
        self._balls, self._flat = balls_and_flats(bodies.shapes)

    def contacts(self, begin: Begin, state: State, contacts: ContactSet, memory: ContactMemory) -> tuple[Flags, Floats]:
        """Return (m,) the contacts of rolling bodies, and (n, 6) the predicted twists of all bodies.

        The twists of rolling bodies include the impulses of the last step.
        """
        # A partial step uses the same thresholds as a full step.
        step = begin.single
        predicted = begin.bodies.predicted
        if not anything_turns(predicted, SLOW_ABOUT_AN_AXIS / step):
            return np.zeros(len(contacts), np.bool_), predicted
        which = RollingBodies(self._island_motion.members, self._bends, self._deformation.speed, self._balls, self._flat)
        return rolling_contacts(begin.model, begin.bodies, state.position, contacts, memory, which, step, begin.force_time)

    def turning(
        self, begin: Begin, state: State, moved: State, twist: Floats, contacts: ContactSet, which: Flags
    ) -> tuple[Floats, Floats, Flags]:
        """Return the bias terms of contacts.

        Parameters
        ----------
        begin : the step
        state, moved : of the bodies at the start and at the end of the motion w
        twist : (n, 6) the velocities w, as used in J w
        contacts : the m contacts
        which : (m,) contacts of rolling bodies

        Returns
        -------
        (m, 3) m/s, world, u(w) - J w; (m, 3) m/s, its correction for sliding contacts; and (m,) the contacts that still exist
        at the end of the motion, for which both are valid
        """
        chosen = np.zeros(len(twist), np.bool_)
        chosen[contacts.body_a[which]] = chosen[contacts.body_b[which]] = True
        reach = 2.0 * self._rest + np.where(chosen, self._impacts.reach(twist, begin.h), 0.0)
        scene = moved.position, matrices(moved.orientation), reach, begin.model.collections
        found = detect(self._bodies.shapes, *scene, chosen & (begin.model.dof >= 0), self._bodies.excluded)
        # In continued contact, the gap changes by less than twice what gravity causes in a step. More is an impact.
        largest_change, motion = 2.0 * begin.single * begin.least_bounce, ArcMotion(state, moved, twist, begin.h)
        return rolling_bias(begin.model, begin.bodies, motion, contacts, found, which, largest_change)


def balls_and_flats(shapes: ShapeTable) -> tuple[Flags, Flags]:
    """Return (n,) the bodies that are balls about their centers of mass, and (n,) those with plane faces only.

    The lever of a ball that rolls on plane faces is constant.
    """
    first, alone = shapes.first_collider[:-1], np.diff(shapes.first_collider) == 1
    curved = np.bincount(shapes.body, ~((shapes.kind == PLANE) | (shapes.box & (shapes.margin == 0.0))), len(alone)) > 0
    kind, margin = np.append(shapes.kind, PLANE), np.append(shapes.margin, 0.0)  # the last body may have no collider
    return alone & (kind[first] == HULL) & (shapes.radius <= (1.0 + ROUND_ENOUGH) * margin[first]), ~curved


@kernel
def anything_turns(twist, speed):
    """Return whether any of twists (n, 6) is faster than a speed in rad/s about a world axis."""
    for i in range(len(twist)):
        for row in range(3, 6):
            if abs(twist[i, row]) > speed:
                return True
    return False


@kernel
def rolling_contacts(model, bodies, position, contacts, memory, which, step, force_time):
    """Return (m,) and (n, 6) as `Rolling.contacts` does.

    Parameters
    ----------
    model, bodies : the `Model` and the `Prediction` of n bodies
    position : (n, 3) m, at the start of the step
    contacts : the m contacts
    memory : the contact history
    which : `RollingBodies`
    step, force_time : s, the time step of the scene, and the time over which forces act
    """
    m, n = contacts.gap.size, len(model.dof)
    # Exclude deforming meshes, whose final shape is unknown, and large moving islands, where the effect is not visible.
    may_roll = ~(which.in_large_island | which.flexible | (which.surface_speed > 0.0))
    rolls, twist = np.zeros(m, np.bool_), bodies.predicted
    turns, some = np.zeros(n, np.bool_), False
    for i in range(n):
        if model.dof[i] >= 0 and square_of(twist[i, 3:]) * step * step > SLOW * SLOW:
            turns[i], some = may_roll[i], True
    if not some:
        return rolls, twist
    supports = Supports(np.zeros(n, np.int64), np.full(n, -1), np.zeros((n, 6)))
    points, support, pushed = supports.points, supports.body, supports.impulse
    old = match(memory, contacts)
    _find_supports(model.dof, may_roll, position, contacts, StoredImpulses(memory.impulse, old), turns, supports)
    is_changed = False
    for i in range(n):
        turns[i] &= 0 < points[i] <= POINTS_OF_A_LINE and not (which.is_ball[i] and which.is_flat[support[i]])
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
def _find_supports(dof, may_roll, position, contacts, stored, turns, out):
    """Find the support of each rotating body in the last step.

    Parameters
    ----------
    dof : (n,) the index of each body among those that the solver moves, or -1
    may_roll : (n,) bodies that may roll, or on which others may roll
    position : (n, 3) m, at the start of the step
    contacts : the m contacts
    stored : `StoredImpulses`
    turns : (n,) the rotating bodies; cleared for those with several supports or a movable one
    out : `Supports`, overwritten
    """
    impulse, old, points, support, pushed = stored.impulse, stored.row, out.points, out.body, out.impulse
    for k in range(old.size):
        if old[k] < 0 or not impulse[old[k], 0] > 0.0:
            continue
        a, b = contacts.body_a[k], contacts.body_b[k]
        for body, other, sign in ((a, b, -1.0), (b, a, 1.0)):
            if not turns[body]:
                continue
            is_another = points[body] > 0 and support[body] != other
            if dof[other] >= 0 or not may_roll[other] or is_another:
                turns[body] = False
                continue
            points[body], support[body] = points[body] + 1, other
            _add_push(pushed[body], impulse[old[k]], contacts.normal[k], contacts.point[k], position[body], sign)


@leaf_kernel
def square_of(x):
    """Return |x|^2 of three numbers."""
    return x[0] * x[0] + x[1] * x[1] + x[2] * x[2]


@kernel_part
def _add_push(out, impulse, normal, point, center, sign):
    """out (6,) += the impulse on a body of a stored impulse (4,) at a contact, with friction projected to the contact plane."""
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
    """Return whether a body, or its axis, rotates so far in a step that levers change.

    spin: (3,) rad per step. change: (3,) of the spin. share: the time over which forces act, as a fraction of the step.
    """
    axis, square = np.cross(spin, change), square_of(spin)
    return square > SPIN * SPIN or square_of(axis) > (SPIN * share * square) ** 2


@kernel
def rolling_bias(model, bodies, motion, contacts, later, which, largest_change):
    """Return (m, 3), (m, 3) and (m,) as `Rolling.turning` does.

    Parameters
    ----------
    model, bodies : the `Model` and the `Prediction` of the bodies
    motion : `ArcMotion`
    contacts, later : the contacts at the start and at the end of the motion
    which : (m,) contacts of rolling bodies, among those at the start
    largest_change : m, the largest change of a gap; larger ones are impacts
    """
    start, end, twist, h = motion.begin, motion.end, motion.twist, motion.h
    way = twists_between(start.position, end.position, start.orientation, end.orientation, twist, h)
    slip, now, at_start = np.empty(3), np.empty(3), np.empty(6)
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
            first_lever = point + (0.5 * side * gap) * n - start.position[body]
            last_lever = later.point[j] + (0.5 * side * later.gap[j]) * later.normal[j] - end.position[body]
            mean = way[body, :3] + mean_along_arc(way[body, 3:], first_lever, last_lever)
            told = twist[body, :3] + np.cross(twist[body, 3:], point - start.position[body])
            _write_twist_at_start(model, bodies, motion, body, at_start)
            first = at_start[:3] + np.cross(at_start[3:], first_lever)
            # The tangential part follows the motion; the normal part follows the change of the gap.
            slip += side * (mean - dot(mean, n) * n)
            now += side * (first - dot(first, n) * n)
            out[k] -= side * told
        out[k] += slip + change / h * n
        square, forward = square_of(now), dot(slip, now)
        if forward > STILL_SLIDES * square:
            aside[k] = forward / square * now - slip
    return out, aside, known


@leaf_kernel
def _write_twist_at_start(model, bodies, motion, body, out):
    """Write the velocities of a body at the start of the step to `out` (6,).

    They are the means of those in the middle of the last step and of the motion, those in the middle of this one.
    """
    moves, last, twist = model.dof[body] >= 0, bodies.twist[body], motion.twist[body]
    for i in range(6):
        out[i] = 0.5 * (last[i] + twist[i]) if moves else twist[i]
    if moves and not is_locked(model.lock[body]):
        # The velocities of the step use the axes of the body in its middle.
        momentum = motion.begin.angular_momentum[body], motion.end.angular_momentum[body]
        middle = scaled(0.5, add(momentum[0], momentum[1]))
        spin = solve(model.inertia[body], rotated_back(bodies.rotation[body], middle))
        out[3], out[4], out[5] = rotated(bodies.rotation[body], spin)


@kernel_part
def mean_along_arc(turn, begin, end):
    """Return (3,) m/s, the mean of omega x r for a lever r (3,) that moves from begin to end on an arc about omega (3,)."""
    first, last = np.cross(turn, begin), np.cross(turn, end)
    chord, both = np.sqrt(square_of(last - first)), np.sqrt(square_of(first + last))
    # tan(alpha / 2); a lever that ends on the opposite side did not move along an arc
    tangent = chord / both if chord < both else 0.0
    return (0.5 * tangent / arctangent(tangent, 1.0) if tangent > 0.0 else 0.5) * (first + last)
