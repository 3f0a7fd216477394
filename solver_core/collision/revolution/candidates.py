# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts common to all contacts of cylinders and cones: candidate points, feature ids, and contacts with half-spaces.

All contacts of a pair have one normal: the closest direction if the shapes are separated, the axis of least penetration if they
overlap. Their points are where the two surfaces facing each other along the normal can touch first, each with its own gap along
the normal. If none of them is as near as the shapes are, the closest points are a contact too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compile.kernel import TRUE, inlined_kernel, kernel_part, leaf_kernel
from ...linalg.elementary import arctangent, sine_and_cosine
from ...linalg.vec3 import advanced, distance2, dot, negative, norm2, scaled, set_vec, vec
from ..contact_set import ContactSet, write_contact
from ..half_space import height_over
from ..manifold import NONE_FOUND, add_contact, feature_id
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

# Kind of contact, in addition to those in `manifold`, for all contacts of round shapes.
ROUND_FEATURE = np.int64(6)
# Indices of points of a round shape. 0 to 15 are fixed points of the rims, eight on each.
LOWEST_RIM_POINT = np.int64(16)  # of the rim of the base; the next index is for the top
APEX_FEATURE = np.int64(18)
CROSSING = np.int64(20)  # of an edge with the rim of the base, two points; then of the top
OVERLAP_END = np.int64(24)  # of the overlap with a lateral surface, at the base and at the other end
ON_GENERATRIX = np.int64(26)  # crossing of an edge and a generatrix
CLOSEST_POINT = np.int64(27)
ON_VERTEX, ON_EDGE, ON_FACE = np.int64(0), np.int64(1), np.int64(2)

RING_POINTS = 8
# Cosine of one degree. A cap or a generatrix this near the normal touches along its entire extent.
ONE_DEGREE_COSINE = 0.99984769515639
# Sine up to which a line counts as parallel to a generatrix.
PARALLEL_TO_SIDE = 0.02
# Relative to the radius: the lowest point of a rim is added if it is lower than the fixed points by more than this.
MIN_RIM_DROP_RATIO = 2e-9
# In steps between fixed points: the lowest point replaces fixed points within this distance.
REPLACE_STEPS = 0.5
# Relative to a radius or to the length of a line: points beyond the end by no more are at the end.
END_TOLERANCE = 1e-9
# The closest points are a separate contact unless another contact has their gap, up to this fraction of the merge distance, and
# their normal, up to this angle [rad].
GAP_TOLERANCE = 2e-3
NORMAL_TOLERANCE = 1e-8


class ContactSink(NamedTuple):
    """Output for the contacts of a round shape, and the limits that apply to them.

    round_is_a: True if the round shape is the first of its pair. limit: largest gap of a contact [m].
    merge: distance within which contacts are merged [m]. noise: distance up to which the shapes count as touching [m].
    """

    round_is_a: bool
    limit: float
    merge: float
    noise: float
    manifold: ContactSet
    work: RoundWork


@inlined_kernel
def round_feature(round_is_a, of_round, of_other):
    """Return the id of a feature of a round shape and a feature of the other shape."""
    return feature_id(ROUND_FEATURE, of_round, of_other) if round_is_a else feature_id(ROUND_FEATURE, of_other, of_round)


@leaf_kernel
def add_point(sink, count, point, normal, gap, of_round, of_other):
    """Add a contact at a point of the round shape, and return the new count.

    normal: unit vector from the round shape to the other one.
    """
    middle = advanced(point, 0.5 * gap, normal)
    from_a = scaled(1.0 if sink.round_is_a else -1.0, normal)
    feature = round_feature(sink.round_is_a, of_round, of_other)
    return add_contact(sink.manifold, count, sink.limit, sink.merge, middle, from_a, gap, feature)


@leaf_kernel
def add_closest(sink, count, of_body, normal, gap, of_other):
    """Add the closest points as a contact, unless a contact has their gap and normal, and return the new count.

    A contact at the same place keeps its feature, and gets their gap and normal, which are exact.

    of_body: closest point of the other shape [m].
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
    """Return True if a contact has the given normal, from a to b, and distance [m]."""
    for slot in range(count):
        off = distance2(vec(sink.manifold.normal, slot), normal)
        if sink.manifold.gap[slot] <= distance + GAP_TOLERANCE * sink.merge and off <= NORMAL_TOLERANCE * NORMAL_TOLERANCE:
            return True
    return False


@inlined_kernel
def add_candidate(work, count, point, identity):
    """Append a candidate point to the work arrays, and return the new count."""
    set_vec(work.candidates, count, point)
    work.candidate_ids[count] = identity
    return count + 1


@leaf_kernel
def candidate_points(r, direction, work):
    """Write the points that a plane perpendicular to a direction could touch first, and their indices, and return their
    number.
    """
    along = dot(direction, r.axis)
    lowest, length = radial_direction(r, direction)
    e, h = rim_axes(r)
    radial, rise = side_normal(r)
    side_looks = radial * length + rise * along > -FACING
    # The lowest point is added only if it is lower than the fixed points by more than rounding. It then replaces its neighbors.
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
    """Find the points start + t way on a circle around the origin, in the plane of both vectors.

    Returns whether the line crosses the circle, and the two values of t.
    """
    ww, sw = norm2(way), dot(start, way)
    root = sw * sw - ww * (norm2(start) - radius * radius)
    if not root > 0.0:
        return False, 0.0, 0.0
    return True, (-sw - np.sqrt(root)) / ww, (-sw + np.sqrt(root)) / ww


@inlined_kernel
def side_faces(r, along):
    """Return True if a generatrix touches along its entire length. along: component of the direction on the axis."""
    radial, rise = side_normal(r)
    return radial * np.sqrt(max(1.0 - along * along, 0.0)) + rise * along > ONE_DEGREE_COSINE


@inlined_kernel
def cap_faces(r, along):
    """Return True if a cap touches with its entire area. along: component of the direction on the axis."""
    return abs(along) > ONE_DEGREE_COSINE and (along < 0.0 or not r.is_cone)


@kernel_part
def round_plane_contacts(r, plane, sink):
    """Find the contacts of a round shape with a half-space, and return their number."""
    down = negative(plane.normal)
    if height_over(plane, support(r, down)) > sink.limit:
        return 0
    count = NONE_FOUND
    for row in range(candidate_points(r, down, sink.work)):
        point = vec(sink.work.candidates, row)
        count = add_point(sink, count, point, down, height_over(plane, point), int(sink.work.candidate_ids[row]), ON_FACE)
    return count
