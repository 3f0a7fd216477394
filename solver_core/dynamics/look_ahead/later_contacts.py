# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts that the motion of a step brings about, found where it ends or where bodies first touch on their way.

Contacts are found where bodies are when a step begins. That is not all that holds them: a body that turns comes down on another
corner, one that is hit goes where it was not expected, an edge passes another in another direction. So the motion that was
solved for is followed to its end. What overlaps there that did not when the step began gets the contacts that it has there, and
the step is solved again with these.

A gap phi found at a time t of a motion w, with its normal n, is linear in the velocities v,

    phi(v) = phi + t n . (u(v) - u(w)),      that is, at the step's end,      phi - t n . u(w) + h n . u(v) >= 0,

so it is told as a contact of the step's begin with the gap phi - t u_n(w). It has one point, or angular momentum would not be
kept, but the bodies are not yet where they meet: the lever of the smaller one is right, that of the other one is the longer for
it. Where that gap is negative although the bodies were apart, the direction of least depth is not the one
they came from. Then the direction is the one between them when they first touch.

The other way round, a contact of the begin may have been passed by at the end: teeth of gears turn by more in a step than there
is room on both sides of them, and the tangent of the one that leaves lies across the way of the next. A free body gives way to
that, one on an axle cannot, and all of them stand still. So of two on axles only what is a contact of theirs where the motion
is expected to end is held from the begin; whatever else they run into is found as above.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import NO_CONTACTS, NO_OVERLAP, ContactSet, Overlap, deepest_of_pairs, merged, of_same_pairs
from ...collision.detect import Scene, detect_all
from ...collision.mesh.walks import KeptWalks
from ...collision.time_of_impact import Motion
from ...compile.kernel import kernel
from ...linalg.in_order import dots
from ..model.bodies import Bodies, State
from ..model.held_together import HeldTogether
from ..model.rest_gaps import rest_offsets
from ..motion.deformation import Deformation
from ..motion.rotation import matrices, rotated_by, rotation_vectors
from .impacts import ImpactFinder, Impacts, are_among

