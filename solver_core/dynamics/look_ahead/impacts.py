# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a step must end early: bodies that the contacts of the step would let overlap, found before they are moved.

Contacts are found where bodies are when a step begins, with gaps as far as they may come in it. That is not enough when a body
turns far, gets its speed only in this step, or passes beside what it was nearest to. So the motion that was solved for is
followed to its end (`collision/time_of_impact.py`), and cut at the first impact. What overlaps at its end by less than an
impact is left to `later_contacts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.broad_phase import candidate_pairs
from ...collision.contact_set import ContactSet, of_same_pairs
from ...collision.detect import work_for_rounds
from ...collision.mesh.swept_triangles import all_triangles, with_scratch
from ...collision.pair import collider_poses
from ...collision.time_of_impact import HARMLESS_MOTION, OVERLAP_ALLOWED, Motion, earliest_impacts, thicknesses
from ...compile.kernel import FALSE, TRUE, kernel
from ..model.bodies import Bodies
from ..model.held_together import HeldTogether
from ..model.rest_gaps import rest_offsets
from ..motion.deformation import Deformation

__all__ = ["NO_IMPACTS", "Cut", "ImpactFinder", "Impacts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DISTANT_OFFSETS = 4.0  # rest offsets: what comes farther than its half extent is distant beyond that


class Cut(NamedTuple):
    """A step refused: the time in s after which it has to end, whether each that follows it in the same time step has to be no
    longer, and whether that is so that an impact has its turn (`successions.py`), or because it was not solved."""

    time: float
    repeatedly: bool
    is_turn: bool = False
    is_miss: bool = False


@dataclass(frozen=True)
class Impacts:
    """Pairs of bodies (k, 2), a < b, that would overlap within the step, the time in s at which each touches, and whether it
    does from the beginning: then it is the time that may pass without harm."""

    bodies: Ints
    times: Floats
    touching: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.times)

    def first(self) -> Cut:
        """A cut at the earliest."""
        first = int(self.times.argmin())
        return Cut(float(self.times[first]), bool(self.touching[first]))

    def among(self, contacts: ContactSet) -> Impacts:
        """Those of pairs that have one of the contacts."""
        pairs = set(zip(contacts.body_a.tolist(), contacts.body_b.tolist(), strict=True))
        return self.chosen(np.array([(a, b) in pairs for a, b in self.bodies.tolist()], dtype=bool))

    def outside(self, members: NDArray[np.bool_]) -> Impacts:
        """Those of pairs of which neither is a member (n,)."""
        if not len(self.times):
            return self
        return self.chosen(~members[self.bodies].any(axis=1))

    def chosen(self, rows: NDArray[np.bool_]) -> Impacts:
        """Those of some rows (k,)."""
        return Impacts(self.bodies[rows], self.times[rows], self.touching[rows])


NO_IMPACTS = Impacts(np.zeros((0, 2), np.int64), np.zeros(0), np.zeros(0, np.bool_))


class ImpactFinder:
    """Finds the impacts of a motion; made once for a scene."""

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
        # two bodies that both move less than half of what is harmless to any pair are none to look at
        self._slow = 0.5 * max(HARMLESS_MOTION * OVERLAP_ALLOWED * thinnest, smallest)
        self._radius = np.where(np.isfinite(bodies.shapes.radius), bodies.shapes.radius, 0.0)
        self._extent = bodies.model.size

    def turning_reach(self, twist: Floats, h: float) -> Floats:
        """(n,) m: how far the points of each body may come in h seconds beside its centre of mass."""
        return reaches(twist, self._radius, h, FALSE)

    def reach(self, twist: Floats, h: float) -> Floats:
        """(n,) m: how far the points of each body may come in h seconds with twists (n, 6)."""
        return reaches(twist, self._radius, h, TRUE)

    def comes_beyond(self, twist: Floats, h: float, bound: Floats, share: float) -> bool:
        """Whether any body comes farther in h seconds with twists (n, 6), and by deforming, than a share of a bound (n,) m."""
        return comes_beyond(twist, (self._radius, self._deformation.speed, bound), h, share)

    def distant(self, contacts: ContactSet, twist: Floats, h: float) -> NDArray[np.bool_]:
        """(m,) contacts of bodies that are far apart: farther than the smaller one's half extent, or than a few rest offsets
        when they may come farther than that extent against each other in h seconds with twists (n, 6).

        The direction from one to the other says little about where they will meet, if they do.
        """
        bodies = self._radius, self._deformation.speed, self._extent, self._rest
        return that_are_distant(contacts, bodies, twist, h, self._least_rest)

    def find(self, motion: Motion, movable: NDArray[np.bool_]) -> Impacts:
        """The impacts of bodies in motion that also deform; of pairs of which one is movable (n,)."""
        quick = self.reach(motion.twist, motion.h) + self._deformation.reach(motion.h) > self._slow
        if not quick.any():
            return NO_IMPACTS
        pairs = self._pairs(motion, quick)
        pairs = pairs[movable[self._shapes.body[pairs]].any(axis=1)]
        return self._of_pairs(pairs, motion)

    def first_touches(self, bodies: Ints, motion: Motion) -> Impacts:
        """When pairs of bodies (k, 2), a < b, that overlap at the end of a motion began to, however little: one for a pair."""
        count = len(motion.twist)
        chosen = np.zeros(count, np.bool_)
        chosen[bodies] = True
        pairs = self._pairs(motion, chosen)
        pairs = pairs[are_among(self._shapes.body[pairs], bodies, count)]
        found = self._of_pairs(pairs, motion._replace(overlap=0.0))
        # of several colliders of two bodies the first to touch counts
        ends = np.sort(found.bodies, axis=1)
        order = np.lexsort((found.times, ends[:, 1], ends[:, 0]))
        ends = ends[order]
        is_first = np.ones(len(ends), np.bool_)
        is_first[1:] = (ends[1:] != ends[:-1]).any(axis=1)
        first = order[is_first]
        return Impacts(ends[is_first], found.times[first], found.touching[first])

    def _pairs(self, motion: Motion, chosen: NDArray[np.bool_]) -> Ints:
        """(k, 2) colliders that may meet, one of them of a chosen body (n,)."""
        body = self._shapes.body
        places, turns = collider_poses(self._shapes, motion.position, motion.rotation)
        reach = (self.turning_reach(motion.twist, motion.h) + self._deformation.reach(motion.h))[body]
        travel = motion.h * motion.twist[body, :3]
        return candidate_pairs(
            self._shapes, places, turns, reach, self._collections[body], chosen[body], self._together.excluded, travel
        )

    def _of_pairs(self, pairs: Ints, motion: Motion) -> Impacts:
        """The impacts of pairs of colliders (k, 2)."""
        if not len(pairs):
            return NO_IMPACTS
        triangles = self._triangles
        if triangles is not None:
            triangles = triangles._replace(drift=self._deformation.velocities())
        times, touching = earliest_impacts(
            self._with_slots,
            self._surfaces,
            triangles,
            work_for_rounds(self._shapes),
            self._thickness,
            self._rest,
            pairs,
            motion,
        )
        hit = np.isfinite(times)
        bodies = self._shapes.body[pairs]
        return Impacts(bodies[hit], times[hit], touching[hit])


@kernel
def are_among(ends, pairs, count):
    """(k,) whether two bodies (k, 2), in any order, are one of the pairs (p, 2).

    pairs: each with the lower body first. count: the number of all bodies.
    """
    # the pairs of a lower body are a chain
    head, following = np.full(count, -1), np.empty(len(pairs), np.int64)
    for row in range(len(pairs)):
        following[row] = head[pairs[row, 0]]
        head[pairs[row, 0]] = row
    out = np.zeros(len(ends), np.bool_)
    for k in range(len(ends)):
        low, high = min(ends[k, 0], ends[k, 1]), max(ends[k, 0], ends[k, 1])
        row = head[low]
        while row >= 0 and pairs[row, 1] != high:
            row = following[row]
        out[k] = row >= 0
    return out


@kernel
def that_are_distant(contacts, bodies, twist, h, least_rest):
    """(m,) as of `ImpactFinder.distant`. bodies: (n,) m radii, m/s at which they deform, m half extents and rest offsets, of
    which the least is `least_rest`. One that is near has all of its two bodies near."""
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
def comes_beyond(twist, bodies, h, share):
    """As of `ImpactFinder.comes_beyond`. bodies: (n,) m radii, m/s at which they deform, m the bound."""
    radius, speed, bound = bodies
    return (reaches(twist, radius, h, True) + h * speed > share * bound).any()


@kernel
def reaches(twist, radius, h, wholly):
    """(n,) m: how far points within the radius (n,) come in h seconds with twists (n, 6), wholly or by turning alone."""
    out = np.empty(len(radius))
    for i in range(len(radius)):
        out[i] = radius[i] * np.sqrt(twist[i, 3] ** 2 + twist[i, 4] ** 2 + twist[i, 5] ** 2)
        if wholly:
            out[i] += np.sqrt(twist[i, 0] ** 2 + twist[i, 1] ** 2 + twist[i, 2] ** 2)
        out[i] *= h
    return out
