# SPDX-License-Identifier: GPL-3.0-or-later
"""Narrow phase: the manifold of one pair of convex cores, or of a half-space and a core.

Apart, the normal is the closest direction, unless a face looks that way within NEAR_FACE: then the face's normal serves, with a
gap per vertex of the clipped faces, for that is what a resting contact is. Farther apart than bodies rest, the closest points
are a contact too. Overlapping, it is the axis of least penetration.
Where two choices are equal up to noise a fixed order decides (a face before an edge, the first body's before the second's), so
that the manifold of bodies at rest is the same in every step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, inner_kernel, kernel_part, leaf_kernel
from ..manifold import FACE_VERTEX, NO_VERTEX, NONE_FOUND, VERTEX_FACE, add_contact, feature_id
from .closest_edges import closest_edges, segment_parameters
from .edge_contacts import edge_contacts, edge_feature
from .face_contacts import FACING, face_contacts, incident_face, vertex_heights
from .separation import axis_separation, edge_separation, face_separation

__all__ = ["NEAR_FACE", "HullWork", "hull_contacts", "hull_work", "plane_contacts"]

# Cosine of one degree.
NEAR_FACE = 0.99984769515639
# Of the smaller body's size: up to this distance, as of bodies at rest, the face alone serves.
RESTING = 3e-4

# In units of the smaller body's size: a choice between reference faces, the edge of a face, and one contact or two.
TIE = 1e-8
CLIP_TOLERANCE = 1e-8
MERGE = 1e-6
# Of an edge's length: closest points farther than this from its ends are not those of a neighbouring edge.
AWAY_FROM_ENDS = 1e-4
# An edge axis must be better than a face's by this fraction of the depth when bodies overlap.
FACE_PREFERENCE = 0.05


class HullWork(NamedTuple):
    """Work arrays of the narrow phase, large enough for every body of a shape table."""

    polygon: NDArray[np.float64]
    tags: NDArray[np.int64]
    spare: NDArray[np.float64]
    spare_tags: NDArray[np.int64]
    edges: NDArray[np.float64]
    heights: NDArray[np.float64]
    marks: NDArray[np.int64]
    sides: NDArray[np.float64]
    levels: NDArray[np.float64]


@inner_kernel
def hull_work(longest_loop, most_edges, most_faces, most_vertices):
    rows = 4 * longest_loop + 16
    return HullWork(
        np.empty((rows, 3)),
        np.empty(rows, dtype=np.int64),
        np.empty((rows, 3)),
        np.empty(rows, dtype=np.int64),
        np.empty((most_edges, 13)),
        np.empty(most_vertices),
        np.empty(most_faces, dtype=np.int64),
        np.empty((longest_loop, 5)),
        np.empty(rows),
    )


@inlined_kernel
def reference_contacts(a, b, face, of_a, limit, scale, manifold, work):
    """Contacts with a face of a (of_a) or of b: (count, smallest gap)."""
    reference = a if of_a else b
    body = b if of_a else a
    return face_contacts(
        reference,
        face,
        body,
        of_a,
        limit,
        CLIP_TOLERANCE * scale,
        MERGE * scale,
        manifold,
        work,
    )


@inlined_kernel
def face_along(body, x, y, z):
    """The face whose normal is within NEAR_FACE of (x, y, z), -1 when there is none."""
    best = -1
    best_cosine = NEAR_FACE
    for f in range(len(body.planes)):
        cosine = x * body.planes[f, 0] + y * body.planes[f, 1] + z * body.planes[f, 2]
        if cosine > best_cosine:
            best_cosine = cosine
            best = f
    return best


@inlined_kernel
def near_face_contacts(a, b, x, y, z, bound, limit, scale, manifold, work):
    """Contacts with a face whose normal is near the axis (x, y, z) from a to b: the count, 0 if no gap is below the bound."""
    near_a, near_b = face_along(a, x, y, z), face_along(b, -x, -y, -z)
    if near_a < 0 and near_b < 0:
        return 0
    return first_face_contacts(a, b, near_a, near_b, bound, limit, scale, manifold, work)


@leaf_kernel
def first_face_contacts(a, b, face_a, face_b, bound, limit, scale, manifold, work):
    """Contacts with the face of a, else with that of b (-1: none), that has a gap below the bound: the count, 0 if neither."""
    for turn in range(2):
        of_a = turn == 0
        face = face_a if of_a else face_b
        if face >= 0:
            count, smallest = reference_contacts(a, b, face, of_a, limit, scale, manifold, work)
            if count > 0 and smallest <= bound:
                return count
    return 0


@leaf_kernel
def touching_normal(a, edge_a, b, edge_b):
    """A unit normal from a to b for points and segments that touch: across both segments, else towards the other's centre."""
    i, j = a.edges[edge_a, 0], a.edges[edge_a, 1]
    dx = a.vertices[j, 0] - a.vertices[i, 0]
    dy = a.vertices[j, 1] - a.vertices[i, 1]
    dz = a.vertices[j, 2] - a.vertices[i, 2]
    i, j = b.edges[edge_b, 0], b.edges[edge_b, 1]
    ex = b.vertices[j, 0] - b.vertices[i, 0]
    ey = b.vertices[j, 1] - b.vertices[i, 1]
    ez = b.vertices[j, 2] - b.vertices[i, 2]
    cx, cy, cz = b.centre[0] - a.centre[0], b.centre[1] - a.centre[1], b.centre[2] - a.centre[2]
    dd = dx * dx + dy * dy + dz * dz
    ee = ex * ex + ey * ey + ez * ez
    x, y, z = dy * ez - dz * ey, dz * ex - dx * ez, dx * ey - dy * ex
    if x * x + y * y + z * z <= 1e-12 * dd * ee:
        if dd < ee:
            dx, dy, dz, dd = ex, ey, ez, ee
        along = (cx * dx + cy * dy + cz * dz) / dd if dd > 0.0 else 0.0
        x, y, z = cx - along * dx, cy - along * dy, cz - along * dz
        if x * x + y * y + z * z <= 1e-12 * dd or (x == 0.0 and y == 0.0 and z == 0.0):
            # Any direction across the segment will do: the coordinate axis least along it, made perpendicular.
            if abs(dz) <= abs(dx) and abs(dz) <= abs(dy):
                x, y, z = -dz * dx, -dz * dy, dd - dz * dz
            elif abs(dy) <= abs(dx):
                x, y, z = -dy * dx, dd - dy * dy, -dy * dz
            else:
                x, y, z = dd - dx * dx, -dx * dy, -dx * dz
            if dd == 0.0:
                x, y, z = 0.0, 0.0, 1.0
    length = np.sqrt(x * x + y * y + z * z)
    if x * cx + y * cy + z * cz < 0.0:
        length = -length
    return x / length, y / length, z / length


