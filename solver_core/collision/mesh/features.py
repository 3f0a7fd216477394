# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of two features of triangle surfaces: vertex and face, edge and edge, vertex and edge, vertex and vertex.

Two features touch where the distance between the surfaces has a local minimum: the direction between their closest points is
in the normal cone of each, of the directions in which no neighbouring feature of its own is nearer. That of an inner edge of a
flat part is nothing but the part's normal, which the faces have already, so what slides over it does not see it.

Features serve surfaces that are apart. Where surfaces overlap they cross, and `intersection_curves` has the contacts; only the
cores of round bodies, a point or a segment, cross nothing and meet what they have sunk into here. Then the outside is given by
normals where a surface is solid. A sheet has two sides; there it is where the other body has its inside."""

from __future__ import annotations

import numpy as np

from ...compile.kernel import FALSE, TRUE, inlined_kernel, kernel_part
from ...linalg.vec3 import add, advanced, cross, divided, dot, is_zero, midpoint, negative, norm, norm2, scaled, sub, vec
from ..manifold import EDGE_EDGE, EDGE_VERTEX, FACE_VERTEX, VERTEX_EDGE, VERTEX_FACE, VERTEX_VERTEX
from ..polyhedra.closest_edges import segment_parameters
from .mesh_pair import (
    add_mesh_contact,
    direction_to_pair,
    has_single_triangle,
    inset_correction,
    pair_feature,
    surface_contains,
    surface_is_nearer,
    surface_of,
)
from .normal_cones import (
    EXACT_CONE_SINE,
    LOOSE_CONE_SINE,
    edges_passed,
    in_edge_normal_cone,
    in_vertex_normal_cone,
    is_over_concave_neighbor,
    vertex_supports,
)
from .within_reach import edge_bounds_apart

__all__ = ["edge_edge", "vertex_edge", "vertex_face", "vertex_vertex"]

# Squared sine up to which edges count as parallel: their ends serve then.
PARALLEL_EDGES = 1e-8
# The faces beside two edges that cross inside each other are no farther from them than this part of the depth.
FACE_DISTANCE_RATIO = 0.3


@inlined_kernel
def vertex_face(pair, of_first, v, f, out):
    """Adds the contact of a vertex of the first surface (of_first), else of the second, with a triangle of the other one."""
    own, faces = surface_of(pair, of_first), surface_of(pair, not of_first)
    surface, limit, noise = faces.surface, pair.query.limit, pair.query.noise
    own_normal = vec(surface.normals, f)
    if not own.surface.corner[v] or is_zero(own_normal):
        return
    normal = direction_to_pair(pair, faces.is_first, own_normal)
    point = vec(own.vertices, v)
    triangle = surface.triangles[f]
    height = dot(normal, sub(point, vec(faces.vertices, triangle[0])))
    if abs(height) > limit:
        return
    may_overlap = has_single_triangle(pair)
    if surface.solid and height < -noise and not may_overlap:
        return
    passed = edges_passed(faces.vertices, triangle, normal, point, surface.tolerance)
    # over a valley's other side a point has passed one side alone, which costs more to find
    if passed != 0 and surface.solid and (height < 0.0 or passed & (passed - 1) != 0):
        return
    vertex_normal = direction_to_pair(pair, of_first, own.surface.vertex_normals[v])
    inner = height - own.surface.depth[v] * dot(normal, vertex_normal)
    if not surface.solid and inner < 0.0:
        if height > 0.0 and len(surface.triangles) > 1:
            # Where the way from the vertex to its inside passes the plane is a sheet, or else it goes around the border.
            way = height / (height - inner) * own.surface.depth[v]
            if not surface_is_nearer(pair, faces, advanced(point, -way, vertex_normal), height + 2.0 * surface.tolerance):
                return
        normal, height = negative(normal), -height
    if height < -noise and not may_overlap:
        return
    if passed != 0 and (height < 0.0 or not is_over_concave_neighbor(pair, faces, f, passed, normal, point)):
        return
    if not vertex_supports(own, v, vertex_normal, negative(normal)):
        return
    if height < -noise and surface_is_nearer(pair, faces, point, -height):
        return
    feature = pair_feature(pair, VERTEX_FACE, FACE_VERTEX, of_first, v, surface.patch[f])
    from_first = scaled(-1.0 if of_first else 1.0, normal)
    correction = inset_correction(own, v)
    gap = height + dot(normal, sub(correction, inset_correction(faces, triangle[0])))
    add_mesh_contact(pair, out, advanced(add(point, correction), -0.5 * gap, normal), from_first, gap, feature)


@kernel_part
def edge_side_sign(pair, own, edges, v, e, direction, distance):
    """-1 where a vertex at a distance from an edge, in a unit direction, is on the wrong side of the edge's surface, else 1."""
    surface = edges.surface
    if surface.solid:
        outwards = direction_to_pair(pair, edges.is_first, surface.edge_normals[e])
        return -1.0 if dot(direction, outwards) < 0.0 else 1.0
    if own.surface.solid and surface.beside_start[e + 1] - surface.beside_start[e] == 2:
        # Beside the border of a sheet there is no wrong side.
        outwards = direction_to_pair(pair, own.is_first, own.surface.vertex_normals[v])
        return -1.0 if distance - own.surface.depth[v] * dot(direction, outwards) < 0.0 else 1.0
    return 1.0


