# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes that deform: where their vertices are at a time, and how fast their surface moves where something touches it.

Vertices are given at whole frames and go smoothly from one to the next, as animated bodies do. To a contact problem such a
surface is like a conveyor belt: its own velocity on top of the body's rigid motion, the drift, is part of the bias.

The surface of a body that bends is where its modes have it, and their velocities are unknowns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...geometry.shapes import ShapeTable
from ...linalg.in_order import product
from ...scene.spec import SceneSpec
from .paths import smooth

__all__ = ["Deformation", "Deforming", "deforming_meshes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Deforming:
    """A mesh that deforms: its body, collider and surface, and vertices (frames, v, 3) of the surface in the body frame."""

    body: int
    collider: int
    surface: int
    vertices: Floats

    def at(self, frame: float) -> Floats:
        """Vertices (v, 3) at a frame counted from the first; those of the last frame after it."""
        return smooth(self.vertices, frame)


def deforming_meshes(spec: SceneSpec, shapes: ShapeTable) -> tuple[Deforming, ...]:
    """The meshes of a validated scene that deform; each has a surface of its own in the table."""
    found = []
    for i, body in enumerate(spec.bodies):
        if body.deformation is None:
            continue
        collider, table = int(shapes.first_collider[i]), shapes.surfaces
        assert table is not None
        surface = int(shapes.surface[collider])
        source = table.source[table.first_vertex[surface] : table.first_vertex[surface + 1]]
        vertices = np.ascontiguousarray(np.asarray(body.deformation, dtype=np.float64)[:, source])
        found.append(Deforming(i, collider, surface, vertices))
    return tuple(found)


class Deformation:
    """Moves the surfaces of a scene's deforming meshes on; made once for a scene."""

    def __init__(self, spec: SceneSpec, shapes: ShapeTable, modes: Mapping[int, Floats]):
        """modes: of the bodies that bend, (n, 3, r) by the vertices of their shapes."""
        self._shapes = shapes
        self._meshes = deforming_meshes(spec, shapes)
        self._bent = None
        self._is_still, self._speed = not self._meshes and not modes, np.zeros(len(shapes.radius))
        self._velocity = np.zeros((0 if self._is_still or shapes.surfaces is None else len(shapes.surfaces.vertices), 3))
        self._modal, self._placed = np.zeros(0), np.zeros(0)
        self._known: tuple[Floats, Floats] | None = None  # points of contacts, the array itself, and what modes do there
        self._is_asked = True  # whether velocities and speeds are those of the surfaces' last motion
        self._widest = 0
        if modes:
            from .bent_surfaces import bent_surfaces

            self._bent = bent_surfaces(shapes, modes)
            self._widest = int(np.diff(self._bent.row).max())
        self._bends = None if self._bent is None else np.isin(np.arange(len(shapes.radius)), self._bent.body)

    def place(self, begin: float, end: float, h: float) -> None:
        """Put the surfaces where they are at the begin, to move on for h seconds up to the end; both in frames."""
        for mesh in self._meshes:
            before = mesh.at(begin)
            velocity = (mesh.at(end) - before) / h
            self._velocity[self._rows(mesh)] = velocity
            self._speed[mesh.body] = np.linalg.norm(velocity, axis=1).max()
            self._put(mesh, before)

    def bend(self, modal: Floats) -> None:
        """Put the surfaces of bodies that bend where a state's `modal` has them, if they are not there."""
        if self._bent is None or np.array_equal(modal, self._placed):
            return
        from .bent_surfaces import put_bent

        shapes = self._shapes
        self._placed = modal.copy()
        put_bent(self._bent, shapes.surfaces, modal, shapes.lower, shapes.upper, shapes.radius, shapes.margin)

    def bend_on(self, velocity: Floats) -> None:
        """Let the surfaces of bodies that bend move on with velocities (k,) of a state's `modal`."""
        self._modal, self._is_asked = velocity, self._bent is None

    def _ask(self) -> None:
        """Find velocities and speeds of surfaces that bend, which not all who move them on ask for."""
        if not self._is_asked:
            from .bent_surfaces import bent_velocities

            table, self._is_asked = self._shapes.surfaces, True
            assert table is not None
            bent_velocities(self._bent, table.first_vertex, self._modal, self._velocity, self._speed)

    @property
    def speed(self) -> Floats:
        """(n,) m/s: of the fastest points of surfaces, within their bodies."""
        self._ask()
        return self._speed

    @property
    def bends(self) -> NDArray[np.bool_]:
        """(n,) which bodies bend."""
        return np.zeros(len(self._speed), np.bool_) if self._bends is None else self._bends

    def bending_speed(self) -> Floats | float:
        """(n,) m/s: of the fastest points of bodies that bend, within them; 0 where nothing bends."""
        return 0.0 if self._bends is None else np.where(self._bends, self.speed, 0.0)

    def _rows(self, mesh: Deforming) -> slice:
        """Of the mesh's vertices, among those of all surfaces."""
        table = self._shapes.surfaces
        assert table is not None
        return slice(int(table.first_vertex[mesh.surface]), int(table.first_vertex[mesh.surface + 1]))

    def _put(self, mesh: Deforming, vertices: Floats) -> None:
        from ...geometry.surface_table import refresh

        shapes, table = self._shapes, self._shapes.surfaces
        assert table is not None
        table.vertices[self._rows(mesh)] = vertices
        refresh(table, mesh.surface)
        shapes.lower[mesh.collider], shapes.upper[mesh.collider] = vertices.min(axis=0), vertices.max(axis=0)
        shapes.radius[mesh.body] = np.linalg.norm(vertices, axis=1).max() + shapes.margin[mesh.collider]

    def reach(self, h: float) -> Floats | float:
        """(n,) m that the surfaces come in h seconds; zero where nothing deforms."""
        return 0.0 if self._is_still else h * self.speed

    def follows_keys(self) -> NDArray[np.bool_]:
        """(n,) whose surfaces move now as their keys have it, whatever touches them."""
        moves = np.zeros(len(self._shapes.radius), dtype=np.bool_)
        for mesh in self._meshes:
            moves[mesh.body] = self._velocity[self._rows(mesh)].any()
        return moves

    def never(self) -> NDArray[np.bool_]:
        """(n,) whose surfaces never deform."""
        deform = self.bends.copy()
        for mesh in self._meshes:
            deform[mesh.body] = True
        return ~deform

    def modes_at(self, body_a: Ints, body_b: Ints, point: Floats, position: Floats, rotation: Floats) -> Floats | None:
        """(2, m, 3, r) world, what the modes of A and of B do to the surface at contacts; None where nothing bends there.

        body_a, body_b (m,), point (m, 3): the contacts. position (n, 3), rotation (n, 3, 3): of the bodies.
        """
        if self._bent is None:
            return None
        if self._known is not None and self._known[0] is point:
            return self._known[1]
        from .bent_surfaces import modes_at

        ends = np.stack([body_a, body_b])
        modes, bends = modes_at(self._bent, self._shapes.surfaces, ends, point, position, rotation, self._widest)
        return modes if bends else None

    def spanning(
        self, contacts: ContactSet, position: Floats, rotation: Floats, rest: Floats, bore: Flags | None = None
    ) -> ContactSet:
        """The contacts without those of bodies that bend which lie and move between two others (`between.py`).

        position (n, 3), rotation (n, 3, 3), rest (n,) m: of the bodies, the last their rest offsets. bore: (m,) which bore in
        the last step, None for none.
        """
        if self._bends is None or not len(contacts):
            return contacts
        modes = self.modes_at(contacts.body_a, contacts.body_b, contacts.point, position, rotation)
        if modes is None:
            return contacts
        from .between import not_between

        ends, places = (contacts.body_a, contacts.body_b), (contacts.point, contacts.normal, contacts.gap)
        bore = np.zeros(len(contacts), np.bool_) if bore is None else bore
        kept = not_between(ends, places, (self._bends, rest), modes, bore)
        chosen = contacts.chosen(kept)
        # a step asks again of these, where they were found
        self._known = chosen.point, np.ascontiguousarray(modes[:, kept])
        return chosen

    def bent_drift(self, body_a: Ints, body_b: Ints, modes: Floats, velocity: Floats | None = None) -> Floats:
        """(m, 3) m/s, world: what modes, of A and B at contacts, (2, m, 3, r), add to the velocity of B against A.

        velocity: (k,) of a state's `modal`, None for those that surfaces move on with.
        """
        from .bent_surfaces import bent_drift

        velocity = self._modal if velocity is None else velocity
        return bent_drift(self._bent, np.stack([body_a, body_b]), modes, velocity, len(self._speed))

    def velocities(self) -> Floats:
        """(v, 3) m/s: of all rows of the vertices of surfaces, within their bodies; (0, 3) where nothing deforms."""
        self._ask()
        return self._velocity

    def drift(self, body_a: Ints, body_b: Ints, point: Floats, position: Floats, rotation: Floats) -> Floats:
        """(m, 3) m/s, world: the velocity at contacts of the surface of B against that of A beyond their rigid motions.

        body_a, body_b (m,), point (m, 3): the contacts. position (n, 3), rotation (n, 3, 3): of the bodies.
        """
        drift = np.zeros((len(point), 3))
        for mesh in self._meshes:
            from ...collision.mesh.queries import surface_velocities

            table, velocity = self._shapes.surfaces, self._velocity[self._rows(mesh)]
            place, axes = position[mesh.body], rotation[mesh.body]
            for bodies, sign in ((body_a, -1.0), (body_b, 1.0)):
                rows = np.flatnonzero(bodies == mesh.body)
                if rows.size:
                    local = np.ascontiguousarray(product(point[rows] - place, axes))
                    drift[rows] += sign * product(surface_velocities(table, mesh.surface, local, velocity), axes.T)
        return drift
