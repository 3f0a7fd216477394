# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of two features of triangle surfaces: vertex and face, two edges, vertex and edge, two vertices.

Two features touch where the distance between the surfaces has a local minimum. There the direction between their closest points
is in the normal cone of each feature: no neighboring feature of the same surface is nearer in that direction. The cone of an
edge inside a flat patch is the normal of the patch, which the faces already represent. So a body that slides over a flat patch
does not feel these edges.

These contacts are for separated surfaces. Surfaces that overlap intersect, and `intersection_curves` finds their contacts. The
only exceptions are the cores of spheres and capsules, a point or a segment: they are handled here at any depth. The outside of
a solid is given by its normals. A sheet has two sides, and the outside is the one away from the inside of the other body.
"""

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

__all__ = ["edge_edge", "vertex_edge", "vertex_face", "vertex_vertex"]

# Squared sine up to which two edges count as parallel. Contacts at their ends are then used.
PARALLEL_EDGES = 1e-8
# Relative to the depth: largest distance of two edges that cross inside each other to the faces of the other surface.
FACE_DISTANCE_RATIO = 0.3


@inlined_kernel
def vertex_face(pair, of_first, v, f, out):
    """Append the contact of a vertex with a triangle of the other surface.

    of_first: True for a vertex of the first surface and a triangle of the second. v: the vertex. f: the triangle.
    """
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
    # A point over a concave neighbor is beyond one edge only. That test is expensive, so it comes later.
    if passed != 0 and surface.solid and (height < 0.0 or passed & (passed - 1) != 0):
        return
    vertex_normal = direction_to_pair(pair, of_first, own.surface.vertex_normals[v])
    inner = height - own.surface.depth[v] * dot(normal, vertex_normal)
    if not surface.solid and inner < 0.0:
        if height > 0.0 and len(surface.triangles) > 1:
            # The line from the vertex to the inside of its body must pass through the sheet, not around its border.
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
    """Return -1.0 if a vertex is on the wrong side of the surface of an edge, else 1.0.

    own, edges: `PairSurface` of the vertex v and of the edge e. direction: unit vector from the edge to the vertex. distance:
        of the two [m].
    """
    surface = edges.surface
    if surface.solid:
        outwards = direction_to_pair(pair, edges.is_first, surface.edge_normals[e])
        return -1.0 if dot(direction, outwards) < 0.0 else 1.0
    if own.surface.solid and surface.beside_start[e + 1] - surface.beside_start[e] == 2:
        # An edge with two faces. At the border of a sheet neither side is wrong.
        outwards = direction_to_pair(pair, own.is_first, own.surface.vertex_normals[v])
        return -1.0 if distance - own.surface.depth[v] * dot(direction, outwards) < 0.0 else 1.0
    return 1.0


@inlined_kernel
def inset_correction_on_edge(side, e, along):
    """Return the vector from a point of an inset edge to the point of the original edge [m].

    along: parameter of the point, 0 to 1.
    """
    correction = inset_correction(side, side.surface.edges[e, 0])
    return advanced(correction, along, sub(inset_correction(side, side.surface.edges[e, 1]), correction))


@inlined_kernel
def vertex_edge(pair, of_first, v, e, out):
    """Append the contact of a vertex with an edge of the other surface.

    of_first: True for a vertex of the first surface and an edge of the second. v: the vertex. e: the edge.
    """
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
    """Append the contact of vertex v of the first surface with vertex w of the second."""
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
    # The closest direction must be in the cone of the solid that defines the outside, the normal in the cone of the other one.
    of_a, of_b = (1.0, sign) if a.solid else (sign, 1.0)
    if not in_vertex_normal_cone(a, a.vertices, v, scaled(of_a, direction), EXACT_CONE_SINE):
        return
    if not in_vertex_normal_cone(b, pair.query.vertices_second, w, scaled(-of_b, direction), EXACT_CONE_SINE):
        return
    if sign < 0.0:
        other_point = advanced(point, distance, direction) if a.solid else point
        if surface_is_nearer(pair, surface_of(pair, a.solid), other_point, distance):
            return
    feature = pair_feature(pair, VERTEX_VERTEX, VERTEX_VERTEX, TRUE, v, w)
    correction = inset_correction(surface_of(pair, TRUE), v)
    normal = scaled(sign, direction)
    gap = sign * distance + dot(normal, sub(inset_correction(surface_of(pair, FALSE), w), correction))
    add_mesh_contact(pair, out, advanced(add(point, correction), 0.5 * gap, normal), normal, gap, feature)


@kernel_part
def edges_are_outermost(pair, p, q, depth):
    """Return True if two edges that cross inside each other are the edges of the overlap.

    Edges on the far side of a body have the same directions, so the distance to the surface decides.

    p, q: points of the edges of the first and of the second surface [m]. depth: gap of the edges, negative [m].
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
    """Append the contact of edge e of the first surface with edge g of the second if their closest points are inside both
    edges.
    """
    a, b, vertices = pair.first, pair.second, pair.query.vertices_second
    if not a.sharp[e] or not b.sharp[g]:
        return
    p, q = vec(a.vertices, a.edges[e, 0]), vec(vertices, b.edges[g, 0])
    end, other_end = vec(a.vertices, a.edges[e, 1]), vec(vertices, b.edges[g, 1])
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
