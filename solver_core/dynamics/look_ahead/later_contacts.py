# SPDX-License-Identifier: GPL-3.0-or-later
"""End-of-step contacts, detected at the end of the solved motion or at the first touch of bodies on their paths.

Contacts are detected at the start of a step. These may be incomplete: a rotating body may land on another corner, a body that
is hit may move in an unpredicted direction, and an edge may pass another one in another direction. Therefore the solved motion
is followed to its end. Bodies that overlap there, and did not at the start of the step, get the contacts that they have there,
and the step is solved again with these.

A gap phi with normal n, found at time t of a motion w, is linear in the velocities v:

    phi(v) = phi + t n . (u(v) - u(w)),      that is, at the end of the step,      phi - t n . u(w) + h n . u(v) >= 0.

It is therefore mapped to a contact at the start of the step with the gap phi - t u_n(w). Both bodies use one contact point, so
that angular momentum is conserved. At the start of the step the bodies are not where they collide, so only one lever can be
exact: that of the smaller body. The lever of the other body is longer by the motion. If the mapped gap is negative although the
bodies were separate, they did not approach along the direction of least depth. The direction is then the one between them at
their first touch.

Conversely, bodies may pass a contact of the start of the step during the step. Gear teeth move farther in a step than their
clearance on both sides, and the tangent plane of the tooth that leaves blocks the path of the next one. A free body can
evade, but a body on an axle cannot, and all gears would stop. Therefore, of two bodies on axles, only contacts that they also
have at the predicted end of the motion are active from the start. All other contacts are found as above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import (
    NO_CONTACTS,
    NO_OVERLAP,
    ContactSet,
    Overlap,
    deepest_of_pairs,
    merged,
    of_same_pairs,
)
from ...collision.detect import Scene, detect_all
from ...collision.mesh.walks import KeptWalks
from ...collision.time_of_impact import Motion
from ...compile.kernel import kernel
from ...linalg.in_order import dots
from ..model.bodies import Bodies, State
from ..model.held_together import HeldTogether
from ..model.rest_gaps import rest_offsets
from ..motion.deformation import Deformation
from ..motion.rotation import matrices, rotate_by, rotation_vectors, write_matrix
from .impacts import ImpactFinder, Impacts, of_pairs

__all__ = ["NOTHING_LATER", "Later", "LaterContacts", "twist_between", "twists_between"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Fractions of the smaller half size. A larger new overlap than NOTICED at the end of a step causes another solve. A larger one
# than LARGEST_OVERLAP after all attempts rejects the step.
NOTICED = 2.5e-4
LARGEST_OVERLAP = 1e-3
DEEPENING = 0.1  # fraction of LARGEST_OVERLAP by which a deeper overlap may deepen in a whole time step
# Fraction of an earlier overlap by which its depth may vary, since another exit can become the shortest one.
FLUCTUATION = 0.1
EXPLAINED = 0.5  # fraction of the final depth that the approach along the normal must explain, else the direction is wrong
KEPT_TO = 0.5  # fraction of NOTICED; a contact that a motion violates by less is satisfied, within the accuracy of solves
SURELY = 0.5  # fraction of the negligible motion, because a constant twist only approximates the motion
TURNS = 2e-2  # rad per step; a body on an axle that rotates by less does not pass contacts
HALF_A_TURN = 2.5  # rad; half a turn less the rotation that free rotation may add to a twist


@dataclass(frozen=True)
class Later:
    """The result of `LaterContacts.find`.

    contacts: end-of-step contacts to add to the problem, mapped to the start of the step. too_far: whether bodies overlap too
    much. deepened: the largest noticed overlap, in half sizes of the smaller body. deepest: the deepest overlap at the end.
    """

    contacts: ContactSet
    too_far: bool
    deepened: float
    deepest: Overlap


NOTHING_LATER = Later(NO_CONTACTS, False, 0.0, NO_OVERLAP)


class LaterContacts:
    """Finds the end-of-step contacts of steps. One instance serves a scene."""

    def __init__(
        self,
        bodies: Bodies,
        together: HeldTogether,
        impacts: ImpactFinder,
        deformation: Deformation,
        kept: KeptWalks,
    ):
        self._shapes, self._collections, self._together = bodies.shapes, bodies.model.collections, together
        self._kept = kept
        self._size, self._movable = bodies.model.size, bodies.model.dof >= 0
        self._rest = rest_offsets(bodies.model.size)
        self._impacts, self._deformation = impacts, deformation
        self._flexible, self._no_travel = deformation.bends, np.zeros((len(self._size), 3))
        self._is_any_flexible = bool(self._flexible.any())
        self._negligible = 0.5 * DEEPENING * LARGEST_OVERLAP * self._size
        self._surely = SURELY * self._negligible

    def may_matter(self, twist: Floats, h: float, share: float) -> bool:
        """Return whether a body may move far enough to collide, with twists (n, 6) for h seconds.

        share: h as a fraction of the time step.
        """
        return self._impacts.comes_beyond(twist, h, self._surely, share)

    def between_axles(self, contacts: ContactSet, twist: Floats, h: float, links: Ints) -> Flags:
        """Return (m,) which contacts connect two bodies on axles, one of which rotates far in h seconds with twists (n, 6).

        A body is on an axle if a joint, `links` (j, 2), connects it to the world (-1) or to a body that no impulse moves, or if
        it is such a body itself and rotates.
        """
        return between_axles(contacts, twist, h, links, self._movable, self._deformation.moves_by_keyframes())

    def passed_by(self, contacts: ContactSet, which: Flags, moved: State, twist: Floats, h: float) -> Flags:
        """Return (m,) which of the contacts `which` (m,) do not exist at the end of a motion.

        Their features have rotated away from each other or are out of reach. moved: the bodies at the end. twist: (n, 6), their
        approximate twists during h seconds.
        """
        chosen = np.zeros(len(self._size), np.bool_)
        chosen[contacts.body_a[which]] = chosen[contacts.body_b[which]] = True
        poses, farther = (moved.position, matrices(moved.orientation)), self._impacts.reach(twist, h)
        after = self.contacts_at(*poses, chosen, farther, chosen & self._movable)
        later = set(zip(self._pair(after).tolist(), after.feature.tolist(), strict=True))
        rows, passed = np.flatnonzero(which), which.copy()
        earlier = zip(self._pair(contacts)[rows].tolist(), contacts.feature[rows].tolist(), strict=True)
        passed[rows] = [one not in later for one in earlier]
        return passed

    def find(
        self, before: ContactSet, held: ContactSet, state: State, motion: Motion, moved: State, met: Impacts, movable: Flags
    ) -> Later:
        """Find the end-of-step contacts of a motion.

        Parameters
        ----------
        before : contacts at the start of the motion; only overlaps that became deeper count
        held : contacts of the problem; an overlap that they predicted does not count
        state : of the bodies at the start of the motion
        motion : the solved motion
        moved : the bodies at its end
        met : impacts during the motion, whose contacts are added
        movable : (n,) one body of each pair is movable
        """
        contacts = self._met(met, before, state, motion) if len(met) else NO_CONTACTS
        quick = self._impacts.beyond(motion.twist, motion.h, self._negligible, motion.share)
        # Meshes deformed by shape keys are not at their final shape here.
        still = ~self._deformation.moves_by_keyframes()
        poses = moved.position, matrices(moved.orientation)
        after = self._contacts(*poses, self._rest, self._collections, quick & still)
        seen = look_at_overlaps(after, before, self._size, movable, still, motion.share)
        if seen.is_any:
            # The problem already contains the predicted overlaps.
            new = unforeseen(after, seen.noticed, held, motion, self.modal_speed(held, motion), self._size)
            if new.any():
                found = self._at_begin(after, new, seen.was, before, state, motion)
                contacts = merged(contacts, found) if len(contacts) else found
        return Later(contacts, seen.too_far, seen.deepened, after.overlap(seen.row, seen.ratio))

    def _at_begin(
        self, after: ContactSet, noticed: Flags, was: Floats, before: ContactSet, state: State, motion: Motion
    ) -> ContactSet:
        """Return the contacts of all pairs with a noticed contact, mapped to the start of the motion."""
        chosen = of_same_pairs(after, noticed)
        contacts = self.stated_at_begin(after.chosen(chosen), np.full(len(self._size), motion.h), motion)
        # The part of the final depth that the approach along the normal does not explain.
        depth, closed = was[chosen] - after.gap[chosen], was[chosen] - contacts.gap
        aside = noticed[chosen] & (was[chosen] == 0.0) & (closed > (1.0 - EXPLAINED) * depth)
        if not aside.any():
            return contacts
        bodies = np.unique(np.stack([contacts.body_a[aside], contacts.body_b[aside]], axis=1), axis=0)
        touched = self._met(self._impacts.first_touches(bodies, motion), before, state, motion)
        touched = touched.chosen(np.isin(self._pair(touched), self._pair(touched)[self._broken(touched, motion)]))
        # If the motion already satisfies the contact of the first touch, the contact of the end is kept.
        aside = np.isin(self._pair(contacts), self._pair(touched))
        return merged(contacts.without(aside), touched)

    def _broken(self, contacts: ContactSet, motion: Motion) -> Flags:
        """Return (m,) the contacts, mapped to the start, that a motion violates. The others would not change it."""
        size = np.minimum(self._size[contacts.body_a], self._size[contacts.body_b])
        end = np.maximum(contacts.gap, 0.0) + motion.h * self.normal_speed(contacts, motion)
        return end < -KEPT_TO * NOTICED * size

    def _met(self, met: Impacts, before: ContactSet, state: State, motion: Motion) -> ContactSet:
        """Return the contacts of pairs that collide during a motion, mapped to its start.

        Pairs that touch from the start, and meshes that deform, use their contacts in `before` at any distance.
        """
        still = ~self._deformation.moves_by_keyframes()
        clear = ~met.touching & still[met.bodies].all(axis=1)
        first = self.contacts_at_impact(met.bodies[clear], met.times[clear], state, motion)
        return merged(of_pairs(before, met.bodies[~clear], len(self._size)), first)

    def contacts_at_impact(self, bodies: Ints, times: Floats, state: State, motion: Motion) -> ContactSet:
        """Return the contacts of pairs (k, 2) of bodies at the times (k,) at which they touch, mapped to the start."""
        found, left = NO_CONTACTS, np.ones(len(bodies), np.bool_)
        moves = motion.twist.any(axis=1)
        while left.any():
            together, time = placed_together(bodies, times, left, moves)
            left &= ~together
            position, rotation = poses_at(motion.position, state.orientation, motion.twist, time)
            pairs, chosen = bodies[together], np.zeros(len(moves), np.bool_)
            chosen[pairs] = True
            contacts = self.contacts_at(position, rotation, chosen, 0.0, chosen)
            contacts = self.stated_at_begin(of_pairs(contacts, pairs, len(moves)), time, motion)
            found = merged(found, contacts) if len(found) else contacts
        return found

    def contacts_at(
        self, position: Floats, rotation: Floats, chosen: Flags, beyond: Floats | float, movable: Flags
    ) -> ContactSet:
        """Return the contacts of chosen bodies (n,) with each other, in given poses, (n, 3) m and (n, 3, 3).

        Gaps are at most two rest offsets and `beyond` m of each body. One body of a pair is movable (n,).
        """
        collections = np.where(chosen, self._collections, 0)
        return self._contacts(position, rotation, 2.0 * self._rest + beyond, collections, movable)

    def _contacts(self, position: Floats, rotation: Floats, reach: Floats, collections: Ints, movable: Flags) -> ContactSet:
        """Return contacts of bodies in given poses, with motion bounds `reach` (n,) m, for pairs with a movable body (n,).

        collections: (n,) bit masks.
        """
        scene = Scene(position, rotation, reach, self._no_travel, collections, movable, self._together.excluded)
        contacts = detect_all(self._shapes, scene, whole=self._flexible, walks=self._kept.walks)
        return self._deformation.without_redundant(contacts, position, rotation, self._rest)

    def normal_speed(self, contacts: ContactSet, motion: Motion) -> Floats:
        """Return (m,) m/s, the normal velocities n . u of a motion, with the contribution of flexible bodies' modes."""
        return normal_speed(contacts, motion.twist, motion.position) + self.modal_speed(contacts, motion)

    def modal_speed(self, contacts: ContactSet, motion: Motion) -> Floats:
        """Return (m,) m/s, the contribution of flexible bodies' modes to the normal velocities of a motion."""
        where = contacts.body_a, contacts.body_b
        modes = self._deformation.modes_at(*where, contacts.point, motion.position, motion.rotation)
        if modes is None:
            return np.zeros(len(contacts))
        return dots(self._deformation.modal_surface_velocity(*where, modes), contacts.normal)

    def stated_at_begin(self, contacts: ContactSet, time: Floats, motion: Motion) -> ContactSet:
        """Return contacts found at times of a motion, with points and gaps mapped to its start.

        time: (n,) s, of the bodies; a contact has the later time of its two bodies.
        """
        bodies, of_modes = (self._size, self._movable), np.zeros(len(contacts))
        if self._is_any_flexible:
            moved = contacts.placed(points_at_begin(contacts, time, motion.twist, bodies), contacts.gap)
            of_modes = self.modal_speed(moved, motion)
        return stated_at_begin(contacts, time, motion, bodies, of_modes)

    def _pair(self, contacts: ContactSet) -> Ints:
        return contacts.body_a * len(self._size) + contacts.body_b


