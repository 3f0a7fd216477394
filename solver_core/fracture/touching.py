# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the flat faces of bodies touch: the cross sections of bonds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Faces", "Section", "total_area", "touching_sections"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Cosine of the angle between the planes of two faces that touch: 1 degree.
OPPOSITE = 0.99985
# Of the area of the smaller face: a smaller overlap is rounding.
LEAST_OVERLAP = 1e-6
# Relative difference of the two second moments of a section, below which they are taken as equal. Vertices in single precision
# make 1e-7 of it for a square. A larger value is a larger error in the loads of bonds.
EQUAL_MOMENTS = 1e-3
# Relative to the longest side: a shorter side of a section is rounding.
SHORTEST_SIDE = 1e-6


@dataclass(frozen=True)
class Faces:
    """The surface of a body in the world. triangles: (t, 3, 3) m. normals: (t, 3) outwards, of length 1."""

    triangles: Array
    normals: Array

    @staticmethod
    def of(vertices: Array, triangles: Indices) -> Faces:
        """The surface of a mesh: vertices (n, 3) m, triangles (t, 3); those without area are left out."""
        corners = vertices[triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        length = np.linalg.norm(normals, axis=1)
        kept = length > 0.0
        return Faces(corners[kept], normals[kept] / length[kept, None])


@dataclass(frozen=True)
class Section:
    """The area that two bodies share in a plane.

    a, b: numbers of the bodies. place: (3,) m, the centroid. axes: (3, 3) by rows, the principal axes X and Y, and the normal Z
    from A to B. area: m2. second: (2,) m4, second moments of area about X and Y. reach: (3,) m, the largest distances from the
    centroid along X, along Y, and in all.
    """

    a: int
    b: int
    place: Array
    axes: Array
    area: float
    second: Array
    reach: Array


def touching_sections(bodies: Sequence[Faces], tolerance: float) -> list[Section]:
    """Find where bodies touch.

    Faces touch where their planes are within one degree and `tolerance` m of each other, with opposite normals. Bodies that
    touch in several planes have a section for each.
    """
    boxes = np.array([[faces.triangles.min(axis=(0, 1)), faces.triangles.max(axis=(0, 1))] for faces in bodies])
    sections = []
    for a in range(len(bodies) - 1):
        near = (boxes[a, 0] - tolerance <= boxes[a + 1 :, 1]) & (boxes[a, 1] + tolerance >= boxes[a + 1 :, 0])
        for b in np.flatnonzero(near.all(axis=1)) + a + 1:
            low, high = boxes[b, 0] - tolerance, boxes[b, 1] + tolerance
            sections += sections_of_pair((a, int(b)), within_box(bodies[a], low, high), bodies[b], tolerance)
    return sections


def within_box(faces: Faces, low: Array, high: Array) -> Faces:
    """The triangles whose bounding boxes meet a box."""
    kept = ((faces.triangles.min(axis=1) <= high) & (faces.triangles.max(axis=1) >= low)).all(axis=1)
    return Faces(faces.triangles[kept], faces.normals[kept])


def sections_of_pair(pair: tuple[int, int], a: Faces, b: Faces, tolerance: float) -> list[Section]:
    """The sections of two bodies."""
    first, second = np.nonzero(a.normals @ b.normals.T <= -OPPOSITE)
    if not len(first):
        return []
    apart = np.einsum("kij,kj->ki", b.triangles[second] - a.triangles[first, :1], a.normals[first])
    close = np.abs(apart).min(axis=1) <= tolerance
    first, second = first[close], second[close]
    found = []
    while len(first):
        normal, origin = a.normals[first[0]], a.triangles[first[0], 0]
        same = (a.normals[first] @ normal >= OPPOSITE) & (
            np.abs((a.triangles[first] - origin) @ normal).min(axis=1) <= 2.0 * tolerance
        )
        section = section_of(pair, a.triangles[first[same]], b.triangles[second[same]], normal)
        if section is not None:
            found.append(section)
        first, second = first[~same], second[~same]
    return found


def section_of(pair: tuple[int, int], a: Array, b: Array, normal: Array) -> Section | None:
    """The section of pairs of triangles (k, 3, 3) in one plane, or None where they do not overlap."""
    x = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    x /= np.linalg.norm(x)
    plane = np.stack([x, np.cross(normal, x)])
    height = float(np.mean([a @ normal, b @ normal]))
    polygons = clipped(a @ plane.T, (b @ plane.T)[:, ::-1])
    base, p, q = polygons[:, :1], polygons[:, 1:-1] - polygons[:, :1], polygons[:, 2:] - polygons[:, :1]
    areas = 0.5 * (p[..., 0] * q[..., 1] - p[..., 1] * q[..., 0])
    area, smaller = float(areas.sum()), min(total_area(a), total_area(b))
    if area <= LEAST_OVERLAP * smaller:
        return None
    corners = np.stack([np.broadcast_to(base, p.shape), p + base, q + base], axis=2)
    middle = np.einsum("kf,kfi->i", areas, corners.mean(axis=2)) / area
    from_middle = corners - middle
    total = from_middle.sum(axis=2)
    # exact for triangles: A / 12 (sum of c c^T over the corners + s s^T with their sum s)
    square = np.einsum("kf,kfci,kfcj->ij", areas, from_middle, from_middle) + np.einsum("kf,kfi,kfj->ij", areas, total, total)
    outline = from_middle[areas > 0.0].reshape(-1, 2)
    values, turn = principal_axes_of_section(square / 12.0, outline)
    local = outline @ turn
    reach = np.array([*np.abs(local).max(axis=0), np.linalg.norm(local, axis=1).max()])
    axes = np.stack([*(turn.T @ plane), normal])
    # about X counts the extent along Y, and the other way round
    return Section(*pair, middle @ plane + height * normal, axes, area, values[::-1].copy(), reach)


def principal_axes_of_section(square: Array, corners: Array) -> tuple[Array, Array]:
    """The second moments of a section and its principal axes.

    All axes are principal where the second moments are equal, as those of a square are. Rounding would choose some, and on the
    diagonals of a square a bond bears half of what it bears along the sides. The axes are then along the sides of the smallest
    rectangle around the section.

    Parameters
    ----------
    square : (2, 2) m4, the integral of x x^T over the section
    corners : (n, 2) m, from the centroid, of parts of the section

    Returns
    -------
    values : (2,) m4, rising
    axes : (2, 2) unit vectors as columns, right-handed
    """
    values, axes = np.linalg.eigh(square)
    if values[1] - values[0] <= EQUAL_MOMENTS * values[1]:
        return values, sides_of_rectangle(corners)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    return values, axes


def sides_of_rectangle(points: Array) -> Array:
    """Return the directions of the sides of the smallest rectangle around points, as columns (2, 2), right-handed.

    Parameters: points (n, 2), not all in a line.

    One of its sides lies on a side of the convex hull (Freeman and Shapira 1975).
    """
    # registering the add-on loads no scipy
    from scipy.spatial import ConvexHull

    hull = points[ConvexHull(points).vertices]
    sides = np.roll(hull, -1, axis=0) - hull
    lengths = np.linalg.norm(sides, axis=1)
    is_side = lengths > SHORTEST_SIDE * lengths.max()
    along = sides[is_side] / lengths[is_side, None]
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    areas = np.ptp(hull @ along.T, axis=0) * np.ptp(hull @ across.T, axis=0)
    best = int(np.argmin(areas))
    return np.stack([along[best], across[best]], axis=1)


def total_area(triangles: Array) -> float:
    """The sum of the areas of triangles (k, 3, 3), m2."""
    edges = triangles[:, 1:] - triangles[:, :1]
    return float(0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1).sum())


