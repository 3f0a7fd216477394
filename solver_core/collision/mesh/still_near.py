# SPDX-License-Identifier: GPL-3.0-or-later
"""Reuse of a cached traversal: which of its triangle pairs may have contacts at the current pose.

Heights over a plane are linear. If a corner has moved by u, its height over a plane with normal n has changed by n . u. So a
body that slides along a surface, such as a bolt in its nut, keeps its heights however far it slides.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import FALSE, TRUE, inlined_kernel, inner_kernel, leaf_kernel
from ...linalg.vec3 import add, distance2, dot, norm2, rotated, rotated_back, set_vec, sub, vec
from .mesh_pair import pair_of
from .near_triangles import bounds_apart, write_triangle_bounds
from .queries import triangle_corners

__all__ = ["cache_covers", "filtered_pairs"]


@inlined_kernel
def displacement_since(query, walk, point):
    """Return the displacement of a point of the second surface since a walk [m], in the frame of the first."""
    now, before = add(rotated(query.turn, point), query.shift), add(rotated(walk.turn, point), walk.shift)
    return sub(now, before)


@inlined_kernel
def displacement_in_second(query, walk, point):
    """Return the displacement of a point of the first surface since a walk [m], in the frame of the second."""
    now, before = rotated_back(query.turn, sub(point, query.shift)), rotated_back(walk.turn, sub(point, walk.shift))
    return sub(now, before)


@leaf_kernel
def cache_covers(table, query, walk):
    """Return True if the pairs of a `Walk` include all pairs of triangles whose boxes are within the limit of the query."""
    if query.limit > walk.reach:
        return False
    first, squared = table.first_vertex[query.second], 0.0
    for v in range(len(query.vertices_second)):
        before = add(rotated(walk.turn, vec(table.vertices, first + v)), walk.shift)
        squared = max(squared, distance2(vec(query.vertices_second, v), before))
    # The noise covers rounding.
    return query.limit + np.sqrt(squared) + (query.noise if squared > 0.0 else 0.0) <= walk.reach


@leaf_kernel
def write_displacements(query, walk, vertices, of_first, displacements):
    """Write the displacements of vertices (v, 3) since a walk, and return the largest length [m].

    vertices: of one surface, in its own frame [m]. of_first: True for the first surface.
    displacements: (v, 3) output, in the frame of the other surface [m].
    """
    farthest = 0.0
    for v in range(len(vertices)):
        point = vec(vertices, v)
        displacement = displacement_in_second(query, walk, point) if of_first else displacement_since(query, walk, point)
        set_vec(displacements, v, displacement)
        farthest = max(farthest, norm2(displacement))
    return np.sqrt(farthest)


@inlined_kernel
def max_displacement_along(normal, displacements, triangle):
    """Return the largest absolute displacement of the corners of a triangle along a unit vector [m]."""
    p, q, r = triangle_corners(displacements, triangle)
    return max(abs(dot(normal, p)), abs(dot(normal, q)), abs(dot(normal, r)))


@leaf_kernel
def write_filtered_pairs(table, query, walk, limit, displacements, other_displacements, boxes, out):
    """Write the pairs of `filtered_pairs` to out (k, 2), and return their number.

    displacements, other_displacements: (u, 3) and (v, 3) work arrays of the two surfaces. boxes: (2, 6) work array.
    """
    pair = pair_of(table, query)
    a, b = pair.first, pair.second
    farthest, sift = 0.0, limit < np.inf
    if sift:
        farthest = write_displacements(query, walk, a.vertices, TRUE, displacements)
        farthest = max(farthest, write_displacements(query, walk, b.vertices, FALSE, other_displacements))
    box, other, count = boxes[0], boxes[1], 0
    for row in range(len(walk.rows)):
        # This test rejects most rows and does not read the triangles.
        if walk.clear[row] - farthest > limit:
            continue
        f, g = walk.rows[row, 0], walk.rows[row, 1]
        if sift:
            over_f = max_displacement_along(vec(a.normals, f), other_displacements, b.triangles[g])
            over_g = max_displacement_along(vec(b.normals, g), displacements, a.triangles[f])
            if walk.clear[row] - max(over_f, over_g) > limit:
                continue
        write_triangle_bounds(a.vertices, a.triangles[f], box)
        write_triangle_bounds(query.vertices_second, b.triangles[g], other)
        if not bounds_apart(box, other, query.limit):
            out[count, 0], out[count, 1] = f, g
            count += 1
    return count


@inner_kernel
def filtered_pairs(table, query, walk, limit):
    """Return the pairs (k, 2) of a `Walk` whose boxes are within the limit of the query, in the order of the walk.

    limit: pairs that provably have no contact up to this gap are left out [m]; inf leaves out none. The walk must cover the
        query.
    """
    displacements, other_displacements = np.empty((len(query.vertices_first), 3)), np.empty((len(query.vertices_second), 3))
    out = np.empty((len(walk.rows), 2), np.int64)
    # For few pairs it is faster to test the boxes than to compute the displacements of all vertices.
    if len(walk.rows) < len(displacements) + len(other_displacements):
        limit = np.inf
    return out[: write_filtered_pairs(table, query, walk, limit, displacements, other_displacements, np.empty((2, 6)), out)]
