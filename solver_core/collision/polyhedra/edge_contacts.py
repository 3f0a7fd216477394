# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of edges and vertices, each along its own closest direction.

Two edges that cross touch once. Two nearly parallel edges touch along their overlap: the ends of the overlap are contacts, each
with the direction from the vertex to its closest point of the other edge as its normal. While the bodies are apart these
normals are smooth functions of the poses. A common normal is not: nearly parallel edges hardly determine the closest point.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import leaf_kernel
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
from .separation import axis_separation

__all__ = ["edge_contacts", "edge_feature"]

# Edges count as nearly parallel up to this squared sine (11 degrees).
NEARLY_PARALLEL = 0.04
# How far a face's normal may leave the arc of normals of the other body's edge, as a sine.
ARC_TOLERANCE = 0.02
# Cosine up to which a contact's direction may differ from the closest direction of the bodies.
SAME_SIDE = 0.5
# Of the smaller body's size: how far the bodies may reach past each other along a contact's direction, as along that of a face
# one degree from the closest direction.
PAST = 0.0175
# An inner closest point nearer than the ends of the overlap by less than this fraction is noise.
SAME_DISTANCE = 1e-7


@leaf_kernel
def edge_length(body, edge):
    p = body.edges[edge, 0]
    q = body.edges[edge, 1]
    x = body.vertices[q, 0] - body.vertices[p, 0]
    y = body.vertices[q, 1] - body.vertices[p, 1]
    z = body.vertices[q, 2] - body.vertices[p, 2]
    return np.sqrt(x * x + y * y + z * z)


@leaf_kernel
def vertex_at(body, edge, parameter, merge):
    """The end of the edge that lies within the merging distance of the point at the parameter, -1 for an inner point."""
    length = edge_length(body, edge)
    if parameter * length <= merge:
        return body.edges[edge, 0]
    if (1.0 - parameter) * length <= merge:
        return body.edges[edge, 1]
    return -1


@leaf_kernel
def edge_feature(edge_a, vertex_a, edge_b, vertex_b):
    """Feature id of points of two edges; a vertex >= 0 stands for the edge."""
    if vertex_a >= 0 and vertex_b >= 0:
        return feature_id(VERTEX_VERTEX, vertex_a, vertex_b)
    if vertex_a >= 0:
        return feature_id(VERTEX_EDGE, vertex_a, edge_b)
    if vertex_b >= 0:
        return feature_id(EDGE_VERTEX, edge_a, vertex_b)
    return feature_id(EDGE_EDGE, edge_a, edge_b)


@leaf_kernel
def side_of_arc(body, edge, x, y, z):
    """Where the direction's part across the edge lies: (sine past the left face's normal, sine past the right face's)."""
    left = body.edge_faces[edge, 0]
    right = body.edge_faces[edge, 1]
    if left < 0:
        return -1.0, -1.0
    p = body.edges[edge, 0]
    q = body.edges[edge, 1]
    ex = body.vertices[q, 0] - body.vertices[p, 0]
    ey = body.vertices[q, 1] - body.vertices[p, 1]
    ez = body.vertices[q, 2] - body.vertices[p, 2]
    length = np.sqrt(ex * ex + ey * ey + ez * ez)
    # Turning about the edge by a right angle leads from the left normal outwards and on to the right one.
    tx, ty, tz = (ey * z - ez * y) / length, (ez * x - ex * z) / length, (ex * y - ey * x) / length
    past_left = body.planes[left, 0] * tx + body.planes[left, 1] * ty + body.planes[left, 2] * tz
    past_right = -(body.planes[right, 0] * tx + body.planes[right, 1] * ty + body.planes[right, 2] * tz)
    return past_left, past_right


