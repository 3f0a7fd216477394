# SPDX-License-Identifier: GPL-3.0-or-later
"""Convex hulls as polyhedra with true faces. Coplanar triangles are merged, and flat or thin sets of points are allowed.

Meshes store vertices in single precision, so the four corners of a quad are coplanar only to about 1e-7 of the body's size. So
faces, flatness and duplicates are judged by a distance, MERGE_TOLERANCE times that size, and never by an angle: the normal of a
sliver is rounding, but the height of a vertex over the plane of a large face is not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order
from scipy.spatial import ConvexHull, KDTree, QhullError

from ..linalg.in_order import dot, dots, length, product
from .convex_polygons import along, beyond_edges, principal_axes

__all__ = ["MERGE_TOLERANCE", "Hull", "convex_hull", "segment"]

MERGE_TOLERANCE = 1e-6

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Loops = list[list[int]]

# Largest product of faces and points for which the height of each point over each face is computed.
MOST_HEIGHTS = 2**22
# Largest number of points for which Qhull computes the exact hull. Larger sets are first joggled by up to JOGGLES times the
# extents, at most a tenth of MERGE_TOLERANCE; the second value is used if the first fails. The vertices of the result are those
# of the input.
MOST_EXACT = 4096
JOGGLES = (1e-8, 1e-7)
# Relative to the extents: a smaller height of a point over a triangle is rounding.
ROUNDING_HEIGHT_RATIO = 1e-13
# Fractions of the tolerance within which triangles are merged into faces. Each one is used if those before it give no convex
# polyhedron.
MERGE_FRACTIONS = (1.0, 0.1, 0.01)


@dataclass(frozen=True)
class Faces:
    """Polygons in one array of corners.

    Face i has corners[start[i]:start[i + 1]], counterclockwise seen from outside.
    """

    start: Indices
    corners: Indices

    @classmethod
    def of_loops(cls, loops: Loops) -> Faces:
        """Return the faces of lists of corners."""
        start = np.cumsum([0, *map(len, loops)], dtype=np.int64)
        return cls(start, np.fromiter(chain.from_iterable(loops), dtype=np.int64, count=int(start[-1])))

    @classmethod
    def of_triangles(cls, triangles: Indices) -> Faces:
        """Return triangles (t, 3) as faces."""
        return cls(np.arange(0, triangles.size + 1, 3, dtype=np.int64), triangles.ravel())

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def lengths(self) -> Indices:
        """The number of corners of each face (f,)."""
        return np.diff(self.start)

    @property
    def following(self) -> Indices:
        """The next corner after each corner of a face (k,)."""
        after = np.arange(1, len(self.corners) + 1)
        after[self.start[1:] - 1] = self.start[:-1]
        return self.corners[after]

    def by_length(self) -> Iterator[tuple[Indices, Indices]]:
        """Yield the faces of each length: their indices (m,), and the positions (m, length) of their corners in `corners`."""
        lengths = self.lengths
        for count in np.unique(lengths).tolist():
            numbers = np.flatnonzero(lengths == count)
            yield numbers, self.start[numbers, None] + np.arange(count)

    def canonical(self) -> Faces:
        """Return the same faces, each starting at its smallest corner, sorted by their corners."""
        corners = np.empty_like(self.corners)
        for _, places in self.by_length():
            rows = self.corners[places]
            turn = (rows.argmin(axis=1)[:, None] + np.arange(rows.shape[1])) % rows.shape[1]
            corners[places] = np.take_along_axis(rows, turn, axis=1)
        # No two faces share their first two corners, except slivers whose edges are used twice.
        order = np.lexsort([corners[self.start[:-1] + k] for k in (2, 1, 0)])
        lengths = self.lengths[order]
        start = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.start[order] - start[:-1], lengths) + np.arange(len(corners))
        return Faces(start, corners[places])


@dataclass(frozen=True)
class Hull:
    """A convex polyhedron, polygon, segment or point.

    vertices: (n, 3) corners only [m].
    face_start: (f + 1,), face_vertices: (k,). Face i has the corners face_vertices[face_start[i]:face_start[i + 1]],
        counterclockwise seen from outside.
    face_edges: (k,) the edge from each of these corners to the next.
    planes: (f, 4) outward unit normal and offset, with n . x <= offset for each vertex.
    edges: (e, 2) vertices. edge_faces: (e, 2) the faces to the left and to the right of the edge, seen from outside.

    A flat polygon has two opposite faces. A segment has no face and one edge. A point has one edge, from itself to itself. The
    edge_faces of segments and points are -1.
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
        """The number of faces."""
        return len(self.planes)

    def face(self, index: int) -> Indices:
        """Return the corners of a face, counterclockwise seen from outside."""
        return self.face_vertices[self.face_start[index] : self.face_start[index + 1]]


