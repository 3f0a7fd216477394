# SPDX-License-Identifier: GPL-3.0-or-later
"""Which triangles that a walk found near each other may have contacts where the surfaces are now.

Heights over a plane are linear: where the middle of a triangle has moved by u, those of its corners over a plane with the
normal n have changed by no more than |n . u| and what it has turned by times its radius. What slides along a surface, as a bolt
does in its nut, keeps its heights however far it goes.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import FALSE, TRUE, inlined_kernel, inner_kernel, kernel_part, leaf_kernel
from ...linalg.vec3 import add, distance2, divided, dot, norm, rotated, rotated_back, sub, vec
from .mesh_pair import pair_of
from .near_triangles import are_farther, put_bounds
from .queries import triangle_corners

__all__ = ["covers", "still_near"]


@kernel_part
def turned_since(meeting, walk):
    """By how much of its distance from the axis a point moves as the second surface turns in the axes of the first since a
    walk: 2 sin(angle / 2), which is the norm of the difference of the two matrices over the root of 2."""
    squared = 0.0
    for i in range(3):
        for k in range(3):
            squared += (meeting.turn[i, k] - walk.turn[i, k]) ** 2
    return np.sqrt(0.5 * squared)


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
def put_ways(meeting, walk, surface, of_first, turned, ways):
    """Writes how the middle of each triangle of a surface has moved in the other one's axes since a walk, and by how much its
    corners may have moved beside it, into ways (t, 4): the farthest that a corner may have moved."""
    most = 0.0
    for f in range(len(ways)):
        p, q, r = triangle_corners(surface.vertices, surface.triangles[f])
        middle = divided(add(add(p, q), r), 3.0)
        radius = np.sqrt(max(distance2(p, middle), distance2(q, middle), distance2(r, middle)))
        way = way_in_second(meeting, walk, middle) if of_first else way_since(meeting, walk, middle)
        ways[f, 0], ways[f, 1], ways[f, 2] = way
        ways[f, 3] = turned * radius
        most = max(most, norm(way) + turned * radius)
    return most


@leaf_kernel
def fill_still_near(table, meeting, walk, limit, ways, other_ways, boxes, out):
    """Writes the rows of `still_near` into out (k, 2), and returns how many there are. ways, other_ways: (t, 4) of the two
    surfaces, boxes: (2, 6), for work."""
    pair = pair_of(table, meeting)
    a, b = pair.first, pair.second
    turned, most, sift = turned_since(meeting, walk), 0.0, limit < np.inf
    if sift:
        most = put_ways(meeting, walk, a, TRUE, turned, ways)
        most = max(most, put_ways(meeting, walk, b, FALSE, turned, other_ways))
    box, other, count = boxes[0], boxes[1], 0
    for row in range(len(walk.rows)):
        # most rows are left out by this alone, without a look at where their triangles are
        if walk.clear[row] - most > limit:
            continue
        f, g = walk.rows[row, 0], walk.rows[row, 1]
        if sift:
            over_f = abs(dot(vec(a.normals, f), vec(other_ways, g))) + other_ways[g, 3]
            over_g = abs(dot(vec(b.normals, g), vec(ways, f))) + ways[f, 3]
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
    s, t = meeting.first, meeting.second
    ways = np.empty((table.first_triangle[s + 1] - table.first_triangle[s], 4))
    other_ways = np.empty((table.first_triangle[t + 1] - table.first_triangle[t], 4))
    out = np.empty((len(walk.rows), 2), np.int64)
    # to look at few pairs is quicker than at where all triangles have moved to
    if len(walk.rows) < len(ways) + len(other_ways):
        limit = np.inf
    return out[: fill_still_near(table, meeting, walk, limit, ways, other_ways, np.empty((2, 6)), out)]
