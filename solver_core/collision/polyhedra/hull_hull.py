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
from .closest_edges import EdgePoints, closest_edges, edges_apart, middle_of, way_between
from .edge_contacts import along_edge, edge_contacts, edge_feature
from .face_contacts import face_contacts
from .hull_pair import FACE_PREFERENCE, MERGE, NEAR_FACE, RESTING, TIE, HullPair
from .polyhedron import shifted
from .separation import PARALLEL, axis_separation, edge_separation, face_separation
from .several_axes import is_near_touching, margin_of, normal_between

__all__ = ["hull_contacts"]

# Of an edge's length: closest points farther than this from its ends are not those of a neighbouring edge.
AWAY_FROM_ENDS = 1e-4
# In margins: so far apart, features that coincide up to the margin are closest about along the normal.
CLEARLY = 4.0


@inlined_kernel
def face_along(body, axis):
    """The face whose normal is within NEAR_FACE of an axis, -1 when there is none."""
    best = -1
    best_cosine = NEAR_FACE
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
    d, e = along_edge(pair.a, edge_a), along_edge(pair.b, edge_b)
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
def contact_of_edges(pair, count, points, normal, gap, merge):
    """Adds the contact midway between two points of edges: the count."""
    feature = edge_feature(points.edge_a, NO_VERTEX, points.edge_b, NO_VERTEX)
    return add_contact(pair.manifold, count, pair.limit, merge, middle_of(pair, points), normal, gap, feature)


@inlined_kernel
def crossing_contact(pair, crossing):
    """The one contact of the edges of an `EdgeAxis`, along it."""
    s, t, _ = edges_apart(pair, crossing.edge_a, crossing.edge_b)
    points = EdgePoints(0.0, crossing.edge_a, s, crossing.edge_b, t)
    return contact_of_edges(pair, NONE_FOUND, points, crossing.normal, crossing.separation, 0.0)


@leaf_kernel
def closest_contacts(pair, points):
    """Contacts of disjoint cores that are closest at two points of edges, and at no face: the count."""
    distance = points.distance
    normal = divided(way_between(pair, points), distance)
    bound = distance / NEAR_FACE + pair.noise
    count = near_face_contacts(pair, normal, bound)
    if count == 0:
        return edge_contacts(pair, points)
    smallest = np.inf
    for slot in range(count):
        smallest = min(smallest, pair.manifold.gap[slot])
    if distance <= RESTING * pair.scale or smallest <= distance + pair.noise:
        return count
    return contact_of_edges(pair, count, points, normal, distance, MERGE * pair.scale)


@leaf_kernel
def apart_contacts(pair, axis, separation, upper):
    """Contacts of disjoint cores of which no face is closest, from a separating axis (zero when there is none): the count.

    upper: a distance that the cores do not exceed, inf when none is known. Returns -1 when the cores turn out to touch, or no
    closest direction is found that separates them as far as the axis does.
    """
    within = min(pair.limit, upper * (1.0 + 1e-9) + pair.noise)
    points = closest_edges(pair, within, axis, separation)
    if points.edge_a < 0 and within < pair.limit:
        # What is over a face may be beside it by the tolerance of clipping, and at a sharp corner by more.
        points = closest_edges(pair, pair.limit, axis, separation)
    if points.edge_a < 0:
        return 0
    if points.distance <= pair.noise or not are_closest(pair, points, separation - MERGE * pair.scale):
        return -1
    return closest_contacts(pair, points)


@kernel_part
def are_closest(pair, points, least):
    """Whether the cores are apart by at least so much along the way between two points of edges.

    Edges nearer than the faces between them are flat lead any way, also through the bodies.
    """
    return axis_separation(pair.a, pair.b, divided(way_between(pair, points), points.distance)) >= least


@leaf_kernel
def touching_contacts(pair, axis, separation):
    """Contacts of cores that touch, from the axis that separates them most (zero when there is none): the count.

    With a face that looks along the axis where there is one; else one contact, where edges are closest.
    """
    known = not is_zero(axis)
    if known:
        count = near_face_contacts(pair, axis, separation + MERGE * pair.scale)
        if count > 0:
            return count
    points = closest_edges(pair, pair.limit, ZERO, 0.0)
    if points.edge_a < 0:
        return 0
    if not known:
        axis = touching_normal(pair, points.edge_a, points.edge_b)
    return contact_of_edges(pair, NONE_FOUND, points, axis, separation, 0.0)


@inlined_kernel
def face_axis(pair, over_a, over_b):
    """The normal from a to b of the face with the larger separation, of two `FaceAxis`."""
    if over_a.separation >= over_b.separation:
        return vec(pair.a.planes, over_a.face)
    return negative(vec(pair.b.planes, over_b.face))


@inlined_kernel
def least_gap_back(manifold, count, way, normal):
    """Takes a way in m along a normal, by which b was moved, from the gaps of contacts, and returns the least."""
    least = np.inf
    for slot in range(count):
        manifold.gap[slot] -= way * dot(vec(manifold.normal, slot), normal)
        least = min(least, manifold.gap[slot])
    return least


