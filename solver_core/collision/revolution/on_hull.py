# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of a cylinder or a cone with a polyhedron.

Candidates are points of the rim of a cap, eight fixed ones and the lowest one; the lowest points of both rims of a lateral
surface, or the apex; vertices of the polyhedron under a cap; and crossings of its edges with a rim or a generatrix.
"""

from __future__ import annotations

from ...compile.kernel import kernel_part, leaf_kernel
from ...linalg.vec3 import add, advanced, cross, dot, norm, norm2, scaled, sub, vec
from ..manifold import NONE_FOUND
from ..polyhedra.edge_contacts import edge_vector
from ..polyhedra.face_contacts import FACING
from .candidates import (
    CROSSING,
    END_TOLERANCE,
    LOWEST_RIM_POINT,
    ON_EDGE,
    ON_FACE,
    ON_GENERATRIX,
    ON_VERTEX,
    ONE_DEGREE_COSINE,
    OVERLAP_END,
    PARALLEL_TO_SIDE,
    add_closest,
    add_point,
    candidate_points,
    cap_faces,
    rim_crossings,
    side_faces,
)
from .closest_revolution import generatrix
from .contact_axis import contact_axis
from .other import OtherShape
from .solid import cap_middle, side_distance

__all__ = ["SAME_DIRECTION_COSINE", "append_edge_contacts", "in_face", "round_hull_contacts"]

# Cosine of ten degrees. Candidate points are tested against faces this near the normal.
FACE_COSINE = 0.985
# Smallest cosine between the normal of a pair and the closest direction at a contact.
SAME_DIRECTION_COSINE = 0.9


@leaf_kernel
def in_face(hull, face, point, tolerance):
    """Return True if a point in the plane of a face is inside the face, up to a tolerance [m]."""
    normal = vec(hull.planes, face)
    begin, end = hull.loop_start[face], hull.loop_start[face + 1]
    for slot in range(begin, end):
        p = vec(hull.vertices, hull.loop_vertices[slot])
        q = vec(hull.vertices, hull.loop_vertices[slot + 1 if slot + 1 < end else begin])
        edge = sub(q, p)
        if dot(normal, cross(edge, sub(point, p))) < -tolerance * norm(edge):
            return False
    return True


@kernel_part
def append_points_on_faces(sink, r, hull, normal, count):
    """Append the points of the round shape over faces that are near the normal, and return the new count."""
    total = candidate_points(r, normal, sink.work)
    for face in range(len(hull.planes)):
        outward, offset = vec(hull.planes, face), hull.planes[face, 3]
        cosine = dot(outward, normal)
        if cosine > -FACE_COSINE:
            continue
        for row in range(total):
            point = vec(sink.work.candidates, row)
            gap = (offset - outward[0] * point[0] - outward[1] * point[1] - outward[2] * point[2]) / cosine
            if gap <= sink.limit and in_face(hull, face, advanced(point, gap, normal), 0.01 * sink.merge):
                of_round = int(sink.work.candidate_ids[row])
                count = add_point(sink, count, point, normal, gap, of_round, 4 * face + ON_FACE)
    return count


@leaf_kernel
def edge_faces_shape(hull, edge, normal):
    """Return True if a face of the edge faces the round shape along the normal; also for an edge without faces."""
    for side in range(2):
        face = hull.edge_faces[edge, side]
        if face < 0:
            return True
        if dot(vec(hull.planes, face), normal) < FACING:
            return True
    return False


@kernel_part
def append_points_under_cap(sink, r, top, hull, normal, count):
    """Append the vertices under a cap along the normal, and the crossings of edges with its rim. Returns the new count.

    top: True for the top cap, False for the base.
    """
    middle = cap_middle(r, top)
    outward = scaled(1.0 if top else -1.0, r.axis)
    cosine = dot(outward, normal)
    for edge in range(len(hull.edges)):
        if not edge_faces_shape(hull, edge, normal):
            continue
        i, j = hull.edges[edge, 0], hull.edges[edge, 1]
        a, b = vec(hull.vertices, i), vec(hull.vertices, j)
        gap_a = dot(outward, sub(a, middle)) / cosine
        gap_b = dot(outward, sub(b, middle)) / cosine
        if min(gap_a, gap_b) > sink.limit:
            continue
        # Project both ends along the normal onto the cap. The origin is its center.
        a, b = sub(advanced(a, -gap_a, normal), middle), sub(advanced(b, -gap_b, normal), middle)
        for end in range(2):
            on_cap, gap, vertex = (a, gap_a, i) if end == 0 else (b, gap_b, j)
            if norm2(on_cap) <= r.radius * r.radius * (1.0 + END_TOLERANCE):
                of_round, of_other = LOWEST_RIM_POINT + 1 if top else LOWEST_RIM_POINT, 4 * int(vertex) + ON_VERTEX
                count = add_point(sink, count, add(middle, on_cap), normal, gap, of_round, of_other)
        way = sub(b, a)
        crosses, first, second = rim_crossings(a, way, r.radius)
        for which in range(2 if crosses else 0):
            t = first if which == 0 else second
            if 0.0 < t < 1.0:
                of_round, of_other = CROSSING + (2 if top else 0) + which, 4 * edge + ON_EDGE
                gap = gap_a + t * (gap_b - gap_a)
                count = add_point(sink, count, advanced(add(middle, a), t, way), normal, gap, of_round, of_other)
    return count


@kernel_part
def append_overlap_ends(sink, r, hull, edge, line, normal, count):
    """Append the ends of the overlap of an edge with a generatrix, each with its own closest direction. Returns the new count.

    line: start [m] and vector [m] of the generatrix.
    """
    start, way = line
    i, j = hull.edges[edge, 0], hull.edges[edge, 1]
    corner, along = vec(hull.vertices, i), edge_vector(hull, edge)
    length2, product = norm2(way), dot(along, way)
    offset = dot(sub(corner, start), way) / product
    for end in range(4):
        # The ends of the edge, then the points of the edge next to the ends of the line.
        t = float(end) if end < 2 else (end - 2) * length2 / product - offset
        if not 0.0 <= t <= 1.0:
            continue
        point = advanced(corner, t, along)
        s = dot(sub(point, start), way) / length2
        if s < -END_TOLERANCE or s > 1.0 + END_TOLERANCE:
            continue
        gap, outwards = side_distance(r, point)
        if gap > sink.limit or dot(outwards, normal) < SAME_DIRECTION_COSINE:
            continue
        of_round, of_other = OVERLAP_END, 4 * int(i if end == 0 else j) + ON_VERTEX
        if end >= 2:
            of_round, of_other = OVERLAP_END + end - 2, 4 * edge + ON_EDGE
        count = add_point(sink, count, advanced(point, -gap, outwards), outwards, gap, of_round, of_other)
    return count


@kernel_part
def is_beside_face(hull, edge, normal):
    """Return True if the normal of a face of the edge is opposite to the given normal, within one degree."""
    for side in range(2):
        face = hull.edge_faces[edge, side]
        if face >= 0 and dot(vec(hull.planes, face), normal) < -ONE_DEGREE_COSINE:
            return True
    return False


@kernel_part
def append_side_edges(sink, r, hull, normal, count):
    """Append the contacts of edges with the generatrix that is farthest along the normal, and return the new count.

    An edge parallel to the generatrix touches at the ends of their overlap. Another edge touches at the crossing if a face near
    the normal is next to it.
    """
    start, way = generatrix(r, normal)
    way = sub(way, start)
    length2 = norm2(way)
    for edge in range(len(hull.edges)):
        if not edge_faces_shape(hull, edge, normal):
            continue
        corner, along = vec(hull.vertices, hull.edges[edge, 0]), edge_vector(hull, edge)
        square = norm2(along)
        if square == 0.0:
            continue
        product = dot(along, way)
        if square * length2 - product * product <= PARALLEL_TO_SIDE * PARALLEL_TO_SIDE * square * length2:
            count = append_overlap_ends(sink, r, hull, edge, (start, way), normal, count)
            continue
        if not is_beside_face(hull, edge, normal):
            continue
        # The crossing of line and edge, projected along the normal: t = [r, h, n] / [e, h, n], and s likewise.
        across = cross(way, normal)
        bottom = dot(along, across)
        if bottom == 0.0:
            continue
        t = dot(sub(start, corner), across) / bottom
        offset = sub(advanced(corner, t, along), start)
        on, lean = dot(offset, normal), dot(way, normal)
        flat2 = length2 - lean * lean
        s = (dot(offset, way) - on * lean) / flat2 if flat2 > 0.0 else -1.0
        if 0.0 <= t <= 1.0 and 0.0 <= s <= 1.0:
            point = advanced(start, s, way)
            count = add_point(sink, count, point, normal, on - s * lean, ON_GENERATRIX, 4 * edge + ON_EDGE)
    return count


@leaf_kernel
def append_edge_contacts(sink, r, hull, normal, count):
    """Append the contacts of the edges and vertices of the polyhedron, and return the new count."""
    along = dot(normal, r.axis)
    if cap_faces(r, along):
        count = append_points_under_cap(sink, r, along > 0.0, hull, normal, count)
    if side_faces(r, along):
        count = append_side_edges(sink, r, hull, normal, count)
    return count


@kernel_part
def hull_feature(hull, vertices):
    """Return the feature of a polyhedron that up to three of its vertices span: a vertex, an edge or a face."""
    i, j, _ = vertices
    if j < 0:
        return 4 * i + ON_VERTEX
    for edge in range(len(hull.edges)):
        p, q = hull.edges[edge, 0], hull.edges[edge, 1]
        if (p == i and q == j) or (p == j and q == i):
            return 4 * edge + ON_EDGE
    return 4 * min(i, j) + ON_FACE


@leaf_kernel
def round_hull_contacts(sink, r, hull):
    """Find the contacts of a round shape with a polyhedron, from the first row of the manifold on, and return their number.

    hull: a `Polyhedron` in the frame of the pair. It may be a flat polygon, a triangle, a segment or a point. Only its
        vertices, planes, loops and edges are used, and `centre` as any inner point.
    """
    axis = contact_axis(r, OtherShape(hull, r, True), sink.limit, sink.noise, sink.work)
    if not axis.touches:
        return 0
    count = append_points_on_faces(sink, r, hull, axis.normal, NONE_FOUND)
    if len(hull.vertices) > 1:
        count = append_edge_contacts(sink, r, hull, axis.normal, count)
    return add_closest(sink, count, axis.point, axis.normal, axis.distance, hull_feature(hull, axis.vertices))
