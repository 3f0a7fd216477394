# SPDX-License-Identifier: GPL-3.0-or-later
"""Separating axes of two convex polyhedra: the best face normal and the best pair of edges.

The separation along a unit axis n from a to b is min over b of n . x less max over a of n . x. Every separation is a lower
bound of the distance, and the largest one over all axes is the distance itself when a face or two crossing edges are closest,
and minus the depth of penetration when the bodies overlap. Only face normals of either body and cross products of edges whose
arcs on the Gauss map intersect (those that make a face of the Minkowski difference) can be the largest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ...linalg.vec3 import ZERO, cross, dot, norm2, scaled, set_vec, sub, vec
from .hull_pair import EDGE_DATA, EDGE_START, EDGE_VECTOR, LEFT_NORMAL, RIGHT_NORMAL

__all__ = ["PARALLEL", "EdgeAxis", "FaceAxis", "axis_separation", "edge_separation", "face_separation", "lowest_vertex"]

# Squared sine below which two edges count as parallel and give no axis: their cross product has lost ten digits.
PARALLEL = 1e-12


class FaceAxis(NamedTuple):
    """The separation in m along the normal of a face, and the vertex of the other body that is lowest over it.

    (-inf, -1, 0) for a body without faces.
    """

    separation: float
    face: int
    vertex: int


class EdgeAxis(NamedTuple):
    """The separation in m along the cross product of an edge of a and one of b, and that unit normal from a to b.

    The edges are -1 where no two have one.
    """

    separation: float
    edge_a: int
    edge_b: int
    normal: tuple[float, float, float]


@inlined_kernel
def lowest_vertex(vertices, axis):
    """The vertex with the smallest component along an axis, and that component."""
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
    """The separation along a unit axis from a to b, by all vertices."""
    highest = -np.inf
    for i in range(len(a.vertices)):
        highest = max(highest, dot(axis, vec(a.vertices, i)))
    return lowest_vertex(b.vertices, axis)[1] - highest


@inlined_kernel
def face_separation(a, b, limit):
    """The `FaceAxis` with the largest separation along a's face normals; stops early at one over the limit."""
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
        # Any vertex bounds the separation from above, and the one found last mostly settles it.
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
    """Whether the bounding box of an edge comes within the radius of a box along every axis."""
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
    """For each face of the core: 1 where a vertex of the other core is no higher over it than the bound, plus 2 where its
    centre is not, into marks (>= faces,)."""
    lowest, centre = vec(other.vertices, vertex), (other.centre[0], other.centre[1], other.centre[2])
    for f in range(len(core.planes)):
        normal, offset = vec(core.planes, f), core.planes[f, 3]
        mark = 1 if dot(normal, lowest) - offset <= bound else 0
        marks[f] = mark + (2 if dot(normal, centre) - offset <= bound else 0)


@inlined_kernel
def may_separate(core, edge, marks, other, face, radius):
    """Whether an edge may be one of the two whose axis decides; face: the best one of the other core, -1 for none.

    An axis n in the cone of the unit normals l and r of the edge's faces is alpha l + beta r with alpha + beta >= 1: it
    separates a point w of the other core by n . w, over the edge, and n . w <= bound <= 0 follows from l . w <= bound and
    r . w <= bound, that is from marks that both faces bear. Nor does an edge decide that is farther than the radius from the
    other core's bounds or from its best face.
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
    """Writes the edges of b that may separate into the work space, and returns how many; marks the faces of a for its own."""
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
    """On which side of d x e the arcs of the normals of two edges cross on the Gauss map, the second one's mirrored.

    Positive for the cross product's own, 0 where they do not cross; an edge without faces has a full circle. left, right: of
    the faces beside the first edge, if it has them. edge: the second, as in `HullWork.edges`.
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
    """The `EdgeAxis` with the largest separation over the floor along cross products of edges.

    over_a, over_b: the `FaceAxis` of either core. Edges farther than the radius from the other body are left out: an axis that
    decides has its two edges no farther apart than max(limit, -floor). Up to the noise the edges' own separation stands for
    that of the bodies.
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
            # Normals of slivers, and of faces that are flat to a tolerance only, lead to edges that do not support the bodies.
            supported = axis_separation(a, b, scaled(scale, normal))
            if supported < along - pair.noise:
                along = supported
            if along > separation:
                separation = along
                best_a = i
                best_b = int(edge[EDGE_DATA, 0])
                best = scaled(scale, normal)
    return EdgeAxis(separation, best_a, best_b, best)
