# SPDX-License-Identifier: GPL-3.0-or-later
"""Triangles that surely have no impact within a step, since one direction keeps them apart for all of it.

Points start along straight ways, x + t u(x) with u(x) = v + w x (x - c), and turning bends these by no more than
r min(1/2 (w t)^2, 2 w t). So along a fixed direction n the gap of two sets of points is no less than

    min over y of (y + t u(y)) . n  -  max over x of (x + t u(x)) . n  -  what bends,    u(x) . n = v . n + (n x w) . (x - c),

whose first part is concave in t: its ends decide, and at each the extremes are those of corners.
"""

from __future__ import annotations

from ...compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ...geometry.shapes import PLANE
from ...linalg.vec3 import add, cross, divided, dot, is_zero, negative, norm, rotated, rotated_back, sub, vec
from .queries import triangle_corners

__all__ = ["arc_deviation", "stays_separated"]


@inlined_kernel
def arc_deviation(spin, radius):
    """How far in m points within a radius, at most, leave the straight ways on which they start as they turn by `spin` rad."""
    angle = norm(spin)
    return radius * min(0.5 * angle * angle, 2.0 * angle)


@inlined_kernel
def min_support(shapes, triangles, sweep, g, direction):
    """The least that triangle g of a sweep's other collider, or without one its core, has along a vector in the axes of the
    mesh; of a half-space against its normal."""
    other = sweep.other
    own, least = rotated_back(sweep.turn, direction), 0.0
    if g >= 0:
        p, q, r = triangle_corners(triangles.vertices, triangles.corners[g])
        least = min(dot(own, p), dot(own, q), dot(own, r))
    elif shapes.round_radius[other] > 0.0:
        for k in range(3):
            least += own[k] * (shapes.lower[other, k] if own[k] > 0.0 else shapes.upper[other, k])
    elif shapes.kind[other] != PLANE:
        first = shapes.first_vertex[other]
        least = dot(own, vec(shapes.vertices, first))
        for v in range(first + 1, first + shapes.vertex_count[other]):
            least = min(least, dot(own, vec(shapes.vertices, v)))
    return least + dot(direction, sweep.shift)


@inlined_kernel
def min_gap_along(shapes, triangles, sweep, row, corners, n):
    """A gap in m that triangle row[0] of a sweep's mesh, with the corners given, and what it meets keep along a unit vector."""
    p, q, r = corners
    is_plane = shapes.kind[sweep.other] == PLANE
    gap = min_support(shapes, triangles, sweep, row[1], n) - max(dot(n, p), dot(n, q), dot(n, r))
    turn, other_turn = cross(n, sweep.rotation_vector), cross(n, sweep.other_rotation_vector)
    own, other = add(n, turn), n if is_plane else add(n, other_turn)
    end = (
        min_support(shapes, triangles, sweep, row[1], other)
        - max(dot(own, p), dot(own, q), dot(own, r))
        + dot(n, sweep.displacement)
    )
    end += dot(turn, sweep.centre)
    if not is_plane:
        end -= dot(other_turn, sweep.other_centre)
    return min(gap, end - sweep.max_arc_deviation)


@kernel_part
def face_axis(shapes, triangles, sweep, row, which):
    """A unit vector, in the axes of a sweep's mesh, along which triangle row[0] of it may be apart from what it meets: off this
    triangle, or off the other one or a half-space, one way or the other."""
    if shapes.kind[sweep.other] == PLANE:
        return -sweep.turn[0, 2], -sweep.turn[1, 2], -sweep.turn[2, 2]
    normal = vec(triangles.normals, row[0]) if which < 2 else rotated(sweep.turn, vec(triangles.normals, row[1]))
    return normal if which % 2 == 0 else negative(normal)


@kernel_part
def separated_by_edge_axes(shapes, triangles, sweep, row, corners, allowed_gap):
    """As `keeps_clear`, of two triangles, along the line of their middles and along what is square to an edge of each."""
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
    """Whether triangle row[0] of a sweep's mesh, and what it meets, surely keep a gap of no less than `harmless` in m between
    their cores, along a normal of either. That is what `impact` would find, at many times the price."""
    corners = triangle_corners(triangles.vertices, triangles.corners[row[0]])
    for which in range(4 if row[1] >= 0 else 2):
        n = face_axis(shapes, triangles, sweep, row, which)
        if not is_zero(n) and min_gap_along(shapes, triangles, sweep, row, corners, n) >= allowed_gap:
            return True
    return row[1] >= 0 and separated_by_edge_axes(shapes, triangles, sweep, row, corners, allowed_gap)
