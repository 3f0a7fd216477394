# SPDX-License-Identifier: GPL-3.0-or-later
"""Closest points of two cylinders or cones, exact if they are separated.

The closest points lie on one of few pairs of features: an apex, a cap or a rim of either shape with the closest feature of the
other, or two lateral surfaces. The distance from a shape is a convex function in closed form. It is evaluated at an apex and at
the point lowest over a cap, searched in one variable on a rim, and two lateral surfaces have a common normal that follows from
their axes. The smallest of these values is the distance. The separation along its normal, a lower bound, proves it.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import TRUE, kernel_part, leaf_kernel
from ...linalg.elementary import arctangent, sine_and_cosine
from ...linalg.vec3 import ZERO, add, advanced, cross, divided, dot, negative, norm, norm2, scaled, sub
from ..polyhedra.closest_edges import segment_parameters
from .bracketing import MAX_BISECTIONS, NO_SLOPE, narrow_bracket, next_guess
from .closest_hull import APART, NO_VERTICES, OUT_OF_REACH, OVERLAPPING, Closest
from .solid import cap_middle, inner_point, radial_direction, rim_axes, rim_point, side_normal, signed_distance, support

__all__ = ["closest_to_round", "generatrix", "separation_of_round"]

# Numbers of points of a rim at which the slope of the distance is evaluated; the second one if the first missed a minimum.
SAMPLES, MORE_SAMPLES = np.int64(8), np.int64(96)
# Relative to the coordinates: distance and bound are equal up to this.
BOUNDS_MET = 1e-13
# Squared sine of two axes below which their cross product is rounding.
PARALLEL_AXES = 1e-24


@leaf_kernel
def separation_of_round(a, b, axis):
    """Return the separation along a unit axis from one round shape to another [m]."""
    return dot(axis, sub(support(b, negative(axis)), support(a, axis)))


@leaf_kernel
def generatrix(r, normal):
    """Return the two ends of the generatrix that is farthest along a normal, the end at the base first [m]."""
    outwards, _ = radial_direction(r, normal)
    end = advanced(r.base, r.height, r.axis)
    return advanced(r.base, r.radius, outwards), end if r.is_cone else advanced(end, r.radius, outwards)


@leaf_kernel
def on_rim(r, o, lift, angle):
    """Return the slope of the distance from r along the rim of o at an angle [rad], and the point of the rim [m].

    lift: height of the rim over the base of o [m].
    """
    sine, cosine = sine_and_cosine(angle)
    e, h = rim_axes(o)
    point = rim_point(o, lift, cosine, sine)
    _, normal, _ = signed_distance(r, point)
    return dot(normal, sub(scaled(cosine, h), scaled(sine, e))), point


@kernel_part
def rim_minimum(r, o, lift, s, low, t, high):
    """Return the point of a rim at which the distance from r is smallest, between two angles s < t with slopes low < 0 <=
    high.
    """
    side, bisect = 0, False
    for _ in range(MAX_BISECTIONS):
        m = min(max(next_guess(s, low, t, high, bisect), s), t)
        slope, point = on_rim(r, o, lift, m)
        if abs(slope) <= NO_SLOPE or m in (s, t):
            return point
        s, low, t, high, side, bisect = narrow_bracket(s, low, t, high, side, m, slope)
    _, point = on_rim(r, o, lift, 0.5 * (s + t))
    return point


@kernel_part
def closest_on_rim(r, o, lift, samples):
    """Return the point of the rim of o closest to r [m].

    lift: height of the rim over the base of o [m]. samples: number of angles.
    """
    best, lowest = np.inf, ZERO
    # A minimum is likely at the point of the rim toward r. The first interval contains it.
    way = sub(inner_point(r), o.base)
    e, h = rim_axes(o)
    step = 2.0 * np.pi / samples
    first = arctangent(dot(way, h), dot(way, e)) - 0.4 * step
    s = first
    low, _ = on_rim(r, o, lift, s)
    for sample in range(1, samples + 1):
        t = first + step * sample
        high, _ = on_rim(r, o, lift, t)
        if low < 0.0 <= high:
            point = rim_minimum(r, o, lift, s, low, t, high)
            distance, _, _ = signed_distance(r, point)
            if distance < best:
                best, lowest = distance, point
        s, low = t, high
    if best == np.inf:
        _, lowest = on_rim(r, o, lift, first)
    return lowest


@kernel_part
def common_side_normal(a, b, sign):
    """Find a unit normal from a to b that is normal to both lateral surfaces. sign: 1.0 or -1.0, which of the two solutions.

    Returns whether there is one, and the normal.
    """
    _, rise_a = side_normal(a)
    _, rise_b = side_normal(b)
    # n . axis_a = rise_a and n . axis_b = -rise_b. The remaining component of n is along the cross product of the axes.
    cosine = dot(a.axis, b.axis)
    across = cross(a.axis, b.axis)
    square = norm2(across)
    if square < PARALLEL_AXES:
        return False, ZERO
    p = (rise_a + cosine * rise_b) / square
    q = (-rise_b - cosine * rise_a) / square
    x, y, z = add(scaled(p, a.axis), scaled(q, b.axis))
    rest = (1.0 - x * x - y * y - z * z) / square
    if rest < 0.0:
        return False, ZERO
    return True, advanced((x, y, z), sign * np.sqrt(rest), across)


@leaf_kernel
def closest_candidate(r, o, samples):
    """Return the smallest distance of the candidate points of o from r [m], the normal of r there, and the point [m]."""
    distance, normal, lowest = np.inf, ZERO, ZERO
    for trial in range(5):
        # The apex, the points lowest over the caps of r, and the rims.
        if trial == 0:
            if not o.is_cone:
                continue
            point = cap_middle(o, TRUE)
        elif trial <= 2:
            if trial == 2 and r.is_cone:
                continue
            point = support(o, scaled(1.0 if trial == 1 else -1.0, r.axis))
        else:
            if trial == 4 and o.is_cone:
                continue
            point = closest_on_rim(r, o, 0.0 if trial == 3 else o.height, samples)
        candidate, outwards, _ = signed_distance(r, point)
        if candidate < distance:
            distance, normal, lowest = candidate, outwards, point
    return distance, normal, lowest


@leaf_kernel
def closest_features(a, b, samples):
    """Return the smallest distance over all pairs of features [m], the unit normal from a to b, and the point of b [m]."""
    distance, normal, point = closest_candidate(a, b, samples)
    candidate, outwards, of_a = closest_candidate(b, a, samples)
    if candidate < distance:
        distance, normal, point = candidate, scaled(-1.0, outwards), advanced(of_a, -candidate, outwards)
    for sign in (1.0, -1.0):
        found, across = common_side_normal(a, b, sign)
        if not found:
            continue
        p, d = generatrix(a, across)
        q, e = generatrix(b, negative(across))
        d, e = sub(d, p), sub(e, q)
        _, t, _ = segment_parameters(p, d, q, e)
        q = advanced(q, t, e)
        candidate, outwards, _ = signed_distance(a, q)
        if candidate < distance:
            distance, normal, point = candidate, outwards, q
    return distance, normal, point


@kernel_part
def closest_to_round(a, b, limit, noise):
    """Return the `Closest` points of two round shapes. limit, noise: see `Closest` [m]."""
    p, q = inner_point(a), inner_point(b)
    way = sub(q, p)
    length = norm(way)
    if length > 0.0 and separation_of_round(a, b, divided(way, length)) > limit:
        return Closest(OUT_OF_REACH, limit, divided(way, length), ZERO, NO_VERTICES)
    scale = abs(p[0]) + abs(p[1]) + abs(p[2]) + length + a.radius + a.height + b.radius + b.height
    distance, normal, point = closest_features(a, b, SAMPLES)
    bound = separation_of_round(a, b, normal)
    if distance > noise and distance - bound > BOUNDS_MET * scale:
        # The lateral surfaces overlap, or the samples missed the minimum on a rim.
        distance, normal, point = closest_features(a, b, MORE_SAMPLES)
        bound = separation_of_round(a, b, normal)
    if distance <= noise or bound <= 0.0:
        return Closest(OVERLAPPING, distance, normal, point, NO_VERTICES)
    return Closest(OUT_OF_REACH if distance > limit else APART, distance, normal, point, NO_VERTICES)
