# SPDX-License-Identifier: GPL-3.0-or-later
"""Polyhedra with thousands of corners from the triangles of their hulls, in a time proportional to the corners.

`hulls.py` does the same for ordinary hulls with numpy, where each operation is a pass through memory. Here each pass is a
kernel. `tests/core/geometry/test_hulls.py` compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, kernel
from ..linalg.sorting import sort_in_place
from .convex_polygons import MOST_COMPARED, beyond_edges
from .hull_faces import coplanar_groups

__all__ = ["Polyhedron", "are_apart", "extreme_points", "polyhedron"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Comparisons per point after which the search for close points along one axis ends.
MOST_COMPARISONS = 64


@dataclass(frozen=True)
class Polyhedron:
    """The arrays of a `Hull`, with the same names and in the same order."""

    vertices: Array
    face_start: Indices
    face_vertices: Indices
    face_edges: Indices
    planes: Array
    edges: Indices
    edge_faces: Indices


def polyhedron(points: Array, triangles: Indices, neighbours: Indices, tolerances: Sequence[float]) -> Polyhedron | None:
    """Merge coplanar triangles into faces.

    Parameters
    ----------
    points : (n, 3) [m]
    triangles, neighbours : (t, 3)
        Corners of the triangles, and the triangles across the edges that start there.
    tolerances : sequence of float
        [m], largest first. The first one that makes all faces flat and convex is used. Corners are within it of the plane of
        their face.

    Returns
    -------
    Polyhedron or None
        Without points that are not corners. If no tolerance works, the faces are the triangles; None if these are not convex.
    """
    normals, longest = normals_of(points, triangles)
    # Sort by powers of two alone, which keeps triangles of similar size in the order of memory.
    order = np.argsort(-np.frexp(normals[:, 3])[1].astype(np.int16), kind="stable")
    for tolerance in tolerances:
        is_sliver = normals[:, 3] <= tolerance * longest
        groups = coplanar_groups(points, triangles, neighbours, normals, is_sliver, order, tolerance)
        start, corners = faces_of_groups(triangles, neighbours, groups, len(points))
        found = polyhedron_of_faces(points, start, corners, 4.0 * tolerance)
        if found is not None:
            return found
    start = np.arange(0, triangles.size + 1, 3, dtype=np.int64)
    return polyhedron_of_faces(points, start, triangles.ravel(), 4.0 * tolerances[0])


def polyhedron_of_faces(points: Array, start: Indices, corners: Indices, tolerance: float) -> Polyhedron | None:
    """Return the polyhedron of faces, or None if they do not close a surface or are not flat and convex within a tolerance
    [m].
    """
    if len(start) < 5 or np.diff(start).min() < 3:
        return None
    begin, neighbours = corners_across(start, corners, len(points))
    # This test rejects most faces that are not convex.
    if not len(planes_of_faces(points, start, corners, begin, neighbours, tolerance)):
        return None
    used = np.diff(begin) > 0
    vertices = np.ascontiguousarray(points[used])
    start, corners = canonical_faces(start, (np.cumsum(used) - 1)[corners], len(vertices))
    edges, edge_faces, face_edges = edges_of_faces(start, corners, len(vertices))
    if not len(edges) or len(vertices) - len(edges) + len(start) - 1 != 2:
        return None
    begin, neighbours = corners_across(start, corners, len(vertices))
    planes = planes_of_faces(vertices, start, corners, begin, neighbours, np.inf)
    for face in np.flatnonzero(np.diff(start) > MOST_COMPARED).tolist():
        if not beyond_edges(vertices[corners[start[face] : start[face + 1]]][None], planes[face, None, :3]) <= tolerance:
            return None
    return Polyhedron(vertices, start, corners, face_edges, planes, edges, edge_faces)


@kernel
def extreme_points(points, directions):
    """Return the index of the point farthest along each direction (d, 3), the first one in a tie (d,)."""
    found = np.zeros(len(directions), np.int64)
    for j in range(len(directions)):
        highest = -np.inf
        x, y, z = directions[j, 0], directions[j, 1], directions[j, 2]
        for i in range(len(points)):
            along = points[i, 0] * x + points[i, 1] * y + points[i, 2] * z
            if along > highest:
                highest, found[j] = along, i
    return found


@kernel
def are_apart(points, tolerance):
    """Return which points to keep so that no two of them are within a tolerance of each other, the first ones being kept (n,).

    The result is empty if too many points have nearly the same first coordinate.

    points: (n, 3) sorted by their first coordinate [m]. tolerance: [m].
    """
    count = len(points)
    is_kept = np.ones(count, np.bool_)
    comparisons_left = MOST_COMPARISONS * count
    for i in range(count):
        if not is_kept[i]:
            continue
        for j in range(i + 1, count):
            x = points[j, 0] - points[i, 0]
            if x > tolerance:
                break
            comparisons_left -= 1
            if comparisons_left < 0:
                return is_kept[:0].copy()
            y, z = points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]
            if x * x + y * y + z * z <= tolerance * tolerance:
                is_kept[j] = False
    return is_kept


@kernel
def normals_of(points, triangles):
    """Return the cross products of two edges of triangles [m^2] with their lengths (t, 4), and the longest edges (t,) [m]."""
    count = len(triangles)
    normals, longest = np.empty((count, 4)), np.empty(count)
    for i in range(count):
        a, b, c = triangles[i, 0], triangles[i, 1], triangles[i, 2]
        ux, uy, uz = points[b, 0] - points[a, 0], points[b, 1] - points[a, 1], points[b, 2] - points[a, 2]
        vx, vy, vz = points[c, 0] - points[a, 0], points[c, 1] - points[a, 1], points[c, 2] - points[a, 2]
        wx, wy, wz = vx - ux, vy - uy, vz - uz
        x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        normals[i, 0], normals[i, 1], normals[i, 2], normals[i, 3] = x, y, z, np.sqrt(x * x + y * y + z * z)
        longest[i] = np.sqrt(max(ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz, wx * wx + wy * wy + wz * wz))
    return normals, longest


@inlined_kernel
def _next_on_boundary(triangles, neighbours, groups, triangle, k):
    """Return the boundary edge of a group, as triangle and side, that starts where side k of a triangle ends."""
    k = (k + 1) % 3
    for _ in range(len(triangles)):
        other = neighbours[triangle, k]
        if groups[other] != groups[triangle]:
            break
        pivot = triangles[triangle, k]
        for j in range(3):
            if triangles[other, j] == pivot:
                k = j
        triangle = other
    return triangle, k


@inlined_kernel
def _without_straight_corners(start, corners, times):
    """Remove the corners of only two faces from faces, in place.

    times: (n,) number of faces of each corner. Returns the number left.
    """
    kept = 0
    for face in range(len(start) - 1):
        begin = start[face]
        start[face] = kept
        for place in range(begin, start[face + 1]):
            if times[corners[place]] > 2:
                corners[kept] = corners[place]
                kept += 1
    start[-1] = kept
    return kept


@kernel
def faces_of_groups(triangles, neighbours, groups, count):
    """Return the boundaries of groups of triangles as faces: the first corner of each face (f + 1,), and the corners (k,).

    Corners of only two faces are inside an edge and are removed. Both results are empty if a boundary is not one loop that
    visits each point once.

    triangles, neighbours: (t, 3). groups: (t,) a triangle of the same group. count: number of points.
    """
    nothing = np.zeros(1, np.int64), np.empty(0, np.int64)
    lengths, first = np.zeros(len(triangles), np.int64), np.empty(len(triangles), np.int64)
    total = faces = 0
    for i in range(len(triangles)):
        for k in range(3):
            if groups[neighbours[i, k]] != groups[i]:
                if lengths[groups[i]] == 0:
                    first[groups[i]] = 3 * i + k
                    faces += 1
                lengths[groups[i]] += 1
                total += 1
    start, corners = np.zeros(faces + 1, np.int64), np.empty(total, np.int64)
    last_face, times = np.full(count, -1, np.int64), np.zeros(count, np.int64)
    face = place = 0
    for group in range(len(triangles)):
        if lengths[group] == 0:
            # A group without a boundary is not a face.
            if groups[group] == group:
                return nothing
            continue
        triangle, k = first[group] // 3, first[group] % 3
        for _ in range(lengths[group]):
            corner = triangles[triangle, k]
            if last_face[corner] == face:
                return nothing
            last_face[corner] = face
            times[corner] += 1
            corners[place] = corner
            place += 1
            triangle, k = _next_on_boundary(triangles, neighbours, groups, triangle, k)
        if 3 * triangle + k != first[group]:
            return nothing
        face += 1
        start[face] = place
    return start, corners[: _without_straight_corners(start, corners, times)].copy()


@kernel
def canonical_faces(start, corners, count):
    """Return the same faces, each starting at its smallest corner, sorted by their corners, as `Faces.canonical` does."""
    faces = len(start) - 1
    turned = np.empty_like(corners)
    begin = np.zeros(count + 1, np.int64)
    for face in range(faces):
        least, length = start[face], start[face + 1] - start[face]
        for place in range(start[face], start[face + 1]):
            if corners[place] < corners[least]:
                least = place
        for k in range(length):
            turned[start[face] + k] = corners[start[face] + (least - start[face] + k) % length]
        begin[turned[start[face]] + 1] += 1
    for corner in range(count):
        begin[corner + 1] += begin[corner]
    # Two faces that start with the same two corners use an edge twice, so they do not close a surface.
    keys, filled = np.empty(faces, np.int64), begin[:-1].copy()
    for face in range(faces):
        first = turned[start[face]]
        keys[filled[first]] = turned[start[face] + 1] * faces + face
        filled[first] += 1
    for corner in range(count):
        sort_in_place(keys[begin[corner] : begin[corner + 1]])
    new_start, new_corners, place = np.zeros(faces + 1, np.int64), np.empty_like(corners), 0
    for number in range(faces):
        face = keys[number] % faces
        for old in range(start[face], start[face + 1]):
            new_corners[place] = turned[old]
            place += 1
        new_start[number + 1] = place
    return new_start, new_corners


@kernel
def corners_across(start, corners, count):
    """Return the position of each corner's first neighbor (count + 1,), and the neighbors of all corners (k,)."""
    begin = np.zeros(count + 1, np.int64)
    for corner in corners:
        begin[corner + 1] += 1
    for corner in range(count):
        begin[corner + 1] += begin[corner]
    across, filled = np.empty(len(corners), np.int64), begin[:-1].copy()
    for face in range(len(start) - 1):
        for place in range(start[face], start[face + 1]):
            corner, following = corners[place], place + 1 if place + 1 < start[face + 1] else start[face]
            across[filled[corner]] = corners[following]
            filled[corner] += 1
    return begin, across


