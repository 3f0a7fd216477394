# SPDX-License-Identifier: GPL-3.0-or-later
"""The half-space of a plane, in the frame of the other collider of its pair."""

from __future__ import annotations

from typing import NamedTuple

from ..compile.kernel import inlined_kernel
from ..linalg.vec3 import dot

__all__ = ["HalfSpace", "height_of_box", "height_over", "plane_of"]


class HalfSpace(NamedTuple):
    """All points p with normal . p <= offset [m].

    is_a: True if the plane is the first collider of its pair.
    """

    normal: tuple[float, float, float]
    offset: float
    is_a: bool


@inlined_kernel
def plane_of(turn, shift, is_a):
    """Return the half-space z <= 0 after a rotation by turn (3, 3) and a translation by shift (3,) [m]."""
    normal = turn[0, 2], turn[1, 2], turn[2, 2]
    return HalfSpace(normal, dot(normal, shift), is_a)


@inlined_kernel
def height_over(plane, point):
    """Return the height of a point over a half-space [m]."""
    return dot(plane.normal, point) - plane.offset


@inlined_kernel
def height_of_box(plane, box):
    """Return the height of the lowest corner of a box over a half-space [m]. box: (6,) lower and upper corner."""
    x, y, z = plane.normal
    low = min(x * box[0], x * box[3]) + min(y * box[1], y * box[4]) + min(z * box[2], z * box[5])
    return low - plane.offset