@kernel
def placed_together(bodies, times, left, moves):
    """Select pairs of bodies whose times of impact can be evaluated together.

    Pairs are selected in order, if no moving body would get two different times.

    bodies: (k, 2). times: (k,) s. left: (k,) pairs that are not evaluated yet; the first of them is always selected. moves:
    (n,) which bodies move. Returns (k,) the selected pairs, and (n,) s, the time of each body, 0 for others.
    """
    together, time, is_placed = np.zeros(len(bodies), np.bool_), np.zeros(len(moves)), np.zeros(len(moves), np.bool_)
    for row in range(len(bodies)):
        fits = left[row]
        for body in bodies[row]:
            fits &= not (moves[body] and is_placed[body] and time[body] != times[row])
        if fits:
            together[row] = True
            for body in bodies[row]:
                if moves[body]:
                    is_placed[body], time[body] = True, times[row]
    return together, time


@kernel
def poses_at(position, orientation, twist, time):
    """Return the positions (n, 3) m and the rotations (n, 3, 3) of bodies at times (n,) s of a motion.

    position, orientation: (n, 3) m and (n, 4), at its start. twist: (n, 6).
    """
    place, turn, turned = np.empty_like(position), np.empty((len(position), 3, 3)), np.empty(4)
    for i in range(len(position)):
        for row in range(3):
            place[i, row] = position[i, row] + time[i] * twist[i, row]
        rotate_by(orientation[i], time[i] * twist[i, 3], time[i] * twist[i, 4], time[i] * twist[i, 5], turned)
        write_matrix(turned, turn[i])
    return place, turn


