# SPDX-License-Identifier: GPL-3.0-or-later
"""Separating axes of two convex polyhedra: the best face normal and the best pair of edges.

The separation along a unit axis n from a to b is the minimum of n . x over b minus the maximum of n . x over a. Each separation
is a lower bound of the distance. The largest one is the distance if a face or two crossing edges are closest, and minus the
penetration depth if the bodies overlap. Only two kinds of axes can be largest: face normals of either body, and cross products
of edges whose arcs on the Gauss map intersect, that is, those that form a face of the Minkowski difference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ...linalg.vec3 import ZERO, cross, dot, norm2, scaled, set_vec, sub, vec
from .hull_pair import EDGE_DATA, EDGE_START, EDGE_VECTOR, LEFT_NORMAL, RIGHT_NORMAL

__all__ = ["PARALLEL", "EdgeAxis", "FaceAxis", "axis_separation", "edge_separation", "face_separation", "lowest_vertex"]

# Squared sine below which two edges count as parallel and have no axis. Their cross product has lost six digits.
PARALLEL = 1e-12


class FaceAxis(NamedTuple):
    """The separation along the normal of a face [m], and the lowest vertex of the other body over that face.

    It is (-inf, -1, 0) for a body without faces.
    """

    separation: float
    face: int
    vertex: int


class EdgeAxis(NamedTuple):
    """The separation along the cross product of an edge of a and an edge of b [m], and that unit normal from a to b.

    The edges are -1 if there is no such pair.
    """

    separation: float
    edge_a: int
    edge_b: int
    normal: tuple[float, float, float]


@inlined_kernel
def lowest_vertex(vertices, axis):
    """Return the vertex with the smallest component along an axis, and that component."""
    best = 0
    lowest = np.inf
    for i in range(len(vertices)):
        height = dot(axis, vec(vertices, i))
        if height < lowest:
            lowest = height
            best = i
    return best, lowest


@leaf_kernel
def axis_separation(a, b, axis):
    """Return the separation along a unit axis from a to b [m], from all vertices."""
    highest = -np.inf
    for i in range(len(a.vertices)):
        highest = max(highest, dot(axis, vec(a.vertices, i)))
    return lowest_vertex(b.vertices, axis)[1] - highest


@inlined_kernel
def face_separation(a, b, limit):
    """Return the `FaceAxis` with the largest separation along the face normals of a.

    The search ends at one above the limit [m].
    """
    planes = a.planes
    vertices = b.vertices
    centre = b.centre[0], b.centre[1], b.centre[2]
    first = -1
    highest = -np.inf
    for f in range(len(planes)):
        height = dot(vec(planes, f), centre) - planes[f, 3]
        if height > highest:
            highest = height
            first = f
    if first < 0:
        return FaceAxis(-np.inf, -1, 0)
    vertex, lowest = lowest_vertex(vertices, vec(planes, first))
    best = first
    separation = lowest - planes[first, 3]
    for f in range(len(planes)):
        if separation > limit:
            break
        normal, offset = vec(planes, f), planes[f, 3]
        # Any vertex bounds the separation from above. The vertex found last is usually enough.
        if f == first or dot(normal, vec(vertices, vertex)) - offset <= separation:
            continue
        candidate, lowest = lowest_vertex(vertices, normal)
        if lowest - offset > separation:
            separation = lowest - offset
            best = f
            vertex = candidate
    return FaceAxis(separation, best, vertex)


@kernel_part
def is_near_box(core, edge, lower, upper, radius):
    """Return True if the bounding box of an edge is within a radius [m] of a box along each axis."""
    i = core.edges[edge, 0]
    j = core.edges[edge, 1]
    for k in range(3):
        p = core.vertices[i, k]
        q = core.vertices[j, k]
        if max(p, q) < lower[k] - radius or min(p, q) > upper[k] + radius:
            return False
    return True


@inlined_kernel
def mark_faces(core, other, vertex, bound, marks):
    """Write a mark of each face of a core to marks (>= faces,).

    Add 1 if a vertex of the other core is no higher over the face than a bound [m], and 2 if the center of the other core is
    not.
    """
    lowest, centre = vec(other.vertices, vertex), (other.centre[0], other.centre[1], other.centre[2])
    for f in range(len(core.planes)):
        normal, offset = vec(core.planes, f), core.planes[f, 3]
        mark = 1 if dot(normal, lowest) - offset <= bound else 0
        marks[f] = mark + (2 if dot(normal, centre) - offset <= bound else 0)


@inlined_kernel
def may_separate(core, edge, marks, other, face, radius):
    """Return True if an edge may be one of the two edges of the best axis.

    An axis n in the cone of the unit normals l and r of the edge's faces is alpha l + beta r with alpha + beta >= 1. Let w be a
    point of the other core relative to the edge. If l . w <= bound and r . w <= bound, then n . w <= bound <= 0. So the edge is
    rejected if both faces have a common mark. It is also rejected if it is farther than the radius from the bounds of the other
    core or from the best face of the other core.

    marks: from `mark_faces`. face: best face of the other core, or -1.
    """
    left = core.edge_faces[edge, 0]
    right = core.edge_faces[edge, 1]
    if left >= 0 and (marks[left] & marks[right]) != 0:
        return False
    if not is_near_box(core, edge, other.lower, other.upper, radius):
        return False
    if face < 0:
        return True
    normal = vec(other.planes, face)
    height_p = dot(normal, vec(core.vertices, core.edges[edge, 0]))
    height_q = dot(normal, vec(core.vertices, core.edges[edge, 1]))
    return min(height_p, height_q) <= other.planes[face, 3] + radius


@kernel_part
def select_edges(pair, face_axis_a, face_axis_b, bound, radius):
    """Write the edges of b that may separate to the work arrays, mark the faces of a, and return the number of edges.

    bound: as in `mark_faces` [m]. radius: as in `may_separate` [m].
    """
    a, b, edges, marks = pair.a, pair.b, pair.work.edges, pair.work.marks
    mark_faces(b, a, face_axis_b.vertex, bound, marks)
    count = 0
    for j in range(len(b.edges)):
        if not may_separate(b, j, marks, a, face_axis_a.face, radius):
            continue
        start = vec(b.vertices, b.edges[j, 0])
        left, right = b.edge_faces[j, 0], b.edge_faces[j, 1]
        edge = edges[count]
        set_vec(edge, EDGE_START, start)
        set_vec(edge, EDGE_VECTOR, sub(vec(b.vertices, b.edges[j, 1]), start))
        set_vec(edge, LEFT_NORMAL, vec(b.planes, left) if left >= 0 else ZERO)
        set_vec(edge, RIGHT_NORMAL, vec(b.planes, right) if right >= 0 else ZERO)
        edges[count, EDGE_DATA, 0], edges[count, EDGE_DATA, 2] = j, 1.0 if left >= 0 else 0.0
        count += 1
    if count > 0:
        mark_faces(a, b, face_axis_a.vertex, bound, marks)
    return count


@kernel_part
def arc_crossing_sign(left, right, has_faces, direction, edge):
    """Return the side of d x e on which the normal arcs of two edges intersect on the Gauss map, the second arc reversed.

    The result is positive for d x e, negative for its opposite, and 0 if the arcs do not intersect. The arc of an edge without
    faces is a full circle.

    left, right, has_faces, direction: normals of the faces of the first edge, if it has any, and the edge vector d.
    edge: the second edge as in `HullWork.edges`.
    """
    other_direction = vec(edge, EDGE_VECTOR)
    side = dot(left, other_direction)
    if has_faces and side * dot(right, other_direction) >= 0.0:
        return 0.0
    if edge[EDGE_DATA, 2] == 0.0:
        return side
    other_side = dot(vec(edge, LEFT_NORMAL), direction)
    if other_side * dot(vec(edge, RIGHT_NORMAL), direction) >= 0.0:
        return 0.0
    if not has_faces:
        return other_side
    return side if side * other_side > 0.0 else 0.0


@inlined_kernel
def edge_separation(pair, face_axis_a, face_axis_b, floor, radius):
    """Return the `EdgeAxis` with the largest separation above `floor` [m].

    Edges farther than a radius [m] from the other body are left out: the two edges of the best axis are no farther apart than
    max(limit, -floor). The separation of the edges replaces that of the bodies if they agree up to the noise.
    """
    a, b = pair.a, pair.b
    count = select_edges(pair, face_axis_a, face_axis_b, min(floor, 0.0), radius)
    separation = floor
    best_a = -1
    best_b = -1
    best = ZERO
    for i in range(len(a.edges) if count > 0 else 0):
        if not may_separate(a, i, pair.work.marks, b, face_axis_b.face, radius):
            continue
        start = vec(a.vertices, a.edges[i, 0])
        direction = sub(vec(a.vertices, a.edges[i, 1]), start)
        length2 = norm2(direction)
        left = right = ZERO
        has_faces = a.edge_faces[i, 0] >= 0
        if has_faces:
            left, right = vec(a.planes, a.edge_faces[i, 0]), vec(a.planes, a.edge_faces[i, 1])
        for slot in range(count):
            edge = pair.work.edges[slot]
            side = arc_crossing_sign(left, right, has_faces, direction, edge)
            if side == 0.0:
                continue
            other_direction = vec(edge, EDGE_VECTOR)
            normal = cross(direction, other_direction)
            square = norm2(normal)
            if square <= PARALLEL * length2 * norm2(other_direction):
                continue
            scale = 1.0 / np.sqrt(square) if side > 0.0 else -1.0 / np.sqrt(square)
            along = scale * dot(normal, sub(vec(edge, EDGE_START), start))
            if along <= separation:
                continue
            # Normals of slivers, and of faces that are flat only to a tolerance, select edges that do not support the bodies.
            supported = axis_separation(a, b, scaled(scale, normal))
            if supported < along - pair.noise:
                along = supported
            if along > separation:
                separation = along
                best_a = i
                best_b = int(edge[EDGE_DATA, 0])
                best = scaled(scale, normal)
    return EdgeAxis(separation, best_a, best_b, best)