@inlined_kernel
def inset_correction_on_edge(side, e, along):
    """From where a point of an edge is, that part of the way along it, to where it was before it was set in."""
    correction = inset_correction(side, side.surface.edges[e, 0])
    return advanced(correction, along, sub(inset_correction(side, side.surface.edges[e, 1]), correction))


@inlined_kernel
def vertex_edge(pair, of_first, v, e, out):
    """Adds the contact of a vertex of the first surface (of_first), else of the second, with an edge of the other one."""
    own, edges = surface_of(pair, of_first), surface_of(pair, not of_first)
    surface = edges.surface
    if not surface.sharp[e] or not own.surface.corner[v]:
        return
    start, point = vec(edges.vertices, surface.edges[e, 0]), vec(own.vertices, v)
    edge = sub(vec(edges.vertices, surface.edges[e, 1]), start)
    way = sub(point, start)
    square = norm2(edge)
    along = dot(way, edge)
    if not 0.0 < along < square:
        return
    way = advanced(way, -(along / square), edge)
    distance = norm(way)
    if distance > pair.query.limit or distance <= pair.query.noise:
        return
    direction = divided(way, distance)
    if not in_edge_normal_cone(surface, edges.vertices, e, direction, EXACT_CONE_SINE):
        return
    sign = edge_side_sign(pair, own, edges, v, e, direction, distance)
    normal, gap = scaled(sign, direction), sign * distance
    if gap < 0.0 and not has_single_triangle(pair):
        return
    if not in_vertex_normal_cone(own.surface, own.vertices, v, negative(normal), LOOSE_CONE_SINE):
        return
    if gap < 0.0 and surface_is_nearer(pair, edges, point, distance):
        return
    feature = pair_feature(pair, VERTEX_EDGE, EDGE_VERTEX, of_first, v, e)
    from_first = scaled(-1.0 if of_first else 1.0, normal)
    correction = inset_correction(own, v)
    gap += dot(normal, sub(correction, inset_correction_on_edge(edges, e, along / square)))
    add_mesh_contact(pair, out, advanced(add(point, correction), -0.5 * gap, normal), from_first, gap, feature)