@kernel
def stated_at_begin(contacts, time, motion, bodies, of_modes):
    """Return as `LaterContacts.stated_at_begin` does.

    bodies: (n,) half sizes in m, and (n,) whether impulses move the bodies. of_modes: (m,) m/s, the contribution of modes to
    the normal velocities at the mapped points.
    """
    body_a, body_b, point = contacts.body_a, contacts.body_b, points_at_begin(contacts, time, motion.twist, bodies)
    moved = ContactSet(body_a, body_b, point, contacts.normal, contacts.gap, contacts.feature)
    gap, speed = contacts.gap.copy(), normal_speed(moved, motion.twist, motion.position)
    for k in range(gap.size):
        gap[k] -= max(time[body_a[k]], time[body_b[k]]) * (speed[k] + of_modes[k])
    return ContactSet(body_a, body_b, point, contacts.normal, gap, contacts.feature)


@kernel
def points_at_begin(contacts, time, twist, bodies):
    """Map the points of contacts found at times (n,) s of bodies to the start of a motion. Returns (m, 3) m.

    A contact keeps the lever that it has at its time; only the translation of a body is subtracted. The two bodies then give
    different points. The result is a weighted mean, closer to that of the smaller movable body, so the larger body gets the
    longer lever.

    twist: (n, 6) of the motion. bodies: (n,) half sizes in m, and (n,) whether impulses move the bodies.
    """
    out, (size, movable) = np.empty((contacts.gap.size, 3)), bodies
    for k in range(len(out)):
        a, b = contacts.body_a[k], contacts.body_b[k]
        size_a, size_b = (size[a] if movable[a] else np.inf), (size[b] if movable[b] else np.inf)
        of_a = 1.0 if np.isfinite(size_b) else 0.5
        if np.isfinite(size_a):
            of_a = 1.0 / (1.0 + size_b / size_a)
        found_at = max(time[a], time[b])
        for axis in range(3):
            was_a = contacts.point[k, axis] - found_at * twist[a, axis]
            was_b = contacts.point[k, axis] - found_at * twist[b, axis]
            out[k, axis] = of_a * was_b + (1.0 - of_a) * was_a
    return out


