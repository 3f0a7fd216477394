# SPDX-License-Identifier: GPL-3.0-or-later
"""Where triangles of two surfaces cross: the segment that both have in common, from edge to edge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, kernel_part, leaf_kernel
from ...linalg.vec3 import ZERO, advanced, cross, dot, norm2, set_vec, sub, vec
from .mesh_pair import in_pair_axes, pair_of
from .queries import triangle_corners
from .within_reach import heights_of, on_both_sides

__all__ = ["ONE", "OTHER", "Crossed", "fill_crossings", "note_if_crossing", "piercing"]

# The ends of a crossing.
ONE, OTHER = np.int64(0), np.int64(1)
FIRST_SIDE = np.int64(0)


class Crossed(NamedTuple):
    """Rows of triangles that cross: rows (n,), of which the first used[0] are known. ends, keys: work arrays of `crossing`."""

    rows: NDArray[np.int64]
    used: NDArray[np.int64]
    ends: NDArray[np.float64]
    keys: NDArray[np.int64]


@leaf_kernel
def piercing(vertices, triangle, below, others, other, begin):
    """The first edge of a triangle from `begin` on that passes through another one, over which its corners have the heights
    given, and where: (0 to 2, point), or 3 for none."""
    for side in range(begin, 3):
        following = side + 1 if side < 2 else 0
        low, high = below[side], below[following]
        if (low < 0.0) == (high < 0.0):
            continue
        p = vec(vertices, triangle[side])
        point = advanced(p, low / (low - high), sub(vec(vertices, triangle[following]), p))
        u, v, w = triangle_corners(others, other)
        e, o, d = sub(v, u), sub(w, u), sub(point, u)
        normal = cross(e, o)
        first, second = dot(cross(d, o), normal), dot(cross(e, d), normal)
        if first >= 0.0 and second >= 0.0 and first + second <= norm2(normal):
            return side, point
    return 3, ZERO


@kernel_part
def segment_crossing(pair, f, g, over_f, ends, keys):
    """As `crossing`, of a segment, the core of a capsule: one point for both ends."""
    a, b = pair.first, pair.second
    side, point = piercing(pair.at.vertices, b.triangles[g], over_f, a.vertices, a.triangles[f], FIRST_SIDE)
    for end in range(2):
        set_vec(ends, end, point)
        keys[end, 0], keys[end, 1], keys[end, 2] = 0, b.triangle_edges[g, 0], f
    return 2 if side < 3 else 0


@leaf_kernel
def crossing(pair, f, g, ends, keys):
    """How many edges of triangles f and g pass through the other one; the first two points into ends (2, 3) and what meets
    there into keys (2, 3): 1 for an edge of the first surface, the edge, the face."""
    a, b, vertices = pair.first, pair.second, pair.at.vertices
    over_f = heights_of(triangle_corners(vertices, b.triangles[g]), vec(a.normals, f), vec(a.vertices, a.triangles[f, 0]))
    if not on_both_sides(over_f):
        return 0
    if b.triangles[g, 1] == b.triangles[g, 2]:
        return segment_crossing(pair, f, g, over_f, ends, keys)
    normal = in_pair_axes(pair, FALSE, b.normals[g])
    over_g = heights_of(triangle_corners(a.vertices, a.triangles[f]), normal, vec(vertices, b.triangles[g, 0]))
    if not on_both_sides(over_g):
        return 0
    count = 0
    for of_first in range(2):
        side = FIRST_SIDE
        while side < 3:
            if of_first == 1:
                side, point = piercing(a.vertices, a.triangles[f], over_g, vertices, b.triangles[g], side)
            else:
                side, point = piercing(vertices, b.triangles[g], over_f, a.vertices, a.triangles[f], side)
            if side < 3 and count < 2:
                set_vec(ends, count, point)
                keys[count, 0] = of_first
                keys[count, 1] = a.triangle_edges[f, side] if of_first == 1 else b.triangle_edges[g, side]
                keys[count, 2] = g if of_first == 1 else f
            count += side < 3
            side += 1
    return count


@kernel_part
def note_if_crossing(pair, f, g, row, crossed):
    """Adds a row to those `Crossed` if triangle f of the first surface and g of the second one cross."""
    if crossing(pair, f, g, crossed.ends, crossed.keys) >= 2:
        crossed.rows[crossed.used[0]] = row
        crossed.used[0] += 1


@leaf_kernel
def fill_crossings(table, meeting, crossed, ends, keys):
    """Writes the crossings of rows (k, 2) of triangles that cross, each running along the cross product of the normals of A and
    B, which has the inside of B on its left on A: ends (k, 2, 3), keys (k, 2, 3) as in `crossing`."""
    pair = pair_of(table, meeting)
    for row in range(len(crossed)):
        f, g = crossed[row, 0], crossed[row, 1]
        crossing(pair, f, g, ends[row], keys[row])
        along = cross(vec(pair.first.normals, f), in_pair_axes(pair, FALSE, pair.second.normals[g]))
        if dot(along, sub(vec(ends[row], OTHER), vec(ends[row], ONE))) < 0.0:
            for k in range(3):
                ends[row, 0, k], ends[row, 1, k] = ends[row, 1, k], ends[row, 0, k]
                keys[row, 0, k], keys[row, 1, k] = keys[row, 1, k], keys[row, 0, k]