@inlined_kernel
def vertex_vertex(pair, v, w, out):
    """Adds the contact of vertex v of the first surface with vertex w of the second."""
    a, b = pair.first, pair.second
    if not a.corner[v] or not b.corner[w]:
        return
    point = vec(a.vertices, v)
    way = sub(vec(pair.query.vertices_second, w), point)
    distance = norm(way)
    if distance > pair.query.limit or distance <= pair.query.noise:
        return
    direction = divided(way, distance)
    sign = 1.0
    if a.solid:
        if dot(direction, vec(a.vertex_normals, v)) < 0.0:
            sign = -1.0
    elif b.solid and dot(direction, direction_to_pair(pair, FALSE, b.vertex_normals[w])) > 0.0:
        sign = -1.0
    if sign < 0.0 and not has_single_triangle(pair):
        return
    # The closest direction is in the cone of the solid that decides; the normal is in that of the other surface.
    of_a, of_b = (1.0, sign) if a.solid else (sign, 1.0)
    if not in_vertex_normal_cone(a, a.vertices, v, scaled(of_a, direction), EXACT_CONE_SINE):
        return
    if not in_vertex_normal_cone(b, pair.query.vertices_second, w, scaled(-of_b, direction), EXACT_CONE_SINE):
        return
    if sign < 0.0:
        at = advanced(point, distance, direction) if a.solid else point
        if surface_is_nearer(pair, surface_of(pair, a.solid), at, distance):
            return
    feature = pair_feature(pair, VERTEX_VERTEX, VERTEX_VERTEX, TRUE, v, w)
    correction = inset_correction(surface_of(pair, TRUE), v)
    normal = scaled(sign, direction)
    gap = sign * distance + dot(normal, sub(inset_correction(surface_of(pair, FALSE), w), correction))
    add_mesh_contact(pair, out, advanced(add(point, correction), 0.5 * gap, normal), normal, gap, feature)


@kernel_part
def edges_are_outermost(pair, p, q, depth):
    """Whether two edges that cross inside each other, at p of the first and q of the second, are those of the overlap.

    Far from a surface its edges on the other side look the same way. depth: negative, m.
    """
    first, second = surface_of(pair, TRUE), surface_of(pair, FALSE)
    if pair.first.solid and (
        surface_is_nearer(pair, first, q, -FACE_DISTANCE_RATIO * depth) or not surface_contains(pair, first, q)
    ):
        return False
    return not pair.second.solid or not (
        surface_is_nearer(pair, second, p, -FACE_DISTANCE_RATIO * depth) or not surface_contains(pair, second, p)
    )


@inlined_kernel
def edge_edge(pair, e, g, out):
    """Adds the contact of edge e of the first surface and edge g of the second where they cross."""
    a, b, vertices = pair.first, pair.second, pair.query.vertices_second
    if not a.sharp[e] or not b.sharp[g]:
        return
    p, q = vec(a.vertices, a.edges[e, 0]), vec(vertices, b.edges[g, 0])
    end, other_end = vec(a.vertices, a.edges[e, 1]), vec(vertices, b.edges[g, 1])
    if edge_bounds_apart(p, end, q, other_end, pair.query.limit):
        return
    d, o = sub(end, p), sub(other_end, q)
    normal = cross(d, o)
    square = norm2(normal)
    if square <= PARALLEL_EDGES * norm2(d) * norm2(o):
        return
    s, t, squared = segment_parameters(p, d, q, o)
    if squared > pair.query.limit * pair.query.limit or not (0.0 < s < 1.0 and 0.0 < t < 1.0):
        return
    p, q = advanced(p, s, d), advanced(q, t, o)
    normal = divided(normal, np.sqrt(square))
    along = dot(normal, sub(q, p))
    outward = along
    if a.solid:
        outward = dot(vec(a.edge_normals, e), normal)
    elif b.solid:
        outward = -dot(direction_to_pair(pair, FALSE, b.edge_normals[g]), normal)
    if outward < 0.0:
        normal, along = negative(normal), -along
    if along < -pair.query.noise and not has_single_triangle(pair):
        return
    if not in_edge_normal_cone(a, a.vertices, e, normal, LOOSE_CONE_SINE):
        return
    if not in_edge_normal_cone(b, vertices, g, negative(normal), LOOSE_CONE_SINE):
        return
    if along < -pair.query.noise and not edges_are_outermost(pair, p, q, along):
        return
    feature = pair_feature(pair, EDGE_EDGE, EDGE_EDGE, TRUE, e, g)
    correction, other_correction = (
        inset_correction_on_edge(surface_of(pair, TRUE), e, s),
        inset_correction_on_edge(surface_of(pair, FALSE), g, t),
    )
    gap = along + dot(normal, sub(other_correction, correction))
    add_mesh_contact(pair, out, midpoint(add(p, correction), add(q, other_correction)), normal, gap, feature)
