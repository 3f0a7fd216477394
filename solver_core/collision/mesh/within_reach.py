# SPDX-License-Identifier: GPL-3.0-or-later
"""Which features of two triangles can be within a distance of each other: decided by a few comparisons.

Of most triangles whose bounds meet most features are far apart. Each corner of one gets a bit for each of eight planes about
the other one beyond which it lies, those of its bounds and two along its own (Cohen and Sutherland's code of a line and a
window). An edge both of whose ends are beyond one of them is farther away than the distance, so no contact is lost.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel
from ...linalg.vec3 import dot, sub

__all__ = [
    "all_beyond",
    "clearance",
    "corners_within",
    "edge_bounds_apart",
    "features_in_reach",
    "heights_of",
    "planes_separate",
    "straddles",
]


@inlined_kernel
def heights_of(corners, normal, point):
    """Heights of three corners over the plane through a point."""
    return dot(normal, sub(corners[0], point)), dot(normal, sub(corners[1], point)), dot(normal, sub(corners[2], point))


@inlined_kernel
def straddles(heights):
    """Whether three heights over a plane are not all on one side of it."""
    return min(heights) < 0.0 and max(heights) >= 0.0


@inlined_kernel
def corners_within(heights, limit):
    """The corners whose heights over a plane, either way, are within the limit, as bits."""
    return int(abs(heights[0]) <= limit) | int(abs(heights[1]) <= limit) << 1 | int(abs(heights[2]) <= limit) << 2


@inlined_kernel
def all_beyond(heights, limit):
    """Whether three heights over a plane are all on one side of it, farther than the limit."""
    return min(heights) > limit or max(heights) < -limit


@inlined_kernel
def one_sided_distance(heights):
    """How far in m three heights over a plane are all on one side of it, negative where they are on both."""
    return max(min(heights), -max(heights))


@inlined_kernel
def min_height_of(heights, which):
    """The least of those of three heights, either way, whose bits are set; inf for none."""
    first = abs(heights[0]) if which & 1 else np.inf
    second = abs(heights[1]) if which & 2 else np.inf
    return min(first, second, abs(heights[2]) if which & 4 else np.inf)


@inlined_kernel
def clearance(heights, others, owned, owned_by_other):
    """Up to which limit in m two triangles have no contact and do not cross: that of which one is all on one side of the other
    one, with no corner that the other one owns near its plane. heights, others: of each one's corners over the other one;
    owned: of `others`, bits as in a `SurfaceTable`."""
    return max(
        min(one_sided_distance(heights), min_height_of(others, owned)),
        min(one_sided_distance(others), min_height_of(heights, owned_by_other)),
    )


@inlined_kernel
def planes_separate(heights, others, limit):
    """Whether neither of two triangles has a corner within the limit of the other one's plane, and one of them is all on one
    side of it: none of their features meet. heights, others: of each one's corners over the other one."""
    return (corners_within(heights, limit) | corners_within(others, limit)) == 0 and (
        all_beyond(heights, limit) or all_beyond(others, limit)
    )


@inlined_kernel
def outcode(point, height, lower, upper, limit):
    """The planes about a triangle beyond which a point lies, as bits."""
    return (
        int(point[0] < lower[0] - limit)
        | int(point[0] > upper[0] + limit) << 1
        | int(point[1] < lower[1] - limit) << 2
        | int(point[1] > upper[1] + limit) << 3
        | int(point[2] < lower[2] - limit) << 4
        | int(point[2] > upper[2] + limit) << 5
        | int(height < -limit) << 6
        | int(height > limit) << 7
    )


@inlined_kernel
def lower_corner(corners):
    """The lower corner of the bounds of a triangle."""
    p, q, r = corners
    return min(p[0], q[0], r[0]), min(p[1], q[1], r[1]), min(p[2], q[2], r[2])


@inlined_kernel
def upper_corner(corners):
    """The upper one."""
    p, q, r = corners
    return max(p[0], q[0], r[0]), max(p[1], q[1], r[1]), max(p[2], q[2], r[2])


@inlined_kernel
def features_in_reach(corners, heights, other, limit):
    """The corners and edges of a triangle that may be within the limit of another one, over whose plane its corners have the
    heights given: bits as in `owned` of a `SurfaceTable`, edge k from corner k to the next."""
    lower, upper = lower_corner(other), upper_corner(other)
    first = outcode(corners[0], heights[0], lower, upper, limit)
    second = outcode(corners[1], heights[1], lower, upper, limit)
    third = outcode(corners[2], heights[2], lower, upper, limit)
    found = int(first == 0) | int(second == 0) << 1 | int(third == 0) << 2
    return found | int(first & second == 0) << 3 | int(second & third == 0) << 4 | int(third & first == 0) << 5


@inlined_kernel
def edge_bounds_apart(p, end, q, other_end, limit):
    """Whether the bounds of two edges, from p and q to their ends, are farther apart than the limit along an axis."""
    apart = False
    for k in range(3):
        apart = apart or min(p[k], end[k]) > max(q[k], other_end[k]) + limit
        apart = apart or max(p[k], end[k]) < min(q[k], other_end[k]) - limit
    return apart
