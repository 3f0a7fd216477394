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


@dataclass(frozen=True)
class Bent:
    """A mesh that bends: its body, collider and surface, vertices (v, 3) of the surface at rest in the body frame, modes
    (v, 3, r), which move them, and the rows of these in a state's `modal`."""

    body: int
    collider: int
    surface: int
    vertices: Floats
    modes: Floats
    rows: slice


def bent_meshes(shapes: ShapeTable, modes: Mapping[int, Floats]) -> tuple[Bent, ...]:
    """The meshes of bodies that bend, of which modes (n, 3, r) of all vertices of their shapes are given."""
    found, table, first = [], shapes.surfaces, 0
    for body, own in modes.items():
        assert table is not None
        collider = int(shapes.first_collider[body])
        surface = int(shapes.surface[collider])
        rows = slice(int(table.first_vertex[surface]), int(table.first_vertex[surface + 1]))
        kept = np.ascontiguousarray(own[table.source[rows]])
        of_state = slice(first, first + kept.shape[2])
        found.append(Bent(body, collider, surface, table.vertices[rows].copy(), kept, of_state))
        first = of_state.stop
    return tuple(found)


class Deformation:
    """Moves the surfaces of a scene's deforming meshes on; made once for a scene."""

    def __init__(self, spec: SceneSpec, shapes: ShapeTable, modes: Mapping[int, Floats]):
        """modes: of the bodies that bend, (n, 3, r) by the vertices of their shapes."""
        self._shapes = shapes
        self._meshes = deforming_meshes(spec, shapes)
        self._bent = bent_meshes(shapes, modes)
        self._velocity: dict[int, Floats] = {}
        self._modal, self._placed = np.zeros(0), np.zeros(0)

    def place(self, begin: float, end: float, h: float) -> None:
        """Put the surfaces where they are at the begin, to move on for h seconds up to the end; both in frames."""
        for mesh in self._meshes:
            before = mesh.at(begin)
            self._velocity[mesh.body] = (mesh.at(end) - before) / h
            self._put(mesh, before)

    def bend(self, modal: Floats) -> None:
        """Put the surfaces of bodies that bend where a state's `modal` has them, if they are not there."""
        if not self._bent or np.array_equal(modal, self._placed):
            return
        self._placed = modal.copy()
        for mesh in self._bent:
            self._put(mesh, mesh.vertices + mesh.modes @ modal[mesh.rows])

    def bend_on(self, velocity: Floats) -> None:
        """Let the surfaces of bodies that bend move on with velocities (k,) of a state's `modal`."""
        self._modal = velocity
        for mesh in self._bent:
            self._velocity[mesh.body] = mesh.modes @ velocity[mesh.rows]

    @property
    def bends(self) -> NDArray[np.bool_] | None:
        """(n,) which bodies bend, None where none does."""
        if not self._bent:
            return None
        return np.isin(np.arange(len(self._shapes.radius)), [mesh.body for mesh in self._bent])

    def bending_speed(self) -> Floats | float:
        """(n,) m/s: of the fastest points of bodies that bend, within them; 0 where nothing bends."""
        if not self._bent:
            return 0.0
        speed = np.zeros(len(self._shapes.radius))
        for mesh in self._bent:
            speed[mesh.body] = np.linalg.norm(self._velocity[mesh.body], axis=1).max()
        return speed

    def _put(self, mesh: Deforming | Bent, vertices: Floats) -> None:
        from ...geometry.surface_table import refresh

        shapes, table = self._shapes, self._shapes.surfaces
        assert table is not None
        rows = slice(table.first_vertex[mesh.surface], table.first_vertex[mesh.surface + 1])
        table.vertices[rows] = vertices
        refresh(table, mesh.surface)
        shapes.lower[mesh.collider], shapes.upper[mesh.collider] = vertices.min(axis=0), vertices.max(axis=0)
        shapes.radius[mesh.body] = np.linalg.norm(vertices, axis=1).max() + shapes.margin[mesh.collider]

    def reach(self, h: float) -> Floats | float:
        """(n,) m that the surfaces come in h seconds; zero where nothing deforms."""
        if not self._velocity:
            return 0.0
        reach = np.zeros(len(self._shapes.radius))
        for body, velocity in self._velocity.items():
            reach[body] = h * np.linalg.norm(velocity, axis=1).max()
        return reach

    def follows_keys(self) -> NDArray[np.bool_]:
        """(n,) whose surfaces move now as their keys have it, whatever touches them."""
        moves = np.zeros(len(self._shapes.radius), dtype=np.bool_)
        for mesh in self._meshes:
            moves[mesh.body] = self._velocity[mesh.body].any()
        return moves

    def modes_at(
        self, body_a: NDArray[np.int64], body_b: NDArray[np.int64], point: Floats, position: Floats, rotation: Floats
    ) -> tuple[Floats, Floats] | None:
        """(m, 3, r) world, what the modes of A and of B do to the surface at contacts; None where nothing bends there.

        body_a, body_b (m,), point (m, 3): the contacts. position (n, 3), rotation (n, 3, 3): of the bodies.
        """
        widest = max((mesh.modes.shape[2] for mesh in self._bent), default=0)
        if not np.isin([mesh.body for mesh in self._bent], [body_a, body_b]).any():
            return None
        from ...collision.mesh.queries import surface_weights

        out = np.zeros((len(point), 3, widest)), np.zeros((len(point), 3, widest))
        for mesh in self._bent:
            place, axes = position[mesh.body], rotation[mesh.body]
            for bodies, modes in zip((body_a, body_b), out, strict=True):
                rows = np.flatnonzero(bodies == mesh.body)
                if rows.size:
                    local = np.ascontiguousarray((point[rows] - place) @ axes)
                    corners, weights = surface_weights(self._shapes.surfaces, mesh.surface, local)
                    own = np.einsum("mc,mcir->mir", weights, mesh.modes[corners])
                    modes[rows, :, : own.shape[2]] = np.einsum("ij,mjr->mir", axes, own)
        return out

    def bent_drift(
        self,
        body_a: NDArray[np.int64],
        body_b: NDArray[np.int64],
        modes: tuple[Floats, Floats],
        velocity: Floats | None = None,
    ) -> Floats:
        """(m, 3) m/s, world: what modes, of A and B at contacts, (m, 3, r), add to the velocity of B against A.

        velocity: (k,) of a state's `modal`, None for those that surfaces move on with.
        """
        drift, velocity = np.zeros(modes[0].shape[:2]), self._modal if velocity is None else velocity
        for mesh in self._bent:
            own = velocity[mesh.rows]
            for bodies, of_body, sign in ((body_a, modes[0], -1.0), (body_b, modes[1], 1.0)):
                rows = bodies == mesh.body
                drift[rows] += sign * of_body[rows][:, :, : len(own)] @ own
        return drift

    def velocities(self, count: int) -> Floats:
        """(count, 3) m/s: of all rows of the vertices of surfaces, within their bodies; (0, 3) where nothing deforms."""
        if not self._velocity:
            return np.zeros((0, 3))
        table = self._shapes.surfaces
        assert table is not None
        velocities = np.zeros((count, 3))
        for mesh in (*self._meshes, *self._bent):
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