@kernel
def normal_speed(contacts, twist, position):
    """Return (m,) m/s, the normal velocities n . u of contacts of bodies at positions (n, 3) with twists (n, 6)."""
    point, normal, out = contacts.point, contacts.normal, np.zeros(contacts.gap.size)
    for k in range(out.size):
        for body, sign in ((contacts.body_a[k], -1.0), (contacts.body_b[k], 1.0)):
            x, y, z = point[k, 0] - position[body, 0], point[k, 1] - position[body, 1], point[k, 2] - position[body, 2]
            v, w, n = twist[body, :3], twist[body, 3:], normal[k]
            along = n[0] * (v[0] + w[1] * z - w[2] * y) + n[1] * (v[1] + w[2] * x - w[0] * z)
            out[k] += sign * (along + n[2] * (v[2] + w[0] * y - w[1] * x))
    return out


class Overlaps(NamedTuple):
    """The overlaps after a motion, compared with those before it.

    was: (m,) m, the deepest gap that the pair of each contact had before, 0 for none. noticed: (m,) which overlaps are noticed.
    is_any: whether any is. too_far: whether any of these is too deep. deepened: the largest of these, in half sizes of the
    smaller body. row, ratio: the deepest of all overlaps, -1 for none, and its depth in half sizes of the smaller body.
    """

    was: Floats
    noticed: Flags
    is_any: bool
    too_far: bool
    deepened: float
    row: int
    ratio: float


