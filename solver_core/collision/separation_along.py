# SPDX-License-Identifier: GPL-3.0-or-later
"""The distance between two convex bodies along a direction: whether a plane across that direction separates them.

s_n = min over B of n . x - max over A of n . x. The plane separates the bodies where s_n >= 0. A direction that separates them
as a step begins and as it ends keeps them apart in between, as far as they do not turn: s_n is linear in the time then.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import leaf_kernel
from ..geometry.shapes import HULL, MESH, PLANE
from ..linalg.vec3 import dot, negative, rotated_back, vec
from .revolution.solid import round_shape_at, support

__all__ = ["is_one_convex", "separation_along"]

IDENTITY, ORIGIN = np.eye(3), np.zeros(3)
# Cosine: a half-space ends only along its own normal.
ALONG_NORMAL = 1.0 - 1e-12


@leaf_kernel
def is_one_convex(shapes, body):
    """Whether a body consists of one convex collider."""
    first = shapes.first_collider[body]
    return shapes.first_collider[body + 1] - first == 1 and shapes.kind[first] != MESH


@leaf_kernel
def separation_along(shapes, position, rotation, pair, normal):
    """The distance in m of two bodies along a direction, negative where their projections on it overlap.

    Parameters
    ----------
    shapes : ShapeTable
    position, rotation : (n, 3) m and (n, 3, 3), poses of all bodies
    pair : bodies (a, b), each of one convex collider
    normal : unit, from a to b

    Returns
    -------
    m, -inf where a body has no end along the direction.
    """
    a, b = pair
    of_a = support_height(shapes, position, rotation, a, normal)
    return -of_a - support_height(shapes, position, rotation, b, negative(normal))


@leaf_kernel
def support_height(shapes, position, rotation, body, direction):
    """The largest direction . x in m over the points x of a body of one convex collider, in the world."""
    c = shapes.first_collider[body]
    of_body = rotated_back(rotation[body], direction)
    own = rotated_back(shapes.rotation[c], of_body)
    origin = dot(direction, vec(position, body)) + dot(of_body, vec(shapes.position, c))
    kind, first = shapes.kind[c], shapes.first_vertex[c]
    if kind == PLANE:
        return origin if own[2] >= ALONG_NORMAL else np.inf
    farthest = -np.inf
    if kind == HULL:
        for i in range(first, first + shapes.vertex_count[c]):
            farthest = max(farthest, dot(own, vec(shapes.vertices, i)))
    else:
        farthest = dot(own, support(round_shape_at(shapes, c, IDENTITY, ORIGIN), own))
    return origin + farthest + shapes.margin[c]
