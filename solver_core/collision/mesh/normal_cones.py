# SPDX-License-Identifier: GPL-3.0-or-later
"""Which features of a triangle surface a direction belongs to: normal cones of vertices and edges, prisms over faces.

The tolerances are sines by which a direction may leave a cone.
"""

from __future__ import annotations

from ...compile.kernel import inlined_kernel, leaf_kernel
from ...linalg.vec3 import advanced, cross, dot, norm2, sub, vec
from .mesh_pair import direction_to_pair

__all__ = [
    "EXACT_CONE_SINE",
    "LOOSE_CONE_SINE",
    "edges_passed",
    "in_edge_normal_cone",
    "in_vertex_normal_cone",
    "is_over_concave_neighbor",
    "vertex_supports",
]

# Closest directions are exact; crossings of edges that lie on each other's ends are kept so that support polygons keep their
# corners.
EXACT_CONE_SINE = 1e-6
LOOSE_CONE_SINE = 0.02
# A vertex meets a face if its normal leans towards it by this sine.
VERTEX_SUPPORT_SINE = 0.02


@inlined_kernel
def in_vertex_normal_cone(surface, vertices, v, direction, tolerance):
    """Whether all edges of a vertex lead away from the direction, so that no neighbour lies farther along it."""
    point = vec(vertices, v)
    for slot in range(surface.ring_start[v], surface.ring_start[v + 1]):
        edge = sub(vec(vertices, surface.ring[slot]), point)
        along = dot(direction, edge)
        if along > 0.0 and along * along > tolerance * tolerance * norm2(edge):
            return False
    return True


@inlined_kernel
def in_edge_normal_cone(surface, vertices, e, direction, tolerance):
    """Whether the triangles beside an edge lead away from the direction, which makes a right angle with it."""
    point = vec(vertices, surface.edges[e, 0])
    edge = sub(vec(vertices, surface.edges[e, 1]), point)
    square = norm2(edge)
    for slot in range(surface.beside_start[e], surface.beside_start[e + 1]):
        across = sub(vec(vertices, surface.beside[slot, 1]), point)
        across = advanced(across, -(dot(across, edge) / square), edge)
        into = dot(direction, across)
        if into > 0.0 and into * into > tolerance * tolerance * norm2(across):
            return False
    return True


@leaf_kernel
def edges_passed(vertices, triangle, normal, point, tolerance):
    """The sides of the prism over a triangle with the normal given beyond which a point lies by more than the tolerance in m,
    as bits: 0 for a point over the triangle."""
    passed = 0
    for side in range(3):
        p = vec(vertices, triangle[side])
        edge = sub(vec(vertices, triangle[side + 1 if side < 2 else 0]), p)
        out = dot(cross(edge, normal), sub(point, p))
        passed |= int(out > 0.0 and out * out > tolerance * tolerance * norm2(edge)) << side
    return passed


@leaf_kernel
def is_over_concave_neighbor(pair, side, f, passed, normal, point):
    """Whether a point is over a neighbour of triangle f that rises from it: a valley, in which both of their planes bound it.

    Without this the plane ahead would be met only after the vertex has crossed the valley's edge, in the middle of a step. The
    point has left the prism over f across that edge and nowhere else, as a round body bends over the planes of other triangles;
    and it is where f is seen from the neighbour, not behind a leg that stands on f.
    side: the `Side` that f is of. passed: the sides of the prism over f that the point is beyond (`sides_passed`). normal: of
    f, on the point's side.
    """
    surface, vertices, tolerance = side.surface, side.vertices, side.surface.tolerance
    base = dot(normal, vec(vertices, surface.triangles[f, 0]))
    for border in range(3):
        e = surface.triangle_edges[f, border]
        if passed & ~(1 << border) != 0 or e < 0 or not surface.sharp[e]:
            continue
        for slot in range(surface.beside_start[e], surface.beside_start[e + 1]):
            g, off = surface.beside[slot, 0], surface.beside[slot, 1]
            if g == f or dot(normal, vec(vertices, off)) - base <= tolerance:
                continue
            other_normal = direction_to_pair(pair, side.is_first, surface.normals[g])
            corner = vec(vertices, surface.triangles[g, 0])
            inner = dot(other_normal, sub(vec(vertices, surface.triangles[f, border - 1 if border > 0 else 2]), corner))
            over = dot(other_normal, sub(point, corner))
            if (over if inner > 0.0 else -over) < -tolerance:
                continue
            if edges_passed(vertices, surface.triangles[g], other_normal, point, tolerance) == 0:
                return True
    return False


@inlined_kernel
def vertex_supports(side, v, normal, direction):
    """Whether a vertex of a `Side`, with the normal given, looks along a direction; both ways if its surface is a sheet."""
    along = dot(normal, direction)
    if along > VERTEX_SUPPORT_SINE or (not side.surface.solid and -along > VERTEX_SUPPORT_SINE):
        return True
    return in_vertex_normal_cone(side.surface, side.vertices, v, direction, LOOSE_CONE_SINE)
