# SPDX-License-Identifier: GPL-3.0-or-later
"""Intersection of triangles of two surfaces: the segment that both triangles share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, kernel_part, leaf_kernel
from ...linalg.vec3 import ZERO, advanced, cross, dot, norm2, set_vec, sub, vec
from .mesh_pair import direction_to_pair, pair_of
from .queries import triangle_corners
from .within_reach import heights_of, straddles

__all__ = [
    "FIRST_END",
    "SECOND_END",
    "IntersectingPairs",
    "append_if_intersecting",
    "first_piercing_edge",
    "write_intersections",
]

# The two ends of an intersection segment.
FIRST_END, SECOND_END = np.int64(0), np.int64(1)
FIRST_EDGE = np.int64(0)


class IntersectingPairs(NamedTuple):
    """Rows of triangle pairs that intersect.

    rows: (n,) rows, of which the first used[0] are valid. used: (1,). ends, keys: work arrays of `intersect_triangles`.
    """

    rows: NDArray[np.int64]
    used: NDArray[np.int64]
    ends: NDArray[np.float64]
    keys: NDArray[np.int64]


@leaf_kernel
def first_piercing_edge(vertices, triangle, below, others, other, start):
    """Find the first edge of a triangle, from edge `start` on, that passes through another triangle.

    below: three heights of its corners over the plane of the other triangle [m].

    Returns the edge, 0 to 2, and the point [m]; or 3 if there is none.
    """
    for edge in range(start, 3):
        following = edge + 1 if edge < 2 else 0
        low, high = below[edge], below[following]
        if (low < 0.0) == (high < 0.0):
            continue
        p = vec(vertices, triangle[edge])
        point = advanced(p, low / (low - high), sub(vec(vertices, triangle[following]), p))
        u, v, w = triangle_corners(others, other)
        e, o, d = sub(v, u), sub(w, u), sub(point, u)
        normal = cross(e, o)
        first, second = dot(cross(d, o), normal), dot(cross(e, d), normal)
        if first >= 0.0 and second >= 0.0 and first + second <= norm2(normal):
            return edge, point
    return 3, ZERO


@kernel_part
def intersect_segment(pair, f, g, over_f, ends, keys):
    """Do the same as `intersect_triangles` for a segment, the core of a capsule. Both ends are the one intersection point."""
    a, b = pair.first, pair.second
    edge, point = first_piercing_edge(
        pair.query.vertices_second, b.triangles[g], over_f, a.vertices, a.triangles[f], FIRST_EDGE
    )
    for end in range(2):
        set_vec(ends, end, point)
        keys[end, 0], keys[end, 1], keys[end, 2] = 0, b.triangle_edges[g, 0], f
    return 2 if edge < 3 else 0


@leaf_kernel
def intersect_triangles(pair, f, g, ends, keys):
    """Intersect triangle f of the first surface with triangle g of the second.

    ends: (2, 3) output for the first two intersection points [m].
    keys: (2, 3) output for the features at each point: 1 for an edge of the first surface, else 0; the edge; the face.

    Returns the number of edges that pass through the other triangle.
    """
    a, b, vertices = pair.first, pair.second, pair.query.vertices_second
    over_f = heights_of(triangle_corners(vertices, b.triangles[g]), vec(a.normals, f), vec(a.vertices, a.triangles[f, 0]))
    if not straddles(over_f):
        return 0
    if b.triangles[g, 1] == b.triangles[g, 2]:
        return intersect_segment(pair, f, g, over_f, ends, keys)
    normal = direction_to_pair(pair, FALSE, b.normals[g])
    over_g = heights_of(triangle_corners(a.vertices, a.triangles[f]), normal, vec(vertices, b.triangles[g, 0]))
    if not straddles(over_g):
        return 0
    count = 0
    for of_first in range(2):
        edge = FIRST_EDGE
        while edge < 3:
            if of_first == 1:
                edge, point = first_piercing_edge(a.vertices, a.triangles[f], over_g, vertices, b.triangles[g], edge)
            else:
                edge, point = first_piercing_edge(vertices, b.triangles[g], over_f, a.vertices, a.triangles[f], edge)
            if edge < 3 and count < 2:
                set_vec(ends, count, point)
                keys[count, 0] = of_first
                keys[count, 1] = a.triangle_edges[f, edge] if of_first == 1 else b.triangle_edges[g, edge]
                keys[count, 2] = g if of_first == 1 else f
            count += edge < 3
            edge += 1
    return count


@kernel_part
def append_if_intersecting(pair, f, g, row, crossed):
    """Append a row to `IntersectingPairs` if triangle f of the first surface intersects triangle g of the second."""
    if intersect_triangles(pair, f, g, crossed.ends, crossed.keys) >= 2:
        crossed.rows[crossed.used[0]] = row
        crossed.used[0] += 1


@leaf_kernel
def write_intersections(table, query, crossed, ends, keys):
    """Write the intersection segments of k pairs of triangles.

    Each segment runs along the cross product of the face normals of surfaces A and B. The inside of B is then on its left on A.

    crossed: (k, 2) pairs of triangles that intersect. ends: (k, 2, 3) output [m]. keys: (k, 2, 3) output, as in
        `intersect_triangles`.
    """
    pair = pair_of(table, query)
    for row in range(len(crossed)):
        f, g = crossed[row, 0], crossed[row, 1]
        intersect_triangles(pair, f, g, ends[row], keys[row])
        along = cross(vec(pair.first.normals, f), direction_to_pair(pair, FALSE, pair.second.normals[g]))
        if dot(along, sub(vec(ends[row], SECOND_END), vec(ends[row], FIRST_END))) < 0.0:
            for k in range(3):
                ends[row, 0, k], ends[row, 1, k] = ends[row, 1, k], ends[row, 0, k]
                keys[row, 0, k], keys[row, 1, k] = keys[row, 1, k], keys[row, 0, k]
