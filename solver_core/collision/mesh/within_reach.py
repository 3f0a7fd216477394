# SPDX-License-Identifier: GPL-3.0-or-later
"""Rejection of triangles that are farther apart than a distance, by the heights of their corners over each other's planes."""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel
from ...linalg.vec3 import dot, sub

__all__ = [
    "all_beyond",
    "clearance",
    "corners_within",
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