def convex_hull(vertices: ArrayLike) -> Hull:
    """Return the convex hull of points (n, 3) [m], n >= 1.

    Raises ValueError if there are no points, or if they are not three-dimensional or not finite.
    """
    points = np.asarray(vertices, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"vertices must have shape (n, 3), not {points.shape}")
    if len(points) == 0:
        raise ValueError("a convex hull needs at least one vertex")
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        index = int(np.argmin(finite))
        raise ValueError(f"vertices must be finite, but vertex {index} is {points[index]}")

    points = _distinct_rows(points)
    size = length(np.ptp(points, axis=0))
    tolerance = MERGE_TOLERANCE * size
    centred = points - points.mean(axis=0)
    coordinates = product(centred, principal_axes(centred).T)
    extents = np.ptp(coordinates, axis=0)
    dimension = int(np.count_nonzero(extents > 2.0 * tolerance))
    if dimension == 0:
        return _segment_or_point(points[:1])
    if dimension == 1:
        ends = [int(np.argmin(coordinates[:, 0])), int(np.argmax(coordinates[:, 0]))]
        return _segment_or_point(points[ends])
    if dimension == 2:
        return _polygon(points, coordinates[:, :2] / extents[:2], tolerance)
    return _solid(points, coordinates / extents, tolerance)


def segment(ends: ArrayLike) -> Hull:
    """Return the segment between two points (2, 3) [m], with its vertices in the given order."""
    return _segment_or_point(np.asarray(ends, dtype=np.float64).reshape(2, 3))


def _distinct_rows(points: Array) -> Array:
    """Return the distinct points of (n, 3), sorted by their coordinates."""
    if len(points) <= MOST_EXACT:
        return np.unique(points, axis=0)
    # This takes three fifths of the time of numpy's unique rows.
    points = points[np.lexsort(points.T[::-1])]
    is_other = np.ones(len(points), dtype=bool)
    is_other[1:] = (points[1:] != points[:-1]).any(axis=1)
    return points[is_other]


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
    """Return the hull of points that span space.

    scaled: the same points scaled to a cube, which keeps thin bodies well-conditioned.
    """
    if len(points) > MOST_EXACT:
        chosen = _outer_points(points, scaled, tolerance)
        points, scaled = points[chosen], scaled[chosen]
    if len(points) > MOST_EXACT:
        corners = _well_separated(points, tolerance)
        hull = _large_solid(points[corners], scaled[corners], tolerance)
        if hull is not None:
            return hull
    whole = ConvexHull(scaled)
    corners = _distinct(points, np.sort(whole.vertices).astype(np.int64), tolerance)
    triangles, neighbours = _oriented_triangles(whole if len(corners) == len(points) else ConvexHull(scaled[corners]))
    faces = _convex_faces(points[corners], triangles, neighbours, tolerance)
    return _polyhedron(points[corners], faces if faces is not None else Faces.of_triangles(triangles))


def _large_solid(points: Array, scaled: Array, tolerance: float) -> Hull | None:
    """Return the hull of thousands of corners. Qhull would take a time quadratic in the corners of a face.

    Parameters
    ----------
    points, scaled : (n, 3)
        As in `_solid`, with no two points within the tolerance of each other.
    tolerance : float
        [m]

    Returns
    -------
    Hull or None
        None if rounding leaves no closed surface.
    """
    # Imported here because validation reads the types of hulls and must not load the compiler.
    from .large_hulls import polyhedron
    from .quickhull import hull_triangles

    for joggle in JOGGLES:
        # The same numbers on every computer.
        joggled = scaled + np.random.default_rng(0).uniform(-joggle, joggle, size=scaled.shape)
        triangles, neighbours = hull_triangles(joggled, ROUNDING_HEIGHT_RATIO)
        if not len(triangles):
            continue
        found = polyhedron(points, triangles, neighbours, [fraction * tolerance for fraction in MERGE_FRACTIONS])
        if found is not None:
            return Hull(**vars(found))
    return None


