# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of a cylinder or a cone with a polyhedron.

Points of a cap's rim, of which eight are fixed in the body and one is the lowest; the lowest points of both rims of a side, or
the apex; vertices of the polyhedron under a cap; and crossings of its edges with the rim or with the line of the side.
"""

from __future__ import annotations

from ...compile.kernel import kernel_part, leaf_kernel
from ...linalg.vec3 import add, advanced, cross, dot, norm, norm2, scaled, sub, vec
from ..manifold import NONE_FOUND
from ..polyhedra.edge_contacts import along_edge
from ..polyhedra.face_contacts import FACING
from .candidates import (
    AT_END,
    CROSSING,
    END,
    LOWEST,
    NEAR,
    ON_EDGE,
    ON_FACE,
    ON_VERTEX,
    PARALLEL_TO_SIDE,
    SIDE_INNER,
    add_closest,
    add_point,
    candidates,
    cap_looks_along,
    rim_crossings,
    side_looks_along,
)
from .closest_revolution import generator
from .contact_axis import contact_axis
from .other import Other
from .solid import cap_middle, side_distance

__all__ = ["SAME_WAY", "border_contacts", "in_face", "round_hull_contacts"]

# Cosine of ten degrees: so near, a face is looked at for points.
NEAR_FACES = 0.985
# Cosine between the normal of a pair and the closest direction at a point of it.
SAME_WAY = 0.9


@leaf_kernel
def in_face(hull, face, point, tolerance):
    """Whether a point of a face's plane lies in the face."""
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
def points_on_faces(found, r, hull, normal, count):
    """Adds the points of the round body that lie over faces near the normal: the count."""
    total = candidates(r, normal, found.work)
    for face in range(len(hull.planes)):
        outward, offset = vec(hull.planes, face), hull.planes[face, 3]
        cosine = dot(outward, normal)
        if cosine > -NEAR_FACES:
            continue
        for row in range(total):
            point = vec(found.work.candidates, row)
            gap = (offset - outward[0] * point[0] - outward[1] * point[1] - outward[2] * point[2]) / cosine
            if gap <= found.limit and in_face(hull, face, advanced(point, gap, normal), 0.01 * found.merge):
                of_round = int(found.work.candidate_ids[row])
                count = add_point(found, count, point, normal, gap, of_round, 4 * face + ON_FACE)
    return count


@leaf_kernel
def edge_looks(hull, edge, normal):
    """Whether a face beside the edge looks against the normal; an edge without faces looks everywhere."""
    for side in range(2):
        face = hull.edge_faces[edge, side]
        if face < 0:
            return True
        if dot(vec(hull.planes, face), normal) < FACING:
            return True
    return False


@kernel_part
def edges_under_cap(found, r, top, hull, normal, count):
    """Adds the vertices within a cap, seen along the normal, and the crossings of edges with its rim: the count."""
    middle = cap_middle(r, top)
    outward = scaled(1.0 if top else -1.0, r.axis)
    cosine = dot(outward, normal)
    for edge in range(len(hull.edges)):
        if not edge_looks(hull, edge, normal):
            continue
        i, j = hull.edges[edge, 0], hull.edges[edge, 1]
        a, b = vec(hull.vertices, i), vec(hull.vertices, j)
        gap_a = dot(outward, sub(a, middle)) / cosine
        gap_b = dot(outward, sub(b, middle)) / cosine
        if min(gap_a, gap_b) > found.limit:
            continue
        # Both ends along the normal onto the cap, as seen from its middle.
        a, b = sub(advanced(a, -gap_a, normal), middle), sub(advanced(b, -gap_b, normal), middle)
        for end in range(2):
            on_cap, gap, vertex = (a, gap_a, i) if end == 0 else (b, gap_b, j)
            if norm2(on_cap) <= r.radius * r.radius * (1.0 + AT_END):
                of_round, of_other = LOWEST + 1 if top else LOWEST, 4 * int(vertex) + ON_VERTEX
                count = add_point(found, count, add(middle, on_cap), normal, gap, of_round, of_other)
        way = sub(b, a)
        crosses, first, second = rim_crossings(a, way, r.radius)
        for which in range(2 if crosses else 0):
            t = first if which == 0 else second
            if 0.0 < t < 1.0:
                of_round, of_other = CROSSING + (2 if top else 0) + which, 4 * edge + ON_EDGE
                gap = gap_a + t * (gap_b - gap_a)
                count = add_point(found, count, advanced(add(middle, a), t, way), normal, gap, of_round, of_other)
    return count


