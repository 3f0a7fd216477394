# SPDX-License-Identifier: GPL-3.0-or-later
"""Convex hulls as polyhedra with true faces: coplanar triangles are merged, flat and thin point sets are welcome.

Meshes store their vertices in single precision, so four corners of a quad are coplanar to about 1e-7 of the body's size only.
Faces, flatness and duplicates are therefore judged against MERGE_TOLERANCE times that size, in distance and never in angle: the
normal of a sliver is noise, the height of a vertex over the plane of a large face is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import ConvexHull, KDTree

from ..linalg.in_order import dot, length, product
from ..linalg.mat3 import principal_axes_of_points

__all__ = ["MERGE_TOLERANCE", "Hull", "convex_hull", "segment"]

MERGE_TOLERANCE = 1e-6

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Loops = list[list[int]]


@dataclass(frozen=True)
class Hull:
    """A convex polyhedron, polygon, segment or point.

    vertices: (n, 3) m, corners only. face_start (f + 1,), face_vertices and face_edges (k,): face i has the corners
    face_vertices[face_start[i]:face_start[i + 1]], counter-clockwise seen from outside, and the edge in the same place of
    face_edges leads from that corner to the next. planes: (f, 4) outward unit normal and offset, n . x <= offset for every
    vertex. edges: (e, 2) vertices, edge_faces: (e, 2) the faces on the left and on the right of the edge seen from outside.

    A flat polygon has two opposite faces. A segment has no face and one edge; a point has one edge, from itself to itself;
    the edge_faces of both are -1.
    """

    vertices: Array
    face_start: Indices
    face_vertices: Indices
    face_edges: Indices
    planes: Array
    edges: Indices
    edge_faces: Indices

    @property
    def face_count(self) -> int:
        return len(self.planes)

    def face(self, index: int) -> Indices:
        """Corners of a face, counter-clockwise seen from outside."""
        return self.face_vertices[self.face_start[index] : self.face_start[index + 1]]


def convex_hull(vertices: ArrayLike) -> Hull:
    """Convex hull of (n, 3) points in m, n >= 1.

    ValueError if there are none, if they are not three-dimensional or not finite.
    """
    points = np.asarray(vertices, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"vertices must have the shape (n, 3), these have {points.shape}")
    if len(points) == 0:
        raise ValueError("a convex hull needs at least one vertex, there are none")
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        index = int(np.argmin(finite))
        raise ValueError(f"vertices must be finite, vertex {index} is {points[index]}")

    points = np.unique(points, axis=0)
    size = length(np.ptp(points, axis=0))
    tolerance = MERGE_TOLERANCE * size
    centred = points - points.mean(axis=0)
    coordinates = product(centred, principal_axes_of_points(centred).T)
    extents = np.ptp(coordinates, axis=0)
    dimension = int(np.count_nonzero(extents > 2.0 * tolerance))
    if dimension == 0:
        return _polyhedron(points[:1], [])
    if dimension == 1:
        ends = [int(np.argmin(coordinates[:, 0])), int(np.argmax(coordinates[:, 0]))]
        return _polyhedron(points[ends], [])
    if dimension == 2:
        return _polygon(points, coordinates[:, :2] / extents[:2], tolerance)
    return _solid(points, coordinates / extents, tolerance)


def segment(ends: ArrayLike) -> Hull:
    """The segment between two points (2, 3), its vertices in the order given."""
    return _polyhedron(np.asarray(ends, dtype=np.float64).reshape(2, 3), [])


def _polygon(points: Array, plane_coordinates: Array, tolerance: float) -> Hull:
    loop = [int(i) for i in ConvexHull(plane_coordinates).vertices]
    while len(loop) > 3:
        corners = points[loop]
        before = np.roll(corners, 1, axis=0)
        chord = np.roll(corners, -1, axis=0) - before
        height = np.linalg.norm(np.cross(corners - before, chord), axis=1) / np.linalg.norm(chord, axis=1)
        flattest = int(np.argmin(height))
        if height[flattest] > tolerance:
            break
        del loop[flattest]
    return _polyhedron(points[loop], [list(range(len(loop))), list(range(len(loop)))[::-1]])


def _solid(points: Array, scaled: Array, tolerance: float) -> Hull:
    """Hull of points that span space; `scaled` are the same points stretched to a cube, which keeps thin bodies well posed."""
    corners = _distinct(points, np.sort(ConvexHull(scaled).vertices).astype(np.int64), tolerance)
    triangles, neighbours = _oriented_triangles(ConvexHull(scaled[corners]))
    points = points[corners]
    for loosened in (tolerance, 0.1 * tolerance, 0.01 * tolerance):
        loops = _merged_faces(points, triangles, neighbours, loosened)
        if loops is not None and _is_convex_polyhedron(points, loops, 4.0 * loosened):
            return _polyhedron(points, loops)
    return _polyhedron(points, [list(triangle) for triangle in triangles.tolist()])


def _distinct(points: Array, chosen: Indices, tolerance: float) -> Indices:
    """The chosen points without those that lie within the tolerance of an earlier one."""
    kept = np.ones(len(chosen), dtype=bool)
    for first, second in sorted(KDTree(points[chosen]).query_pairs(tolerance)):
        if kept[first]:
            kept[second] = False
    return chosen[kept]


def _oriented_triangles(hull: ConvexHull) -> tuple[Indices, Indices]:
    """(t, 3) triangles counter-clockwise from outside and (t, 3) neighbours across the edge that starts at the same corner."""
    triangles = hull.simplices.astype(np.int64)
    opposite = hull.neighbors.astype(np.int64)
    corners = hull.points[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    seed = int(np.argmax(np.linalg.norm(normals, axis=1)))
    flipped = np.zeros(len(triangles), dtype=bool)
    flipped[seed] = dot(normals[seed], hull.equations[seed, :3]) < 0.0
    # Slivers have no normal to go by, so the orientation spreads over shared edges from the largest triangle.
    seen = {seed}
    stack = [seed]
    while stack:
        current = stack.pop()
        for other in opposite[current].tolist():
            if other in seen:
                continue
            same_way = bool(_directed_edges(triangles[current]) & _directed_edges(triangles[other]))
            flipped[other] = flipped[current] != same_way
            seen.add(other)
            stack.append(other)
    triangles[flipped] = triangles[flipped][:, ::-1]
    opposite[flipped] = opposite[flipped][:, ::-1]
    return triangles, opposite[:, [2, 0, 1]]


def _directed_edges(triangle: Indices) -> set[tuple[int, int]]:
    a, b, c = triangle.tolist()
    return {(a, b), (b, c), (c, a)}


def _merged_faces(points: Array, triangles: Indices, neighbours: Indices, tolerance: float) -> Loops | None:
    """Boundary loops of the groups of coplanar triangles, or None where a group has no single simple boundary."""
    corners = points[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    is_sliver = areas <= tolerance * longest
    group = np.full(len(triangles), -1, dtype=np.int64)
    count = 0
    for seed in np.argsort(-areas, kind="stable").tolist():
        if group[seed] >= 0:
            continue
        group[seed] = count
        if areas[seed] > 0.0:
            normal = normals[seed] / areas[seed]
            coplanar = (np.abs(product(corners - corners[seed, 0], normal)) <= tolerance).all(axis=1)
            coplanar &= is_sliver | (product(normals, normal) > 0.0)
            stack = [seed]
            while stack:
                for other in neighbours[stack.pop()].tolist():
                    if group[other] < 0 and coplanar[other]:
                        group[other] = count
                        stack.append(other)
        count += 1

    following: list[dict[int, int]] = [{} for _ in range(count)]
    for index, triangle in enumerate(triangles.tolist()):
        for slot in range(3):
            if group[neighbours[index, slot]] == group[index]:
                continue
            start = triangle[slot]
            if start in following[group[index]]:
                return None
            following[group[index]][start] = triangle[(slot + 1) % 3]

    loops: Loops = []
    for chain in following:
        if not chain:
            return None
        start = min(chain)
        loop = [start]
        while (corner := chain[loop[-1]]) != start:
            loop.append(corner)
            if len(loop) > len(chain):
                return None
        if len(loop) != len(chain):
            return None
        loops.append(loop)

    # A vertex of only two faces lies within an edge.
    used = np.bincount(np.concatenate(loops), minlength=len(points))
    return [[corner for corner in loop if used[corner] > 2] for loop in loops]


def _is_convex_polyhedron(points: Array, loops: Loops, tolerance: float) -> bool:
    directed = {(a, b) for loop in loops for a, b in zip(loop, loop[1:] + loop[:1], strict=True)}
    edge_count = sum(len(loop) for loop in loops)
    if min(len(loop) for loop in loops) < 3 or len(directed) != edge_count or any((b, a) not in directed for a, b in directed):
        return False
    if len({corner for loop in loops for corner in loop}) - edge_count // 2 + len(loops) != 2:
        return False
    for loop, plane in zip(loops, _planes(points, loops), strict=True):
        corners = points[loop]
        along = np.roll(corners, -1, axis=0) - corners
        outward = np.cross(along, plane[:3])
        outward /= np.linalg.norm(outward, axis=1, keepdims=True)
        outside = (corners[None, :, :] * outward[:, None, :]).sum(axis=2) - (corners * outward).sum(axis=1)[:, None]
        if outside.max() > tolerance or (plane[3] - product(corners, plane[:3])).max() > tolerance:
            return False
    return True


def _planes(points: Array, loops: Loops) -> Array:
    """Outward unit normal of each loop (Newell's sum over its edges) and the offset that supports all points."""
    planes = np.zeros((len(loops), 4))
    for index, loop in enumerate(loops):
        corners = points[loop] - points[loop[0]]
        normal = np.cross(corners, np.roll(corners, -1, axis=0)).sum(axis=0)
        size = length(normal)
        planes[index, :3] = normal / size if size > 0.0 else (0.0, 0.0, 1.0)
        planes[index, 3] = product(points, planes[index, :3]).max()
    return planes


def _polyhedron(points: Array, loops: Loops) -> Hull:
    """The hull with these faces, or the point or segment that the points are when there is no face."""
    if loops:
        used = np.unique(np.concatenate(loops))
        renumbered = np.full(len(points), -1, dtype=np.int64)
        renumbered[used] = np.arange(len(used))
        points = points[used]
        # A canonical order: ids of features must not depend on the rounding inside the hull's construction.
        loops = sorted(_from_smallest([int(renumbered[corner]) for corner in loop]) for loop in loops)
        edges, edge_faces, face_edges = _edges(loops)
    else:
        edges, edge_faces, face_edges = [(0, len(points) - 1)], [(-1, -1)], []
    return Hull(
        vertices=np.ascontiguousarray(points),
        face_start=np.cumsum([0] + [len(loop) for loop in loops]).astype(np.int64),
        face_vertices=np.array([corner for loop in loops for corner in loop], dtype=np.int64),
        face_edges=np.array(face_edges, dtype=np.int64),
        planes=_planes(points, loops),
        edges=np.array(edges, dtype=np.int64),
        edge_faces=np.array(edge_faces, dtype=np.int64),
    )


def _from_smallest(loop: list[int]) -> list[int]:
    start = loop.index(min(loop))
    return loop[start:] + loop[:start]


def _edges(loops: Loops) -> tuple[list[tuple[int, int]], list[tuple[int, int]], list[int]]:
    left: dict[tuple[int, int], int] = {}
    for face, loop in enumerate(loops):
        for a, b in zip(loop, loop[1:] + loop[:1], strict=True):
            left[(a, b)] = face
    edges = sorted((a, b) for a, b in left if a < b)
    number = {edge: index for index, edge in enumerate(edges)}
    edge_faces = [(left[(a, b)], left[(b, a)]) for a, b in edges]
    face_edges = [number[min(a, b), max(a, b)] for loop in loops for a, b in zip(loop, loop[1:] + loop[:1], strict=True)]
    return edges, edge_faces, face_edges
