# SPDX-License-Identifier: GPL-3.0-or-later
"""The other shape of a pair with a cylinder or a cone: a polyhedron, or another cylinder or cone."""

from __future__ import annotations

from typing import NamedTuple

from ...compile.kernel import kernel_part
from ...linalg.vec3 import negative, vec
from ..polyhedra.polyhedron import Polyhedron
from ..polyhedra.separation import lowest_vertex
from .solid import RoundShape, support

__all__ = ["OtherShape", "support_of_other"]


class OtherShape(NamedTuple):
    """The polyhedron `hull` if is_hull, else the round shape `round`. The other field may be any value of its type."""

    hull: Polyhedron
    round: RoundShape
    is_hull: bool


@kernel_part
def support_of_hull(hull, direction):
    """Return the vertex of a polyhedron that is farthest along a direction [m]."""
    vertex, _ = lowest_vertex(hull.vertices, negative(direction))
    return vec(hull.vertices, vertex)


@kernel_part
def support_of_other(other, direction):
    """Return the point of the other shape that is farthest along a direction [m]."""
    return support_of_hull(other.hull, direction) if other.is_hull else support(other.round, direction)
