# SPDX-License-Identifier: GPL-3.0-or-later
"""Where triangles of two surfaces cross: the segment that both have in common, from edge to edge."""

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

# The ends of a crossing.
FIRST_END, SECOND_END = np.int64(0), np.int64(1)
FIRST_EDGE = np.int64(0)


class IntersectingPairs(NamedTuple):
    """Rows of triangles that cross: rows (n,), of which the first used[0] are known. ends, keys: work arrays of `crossing`."""

    rows: NDArray[np.int64]
    used: NDArray[np.int64]
    ends: NDArray[np.float64]
    keys: NDArray[np.int64]


@leaf_kernel
def first_piercing_edge(vertices, triangle, below, others, other, start):
    """The first edge of a triangle from `begin` on that passes through another one, over which its corners have the heights
    given, and where: (0 to 2, point), or 3 for none."""
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
    """As `crossing`, of a segment, the core of a capsule: one point for both ends."""
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
    """How many edges of triangles f and g pass through the other one; the first two points into ends (2, 3) and what meets
    there into keys (2, 3): 1 for an edge of the first surface, the edge, the face."""
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
    """Adds a row to those `Crossed` if triangle f of the first surface and g of the second one cross."""
    if intersect_triangles(pair, f, g, crossed.ends, crossed.keys) >= 2:
        crossed.rows[crossed.used[0]] = row
        crossed.used[0] += 1


@leaf_kernel
def write_intersections(table, query, crossed, ends, keys):
    """Writes the crossings of rows (k, 2) of triangles that cross, each running along the cross product of the normals of A and
    B, which has the inside of B on its left on A: ends (k, 2, 3), keys (k, 2, 3) as in `crossing`."""
    pair = pair_of(table, query)
    for row in range(len(crossed)):
        f, g = crossed[row, 0], crossed[row, 1]
        intersect_triangles(pair, f, g, ends[row], keys[row])
        along = cross(vec(pair.first.normals, f), direction_to_pair(pair, FALSE, pair.second.normals[g]))
        if dot(along, sub(vec(ends[row], SECOND_END), vec(ends[row], FIRST_END))) < 0.0:
            for k in range(3):
                ends[row, 0, k], ends[row, 1, k] = ends[row, 1, k], ends[row, 0, k]
                keys[row, 0, k], keys[row, 1, k] = keys[row, 1, k], keys[row, 0, k]