@leaf_kernel
def point_of_edges(a, edge_a, s, b, edge_b, t):
    """Midpoint of the points at s of an edge of a and t of an edge of b."""
    i, j = a.edges[edge_a, 0], a.edges[edge_a, 1]
    p, q = b.edges[edge_b, 0], b.edges[edge_b, 1]
    x = 0.5 * ((1.0 - s) * a.vertices[i, 0] + s * a.vertices[j, 0] + (1.0 - t) * b.vertices[p, 0] + t * b.vertices[q, 0])
    y = 0.5 * ((1.0 - s) * a.vertices[i, 1] + s * a.vertices[j, 1] + (1.0 - t) * b.vertices[p, 1] + t * b.vertices[q, 1])
    z = 0.5 * ((1.0 - s) * a.vertices[i, 2] + s * a.vertices[j, 2] + (1.0 - t) * b.vertices[p, 2] + t * b.vertices[q, 2])
    return x, y, z


@inlined_kernel
def closest_on_edges(a, edge_a, b, edge_b):
    """Closest points of two edges: (s, t, squared distance)."""
    i, j = a.edges[edge_a, 0], a.edges[edge_a, 1]
    p, q = b.edges[edge_b, 0], b.edges[edge_b, 1]
    return segment_parameters(
        a.vertices[i, 0],
        a.vertices[i, 1],
        a.vertices[i, 2],
        a.vertices[j, 0] - a.vertices[i, 0],
        a.vertices[j, 1] - a.vertices[i, 1],
        a.vertices[j, 2] - a.vertices[i, 2],
        b.vertices[p, 0],
        b.vertices[p, 1],
        b.vertices[p, 2],
        b.vertices[q, 0] - b.vertices[p, 0],
        b.vertices[q, 1] - b.vertices[p, 1],
        b.vertices[q, 2] - b.vertices[p, 2],
    )


