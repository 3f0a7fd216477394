# SPDX-License-Identifier: GPL-3.0-or-later
"""Narrow phase: the contact manifold of two convex cores.

If the cores are separated, the normal is the closest direction. If the normal of a face is within NEAR_FACE_COSINE of it, the
normal is that of the face, with one gap per vertex of the clipped faces; resting contacts are of this kind. At larger distances
than those of resting bodies, the closest points are a contact too. If the cores overlap, the normal is the axis of least
penetration. If several axes separate them about equally, it is the normal between these (`several_axes`).

Choices that are equal up to rounding follow a fixed order: a face before an edge, and the first body before the second. So the
manifold of bodies at rest is the same in each step.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ...linalg.vec3 import (
    ZERO,
    Z,
    advanced,
    cross,
    divided,
    dot,
    is_zero,
    negative,
    norm,
    norm2,
    perpendicular,
    scaled,
    set_vec,
    vec,
)
from ..manifold import NO_VERTEX, NONE_FOUND, add_contact
from .closest_edges import EdgePoints, closest_edge_points, closest_edges, midpoint_between, vector_between
from .edge_contacts import edge_contacts, edge_feature, edge_vector
from .face_contacts import face_contacts
from .hull_pair import FACE_PREFERENCE, MERGE_RATIO, NEAR_FACE_COSINE, RESTING_GAP_RATIO, TIE_RATIO, HullPair
from .polyhedron import translated
from .separation import PARALLEL, axis_separation, edge_separation, face_separation
from .several_axes import inset_margin, may_have_tied_axes, wedge_normal

__all__ = ["hull_contacts"]

# Relative to the length of an edge: closest points farther than this from its ends do not belong to a neighboring edge.
END_FRACTION = 1e-4
# In margins: at this distance, features that coincide up to a margin are closest in about the direction of the normal.
SEPARATION_IN_MARGINS = 4.0


@inlined_kernel
def face_along(body, axis):
    """Return the face whose normal is within NEAR_FACE_COSINE of an axis, or -1."""
    best = -1
    best_cosine = NEAR_FACE_COSINE
    for f in range(len(body.planes)):
        cosine = dot(axis, vec(body.planes, f))
        if cosine > best_cosine:
            best_cosine = cosine
            best = f
    return best


@inlined_kernel
def near_face_contacts(pair, axis, bound):
    """Find the contacts with a face whose normal is near the axis from a to b.

    Returns their number, 0 if no gap is below the bound [m].
    """
    near_a, near_b = face_along(pair.a, axis), face_along(pair.b, negative(axis))
    if near_a < 0 and near_b < 0:
        return 0
    return first_face_contacts(pair, near_a, near_b, bound)


@leaf_kernel
def first_face_contacts(pair, face_a, face_b, bound):
    """Find the contacts with the face of a, else with that of b, that has a gap below the bound [m].

    face_a, face_b: the faces, or -1. Returns the number of contacts, 0 if neither face has such a gap.
    """
    for which in range(2):
        of_a = which == 0
        face = face_a if of_a else face_b
        if face >= 0:
            count, smallest = face_contacts(pair, face, of_a)
            if count > 0 and smallest <= bound:
                return count
    return 0


@kernel_part
def touching_normal(pair, edge_a, edge_b):
    """Return a unit normal from a to b for touching points and segments.

    It is perpendicular to both segments if they are not parallel, else to one segment and toward the other center.
    """
    d, e = edge_vector(pair.a, edge_a), edge_vector(pair.b, edge_b)
    centre_a, centre_b = pair.a.centre, pair.b.centre
    between = centre_b[0] - centre_a[0], centre_b[1] - centre_a[1], centre_b[2] - centre_a[2]
    dd, ee = norm2(d), norm2(e)
    normal = cross(d, e)
    if norm2(normal) <= PARALLEL * dd * ee:
        if dd < ee:
            d, dd = e, ee
        along = dot(between, d) / dd if dd > 0.0 else 0.0
        normal = between[0] - along * d[0], between[1] - along * d[1], between[2] - along * d[2]
        if norm2(normal) <= PARALLEL * dd or is_zero(normal):
            # Any direction perpendicular to the segment is valid.
            normal = perpendicular(d, dd) if dd > 0.0 else Z
    length = norm(normal)
    return divided(normal, -length if dot(normal, between) < 0.0 else length)


@inlined_kernel
def add_edge_contact(pair, count, points, normal, gap, merge):
    """Add the contact midway between two points of edges, and return the new count."""
    feature = edge_feature(points.edge_a, NO_VERTEX, points.edge_b, NO_VERTEX)
    return add_contact(pair.manifold, count, pair.limit, merge, midpoint_between(pair, points), normal, gap, feature)


@inlined_kernel
def edge_axis_contact(pair, edge_axis):
    """Write the one contact of the edges of an `EdgeAxis`, along that axis, and return 1."""
    s, t, _ = closest_edge_points(pair, edge_axis.edge_a, edge_axis.edge_b)
    points = EdgePoints(0.0, edge_axis.edge_a, s, edge_axis.edge_b, t)
    return add_edge_contact(pair, NONE_FOUND, points, edge_axis.normal, edge_axis.separation, 0.0)


@leaf_kernel
def closest_contacts(pair, points):
    """Find the contacts of separated cores that are closest at the given `EdgePoints`, not at a face. Returns their number."""
    distance = points.distance
    normal = divided(vector_between(pair, points), distance)
    bound = distance / NEAR_FACE_COSINE + pair.noise
    count = near_face_contacts(pair, normal, bound)
    if count == 0:
        return edge_contacts(pair, points)
    smallest = np.inf
    for slot in range(count):
        smallest = min(smallest, pair.manifold.gap[slot])
    if distance <= RESTING_GAP_RATIO * pair.scale or smallest <= distance + pair.noise:
        return count
    return add_edge_contact(pair, count, points, normal, distance, MERGE_RATIO * pair.scale)


@leaf_kernel
def separated_contacts(pair, axis, separation, max_distance):
    """Find the contacts of separated cores for which no face is closest, and return their number.

    axis, separation: a separating axis and the separation along it [m]; zero if none is known.
    max_distance: upper bound of the distance [m], or inf.

    The result is -1 if the cores touch, or if no closest direction separates them as far as the axis does.
    """
    within = min(pair.limit, max_distance * (1.0 + 1e-9) + pair.noise)
    points = closest_edges(pair, within, axis, separation)
    if points.edge_a < 0 and within < pair.limit:
        # The clipping tolerance admits points outside a face, at a sharp corner by more, so the bound may be too small.
        points = closest_edges(pair, pair.limit, axis, separation)
    if points.edge_a < 0:
        return 0
    if points.distance <= pair.noise or not are_closest(pair, points, separation - MERGE_RATIO * pair.scale):
        return -1
    return closest_contacts(pair, points)


@kernel_part
def are_closest(pair, points, least):
    """Return True if the vector between two points of edges separates the cores by at least `least` [m].

    Edges may be nearer than faces that are flat only to a tolerance. The vector between them may then have any direction.
    """
    return axis_separation(pair.a, pair.b, divided(vector_between(pair, points), points.distance)) >= least


@leaf_kernel
def touching_contacts(pair, axis, separation):
    """Find the contacts of touching cores, and return their number.

    They are those with a face along the axis, if there is one; else one contact at the closest edges.

    axis, separation: the axis with the largest separation [m]; zero if none is known.
    """
    known = not is_zero(axis)
    if known:
        count = near_face_contacts(pair, axis, separation + MERGE_RATIO * pair.scale)
        if count > 0:
            return count
    points = closest_edges(pair, pair.limit, ZERO, 0.0)
    if points.edge_a < 0:
        return 0
    if not known:
        axis = touching_normal(pair, points.edge_a, points.edge_b)
    return add_edge_contact(pair, NONE_FOUND, points, axis, separation, 0.0)


@inlined_kernel
def face_axis(pair, face_axis_a, face_axis_b):
    """Return the normal, from a to b, of the `FaceAxis` with the larger separation."""
    if face_axis_a.separation >= face_axis_b.separation:
        return vec(pair.a.planes, face_axis_a.face)
    return negative(vec(pair.b.planes, face_axis_b.face))


@inlined_kernel
def restore_gaps(manifold, count, distance_moved, normal):
    """Subtract a displacement of b along a normal [m] from the gaps of contacts, and return the smallest gap [m]."""
    least = np.inf
    for slot in range(count):
        manifold.gap[slot] -= distance_moved * dot(vec(manifold.normal, slot), normal)
        least = min(least, manifold.gap[slot])
    return least


@leaf_kernel
def coincident_contacts(pair, axis, separation):
    """Find the contacts of touching cores that several axes separate about equally, along the normal between these axes.

    The contacts are those of the cores after a separation along the normal, so their features are those of the following steps.
    The smallest gap is the separation: the depth of an overlap is that along the best axis.

    axis, separation: the best axis and the separation along it [m].

    Returns the number of contacts, 0 if one axis alone decides.
    """
    if not may_have_tied_axes(separation, pair.scale):
        return 0
    several, normal = wedge_normal(pair, axis, separation)
    if not several:
        return 0
    distance, manifold = SEPARATION_IN_MARGINS * inset_margin(separation, pair.scale), pair.manifold
    along = axis_separation(pair.a, pair.b, normal)
    distance_moved = distance - along
    moved = translated(pair.b, scaled(distance_moved, normal), pair.work.moved)
    apart = HullPair(pair.a, moved, pair.limit + distance_moved, pair.scale, pair.noise, manifold, pair.work)
    count = near_face_contacts(apart, normal, distance / NEAR_FACE_COSINE + pair.noise)
    if (
        restore_gaps(manifold, count, distance_moved, normal)
        < separation - FACE_PREFERENCE * abs(separation) - MERGE_RATIO * pair.scale
    ):
        count = 0
    if count == 0:
        points = closest_edges(apart, apart.limit, normal, distance)
        if points.edge_a < 0:
            return 0
        count = edge_contacts(apart, points)
        least = restore_gaps(manifold, count, distance_moved, normal)
        for slot in range(count):
            manifold.gap[slot] += max(separation, along) - least
            set_vec(manifold.normal, slot, normal)
    for slot in range(count):
        set_vec(manifold.point, slot, advanced(vec(manifold.point, slot), -0.5 * distance_moved, normal))
    return count


@kernel_part
def overlap_contacts(pair, face_axis_a, face_axis_b, a_first, edge_axis):
    """Find the contacts of cores that seem to overlap or touch, from the best axis of each kind, and return their number.

    The features of the axis of least penetration touch as deep inside as the axis says. If no features do, the cores are
    separated after all, along an axis that the search leaves out: that of nearly parallel edges, or of flat bodies in one
    plane.

    a_first: True to prefer the face of a in a tie.
    """
    merge = MERGE_RATIO * pair.scale
    deepest = max(face_axis_a.separation, face_axis_b.separation)
    separation, axis = edge_axis.separation, edge_axis.normal
    crosses = False
    if edge_axis.edge_a >= 0:
        _, _, squared = closest_edge_points(pair, edge_axis.edge_a, edge_axis.edge_b)
        crosses = np.sqrt(squared) <= abs(separation) + merge
    if crosses and separation > (1.0 - FACE_PREFERENCE) * deepest + merge:
        count = near_face_contacts(pair, axis, separation + merge)
        if count > 0:
            return count
        return edge_axis_contact(pair, edge_axis)
    for which in range(2):
        of_a = (which == 0) == a_first
        face = face_axis_a.face if of_a else face_axis_b.face
        face_separation = face_axis_a.separation if of_a else face_axis_b.separation
        # The face with less penetration is first. The other one replaces it only if both are equal up to rounding.
        if face < 0 or face_separation < deepest - merge:
            continue
        count, smallest = face_contacts(pair, face, of_a)
        if count > 0 and smallest <= face_separation + merge:
            return count
    if crosses:
        return edge_axis_contact(pair, edge_axis)
    count = separated_contacts(pair, ZERO, 0.0, np.inf)
    if count >= 0:
        return count
    if edge_axis.edge_a < 0:
        separation = deepest
        axis = face_axis(pair, face_axis_a, face_axis_b)
    return touching_contacts(pair, axis, separation)


@kernel_part
def separated_face_contacts(pair, face_axis_a, face_axis_b, a_first):
    """Find the contacts of separated cores with the closest face.

    The distance is between the separation and the smallest gap, which bounds the angle to the closest direction.

    Returns their number, 0 if no face is closest, and an upper bound of the distance [m].
    """
    separation, noise = max(face_axis_a.separation, face_axis_b.separation), pair.noise
    max_distance = np.inf
    for which in range(2):
        of_a = (which == 0) == a_first
        face = face_axis_a.face if of_a else face_axis_b.face
        if (face_axis_a.separation if of_a else face_axis_b.separation) <= noise:
            continue
        count, smallest = face_contacts(pair, face, of_a)
        resting = separation <= RESTING_GAP_RATIO * pair.scale or smallest <= separation + noise
        if count > 0 and smallest * NEAR_FACE_COSINE <= separation and resting:
            return count, smallest
        max_distance = min(max_distance, smallest)
    return 0, max_distance


@kernel_part
def hull_contacts(pair):
    """Find the contacts of two cores with gaps up to the limit, and return their number."""
    limit, noise = pair.limit, pair.noise
    face_axis_a = face_separation(pair.a, pair.b, limit)
    if face_axis_a.separation > limit:
        return 0
    face_axis_b = face_separation(pair.b, pair.a, limit)
    if face_axis_b.separation > limit:
        return 0
    a_first = face_axis_a.separation >= face_axis_b.separation - TIE_RATIO * pair.scale
    separation = max(face_axis_a.separation, face_axis_b.separation)
    axis = ZERO
    max_distance = np.inf
    if separation > noise:
        axis = face_axis(pair, face_axis_a, face_axis_b)
        count = coincident_contacts(pair, axis, separation)
        if count == 0:
            count, max_distance = separated_face_contacts(pair, face_axis_a, face_axis_b, a_first)
        if count > 0:
            return count
    elif separation == -np.inf:
        separation = 0.0
    else:
        edge_axis = edge_separation(pair, face_axis_a, face_axis_b, separation, max(limit, -separation))
        if edge_axis.separation > limit:
            return 0
        separation = edge_axis.separation
        axis = edge_axis.normal if edge_axis.edge_a >= 0 else face_axis(pair, face_axis_a, face_axis_b)
        count = coincident_contacts(pair, axis, separation)
        if count > 0:
            return count
        if separation <= noise:
            return overlap_contacts(pair, face_axis_a, face_axis_b, a_first, edge_axis)
        s, t, squared = closest_edge_points(pair, edge_axis.edge_a, edge_axis.edge_b)
        max_distance = np.sqrt(squared)
        inside = max(abs(s - 0.5), abs(t - 0.5)) < 0.5 - END_FRACTION
        if inside and max_distance <= separation + noise:
            # No two points are nearer than the separation, and as these are inside their edges, no others are as near.
            return closest_contacts(pair, EdgePoints(max_distance, edge_axis.edge_a, s, edge_axis.edge_b, t))
    count = separated_contacts(pair, axis, separation, max_distance)
    if count >= 0:
        return count
    return touching_contacts(pair, axis, separation)
