# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests whether a direction belongs to a feature of a surface: normal cones of vertices and edges, and prisms over triangles.

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

# The exact tolerance is for closest directions. The loose one is for crossings of edges: it keeps those near the ends of the
# edges, so that support polygons keep their corners.
EXACT_CONE_SINE = 1e-6
LOOSE_CONE_SINE = 0.02
# A vertex can touch a face if its normal points toward the face by this sine.
VERTEX_SUPPORT_SINE = 0.02


@inlined_kernel
def in_vertex_normal_cone(surface, vertices, v, direction, tolerance):
    """Return True if no neighbor of a vertex lies farther along a direction, up to a tolerance (sine)."""
    point = vec(vertices, v)
    for slot in range(surface.ring_start[v], surface.ring_start[v + 1]):
        edge = sub(vec(vertices, surface.ring[slot]), point)
        along = dot(direction, edge)
        if along > 0.0 and along * along > tolerance * tolerance * norm2(edge):
            return False
    return True


@inlined_kernel
def in_edge_normal_cone(surface, vertices, e, direction, tolerance):
    """Return True if no triangle of an edge extends farther along a direction perpendicular to the edge, up to a tolerance
    (sine).
    """
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
    """Return the sides of the prism over a triangle beyond which a point lies by more than a tolerance [m], as bits.

    normal: of the triangle. The result is 0 for a point over the triangle.
    """
    passed = 0
    for side in range(3):
        p = vec(vertices, triangle[side])
        edge = sub(vec(vertices, triangle[side + 1 if side < 2 else 0]), p)
        out = dot(cross(edge, normal), sub(point, p))
        passed |= int(out > 0.0 and out * out > tolerance * tolerance * norm2(edge)) << side
    return passed


@leaf_kernel
def is_over_concave_neighbor(pair, side, f, passed, normal, point):
    """Return True if a point lies over a neighbor of triangle f across a concave edge, where both planes bound the point.

    Without this test the plane ahead is found only after the vertex has crossed the edge, in the middle of a step. The point
    must be beyond that side of the prism over f and beyond no other, because on a rounded surface a point is near the planes of
    many other triangles. It must also be on the side of the neighbor from which f is visible.

    side: `PairSurface` of f. passed: result of `edges_passed` for f. normal: of f, on the side of the point.
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
    """Return True if a vertex with the given normal can be the extreme point of its surface along a direction.

    side: `PairSurface` of the vertex. Both directions count for a sheet.
    """
    along = dot(normal, direction)
    if along > VERTEX_SUPPORT_SINE or (not side.surface.solid and -along > VERTEX_SUPPORT_SINE):
        return True
    return in_vertex_normal_cone(side.surface, side.vertices, v, direction, LOOSE_CONE_SINE)
