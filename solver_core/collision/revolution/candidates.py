# SPDX-License-Identifier: GPL-3.0-or-later
"""What the manifolds of cylinders and cones have in common: the points that can touch, feature ids, and the half-space.

All contacts of a pair share the normal: the closest direction while the bodies are apart, the axis of least penetration when
they overlap. Their points are where the two surfaces that face each other along it can touch first. Each has its own gap along
the normal. Where none of these is as near as the bodies are, the closest points themselves are a contact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compile.kernel import TRUE, inlined_kernel, kernel_part, leaf_kernel
from ...linalg.elementary import arctangent, sine_and_cosine
from ...linalg.vec3 import advanced, distance2, dot, negative, norm2, scaled, set_vec, vec
from ..half_space import height_over
from ..manifold import NONE_FOUND, Manifold, add_contact, feature_id, write_contact
from ..polyhedra.face_contacts import FACING
from .solid import cap_middle, radial_direction, rim_axes, rim_point, side_normal, support
from .work import RoundWork

__all__ = [
    "APEX_FEATURE",
    "CLOSEST_POINT",
    "CROSSING",
    "END_TOLERANCE",
    "LOWEST_RIM_POINT",
    "ONE_DEGREE_COSINE",
    "ON_EDGE",
    "ON_FACE",
    "ON_GENERATRIX",
    "ON_VERTEX",
    "OVERLAP_END",
    "PARALLEL_TO_SIDE",
    "ROUND_FEATURE",
    "ContactSink",
    "add_closest",
    "add_point",
    "candidate_points",
    "cap_faces",
    "rim_crossings",
    "round_feature",
    "round_plane_contacts",
    "side_faces",
]

# Of feature ids, besides those in `manifold`: a feature with one of a round body in it.
ROUND_FEATURE = np.int64(6)
# Points of a round body: 0 to 15 are fixed on the rims, eight on each.
LOWEST_RIM_POINT = np.int64(16)  # of the base's rim; the next one of the top's
APEX_FEATURE = np.int64(18)
CROSSING = np.int64(20)  # of an edge with the base's rim, two for each; then of the top's
OVERLAP_END = np.int64(24)  # of the overlap with a side, at the base's end and at the other
ON_GENERATRIX = np.int64(26)  # of an edge with the line of the side
CLOSEST_POINT = np.int64(27)
ON_VERTEX, ON_EDGE, ON_FACE = np.int64(0), np.int64(1), np.int64(2)

RING_POINTS = 8
# Cosine of one degree: so near, a cap or a side touches with all of it.
ONE_DEGREE_COSINE = 0.99984769515639
# A sine: a line counts as parallel to the side.
PARALLEL_TO_SIDE = 0.02
# In units of the radius: so much lower than the ring, the lowest point of a rim stands beside it.
MIN_RIM_DROP_RATIO = 2e-9
# In steps of the ring: the lowest point replaces those that are as near to it.
REPLACE_STEPS = 0.5
# Of a radius, or of a line's length: what is past the end by no more is at the end.
END_TOLERANCE = 1e-9
# The closest points are a contact of their own if no other one is as near, up to this in units of what is merged, and has their
# normal, up to this angle in rad.
GAP_TOLERANCE = 2e-3
NORMAL_TOLERANCE = 1e-8


class ContactSink(NamedTuple):
    """Where the contacts of a round body go, and which of them count.

    round_is_a: whether that body is the first of its pair. limit: m, the largest gap of a contact. merge: m, closer contacts
    are one. noise: m, up to this distance the bodies count as touching.
    """

    round_is_a: bool
    limit: float
    merge: float
    noise: float
    manifold: Manifold
    work: RoundWork


@inlined_kernel
def round_feature(round_is_a, of_round, of_other):
    """Feature id of features of a round body and of the other one."""
    return feature_id(ROUND_FEATURE, of_round, of_other) if round_is_a else feature_id(ROUND_FEATURE, of_other, of_round)


@leaf_kernel
def add_point(sink, count, point, normal, gap, of_round, of_other):
    """Adds a contact at a point of the round body, the normal leading from that to the other body: the count."""
    middle = advanced(point, 0.5 * gap, normal)
    from_a = scaled(1.0 if sink.round_is_a else -1.0, normal)
    feature = round_feature(sink.round_is_a, of_round, of_other)
    return add_contact(sink.manifold, count, sink.limit, sink.merge, middle, from_a, gap, feature)


@leaf_kernel
def add_closest(sink, count, of_body, normal, gap, of_other):
    """Adds the closest points as a contact unless one has their gap and normal; of_body: the other body's point.

    A contact at their place keeps its features and takes over their gap and their normal, which are exact.
    """
    from_a = scaled(1.0 if sink.round_is_a else -1.0, normal)
    if has_closest(sink, count, from_a, gap):
        return count
    point = advanced(of_body, -gap, normal)
    middle = advanced(point, 0.5 * gap, normal)
    manifold = sink.manifold
    for slot in range(count):
        if distance2(vec(manifold.point, slot), middle) <= sink.merge * sink.merge:
            write_contact(manifold, slot, middle, from_a, gap, manifold.feature[slot])
            return count
    return add_point(sink, count, point, normal, gap, CLOSEST_POINT, of_other)


@kernel_part
def has_closest(sink, count, normal, distance):
    """Whether a contact has the distance and the normal, from a to b, of the closest points."""
    for slot in range(count):
        off = distance2(vec(sink.manifold.normal, slot), normal)
        if sink.manifold.gap[slot] <= distance + GAP_TOLERANCE * sink.merge and off <= NORMAL_TOLERANCE * NORMAL_TOLERANCE:
            return True
    return False


@inlined_kernel
def add_candidate(work, count, point, identity):
    """Notes a point that can touch: the count."""
    set_vec(work.candidates, count, point)
    work.candidate_ids[count] = identity
    return count + 1


@leaf_kernel
def candidate_points(r, direction, work):
    """The points of the body that can touch a plane across the direction first, into the work space: how many."""
    along = dot(direction, r.axis)
    lowest, length = radial_direction(r, direction)
    e, h = rim_axes(r)
    radial, rise = side_normal(r)
    side_looks = radial * length + rise * along > -FACING
    # The lowest point stands beside the ring only where it is lower than that, up to noise, and then replaces its neighbours.
    angle = arctangent(dot(lowest, h), dot(lowest, e)) if length > 0.0 else 0.0
    turns = angle * RING_POINTS / (2.0 * np.pi)
    off = abs(turns - np.round(turns)) * 2.0 * np.pi / RING_POINTS
    stands_out = length * (1.0 - sine_and_cosine(off)[1]) > MIN_RIM_DROP_RATIO
    count = NONE_FOUND
    for cap in range(1 if r.is_cone else 2):
        looks = (along if cap == 1 else -along) > -FACING
        lift = r.height if cap == 1 else 0.0
        if looks:
            for k in range(RING_POINTS):
                from_lowest = abs(k - turns)
                from_lowest = min(from_lowest, RING_POINTS - from_lowest)
                if stands_out and from_lowest <= REPLACE_STEPS:
                    continue
                sine, cosine = sine_and_cosine(2.0 * np.pi * k / RING_POINTS)
                point = rim_point(r, lift, cosine, sine)
                count = add_candidate(work, count, point, RING_POINTS * cap + k)
        if (stands_out and looks) or (side_looks and not looks):
            count = add_candidate(work, count, advanced(cap_middle(r, cap == 1), r.radius, lowest), LOWEST_RIM_POINT + cap)
    if r.is_cone and (side_looks or along > -FACING):
        count = add_candidate(work, count, cap_middle(r, TRUE), APEX_FEATURE)
    return count


@inlined_kernel
def rim_crossings(start, way, radius):
    """Where start + t way crosses a circle around the origin, in whose plane both are: (whether it does, the two t)."""
    ww, sw = norm2(way), dot(start, way)
    root = sw * sw - ww * (norm2(start) - radius * radius)
    if not root > 0.0:
        return False, 0.0, 0.0
    return True, (-sw - np.sqrt(root)) / ww, (-sw + np.sqrt(root)) / ww


@inlined_kernel
def side_faces(r, along):
    """Whether the side touches with all of a line, the direction having the component `along` on the axis."""
    radial, rise = side_normal(r)
    return radial * np.sqrt(max(1.0 - along * along, 0.0)) + rise * along > ONE_DEGREE_COSINE


@inlined_kernel
def cap_faces(r, along):
    """Whether a cap touches with all of it, the direction having the component `along` on the axis."""
    return abs(along) > ONE_DEGREE_COSINE and (along < 0.0 or not r.is_cone)


@kernel_part
def round_plane_contacts(r, plane, sink):
    """Contacts of a round body with a half-space: the count."""
    down = negative(plane.normal)
    if height_over(plane, support(r, down)) > sink.limit:
        return 0
    count = NONE_FOUND
    for row in range(candidate_points(r, down, sink.work)):
        point = vec(sink.work.candidates, row)
        count = add_point(sink, count, point, down, height_over(plane, point), int(sink.work.candidate_ids[row]), ON_FACE)
    return count
