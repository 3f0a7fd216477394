# SPDX-License-Identifier: GPL-3.0-or-later
"""Closest points of two cylinders or cones, exact while they are apart.

The closest points of two such bodies lie on one of few pairs of features: an apex, a cap or a rim of either body and what of
the other one is closest to it, or two sides. The distance from a body is a convex function in closed form: at an apex and over
a cap it is known at once, on a rim it is searched for in one variable, and two sides have a common normal that their axes
give. The least of these is the distance, and the separation along its normal, a lower bound, proves it.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import leaf_kernel
from ..polyhedra.closest_edges import segment_parameters
from .bracketing import MAX_BISECTIONS, guess, narrowed
from .closest_hull import APART, OUT_OF_REACH, OVERLAPPING
from .solid import centre_of, side_normal, signed_distance, support, unit_across

__all__ = ["closest_to_round", "generator", "separation_of_round"]

# Points of a rim at which the slope of the distance is looked at, and how many where these missed a minimum.
SAMPLES, MORE_SAMPLES = np.int64(8), np.int64(96)
# The bounds have met, as a fraction of the bodies' coordinates.
BOUNDS_MET = 1e-13


@leaf_kernel
def separation_of_round(a, b, x, y, z):
    """Separation along a unit axis from one round body to another."""
    px, py, pz = support(a, x, y, z)
    qx, qy, qz = support(b, -x, -y, -z)
    return x * (qx - px) + y * (qy - py) + z * (qz - pz)


@leaf_kernel
def generator(r, nx, ny, nz):
    """The two ends of the line of the side that lies farthest along the normal's part across the axis, base first."""
    ax, ay, az, _ = unit_across(r, nx, ny, nz)
    px, py, pz = r.x + r.radius * ax, r.y + r.radius * ay, r.z + r.radius * az
    qx, qy, qz = r.x + r.height * r.u, r.y + r.height * r.v, r.z + r.height * r.w
    if not r.is_cone:
        qx, qy, qz = qx + r.radius * ax, qy + r.radius * ay, qz + r.radius * az
    return px, py, pz, qx, qy, qz


@leaf_kernel
def on_rim(r, o, lift, angle):
    """A point of the rim of o at `lift` over its base, and the slope along the rim of the distance from r: (slope, point)."""
    cosine, sine = np.cos(angle), np.sin(angle)
    hx, hy, hz = o.v * o.g - o.w * o.f, o.w * o.e - o.u * o.g, o.u * o.f - o.v * o.e
    x = o.x + lift * o.u + o.radius * (cosine * o.e + sine * hx)
    y = o.y + lift * o.v + o.radius * (cosine * o.f + sine * hy)
    z = o.z + lift * o.w + o.radius * (cosine * o.g + sine * hz)
    _, kx, ky, kz, _ = signed_distance(r, x, y, z)
    slope = kx * (cosine * hx - sine * o.e) + ky * (cosine * hy - sine * o.f) + kz * (cosine * hz - sine * o.g)
    return slope, x, y, z


@leaf_kernel
def bottom_of_rim(r, o, lift, s, low, t, high):
    """The point of a rim between the angles s < t, with slopes low < 0 <= high, at which the distance from r has no slope."""
    side, bisect = 0, False
    for _ in range(MAX_BISECTIONS):
        m = min(max(guess(s, low, t, high, bisect), s), t)
        slope, x, y, z = on_rim(r, o, lift, m)
        if abs(slope) <= 1e-16 or m in (s, t):
            return x, y, z
        s, low, t, high, side, bisect = narrowed(s, low, t, high, side, m, slope)
    _, x, y, z = on_rim(r, o, lift, 0.5 * (s + t))
    return x, y, z


@leaf_kernel
def lowest_on_rim(r, o, lift, samples):
    """The point of the rim of o at `lift` over its base that is closest to r."""
    best, bx, by, bz = np.inf, 0.0, 0.0, 0.0
    # Sampled from the rim's point in the direction of r on, where a minimum is likely, and not between two samples.
    cx, cy, cz = centre_of(r)
    cx, cy, cz = cx - o.x, cy - o.y, cz - o.z
    hx, hy, hz = o.v * o.g - o.w * o.f, o.w * o.e - o.u * o.g, o.u * o.f - o.v * o.e
    step = 2.0 * np.pi / samples
    first = np.arctan2(cx * hx + cy * hy + cz * hz, cx * o.e + cy * o.f + cz * o.g) - 0.4 * step
    s = first
    low, _, _, _ = on_rim(r, o, lift, s)
    for sample in range(1, samples + 1):
        t = first + step * sample
        high, _, _, _ = on_rim(r, o, lift, t)
        if low < 0.0 <= high:
            x, y, z = bottom_of_rim(r, o, lift, s, low, t, high)
            distance, _, _, _, _ = signed_distance(r, x, y, z)
            if distance < best:
                best, bx, by, bz = distance, x, y, z
        s, low = t, high
    if best == np.inf:
        _, bx, by, bz = on_rim(r, o, lift, first)
    return bx, by, bz


