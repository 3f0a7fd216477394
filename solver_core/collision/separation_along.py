# SPDX-License-Identifier: GPL-3.0-or-later
"""The separation of two convex bodies along a direction: whether a plane perpendicular to the direction separates them.

The separation is s_n = min over B of n . x - max over A of n . x. A plane separates the bodies if s_n >= 0. A direction that
separates them at the start and at the end of a step separates them in between, as long as they do not rotate, because s_n is
then linear in time.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import leaf_kernel
from ..geometry.shapes import HULL, MESH, PLANE
from ..linalg.vec3 import dot, negative, rotated_back, vec
from .revolution.solid import round_shape_at, support

__all__ = ["has_face_along", "is_one_convex", "separation_along"]

IDENTITY = np.eye(3)
ORIGIN = np.zeros(3)
# Cosine from which a direction counts as the normal of a half-space, the only direction in which it is bounded.
ALONG_NORMAL = 1.0 - 1e-12
# Radians by which a face may be inclined to the plane perpendicular to a direction: the error of normals between steps.
INCLINED = 2e-3
CORNERS_OF_A_FACE = 3


@leaf_kernel
def is_one_convex(shapes, body):
    """Return True if a body has a single, convex collider."""
    first = shapes.first_collider[body]
    return shapes.first_collider[body + 1] - first == 1 and shapes.kind[first] != MESH


@leaf_kernel
def separation_along(shapes, position, rotation, pair, normal):
    """Return the separation of two bodies along a direction, negative if their projections overlap [m].

    Parameters
    ----------
    shapes : ShapeTable
    position, rotation : (n, 3) [m] and (n, 3, 3)
        Poses of all bodies.
    pair : (int, int)
        Bodies a and b, each with a single convex collider.
    normal : (3,)
        Unit vector from a to b.

    Returns
    -------
    float
        [m], -inf if a body is unbounded along the direction.
    """
    a, b = pair
    of_a = support_height(shapes, position, rotation, a, normal)
    return -of_a - support_height(shapes, position, rotation, b, negative(normal))


@leaf_kernel
def has_face_along(shapes, rotation, body, direction):
    """Return whether a body with a single convex collider has a face perpendicular to a direction, its outward normal.

    Parameters
    ----------
    shapes : ShapeTable
    rotation : (n, 3, 3)
        Rotations of all bodies.
    body : int
    direction : (3,)
        Unit vector.

    Returns
    -------
    bool
        False if the body touches the plane in an edge, in a corner, or with a round surface.
    """
    c = shapes.first_collider[body]
    local_direction = rotated_back(shapes.rotation[c], rotated_back(rotation[body], direction))
    kind, first, last = shapes.kind[c], shapes.first_vertex[c], shapes.first_vertex[c] + shapes.vertex_count[c]
    if kind == PLANE:
        return True
    if kind != HULL:
        of_round = round_shape_at(shapes, c, IDENTITY, ORIGIN)
        along = dot(of_round.axis, local_direction)
        return max(-along, -1.0 if of_round.is_cone else along) > 1.0 - 0.5 * INCLINED * INCLINED
    highest, lowest, corners = -np.inf, np.inf, 0
    for i in range(first, last):
        height = dot(local_direction, vec(shapes.vertices, i))
        highest, lowest = max(highest, height), min(lowest, height)
    for i in range(first, last):
        corners += dot(local_direction, vec(shapes.vertices, i)) >= highest - INCLINED * (highest - lowest)
    return corners >= CORNERS_OF_A_FACE


@leaf_kernel
def support_height(shapes, position, rotation, body, direction):
    """Return the maximum of direction . x over the points x of a body with a single convex collider, in the world [m]."""
    c = shapes.first_collider[body]
    of_body = rotated_back(rotation[body], direction)
    local_direction = rotated_back(shapes.rotation[c], of_body)
    origin = dot(direction, vec(position, body)) + dot(of_body, vec(shapes.position, c))
    kind, first = shapes.kind[c], shapes.first_vertex[c]
    if kind == PLANE:
        return origin if local_direction[2] >= ALONG_NORMAL else np.inf
    farthest = -np.inf
    if kind == HULL:
        for i in range(first, first + shapes.vertex_count[c]):
            farthest = max(farthest, dot(local_direction, vec(shapes.vertices, i)))
    else:
        farthest = dot(local_direction, support(round_shape_at(shapes, c, IDENTITY, ORIGIN), local_direction))
    return origin + farthest + shapes.margin[c]
