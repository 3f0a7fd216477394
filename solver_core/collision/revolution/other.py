# SPDX-License-Identifier: GPL-3.0-or-later
"""The body that a cylinder or a cone meets: a polyhedron, or another cylinder or cone."""

from __future__ import annotations

from typing import NamedTuple

from ...compile.kernel import kernel_part
from ...linalg.vec3 import negative, vec
from ..polyhedra.polyhedron import Polyhedron
from ..polyhedra.separation import lowest_vertex
from .solid import RoundShape, support

__all__ = ["OtherShape", "support_of_other"]


class OtherShape(NamedTuple):
    """`hull` if is_hull and else `round`; the one that it is not can be anything of its type."""

    hull: Polyhedron
    round: RoundShape
    is_hull: bool


@kernel_part
def support_of_hull(hull, direction):
    """The vertex that is farthest along a direction."""
    vertex, _ = lowest_vertex(hull.vertices, negative(direction))
    return vec(hull.vertices, vertex)


@kernel_part
def support_of_other(other, direction):
    """The point that is farthest along a direction."""
    return support_of_hull(other.hull, direction) if other.is_hull else support(other.round, direction)