@leaf_kernel
def coincident_contacts(pair, axis, separation):
    """Contacts of cores that touch, where several axes separate them about equally, with the normal between: the count, else 0.

    axis: the best one, with its separation. The contacts are those of the cores moved apart along the normal, so that features
    and their ids are those with which the bodies go on; the least gap is the separation, for bodies that overlap are as deep in
    each other as the best axis says.
    """
    if not is_near_touching(separation, pair.scale):
        return 0
    several, normal = normal_between(pair, axis, separation)
    if not several:
        return 0
    distance, manifold = CLEARLY * margin_of(separation, pair.scale), pair.manifold
    along = axis_separation(pair.a, pair.b, normal)
    way = distance - along
    moved = shifted(pair.b, scaled(way, normal), pair.work.moved)
    apart = HullPair(pair.a, moved, pair.limit + way, pair.scale, pair.noise, manifold, pair.work)
    count = near_face_contacts(apart, normal, distance / NEAR_FACE + pair.noise)
    if least_gap_back(manifold, count, way, normal) < separation - FACE_PREFERENCE * abs(separation) - MERGE * pair.scale:
        count = 0
    if count == 0:
        points = closest_edges(apart, apart.limit, normal, distance)
        if points.edge_a < 0:
            return 0
        count = edge_contacts(apart, points)
        least = least_gap_back(manifold, count, way, normal)
        for slot in range(count):
            manifold.gap[slot] += max(separation, along) - least
            set_vec(manifold.normal, slot, normal)
    for slot in range(count):
        set_vec(manifold.point, slot, advanced(vec(manifold.point, slot), -0.5 * way, normal))
    return count


@kernel_part
def overlap_contacts(pair, over_a, over_b, a_first, crossing):
    """Contacts of cores that seem to overlap or touch, from the best axis of each kind.

    The features of the axis of least penetration meet as far inside as the axis says. Where none do, the cores are apart after
    all, and only an axis that the search leaves out separates them: that of nearly parallel edges, or flat bodies in one plane.
    """
    merge = MERGE * pair.scale
    deepest = max(over_a.separation, over_b.separation)
    separation, axis = crossing.separation, crossing.normal
    crosses = False
    if crossing.edge_a >= 0:
        _, _, squared = edges_apart(pair, crossing.edge_a, crossing.edge_b)
        crosses = np.sqrt(squared) <= abs(separation) + merge
    if crosses and separation > (1.0 - FACE_PREFERENCE) * deepest + merge:
        count = near_face_contacts(pair, axis, separation + merge)
        if count > 0:
            return count
        return crossing_contact(pair, crossing)
    for which in range(2):
        of_a = (which == 0) == a_first
        face = over_a.face if of_a else over_b.face
        own = over_a.separation if of_a else over_b.separation
        # The face of less penetration comes first; the other one may stand in for it only when they are equal up to noise.
        if face < 0 or own < deepest - merge:
            continue
        count, smallest = face_contacts(pair, face, of_a)
        if count > 0 and smallest <= own + merge:
            return count
    if crosses:
        return crossing_contact(pair, crossing)
    count = apart_contacts(pair, ZERO, 0.0, np.inf)
    if count >= 0:
        return count
    if crossing.edge_a < 0:
        separation = deepest
        axis = face_axis(pair, over_a, over_b)
    return touching_contacts(pair, axis, separation)


@kernel_part
def face_contacts_apart(pair, over_a, over_b, a_first):
    """Contacts of disjoint cores with the face that is closest: (the count, 0 where none is; no less than the distance in m).

    The distance is between the separation and the smallest gap, which bounds the angle to the closest direction.
    """
    separation, noise = max(over_a.separation, over_b.separation), pair.noise
    upper = np.inf
    for which in range(2):
        of_a = (which == 0) == a_first
        face = over_a.face if of_a else over_b.face
        if (over_a.separation if of_a else over_b.separation) <= noise:
            continue
        count, smallest = face_contacts(pair, face, of_a)
        resting = separation <= RESTING * pair.scale or smallest <= separation + noise
        if count > 0 and smallest * NEAR_FACE <= separation and resting:
            return count, smallest
        upper = min(upper, smallest)
    return 0, upper


@kernel_part
def hull_contacts(pair):
    """Collects the contacts of two cores with gaps up to the limit and returns how many."""
    limit, noise = pair.limit, pair.noise
    over_a = face_separation(pair.a, pair.b, limit)
    if over_a.separation > limit:
        return 0
    over_b = face_separation(pair.b, pair.a, limit)
    if over_b.separation > limit:
        return 0
    a_first = over_a.separation >= over_b.separation - TIE * pair.scale
    separation = max(over_a.separation, over_b.separation)
    axis = ZERO
    upper = np.inf
    if separation > noise:
        axis = face_axis(pair, over_a, over_b)
        count = coincident_contacts(pair, axis, separation)
        if count == 0:
            count, upper = face_contacts_apart(pair, over_a, over_b, a_first)
        if count > 0:
            return count
    elif separation == -np.inf:
        separation = 0.0
    else:
        crossing = edge_separation(pair, over_a, over_b, separation, max(limit, -separation))
        if crossing.separation > limit:
            return 0
        separation = crossing.separation
        axis = crossing.normal if crossing.edge_a >= 0 else face_axis(pair, over_a, over_b)
        count = coincident_contacts(pair, axis, separation)
        if count > 0:
            return count
        if separation <= noise:
            return overlap_contacts(pair, over_a, over_b, a_first, crossing)
        s, t, squared = edges_apart(pair, crossing.edge_a, crossing.edge_b)
        upper = np.sqrt(squared)
        inside = max(abs(s - 0.5), abs(t - 0.5)) < 0.5 - AWAY_FROM_ENDS
        if inside and upper <= separation + noise:
            # No two points are nearer than the separation, and with these ones inside of their edges no others are as near.
            return closest_contacts(pair, EdgePoints(upper, crossing.edge_a, s, crossing.edge_b, t))
    count = apart_contacts(pair, axis, separation, upper)
    if count >= 0:
        return count
    return touching_contacts(pair, axis, separation)
