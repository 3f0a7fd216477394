# SPDX-License-Identifier: GPL-3.0-or-later
"""Closest points of a cylinder or cone and a polyhedron, exact if they are separated.

The distance from the round shape is a convex function of a point, known in closed form, and the polyhedron is the convex hull
of its vertices. The search keeps up to three vertices, minimizes the distance over their hull, and adds the vertex that is
lowest along the normal found, until none is lower. Each minimum is exact, so the search ends after finitely many steps. The
separation along the normal is a lower bound of the distance, and the search ends where the two meet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compile.kernel import kernel_part, leaf_kernel
from ...linalg.vec3 import advanced, cross, divided, dot, norm, scaled, sub, vec
from ..polyhedra.separation import lowest_vertex
from .bracketing import MAX_BISECTIONS, NO_SLOPE, narrow_bracket, next_guess
from .solid import inner_point, signed_distance, support

__all__ = ["APART", "NO_VERTICES", "OUT_OF_REACH", "OVERLAPPING", "Closest", "closest_to_hull", "separation_of_hull"]

OUT_OF_REACH = 0
APART = 1
OVERLAPPING = 2

# Relative to the coordinates: the bound is met up to this.
BOUND_TOLERANCE = 4e-16
MAX_HULL_STEPS = 60
NO_VERTICES = (-1, -1, -1)


class Closest(NamedTuple):
    """The closest points of a round shape and another shape.

    state: OUT_OF_REACH if the distance exceeds the limit, OVERLAPPING if it does not exceed the noise, else APART.
    distance: [m]. normal: unit vector from the round shape to the other one. point: of the other shape [m].
    vertices: the vertices whose hull contains the point; -1 for fewer than three, or if the other shape is not a polyhedron.
    """

    state: int
    distance: float
    normal: tuple[float, float, float]
    point: tuple[float, float, float]
    vertices: tuple[int, int, int]


@kernel_part
def closest_on_segment(r, a, b, noise):
    """Return the parameter in [0, 1] of the point of a segment closest to the round shape, the root of an increasing slope."""
    way = sub(b, a)
    distance, normal, _ = signed_distance(r, a)
    low = dot(normal, way)
    if low >= 0.0 or distance <= noise:
        return 0.0
    distance, normal, _ = signed_distance(r, b)
    high = dot(normal, way)
    if high <= 0.0 or distance <= noise:
        return 1.0
    s, t = 0.0, 1.0
    small = NO_SLOPE * norm(way)
    side, bisect = 0, False
    for _ in range(MAX_BISECTIONS):
        m = next_guess(s, low, t, high, bisect)
        if not s < m < t:
            return min(max(m, s), t)
        distance, normal, _ = signed_distance(r, advanced(a, m, way))
        slope = dot(normal, way)
        if abs(slope) <= small or distance <= noise:
            return m
        s, low, t, high, side, bisect = narrow_bracket(s, low, t, high, side, m, slope)
    return 0.5 * (s + t)


@kernel_part
def inside_triangle(point, a, b, c, normal):
    """Return True if a point in the plane of a triangle is inside it."""
    for k in range(3):
        p = a if k == 0 else (b if k == 1 else c)
        q = b if k == 0 else (c if k == 1 else a)
        if dot(normal, cross(sub(q, p), sub(point, p))) < 0.0:
            return False
    return True


@kernel_part
def closest_in_triangle(r, a, b, c):
    """Find the point inside a triangle closest to the round shape. Returns whether there is one, and the point [m]."""
    normal = cross(sub(b, a), sub(c, a))
    length = norm(normal)
    if length == 0.0:
        return False, a
    normal = divided(normal, length)
    for sign in (1.0, -1.0):
        point = support(r, scaled(sign, normal))
        height = dot(normal, sub(a, point))
        if sign * height > 0.0:
            point = advanced(point, height, normal)
            if inside_triangle(point, a, b, c, normal):
                return True, point
    return False, a


@kernel_part
def tetrahedron_contains(vertices, i, j, k, m, point):
    """Return True if the tetrahedron of four vertices contains a point."""
    for face in range(4):
        a = vec(vertices, j if face == 0 else i)
        b = vec(vertices, k if face <= 1 else j)
        c = vec(vertices, m if face <= 2 else k)
        d = vec(vertices, i if face == 0 else (j if face == 1 else (k if face == 2 else m)))
        normal = cross(sub(b, a), sub(c, a))
        if dot(normal, sub(d, a)) * dot(normal, sub(point, a)) <= 0.0:
            return False
    return True


@kernel_part
def closest_with_vertex(r, vertices, simplex, new, noise):
    """Minimize the distance over the hull of up to three vertices and a new one.

    Only parts with the new vertex are searched: the vertex, the edges to it, and the triangles with it.

    Returns the distance [m], the point [m], and up to three vertices whose hull contains it.
    """
    i, j, k = simplex
    best, closest, with_new_one = np.inf, vec(vertices, new), NO_VERTICES
    corner = vec(vertices, new)
    for edge in range(3):
        old = i if edge == 0 else (j if edge == 1 else k)
        if old < 0:
            continue
        start = vec(vertices, old)
        t = closest_on_segment(r, start, corner, noise)
        point = advanced(start, t, sub(corner, start))
        candidate, _, _ = signed_distance(r, point)
        if candidate < best:
            best, closest = candidate, point
            with_new_one = (new, -1, -1) if t == 1.0 else ((old, -1, -1) if t == 0.0 else (new, old, -1))
    for face in range(3):
        first = i if face < 2 else j
        second = j if face == 0 else k
        if first < 0 or second < 0:
            continue
        found, point = closest_in_triangle(r, corner, vec(vertices, first), vec(vertices, second))
        if found:
            candidate, _, _ = signed_distance(r, point)
            if candidate < best:
                best, closest, with_new_one = candidate, point, (new, first, second)
    return best, closest, with_new_one


@leaf_kernel
def closest_to_hull(r, hull, limit, noise):
    """Return the `Closest` points of a round shape and a polyhedron. limit, noise: see `Closest` [m]."""
    vertices = hull.vertices
    centre = inner_point(r)
    new, _ = lowest_vertex(vertices, sub(hull.centre, centre))
    simplex = new, -1, -1
    point = vec(vertices, new)
    distance, normal, _ = signed_distance(r, point)
    for _ in range(MAX_HULL_STEPS):
        if distance <= noise:
            return Closest(OVERLAPPING, distance, normal, point, simplex)
        new, lowest = lowest_vertex(vertices, normal)
        height = dot(normal, point)
        if lowest - height + distance > limit:
            return Closest(OUT_OF_REACH, distance, normal, point, simplex)
        if new in simplex or height - lowest <= BOUND_TOLERANCE * (abs(point[0]) + abs(point[1]) + abs(point[2]) + distance):
            break
        best, lowest_point, with_new = closest_with_vertex(r, vertices, simplex, new, noise)
        if simplex[2] >= 0 and tetrahedron_contains(vertices, simplex[0], simplex[1], simplex[2], new, centre):
            return Closest(OVERLAPPING, 0.0, normal, point, simplex)
        if best >= distance:
            break
        simplex, point = with_new, lowest_point
        distance, normal, _ = signed_distance(r, point)
    # If the round shape pierces the hull of the vertices, there is neither a closest point nor a separating axis.
    if separation_of_hull(r, hull, normal) <= 0.0:
        return Closest(OVERLAPPING, 0.0, normal, point, simplex)
    return Closest(OUT_OF_REACH if distance > limit else APART, distance, normal, point, simplex)


@leaf_kernel
def separation_of_hull(r, hull, axis):
    """Return the separation along a unit axis from a round shape to a polyhedron [m]."""
    point = support(r, axis)
    _, lowest = lowest_vertex(hull.vertices, axis)
    return lowest - axis[0] * point[0] - axis[1] * point[1] - axis[2] * point[2]
