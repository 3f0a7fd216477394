# SPDX-License-Identifier: GPL-3.0-or-later
"""Deforming meshes and the surfaces of flexible bodies: vertex positions at a time, and surface velocities at contacts.

Vertices of deforming meshes are given at whole frames and interpolated smoothly, like the motion of animated bodies. For a
contact problem such a surface is like a conveyor belt: its velocity relative to the rigid motion of the body is part of the
bias.

Modes deform the surface of a flexible body, and modal velocities are unknowns of the contact problem.
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

__all__ = ["Deformation", "DeformingMesh", "deforming_meshes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class DeformingMesh:
    """A mesh that deforms by keyframes.

    body, collider, surface: indices. vertices: (frames, v, 3) m, of the surface in the body frame.
    """

    body: int
    collider: int
    surface: int
    vertices: Floats

    def at(self, frame: float) -> Floats:
        """Return the vertices (v, 3) m at a frame, counted from the first. The shape of the last frame persists after it."""
        return smooth(self.vertices, frame)


def deforming_meshes(spec: SceneSpec, shapes: ShapeTable) -> tuple[DeformingMesh, ...]:
    """Return the deforming meshes of a validated scene. Each has its own surface in the table."""
    found = []
    for i, body in enumerate(spec.bodies):
        if body.deformation is None:
            continue
        collider, table = int(shapes.first_collider[i]), shapes.surfaces
        assert table is not None
        surface = int(shapes.surface[collider])
        source = table.source[table.first_vertex[surface] : table.first_vertex[surface + 1]]
        vertices = np.ascontiguousarray(np.asarray(body.deformation, dtype=np.float64)[:, source])
        found.append(DeformingMesh(i, collider, surface, vertices))
    return tuple(found)


class Deformation:
    """Moves the surfaces of deforming meshes and flexible bodies. One instance serves a scene."""

    def __init__(self, spec: SceneSpec, shapes: ShapeTable, modes: Mapping[int, Floats]):
        """modes: (n, 3, r) 1/sqrt(kg), of the vertices of flexible bodies, by body index."""
        self._shapes = shapes
        self._meshes = deforming_meshes(spec, shapes)
        self._bent = None
        self._is_still, self._speed = not self._meshes and not modes, np.zeros(len(shapes.radius))
        self._velocity = np.zeros((0 if self._is_still or shapes.surfaces is None else len(shapes.surfaces.vertices), 3))
        self._modal, self._placed = np.zeros(0), np.zeros(0)
        # The last points of contacts, identified by their array, and the mode shapes there.
        self._known: tuple[Floats, Floats] | None = None
        self._are_velocities_current = True  # whether `_velocity` and `_speed` belong to the last modal velocities
        self._widest = 0
        if modes:
            from .bent_surfaces import flexible_surfaces

            self._bent = flexible_surfaces(shapes, modes)
            self._widest = int(np.diff(self._bent.row).max())
        self._bends = None if self._bent is None else np.isin(np.arange(len(shapes.radius)), self._bent.body)

    def place(self, begin: float, end: float, h: float) -> None:
        """Place the deforming meshes at the start of a step and set their velocities.

        begin, end: the start and the end of the step, in frames. h: s, the step.
        """
        for mesh in self._meshes:
            before = mesh.at(begin)
            velocity = (mesh.at(end) - before) / h
            self._velocity[self._rows(mesh)] = velocity
            self._speed[mesh.body] = np.linalg.norm(velocity, axis=1).max()
            self._place_mesh(mesh, before)

    def place_modes(self, modal: Floats) -> None:
        """Deform the surfaces of flexible bodies with the modal coordinates of a state, unless they are deformed so already."""
        if self._bent is None or np.array_equal(modal, self._placed):
            return
        from .bent_surfaces import place_surfaces

        shapes = self._shapes
        self._placed = modal.copy()
        place_surfaces(self._bent, shapes.surfaces, modal, shapes.lower, shapes.upper, shapes.radius, shapes.margin)

    def set_modal_velocity(self, velocity: Floats) -> None:
        """Set the modal velocities (k,) with which the surfaces of flexible bodies move."""
        self._modal, self._are_velocities_current = velocity, self._bent is None

    def _update_velocities(self) -> None:
        """Compute the velocities and speeds of flexible surfaces, which not every motion of them needs."""
        if not self._are_velocities_current:
            from .bent_surfaces import vertex_velocities

            table, self._are_velocities_current = self._shapes.surfaces, True
            assert table is not None
            vertex_velocities(self._bent, table.first_vertex, self._modal, self._velocity, self._speed)

    @property
    def speed(self) -> Floats:
        """(n,) m/s, of the fastest point of each deforming surface, relative to the frame of its body."""
        self._update_velocities()
        return self._speed

    @property
    def bends(self) -> NDArray[np.bool_]:
        """(n,) which bodies are flexible."""
        return np.zeros(len(self._speed), np.bool_) if self._bends is None else self._bends

    def bending_speed(self) -> Floats | float:
        """Return (n,) m/s, of the fastest point of each flexible body relative to its frame; 0 without such bodies."""
        return 0.0 if self._bends is None else np.where(self._bends, self.speed, 0.0)

    def _rows(self, mesh: DeformingMesh) -> slice:
        """Return the rows of the vertices of a mesh among those of all surfaces."""
        table = self._shapes.surfaces
        assert table is not None
        return slice(int(table.first_vertex[mesh.surface]), int(table.first_vertex[mesh.surface + 1]))

    def _place_mesh(self, mesh: DeformingMesh, vertices: Floats) -> None:
        """Move the vertices (v, 3) m of a mesh, and update its bounds and the radius of its body."""
        from ...geometry.surface_table import refresh

        shapes, table = self._shapes, self._shapes.surfaces
        assert table is not None
        table.vertices[self._rows(mesh)] = vertices
        refresh(table, mesh.surface)
        shapes.lower[mesh.collider], shapes.upper[mesh.collider] = vertices.min(axis=0), vertices.max(axis=0)
        shapes.radius[mesh.body] = np.linalg.norm(vertices, axis=1).max() + shapes.margin[mesh.collider]

    def reach(self, h: float) -> Floats | float:
        """Return (n,) m, an upper bound on the motion of surfaces in h seconds; zero if nothing deforms."""
        return 0.0 if self._is_still else h * self.speed

    def moves_by_keyframes(self) -> NDArray[np.bool_]:
        """Return (n,) the bodies whose surfaces move by keyframes in this step."""
        moves = np.zeros(len(self._shapes.radius), dtype=np.bool_)
        for mesh in self._meshes:
            moves[mesh.body] = self._velocity[self._rows(mesh)].any()
        return moves

    def is_rigid(self) -> NDArray[np.bool_]:
        """Return (n,) the bodies whose surfaces never deform."""
        deform = self.bends.copy()
        for mesh in self._meshes:
            deform[mesh.body] = True
        return ~deform

    def modes_at(self, body_a: Ints, body_b: Ints, point: Floats, position: Floats, rotation: Floats) -> Floats | None:
        """Return the mode shapes of A and B at contacts.

        Parameters
        ----------
        body_a, body_b, point : (m,), (m,) and (m, 3) m, of the contacts
        position, rotation : (n, 3) m and (n, 3, 3), of the bodies

        Returns
        -------
        (2, m, 3, r) 1/sqrt(kg), world; None if no contact has a flexible body
        """
        if self._bent is None:
            return None
        if self._known is not None and self._known[0] is point:
            return self._known[1]
        from .bent_surfaces import modes_at

        ends = np.stack([body_a, body_b])
        modes, bends = modes_at(self._bent, self._shapes.surfaces, ends, point, position, rotation, self._widest)
        return modes if bends else None

    def without_redundant(
        self, contacts: ContactSet, position: Floats, rotation: Floats, rest: Floats, bore: Flags | None = None
    ) -> ContactSet:
        """Remove redundant contacts of flexible bodies, which lie between two others and move with them (`between.py`).

        Parameters
        ----------
        contacts : m contacts
        position, rotation, rest : (n, 3) m, (n, 3, 3) and (n,) m, of the bodies; `rest` are their rest offsets
        bore : (m,) contacts that carried load in the last step; None for none
        """
        if self._bends is None or not len(contacts):
            return contacts
        modes = self.modes_at(contacts.body_a, contacts.body_b, contacts.point, position, rotation)
        if modes is None:
            return contacts
        from .between import ContactGeometry, nonredundant

        geometry = ContactGeometry(contacts.point, contacts.normal, contacts.gap)
        bore = np.zeros(len(contacts), np.bool_) if bore is None else bore
        kept = nonredundant(contacts.body_a, contacts.body_b, geometry, self._bends, rest, modes, bore)
        chosen = contacts.chosen(kept)
        # A step needs the mode shapes at these contacts again.
        self._known = chosen.point, np.ascontiguousarray(modes[:, kept])
        return chosen

    def modal_surface_velocity(self, body_a: Ints, body_b: Ints, modes: Floats, velocity: Floats | None = None) -> Floats:
        """Return (m, 3) m/s, world, the part of the velocity of B relative to A at contacts that comes from modes.

        Parameters
        ----------
        body_a, body_b : (m,) of the contacts
        modes : (2, m, 3, r) world, the mode shapes at the contacts
        velocity : (k,) modal velocities; None for those of `set_modal_velocity`
        """
        from .bent_surfaces import modal_surface_velocity

        velocity = self._modal if velocity is None else velocity
        return modal_surface_velocity(self._bent, np.stack([body_a, body_b]), modes, velocity, len(self._speed))

    def velocities(self) -> Floats:
        """Return (v, 3) m/s, of the vertices of all surfaces relative to their bodies; (0, 3) if nothing deforms."""
        self._update_velocities()
        return self._velocity

    def surface_velocity(self, body_a: Ints, body_b: Ints, point: Floats, position: Floats, rotation: Floats) -> Floats:
        """Return (m, 3) m/s, world, the part of the velocity of B relative to A at contacts that comes from deforming meshes.

        Parameters
        ----------
        body_a, body_b, point : (m,), (m,) and (m, 3) m, of the contacts
        position, rotation : (n, 3) m and (n, 3, 3), of the bodies
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
