# SPDX-License-Identifier: GPL-3.0-or-later
"""Which triangles that a walk found near each other may have contacts where the surfaces are now.

Heights over a plane are linear: where a corner has moved by u, its height over a plane with the normal n has changed by n . u.
What slides along a surface, as a bolt does in its nut, keeps its heights however far it goes.
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
    """How a point of the second surface has moved in the axes of the first since a walk."""
    now, before = add(rotated(query.turn, point), query.shift), add(rotated(walk.turn, point), walk.shift)
    return sub(now, before)


@inlined_kernel
def displacement_in_second(query, walk, point):
    """How a point of the first surface has moved in the axes of the second since a walk."""
    now, before = rotated_back(query.turn, sub(point, query.shift)), rotated_back(walk.turn, sub(point, walk.shift))
    return sub(now, before)


@leaf_kernel
def cache_covers(table, query, walk):
    """Whether all triangles whose boxes are within the limit were within the reach of a walk."""
    if query.limit > walk.reach:
        return False
    first, squared = table.first_vertex[query.second], 0.0
    for v in range(len(query.vertices_second)):
        before = add(rotated(walk.turn, vec(table.vertices, first + v)), walk.shift)
        squared = max(squared, distance2(vec(query.vertices_second, v), before))
    # the noise is for rounding
    return query.limit + np.sqrt(squared) + (query.noise if squared > 0.0 else 0.0) <= walk.reach


@leaf_kernel
def write_displacements(query, walk, vertices, of_first, displacements):
    """Writes how the vertices (v, 3) of a surface, in its own axes, have moved in the other one's axes since a walk into ways
    (v, 3): the farthest."""
    farthest = 0.0
    for v in range(len(vertices)):
        point = vec(vertices, v)
        displacement = displacement_in_second(query, walk, point) if of_first else displacement_since(query, walk, point)
        set_vec(displacements, v, displacement)
        farthest = max(farthest, norm2(displacement))
    return np.sqrt(farthest)


@inlined_kernel
def max_displacement_along(normal, displacements, triangle):
    """How far the corners of a triangle have moved along a unit vector, either way, at most."""
    p, q, r = triangle_corners(displacements, triangle)
    return max(abs(dot(normal, p)), abs(dot(normal, q)), abs(dot(normal, r)))


@leaf_kernel
def write_filtered_pairs(table, query, walk, limit, displacements, other_displacements, boxes, out):
    """Writes the rows of `still_near` into out (k, 2), and returns how many there are. ways, other_ways: (v, 3) of the two
    surfaces, boxes: (2, 6), for work."""
    pair = pair_of(table, query)
    a, b = pair.first, pair.second
    farthest, sift = 0.0, limit < np.inf
    if sift:
        farthest = write_displacements(query, walk, a.vertices, TRUE, displacements)
        farthest = max(farthest, write_displacements(query, walk, b.vertices, FALSE, other_displacements))
    box, other, count = boxes[0], boxes[1], 0
    for row in range(len(walk.rows)):
        # most rows are left out by this alone, without a look at where their triangles are
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
    """Rows (k, 2) of triangles, in the order of a walk that `covers` a meeting, whose boxes come within its limit, without
    those that surely have no contact up to a limit in m: none is left out for inf."""
    displacements, other_displacements = np.empty((len(query.vertices_first), 3)), np.empty((len(query.vertices_second), 3))
    out = np.empty((len(walk.rows), 2), np.int64)
    # to look at few pairs is quicker than at where all vertices have moved to
    if len(walk.rows) < len(displacements) + len(other_displacements):
        limit = np.inf
    return out[: write_filtered_pairs(table, query, walk, limit, displacements, other_displacements, np.empty((2, 6)), out)]