@leaf_kernel
def overlap_end(a, i, vertex, b, j, nx, ny, nz, limit, merge):
    """Contact of an end vertex of edge i of a with edge j of b: (found, px, py, pz, x, y, z, gap, face of a, face of b, end).

    (nx, ny, nz) is the closest direction of the bodies from a to b, (x, y, z) the contact's and (px, py, pz) its point on a.
    Where the direction between the closest points has left the normals of one of the edges, the contact is with that edge's
    face; else the faces are -1. end: the end of edge j that is closest, -1 for an inner point.
    """
    nothing = (False, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1, -1, -1)
    px, py, pz = a.vertices[vertex, 0], a.vertices[vertex, 1], a.vertices[vertex, 2]
    q0 = b.edges[j, 0]
    q1 = b.edges[j, 1]
    qx, qy, qz = b.vertices[q0, 0], b.vertices[q0, 1], b.vertices[q0, 2]
    ex, ey, ez = b.vertices[q1, 0] - qx, b.vertices[q1, 1] - qy, b.vertices[q1, 2] - qz
    length2 = ex * ex + ey * ey + ez * ez
    t = (ex * (px - qx) + ey * (py - qy) + ez * (pz - qz)) / length2
    beyond = merge / np.sqrt(length2)
    if t < -beyond or t > 1.0 + beyond:
        return nothing
    t = min(max(t, 0.0), 1.0)
    dx, dy, dz = qx + t * ex - px, qy + t * ey - py, qz + t * ez - pz
    distance = np.sqrt(dx * dx + dy * dy + dz * dz)
    if distance == 0.0:
        return nothing
    x, y, z = dx / distance, dy / distance, dz / distance
    end = vertex_at(b, j, t, merge)
    if x * nx + y * ny + z * nz < SAME_SIDE:
        return nothing
    left_a, right_a = side_of_arc(a, i, x, y, z)
    left_b, right_b = side_of_arc(b, j, -x, -y, -z)
    if max(left_a, right_a) <= 0.0 and max(left_b, right_b) <= 0.0:
        return distance <= limit, px, py, pz, x, y, z, distance, -1, -1, end
    face_a = face_b = -1
    if max(left_a, right_a) > max(left_b, right_b):
        face_a = a.edge_faces[i, 0] if left_a > right_a else a.edge_faces[i, 1]
        x, y, z = a.planes[face_a, 0], a.planes[face_a, 1], a.planes[face_a, 2]
        left, right = side_of_arc(b, j, -x, -y, -z)
    else:
        face_b = b.edge_faces[j, 0] if left_b > right_b else b.edge_faces[j, 1]
        x, y, z = -b.planes[face_b, 0], -b.planes[face_b, 1], -b.planes[face_b, 2]
        left, right = side_of_arc(a, i, x, y, z)
    gap = x * dx + y * dy + z * dz
    if max(left, right) > ARC_TOLERANCE or gap > limit or x * nx + y * ny + z * nz < SAME_SIDE:
        return nothing
    if face_a >= 0:
        # The point of b's edge, let down onto a's face.
        px, py, pz = px + dx - gap * x, py + dy - gap * y, pz + dz - gap * z
    return True, px, py, pz, x, y, z, gap, face_a, face_b, end


@leaf_kernel
def overlap_ends(a, i, b, j, swapped, nx, ny, nz, limit, least, past, merge, manifold, count):
    """Adds the contacts of edge i's ends with edge j: (count, smallest gap). swapped: a is the second body of the pair.

    A direction along which the bodies reach past each other by more than the gap and `past` belongs to a corner, not to the
    edges.
    """
    smallest = np.inf
    sign = -1.0 if swapped else 1.0
    for slot in range(2):
        vertex = a.edges[i, slot]
        found, px, py, pz, x, y, z, gap, face_a, face_b, end = overlap_end(a, i, vertex, b, j, nx, ny, nz, limit, merge)
        if not found or gap < least or axis_separation(a, b, x, y, z) < -past - gap:
            continue
        # A contact with a face is that of the face and of the other body's vertex, or of its edge where that has none there.
        if face_a >= 0 and end >= 0:
            feature = feature_id(VERTEX_FACE, end, face_a) if swapped else feature_id(FACE_VERTEX, face_a, end)
        elif face_b >= 0:
            feature = feature_id(FACE_VERTEX, face_b, vertex) if swapped else feature_id(VERTEX_FACE, vertex, face_b)
        else:
            feature = edge_feature(j, end, i, vertex) if swapped else edge_feature(i, vertex, j, end)
        smallest = min(smallest, gap)
        half = 0.5 * gap
        count = add_contact(
            manifold,
            count,
            limit,
            merge,
            px + half * x,
            py + half * y,
            pz + half * z,
            sign * x,
            sign * y,
            sign * z,
            gap,
            feature,
        )
    return count, smallest