def clipped(polygons: Array, triangles: Array) -> Array:
    """The intersections of convex polygons (k, m, 2) with triangles (k, 3, 2), all counterclockwise (Sutherland and Hodgman
    1974). Returns (k, m + 3, 2); a polygon with fewer corners repeats its first one."""
    count = np.full(len(polygons), polygons.shape[1])
    for side in range(3):
        begin, end = triangles[:, side], triangles[:, (side + 1) % 3]
        m = polygons.shape[1]
        place = np.arange(m)
        is_corner = place < count[:, None]
        following = np.where(place + 1 < count[:, None], place + 1, 0)
        along = end - begin
        relative = polygons - begin[:, None]
        inside = along[:, None, 0] * relative[..., 1] - along[:, None, 1] * relative[..., 0]
        inside_next = np.take_along_axis(inside, following, axis=1)
        after = np.take_along_axis(polygons, following[..., None], axis=1)
        crosses = is_corner & ((inside >= 0.0) != (inside_next >= 0.0))
        share = np.divide(inside, inside - inside_next, out=np.zeros_like(inside), where=crosses)
        points = np.stack([polygons, polygons + share[..., None] * (after - polygons)], axis=2).reshape(len(polygons), 2 * m, 2)
        kept = np.stack([is_corner & (inside >= 0.0), crosses], axis=2).reshape(len(polygons), 2 * m)
        order = np.argsort(~kept, axis=1, kind="stable")[:, : m + 1]
        count = np.minimum(kept.sum(axis=1), m + 1)
        points = np.take_along_axis(points, order[..., None], axis=1)
        polygons = np.where((np.arange(m + 1) < count[:, None])[..., None], points, points[:, :1])
    return np.where(count[:, None, None] > 0, polygons, 0.0)
