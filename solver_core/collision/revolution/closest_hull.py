# SPDX-License-Identifier: GPL-3.0-or-later
"""Closest points of a cylinder or cone and another convex body, exact while they are apart.

Against a polyhedron: the distance from the round body is a convex function of a point, known in closed form, and the polyhedron
is the hull of its vertices. The search keeps at most three of these, minimises over their hull, and adds the vertex that
lies lowest along the normal found, until none lies lower. Each minimum is exact, so the search ends after finitely many.

Against another round body: the algorithm of Gilbert, Johnson and Keerthi (1988) comes close, and the pair of features that it
points at is then solved by itself: apex, cap and rim of either body against the other, or two sides.

In both cases the separation along the normal bounds the distance from below, and the search ends where that bound is met.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import leaf_kernel
from ..polyhedra.separation import lowest_vertex
from .bracketing import MAX_BISECTIONS, guess, narrowed
from .solid import centre_of, signed_distance, support

__all__ = ["APART", "OUT_OF_REACH", "OVERLAPPING", "closest_to_hull", "separation_of_hull"]

OUT_OF_REACH = 0
APART = 1
OVERLAPPING = 2

# The bound is met within this fraction of the bodies' coordinates.
EPSILONS = 4e-16
MAX_HULL_STEPS = 60


@leaf_kernel
def lowest_on_segment(r, ax, ay, az, bx, by, bz, noise):
    """The parameter in [0, 1] of the point of a segment closest to the round body: the root of a monotone slope."""
    dx, dy, dz = bx - ax, by - ay, bz - az
    distance, x, y, z, _ = signed_distance(r, ax, ay, az)
    low = x * dx + y * dy + z * dz
    if low >= 0.0 or distance <= noise:
        return 0.0
    distance, x, y, z, _ = signed_distance(r, bx, by, bz)
    high = x * dx + y * dy + z * dz
    if high <= 0.0 or distance <= noise:
        return 1.0
    s, t = 0.0, 1.0
    small = 1e-16 * np.sqrt(dx * dx + dy * dy + dz * dz)
    side, bisect = 0, False
    for _ in range(MAX_BISECTIONS):
        m = guess(s, low, t, high, bisect)
        if not s < m < t:
            return min(max(m, s), t)
        distance, x, y, z, _ = signed_distance(r, ax + m * dx, ay + m * dy, az + m * dz)
        slope = x * dx + y * dy + z * dz
        if abs(slope) <= small or distance <= noise:
            return m
        s, low, t, high, side, bisect = narrowed(s, low, t, high, side, m, slope)
    return 0.5 * (s + t)


@leaf_kernel
def inside_triangle(px, py, pz, a, b, c, nx, ny, nz):
    """Whether a point of the plane of a triangle, whose corners are rows and whose normal is given, lies in it."""
    for k in range(3):
        p = a if k == 0 else (b if k == 1 else c)
        q = b if k == 0 else (c if k == 1 else a)
        ex, ey, ez = q[0] - p[0], q[1] - p[1], q[2] - p[2]
        fx, fy, fz = px - p[0], py - p[1], pz - p[2]
        if nx * (ey * fz - ez * fy) + ny * (ez * fx - ex * fz) + nz * (ex * fy - ey * fx) < 0.0:
            return False
    return True


@leaf_kernel
def over_triangle(r, vertices, i, j, k):
    """The point of a triangle's inside that is closest to the round body: (found, x, y, z)."""
    a, b, c = vertices[i], vertices[j], vertices[k]
    ex, ey, ez = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    fx, fy, fz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    nx, ny, nz = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx
    length = np.sqrt(nx * nx + ny * ny + nz * nz)
    if length == 0.0:
        return False, 0.0, 0.0, 0.0
    nx, ny, nz = nx / length, ny / length, nz / length
    for turn in range(2):
        sign = 1.0 if turn == 0 else -1.0
        px, py, pz = support(r, sign * nx, sign * ny, sign * nz)
        height = nx * (a[0] - px) + ny * (a[1] - py) + nz * (a[2] - pz)
        if sign * height > 0.0:
            px, py, pz = px + height * nx, py + height * ny, pz + height * nz
            if inside_triangle(px, py, pz, a, b, c, nx, ny, nz):
                return True, px, py, pz
    return False, 0.0, 0.0, 0.0