@inlined_kernel
def crossing_contact(a, edge_a, b, edge_b, x, y, z, separation, limit, manifold):
    """The one contact of two edges along a given axis."""
    s, t, _ = closest_on_edges(a, edge_a, b, edge_b)
    px, py, pz = point_of_edges(a, edge_a, s, b, edge_b, t)
    feature = edge_feature(edge_a, NO_VERTEX, edge_b, NO_VERTEX)
    return add_contact(manifold, NONE_FOUND, limit, 0.0, px, py, pz, x, y, z, separation, feature)


@inlined_kernel
def between_edges(a, edge_a, s, b, edge_b, t):
    """The way from the point at s of an edge of a to that at t of an edge of b."""
    i, j = a.edges[edge_a, 0], a.edges[edge_a, 1]
    p, q = b.edges[edge_b, 0], b.edges[edge_b, 1]
    x = (1.0 - t) * b.vertices[p, 0] + t * b.vertices[q, 0] - (1.0 - s) * a.vertices[i, 0] - s * a.vertices[j, 0]
    y = (1.0 - t) * b.vertices[p, 1] + t * b.vertices[q, 1] - (1.0 - s) * a.vertices[i, 1] - s * a.vertices[j, 1]
    z = (1.0 - t) * b.vertices[p, 2] + t * b.vertices[q, 2] - (1.0 - s) * a.vertices[i, 2] - s * a.vertices[j, 2]
    return x, y, z


@leaf_kernel
def closest_contacts(a, b, distance, edge_a, s, edge_b, t, limit, scale, noise, manifold, work):
    """Contacts of disjoint cores that are closest at s of an edge of a and t of an edge of b, and at no face: the count."""
    x, y, z = between_edges(a, edge_a, s, b, edge_b, t)
    x, y, z = x / distance, y / distance, z / distance
    bound = distance / NEAR_FACE + noise
    count = near_face_contacts(a, b, x, y, z, bound, limit, scale, manifold, work)
    if count == 0:
        return edge_contacts(a, edge_a, s, b, edge_b, t, limit, scale, MERGE * scale, noise, manifold)
    smallest = np.inf
    for slot in range(count):
        smallest = min(smallest, manifold.gap[slot])
    if distance <= RESTING * scale or smallest <= distance + noise:
        return count
    px, py, pz = point_of_edges(a, edge_a, s, b, edge_b, t)
    feature = edge_feature(edge_a, NO_VERTEX, edge_b, NO_VERTEX)
    return add_contact(manifold, count, limit, MERGE * scale, px, py, pz, x, y, z, distance, feature)


@leaf_kernel
def apart_contacts(a, b, x, y, z, separation, upper, limit, scale, noise, manifold, work):
    """Contacts of disjoint cores of which no face is closest, from a separating axis (zero when there is none): the count.

    upper: a distance that the cores do not exceed, inf when none is known. Returns -1 when the cores turn out to touch, or no
    closest direction is found that separates them as far as the axis does.
    """
    within = min(limit, upper * (1.0 + 1e-9) + noise)
    distance, edge_a, s, edge_b, t = closest_edges(a, b, within, x, y, z, separation, work.edges, work.heights)
    if edge_a < 0 and within < limit:
        # What is over a face may be beside it by the tolerance of clipping, and at a sharp corner by more.
        distance, edge_a, s, edge_b, t = closest_edges(a, b, limit, x, y, z, separation, work.edges, work.heights)
    if edge_a < 0:
        return 0
    if distance <= noise or not are_closest(a, edge_a, s, b, edge_b, t, distance, separation - MERGE * scale):
        return -1
    return closest_contacts(a, b, distance, edge_a, s, edge_b, t, limit, scale, noise, manifold, work)


