# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes that deform: where their vertices are at a time, and how fast their surface moves where something touches it.

Vertices are given at whole frames and go smoothly from one to the next, as animated bodies do. To a contact problem such a
surface is like a conveyor belt: its own velocity on top of the body's rigid motion, the drift, is part of the bias.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...geometry.shapes import ShapeTable
from ...scene.spec import SceneSpec
from .paths import smooth

__all__ = ["Deformation", "Deforming", "deforming_meshes"]

Floats = NDArray[np.float64]


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

    def __init__(self, spec: SceneSpec, shapes: ShapeTable):
        self._shapes = shapes
        self._meshes = deforming_meshes(spec, shapes)
        self._velocity: dict[int, Floats] = {}

    def place(self, begin: float, end: float, h: float) -> None:
        """Put the surfaces where they are at the begin, to move on for h seconds up to the end; both in frames."""
        if not self._meshes:
            return
        from ...geometry.surface_table import refresh

        shapes, table = self._shapes, self._shapes.surfaces
        assert table is not None
        for mesh in self._meshes:
            before = mesh.at(begin)
            self._velocity[mesh.body] = (mesh.at(end) - before) / h
            table.vertices[table.first_vertex[mesh.surface] : table.first_vertex[mesh.surface + 1]] = before
            refresh(table, mesh.surface)
            shapes.lower[mesh.collider], shapes.upper[mesh.collider] = before.min(axis=0), before.max(axis=0)
            shapes.radius[mesh.body] = np.linalg.norm(before, axis=1).max() + shapes.margin[mesh.collider]

    def reach(self, h: float) -> Floats | float:
        """(n,) m that the surfaces come in h seconds; zero where nothing deforms."""
        if not self._meshes:
            return 0.0
        reach = np.zeros(len(self._shapes.radius))
        for mesh in self._meshes:
            reach[mesh.body] = h * np.linalg.norm(self._velocity[mesh.body], axis=1).max()
        return reach

    def velocities(self, count: int) -> Floats:
        """(count, 3) m/s: of all rows of the vertices of surfaces, within their bodies; (0, 3) where nothing deforms."""
        if not self._meshes:
            return np.zeros((0, 3))
        table = self._shapes.surfaces
        assert table is not None
        velocities = np.zeros((count, 3))
        for mesh in self._meshes:
            velocities[table.first_vertex[mesh.surface] : table.first_vertex[mesh.surface + 1]] = self._velocity[mesh.body]
        return velocities

    def drift(
        self, body_a: NDArray[np.int64], body_b: NDArray[np.int64], point: Floats, position: Floats, rotation: Floats
    ) -> Floats:
        """(m, 3) m/s, world: the velocity at contacts of the surface of B against that of A beyond their rigid motions.

        body_a, body_b (m,), point (m, 3): the contacts. position (n, 3), rotation (n, 3, 3): of the bodies.
        """
        drift = np.zeros((len(point), 3))
        for mesh in self._meshes:
            from ...collision.mesh.queries import surface_velocities

            table = self._shapes.surfaces
            place, axes = position[mesh.body], rotation[mesh.body]
            for bodies, sign in ((body_a, -1.0), (body_b, 1.0)):
                rows = np.flatnonzero(bodies == mesh.body)
                if rows.size:
                    local = np.ascontiguousarray((point[rows] - place) @ axes)
                    own = surface_velocities(table, mesh.surface, local, self._velocity[mesh.body])
                    drift[rows] += sign * own @ axes.T
        return drift
