# SPDX-License-Identifier: GPL-3.0-or-later
"""Closed meshes with bodies inside at the start: containers without thickness, as in Bullet."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...solver_core.geometry.compounds import parts
from ...solver_core.geometry.surfaces import mesh_surface, winding_numbers
from ...solver_core.scene.spec import BodyKind, BodySpec, SceneWarning, ShapeKind
from ..blender import rotations

__all__ = ["with_rooms"]

Array = NDArray[np.float64]

# Winding number above which a point is inside a closed mesh.
INSIDE = 0.5
# Number of tested points of a body, spread over all of its vertices.
MOST_POINTS = 32


def with_rooms(bodies: Sequence[BodySpec], meshes: Collection[str]) -> tuple[list[BodySpec], list[SceneWarning]]:
    """Return the bodies, with normals of the named meshes pointing inward if an active body starts completely inside.

    meshes: names of bodies of the shape Mesh; active ones are not changed. There is a warning for each container.
    """
    may_be_rooms = {body.name for body in bodies if body.name in meshes and body.kind is not BodyKind.ACTIVE}
    active = [body for body in bodies if body.kind is BodyKind.ACTIVE] if may_be_rooms else []
    points = [points_in_world(body) for body in active]
    result, warnings = [], []
    for body in bodies:
        inside = next(who_is_inside(body, active, points), None) if body.name in may_be_rooms else None
        if inside is None:
            result.append(body)
            continue
        triangles = np.ascontiguousarray(body.shape.triangles[:, ::-1])
        result.append(replace(body, shape=replace(body.shape, kind=ShapeKind.MESH, triangles=triangles)))
        message = f"{inside} starts inside {body.name}, which is therefore a container: a hollow mesh with two sides"
        warnings.append(SceneWarning((body.name, inside), "collision_shape", message))
    return result, warnings


def points_in_world(body: BodySpec) -> Array:
    """Return some of the vertices (m, 3) of all parts of a body; for a round shape, the ends of its axis."""
    of_parts = [part.shape.vertices @ part.rotation.T + part.position for part in parts(body.shape)]
    points = np.concatenate([np.zeros((0, 3)), *of_parts])
    points = points[:: max(1, len(points) // MOST_POINTS)]
    return points @ rotations.matrix_of_quaternion(body.orientation).T + body.position


def who_is_inside(room: BodySpec, bodies: Sequence[BodySpec], points: Sequence[Array]) -> Iterator[str]:
    """Yield the names of the bodies whose points (m, 3) in world axes are all inside the closed mesh of a body with outward
    normals."""
    vertices, triangles = room.shape.vertices, room.shape.triangles
    if not len(triangles):
        return
    turn, low, high = rotations.matrix_of_quaternion(room.orientation), vertices.min(axis=0), vertices.max(axis=0)
    first = np.array([(each[0] if len(each) else np.full(3, np.nan)) for each in points]).reshape(-1, 3)
    local = (first - room.position) @ turn
    volume = None
    # Most bodies are elsewhere, which a test of one point shows.
    for number in np.flatnonzero(((local > low) & (local < high)).all(axis=1)):
        local_points = (points[number] - room.position) @ turn
        if not ((local_points > low) & (local_points < high)).all():
            continue
        volume = mesh_surface(vertices, triangles).volume if volume is None else volume
        if volume > 0.0 and (winding_numbers(vertices, triangles, local_points) > INSIDE).all():
            yield bodies[number].name