@leaf_kernel
def common_side_normal(a, b, sign):
    """A unit normal from a to b that is normal to both sides, of the two there may be the one of a sign: (found, normal)."""
    _, rise_a = side_normal(a)
    _, rise_b = side_normal(b)
    # n . axis_a = rise_a and n . axis_b = -rise_b, and the rest of n is along the cross product of the axes.
    cosine = a.u * b.u + a.v * b.v + a.w * b.w
    cx, cy, cz = a.v * b.w - a.w * b.v, a.w * b.u - a.u * b.w, a.u * b.v - a.v * b.u
    square = cx * cx + cy * cy + cz * cz
    if square < 1e-24:
        return False, 0.0, 0.0, 0.0
    p = (rise_a + cosine * rise_b) / square
    q = (-rise_b - cosine * rise_a) / square
    x, y, z = p * a.u + q * b.u, p * a.v + q * b.v, p * a.w + q * b.w
    rest = (1.0 - x * x - y * y - z * z) / square
    if rest < 0.0:
        return False, 0.0, 0.0, 0.0
    k = sign * np.sqrt(rest)
    return True, x + k * cx, y + k * cy, z + k * cz


@leaf_kernel
def closest_features(a, b, samples):
    """The closest of all pairs of features: (distance, unit normal from a to b, point of b)."""
    distance, nx, ny, nz, x, y, z = np.inf, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for turn in range(2):
        # r is the body whose distance is measured, o the one whose points are tried.
        r = a if turn == 0 else b
        o = b if turn == 0 else a
        sign = 1.0 if turn == 0 else -1.0
        for trial in range(5):
            # The apex, what lies lowest over the caps of r, and the rims.
            if trial == 0:
                if not o.is_cone:
                    continue
                px, py, pz = o.x + o.height * o.u, o.y + o.height * o.v, o.z + o.height * o.w
            elif trial <= 2:
                if trial == 2 and r.is_cone:
                    continue
                down = 1.0 if trial == 1 else -1.0
                px, py, pz = support(o, down * r.u, down * r.v, down * r.w)
            else:
                if trial == 4 and o.is_cone:
                    continue
                px, py, pz = lowest_on_rim(r, o, 0.0 if trial == 3 else o.height, samples)
            candidate, kx, ky, kz, _ = signed_distance(r, px, py, pz)
            if candidate < distance:
                distance = candidate
                nx, ny, nz = sign * kx, sign * ky, sign * kz
                x, y, z = px, py, pz
                if turn == 1:
                    x, y, z = px - candidate * kx, py - candidate * ky, pz - candidate * kz
    for turn in range(2):
        found, kx, ky, kz = common_side_normal(a, b, 1.0 - 2.0 * turn)
        if not found:
            continue
        px, py, pz, dx, dy, dz = generator(a, kx, ky, kz)
        qx, qy, qz, ex, ey, ez = generator(b, -kx, -ky, -kz)
        dx, dy, dz = dx - px, dy - py, dz - pz
        ex, ey, ez = ex - qx, ey - qy, ez - qz
        _, t, _ = segment_parameters(px, py, pz, dx, dy, dz, qx, qy, qz, ex, ey, ez)
        qx, qy, qz = qx + t * ex, qy + t * ey, qz + t * ez
        candidate, kx, ky, kz, _ = signed_distance(a, qx, qy, qz)
        if candidate < distance:
            distance, nx, ny, nz, x, y, z = candidate, kx, ky, kz, qx, qy, qz
    return distance, nx, ny, nz, x, y, z


@leaf_kernel
def closest_to_round(a, b, limit, noise):
    """Closest points of two round bodies: (state, distance, unit normal from a to b (3), point of b (3)).

    OUT_OF_REACH when the bodies are farther apart than the limit, OVERLAPPING when they are not farther than the noise.
    """
    ax, ay, az = centre_of(a)
    bx, by, bz = centre_of(b)
    x, y, z = bx - ax, by - ay, bz - az
    length = np.sqrt(x * x + y * y + z * z)
    if length > 0.0 and separation_of_round(a, b, x / length, y / length, z / length) > limit:
        return OUT_OF_REACH, limit, x / length, y / length, z / length, 0.0, 0.0, 0.0
    scale = abs(ax) + abs(ay) + abs(az) + length + a.radius + a.height + b.radius + b.height
    distance, nx, ny, nz, x, y, z = closest_features(a, b, SAMPLES)
    bound = separation_of_round(a, b, nx, ny, nz)
    if distance > noise and distance - bound > BOUNDS_MET * scale:
        # The bodies overlap at their sides, or the samples missed the minimum of a rim.
        distance, nx, ny, nz, x, y, z = closest_features(a, b, MORE_SAMPLES)
        bound = separation_of_round(a, b, nx, ny, nz)
    if distance <= noise or bound <= 0.0:
        return OVERLAPPING, distance, nx, ny, nz, x, y, z
    if distance > limit:
        return OUT_OF_REACH, distance, nx, ny, nz, x, y, z
    return APART, distance, nx, ny, nz, x, y, z
