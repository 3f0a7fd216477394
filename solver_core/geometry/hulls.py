# SPDX-License-Identifier: GPL-3.0-or-later
"""Convex hulls as polyhedra with true faces: coplanar triangles are merged, flat and thin point sets are welcome.

Meshes store their vertices in single precision, so four corners of a quad are coplanar to about 1e-7 of the body's size only.
Faces, flatness and duplicates are therefore judged against MERGE_TOLERANCE times that size, in distance and never in angle: the
normal of a sliver is noise, the height of a vertex over the plane of a large face is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order
from scipy.spatial import ConvexHull, KDTree

from ..linalg.in_order import dot, dots, length, product

__all__ = ["MERGE_TOLERANCE", "Hull", "convex_hull", "segment"]

MERGE_TOLERANCE = 1e-6

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Loops = list[list[int]]

# Faces times points up to which the height of every point over every face is computed.
MOST_HEIGHTS = 2**26
# Corners of a face up to which each is compared with each edge.
MOST_COMPARED = 256


@dataclass(frozen=True)
class Faces:
    """Polygons as one row of corners: face i has corners[start[i]:start[i + 1]], counter-clockwise seen from outside."""

    start: Indices
    corners: Indices

    @classmethod
    def of_loops(cls, loops: Loops) -> Faces:
        """Faces of lists of corners."""
        start = np.cumsum([0, *map(len, loops)], dtype=np.int64)
        return cls(start, np.fromiter(chain.from_iterable(loops), dtype=np.int64, count=int(start[-1])))

    @classmethod
    def of_triangles(cls, triangles: Indices) -> Faces:
        """Faces of triangles (t, 3)."""
        return cls(np.arange(0, triangles.size + 1, 3, dtype=np.int64), triangles.ravel())

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def lengths(self) -> Indices:
        """How many corners each face has."""
        return np.diff(self.start)

    @property
    def following(self) -> Indices:
        """The corner after each corner, round its face."""
        after = np.arange(1, len(self.corners) + 1)
        after[self.start[1:] - 1] = self.start[:-1]
        return self.corners[after]

    def by_length(self) -> Iterator[tuple[Indices, Indices]]:
        """Faces of equal length together: their numbers (m,), and the places (m, count) of their corners in the row."""
        lengths = self.lengths
        for count in np.unique(lengths).tolist():
            numbers = np.flatnonzero(lengths == count)
            yield numbers, self.start[numbers, None] + np.arange(count)

    def canonical(self) -> Faces:
        """The same faces, each from its smallest corner on, sorted by their corners."""
        corners = np.empty_like(self.corners)
        for _, places in self.by_length():
            rows = self.corners[places]
            turn = (rows.argmin(axis=1)[:, None] + np.arange(rows.shape[1])) % rows.shape[1]
            corners[places] = np.take_along_axis(rows, turn, axis=1)
        # no two faces have their first two corners in common, but slivers whose edges are used twice
        order = np.lexsort([corners[self.start[:-1] + k] for k in (2, 1, 0)])
        lengths = self.lengths[order]
        start = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.start[order] - start[:-1], lengths) + np.arange(len(corners))
        return Faces(start, corners[places])


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
        """How many faces it has."""
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
    coordinates = product(centred, _principal_axes(centred).T)
    extents = np.ptp(coordinates, axis=0)
    dimension = int(np.count_nonzero(extents > 2.0 * tolerance))
    if dimension == 0:
        return _without_faces(points[:1])
    if dimension == 1:
        ends = [int(np.argmin(coordinates[:, 0])), int(np.argmax(coordinates[:, 0]))]
        return _without_faces(points[ends])
    if dimension == 2:
        return _polygon(points, coordinates[:, :2] / extents[:2], tolerance)
    return _solid(points, coordinates / extents, tolerance)


def segment(ends: ArrayLike) -> Hull:
    """The segment between two points (2, 3), its vertices in the order given."""
    return _without_faces(np.asarray(ends, dtype=np.float64).reshape(2, 3))


def _principal_axes(centred: Array) -> Array:
    """(3, 3) right-handed axes by rows, the direction of the largest spread first, of points (n, 3) about their mean."""
    # validation reads hulls' types and needs no compiler
    from ..linalg.mat3 import principal_axes_of_points

    axes: Array = principal_axes_of_points(centred)
    return axes


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
    sides = list(range(len(loop)))
    return _polyhedron(points[loop], Faces.of_loops([sides, sides[::-1]]))


def _solid(points: Array, scaled: Array, tolerance: float) -> Hull:
    """Hull of points that span space; `scaled` are the same points stretched to a cube, which keeps thin bodies well posed."""
    whole = ConvexHull(scaled)
    corners = _distinct(points, np.sort(whole.vertices).astype(np.int64), tolerance)
    triangles, neighbours = _oriented_triangles(whole if len(corners) == len(points) else ConvexHull(scaled[corners]))
    points = points[corners]
    for loosened in (tolerance, 0.1 * tolerance, 0.01 * tolerance):
        faces = _merged_faces(points, triangles, neighbours, loosened)
        if faces is not None and _is_convex_polyhedron(points, faces, 4.0 * loosened):
            return _polyhedron(points, faces)
    return _polyhedron(points, Faces.of_triangles(triangles))


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
    # Slivers have no normal to go by, so the orientation spreads over shared edges from the largest triangle.
    count = len(triangles)
    links = csr_matrix(
        (np.ones(opposite.size, dtype=np.int8), (np.repeat(np.arange(count), 3), opposite.ravel())), (count, count)
    )
    order, before = breadth_first_order(links, seed)
    children = order[1:]
    parents = before[children]
    edges = triangles * len(hull.points) + np.roll(triangles, -1, axis=1)
    same_way = (edges[parents][:, :, None] == edges[children][:, None, :]).any(axis=(1, 2))
    flipped = [False] * count
    flipped[seed] = dot(normals[seed], hull.equations[seed, :3]) < 0.0
    for child, parent, same in zip(children.tolist(), parents.tolist(), same_way.tolist(), strict=True):
        flipped[child] = flipped[parent] != same
    triangles[flipped] = triangles[flipped][:, ::-1]
    opposite[flipped] = opposite[flipped][:, ::-1]
    return triangles, opposite[:, [2, 0, 1]]


def _merged_faces(points: Array, triangles: Indices, neighbours: Indices, tolerance: float) -> Faces | None:
    """The groups of coplanar triangles as faces, or None where a group has no single simple boundary."""
    group = _coplanar_groups(points[triangles], neighbours, tolerance)
    is_alone = np.bincount(group)[group] == 1
    loops: Loops = triangles[is_alone].tolist()
    together = np.flatnonzero(~is_alone)
    following: dict[int, dict[int, int]] = {}
    ends = np.roll(triangles, -1, axis=1)
    is_border = group[neighbours] != group[:, None]
    for number in np.unique(group[together]).tolist():
        following[number] = {}
    rows, slots = np.nonzero(is_border & ~is_alone[:, None])
    for number, start, end in zip(
        group[rows].tolist(), triangles[rows, slots].tolist(), ends[rows, slots].tolist(), strict=True
    ):
        if start in following[number]:
            return None
        following[number][start] = end
    for chain_of_corners in following.values():
        loop = _closed_loop(chain_of_corners)
        if loop is None:
            return None
        loops.append(loop)
    faces = Faces.of_loops(loops)
    # A vertex of only two faces lies within an edge.
    is_used = (np.bincount(faces.corners, minlength=len(points)) > 2)[faces.corners]
    kept = np.concatenate([[0], np.cumsum(is_used)])[faces.start]
    return Faces(kept, faces.corners[is_used])


def _closed_loop(following: dict[int, int]) -> list[int] | None:
    """The corners of a boundary in their order; None where that is not one closed loop."""
    if not following:
        return None
    start = min(following)
    loop = [start]
    while (corner := following[loop[-1]]) != start:
        loop.append(corner)
        if len(loop) > len(following):
            return None
    return loop if len(loop) == len(following) else None


def _coplanar_groups(corners: Array, neighbours: Indices, tolerance: float) -> Indices:
    """(t,) numbers of groups of triangles whose corners (t, 3, 3) lie in one plane.

    The largest triangle that has no group begins one with its plane, and takes the connected triangles whose corners are within
    the tolerance of that plane and whose normals point to its side; slivers have no normal.
    """
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    is_sliver = areas <= tolerance * longest
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = normals / areas[:, None]
    # Most triangles take none of their neighbours, and are found by one comparison of all.
    takes = np.zeros(neighbours.shape, dtype=bool)
    for slot in range(neighbours.shape[1]):
        other = neighbours[:, slot]
        heights = np.abs(_along(corners[other] - corners[:, None, 0], unit[:, None]))
        takes[:, slot] = (heights <= tolerance).all(axis=1) & (is_sliver[other] | (_along(normals[other], unit) > 0.0))
    takes[areas <= 0.0] = False
    order = np.argsort(-areas, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    growing = order[takes[order].any(axis=1)]
    if not len(growing):
        return np.arange(len(order))
    triangles = _Triangles(corners, unit, normals, is_sliver, neighbours)
    takes_any, ranks = takes.any(axis=1).tolist(), rank.tolist()
    group = [-1] * len(order)
    for seed, taken in zip(growing.tolist(), takes[growing].tolist(), strict=True):
        if group[seed] >= 0:
            continue
        group[seed] = seed
        sides = triangles.sides[seed]
        stack = [other for other, is_taken in zip(sides, taken, strict=True) if is_taken]
        known = {seed, *sides}
        while stack:
            current = stack.pop()
            # a larger triangle that takes none of its neighbours was a group before
            if group[current] >= 0 or (not takes_any[current] and ranks[current] < ranks[seed]):
                continue
            group[current] = seed
            for other in triangles.sides[current]:
                if other not in known:
                    known.add(other)
                    if triangles.is_coplanar(other, seed, tolerance):
                        stack.append(other)
    result = np.array(group, dtype=np.int64)
    alone = result < 0
    result[alone] = np.flatnonzero(alone)
    return np.unique(result, return_inverse=True)[1].reshape(-1)


class _Triangles:
    """Triangles as lists, of which single ones are read faster than of arrays."""

    def __init__(self, corners: Array, unit: Array, normals: Array, is_sliver: NDArray[np.bool_], neighbours: Indices):
        self._corners = corners.reshape(-1, 9).tolist()
        self._unit, self._normals, self._is_sliver = unit.tolist(), normals.tolist(), is_sliver.tolist()
        self.sides = neighbours.tolist()

    def is_coplanar(self, other: int, seed: int, tolerance: float) -> bool:
        """Whether a triangle lies in the plane of the seed, and its own normal, if it has one, points to the same side."""
        x, y, z = self._unit[seed]
        i, j, k = self._corners[seed][:3]
        a, b, c, d, e, f, g, h, m = self._corners[other]
        if not (
            abs((a - i) * x + (b - j) * y + (c - k) * z) <= tolerance
            and abs((d - i) * x + (e - j) * y + (f - k) * z) <= tolerance
            and abs((g - i) * x + (h - j) * y + (m - k) * z) <= tolerance
        ):
            return False
        a, b, c = self._normals[other]
        return self._is_sliver[other] or a * x + b * y + c * z > 0.0


def _along(vectors: Array, direction: Array) -> Array:
    """Scalar products (...,) of vectors (..., 3), added in one order on every computer."""
    result: Array = (
        vectors[..., 0] * direction[..., 0] + vectors[..., 1] * direction[..., 1] + vectors[..., 2] * direction[..., 2]
    )
    return result


def _is_convex_polyhedron(points: Array, faces: Faces, tolerance: float) -> bool:
    """Whether faces close a surface without holes, and each is flat and convex."""
    if faces.lengths.min() < 3:
        return False
    there, back = (_numbers_of_edges(*ends, len(points)) for ends in _both_ways(faces))
    if len(np.unique(there)) != len(there) or not np.array_equal(np.sort(there), np.sort(back)):
        return False
    if len(np.unique(faces.corners)) - len(faces.corners) // 2 + len(faces) != 2:
        return False
    planes = _planes(points, faces)
    for numbers, places in faces.by_length():
        corners, normals = points[faces.corners[places]], planes[numbers, None, :3]
        heights = planes[numbers, None, 3] - _along(corners, normals)
        if not heights.max() <= tolerance:
            return False
        outward = np.cross(np.roll(corners, -1, axis=1) - corners, normals)
        with np.errstate(invalid="ignore", divide="ignore"):
            outward /= np.linalg.norm(outward, axis=2, keepdims=True)
        if not _outside(corners, outward) <= tolerance:
            return False
    return True


def _both_ways(faces: Faces) -> tuple[tuple[Indices, Indices], tuple[Indices, Indices]]:
    """Where the edges of faces begin and end, and the same backwards."""
    following = faces.following
    return (faces.corners, following), (following, faces.corners)


def _numbers_of_edges(starts: Indices, ends: Indices, count: int) -> Indices:
    return starts * count + ends


def _outside(corners: Array, outward: Array) -> float:
    """How far corners (m, k, 3) of m polygons reach beyond the lines through their edges, of outward normals (m, k, 3).

    NaN where an edge has no length.
    """
    own = _along(corners, outward)
    if corners.shape[1] <= MOST_COMPARED:
        at_once = max(1, MOST_HEIGHTS // (8 * corners.shape[1] ** 2))
        parts = [slice(first, first + at_once) for first in range(0, len(corners), at_once)]
        return max(float((_along(corners[part, None], outward[part, :, None]) - own[part, :, None]).max()) for part in parts)
    # of many corners only those of their convex hull can be the farthest
    return max(
        float((_supports(one, directions) - begin).max()) for one, directions, begin in zip(corners, outward, own, strict=True)
    )


def _supports(polygon: Array, directions: Array) -> Array:
    """The largest scalar product (k,) of points (n, 3) of a plane with each of the directions (k, 3) in the plane."""
    axes = _principal_axes(polygon - polygon.mean(axis=0))[:2]
    flat, turned = product(polygon, axes.T), product(directions, axes.T)
    around = flat[ConvexHull(flat).vertices]
    along = np.roll(around, -1, axis=0) - around
    # the corner after an edge supports every direction from the normal of that edge to the normal of the next
    angles = _pseudoangles(along[:, 1], -along[:, 0])
    first = int(np.argmin(angles))
    rising = np.maximum.accumulate(np.roll(angles, -first))
    place = np.searchsorted(rising, _pseudoangles(turned[:, 0], turned[:, 1]), side="right") + first
    candidates = around[(place[:, None] + np.arange(-1, 2)) % len(around)]
    result: Array = (candidates * turned[:, None]).sum(axis=2).max(axis=1)
    # what is measured in the plane is measured from the origin again
    return result + _along(directions, (polygon[0] - product(axes.T, flat[0]))[None])


def _pseudoangles(x: Array, y: Array) -> Array:
    """Numbers (k,) from -2 to 2 that rise as the angles of vectors (k,) in a plane do, with the same bits on every computer."""
    return np.copysign(1.0 - x / (np.abs(x) + np.abs(y)), y)


def _planes(points: Array, faces: Faces) -> Array:
    """Outward unit normal of each face (Newell's sum over its edges) and the offset that supports all points."""
    planes = np.zeros((len(faces), 4))
    for numbers, places in faces.by_length():
        corners = points[faces.corners[places]]
        corners = corners - corners[:, :1]
        sums = np.cross(corners, np.roll(corners, -1, axis=1)).sum(axis=1)
        lengths = np.sqrt(dots(sums, sums))
        has_normal = lengths > 0.0
        planes[numbers, :3] = np.where(has_normal[:, None], sums / np.where(has_normal, lengths, 1.0)[:, None], (0.0, 0.0, 1.0))
    if len(faces) * len(points) <= MOST_HEIGHTS:
        for plane in planes:
            plane[3] = product(points, plane[:3]).max()
        return planes
    planes[:, 3] = _climbed(points, faces, planes[:, :3])
    return planes


def _climbed(points: Array, faces: Faces, normals: Array) -> Array:
    """How far (f,) the points reach along the normals (f, 3) of the faces of their hull: from a corner of each face uphill over
    edges, for on a convex body every summit is the highest one."""
    starts, ends = faces.corners, faces.following
    order = np.argsort(starts, kind="stable")
    first = np.searchsorted(starts[order], np.arange(len(points) + 1))
    neighbours = ends[order]
    best = faces.corners[faces.start[:-1]].copy()
    height = _along(points[best], normals)
    climbing = np.arange(len(faces))
    while len(climbing):
        here = best[climbing]
        counts = first[here + 1] - first[here]
        begin = np.concatenate([[0], np.cumsum(counts)[:-1]])
        others = neighbours[np.repeat(first[here] - begin, counts) + np.arange(counts.sum())]
        heights = _along(points[others], np.repeat(normals[climbing], counts, axis=0))
        top = np.maximum.reduceat(heights, begin)
        higher = top > height[climbing]
        is_top = heights == np.repeat(top, counts)
        # the first of the highest
        place = np.minimum.reduceat(np.where(is_top, np.arange(len(heights)), len(heights)), begin)
        climbing, place, top = climbing[higher], place[higher], top[higher]
        best[climbing], height[climbing] = others[place], top
    return height


def _without_faces(points: Array) -> Hull:
    """The point or the segment that the points are."""
    none = np.zeros(0, dtype=np.int64)
    return Hull(
        vertices=np.ascontiguousarray(points),
        face_start=np.zeros(1, dtype=np.int64),
        face_vertices=none,
        face_edges=none,
        planes=np.zeros((0, 4)),
        edges=np.array([(0, len(points) - 1)], dtype=np.int64),
        edge_faces=np.array([(-1, -1)], dtype=np.int64),
    )


def _polyhedron(points: Array, faces: Faces) -> Hull:
    """The hull with these faces; points without a face are left out."""
    used, corners = np.unique(faces.corners, return_inverse=True)
    points = np.ascontiguousarray(points[used])
    # A canonical order: ids of features must not depend on the rounding inside the hull's construction.
    faces = Faces(faces.start, corners.reshape(-1)).canonical()
    edges, edge_faces, face_edges = _edges(faces, len(points))
    return Hull(
        vertices=points,
        face_start=faces.start,
        face_vertices=faces.corners,
        face_edges=face_edges,
        planes=_planes(points, faces),
        edges=edges,
        edge_faces=edge_faces,
    )


def _edges(faces: Faces, count: int) -> tuple[Indices, Indices, Indices]:
    """The edges (e, 2) of faces, the faces (e, 2) on their left and right, and the edge of each corner of a face."""
    starts, ends = faces.corners, faces.following
    owner = np.repeat(np.arange(len(faces)), faces.lengths)
    forwards = starts < ends
    numbers, number = np.unique(
        _numbers_of_edges(np.minimum(starts, ends), np.maximum(starts, ends), count), return_inverse=True
    )
    number = number.reshape(-1)
    edge_faces = np.empty((len(numbers), 2), dtype=np.int64)
    edge_faces[number[forwards], 0] = owner[forwards]
    edge_faces[number[~forwards], 1] = owner[~forwards]
    return np.stack(np.divmod(numbers, count), axis=1), edge_faces, number
