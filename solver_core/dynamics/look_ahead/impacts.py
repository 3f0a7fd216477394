# SPDX-License-Identifier: GPL-3.0-or-later
"""Time of impact of the solved motion: impacts that the contacts of the step do not prevent split the step.

Contacts are detected at the start of a step, with gaps up to the distance that bodies may travel in it. They may be incomplete
if a body rotates far, is accelerated within the step, or passes the body that was closest to it. Therefore the solved motion is
followed to its end (`collision/time_of_impact.py`), and the step is split at the first impact. Smaller overlaps at the end of
the step are handled in `later_contacts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.broad_phase import candidate_pairs
from ...collision.contact_set import ContactSet, chosen_contacts, of_same_pairs
from ...collision.detect import work_for_rounds
from ...collision.mesh.swept_triangles import all_triangles, with_scratch
from ...collision.pair import collider_poses
from ...collision.time_of_impact import HARMLESS_MOTION, OVERLAP_ALLOWED, Motion, earliest_impacts, thicknesses
from ...compile.kernel import FALSE, TRUE, inner_kernel, kernel, leaf_kernel
from ..model.bodies import Bodies
from ..model.held_together import HeldTogether
from ..model.rest_gaps import rest_offsets
from ..motion.deformation import Deformation

__all__ = ["NO_IMPACTS", "Cut", "ImpactFinder", "Impacts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

DISTANT_OFFSETS = 4.0  # rest offsets; beyond this gap, bodies with large relative motion are distant


class Cut(NamedTuple):
    """The reason to reject a step, and the length to which it is shortened.

    time: s, the new length. repeatedly: whether the following partial steps of the same time step may not be longer. is_turn:
    whether an impact gets a partial step of its own (`successions.py`). is_miss: whether the step was unconverged.
    """

    time: float
    repeatedly: bool
    is_turn: bool = False
    is_miss: bool = False


@dataclass(frozen=True)
class Impacts:
    """Pairs of bodies that would overlap within the step.

    bodies: (k, 2), a < b. times: (k,) s, at which each pair touches; for a pair that touches at the start, the time until its
    overlap is too large. touching: (k,) whether the pair touches at the start.
    """

    bodies: Ints
    times: Floats
    touching: Flags

    def __len__(self) -> int:
        return len(self.times)

    def first(self) -> Cut:
        """Return a cut at the earliest impact."""
        first = int(self.times.argmin())
        return Cut(float(self.times[first]), bool(self.touching[first]))

    def among(self, contacts: ContactSet) -> Impacts:
        """Return the impacts of pairs that have a contact."""
        pairs = set(zip(contacts.body_a.tolist(), contacts.body_b.tolist(), strict=True))
        return self.chosen(np.array([(a, b) in pairs for a, b in self.bodies.tolist()], dtype=bool))

    def outside(self, members: Flags) -> Impacts:
        """Return the impacts of pairs of which neither body is in `members` (n,)."""
        if not len(self.times):
            return self
        return self.chosen(~members[self.bodies].any(axis=1))

    def chosen(self, rows: Flags) -> Impacts:
        """Return the chosen rows (k,)."""
        return Impacts(self.bodies[rows], self.times[rows], self.touching[rows])


NO_IMPACTS = Impacts(np.zeros((0, 2), np.int64), np.zeros(0), np.zeros(0, np.bool_))


class ImpactFinder:
    """Finds the impacts of a motion. One instance serves a scene."""

    def __init__(self, bodies: Bodies, together: HeldTogether, deformation: Deformation):
        self._deformation, self._together = deformation, together
        self._shapes, self._collections = bodies.shapes._replace(surfaces=None), bodies.model.collections
        self._surfaces = bodies.shapes.surfaces
        self._triangles = None if self._surfaces is None else all_triangles(self._surfaces)
        self._with_slots = self._shapes if self._triangles is None else with_scratch(self._shapes)
        self._thickness = thicknesses(bodies.shapes, self._triangles)
        self._rest = np.where(np.isfinite(bodies.model.size), rest_offsets(bodies.model.size), np.inf)
        thinnest, smallest = self._thickness.min(initial=np.inf), self._rest.min(initial=np.inf)
        self._least_rest = float(smallest)
        # A pair is skipped if both bodies move less than half of the distance that is harmless for any pair.
        slow = 0.5 * max(HARMLESS_MOTION * OVERLAP_ALLOWED * thinnest, smallest)
        self._slow = np.full(len(self._rest), slow)
        self._radius = np.where(np.isfinite(bodies.shapes.radius), bodies.shapes.radius, 0.0)
        self._extent = bodies.model.size

    def turning_reach(self, twist: Floats, h: float) -> Floats:
        """Return (n,) m, a bound on the motion of points of each body relative to its center of mass in h seconds."""
        return reaches(twist, self._radius, h, FALSE)

    def reach(self, twist: Floats, h: float) -> Floats:
        """Return (n,) m, a bound on the motion of points of each body in h seconds with twists (n, 6)."""
        return reaches(twist, self._radius, h, TRUE)

    def beyond(self, twist: Floats, h: float, bound: Floats, share: float) -> Flags:
        """Return (n,) the bodies that move and deform farther than a fraction of a bound (n,) m.

        twist: (n, 6), constant for h seconds. share: the fraction.
        """
        return that_come_beyond(twist, (self._radius, self._deformation.speed, bound), h, share)

    def comes_beyond(self, twist: Floats, h: float, bound: Floats, share: float) -> bool:
        """Return whether any body moves and deforms farther than a fraction of a bound, with the parameters of `beyond`."""
        return comes_beyond(twist, (self._radius, self._deformation.speed, bound), h, share)

    def distant(self, contacts: ContactSet, twist: Floats, h: float) -> Flags:
        """Return (m,) the contacts of bodies that are far apart.

        Their gap is larger than the half size of the smaller body. If their relative motion in h seconds with twists (n, 6) may
        exceed that half size, a gap of a few rest offsets suffices. The direction between distant bodies says little about
        where they will collide.
        """
        bodies = self._radius, self._deformation.speed, self._extent, self._rest
        return that_are_distant(contacts, bodies, twist, h, self._least_rest)

    def find(self, motion: Motion, movable: Flags) -> Impacts:
        """Return the impacts of moving and deforming bodies, for pairs with a movable body (n,)."""
        quick = self.beyond(motion.twist, motion.h, self._slow, 1.0)
        if not quick.any():
            return NO_IMPACTS
        return self._of_pairs(self._pairs(motion, self._collections, quick, movable), motion)

    def first_touches(self, bodies: Ints, motion: Motion) -> Impacts:
        """Return the time of the first touch of each pair (k, 2), a < b, that touches during a motion."""
        count = len(motion.twist)
        chosen = np.zeros(count, np.bool_)
        chosen[bodies] = True
        pairs = self._pairs(motion, np.where(chosen, self._collections, 0), chosen, chosen)
        pairs = pairs[are_among(self._shapes.body[pairs], bodies, count)]
        found = self._of_pairs(pairs, motion._replace(overlap=0.0))
        return Impacts(*first_of_each_pair(found.bodies, found.times, found.touching, count)) if len(found) else found

    def _pairs(self, motion: Motion, collections: Ints, chosen: Flags, movable: Flags) -> Ints:
        """Return (k, 2) the pairs of colliders that may collide.

        collections: (n,) bit masks of the bodies. chosen, movable: (n,) one collider of a pair is of a chosen body, and one is
        of a movable body.
        """
        bodies = self._radius, self._deformation.speed, collections
        return pairs_that_may_collide(self._shapes, motion, bodies, chosen, movable, self._together.excluded)

    def _of_pairs(self, pairs: Ints, motion: Motion) -> Impacts:
        """Return the impacts of pairs of colliders (k, 2)."""
        if not len(pairs):
            return NO_IMPACTS
        triangles = self._triangles
        if triangles is not None:
            triangles = triangles._replace(drift=self._deformation.velocities())
        tables = self._with_slots, self._surfaces, triangles, work_for_rounds(self._shapes)
        return Impacts(*impacts_of_pairs(*tables, self._thickness, self._rest, pairs, motion))


@kernel
def pairs_that_may_collide(shapes, motion, bodies, chosen, movable, excluded):
    """Return (k, 2) the pairs of colliders that may collide in a motion.

    Parameters
    ----------
    shapes : ShapeTable without surfaces
    motion : `Motion`
    bodies : (n,) radii in m, deformation speeds in m/s, and collections
    chosen, movable : (n,) one collider of a pair is of a chosen body, and one is of a movable body
    excluded : (p, 2) sorted pairs of bodies that do not collide
    """
    body, (radius, speed, collections) = shapes.body, bodies
    poses = collider_poses(shapes, motion.position, motion.rotation)
    reach = (reaches(motion.twist, radius, motion.h, False) + motion.h * speed)[body]
    travel = (motion.h * motion.twist[:, :3])[body]
    groups, moves = collections[body], chosen[body]
    pairs = candidate_pairs(shapes, poses.position, poses.rotation, reach, groups, moves, excluded, travel)
    count = 0
    for row in range(len(pairs)):
        a, b = pairs[row, 0], pairs[row, 1]
        if movable[body[a]] or movable[body[b]]:
            pairs[count, 0], pairs[count, 1] = a, b
            count += 1
    return pairs[:count]


@kernel
def impacts_of_pairs(shapes, surfaces, triangles, round_workspace, thickness, rest, pairs, motion):
    """Return the pairs of colliders that collide, as `Impacts` has them.

    Parameters as of `earliest_impacts`.
    """
    times, touching = earliest_impacts(shapes, surfaces, triangles, round_workspace, thickness, rest, pairs, motion)
    bodies, count = np.empty((len(pairs), 2), np.int64), 0
    for row in range(len(pairs)):
        if np.isfinite(times[row]):
            bodies[count, 0], bodies[count, 1] = shapes.body[pairs[row, 0]], shapes.body[pairs[row, 1]]
            times[count], touching[count] = times[row], touching[row]
            count += 1
    return bodies[:count], times[:count], touching[:count]


@kernel
def first_of_each_pair(bodies, times, touching, count):
    """Return the first of the impacts of each pair of bodies, as `Impacts` has them. Two bodies may have several colliders.

    bodies: (k, 2), in any order. times: (k,) s. touching: (k,). count: the number of all bodies.
    """
    pair = np.empty(len(bodies), np.int64)
    for row in range(len(bodies)):
        pair[row] = min(bodies[row, 0], bodies[row, 1]) * count + max(bodies[row, 0], bodies[row, 1])
    order, last = np.argsort(pair, kind="mergesort"), -1
    first = np.empty(len(bodies), np.int64)
    for row in order:
        if last < 0 or pair[first[last]] != pair[row]:
            last += 1
            first[last] = row
        elif times[row] < times[first[last]]:
            first[last] = row
    first = first[: last + 1]
    ends = np.empty((len(first), 2), np.int64)
    for k in range(len(first)):
        ends[k, 0], ends[k, 1] = pair[first[k]] // count, pair[first[k]] % count
    return ends, times[first], touching[first]


class PairLists(NamedTuple):
    """Pairs (p, 2) of n bodies, each with the lower body first, as linked lists of the pairs with the same lower body.

    first: (n,) the first row of each list, -1 for none. following: (p,) the row after each row, -1 for none.
    """

    pairs: Ints
    first: Ints
    following: Ints


@inner_kernel
def pair_lists(pairs, count):
    """Return the `PairLists` of pairs (p, 2) of so many bodies."""
    first, following = np.full(count, -1), np.empty(len(pairs), np.int64)
    for row in range(len(pairs)):
        following[row] = first[pairs[row, 0]]
        first[pairs[row, 0]] = row
    return PairLists(pairs, first, following)


@leaf_kernel
def is_among(lists, a, b):
    """Return whether two bodies, in any order, are one of the pairs of `PairLists`."""
    high, row = max(a, b), lists.first[min(a, b)]
    while row >= 0 and lists.pairs[row, 1] != high:
        row = lists.following[row]
    return row >= 0


@kernel
def are_among(ends, pairs, count):
    """Return (k,) whether two bodies (k, 2), in any order, are one of the pairs (p, 2).

    pairs: each with the lower body first. count: the number of all bodies.
    """
    lists, out = pair_lists(pairs, count), np.empty(len(ends), np.bool_)
    for k in range(len(ends)):
        out[k] = is_among(lists, ends[k, 0], ends[k, 1])
    return out


@kernel
def of_pairs(contacts, pairs, count):
    """Return the contacts of pairs of bodies (p, 2), each with the lower body first. count: the number of all bodies."""
    lists, chosen = pair_lists(pairs, count), np.empty(contacts.gap.size, np.bool_)
    for k in range(chosen.size):
        chosen[k] = is_among(lists, contacts.body_a[k], contacts.body_b[k])
    return chosen_contacts(contacts, chosen)


@kernel
def that_are_distant(contacts, bodies, twist, h, least_rest):
    """Return (m,) as `ImpactFinder.distant` does.

    bodies: (n,) radii in m, deformation speeds in m/s, half sizes in m, and rest offsets in m, of which `least_rest` is the
    smallest. If one contact of a pair is near, all its contacts are near.
    """
    gap, (radius, speed, extent, rest) = contacts.gap, bodies
    if not (gap > DISTANT_OFFSETS * least_rest).any():
        return np.zeros(gap.size, np.bool_)
    turning = reaches(twist, radius, h, False) + h * speed
    near, is_any = np.empty(gap.size, np.bool_), False
    for k in range(gap.size):
        a, b = contacts.body_a[k], contacts.body_b[k]
        x, y, z = twist[b, 0] - twist[a, 0], twist[b, 1] - twist[a, 1], twist[b, 2] - twist[a, 2]
        size = min(extent[a], extent[b])
        is_fast = turning[a] + turning[b] + h * np.sqrt(x * x + y * y + z * z) > size
        near[k] = gap[k] <= (DISTANT_OFFSETS * min(rest[a], rest[b]) if is_fast else size)
        is_any |= not near[k]
    return ~of_same_pairs(contacts, near) if is_any else ~near


@kernel
def that_come_beyond(twist, bodies, h, share):
    """Return (n,) as `ImpactFinder.beyond` does. bodies: (n,) radii in m, deformation speeds in m/s, and bounds in m."""
    radius, speed, bound = bodies
    return reaches(twist, radius, h, True) + h * speed > share * bound


@kernel
def comes_beyond(twist, bodies, h, share):
    """Return as `ImpactFinder.comes_beyond` does. Parameters as of `that_come_beyond`."""
    return that_come_beyond(twist, bodies, h, share).any()


@kernel
def reaches(twist, radius, h, wholly):
    """Return (n,) m, a bound on the motion of points within the radius (n,) in h seconds with twists (n, 6).

    wholly: whether translation counts as well as rotation.
    """
    out = np.empty(len(radius))
    for i in range(len(radius)):
        out[i] = radius[i] * np.sqrt(twist[i, 3] ** 2 + twist[i, 4] ** 2 + twist[i, 5] ** 2)
        if wholly:
            out[i] += np.sqrt(twist[i, 0] ** 2 + twist[i, 1] ** 2 + twist[i, 2] ** 2)
        out[i] *= h
    return out
