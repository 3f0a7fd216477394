# SPDX-License-Identifier: GPL-3.0-or-later
"""Conservative rejection of impacts: triangles that one fixed direction separates for the whole step.

A point x starts along its initial velocity u(x) = v + w x (x - c). Rotation deflects it from that line by at most r min(1/2 (w
t)^2, 2 w t). So along a fixed direction n the gap of two sets of points is at least

    min over y of (y + t u(y)) . n  -  max over x of (x + t u(x)) . n  -  deflection,    u(x) . n = v . n + (n x w) . (x - c)

The first two terms are concave in t, so their minimum is at the start or the end of the step. At both, the extremes are at
corners.
"""

from __future__ import annotations

from ...compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ...geometry.shapes import PLANE
from ...linalg.vec3 import add, cross, divided, dot, is_zero, negative, norm, rotated, rotated_back, sub, vec
from .queries import triangle_corners

__all__ = ["arc_deviation", "stays_separated"]


@inlined_kernel
def arc_deviation(spin, radius):
    """Return the largest deviation of points within a radius [m] from their initial direction, for a rotation vector [rad], in
    m.
    """
    angle = norm(spin)
    return radius * min(0.5 * angle * angle, 2.0 * angle)


@inlined_kernel
def min_support(shapes, triangles, sweep, g, direction):
    """Return the smallest component of triangle g of the other collider along a vector in the frame of the mesh [m].

    g: the triangle, or -1 for the core of the other collider. A half-space counts as its plane's origin.
    """
    other = sweep.other
    local_direction, least = rotated_back(sweep.turn, direction), 0.0
    if g >= 0:
        p, q, r = triangle_corners(triangles.vertices, triangles.corners[g])
        least = min(dot(local_direction, p), dot(local_direction, q), dot(local_direction, r))
    elif shapes.round_radius[other] > 0.0:
        for k in range(3):
            least += local_direction[k] * (shapes.lower[other, k] if local_direction[k] > 0.0 else shapes.upper[other, k])
    elif shapes.kind[other] != PLANE:
        first = shapes.first_vertex[other]
        least = dot(local_direction, vec(shapes.vertices, first))
        for v in range(first + 1, first + shapes.vertex_count[other]):
            least = min(least, dot(local_direction, vec(shapes.vertices, v)))
    return least + dot(direction, sweep.shift)


@inlined_kernel
def min_gap_along(shapes, triangles, sweep, row, corners, n):
    """Return a gap [m] that triangle row[0] of the mesh keeps from the other collider along the unit vector n during the step.

    row: triangle of the mesh, and triangle of the other collider or -1. corners: of the first triangle [m].
    """
    p, q, r = corners
    is_plane = shapes.kind[sweep.other] == PLANE
    gap = min_support(shapes, triangles, sweep, row[1], n) - max(dot(n, p), dot(n, q), dot(n, r))
    turn, other_turn = cross(n, sweep.rotation_vector), cross(n, sweep.other_rotation_vector)
    outward, other_outward = add(n, turn), n if is_plane else add(n, other_turn)
    end = (
        min_support(shapes, triangles, sweep, row[1], other_outward)
        - max(dot(outward, p), dot(outward, q), dot(outward, r))
        + dot(n, sweep.displacement)
    )
    end += dot(turn, sweep.centre)
    if not is_plane:
        end -= dot(other_turn, sweep.other_centre)
    return min(gap, end - sweep.max_arc_deviation)


@kernel_part
def face_axis(shapes, triangles, sweep, row, which):
    """Return a unit vector in the frame of the mesh that may separate triangle row[0] from the other collider.

    It is the normal of either triangle or of the half-space. An odd `which` reverses it.
    """
    if shapes.kind[sweep.other] == PLANE:
        return -sweep.turn[0, 2], -sweep.turn[1, 2], -sweep.turn[2, 2]
    normal = vec(triangles.normals, row[0]) if which < 2 else rotated(sweep.turn, vec(triangles.normals, row[1]))
    return normal if which % 2 == 0 else negative(normal)


@kernel_part
def separated_by_edge_axes(shapes, triangles, sweep, row, corners, allowed_gap):
    """Do the same as `stays_separated` for two triangles, along the line of their centers and the cross products of their
    edges.
    """
    u, v, w = triangle_corners(triangles.vertices, triangles.corners[row[1]])
    turn, shift = sweep.turn, sweep.shift
    others = add(rotated(turn, u), shift), add(rotated(turn, v), shift), add(rotated(turn, w), shift)
    between = sub(add(add(others[0], others[1]), others[2]), add(add(corners[0], corners[1]), corners[2]))
    for which in range(10):
        n = between
        if which < 9:
            i, k = which // 3, which % 3
            edge = sub(corners[i + 1 if i < 2 else 0], corners[i])
            n = cross(edge, sub(others[k + 1 if k < 2 else 0], others[k]))
        length = norm(n)
        if length == 0.0:
            continue
        n = divided(n, length if dot(n, between) >= 0.0 else -length)
        if min_gap_along(shapes, triangles, sweep, row, corners, n) >= allowed_gap:
            return True
    return False


@leaf_kernel
def stays_separated(shapes, triangles, sweep, row, allowed_gap):
    """Return True if triangle row[0] of the mesh surely keeps a gap of `allowed_gap` [m] between the cores along a separating
    axis.

    `impact` would find the same at a much higher cost.
    """
    corners = triangle_corners(triangles.vertices, triangles.corners[row[0]])
    for which in range(4 if row[1] >= 0 else 2):
        n = face_axis(shapes, triangles, sweep, row, which)
        if not is_zero(n) and min_gap_along(shapes, triangles, sweep, row, corners, n) >= allowed_gap:
            return True
    return row[1] >= 0 and separated_by_edge_axes(shapes, triangles, sweep, row, corners, allowed_gap)
