# SPDX-License-Identifier: GPL-3.0-or-later
"""Hollows that a convex hull fills, and the active bodies that would fit into them.

A cup with its hull as collision shape is closed at the opening, so a body that falls into it rests on top. The hollow is found
in the mesh of the hull. The thickness of a body tells whether it would fit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from ..geometry.compounds import rotation_matrix
from ..geometry.surfaces import winding_numbers
from ..scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec
from .surprises import thickness

__all__ = ["room_in_hollow", "rooms_in_hulls"]

Array = NDArray[np.float64]

# Number of cells along each axis of the box around a mesh, with one point per cell. Cells times triangles are about GRID_WORK.
GRID_WORK, COARSEST_GRID, FINEST_GRID = 2_000_000, 4, 7
# Winding number below which a point is outside a mesh. In the opening of a cup without thickness it is 0.5.
OUTSIDE = 0.75
# Volume of a closed mesh, relative to its hull, above which it has no significant hollow.
CONVEX = 0.98
# Distance to the hull, relative to the size of the mesh, below which a point counts as outside.
IN_HULL = 1e-6


def rooms_in_hulls(spec: SceneSpec) -> dict[str, tuple[str, ...]]:
    """Find bodies whose hull fills a hollow into which other bodies would fit.

    spec: a valid scene.

    Returns, by the name of each such body, the names of the active bodies that are thin enough for the hollow. Bodies that
    start in the hull are left out, because they overlap it, and so are bodies that cannot touch it.
    """
    sizes = {body.name: 0.5 * thickness(body.shape) for body in spec.bodies if body.kind is BodyKind.ACTIVE}
    smallest = min((size for size in sizes.values() if size > 0.0), default=np.inf)
    rooms: dict[tuple[bytes, bytes], float] = {}
    found = {}
    for body in spec.bodies:
        shape = body.shape
        if shape.kind is not ShapeKind.HULL or not len(shape.triangles) or 2.0 * smallest >= middle_width(shape):
            continue
        key = shape.vertices.tobytes(), shape.triangles.tobytes()
        if key not in rooms:
            rooms[key] = room_in_hollow(shape)
        others = [other for other in spec.bodies if 0.0 < sizes.get(other.name, 0.0) <= rooms[key]]
        names = tuple(other.name for other in outside(body, others))
        if names:
            found[body.name] = names
    return found


def middle_width(shape: ShapeSpec) -> float:
    """Return the second largest size of a shape along its axes [m]."""
    return float(np.median(np.ptp(shape.vertices, axis=0)))


def outside(body: BodySpec, others: list[BodySpec]) -> Iterator[BodySpec]:
    """Yield the other bodies that may touch a body and whose origin is outside the box around it."""
    low, high = body.shape.vertices.min(axis=0), body.shape.vertices.max(axis=0)
    turn = rotation_matrix(body.orientation)
    for other in others:
        local = turn.T @ (other.position - body.position)
        begins_inside = bool(((local > low) & (local < high)).all())
        if other is not body and other.collections & body.collections and not begins_inside:
            yield other


def room_in_hollow(shape: ShapeSpec) -> float:
    """Return the size of the largest hollow that the hull of a mesh fills.

    shape: of the kind HULL, with the triangles of the mesh.

    Returns the radius of a ball outside the mesh with its center in the hull [m], or 0 for a convex mesh. It is measured on a
    grid, so it is too small by up to a cell.
    """
    vertices, triangles = shape.vertices, shape.triangles
    try:
        hull = ConvexHull(vertices)
    except QhullError:
        return 0.0
    if is_closed(triangles) and signed_volume(vertices, triangles) >= CONVEX * hull.volume:
        return 0.0
    low, size = vertices.min(axis=0), np.ptp(vertices, axis=0)
    cells = int(np.clip(np.cbrt(GRID_WORK / len(triangles)), COARSEST_GRID, FINEST_GRID))
    points = low + (np.indices((cells,) * 3).reshape(3, -1).T + 0.5) / cells * size
    beyond = points @ hull.equations[:, :3].T + hull.equations[:, 3]
    points = points[(beyond < -IN_HULL * float(np.linalg.norm(size))).all(axis=1)]
    points = points[np.abs(winding_numbers(vertices, triangles, points)) < OUTSIDE]
    return max((distance_to_mesh(vertices, triangles, point) for point in points), default=0.0)


def distance_to_mesh(vertices: Array, triangles: NDArray[np.integer], point: Array) -> float:
    """Return the distance from a point (3,) to the nearest triangle of a mesh [m]."""
    corners = [vertices[triangles[:, corner]] - point for corner in range(3)]
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    square = (normal * normal).sum(axis=1)
    is_above = square > 0.0
    nearest = np.inf
    for start, end in zip(corners, (*corners[1:], corners[0]), strict=True):
        edge = end - start
        length = (edge * edge).sum(axis=1)
        along = np.clip(-(start * edge).sum(axis=1) / np.where(length > 0.0, length, 1.0), 0.0, 1.0)
        nearest = min(nearest, float(np.linalg.norm(start + along[:, None] * edge, axis=1).min()))
        is_above &= (np.cross(edge, -start) * normal).sum(axis=1) >= 0.0
    if is_above.any():
        height = np.abs((corners[0] * normal).sum(axis=1)[is_above]) / np.sqrt(square[is_above])
        nearest = min(nearest, float(height.min()))
    return nearest


def is_closed(triangles: NDArray[np.integer]) -> bool:
    """Return True if each edge of a mesh has equally many triangles on both sides."""
    start, end = triangles.astype(np.int64).ravel(), np.roll(triangles, -1, axis=1).astype(np.int64).ravel()
    count = int(triangles.max()) + 1
    return np.array_equal(np.sort(start * count + end), np.sort(end * count + start))


def signed_volume(vertices: Array, triangles: NDArray[np.integer]) -> float:
    """Return the volume inside a closed mesh [m^3]."""
    a, b, c = (vertices[triangles[:, corner]] - vertices.mean(axis=0) for corner in range(3))
    return float((a * np.cross(b, c)).sum() / 6.0)
