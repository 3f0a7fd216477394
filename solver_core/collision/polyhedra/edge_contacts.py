# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of edges and vertices, each along its own closest direction.

Two crossing edges touch once. Two nearly parallel edges touch along their overlap: the ends of the overlap are contacts, and
the normal of each is the direction from the vertex to the closest point of the other edge. While the bodies are separated,
these normals are smooth functions of the poses. A common normal is not, because the closest points of nearly parallel edges are
ill-conditioned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compile.kernel import FALSE, TRUE, inlined_kernel, kernel_part, leaf_kernel
from ...linalg.vec3 import ZERO, advanced, cross, distance2, divided, dot, negative, norm, norm2, scaled, sub, vec
from ..manifold import (
    EDGE_EDGE,
    EDGE_VERTEX,
    FACE_VERTEX,
    NONE_FOUND,
    VERTEX_EDGE,
    VERTEX_FACE,
    VERTEX_VERTEX,
    add_contact,
    feature_id,
)
from .hull_pair import MERGE_RATIO, swapped_pair
from .separation import axis_separation

__all__ = ["NEARLY_PARALLEL", "edge_contacts", "edge_feature", "edge_vector"]

# Edges count as nearly parallel up to this squared sine (11 degrees).
NEARLY_PARALLEL = 0.04
# Sine by which the normal of a face may leave the arc of normals of the other body's edge.
ARC_TOLERANCE = 0.02
# Smallest cosine between the normal of a contact and the closest direction of the bodies.
MIN_DIRECTION_COSINE = 0.5
# Relative to the size of the smaller body: how far the bodies may overlap along the normal of a contact, as they do along the
# normal of a face one degree from the closest direction.
MAX_OVERSHOOT_RATIO = 0.0175
# Relative difference of distances up to which an inner closest point is as near as the ends of the overlap.
SAME_DISTANCE = 1e-7


class EndContact(NamedTuple):
    """The contact of an end vertex of an edge of a with an edge of b: point on a [m], normal from a to b, and gap [m].

    found: False if there is no contact.
    face_a, face_b: if the direction between the closest points is outside the normals of one of the edges, the contact is with
        a face of that edge; else both are -1.
    end: vertex of b's edge at the closest point, or -1 for an inner point.
    """

    found: bool
    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    gap: float
    face_a: int
    face_b: int
    end: int


@inlined_kernel
def edge_vector(body, edge):
    """Return the vector from the first to the second vertex of an edge [m]."""
    return sub(vec(body.vertices, body.edges[edge, 1]), vec(body.vertices, body.edges[edge, 0]))


@leaf_kernel
def vertex_at(body, edge, parameter, merge):
    """Return the end of an edge within the merge distance [m] of the point at a parameter, or -1 for an inner point."""
    length = norm(edge_vector(body, edge))
    if parameter * length <= merge:
        return body.edges[edge, 0]
    if (1.0 - parameter) * length <= merge:
        return body.edges[edge, 1]
    return -1


@leaf_kernel
def edge_feature(edge_a, vertex_a, edge_b, vertex_b):
    """Return the id of points of two edges. A vertex that is not negative replaces its edge."""
    if vertex_a >= 0 and vertex_b >= 0:
        return feature_id(VERTEX_VERTEX, vertex_a, vertex_b)
    if vertex_a >= 0:
        return feature_id(VERTEX_EDGE, vertex_a, edge_b)
    if vertex_b >= 0:
        return feature_id(EDGE_VERTEX, edge_a, vertex_b)
    return feature_id(EDGE_EDGE, edge_a, edge_b)


@leaf_kernel
def arc_excess(body, edge, direction):
    """Return the sines by which a direction exceeds the normals of the left and of the right face of an edge.

    Inside the arc, both are negative.
    """
    left = body.edge_faces[edge, 0]
    right = body.edge_faces[edge, 1]
    if left < 0:
        return -1.0, -1.0
    offset = edge_vector(body, edge)
    # A rotation by 90 degrees about the edge turns the outward direction of the edge into the direction across it.
    across = divided(cross(offset, direction), norm(offset))
    return dot(vec(body.planes, left), across), -dot(vec(body.planes, right), across)


