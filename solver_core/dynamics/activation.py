# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting bodies, and the conditions that wake them: a frame, a value, a zone, or the impulse of an impact.

Frames and values are tested at frames. Zones are tested at the start of each time step, along their path since the previous
step. The positions along the path are so dense that no point of a zone moves farther than the radius of the smallest waiting
body, so a zone cannot skip a body. Impacts are tested after each partial step is solved. The bodies that they wake are then
free, and the partial step is solved again. A body that is hit thus moves in the same step, and may hit other waiting bodies in
it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..collision.contact_set import ContactSet
from ..geometry.compounds import parts
from ..geometry.hulls import convex_hull
from ..geometry.surfaces import Surface, hull_surface, mesh_surface, round_surface
from ..geometry.triangle_distance import is_inside, is_within
from ..linalg.in_order import product
from ..scene.activation import ActivationSpec, ZoneSpec
from ..scene.spec import BodySpec, SceneSpec, ShapeKind, ShapeSpec
from .contact.memory import ContactMemory
from .model.bodies import Bodies, State, to_body_frames
from .motion.rotation import matrices

__all__ = ["Activation", "impulses_of_blows"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST_PLACES = 64  # positions on the path of a zone in a step
ROUND = ShapeKind.CYLINDER, ShapeKind.CONE


class Collider(NamedTuple):
    """The surface of a collider in the frame of its body: triangles (k, 3, 3) m, the margin around them in m, and whether the
    surface is closed."""

    triangles: Floats
    margin: float
    is_solid: bool


class Activation:
    """The waiting bodies among the n bodies of a scene.

    waits: (n,) bodies that still wait. holds: (n,) waiting bodies that are held in place. impulse: (n,) N s, of the impact that
    wakes each body; infinite if no impact does.
    """

    def __init__(self, spec: SceneSpec, bodies: Bodies) -> None:
        self._specs, self._bodies, self._start = spec.activations, bodies, spec.frame_start
        number = {body.name: index for index, body in enumerate(spec.bodies)}
        self._members = [np.array([number[name] for name in one.bodies], dtype=np.int64) for one in self._specs]
        self._carriers = [[number.get(zone.body, -1) for zone in one.zones] for one in self._specs]
        n = len(spec.bodies)
        self.waits, self._may_be_held, self._releases = np.zeros((3, n), np.bool_)
        self._impulse = np.full(n, np.inf)
        for one, members in zip(self._specs, self._members, strict=True):
            self.waits[members] = True
            self._may_be_held[members] |= one.holds
            self._releases[members] |= one.releases
            if one.impulse is not None:
                self._impulse[members] = np.minimum(self._impulse[members], one.impulse)
        asked = {int(body) for one, members in zip(self._specs, self._members, strict=True) if one.zones for body in members}
        self._surfaces = {body: colliders_of(spec.bodies[body]) for body in asked}

    def __len__(self) -> int:
        return len(self._specs)

    @property
    def holds(self) -> Flags:
        """(n,) the waiting bodies that are held in place."""
        return self.waits & self._may_be_held

    @property
    def impulse(self) -> Floats:
        """(n,) N s, of the impact that wakes each body; infinite if no impact does."""
        return np.where(self.waits, self._impulse, np.inf)

    def loosened_by(self, woken: Flags) -> Flags:
        """Return (n,) the bodies whose bonds break, of the bodies (n,) that wake."""
        return woken & self._releases

    def due(self, at: float, substeps: int, state: State, step: float) -> Flags:
        """Return the bodies (n,) that frames, values and zones wake at the start of a time step.

        Parameters
        ----------
        at : time steps since the first frame.
        substeps : time steps of a frame.
        state : at the start of the step.
        step : s, its duration.
        """
        out = np.zeros(len(self.waits), np.bool_)
        if not self.waits.any():
            return out
        frame = at / substeps
        for one, members, carriers in zip(self._specs, self._members, self._carriers, strict=True):
            waiting = members[self.waits[members]]
            if not len(waiting):
                continue
            if is_due(one, math.floor(frame)):
                out[waiting] = True
                continue
            for zone, carrier in zip(one.zones, carriers, strict=True):
                out[waiting] |= self._reached(zone, carrier, waiting[~out[waiting]], (frame, 1.0 / substeps, step), state)[
                    waiting
                ]
        return out

    def _reached(
        self, zone: ZoneSpec, carrier: int, waiting: NDArray[np.int64], time: tuple[float, float, float], state: State
    ) -> Flags:
        """Return (n,) which waiting bodies (k,) a zone reaches during the previous step.

        carrier: the body that moves the zone, -1 for none. time: the frame, and the duration of a step in frames and in s.
        """
        out, radius = np.zeros(len(self.waits), np.bool_), self._bodies.shapes.radius
        if not len(waiting):
            return out
        poses, velocities = to_body_frames(self._bodies, state)
        if carrier < 0:
            before, after = placed(zone, max(time[0] - time[1], 0.0)), placed(zone, time[0])
        else:
            after = carried(zone.vertices, poses[carrier])
            arm = after - poses[carrier, :3]
            before = after - time[2] * (velocities[carrier, :3] + np.cross(velocities[carrier, 3:], arm))
        way = float(np.linalg.norm(after - before, axis=1).max(initial=0.0))
        smallest = float(radius[waiting].min())
        places = MOST_PLACES if smallest * MOST_PLACES <= way else max(math.ceil(way / smallest), 1)
        corners = zone.triangles if len(zone.triangles) else np.repeat(np.arange(len(zone.vertices))[:, None], 3, axis=1)
        for share in np.arange(1, places + 1) / places:
            now = before + share * (after - before)
            low, high = now.min(axis=0), now.max(axis=0)
            triangles = np.ascontiguousarray(now[corners])
            for body in waiting[~out[waiting]].tolist():
                reach = radius[body] + zone.distance
                center = state.position[body]
                if (center + reach >= low).all() and (center - reach <= high).all():
                    out[body] = self._is_reached(zone, triangles, body, poses[body])
        return out

    def _is_reached(self, zone: ZoneSpec, triangles: Floats, body: int, pose: Floats) -> bool:
        """Return whether a zone with triangles (k, 3, 3) in world coordinates reaches a body. pose: (7,) of the body."""
        for collider in self._surfaces[body]:
            own = np.ascontiguousarray(carried(collider.triangles.reshape(-1, 3), pose).reshape(-1, 3, 3))
            if is_within(own, triangles, zone.distance + collider.margin):
                return True
            if zone.is_volume and is_inside(own[0, 0], triangles):
                return True
            if collider.is_solid and is_inside(triangles[0, 0], own):
                return True
        return False

    def wake(self, woken: Flags) -> None:
        """Wake bodies (n,) permanently."""
        self.waits = self.waits & ~woken


def is_due(one: ActivationSpec, frame: int) -> bool:
    """Return whether a frame or a value wakes the bodies of an activation at a frame, counted from the first of the range."""
    if one.frame is not None and frame >= one.frame:
        return True
    return one.values is not None and bool((np.asarray(one.values)[: frame + 1] > 0.0).any())


def placed(zone: ZoneSpec, frame: float) -> Floats:
    """Return (n, 3) m, the vertices of a zone in world coordinates. frame: counted from the first, with a fraction."""
    transforms = np.asarray(zone.transforms, dtype=np.float64)
    last = len(transforms) - 1
    before = min(int(frame), last)
    share = min(frame, float(last)) - before
    here = transforms[before]
    if share > 0.0:
        here = here + share * (transforms[before + 1] - here)
    return product(np.asarray(zone.vertices, dtype=np.float64), np.ascontiguousarray(here[:, :3].T)) + here[:, 3]


def carried(vertices: Floats, pose: Floats) -> Floats:
    """Return (n, 3) points of a body frame in world coordinates. pose: (7,) of the body."""
    rotation = matrices(np.ascontiguousarray(pose[None, 3:]))[0]
    return product(np.ascontiguousarray(vertices, dtype=np.float64), np.ascontiguousarray(rotation.T)) + pose[:3]


def colliders_of(body: BodySpec) -> list[Collider]:
    """Return the surfaces of a body's colliders in its frame."""
    found = []
    for part in parts(body.shape):
        surface = surface_of(part.shape)
        corners = surface.vertices[surface.triangles].reshape(-1, 3)
        placed_corners = product(corners, np.ascontiguousarray(part.rotation.T)) + part.position
        found.append(Collider(placed_corners.reshape(-1, 3, 3), part.shape.margin, surface.solid))
    return found


def surface_of(shape: ShapeSpec) -> Surface:
    """Return the surface of a shape that is not a compound."""
    if shape.kind is ShapeKind.MESH:
        return mesh_surface(shape.vertices, shape.triangles)
    return round_surface(shape) if shape.kind in ROUND else hull_surface(convex_hull(shape.vertices))


def impulses_of_blows(contacts: ContactSet, normal_impulse: Floats, before: ContactMemory, count: int) -> Floats:
    """Return the largest normal impulse of another body on each body, less the impulse of the same pair in the previous step.

    Parameters
    ----------
    contacts : of a step that was solved.
    normal_impulse : (m,) N s.
    before : the contacts of the step before, with the impulses that its forces would give in this step.
    count : of the bodies.

    Returns
    -------
    impulse : (count,) N s.
    """
    keys = contacts.body_a * count + contacts.body_b
    pairs, row = np.unique(keys, return_inverse=True)
    total = np.zeros((len(pairs), 3))
    np.add.at(total, row.reshape(-1), normal_impulse[:, None] * contacts.normal)
    at = np.searchsorted(pairs, before.body_a * count + before.body_b)
    known = at < len(pairs)
    known[known] = pairs[at[known]] == (before.body_a * count + before.body_b)[known]
    np.add.at(total, at[known], -before.impulse[known, :1] * before.normal[known])
    size = np.sqrt((total * total).sum(axis=1))
    out = np.zeros(count)
    for ends in np.divmod(pairs, count):
        np.maximum.at(out, ends, size)
    return out
