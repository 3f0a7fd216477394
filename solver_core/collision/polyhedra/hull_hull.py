# SPDX-License-Identifier: GPL-3.0-or-later
"""Narrow phase: the manifold of one pair of convex cores.

Apart, the normal is the closest direction, unless a face looks that way within NEAR_FACE: then the face's normal serves, with a
gap per vertex of the clipped faces, for that is what a resting contact is. Farther apart than bodies rest, the closest points
are a contact too. Overlapping, it is the axis of least penetration;
where several axes separate them about equally, the normal between these (`several_axes`).
Where two choices are equal up to noise a fixed order decides (a face before an edge, the first body's before the second's), so
that the manifold of bodies at rest is the same in every step.
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

# Of an edge's length: closest points farther than this from its ends are not those of a neighbouring edge.
END_FRACTION = 1e-4
# In margins: so far apart, features that coincide up to the margin are closest about along the normal.
SEPARATION_IN_MARGINS = 4.0


@inlined_kernel
def face_along(body, axis):
    """The face whose normal is within NEAR_FACE of an axis, -1 when there is none."""
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
    """Contacts with a face whose normal is near the axis from a to b: the count, 0 if no gap is below the bound."""
    near_a, near_b = face_along(pair.a, axis), face_along(pair.b, negative(axis))
    if near_a < 0 and near_b < 0:
        return 0
    return first_face_contacts(pair, near_a, near_b, bound)


@leaf_kernel
def first_face_contacts(pair, face_a, face_b, bound):
    """Contacts with the face of a, else with that of b (-1: none), that has a gap below the bound: the count, 0 if neither."""
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
    """A unit normal from a to b for points and segments that touch: across both segments, else towards the other's centre."""
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
            # any direction across the segment will do
            normal = perpendicular(d, dd) if dd > 0.0 else Z
    length = norm(normal)
    return divided(normal, -length if dot(normal, between) < 0.0 else length)


@inlined_kernel
def add_edge_contact(pair, count, points, normal, gap, merge):
    """Adds the contact midway between two points of edges: the count."""
    feature = edge_feature(points.edge_a, NO_VERTEX, points.edge_b, NO_VERTEX)
    return add_contact(pair.manifold, count, pair.limit, merge, midpoint_between(pair, points), normal, gap, feature)


@inlined_kernel
def edge_axis_contact(pair, edge_axis):
    """The one contact of the edges of an `EdgeAxis`, along it."""
    s, t, _ = closest_edge_points(pair, edge_axis.edge_a, edge_axis.edge_b)
    points = EdgePoints(0.0, edge_axis.edge_a, s, edge_axis.edge_b, t)
    return add_edge_contact(pair, NONE_FOUND, points, edge_axis.normal, edge_axis.separation, 0.0)


@leaf_kernel
def closest_contacts(pair, points):
    """Contacts of disjoint cores that are closest at two points of edges, and at no face: the count."""
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
    """Contacts of disjoint cores of which no face is closest, from a separating axis (zero when there is none): the count.

    upper: a distance that the cores do not exceed, inf when none is known. Returns -1 when the cores turn out to touch, or no
    closest direction is found that separates them as far as the axis does.
    """
    within = min(pair.limit, max_distance * (1.0 + 1e-9) + pair.noise)
    points = closest_edges(pair, within, axis, separation)
    if points.edge_a < 0 and within < pair.limit:
        # What is over a face may be beside it by the tolerance of clipping, and at a sharp corner by more.
        points = closest_edges(pair, pair.limit, axis, separation)
    if points.edge_a < 0:
        return 0
    if points.distance <= pair.noise or not are_closest(pair, points, separation - MERGE_RATIO * pair.scale):
        return -1
    return closest_contacts(pair, points)


@kernel_part
def are_closest(pair, points, least):
    """Whether the cores are apart by at least so much along the way between two points of edges.

    Edges nearer than the faces between them are flat lead any way, also through the bodies.
    """
    return axis_separation(pair.a, pair.b, divided(vector_between(pair, points), points.distance)) >= least


@leaf_kernel
def touching_contacts(pair, axis, separation):
    """Contacts of cores that touch, from the axis that separates them most (zero when there is none): the count.

    With a face that looks along the axis where there is one; else one contact, where edges are closest.
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
    """The normal from a to b of the face with the larger separation, of two `FaceAxis`."""
    if face_axis_a.separation >= face_axis_b.separation:
        return vec(pair.a.planes, face_axis_a.face)
    return negative(vec(pair.b.planes, face_axis_b.face))


@inlined_kernel
def restore_gaps(manifold, count, distance_moved, normal):
    """Takes a way in m along a normal, by which b was moved, from the gaps of contacts, and returns the least."""
    least = np.inf
    for slot in range(count):
        manifold.gap[slot] -= distance_moved * dot(vec(manifold.normal, slot), normal)
        least = min(least, manifold.gap[slot])
    return least


@leaf_kernel
def coincident_contacts(pair, axis, separation):
    """Contacts of cores that touch, where several axes separate them about equally, with the normal between: the count, else 0.

    axis: the best one, with its separation. The contacts are those of the cores moved apart along the normal, so that features
    and their ids are those with which the bodies go on; the least gap is the separation, for bodies that overlap are as deep in
    each other as the best axis says.
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
    """Contacts of cores that seem to overlap or touch, from the best axis of each kind.

    The features of the axis of least penetration meet as far inside as the axis says. Where none do, the cores are apart after
    all, and only an axis that the search leaves out separates them: that of nearly parallel edges, or flat bodies in one plane.
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
        own = face_axis_a.separation if of_a else face_axis_b.separation
        # The face of less penetration comes first; the other one may stand in for it only when they are equal up to noise.
        if face < 0 or own < deepest - merge:
            continue
        count, smallest = face_contacts(pair, face, of_a)
        if count > 0 and smallest <= own + merge:
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
    """Contacts of disjoint cores with the face that is closest: (the count, 0 where none is; no less than the distance in m).

    The distance is between the separation and the smallest gap, which bounds the angle to the closest direction.
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
    """Collects the contacts of two cores with gaps up to the limit and returns how many."""
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
            # No two points are nearer than the separation, and with these ones inside of their edges no others are as near.
            return closest_contacts(pair, EdgePoints(max_distance, edge_axis.edge_a, s, edge_axis.edge_b, t))
    count = separated_contacts(pair, axis, separation, max_distance)
    if count >= 0:
        return count
    return touching_contacts(pair, axis, separation)