@kernel
def edges_of_faces(start, corners, count):
    """Return the edges (e, 2) of faces, the faces (e, 2) on their left and right, and the edge of each corner of a face (k,).

    All are empty if an edge is not used once in each direction. `hulls._edges` does the same.
    """
    nothing = np.empty((0, 2), np.int64), np.empty((0, 2), np.int64), np.empty(0, np.int64)
    total = len(corners)
    begin, owner, ends = np.zeros(count + 1, np.int64), np.empty(total, np.int64), np.empty(total, np.int64)
    for face in range(len(start) - 1):
        for place in range(start[face], start[face + 1]):
            owner[place] = face
            ends[place] = corners[place + 1 if place + 1 < start[face + 1] else start[face]]
            begin[min(corners[place], ends[place]) + 1] += 1
    for corner in range(count):
        begin[corner + 1] += begin[corner]
    keys, filled = np.empty(total, np.int64), begin[:-1].copy()
    for place in range(total):
        least = min(corners[place], ends[place])
        keys[filled[least]] = max(corners[place], ends[place]) * total + place
        filled[least] += 1
    edges, edge_faces = np.empty((total // 2, 2), np.int64), np.empty((total // 2, 2), np.int64)
    face_edges = np.empty(total, np.int64)
    number = 0
    for corner in range(count):
        if (begin[corner + 1] - begin[corner]) % 2:
            return nothing
        sort_in_place(keys[begin[corner] : begin[corner + 1]])
        for i in range(begin[corner], begin[corner + 1], 2):
            end, there, back = keys[i] // total, keys[i] % total, keys[i + 1] % total
            if corners[there] != corner:
                there, back = back, there
            is_single = end == keys[i + 1] // total and corners[there] == corner and corners[back] == end != corner
            if not is_single or (number and edges[number - 1, 0] == corner and edges[number - 1, 1] == end):
                return nothing
            edges[number, 0], edges[number, 1] = corner, end
            edge_faces[number, 0], edge_faces[number, 1] = owner[there], owner[back]
            face_edges[there] = face_edges[back] = number
            number += 1
    return edges, edge_faces, face_edges


@inlined_kernel
def _highest(points, begin, neighbours, corner, plane):
    """Return the support of a convex polyhedron along a normal [m], by a search from a corner uphill over edges."""
    x, y, z = plane[0], plane[1], plane[2]
    height = points[corner, 0] * x + points[corner, 1] * y + points[corner, 2] * z
    while True:
        top, highest = height, corner
        for k in range(begin[corner], begin[corner + 1]):
            other = neighbours[k]
            there = points[other, 0] * x + points[other, 1] * y + points[other, 2] * z
            if there > top:
                top, highest = there, other
        if highest == corner:
            return height
        height, corner = top, highest


@inlined_kernel
def _is_convex(points, corners, plane, tolerance):
    """Return True if no corner of a face is beyond the line through one of its edges, and all are in its plane, up to a
    tolerance [m].
    """
    for i in range(len(corners)):
        a, b = corners[i], corners[(i + 1) % len(corners)]
        if not plane[3] - (points[a, 0] * plane[0] + points[a, 1] * plane[1] + points[a, 2] * plane[2]) <= tolerance:
            return False
        ex, ey, ez = points[b, 0] - points[a, 0], points[b, 1] - points[a, 1], points[b, 2] - points[a, 2]
        x, y, z = ey * plane[2] - ez * plane[1], ez * plane[0] - ex * plane[2], ex * plane[1] - ey * plane[0]
        length = np.sqrt(x * x + y * y + z * z)
        if not length > 0.0:
            return False
        for other in corners:
            beyond = (points[other, 0] - points[a, 0]) * x + (points[other, 1] - points[a, 1]) * y
            if not beyond + (points[other, 2] - points[a, 2]) * z <= tolerance * length:
                return False
    return True


@kernel
def planes_of_faces(points, start, corners, begin, neighbours, tolerance):
    """Return the planes (f, 4) of the faces of a convex polyhedron: outward unit normals, and offsets that support all points.

    The result is empty if a face is not flat or not convex within the tolerance, or the polyhedron is not convex. Faces with
    more than MOST_COMPARED corners are tested for flatness only.

    points: (n, 3) [m]. start, corners: the faces. begin, neighbours: from `corners_across`. tolerance: [m].
    """
    planes = np.empty((len(start) - 1, 4))
    for face in range(len(start) - 1):
        loop = corners[start[face] : start[face + 1]]
        first = loop[0]
        x = y = z = 0.0
        for i in range(len(loop)):
            a, b = loop[i], loop[(i + 1) % len(loop)]
            ux, uy, uz = points[a, 0] - points[first, 0], points[a, 1] - points[first, 1], points[a, 2] - points[first, 2]
            vx, vy, vz = points[b, 0] - points[first, 0], points[b, 1] - points[first, 1], points[b, 2] - points[first, 2]
            x, y, z = x + (uy * vz - uz * vy), y + (uz * vx - ux * vz), z + (ux * vy - uy * vx)
        length = np.sqrt(x * x + y * y + z * z)
        if not length > 0.0:
            return planes[:0].copy()
        plane = planes[face]
        plane[0], plane[1], plane[2] = x / length, y / length, z / length
        plane[3] = _highest(points, begin, neighbours, first, plane)
        if len(loop) <= MOST_COMPARED:
            if not _is_convex(points, loop, plane, tolerance):
                return planes[:0].copy()
            continue
        for corner in loop:
            along = points[corner, 0] * plane[0] + points[corner, 1] * plane[1] + points[corner, 2] * plane[2]
            if not plane[3] - along <= tolerance:
                return planes[:0].copy()
    return planes
