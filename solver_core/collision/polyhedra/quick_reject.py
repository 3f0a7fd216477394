# SPDX-License-Identifier: GPL-3.0-or-later
"""Cheap proofs that two cores are farther apart than a limit, before the vertices of one are moved into the frame of the other.

Each is an axis along which the cores, or what bounds them, are separated: the line between the centres with bounding spheres,
the sides of the bounding boxes, and the line between the centres with the vertices themselves.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel

__all__ = ["surely_apart"]

# Relative to the cores' radii: what rounding may take from a separation.
SEPARATION_NOISE = 1e-10


@inlined_kernel
def boxes_apart(a, b, turn, cx, cy, cz, limit):
    """Whether the bounding boxes, each in its own core's axes, are separated along one of their sides.

    (cx, cy, cz): from the centre of a's box to that of b's, in a's frame.
    """
    ax, ay, az = 0.5 * (a.upper[0] - a.lower[0]), 0.5 * (a.upper[1] - a.lower[1]), 0.5 * (a.upper[2] - a.lower[2])
    bx, by, bz = 0.5 * (b.upper[0] - b.lower[0]), 0.5 * (b.upper[1] - b.lower[1]), 0.5 * (b.upper[2] - b.lower[2])
    if abs(cx) > ax + limit + abs(turn[0, 0]) * bx + abs(turn[0, 1]) * by + abs(turn[0, 2]) * bz:
        return True
    if abs(cy) > ay + limit + abs(turn[1, 0]) * bx + abs(turn[1, 1]) * by + abs(turn[1, 2]) * bz:
        return True
    if abs(cz) > az + limit + abs(turn[2, 0]) * bx + abs(turn[2, 1]) * by + abs(turn[2, 2]) * bz:
        return True
    for k in range(3):
        x, y, z = turn[0, k], turn[1, k], turn[2, k]
        half = bx if k == 0 else (by if k == 1 else bz)
        if abs(x * cx + y * cy + z * cz) > half + limit + abs(x) * ax + abs(y) * ay + abs(z) * az:
            return True
    return False


@inlined_kernel
def farthest_along(vertices, x, y, z):
    """The largest component of the vertices along (x, y, z)."""
    farthest = -np.inf
    for i in range(len(vertices)):
        farthest = max(farthest, x * vertices[i, 0] + y * vertices[i, 1] + z * vertices[i, 2])
    return farthest


@inlined_kernel
def surely_apart(a, radius_a, b, radius_b, turn, shift, limit):
    """Whether core b, turned by (3, 3) and shifted by (3,) into the frame of core a, is surely farther from it than the limit.

    radius_a, radius_b: from the centre of each to its farthest vertex.
    """
    limit += SEPARATION_NOISE * (radius_a + radius_b)
    x, y, z = b.centre[0], b.centre[1], b.centre[2]
    cx = turn[0, 0] * x + turn[0, 1] * y + turn[0, 2] * z + shift[0] - a.centre[0]
    cy = turn[1, 0] * x + turn[1, 1] * y + turn[1, 2] * z + shift[1] - a.centre[1]
    cz = turn[2, 0] * x + turn[2, 1] * y + turn[2, 2] * z + shift[2] - a.centre[2]
    squared = cx * cx + cy * cy + cz * cz
    if squared > (radius_a + radius_b + limit) ** 2:
        return True
    x, y, z = 0.5 * (b.lower[0] + b.upper[0]), 0.5 * (b.lower[1] + b.upper[1]), 0.5 * (b.lower[2] + b.upper[2])
    mx = turn[0, 0] * x + turn[0, 1] * y + turn[0, 2] * z + shift[0] - 0.5 * (a.lower[0] + a.upper[0])
    my = turn[1, 0] * x + turn[1, 1] * y + turn[1, 2] * z + shift[1] - 0.5 * (a.lower[1] + a.upper[1])
    mz = turn[2, 0] * x + turn[2, 1] * y + turn[2, 2] * z + shift[2] - 0.5 * (a.lower[2] + a.upper[2])
    if boxes_apart(a, b, turn, mx, my, mz, limit):
        return True
    if squared == 0.0:
        return False
    length = np.sqrt(squared)
    # The direction from b to a in b's frame, and how far each reaches towards the other from its own origin.
    ux = -(turn[0, 0] * cx + turn[1, 0] * cy + turn[2, 0] * cz)
    uy = -(turn[0, 1] * cx + turn[1, 1] * cy + turn[2, 1] * cz)
    uz = -(turn[0, 2] * cx + turn[1, 2] * cy + turn[2, 2] * cz)
    between = cx * shift[0] + cy * shift[1] + cz * shift[2]
    reaches = farthest_along(a.vertices, cx, cy, cz) + farthest_along(b.vertices, ux, uy, uz)
    return between - reaches > limit * length