@kernel
def look_at_overlaps(after, before, size, movable, still, share):
    """Return the `Overlaps` after a motion.

    Parameters
    ----------
    after : the m contacts at its end
    before : contacts at its start
    size : (n,) m, half sizes
    movable, still : (n,) contacts count if one of their bodies is movable and both are still
    share : the duration of the motion, as a fraction of the time step
    """
    gap, was = after.gap, deepest_of_pairs(before, before.gap, after)
    noticed, any_noticed, too_far, deepened = np.zeros(gap.size, np.bool_), False, False, 0.0
    row, largest = -1, 0.0
    for k in range(gap.size):
        a, b = after.body_a[k], after.body_b[k]
        if not ((movable[a] or movable[b]) and still[a] and still[b]):
            continue
        smaller = min(size[a], size[b])
        ratio = -gap[k] / smaller
        if ratio > largest:
            row, largest = k, ratio
        margin = max(DEEPENING * share * LARGEST_OVERLAP * smaller, FLUCTUATION * -was[k])
        if not (gap[k] < -NOTICED * smaller and gap[k] < was[k] - margin):
            continue
        noticed[k] = any_noticed = True
        too_far |= gap[k] < -LARGEST_OVERLAP * smaller
        deepened = max(deepened, ratio)
    return Overlaps(was, noticed, any_noticed, too_far, deepened, row, largest)