@leaf_kernel
def edge_contacts(a, edge_a, s, b, edge_b, t, limit, scale, merge, noise, manifold):
    """Contacts of disjoint bodies whose closest points are at s of an edge of a and at t of an edge of b; returns the count."""
    vertex_a = vertex_at(a, edge_a, s, merge)
    vertex_b = vertex_at(b, edge_b, t, merge)
    i = a.edges[edge_a, 0]
    j = a.edges[edge_a, 1]
    px = a.vertices[i, 0] + s * (a.vertices[j, 0] - a.vertices[i, 0])
    py = a.vertices[i, 1] + s * (a.vertices[j, 1] - a.vertices[i, 1])
    pz = a.vertices[i, 2] + s * (a.vertices[j, 2] - a.vertices[i, 2])
    i = b.edges[edge_b, 0]
    j = b.edges[edge_b, 1]
    qx = b.vertices[i, 0] + t * (b.vertices[j, 0] - b.vertices[i, 0])
    qy = b.vertices[i, 1] + t * (b.vertices[j, 1] - b.vertices[i, 1])
    qz = b.vertices[i, 2] + t * (b.vertices[j, 2] - b.vertices[i, 2])
    nx, ny, nz = qx - px, qy - py, qz - pz
    distance = np.sqrt(nx * nx + ny * ny + nz * nz)
    nx, ny, nz = nx / distance, ny / distance, nz / distance

    # No contact can be nearer than the bodies, unless a face's plane was followed past the face.
    least = distance * (1.0 - SAME_DISTANCE) - noise
    count = NONE_FOUND
    smallest = np.inf
    for i in range(len(a.edges)):
        if i != edge_a and (vertex_a < 0 or (a.edges[i, 0] != vertex_a and a.edges[i, 1] != vertex_a)):
            continue
        i0 = a.edges[i, 0]
        i1 = a.edges[i, 1]
        dx = a.vertices[i1, 0] - a.vertices[i0, 0]
        dy = a.vertices[i1, 1] - a.vertices[i0, 1]
        dz = a.vertices[i1, 2] - a.vertices[i0, 2]
        for j in range(len(b.edges)):
            if j != edge_b and (vertex_b < 0 or (b.edges[j, 0] != vertex_b and b.edges[j, 1] != vertex_b)):
                continue
            j0 = b.edges[j, 0]
            j1 = b.edges[j, 1]
            ex = b.vertices[j1, 0] - b.vertices[j0, 0]
            ey = b.vertices[j1, 1] - b.vertices[j0, 1]
            ez = b.vertices[j1, 2] - b.vertices[j0, 2]
            x, y, z = dy * ez - dz * ey, dz * ex - dx * ez, dx * ey - dy * ex
            product = (dx * dx + dy * dy + dz * dz) * (ex * ex + ey * ey + ez * ez)
            if product == 0.0 or x * x + y * y + z * z > NEARLY_PARALLEL * product:
                continue
            for turn in range(2):
                swapped = turn == 1
                sign = -1.0 if swapped else 1.0
                first, edge, second, other = (b, j, a, i) if swapped else (a, i, b, j)
                count, gap = overlap_ends(
                    first,
                    edge,
                    second,
                    other,
                    swapped,
                    sign * nx,
                    sign * ny,
                    sign * nz,
                    limit,
                    least,
                    PAST * scale,
                    merge,
                    manifold,
                    count,
                )
                smallest = min(smallest, gap)
    if smallest > distance * (1.0 + SAME_DISTANCE) + noise:
        feature = edge_feature(edge_a, vertex_a, edge_b, vertex_b)
        half = 0.5 * distance
        count = add_contact(
            manifold,
            count,
            limit,
            merge,
            px + half * nx,
            py + half * ny,
            pz + half * nz,
            nx,
            ny,
            nz,
            distance,
            feature,
        )
    return count
