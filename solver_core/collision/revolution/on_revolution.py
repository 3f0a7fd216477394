# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of two cylinders or cones.

Candidates are points of the rim or the apex of one shape over a cap of the other, crossings of two rims or of a rim with a
generatrix, and the ends of the overlap of two generatrices.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import kernel_part, leaf_kernel
from ...linalg.vec3 import add, advanced, cross, divided, dot, negative, norm2, scaled, sub, vec
from ..manifold import NONE_FOUND
from .candidates import (
    CLOSEST_POINT,
    CROSSING,
    END_TOLERANCE,
    ON_FACE,
    ON_GENERATRIX,
    OVERLAP_END,
    PARALLEL_TO_SIDE,
    ContactSink,
    add_closest,
    add_point,
    candidate_points,
    cap_faces,
    rim_crossings,
    side_faces,
)
from .closest_revolution import generatrix
from .contact_axis import contact_axis
from .on_hull import SAME_DIRECTION_COSINE
from .other import OtherShape
from .solid import SIDE, cap_middle, side_distance

__all__ = ["round_round_contacts"]

# Added to the index of a cap or lateral surface in a feature id, to distinguish it from the points of a round shape.
SURFACE_FEATURE_OFFSET = 32


@leaf_kernel
def append_points_on_cap(sink, r, o, normal, count):
    """Append the points of o over the cap of r that faces it, along the normal from r to o, and return the new count."""
    along = dot(normal, r.axis)
    if not cap_faces(r, along):
        return count
    middle = cap_middle(r, along > 0.0)
    for row in range(candidate_points(o, negative(normal), sink.work)):
        point = sub(vec(sink.work.candidates, row), middle)
        gap = dot(r.axis, point) / along
        point = advanced(point, -gap, normal)
        if gap <= sink.limit and norm2(point) <= r.radius * r.radius * (1.0 + END_TOLERANCE):
            of_other = int(sink.work.candidate_ids[row])
            count = add_point(sink, count, add(point, middle), normal, gap, ON_FACE + SURFACE_FEATURE_OFFSET, of_other)
    return count


@leaf_kernel
def append_line_on_cap(sink, r, o, normal, count):
    """Append the crossings of the lowest generatrix of o with the rim of the cap of r under it, and return the new count."""
    along = dot(normal, r.axis)
    if not cap_faces(r, along) or not side_faces(o, -dot(normal, o.axis)):
        return count
    middle = cap_middle(r, along > 0.0)
    a, b = generatrix(o, negative(normal))
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
            count = add_point(sink, count, point, normal, gap, CROSSING + which, ON_GENERATRIX)
    return count


@kernel_part
def append_rim_crossings(sink, a, b, normal, count):
    """Append the crossings of the rims of two facing caps, projected along the normal, and return the new count."""
    along_a, along_b = dot(normal, a.axis), -dot(normal, b.axis)
    if not cap_faces(a, along_a) or not cap_faces(b, along_b):
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
        count = add_point(sink, count, add(point, middle), normal, gap, CROSSING + which, CROSSING)
    return count


@leaf_kernel
def append_side_ends(sink, r, o, normal, count):
    """Append the ends of the generatrix of o over the lateral surface of r, each with its own closest direction.

    Only if the two generatrices are parallel within PARALLEL_TO_SIDE: those at an angle touch at one point, the closest point.

    Returns the new count.
    """
    if not side_faces(r, dot(normal, r.axis)) or not side_faces(o, -dot(normal, o.axis)):
        return count
    start, way = generatrix(r, normal)
    way = sub(way, start)
    p, q = generatrix(o, negative(normal))
    length2, other_way = norm2(way), sub(q, p)
    lengths2, product = length2 * norm2(other_way), dot(way, other_way)
    if lengths2 - product * product > PARALLEL_TO_SIDE * PARALLEL_TO_SIDE * lengths2:
        return count
    for end in range(2):
        point = p if end == 0 else q
        gap, outwards = side_distance(r, point)
        s = dot(sub(point, start), way) / length2
        if gap > sink.limit or dot(outwards, normal) < SAME_DIRECTION_COSINE or s < -END_TOLERANCE or s > 1.0 + END_TOLERANCE:
            continue
        count = add_point(
            sink, count, advanced(point, -gap, outwards), outwards, gap, SIDE + SURFACE_FEATURE_OFFSET, OVERLAP_END + end
        )
    return count


@kernel_part
def round_round_contacts(sink, a, b, hull):
    """Find the contacts of two round shapes in one frame, and return their number.

    sink: a `ContactSink` for a as the round shape. hull: any `Polyhedron`; it is not used.
    """
    axis = contact_axis(a, OtherShape(hull, b, False), sink.limit, sink.noise, sink.work)
    if not axis.touches:
        return 0
    normal, opposite = axis.normal, negative(axis.normal)
    of_b = ContactSink(False, sink.limit, sink.merge, sink.noise, sink.manifold, sink.work)
    count = append_points_on_cap(sink, a, b, normal, NONE_FOUND)
    count = append_points_on_cap(of_b, b, a, opposite, count)
    count = append_rim_crossings(sink, a, b, normal, count)
    count = append_line_on_cap(sink, a, b, normal, count)
    count = append_line_on_cap(of_b, b, a, opposite, count)
    count = append_side_ends(sink, a, b, normal, count)
    count = append_side_ends(of_b, b, a, opposite, count)
    return add_closest(sink, count, axis.point, normal, axis.distance, CLOSEST_POINT)