def _convex_faces(points: Array, triangles: Indices, neighbours: Indices, tolerance: float) -> Faces | None:
    """Return faces of merged coplanar triangles, or None if no merge gives a convex polyhedron."""
    for fraction in MERGE_FRACTIONS:
        faces = _merged_faces(points, triangles, neighbours, fraction * tolerance)
        if faces is not None and _is_convex_polyhedron(points, faces, 4.0 * (fraction * tolerance)):
            return faces
    return None


def _outer_points(points: Array, scaled: Array, tolerance: float) -> Indices:
    """Return the indices of extreme points, and of the points outside the hull of the extreme points.

    A point is outside if it is more than a tenth of the tolerance above a face. So points inside a solid and on flat faces are
    removed.
    """
    # Imported here because validation reads the types of hulls and must not load the compiler.
    from .hull_faces import above_any
    from .large_hulls import extreme_points

    directions = np.array([d for d in itertools.product(range(-2, 3), repeat=3) if math.gcd(*d) == 1], dtype=np.float64)
    extreme = np.unique(extreme_points(scaled, directions))
    try:
        core = ConvexHull(scaled[extreme])
    except QhullError:
        # The extreme points are coplanar.
        return np.arange(len(points))
    triangles, _ = _oriented_triangles(core)
    corners = points[extreme][triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    # A sliver has no plane, but its neighbors have.
    has_plane = lengths > 0.0
    normals = normals[has_plane] / lengths[has_plane, None]
    is_outside: NDArray[np.bool_] = above_any(points, corners[has_plane, 0], normals, 0.1 * tolerance)
    is_outside[extreme] = True
    return np.flatnonzero(is_outside)


def _well_separated(points: Array, tolerance: float) -> Indices:
    """Return the indices of points (n, 3) that are not within the tolerance of an earlier one.

    Points are sorted by their first coordinate.
    """
    # Imported here because validation reads the types of hulls and must not load the compiler.
    from .large_hulls import are_apart

    is_kept = are_apart(points, tolerance)
    if len(is_kept):
        return np.flatnonzero(is_kept)
    # Clusters have too many pairs, so keep only the first point of each cell of a grid.
    cells = np.floor(points / (0.5 * tolerance))
    return _distinct(points, np.sort(np.unique(cells, axis=0, return_index=True)[1]), tolerance)


def _distinct(points: Array, chosen: Indices, tolerance: float) -> Indices:
    """Return the chosen points that are not within the tolerance of an earlier one."""
    kept = np.ones(len(chosen), dtype=bool)
    pairs = KDTree(points[chosen]).query_pairs(tolerance, output_type="ndarray")
    for first, second in pairs[np.lexsort(pairs.T[::-1])].tolist():
        if kept[first]:
            kept[second] = False
    return chosen[kept]


def _oriented_triangles(hull: ConvexHull) -> tuple[Indices, Indices]:
    """Return the triangles (t, 3) counterclockwise from outside, and the neighbors (t, 3) across the edge that starts at each
    corner.
    """
    triangles = hull.simplices.astype(np.int64)
    opposite = hull.neighbors.astype(np.int64)
    corners = hull.points[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    seed = int(np.argmax(np.linalg.norm(normals, axis=1)))
    # Slivers have no usable normal, so the orientation spreads over shared edges from the largest triangle.
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
    """Return groups of coplanar triangles as faces, or None if a group has no single simple boundary."""
    # Imported here because validation reads the types of hulls and must not load the compiler.
    from .hull_faces import boundary_loops

    group = _coplanar_groups(points, triangles, neighbours, tolerance)
    rows, slots = np.nonzero(group[neighbours] != group[:, None])
    owners, starts, ends = group[rows], triangles[rows, slots], triangles[rows, (slots + 1) % 3]
    numbers = owners * len(points) + starts
    order = np.argsort(numbers, kind="stable")
    numbers, owners, starts, ends = numbers[order], owners[order], starts[order], ends[order]
    if not len(numbers) or (numbers[1:] == numbers[:-1]).any():
        return None
    wanted = owners * len(points) + ends
    following = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
    following[numbers[following] != wanted] = -1
    first = np.searchsorted(owners, np.arange(int(group.max()) + 2))
    ordered = boundary_loops(following, first)
    if not len(ordered):
        return None
    faces = Faces(first, starts[ordered])
    # A vertex of only two faces lies within an edge.
    is_used = (np.bincount(faces.corners, minlength=len(points)) > 2)[faces.corners]
    kept = np.concatenate([[0], np.cumsum(is_used)])[faces.start]
    return Faces(kept, faces.corners[is_used])


def _coplanar_groups(points: Array, triangles: Indices, neighbours: Indices, tolerance: float) -> Indices:
    """Return the group of coplanar triangles of each triangle (t,).

    The largest triangle without a group starts a new one with its plane. The group grows over shared edges by triangles whose
    corners are within the tolerance of that plane and whose normals do not face the other way. The normals of slivers are
    ignored.
    """
    # Imported here because validation reads the types of hulls and must not load the compiler.
    from .hull_faces import coplanar_groups

    corners = points[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    is_sliver = areas <= tolerance * longest
    order = np.argsort(-areas, kind="stable")
    groups = coplanar_groups(points, triangles, neighbours, np.column_stack([normals, areas]), is_sliver, order, tolerance)
    return np.unique(groups, return_inverse=True)[1].reshape(-1)


def _is_convex_polyhedron(points: Array, faces: Faces, tolerance: float) -> bool:
    """Return True if the faces close a surface without holes, and each is flat and convex within a tolerance [m]."""
    if faces.lengths.min() < 3:
        return False
    there, back = (_edge_keys(*ends, len(points)) for ends in _edges_and_reverses(faces))
    if len(np.unique(there)) != len(there) or not np.array_equal(np.sort(there), np.sort(back)):
        return False
    if len(np.unique(faces.corners)) - len(faces.corners) // 2 + len(faces) != 2:
        return False
    planes = _planes(points, faces)
    for numbers, places in faces.by_length():
        corners, normals = points[faces.corners[places]], planes[numbers, None, :3]
        heights = planes[numbers, None, 3] - along(corners, normals)
        if not heights.max() <= tolerance:
            return False
        if not beyond_edges(corners, normals) <= tolerance:
            return False
    return True


def _edges_and_reverses(faces: Faces) -> tuple[tuple[Indices, Indices], tuple[Indices, Indices]]:
    """Return the starts and ends of the edges of faces, and the same reversed."""
    following = faces.following
    return (faces.corners, following), (following, faces.corners)


def _edge_keys(starts: Indices, ends: Indices, count: int) -> Indices:
    return starts * count + ends


def _planes(points: Array, faces: Faces) -> Array:
    """Return the outward unit normal of each face (Newell's sum over its edges) and the offset that supports all points, (f,
    4).
    """
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
    planes[:, 3] = _supports_by_climbing(points, faces, planes[:, :3])
    return planes


def _supports_by_climbing(points: Array, faces: Faces, normals: Array) -> Array:
    """Return the support (f,) of points along the normals (f, 3) of the faces of their hull.

    The search starts at a corner of each face and climbs over edges; on a convex body each local maximum is global.
    """
    # Imported here because validation reads the types of hulls and must not load the compiler.
    from .hull_faces import heights_by_climbing

    starts, ends = faces.corners, faces.following
    order = np.argsort(starts, kind="stable")
    begin = np.searchsorted(starts[order], np.arange(len(points) + 1))
    found: Array = heights_by_climbing(points, begin, ends[order], faces.corners[faces.start[:-1]], normals)
    return found


def _segment_or_point(points: Array) -> Hull:
    """Return the hull of one point or two points."""
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
    """Return the hull with the given faces. Points without a face are removed."""
    used, corners = np.unique(faces.corners, return_inverse=True)
    points = np.ascontiguousarray(points[used])
    # A canonical order, because ids of features must not depend on rounding in the construction of the hull.
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
    """Return the edges (e, 2) of faces, the faces (e, 2) on their left and right, and the edge of each corner of a face
    (k,).
    """
    starts, ends = faces.corners, faces.following
    owner = np.repeat(np.arange(len(faces)), faces.lengths)
    forwards = starts < ends
    numbers, number = np.unique(_edge_keys(np.minimum(starts, ends), np.maximum(starts, ends), count), return_inverse=True)
    number = number.reshape(-1)
    edge_faces = np.empty((len(numbers), 2), dtype=np.int64)
    edge_faces[number[forwards], 0] = owner[forwards]
    edge_faces[number[~forwards], 1] = owner[~forwards]
    return np.stack(np.divmod(numbers, count), axis=1), edge_faces, number
