"""Where a step must end early: bodies that the contacts of the step would let overlap, found before they are moved.

Contacts are found where bodies are when a step begins, with gaps as far as they may come in it. That is not enough when a body
turns far, gets its speed only in this step, or passes beside what it was nearest to. So the motion that was solved for is
followed to its end (`collision/time_of_impact.py`), and cut at the first impact. On a mesh other features than those that were
near at the begin may touch at the end, with an overlap that is too small to be an impact; so contacts are found there as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..collision.broad_phase import candidate_pairs
from ..collision.detect import ContactSet, collider_poses, detect, work_for_rounds
from ..collision.swept_triangles import all_triangles, with_slots
from ..collision.time_of_impact import HARMLESS_MOTION, Motion, earliest_impacts, thicknesses
from ..geometry.shapes import MESH
from .bodies import Bodies, State
from .build import rest_offset
from .deformation import Deformation
from .rotation import matrices

__all__ = ["MOST_CUTS", "MOST_PARTS", "Cut", "ImpactFinder", "Impacts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_CUTS = 8  # refused in a step; what still moves too far then is stopped by contacts of full reach
MOST_PARTS = 1024  # into which a step is cut for bodies that touch and turn
OVERLAP = 1e-3  # of the smaller half extent: no mesh may come deeper than that into another body
DEEPENING = 0.1  # of that: by how much what is deeper already may deepen in a whole step


class Cut(NamedTuple):
    """A step refused: the time in s after which it has to end, whether each that follows it in the same time step has to be no
    longer, and (n,) m/s, the fastest that points of each body moved in what was refused."""

    time: float
    repeatedly: bool
    speed: Floats


@dataclass(frozen=True)
class Impacts:
    """Pairs of bodies (k, 2), a < b, that would overlap within the step, the time in s at which each touches, and whether it
    does from the beginning: then it is the time that may pass without harm."""

    bodies: Ints
    times: Floats
    touching: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.times)

    def first(self, speed: Floats) -> Cut:
        """A cut at the earliest; speed: (n,) of the motion that they were found in."""
        first = int(self.times.argmin())
        return Cut(float(self.times[first]), bool(self.touching[first]), speed)

    def among(self, contacts: ContactSet, chosen: NDArray[np.bool_]) -> Impacts:
        """Those of pairs that have one of the chosen (m,) contacts."""
        pairs = set(zip(contacts.body_a[chosen].tolist(), contacts.body_b[chosen].tolist(), strict=True))
        kept = np.array([(a, b) in pairs for a, b in self.bodies.tolist()], dtype=bool)
        return Impacts(self.bodies[kept], self.times[kept], self.touching[kept])


NO_IMPACTS = Impacts(np.zeros((0, 2), np.int64), np.zeros(0), np.zeros(0, np.bool_))


class ImpactFinder:
    """Finds the impacts of a motion; made once for a scene."""

    def __init__(self, bodies: Bodies):
        self._shapes, self._collections = bodies.shapes._replace(surfaces=None), bodies.model.collections
        self._excluded = bodies.excluded
        self._surfaces = bodies.shapes.surfaces
        self._with_surfaces = bodies.shapes
        self._has_mesh = np.zeros(len(bodies.model.size), np.bool_)
        self._has_mesh[bodies.shapes.body[bodies.shapes.kind == MESH]] = True
        self._triangles = None if self._surfaces is None else all_triangles(self._surfaces)
        self._with_slots = self._shapes if self._triangles is None else with_slots(self._shapes)
        self._thickness = thicknesses(bodies.shapes, self._triangles)
        self._rest = np.array([rest_offset(s, s) if np.isfinite(s) else np.inf for s in bodies.model.size])
        thinnest, smallest = self._thickness.min(initial=np.inf), self._rest.min(initial=np.inf)
        # two bodies that both move less than half of what is harmless to any pair are none to look at
        self._slow = 0.5 * max(HARMLESS_MOTION * thinnest, smallest)
        self._radius = np.where(np.isfinite(bodies.shapes.radius), bodies.shapes.radius, 0.0)
        self._extent = bodies.model.size

    def reach(self, twist: Floats, h: float) -> Floats:
        """(n,) m: how far the points of each body may come in h seconds with twists (n, 6)."""
        return h * (np.linalg.norm(twist[:, :3], axis=1) + np.linalg.norm(twist[:, 3:], axis=1) * self._radius)

    def distant(self, contacts: ContactSet, reach: Floats) -> NDArray[np.bool_]:
        """(m,) contacts of bodies that are far apart: farther than the smaller one's half extent, or than a few rest offsets
        when they may come farther than that extent in the step, as their reaches (n,) say.

        The direction from one to the other says little about where they will meet, if they do.
        """
        a, b = contacts.body_a, contacts.body_b
        extent = np.minimum(self._extent[a], self._extent[b])
        fast = reach[a] + reach[b] > extent
        far = contacts.gap > np.where(fast, 4.0 * np.minimum(self._rest[a], self._rest[b]), extent)
        if not far.any():
            return far
        pair = a * len(self._extent) + b
        return ~np.isin(pair, pair[~far])

    def find(
        self,
        position: Floats,
        rotation: Floats,
        twist: Floats,
        deformation: Deformation,
        movable: NDArray[np.bool_],
        h: float,
        share: float,
    ) -> Impacts:
        """The impacts of bodies that move with their twists (n, 6), and deform, for h seconds, a share of the time step; of
        pairs of which one is movable (n,)."""
        reach = self.reach(twist, h) + deformation.reach(h)
        quick = reach > self._slow
        if not quick.any():
            return NO_IMPACTS
        body = self._shapes.body
        places, turns = collider_poses(self._shapes, position, rotation)
        pairs = candidate_pairs(self._shapes, places, turns, reach[body], self._collections[body], quick[body], self._excluded)
        bodies = body[pairs]
        moved = movable[bodies].any(axis=1)
        if not moved.any():
            return NO_IMPACTS
        pairs, bodies = pairs[moved], bodies[moved]
        triangles = self._triangles
        if triangles is not None:
            triangles = triangles._replace(drift=deformation.velocities(len(triangles.vertices)))
        motion = Motion(position, rotation, twist, h, share)
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
        return Impacts(bodies[hit], times[hit], touching[hit])

    def deepened(
        self,
        before: ContactSet,
        moved: State,
        twist: Floats,
        deformation: Deformation,
        movable: NDArray[np.bool_],
        h: float,
        share: float,
    ) -> Impacts:
        """Pairs with a mesh that overlap too far where they have `moved` to in h seconds, a share of the time step, and by more
        than they did `before`, when contacts were found; of these one is movable (n,).

        Meshes that deform are left out: they are not where they will be. The time is that at which the overlap began, by the
        speed at which it has closed.
        """
        reach = self.reach(twist, h)
        allowed = OVERLAP * self._extent
        quick = reach > 0.5 * DEEPENING * share * allowed
        if self._surfaces is None or not quick.any():
            return NO_IMPACTS
        still = np.broadcast_to(deformation.reach(h), reach.shape) == 0.0
        rotation, none = matrices(moved.orientation), np.zeros(len(reach))
        after = detect(self._with_surfaces, moved.position, rotation, none, self._collections, quick & still, self._excluded)
        a, b = after.body_a, after.body_b
        was = deepest_of_pairs(before, a, b)
        least = np.minimum(allowed[a], allowed[b])
        kept = after.gap < np.minimum(-least, was - DEEPENING * share * least)
        kept &= (movable[a] | movable[b]) & (self._has_mesh[a] | self._has_mesh[b]) & still[a] & still[b]
        a, b, after, was = a[kept], b[kept], after.chosen(kept), was[kept]
        velocity = twist[b, :3] + np.cross(twist[b, 3:], after.point - moved.position[b])
        velocity -= twist[a, :3] + np.cross(twist[a, 3:], after.point - moved.position[a])
        closing = -np.einsum("ij,ij->i", velocity, after.normal)
        time = h + after.gap / np.maximum(closing, 1e-300)
        clear = (time > 0.0) & (was == 0.0)
        return Impacts(np.stack([a, b], axis=1), np.where(clear, time, 0.5 * h), ~clear)


def deepest_of_pairs(contacts: ContactSet, a: Ints, b: Ints) -> Floats:
    """(k,) m: the gap of the deepest contact of bodies a (k,) and b (k,), 0 where they do not overlap."""
    count = max(contacts.body_b.max(initial=0), b.max(initial=0)) + 1
    pairs, place = np.unique(contacts.body_a * count + contacts.body_b, return_inverse=True)
    deepest = np.zeros(len(pairs) + 1)
    np.minimum.at(deepest, place, contacts.gap)
    wanted = a * count + b
    at = np.searchsorted(pairs, wanted)
    return np.where(np.append(pairs, -1)[at] == wanted, deepest[at], 0.0)
