# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of two cylinders or cones.

Points of one body's rim, or its apex, over a cap of the other; crossings of two rims, or of a rim with the line of a side; and
the ends of the overlap of two sides.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import kernel_part, leaf_kernel
from ...linalg.vec3 import add, advanced, cross, divided, dot, negative, norm2, scaled, sub, vec
from ..manifold import NONE_FOUND
from .candidates import (
    AT_END,
    CLOSEST,
    CROSSING,
    END,
    ON_FACE,
    PARALLEL_TO_SIDE,
    SIDE_INNER,
    Collection,
    add_closest,
    add_point,
    candidates,
    cap_looks_along,
    rim_crossings,
    side_looks_along,
)
from .closest_revolution import generator
from .contact_axis import contact_axis
from .on_hull import SAME_WAY
from .other import Other
from .solid import SIDE, cap_middle, side_distance

__all__ = ["round_round_contacts"]

# Of a feature id: what of the other body is a round one's cap or side, and no point of it.
NO_POINT = 32


@leaf_kernel
def points_on_cap(found, r, o, normal, count):
    """Adds the points of body o that lie over the cap of r that faces it, seen along the normal from r to o: the count."""
    along = dot(normal, r.axis)
    if not cap_looks_along(r, along):
        return count
    middle = cap_middle(r, along > 0.0)
    for row in range(candidates(o, negative(normal), found.work)):
        point = sub(vec(found.work.candidates, row), middle)
        gap = dot(r.axis, point) / along
        point = advanced(point, -gap, normal)
        if gap <= found.limit and norm2(point) <= r.radius * r.radius * (1.0 + AT_END):
            of_other = int(found.work.candidate_ids[row])
            count = add_point(found, count, add(point, middle), normal, gap, ON_FACE + NO_POINT, of_other)
    return count


@leaf_kernel
def line_on_cap(found, r, o, normal, count):
    """Adds where the line of o's side that lies lowest crosses the rim of the cap of r under it: the count."""
    along = dot(normal, r.axis)
    if not cap_looks_along(r, along) or not side_looks_along(o, -dot(normal, o.axis)):
        return count
    middle = cap_middle(r, along > 0.0)
    a, b = generator(o, negative(normal))
    a, b = sub(a, middle), sub(b, middle)
    gap_a, gap_b = dot(r.axis, a) / along, dot(r.axis, b) / along
    a = advanced(a, -gap_a, normal)
    way = sub(advanced(b, -gap_b, normal), a)
    crosses, first, second = rim_crossings(a, way, r.radius)
    for which in range(2 if crosses else 0):
        t = first if which == 0 else second
        if 0.0 < t < 1.0:
            gap = gap_a + t * (gap_b - gap_a)
            point = advanced(add(middle, a), t, way)
            count = add_point(found, count, point, normal, gap, CROSSING + which, SIDE_INNER)
    return count


@kernel_part
def rims_crossing(found, a, b, normal, count):
    """Adds where the rims of two caps that face each other cross, seen along the normal: the count."""
    along_a, along_b = dot(normal, a.axis), -dot(normal, b.axis)
    if not cap_looks_along(a, along_a) or not cap_looks_along(b, along_b):
        return count
    middle = cap_middle(a, along_a > 0.0)
    outward = scaled(1.0 if along_a > 0.0 else -1.0, a.axis)
    other = sub(cap_middle(b, along_b > 0.0), middle)
    way = advanced(other, -(dot(outward, other) / abs(along_a)), normal)
    apart2 = norm2(way)
    apart = np.sqrt(apart2)
    if apart >= a.radius + b.radius or apart <= abs(a.radius - b.radius):
        return count
    nearest = 0.5 * (apart2 + a.radius * a.radius - b.radius * b.radius) / apart
    half = np.sqrt(max(a.radius * a.radius - nearest * nearest, 0.0))
    way = divided(way, apart)
    across = cross(outward, way)
    bottom = dot(normal, b.axis)
    for which in range(2):
        point = add(scaled(nearest, way), scaled(half if which == 0 else -half, across))
        gap = dot(b.axis, sub(other, point)) / bottom
        count = add_point(found, count, add(point, middle), normal, gap, CROSSING + which, CROSSING)
    return count


@leaf_kernel
def ends_along_side(found, r, o, normal, count):
    """Adds the ends of the line of o's side over the side of r, each with its own closest direction: the count."""
    if not side_looks_along(r, dot(normal, r.axis)) or not side_looks_along(o, -dot(normal, o.axis)):
        return count
    start, way = generator(r, normal)
    way = sub(way, start)
    p, q = generator(o, negative(normal))
    length2, other_way = norm2(way), sub(q, p)
    square, product = length2 * norm2(other_way), dot(way, other_way)
    if square - product * product > PARALLEL_TO_SIDE * PARALLEL_TO_SIDE * square:
        return count
    for end in range(2):
        point = p if end == 0 else q
        gap, outwards = side_distance(r, point)
        s = dot(sub(point, start), way) / length2
        if gap > found.limit or dot(outwards, normal) < SAME_WAY or s < -AT_END or s > 1.0 + AT_END:
            continue
        count = add_point(found, count, advanced(point, -gap, outwards), outwards, gap, SIDE + NO_POINT, END + end)
    return count


@kernel_part
def round_round_contacts(found, a, b, hull):
    """Contacts of two round bodies in one frame: the count. found: with a as the round body; hull: any, not looked at."""
    axis = contact_axis(a, Other(hull, b, False), found.limit, found.noise, found.work)
    if not axis.touches:
        return 0
    normal, opposite = axis.normal, negative(axis.normal)
    of_b = Collection(False, found.limit, found.merge, found.noise, found.manifold, found.work)
    count = points_on_cap(found, a, b, normal, NONE_FOUND)
    count = points_on_cap(of_b, b, a, opposite, count)
    count = rims_crossing(found, a, b, normal, count)
    count = line_on_cap(found, a, b, normal, count)
    count = line_on_cap(of_b, b, a, opposite, count)
    count = ends_along_side(found, a, b, normal, count)
    count = ends_along_side(of_b, b, a, opposite, count)
    return add_closest(found, count, axis.point, normal, axis.distance, CLOSEST)