@leaf_kernel
def are_closest(a, edge_a, s, b, edge_b, t, distance, least):
    """Whether the cores are apart by at least so much along the way from s on an edge of a to t on an edge of b.

    Edges nearer than the faces between them are flat lead any way, also through the bodies.
    """
    x, y, z = between_edges(a, edge_a, s, b, edge_b, t)
    return axis_separation(a, b, x / distance, y / distance, z / distance) >= least


@leaf_kernel
def touching_contacts(a, b, x, y, z, separation, limit, scale, manifold, work):
    """Contacts of cores that touch, from the axis that separates them most (zero when there is none): the count.

    With a face that looks along the axis where there is one; else one contact, where edges are closest.
    """
    known = x != 0.0 or y != 0.0 or z != 0.0
    if known:
        count = near_face_contacts(a, b, x, y, z, separation + MERGE * scale, limit, scale, manifold, work)
        if count > 0:
            return count
    _, edge_a, s, edge_b, t = closest_edges(a, b, limit, 0.0, 0.0, 0.0, 0.0, work.edges, work.heights)
    if edge_a < 0:
        return 0
    if not known:
        x, y, z = touching_normal(a, edge_a, b, edge_b)
    px, py, pz = point_of_edges(a, edge_a, s, b, edge_b, t)
    feature = edge_feature(edge_a, NO_VERTEX, edge_b, NO_VERTEX)
    return add_contact(manifold, NONE_FOUND, limit, 0.0, px, py, pz, x, y, z, separation, feature)


@inlined_kernel
def face_axis(a, separation_a, face_a, b, separation_b, face_b):
    """The normal from a to b of the face with the larger separation."""
    if separation_a >= separation_b:
        return a.planes[face_a, 0], a.planes[face_a, 1], a.planes[face_a, 2]
    return -b.planes[face_b, 0], -b.planes[face_b, 1], -b.planes[face_b, 2]


@kernel_part
def overlap_contacts(a, b, separation_a, face_a, separation_b, face_b, a_first, crossing, limit, scale, noise, manifold, work):
    """Contacts of cores that seem to overlap or touch. crossing: the best edge axis as `edge_separation` returns it.

    The features of the axis of least penetration meet as far inside as the axis says. Where none do, the cores are apart after
    all, and only an axis that the search leaves out separates them: that of nearly parallel edges, or flat bodies in one plane.
    """
    deepest = max(separation_a, separation_b)
    separation, edge_a, edge_b, x, y, z = crossing
    crosses = False
    if edge_a >= 0:
        _, _, squared = closest_on_edges(a, edge_a, b, edge_b)
        crosses = np.sqrt(squared) <= abs(separation) + MERGE * scale
    if crosses and separation > (1.0 - FACE_PREFERENCE) * deepest + MERGE * scale:
        count = near_face_contacts(a, b, x, y, z, separation + MERGE * scale, limit, scale, manifold, work)
        if count > 0:
            return count
        return crossing_contact(a, edge_a, b, edge_b, x, y, z, separation, limit, manifold)
    for turn in range(2):
        of_a = (turn == 0) == a_first
        face = face_a if of_a else face_b
        own = separation_a if of_a else separation_b
        # The face of less penetration comes first; the other one may stand in for it only when they are equal up to noise.
        if face < 0 or own < deepest - MERGE * scale:
            continue
        count, smallest = reference_contacts(a, b, face, of_a, limit, scale, manifold, work)
        if count > 0 and smallest <= own + MERGE * scale:
            return count
    if crosses:
        return crossing_contact(a, edge_a, b, edge_b, x, y, z, separation, limit, manifold)
    count = apart_contacts(a, b, 0.0, 0.0, 0.0, 0.0, np.inf, limit, scale, noise, manifold, work)
    if count >= 0:
        return count
    if edge_a < 0:
        separation = deepest
        x, y, z = face_axis(a, separation_a, face_a, b, separation_b, face_b)
    return touching_contacts(a, b, x, y, z, separation, limit, scale, manifold, work)