__all__ = ["NOTHING_LATER", "Later", "LaterContacts", "twist_between"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Of the smaller half extent: an overlap at a step's end that is more than this, where there was none, is solved for once more,
# and one that is more than LARGEST_OVERLAP after all tries is refused.
NOTICED = 2.5e-4
LARGEST_OVERLAP = 1e-3
# Of LARGEST_OVERLAP: by how much what was deeper already may deepen in a whole step.
DEEPENING = 0.1
# Of an overlap that was there: the depth of what goes wholly through something depends on which way out is the shortest.
FLUCTUATION = 0.1
# Of the depth at the end: what the approach along the normal has to explain, else they came from another side.
EXPLAINED = 0.5
KEPT_TO = 0.5  # of what is noticed: a contact that a motion breaks by less is held already, as well as problems are solved
SURELY = 0.5  # of what is negligible: a twist that is constant comes about as far as the motion that it stands for
TURNS = 2e-2  # rad in a step: what turns by less, on an axle, passes nothing by
HALF_A_TURN = 2.5  # rad, less what free rotation may add to a twist


@dataclass(frozen=True)
class Later:
    """What `LaterContacts.find` finds: contacts in the terms of the step's begin, to be solved for as well; whether bodies come
    too far into each other; how deep at most what was noticed is, in half extents of the smaller body; and the deepest overlap
    at the end.
    """

    contacts: ContactSet
    too_far: bool
    deepened: float
    deepest: Overlap


NOTHING_LATER = Later(NO_CONTACTS, False, 0.0, NO_OVERLAP)


class LaterContacts:
    """Finds the contacts that come about in a step; made once for a scene."""

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
        self._negligible = 0.5 * DEEPENING * LARGEST_OVERLAP * self._size
        self._surely = SURELY * self._negligible

    def may_matter(self, twist: Floats, h: float, share: float) -> bool:
        """Whether a body comes far enough, with twists (n, 6) for h seconds, a share of the time step, to run into anything."""
        return self._impacts.comes_beyond(twist, h, self._surely, share)

    def between_axles(self, contacts: ContactSet, twist: Floats, h: float, links: Ints) -> Flags:
        """(m,) which contacts are of two bodies on axles, of which one turns far in h seconds with twists (n, 6). On an axle is
        what a joint, links (j, 2), holds to the world (-1) or to what no impulse moves, and what turns by itself."""
        turns = dots(twist[:, 3:], twist[:, 3:]) * h * h > TURNS * TURNS
        is_fixed = (links < 0) | ~self._movable[links]
        on_axle = turns & ~self._movable
        on_axle[links[is_fixed.any(axis=1)[:, None] & ~is_fixed]] = True
        on_axle &= ~self._deformation.follows_keys()
        a, b = contacts.body_a, contacts.body_b
        return on_axle[a] & on_axle[b] & (turns[a] | turns[b])

    def passed_by(self, contacts: ContactSet, which: Flags, moved: State, twist: Floats, h: float) -> Flags:
        """(m,) those of the contacts `which` (m,) that are none where bodies have `moved` to with about twists (n, 6) in h
        seconds: the features have turned away from each other, or are out of reach."""
        chosen = np.zeros(len(self._size), np.bool_)
        chosen[contacts.body_a[which]] = chosen[contacts.body_b[which]] = True
        reach = 2.0 * self._rest + np.where(chosen, self._impacts.reach(twist, h), 0.0)
        after = self._contacts(moved.position, matrices(moved.orientation), reach, chosen & self._movable)
        met = set(zip(self._pair(after).tolist(), after.feature.tolist(), strict=True))
        rows, gone = np.flatnonzero(which), which.copy()
        of_pairs = zip(self._pair(contacts)[rows].tolist(), contacts.feature[rows].tolist(), strict=True)
        gone[rows] = [one not in met for one in of_pairs]
        return gone

    def find(
        self, before: ContactSet, held: ContactSet, state: State, motion: Motion, moved: State, met: Impacts, movable: Flags
    ) -> Later:
        """What bodies run into: where they have `moved` to from a state all that overlaps, and by more than it did `before`, in
        the contacts at the motion's begin, unless those that were `held` foresaw it; and those that have `met` on their way.
        Of a pair one is movable (n,)."""
        contacts = self._met(met, before, state, motion) if len(met) else NO_CONTACTS
        reach = self._impacts.reach(motion.twist, motion.h) + self._deformation.reach(motion.h)
        quick = reach > self._negligible * motion.share
        # meshes that deform by keys are not where they will be
        still = ~self._deformation.follows_keys()
        after = self._contacts(moved.position, matrices(moved.orientation), self._rest, quick & still)
        a, b = after.body_a, after.body_b
        kept = (movable[a] | movable[b]) & still[a] & still[b]
        after = after if kept.all() else after.chosen(kept)
        was, noticed, is_any, too_far, deepest = look_at_overlaps(after, before, self._size, motion.share)
        if is_any:
            # what was foreseen was solved for already, and came out so
            smaller = np.minimum(self._size[after.body_a], self._size[after.body_b])
            expected = self._foreseen(held, after, motion) - KEPT_TO * NOTICED * smaller
            new = noticed & (after.gap < expected)
            if new.any():
                told = self._at_begin(after, new, was, before, state, motion)
                contacts = merged(contacts, told) if len(contacts) else told
        return Later(contacts, too_far, deepest, after.deepest(self._size))

    def _at_begin(
        self, after: ContactSet, noticed: Flags, was: Floats, before: ContactSet, state: State, motion: Motion
    ) -> ContactSet:
        """The contacts of the pairs that have one noticed, in the terms of the begin."""
        chosen = of_same_pairs(after, noticed)
        contacts = self.stated_at_begin(after.chosen(chosen), motion.h, motion)
        # how much of the depth at the end the approach along the normal does not explain
        depth, left = was[chosen] - after.gap[chosen], was[chosen] - contacts.gap
        aside = noticed[chosen] & (was[chosen] == 0.0) & (left > (1.0 - EXPLAINED) * depth)
        if not aside.any():
            return contacts
        bodies = np.unique(np.stack([contacts.body_a[aside], contacts.body_b[aside]], axis=1), axis=0)
        met = self._met(self._impacts.first_touches(bodies, motion), before, state, motion)
        met = met.chosen(np.isin(self._pair(met), self._pair(met)[self._broken(met, motion)]))
        # a motion that keeps to the direction in which they first touched has to be told the one that they end in
        aside = np.isin(self._pair(contacts), self._pair(met))
        return merged(contacts.without(aside), met)

    def _foreseen(self, held: ContactSet, after: ContactSet, motion: Motion) -> Floats:
        """(k,) m: the deepest gap of the bodies of contacts (k,) that those held let expect of a motion, 0 where no overlap."""
        end = held.gap + motion.h * self.normal_speed(held, motion)
        return deepest_of_pairs(held, end, after)

    def _broken(self, contacts: ContactSet, motion: Motion) -> Flags:
        """(m,) contacts, in the terms of the begin, that a motion does not keep to; others would not alter it."""
        size = np.minimum(self._size[contacts.body_a], self._size[contacts.body_b])
        end = np.maximum(contacts.gap, 0.0) + motion.h * self.normal_speed(contacts, motion)
        return end < -KEPT_TO * NOTICED * size

    def _met(self, met: Impacts, before: ContactSet, state: State, motion: Motion) -> ContactSet:
        """The contacts of pairs that meet on their way, in the terms of the begin; of those that touch from the begin, and of
        meshes that deform, the ones from `before`, however distant."""
        still = ~self._deformation.follows_keys()
        clear = ~met.touching & still[met.bodies].all(axis=1)
        first = self.contacts_at_impact(met.bodies[clear], met.times[clear], state, motion)
        return merged(before.chosen(are_among(before.ends, met.bodies[~clear], len(self._size))), first)

    def contacts_at_impact(self, bodies: Ints, times: Floats, state: State, motion: Motion) -> ContactSet:
        """The contacts of pairs (k, 2) of bodies at the times (k,) at which they touch, in the terms of the begin."""
        found, left = NO_CONTACTS, np.ones(len(bodies), np.bool_)
        moves = motion.twist.any(axis=1)
        while left.any():
            together, time = placed_together(bodies, times, left, moves)
            left &= ~together
            way = time[:, None] * motion.twist
            position, rotation = motion.position + way[:, :3], matrices(rotated_by(state.orientation, way[:, 3:]))
            chosen = np.zeros(len(moves), np.bool_)
            chosen[bodies[together]] = True
            contacts = self._contacts(position, rotation, 2.0 * self._rest, chosen)
            contacts = contacts.chosen(are_among(contacts.ends, bodies[together], len(moves)))
            at = np.maximum(time[contacts.body_a], time[contacts.body_b])
            found = merged(found, self.stated_at_begin(contacts, at, motion))
        return found

    def contacts_at(self, position: Floats, rotation: Floats, chosen: Flags, beyond: float, movable: Flags) -> ContactSet:
        """Contacts of bodies in other poses (n, 3) m and (n, 3, 3), with gaps of up to two rest offsets and `beyond` m more of
        those chosen (n,); of a pair one is movable (n,)."""
        return self._contacts(position, rotation, np.where(chosen, 2.0 * self._rest + beyond, 0.0), movable)

    def _contacts(self, position: Floats, rotation: Floats, reach: Floats, movable: Flags) -> ContactSet:
        """Contacts of bodies at places (n, 3) and (n, 3, 3), as far as they reach (n,), of which one is movable (n,)."""
        still = np.zeros_like(position)
        scene = Scene(position, rotation, reach, still, self._collections, movable, self._together.excluded)
        contacts = detect_all(self._shapes, scene, whole=self._deformation.bends, walks=self._kept.walks)
        return self._deformation.spanning(contacts, position, rotation, self._rest)

    def stated_at_begin(self, contacts: ContactSet, time: Floats | float, motion: Motion) -> ContactSet:
        """Contacts found after a time (m,) s of a motion, with the points and gaps that stand for them when it begins."""
        times = np.full(len(contacts), time) if isinstance(time, float) else time
        point = points_at_begin(contacts, times, motion.twist, (self._size, self._movable))
        told = contacts.placed(point, contacts.gap)
        return told.placed(point, contacts.gap - times * self.normal_speed(told, motion))

    def normal_speed(self, contacts: ContactSet, motion: Motion) -> Floats:
        """(m,) m/s: n . u of a motion, with what the modes of bodies that bend add."""
        speed = normal_speed(contacts, motion.twist, motion.position)
        where = contacts.body_a, contacts.body_b
        modes = self._deformation.modes_at(*where, contacts.point, motion.position, motion.rotation)
        if modes is None:
            return speed
        return speed + dots(self._deformation.bent_drift(*where, modes), contacts.normal)

    def _pair(self, contacts: ContactSet) -> Ints:
        return contacts.body_a * len(self._size) + contacts.body_b


@kernel
def placed_together(bodies, times, left, moves):
    """(k,) pairs of bodies that can be placed at their times at once, and (n,) s, the times of all bodies, 0 for others.

    They are taken in their order, as long as no body that moves (n,) would have two times. bodies: (k, 2). times: (k,) s. left:
    (k,) those that may be taken; the first of them is.
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
def points_at_begin(contacts, time, twist, bodies):
    """(m, 3) m, the points that stand for contacts found after a time (m,) s of a motion, where it begins.

    A contact keeps the lever that it meets with: turned back, it would be that of another moment. The two bodies disagree about
    where the point was. The larger one, and one that no impulse moves, takes the longer lever.

    twist: (n, 6) of the motion. bodies: (n,) m, half extents, and (n,) whether impulses move them.
    """
    out, (size, movable) = np.empty((contacts.gap.size, 3)), bodies
    for k in range(len(out)):
        a, b = contacts.body_a[k], contacts.body_b[k]
        size_a, size_b = (size[a] if movable[a] else np.inf), (size[b] if movable[b] else np.inf)
        of_a = 1.0 if np.isfinite(size_b) else 0.5
        if np.isfinite(size_a):
            of_a = 1.0 / (1.0 + size_b / size_a)
        for axis in range(3):
            was_a = contacts.point[k, axis] - time[k] * twist[a, axis]
            was_b = contacts.point[k, axis] - time[k] * twist[b, axis]
            out[k, axis] = of_a * was_b + (1.0 - of_a) * was_a
    return out


@kernel
def normal_speed(contacts, twist, position):
    """(m,) m/s: n . u of contacts of bodies at their positions (n, 3) with twists (n, 6)."""
    point, normal, out = contacts.point, contacts.normal, np.zeros(contacts.gap.size)
    for k in range(out.size):
        for body, sign in ((contacts.body_a[k], -1.0), (contacts.body_b[k], 1.0)):
            x, y, z = point[k, 0] - position[body, 0], point[k, 1] - position[body, 1], point[k, 2] - position[body, 2]
            v, w, n = twist[body, :3], twist[body, 3:], normal[k]
            along = n[0] * (v[0] + w[1] * z - w[2] * y) + n[1] * (v[1] + w[2] * x - w[0] * z)
            out[k] += sign * (along + n[2] * (v[2] + w[0] * y - w[1] * x))
    return out


@kernel
def look_at_overlaps(after, before, size, share):
    """Of contacts where a motion ends, and others before it: (m,) the deepest gap that their pairs had, 0 for none; (m,) which
    are noticed; whether any is, and whether any comes too far; and how deep at most what is noticed is, in half extents (n,) of
    the smaller body. share: of the time step, that the motion takes."""
    gap, was = after.gap, deepest_of_pairs(before, before.gap, after)
    noticed, any_noticed, too_far, deepest = np.zeros(gap.size, np.bool_), False, False, 0.0
    for k in range(gap.size):
        smaller = min(size[after.body_a[k]], size[after.body_b[k]])
        margin = max(DEEPENING * share * LARGEST_OVERLAP * smaller, FLUCTUATION * -was[k])
        if not (gap[k] < -NOTICED * smaller and gap[k] < was[k] - margin):
            continue
        noticed[k] = any_noticed = True
        too_far |= gap[k] < -LARGEST_OVERLAP * smaller
        deepest = max(deepest, -gap[k] / smaller)
    return was, noticed, any_noticed, too_far, deepest


def twist_between(before: State, after: State, twist: Floats, h: float) -> Floats:
    """(n, 6) constant twists that lead from one state to another in h seconds.

    twist: (n, 6) about these; it stands where a body turns so far that the way round is not certain.
    """
    return twists_between(before.position, after.position, before.orientation, after.orientation, twist, h)


@kernel
def twists_between(place, later_place, turn, later_turn, twist, h):
    """The same, of positions (n, 3) and orientations (n, 4)."""
    out, turned = np.empty_like(twist), rotation_vectors(turn, later_turn)
    for i in range(len(twist)):
        far = h * np.sqrt(twist[i, 3] ** 2 + twist[i, 4] ** 2 + twist[i, 5] ** 2) > HALF_A_TURN
        for row in range(3):
            out[i, row] = (later_place[i, row] - place[i, row]) / h
            out[i, 3 + row] = twist[i, 3 + row] if far else turned[i, row] / h
    return out
