# SPDX-License-Identifier: GPL-3.0-or-later
"""Fast proofs that two cores are farther apart than a limit, before the vertices of one are transformed to the frame of the
other.

Each proof is an axis that separates the cores or their bounds: the line of the centers for bounding spheres, the sides of the
bounding boxes, and the line of the centers for the vertices.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, kernel_part
from ...linalg.vec3 import add, dot, midpoint, negative, norm2, rotated, rotated_back, scaled, sub, vec

__all__ = ["surely_apart"]

# Relative to the radii of the cores: bound of the rounding error of a separation.
SEPARATION_NOISE = 1e-10


@kernel_part
def boxes_apart(a, b, turn, offset, limit):
    """Return True if a side of either bounding box separates the boxes by more than a limit [m].

    Each box is aligned with the frame of its core. turn: (3, 3) rotation from the frame of b to that of a.
    offset: from the center of the box of a to that of b, in the frame of a [m].
    """
    ax, ay, az = scaled(0.5, sub(a.upper, a.lower))
    bx, by, bz = scaled(0.5, sub(b.upper, b.lower))
    if abs(offset[0]) > ax + limit + abs(turn[0, 0]) * bx + abs(turn[0, 1]) * by + abs(turn[0, 2]) * bz:
        return True
    if abs(offset[1]) > ay + limit + abs(turn[1, 0]) * bx + abs(turn[1, 1]) * by + abs(turn[1, 2]) * bz:
        return True
    if abs(offset[2]) > az + limit + abs(turn[2, 0]) * bx + abs(turn[2, 1]) * by + abs(turn[2, 2]) * bz:
        return True
    for k in range(3):
        side = turn[0, k], turn[1, k], turn[2, k]
        half = bx if k == 0 else (by if k == 1 else bz)
        if abs(dot(side, offset)) > half + limit + abs(side[0]) * ax + abs(side[1]) * ay + abs(side[2]) * az:
            return True
    return False


@inlined_kernel
def max_along(vertices, direction):
    """Return the largest component of the vertices along a direction."""
    farthest = -np.inf
    for i in range(len(vertices)):
        farthest = max(farthest, dot(direction, vec(vertices, i)))
    return farthest


@inlined_kernel
def surely_apart(a, radius_a, b, radius_b, turn, shift, limit):
    """Return True if two cores are surely farther apart than a limit [m].

    radius_a, radius_b: from the center of each core to its farthest vertex [m].
    turn, shift: (3, 3) rotation and (3,) translation [m] of b in the frame of a.
    """
    limit += SEPARATION_NOISE * (radius_a + radius_b)
    offset = sub(add(rotated(turn, b.centre), shift), a.centre)
    squared = norm2(offset)
    if squared > (radius_a + radius_b + limit) ** 2:
        return True
    between_boxes = sub(add(rotated(turn, midpoint(b.lower, b.upper)), shift), midpoint(a.lower, a.upper))
    if boxes_apart(a, b, turn, between_boxes, limit):
        return True
    if squared == 0.0:
        return False
    # The direction from b to a in the frame of b, and the support of each core toward the other.
    back = negative(rotated_back(turn, offset))
    reaches = max_along(a.vertices, offset) + max_along(b.vertices, back)
    return dot(offset, shift) - reaches > limit * np.sqrt(squared)
