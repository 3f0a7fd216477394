# SPDX-License-Identifier: GPL-3.0-or-later
"""Triangle surfaces: the topology of a mesh, a hull, a segment or a point that collisions of features need.

Vertices at one position are merged, degenerate and duplicate triangles are removed, and neighbors are oriented consistently. So
a mesh whose faces were never connected is still one surface. A surface is solid if it is closed, with two triangles at each
edge, and its normals point outward. Any other surface with faces is a sheet with two sides, such as an open mesh, or a closed
mesh with inward normals (a room).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from ..linalg.in_order import dot, dots, length
from ..scene.spec import ShapeKind, ShapeSpec
from .hulls import Hull, convex_hull

__all__ = ["TOLERANCE", "Surface", "hull_surface", "mesh_surface", "round_surface", "winding_numbers"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Relative to the size of the surface: nearer vertices are merged, and flatter edges are not feature edges. Modelers store
# single precision.
TOLERANCE = 1e-6
# Sides of the polygon that replaces a circle if a cylinder or a cone is deep inside a mesh.
SIDES = 64


@dataclass(frozen=True)
class Surface:
    """The topology of one surface.

    vertices: (v, 3) [m]. triangles: (t, 3); a segment is (0, 1, 1) and a point (0, 0, 0). source: (v,) input vertex of each
        vertex.
    triangle_edges: (t, 3) edge that starts at each corner, or -1. edges: (e, 2) vertices.
    beside_start, beside: (e + 1,) and (., 2). Edge i has the rows beside_start[i] to beside_start[i + 1] of `beside`: a
        triangle of the edge, and the corner of the triangle that is not on the edge.
    ring_start, ring: (v + 1,) and (.,), likewise the neighbors of each vertex.
    patch: (t,) connected coplanar triangles have the same number.
    owned: (t,) bit i for vertex i and bit 3 + i for edge i of the triangle. Each vertex and each edge is owned by one triangle.
    volume: inside the surface, negative for inward normals, 0 if it is not closed [m^3]. size: diagonal of the bounds [m].
    """

    vertices: Array
    triangles: Indices
    source: Indices
    triangle_edges: Indices
    edges: Indices
    beside_start: Indices
    beside: Indices
    ring_start: Indices
    ring: Indices
    patch: Indices
    owned: Indices
    volume: float
    size: float

    @property
    def solid(self) -> bool:
        """True if the surface is closed with outward normals."""
        return self.volume > 0.0


def mesh_surface(vertices: Array, triangles: NDArray[np.integer]) -> Surface:
    """Return the surface of a mesh. vertices: (n, 3) [m]. triangles: (t, 3).

    Raises ValueError if no triangle has an area.
    """
    points = np.ascontiguousarray(vertices, dtype=np.float64).reshape(-1, 3)
    corners = np.asarray(triangles, dtype=np.int64).reshape(-1, 3)
    if len(corners) == 0:
        raise ValueError("the mesh has no triangles")
    used = points[np.unique(corners)]
    size = length(np.ptp(used, axis=0))
    if not size > 0.0:
        raise ValueError("all triangles of the mesh have zero area")
    merged, source = _merged_vertices(points, TOLERANCE * size)
    corners = _distinct_triangles(merged[corners])
    a, b, c = (points[source[corners[:, k]]] for k in range(3))
    if not np.linalg.norm(np.cross(b - a, c - a), axis=1).max(initial=0.0) > (TOLERANCE * size) ** 2:
        raise ValueError("all triangles of the mesh have zero area")
    kept, corners = np.unique(corners, return_inverse=True)
    corners = corners.reshape(-1, 3).astype(np.int64)
    source = source[kept]
    volumes = _six_volumes(points[source], corners)
    flips = _triangles_to_reverse(corners, *_neighbours(corners), volumes)
    corners[flips] = corners[flips][:, ::-1]
    volume = float(np.where(flips, -volumes, volumes).sum()) / 6.0 if _is_closed(corners, len(source)) else 0.0
    return _surface(points[source], corners, source, None, volume, size)


def hull_surface(hull: Hull) -> Surface:
    """Return the surface of a convex core: a solid, a sheet for a flat polygon, a segment or a point."""
    size = length(np.ptp(hull.vertices, axis=0))
    source = np.arange(len(hull.vertices))
    if hull.face_count == 0:
        corners = np.array([[0, 0, 0] if len(hull.vertices) == 1 else [0, 1, 1]], dtype=np.int64)
        return _surface(hull.vertices, corners, source, np.zeros(1, dtype=np.int64), 0.0, size)
    is_solid = hull.face_count > 2
    corners, patch = [], []
    for face in range(hull.face_count if is_solid else 1):
        loop = hull.face(face)
        for i in range(1, len(loop) - 1):
            corners.append((loop[0], loop[i], loop[i + 1]))
            patch.append(face)
    triangles = np.array(corners, dtype=np.int64)
    volume = float(_six_volumes(hull.vertices, triangles).sum()) / 6.0 if is_solid else 0.0
    return _surface(hull.vertices, triangles, source, np.array(patch, dtype=np.int64), volume, size)


def round_surface(shape: ShapeSpec) -> Surface:
    """Return the surface of a cylinder or a cone for contacts with meshes: a prism or a pyramid with the base area of the
    disk.
    """
    base, apex = np.asarray(shape.vertices, dtype=np.float64)
    axis = (apex - base) / length(apex - base)
    least = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = least - dot(least, axis) * axis
    first /= length(first)
    # Imported here because validation reads the types of surfaces and must not load the compiler.
    from ..linalg.elementary import sines_and_cosines

    sines, cosines = sines_and_cosines(2.0 * np.pi * np.arange(SIDES) / SIDES)
    # A polygon with corners on a circle has sin(2 pi / n) / (2 pi / n) of the area of the disk.
    step = 2.0 * np.pi / SIDES
    radius = shape.radius / np.sqrt(sines[1] / step)
    ring = radius * (cosines[:, None] * first + sines[:, None] * np.cross(axis, first))
    ends = [base + ring, apex + ring] if shape.kind is ShapeKind.CYLINDER else [base + ring, apex[None]]
    return hull_surface(convex_hull(np.concatenate(ends)))


def winding_numbers(vertices: Array, triangles: NDArray[np.integer], points: Array) -> Array:
    """Return the winding number of a mesh around each point of (m, 3): 1 inside a closed mesh with outward normals, 0 outside
    (m,).

    It is the sum of the solid angles of the triangles (van Oosterom and Strackee 1983) over 4 pi.
    """
    from ..linalg.elementary import arctangents

    total = np.zeros(len(points))
    for row, point in enumerate(points):
        a, b, c = (vertices[triangles[:, k]] - point for k in range(3))
        x, y, z = (np.linalg.norm(corner, axis=1) for corner in (a, b, c))
        volume = dots(a, np.cross(b, c))
        ab, bc, ca = (dots(p, q) for p, q in ((a, b), (b, c), (c, a)))
        total[row] = arctangents(volume, x * y * z + ab * z + bc * x + ca * y).sum() / (2.0 * np.pi)
    return total


def _surface(vertices: Array, corners: Indices, source: Indices, patch: Indices | None, volume: float, size: float) -> Surface:
    n, t = len(vertices), len(corners)
    start, end = corners.ravel(), np.roll(corners, -1, axis=1).ravel()
    real = np.flatnonzero(start != end)
    if t == 1:
        # A segment, as a triangle (0, 1, 1), uses its one edge in both directions.
        real = real[:1] if len(real) == 2 else real
    low, high = np.minimum(start, end)[real], np.maximum(start, end)[real]
    keys, first, edge_of = np.unique(low * n + high, return_index=True, return_inverse=True)
    edge_of = edge_of.reshape(-1).astype(np.int64)
    edges = np.stack([keys // n, keys % n], axis=1)
    triangle_edges = np.full(3 * t, -1, dtype=np.int64)
    triangle_edges[real] = edge_of
    has_faces = t > 1 or len(np.unique(corners)) == 3
    by_edge = np.argsort(edge_of, kind="stable") if has_faces else np.zeros(0, dtype=np.int64)
    slots = real[by_edge]
    beside = np.stack([slots // 3, corners.ravel()[slots - slots % 3 + (slots % 3 + 2) % 3]], axis=1)
    beside_start = np.zeros(len(edges) + 1, dtype=np.int64)
    np.cumsum(np.bincount(edge_of[by_edge], minlength=len(edges)), out=beside_start[1:])
    ends = np.concatenate([edges, edges[:, ::-1]])
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    ring_start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends[:, 0], minlength=n), out=ring_start[1:])
    owned = np.zeros(t, dtype=np.int64)
    np.bitwise_or.at(owned, real[first] // 3, 1 << (3 + real[first] % 3))
    _, first_corner = np.unique(corners.ravel(), return_index=True)
    np.bitwise_or.at(owned, first_corner // 3, 1 << (first_corner % 3))
    if patch is None:
        patch = _patches(vertices, corners, beside_start, beside, TOLERANCE * size)
    return Surface(
        np.ascontiguousarray(vertices),
        np.ascontiguousarray(corners),
        source.astype(np.int64),
        triangle_edges.reshape(-1, 3),
        np.ascontiguousarray(edges),
        beside_start,
        np.ascontiguousarray(beside).astype(np.int64),
        ring_start,
        np.ascontiguousarray(ends[:, 1]),
        patch,
        owned,
        volume,
        size,
    )


def _merged_vertices(points: Array, tolerance: float) -> tuple[Indices, Indices]:
    """Merge points in the same cell of a grid.

    Returns the merged vertex of each point (n,), and the first point of each merged vertex (m,), in the order of the points.
    """
    # The grid is shifted by half a cell, so that round coordinates, which are frequent, are at the centers of cells.
    cells = np.floor(points / (4.0 * tolerance) + 0.5).astype(np.int64)
    _, first, merged = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[merged.reshape(-1)], first[order]


def _distinct_triangles(corners: Indices) -> Indices:
    """Return the triangles with three distinct vertices, without duplicates, in their order."""
    distinct = (corners[:, 0] != corners[:, 1]) & (corners[:, 1] != corners[:, 2]) & (corners[:, 2] != corners[:, 0])
    corners = corners[distinct]
    _, first = np.unique(np.sort(corners, axis=1), axis=0, return_index=True)
    return corners[np.sort(first)]


def _neighbours(corners: Indices) -> tuple[Indices, NDArray[np.bool_]]:
    """Return the triangle across each edge (t, 3), or -1 if there is not exactly one, and whether both use the edge in one
    direction.
    """
    t = len(corners)
    start, end = corners.ravel(), np.roll(corners, -1, axis=1).ravel()
    key = np.minimum(start, end) * (corners.max() + 1) + np.maximum(start, end)
    order = np.argsort(key, kind="stable")
    sorted_key = key[order]
    begin = np.flatnonzero(np.concatenate([[True], sorted_key[1:] != sorted_key[:-1]]))
    pairs = begin[np.diff(np.append(begin, len(key))) == 2]
    one, other = order[pairs], order[pairs + 1]
    across = np.full(3 * t, -1, dtype=np.int64)
    across[one], across[other] = other // 3, one // 3
    alike = np.zeros(3 * t, dtype=np.bool_)
    alike[one] = alike[other] = start[one] == start[other]
    return across.reshape(t, 3), alike.reshape(t, 3)


def _six_volumes(points: Array, corners: Indices) -> Array:
    middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
    a, b, c = (points[corners[:, k]] - middle for k in range(3))
    return dots(a, np.cross(b, c))


def _triangles_to_reverse(corners: Indices, across: Indices, alike: NDArray[np.bool_], volumes: Array) -> NDArray[np.bool_]:
    """Return which triangles (t,) to reverse so that neighbors agree.

    Corrected parts get the orientation with positive volume.
    """
    t = len(corners)
    flips = np.zeros(t, dtype=np.bool_)
    if not alike.any():
        return flips
    one, side = np.nonzero(across >= 0)
    graph = coo_array((np.where(alike[one, side], 2, 1), (one, across[one, side])), shape=(t, t)).tocsr()
    _, part = connected_components(graph, directed=False)
    mended = np.unique(part[np.flatnonzero(alike.any(axis=1))])
    for number in mended:
        members = np.flatnonzero(part == number)
        order, before = breadth_first_order(graph, members[0], directed=False)
        for f in order[1:]:
            flips[f] = flips[before[f]] != (graph[before[f], f] == 2)
        if np.where(flips[members], -volumes[members], volumes[members]).sum() < 0.0:
            flips[members] = ~flips[members]
    return flips


def _is_closed(corners: Indices, n: int) -> bool:
    """Return True if each edge has two triangles that use it in opposite directions."""
    start, end = corners.ravel(), np.roll(corners, -1, axis=1).ravel()
    forward = np.sort(start * n + end)
    return bool((np.diff(forward) > 0).all() and np.array_equal(forward, np.sort(end * n + start)))


def _patches(vertices: Array, corners: Indices, beside_start: Indices, beside: Indices, tolerance: float) -> Indices:
    """Return the flat patch of each triangle (t,): connected triangles that have each other's opposite corners in their
    planes.
    """
    a, b, c = (vertices[corners[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=1)
    normals /= np.where(lengths > 0.0, lengths, 1.0)[:, None]
    first = beside_start[:-1][np.diff(beside_start) == 2]
    (f, off_f), (g, off_g) = beside[first].T, beside[first + 1].T
    over_f = dots(normals[f], vertices[off_g] - a[f])
    over_g = dots(normals[g], vertices[off_f] - a[g])
    flat = (np.abs(over_f) <= tolerance) & (np.abs(over_g) <= tolerance)
    flat &= dots(normals[f], normals[g]) >= 0.99
    graph = coo_array((np.ones(flat.sum(), dtype=np.int8), (f[flat], g[flat])), shape=(len(corners), len(corners)))
    return connected_components(graph.tocsr(), directed=False)[1].astype(np.int64)
