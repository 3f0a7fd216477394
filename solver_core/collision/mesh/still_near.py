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
from .near_triangles import are_farther, put_bounds
from .queries import triangle_corners

__all__ = ["covers", "still_near"]


@inlined_kernel
def way_since(meeting, walk, point):
    """How a point of the second surface has moved in the axes of the first since a walk."""
    now, before = add(rotated(meeting.turn, point), meeting.shift), add(rotated(walk.turn, point), walk.shift)
    return sub(now, before)


@inlined_kernel
def way_in_second(meeting, walk, point):
    """How a point of the first surface has moved in the axes of the second since a walk."""
    now, before = rotated_back(meeting.turn, sub(point, meeting.shift)), rotated_back(walk.turn, sub(point, walk.shift))
    return sub(now, before)


@leaf_kernel
def covers(table, meeting, walk):
    """Whether all triangles whose boxes are within the limit were within the reach of a walk."""
    if meeting.limit > walk.reach:
        return False
    first, squared = table.first_vertex[meeting.second], 0.0
    for v in range(len(meeting.vertices)):
        before = add(rotated(walk.turn, vec(table.vertices, first + v)), walk.shift)
        squared = max(squared, distance2(vec(meeting.vertices, v), before))
    # the noise is for rounding
    return meeting.limit + np.sqrt(squared) + (meeting.noise if squared > 0.0 else 0.0) <= walk.reach


@leaf_kernel
def put_ways(meeting, walk, vertices, of_first, ways):
    """Writes how the vertices (v, 3) of a surface, in its own axes, have moved in the other one's axes since a walk into ways
    (v, 3): the farthest."""
    most = 0.0
    for v in range(len(vertices)):
        point = vec(vertices, v)
        way = way_in_second(meeting, walk, point) if of_first else way_since(meeting, walk, point)
        set_vec(ways, v, way)
        most = max(most, norm2(way))
    return np.sqrt(most)


@inlined_kernel
def farthest_along(normal, ways, triangle):
    """How far the corners of a triangle have moved along a unit vector, either way, at most."""
    p, q, r = triangle_corners(ways, triangle)
    return max(abs(dot(normal, p)), abs(dot(normal, q)), abs(dot(normal, r)))


@leaf_kernel
def fill_still_near(table, meeting, walk, limit, ways, other_ways, boxes, out):
    """Writes the rows of `still_near` into out (k, 2), and returns how many there are. ways, other_ways: (v, 3) of the two
    surfaces, boxes: (2, 6), for work."""
    pair = pair_of(table, meeting)
    a, b = pair.first, pair.second
    most, sift = 0.0, limit < np.inf
    if sift:
        most = put_ways(meeting, walk, a.vertices, TRUE, ways)
        most = max(most, put_ways(meeting, walk, b.vertices, FALSE, other_ways))
    box, other, count = boxes[0], boxes[1], 0
    for row in range(len(walk.rows)):
        # most rows are left out by this alone, without a look at where their triangles are
        if walk.clear[row] - most > limit:
            continue
        f, g = walk.rows[row, 0], walk.rows[row, 1]
        if sift:
            over_f = farthest_along(vec(a.normals, f), other_ways, b.triangles[g])
            over_g = farthest_along(vec(b.normals, g), ways, a.triangles[f])
            if walk.clear[row] - max(over_f, over_g) > limit:
                continue
        put_bounds(a.vertices, a.triangles[f], box)
        put_bounds(meeting.vertices, b.triangles[g], other)
        if not are_farther(box, other, meeting.limit):
            out[count, 0], out[count, 1] = f, g
            count += 1
    return count


@inner_kernel
def still_near(table, meeting, walk, limit):
    """Rows (k, 2) of triangles, in the order of a walk that `covers` a meeting, whose boxes come within its limit, without
    those that surely have no contact up to a limit in m: none is left out for inf."""
    ways, other_ways = np.empty((len(meeting.own), 3)), np.empty((len(meeting.vertices), 3))
    out = np.empty((len(walk.rows), 2), np.int64)
    # to look at few pairs is quicker than at where all vertices have moved to
    if len(walk.rows) < len(ways) + len(other_ways):
        limit = np.inf
    return out[: fill_still_near(table, meeting, walk, limit, ways, other_ways, np.empty((2, 6)), out)]