@kernel_part
def overlap_end(pair, i, vertex, j, closest):
    """Return the `EndContact` of an end vertex of edge i of a with edge j of b.

    closest: closest direction of the bodies from a to b.
    """
    a, b, limit, merge = pair.a, pair.b, pair.limit, MERGE_RATIO * pair.scale
    nothing = EndContact(False, ZERO, ZERO, 0.0, -1, -1, -1)
    point = vec(a.vertices, vertex)
    start = vec(b.vertices, b.edges[j, 0])
    edge = edge_vector(b, j)
    length2 = norm2(edge)
    t = dot(edge, sub(point, start)) / length2
    beyond = merge / np.sqrt(length2)
    if t < -beyond or t > 1.0 + beyond:
        return nothing
    t = min(max(t, 0.0), 1.0)
    offset = sub(advanced(start, t, edge), point)
    distance = norm(offset)
    if distance == 0.0:
        return nothing
    normal = divided(offset, distance)
    end = vertex_at(b, j, t, merge)
    if dot(normal, closest) < MIN_DIRECTION_COSINE:
        return nothing
    left_a, right_a = arc_excess(a, i, normal)
    left_b, right_b = arc_excess(b, j, negative(normal))
    if max(left_a, right_a) <= 0.0 and max(left_b, right_b) <= 0.0:
        return EndContact(distance <= limit, point, normal, distance, -1, -1, end)
    face_a = face_b = -1
    if max(left_a, right_a) > max(left_b, right_b):
        face_a = a.edge_faces[i, 0] if left_a > right_a else a.edge_faces[i, 1]
        normal = vec(a.planes, face_a)
        left, right = arc_excess(b, j, negative(normal))
    else:
        face_b = b.edge_faces[j, 0] if left_b > right_b else b.edge_faces[j, 1]
        normal = negative(vec(b.planes, face_b))
        left, right = arc_excess(a, i, normal)
    gap = dot(normal, offset)
    if max(left, right) > ARC_TOLERANCE or gap > limit or dot(normal, closest) < MIN_DIRECTION_COSINE:
        return nothing
    if face_a >= 0:
        # The point of b's edge, projected onto a's face.
        point = (
            point[0] + offset[0] - gap * normal[0],
            point[1] + offset[1] - gap * normal[1],
            point[2] + offset[2] - gap * normal[2],
        )
    return EndContact(True, point, normal, gap, face_a, face_b, end)


@leaf_kernel
def overlap_ends(pair, i, j, swapped, closest, least, count):
    """Append the contacts of the ends of edge i of a with edge j of b.

    A normal along which the bodies overlap by more than the gap and MAX_OVERSHOOT_RATIO belongs to a corner, not to the edges,
    so its contact is left out.

    swapped: True if a is the second body. least: no contact is nearer than this [m].

    Returns the new count, and the smallest gap that was added [m], or inf.
    """
    smallest = np.inf
    sign = -1.0 if swapped else 1.0
    for slot in range(2):
        vertex = pair.a.edges[i, slot]
        found, point, normal, gap, face_a, face_b, end = overlap_end(pair, i, vertex, j, closest)
        if not found or gap < least or axis_separation(pair.a, pair.b, normal) < -(MAX_OVERSHOOT_RATIO * pair.scale) - gap:
            continue
        # The contact of a face is named by the face and the vertex of the other body, or by two edges if there is no vertex.
        if face_a >= 0 and end >= 0:
            feature = feature_id(VERTEX_FACE, end, face_a) if swapped else feature_id(FACE_VERTEX, face_a, end)
        elif face_b >= 0:
            feature = feature_id(FACE_VERTEX, face_b, vertex) if swapped else feature_id(VERTEX_FACE, vertex, face_b)
        else:
            feature = edge_feature(j, end, i, vertex) if swapped else edge_feature(i, vertex, j, end)
        smallest = min(smallest, gap)
        middle = advanced(point, 0.5 * gap, normal)
        normal = scaled(sign, normal)
        count = add_contact(pair.manifold, count, pair.limit, MERGE_RATIO * pair.scale, middle, normal, gap, feature)
    return count, smallest


@inlined_kernel
def is_same_or_adjacent(body, edge, other, vertex):
    """Return True if an edge is the edge `other`, or shares the vertex with it, if the vertex is not -1."""
    return edge == other or (vertex >= 0 and (body.edges[edge, 0] == vertex or body.edges[edge, 1] == vertex))


@leaf_kernel
def edge_contacts(pair, points):
    """Find the contacts of separated bodies whose closest points are the given `EdgePoints`, and return their number."""
    a, b, merge = pair.a, pair.b, MERGE_RATIO * pair.scale
    edge_a, edge_b = points.edge_a, points.edge_b
    vertex_a = vertex_at(a, edge_a, points.s, merge)
    vertex_b = vertex_at(b, edge_b, points.t, merge)
    p = advanced(vec(a.vertices, a.edges[edge_a, 0]), points.s, edge_vector(a, edge_a))
    q = advanced(vec(b.vertices, b.edges[edge_b, 0]), points.t, edge_vector(b, edge_b))
    distance = np.sqrt(distance2(q, p))
    normal = divided(sub(q, p), distance)

    # No contact is nearer than the bodies, unless it uses the plane of a face beyond that face.
    least = distance * (1.0 - SAME_DISTANCE) - pair.noise
    count = NONE_FOUND
    smallest = np.inf
    for i in range(len(a.edges)):
        if not is_same_or_adjacent(a, i, edge_a, vertex_a):
            continue
        d = edge_vector(a, i)
        for j in range(len(b.edges)):
            if not is_same_or_adjacent(b, j, edge_b, vertex_b):
                continue
            e = edge_vector(b, j)
            product = norm2(d) * norm2(e)
            if product == 0.0 or norm2(cross(d, e)) > NEARLY_PARALLEL * product:
                continue
            count, gap = overlap_ends(pair, i, j, FALSE, normal, least, count)
            smallest = min(smallest, gap)
            count, gap = overlap_ends(swapped_pair(pair), j, i, TRUE, negative(normal), least, count)
            smallest = min(smallest, gap)
    if smallest > distance * (1.0 + SAME_DISTANCE) + pair.noise:
        feature = edge_feature(edge_a, vertex_a, edge_b, vertex_b)
        middle = advanced(p, 0.5 * distance, normal)
        count = add_contact(pair.manifold, count, pair.limit, merge, middle, normal, distance, feature)
    return count