@kernel_part
def edge_along_line(found, r, hull, edge, line, normal, count):
    """Adds the ends of the overlap of an edge with a line of the side, (start, way), each with its own closest direction."""
    start, way = line
    i, j = hull.edges[edge, 0], hull.edges[edge, 1]
    corner, along = vec(hull.vertices, i), along_edge(hull, edge)
    length2, product = norm2(way), dot(along, way)
    offset = dot(sub(corner, start), way) / product
    for end in range(4):
        # The ends of the edge, then the points of it beside the ends of the line.
        t = float(end) if end < 2 else (end - 2) * length2 / product - offset
        if not 0.0 <= t <= 1.0:
            continue
        point = advanced(corner, t, along)
        s = dot(sub(point, start), way) / length2
        if s < -AT_END or s > 1.0 + AT_END:
            continue
        gap, outwards = side_distance(r, point)
        if gap > found.limit or dot(outwards, normal) < SAME_WAY:
            continue
        of_round, of_other = END, 4 * int(i if end == 0 else j) + ON_VERTEX
        if end >= 2:
            of_round, of_other = END + end - 2, 4 * edge + ON_EDGE
        count = add_point(found, count, advanced(point, -gap, outwards), outwards, gap, of_round, of_other)
    return count


@kernel_part
def is_beside_face(hull, edge, normal):
    """Whether a face beside the edge looks straight against the normal."""
    for side in range(2):
        face = hull.edge_faces[edge, side]
        if face >= 0 and dot(vec(hull.planes, face), normal) < -NEAR:
            return True
    return False


@kernel_part
def edges_along_side(found, r, hull, normal, count):
    """Adds contacts of edges with the line of the side that lies farthest along the normal: the count.

    An edge along the line touches at the ends of their overlap; one that crosses it while a face near the normal lies beside it
    touches at the crossing.
    """
    start, way = generator(r, normal)
    way = sub(way, start)
    length2 = norm2(way)
    for edge in range(len(hull.edges)):
        if not edge_looks(hull, edge, normal):
            continue
        corner, along = vec(hull.vertices, hull.edges[edge, 0]), along_edge(hull, edge)
        square = norm2(along)
        if square == 0.0:
            continue
        product = dot(along, way)
        if square * length2 - product * product <= PARALLEL_TO_SIDE * PARALLEL_TO_SIDE * square * length2:
            count = edge_along_line(found, r, hull, edge, (start, way), normal, count)
            continue
        if not is_beside_face(hull, edge, normal):
            continue
        # Where the line crosses the edge, seen along the normal: t = [r, h, n] / [e, h, n] and s from the same.
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
            count = add_point(found, count, point, normal, on - s * lean, SIDE_INNER, 4 * edge + ON_EDGE)
    return count


@leaf_kernel
def border_contacts(found, r, hull, normal, count):
    """Adds contacts of edges and vertices with a cap or a side that looks along the normal: the count."""
    along = dot(normal, r.axis)
    if cap_looks_along(r, along):
        count = edges_under_cap(found, r, along > 0.0, hull, normal, count)
    if side_looks_along(r, along):
        count = edges_along_side(found, r, hull, normal, count)
    return count


@kernel_part
def hull_feature(hull, vertices):
    """Feature of the part of a polyhedron that up to three of its vertices span."""
    i, j, _ = vertices
    if j < 0:
        return 4 * i + ON_VERTEX
    for edge in range(len(hull.edges)):
        p, q = hull.edges[edge, 0], hull.edges[edge, 1]
        if (p == i and q == j) or (p == j and q == i):
            return 4 * edge + ON_EDGE
    return 4 * min(i, j) + ON_FACE


@leaf_kernel
def round_hull_contacts(found, r, hull):
    """Contacts of a round body with a polyhedron in its frame: the count.

    hull: `Polyhedron`; flat polygons, single triangles, segments and points too, of which vertices, planes, loops and edges are
    used, and `centre` as any point inside. Contacts are added from the manifold's first row on.
    """
    axis = contact_axis(r, Other(hull, r, True), found.limit, found.noise, found.work)
    if not axis.touches:
        return 0
    count = points_on_faces(found, r, hull, axis.normal, NONE_FOUND)
    if len(hull.vertices) > 1:
        count = border_contacts(found, r, hull, axis.normal, count)
    return add_closest(found, count, axis.point, axis.normal, axis.distance, hull_feature(hull, axis.vertices))