@leaf_kernel
def encloses(vertices, i, j, k, m, x, y, z):
    """Whether a tetrahedron of four vertices holds a point."""
    for face in range(4):
        a = vertices[j if face == 0 else i]
        b = vertices[k if face <= 1 else j]
        c = vertices[m if face <= 2 else k]
        d = vertices[i if face == 0 else (j if face == 1 else (k if face == 2 else m))]
        ex, ey, ez = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        fx, fy, fz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
        nx, ny, nz = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx
        own = nx * (d[0] - a[0]) + ny * (d[1] - a[1]) + nz * (d[2] - a[2])
        of_point = nx * (x - a[0]) + ny * (y - a[1]) + nz * (z - a[2])
        if own * of_point <= 0.0:
            return False
    return True


@leaf_kernel
def closest_to_hull(r, hull, limit, noise):
    """The point of a polyhedron closest to a round body: (state, distance, normal (3), point (3), three vertices).

    The normal leads from the round body to the point, which lies in the hull of the vertices; these are -1 where fewer do. The
    state is OUT_OF_REACH when the bodies are farther apart than the limit, and OVERLAPPING when they are not farther than the
    noise.
    """
    vertices = hull.vertices
    cx, cy, cz = centre_of(r)
    new, _ = lowest_vertex(vertices, hull.centre[0] - cx, hull.centre[1] - cy, hull.centre[2] - cz)
    i, j, k = new, -1, -1
    x, y, z = vertices[i, 0], vertices[i, 1], vertices[i, 2]
    distance, nx, ny, nz, _ = signed_distance(r, x, y, z)
    for _ in range(MAX_HULL_STEPS):
        if distance <= noise:
            return OVERLAPPING, distance, nx, ny, nz, x, y, z, i, j, k
        new, lowest = lowest_vertex(vertices, nx, ny, nz)
        at = nx * x + ny * y + nz * z
        if lowest - at + distance > limit:
            return OUT_OF_REACH, distance, nx, ny, nz, x, y, z, i, j, k
        if new in (i, j, k) or at - lowest <= EPSILONS * (abs(x) + abs(y) + abs(z) + distance):
            break
        # The minimum over the hull of the old vertices and the new one: over the new one itself, the edges to it, and the
        # triangles with it.
        best, bx, by, bz = np.inf, x, y, z
        p, q, s = -1, -1, -1
        vx, vy, vz = vertices[new, 0], vertices[new, 1], vertices[new, 2]
        for edge in range(3):
            old = i if edge == 0 else (j if edge == 1 else k)
            if old < 0:
                continue
            ax, ay, az = vertices[old, 0], vertices[old, 1], vertices[old, 2]
            t = lowest_on_segment(r, ax, ay, az, vx, vy, vz, noise)
            ax, ay, az = ax + t * (vx - ax), ay + t * (vy - ay), az + t * (vz - az)
            candidate, _, _, _, _ = signed_distance(r, ax, ay, az)
            if candidate < best:
                best, bx, by, bz = candidate, ax, ay, az
                p, q, s = (new, -1, -1) if t == 1.0 else ((old, -1, -1) if t == 0.0 else (new, old, -1))
        for face in range(3):
            first = i if face < 2 else j
            second = j if face == 0 else k
            if first < 0 or second < 0:
                continue
            found, ax, ay, az = over_triangle(r, vertices, new, first, second)
            if found:
                candidate, _, _, _, _ = signed_distance(r, ax, ay, az)
                if candidate < best:
                    best, bx, by, bz = candidate, ax, ay, az
                    p, q, s = new, first, second
        if k >= 0 and encloses(vertices, i, j, k, new, cx, cy, cz):
            return OVERLAPPING, 0.0, nx, ny, nz, x, y, z, i, j, k
        if best >= distance:
            break
        i, j, k = p, q, s
        x, y, z = bx, by, bz
        distance, nx, ny, nz, _ = signed_distance(r, x, y, z)
    # A body that pierces the hull of the vertices has no closest point there, and no axis either.
    if separation_of_hull(r, hull, nx, ny, nz) <= 0.0:
        return OVERLAPPING, 0.0, nx, ny, nz, x, y, z, i, j, k
    if distance > limit:
        return OUT_OF_REACH, distance, nx, ny, nz, x, y, z, i, j, k
    return APART, distance, nx, ny, nz, x, y, z, i, j, k


@leaf_kernel
def separation_of_hull(r, hull, x, y, z):
    """Separation along a unit axis from a round body to a polyhedron."""
    px, py, pz = support(r, x, y, z)
    _, lowest = lowest_vertex(hull.vertices, x, y, z)
    return lowest - x * px - y * py - z * pz