@kernel
def unforeseen(after, noticed, held, motion, of_modes, size):
    """Return (m,) the noticed overlaps that the contacts of the problem do not predict.

    Parameters
    ----------
    after, noticed : the m contacts at the end of the motion, and (m,) which of them are noticed
    held : contacts of the problem
    motion : `Motion`
    of_modes : m/s, the contribution of modes to the normal velocities of `held`
    size : (n,) m, half sizes
    """
    end = held.gap + motion.h * (normal_speed(held, motion.twist, motion.position) + of_modes)
    foreseen, out = deepest_of_pairs(held, end, after), np.zeros(noticed.size, np.bool_)
    for k in range(noticed.size):
        smaller = min(size[after.body_a[k]], size[after.body_b[k]])
        out[k] = noticed[k] and after.gap[k] < foreseen[k] - KEPT_TO * NOTICED * smaller
    return out


@kernel
def between_axles(contacts, twist, h, links, movable, deforms):
    """Return (m,) as `LaterContacts.between_axles` does.

    movable, deforms: (n,) whether impulses move the bodies, and whether they deform by keyframes.
    """
    turns, on_axle = np.zeros(len(twist), np.bool_), np.zeros(len(twist), np.bool_)
    for i in range(len(twist)):
        turns[i] = (twist[i, 3] ** 2 + twist[i, 4] ** 2 + twist[i, 5] ** 2) * h * h > TURNS * TURNS
        on_axle[i] = turns[i] and not movable[i]
    for j in range(len(links)):
        a, b = links[j, 0], links[j, 1]
        is_a_fixed, is_b_fixed = a < 0 or not movable[a], b < 0 or not movable[b]
        if is_b_fixed and not is_a_fixed:
            on_axle[a] = True
        if is_a_fixed and not is_b_fixed:
            on_axle[b] = True
    out = np.zeros(contacts.gap.size, np.bool_)
    for k in range(out.size):
        a, b = contacts.body_a[k], contacts.body_b[k]
        out[k] = on_axle[a] and on_axle[b] and (turns[a] or turns[b]) and not (deforms[a] or deforms[b])
    return out


def twist_between(before: State, after: State, twist: Floats, h: float) -> Floats:
    """Return (n, 6) the constant twists that lead from one state to another in h seconds.

    twist: (n, 6) approximate twists. Their angular velocity is kept for a body that rotates so far that the direction of its
    rotation is ambiguous.
    """
    return twists_between(before.position, after.position, before.orientation, after.orientation, twist, h)


@kernel
def twists_between(place, later_place, turn, later_turn, twist, h):
    """Return as `twist_between` does, from positions (n, 3) and orientations (n, 4)."""
    out, turned = np.empty_like(twist), rotation_vectors(turn, later_turn)
    for i in range(len(twist)):
        far = h * np.sqrt(twist[i, 3] ** 2 + twist[i, 4] ** 2 + twist[i, 5] ** 2) > HALF_A_TURN
        for row in range(3):
            out[i, row] = (later_place[i, row] - place[i, row]) / h
            out[i, 3 + row] = twist[i, 3 + row] if far else turned[i, row] / h
    return out