@kernel_part
def hull_contacts(a, b, limit, scale, noise, manifold, work):
    """Collects the contacts of two cores with gaps up to the limit and returns how many.

    scale: size of the smaller body in m, against which ties are judged. noise: distance in m below which the closest direction
    is lost to rounding, so that the cores count as touching.
    """
    separation_a, face_a, vertex_b = face_separation(a, b, limit)
    if separation_a > limit:
        return 0
    separation_b, face_b, vertex_a = face_separation(b, a, limit)
    if separation_b > limit:
        return 0
    a_first = separation_a >= separation_b - TIE * scale
    separation = max(separation_a, separation_b)
    x = y = z = 0.0
    upper = np.inf
    if separation > noise:
        for turn in range(2):
            of_a = (turn == 0) == a_first
            face = face_a if of_a else face_b
            if (separation_a if of_a else separation_b) <= noise:
                continue
            count, smallest = reference_contacts(a, b, face, of_a, limit, scale, manifold, work)
            # The distance is between the separation and the smallest gap, which bounds the angle to the closest direction.
            resting = separation <= RESTING * scale or smallest <= separation + noise
            if count > 0 and smallest * NEAR_FACE <= separation and resting:
                return count
            upper = min(upper, smallest)
        x, y, z = face_axis(a, separation_a, face_a, b, separation_b, face_b)
    elif separation == -np.inf:
        separation = 0.0
    else:
        radius = max(limit, -separation)
        crossing = edge_separation(a, b, face_a, vertex_b, face_b, vertex_a, separation, radius, noise, work.edges, work.marks)
        if crossing[0] > limit:
            return 0
        if crossing[0] <= noise:
            return overlap_contacts(
                a, b, separation_a, face_a, separation_b, face_b, a_first, crossing, limit, scale, noise, manifold, work
            )
        separation, edge_a, edge_b, x, y, z = crossing
        s, t, squared = closest_on_edges(a, edge_a, b, edge_b)
        upper = np.sqrt(squared)
        inside = max(abs(s - 0.5), abs(t - 0.5)) < 0.5 - AWAY_FROM_ENDS
        if inside and upper <= separation + noise:
            # No two points are nearer than the separation, and with these ones inside of their edges no others are as near.
            return closest_contacts(a, b, upper, edge_a, s, edge_b, t, limit, scale, noise, manifold, work)
    count = apart_contacts(a, b, x, y, z, separation, upper, limit, scale, noise, manifold, work)
    if count >= 0:
        return count
    return touching_contacts(a, b, x, y, z, separation, limit, scale, manifold, work)


@leaf_kernel
def plane_contacts(body, x, y, z, offset, plane_is_a, limit, merge, manifold, heights):
    """Contacts of a core with the half-space (x, y, z) . p <= offset, at vertices of the faces that look at it: the count."""
    sign = 1.0 if plane_is_a else -1.0
    lowest = vertex_heights(body, x, y, z, heights)
    if lowest - offset > limit:
        return 0
    primary = incident_face(body, x, y, z, heights, lowest + merge)
    count = 0
    for f in range(-1 if primary < 0 else 0, len(body.planes)):
        if f != primary and x * body.planes[f, 0] + y * body.planes[f, 1] + z * body.planes[f, 2] >= FACING:
            continue
        first = body.loop_start[f] if f >= 0 else 0
        size = body.loop_start[f + 1] - first if f >= 0 else len(body.vertices)
        for slot in range(first, first + size):
            v = body.loop_vertices[slot] if f >= 0 else slot
            px, py, pz = body.vertices[v, 0], body.vertices[v, 1], body.vertices[v, 2]
            gap = x * px + y * py + z * pz - offset
            half = 0.5 * gap
            feature = feature_id(FACE_VERTEX, 0, v) if plane_is_a else feature_id(VERTEX_FACE, v, 0)
            count = add_contact(
                manifold,
                count,
                limit,
                merge,
                px - half * x,
                py - half * y,
                pz - half * z,
                sign * x,
                sign * y,
                sign * z,
                gap,
                feature,
            )
    return count
