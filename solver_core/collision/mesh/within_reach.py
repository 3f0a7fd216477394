# SPDX-License-Identifier: GPL-3.0-or-later
"""Rejection of features of two triangles that are farther apart than a distance, by a few comparisons.

For most triangles with overlapping bounds, most features are far apart. Each corner of one triangle gets an outcode: a bit for
each of eight planes around the other triangle beyond which it lies, the six of its bounds and two parallel to it (as in Cohen
and Sutherland's line clipping). An edge whose two ends are beyond the same plane is farther away than the distance. So no
contact is lost.
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
    """Return the heights of three corners over the plane through a point [m]."""
    return dot(normal, sub(corners[0], point)), dot(normal, sub(corners[1], point)), dot(normal, sub(corners[2], point))


@inlined_kernel
def straddles(heights):
    """Return True if three heights over a plane have both signs."""
    return min(heights) < 0.0 and max(heights) >= 0.0


@inlined_kernel
def corners_within(heights, limit):
    """Return the corners whose heights over a plane are within a limit [m] on either side, as bits."""
    return int(abs(heights[0]) <= limit) | int(abs(heights[1]) <= limit) << 1 | int(abs(heights[2]) <= limit) << 2


@inlined_kernel
def all_beyond(heights, limit):
    """Return True if three heights over a plane are all on one side of it and beyond a limit [m]."""
    return min(heights) > limit or max(heights) < -limit


@inlined_kernel
def one_sided_distance(heights):
    """Return the distance of a triangle from a plane if it is all on one side [m]; negative if it is on both sides."""
    return max(min(heights), -max(heights))


@inlined_kernel
def min_height_of(heights, which):
    """Return the smallest absolute value of those of three heights whose bits are set [m], or inf for none."""
    first = abs(heights[0]) if which & 1 else np.inf
    second = abs(heights[1]) if which & 2 else np.inf
    return min(first, second, abs(heights[2]) if which & 4 else np.inf)


@inlined_kernel
def clearance(heights, others, owned, owned_by_other):
    """Return a limit [m] up to which two triangles have no contact and do not intersect.

    Up to that limit, one triangle is all on one side of the other's plane and owns no corner near it.

    heights, others: heights of the corners of each triangle over the plane of the other [m].
    owned, owned_by_other: bits of the features owned by the triangles with the heights `others` and `heights`, as in a
        `SurfaceTable`.
    """
    return max(
        min(one_sided_distance(heights), min_height_of(others, owned)),
        min(one_sided_distance(others), min_height_of(heights, owned_by_other)),
    )


@inlined_kernel
def planes_separate(heights, others, limit):
    """Return True if the planes of two triangles prove that none of their features are within a limit [m].

    No corner is within the limit of the other plane, and one triangle is all on one side. heights, others: as in `clearance`.
    """
    return (corners_within(heights, limit) | corners_within(others, limit)) == 0 and (
        all_beyond(heights, limit) or all_beyond(others, limit)
    )


@inlined_kernel
def outcode(point, height, lower, upper, limit):
    """Return the planes around a triangle beyond which a point lies by more than a limit [m], as bits.

    height: of the point over the triangle [m]. lower, upper: bounds of the triangle [m].
    """
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
    """Return the lower corner of the bounds of a triangle."""
    p, q, r = corners
    return min(p[0], q[0], r[0]), min(p[1], q[1], r[1]), min(p[2], q[2], r[2])


@inlined_kernel
def upper_corner(corners):
    """Return the upper corner of the bounds of a triangle."""
    p, q, r = corners
    return max(p[0], q[0], r[0]), max(p[1], q[1], r[1]), max(p[2], q[2], r[2])


@inlined_kernel
def features_in_reach(corners, heights, other, limit):
    """Return the corners and edges of a triangle that may be within a limit [m] of another triangle, as bits.

    The bits are those of `owned` in a `SurfaceTable`; edge k leads from corner k to the next.

    corners: of the triangle. heights: of its corners over the plane of the other one [m]. other: corners of the other one.
    """
    lower, upper = lower_corner(other), upper_corner(other)
    first = outcode(corners[0], heights[0], lower, upper, limit)
    second = outcode(corners[1], heights[1], lower, upper, limit)
    third = outcode(corners[2], heights[2], lower, upper, limit)
    found = int(first == 0) | int(second == 0) << 1 | int(third == 0) << 2
    return found | int(first & second == 0) << 3 | int(second & third == 0) << 4 | int(third & first == 0) << 5


@inlined_kernel
def edge_bounds_apart(p, end, q, other_end, limit):
    """Return True if the bounds of edges p to end and q to other_end are farther apart along an axis than a limit [m]."""
    apart = False
    for k in range(3):
        apart = apart or min(p[k], end[k]) > max(q[k], other_end[k]) + limit
        apart = apart or max(p[k], end[k]) < min(q[k], other_end[k]) - limit
    return apart
