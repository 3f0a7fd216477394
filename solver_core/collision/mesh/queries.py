# SPDX-License-Identifier: GPL-3.0-or-later
"""Queries of one surface: closest point, and winding number of a point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, kernel, leaf_kernel
from ...linalg.elementary import arctangent
from ...linalg.vec3 import ZERO, add, advanced, cross, distance2, dot, norm, norm2, scaled, set_vec, sub, vec

__all__ = [
    "SurfaceView",
    "box_extent",
    "closest_on_surface",
    "has_point_within",
    "is_inside",
    "own_view",
    "surface_velocities",
    "surface_view",
    "surface_weights",
    "triangle_corners",
    "winding_number",
]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Ratio of distance to radius from which a node is replaced by its dipole (beta of Barill et al. 2018). The error of the winding
# number stays well below 0.5.
DIPOLE_BETA = 2.3
# A point with a larger winding number is inside.
INSIDE_WINDING = 0.5


class SurfaceView(NamedTuple):
    """Views of the rows of one surface in a `SurfaceTable`. The fields are those of the table."""

    solid: bool
    tolerance: float
    triangles: Indices
    triangle_edges: Indices
    patch: Indices
    owned: Indices
    edges: Indices
    beside_start: Indices
    beside: Indices
    ring_start: Indices
    ring: Indices
    vertices: Array
    normals: Array
    edge_normals: Array
    vertex_normals: Array
    sharp: NDArray[np.bool_]
    corner: NDArray[np.bool_]
    depth: Array
    boxes: Array
    dipoles: Array
    right: Indices
    node_begin: Indices
    node_end: Indices
    order: Indices


@inlined_kernel
def own_view(table, s):
    """Return the view of surface s, without copies."""
    return surface_view(table, s, table.vertices[table.first_vertex[s] : table.first_vertex[s + 1]])


@leaf_kernel
def surface_view(table, s, vertices):
    """Return the view of surface s with other vertices (v, 3) [m], without copies."""
    vertex, next_vertex = table.first_vertex[s], table.first_vertex[s + 1]
    triangle, next_triangle = table.first_triangle[s], table.first_triangle[s + 1]
    edge, next_edge = table.first_edge[s], table.first_edge[s + 1]
    node, next_node = table.first_node[s], table.first_node[s + 1]
    return SurfaceView(
        table.solid[s],
        table.tolerance[s],
        table.triangles[triangle:next_triangle],
        table.triangle_edges[triangle:next_triangle],
        table.patch[triangle:next_triangle],
        table.owned[triangle:next_triangle],
        table.edges[edge:next_edge],
        table.beside_start[edge + s : next_edge + s + 1],
        table.beside,
        table.ring_start[vertex + s : next_vertex + s + 1],
        table.ring,
        vertices,
        table.normals[triangle:next_triangle],
        table.edge_normals[edge:next_edge],
        table.vertex_normals[vertex:next_vertex],
        table.sharp[edge:next_edge],
        table.corner[vertex:next_vertex],
        table.depth[vertex:next_vertex],
        table.boxes[node:next_node],
        table.dipoles[node:next_node],
        table.right[node:next_node],
        table.node_begin[node:next_node],
        table.node_end[node:next_node],
        table.order[triangle:next_triangle],
    )


@inlined_kernel
def triangle_corners(vertices, triangle):
    """Return the three corners of a triangle. vertices: (v, 3). triangle: (3,) rows of vertices."""
    return vec(vertices, triangle[0]), vec(vertices, triangle[1]), vec(vertices, triangle[2])


@inlined_kernel
def box_extent(box):
    """Return the sum of the side lengths of a box (6,)."""
    return box[3] - box[0] + box[4] - box[1] + box[5] - box[2]


@leaf_kernel
def closest_on_triangle(p, q, r, point):
    """Find the point of a triangle p, q, r closest to a point. The triangle may be degenerate.

    Returns the squared distance [m^2] and the closest point [m].
    """
    normal = cross(sub(q, p), sub(r, p))
    square = norm2(normal)
    best, closest = np.inf, ZERO
    outside = square == 0.0
    for side in range(3):
        a, b = (p, q) if side == 0 else ((q, r) if side == 1 else (r, p))
        edge, offset = sub(b, a), sub(point, a)
        if dot(cross(edge, normal), offset) <= 0.0 and square > 0.0:
            continue
        outside = True
        length2 = norm2(edge)
        t = min(max(dot(edge, offset) / length2, 0.0), 1.0) if length2 > 0.0 else 0.0
        on_edge = advanced(a, t, edge)
        squared = distance2(point, on_edge)
        if squared < best:
            best, closest = squared, on_edge
    if outside:
        return best, closest
    height = dot(normal, sub(point, p)) / square
    return height * height * square, advanced(point, -height, normal)


@leaf_kernel
def squared_distance_to_box(box, point):
    """Return the squared distance of a point to a box (6,) [m^2], 0 inside."""
    dx = max(box[0] - point[0], 0.0, point[0] - box[3])
    dy = max(box[1] - point[1], 0.0, point[1] - box[4])
    dz = max(box[2] - point[2], 0.0, point[2] - box[5])
    return dx * dx + dy * dy + dz * dz


@leaf_kernel
def closest_on_surface(surface, point, radius, stop_distance, stack):
    """Find the point of a surface closest to a point, within a radius [m].

    stop_distance: the search ends at the first point nearer than this [m]. stack: (64,) work array.

    Returns the squared distance [m^2], the triangle, and the closest point [m]. The triangle is -1 if none is within the
    radius.
    """
    best, triangle, closest = radius * radius, -1, ZERO
    stack[0] = 0
    size = 1
    while size > 0:
        size -= 1
        node = stack[size]
        if squared_distance_to_box(surface.boxes[node], point) >= best:
            continue
        right = surface.right[node]
        if right > 0:
            left_distance = squared_distance_to_box(surface.boxes[node + 1], point)
            left_nearer = left_distance <= squared_distance_to_box(surface.boxes[right], point)
            stack[size] = right if left_nearer else node + 1
            stack[size + 1] = node + 1 if left_nearer else right
            size += 2
            continue
        for place in range(surface.node_begin[node], surface.node_end[node]):
            f = surface.order[place]
            p, q, r = triangle_corners(surface.vertices, surface.triangles[f])
            squared, candidate = closest_on_triangle(p, q, r, point)
            if squared < best:
                best, triangle, closest = squared, f, candidate
        if best < stop_distance * stop_distance:
            break
    return best, triangle, closest


@leaf_kernel
def has_point_within(surface, point, distance, stack):
    """Return True if a surface has a point within a distance [m] of a point, less the tolerance of the surface."""
    radius = distance * (1.0 - 1e-6) - surface.tolerance
    if radius <= 0.0:
        return False
    _, triangle, _ = closest_on_surface(surface, point, radius, radius, stack)
    return triangle >= 0


@leaf_kernel
def winding_number(surface, point, stack):
    """Return the winding number of a surface around a point: 1 inside a closed surface, 0 outside (Jacobson et al. 2013).

    It sums the solid angles of triangles (van Oosterom and Strackee 1983), and dipoles of distant nodes (Barill et al. 2018).

    stack: (64,) work array.
    """
    total = 0.0
    stack[0] = 0
    size = 1
    while size > 0:
        size -= 1
        node = stack[size]
        dipole = surface.dipoles[node]
        offset = dipole[3] - point[0], dipole[4] - point[1], dipole[5] - point[2]
        square = norm2(offset)
        if square > (DIPOLE_BETA * dipole[6]) ** 2:
            total += dot(dipole, offset) / (square * np.sqrt(square))
            continue
        right = surface.right[node]
        if right > 0:
            stack[size] = right
            stack[size + 1] = node + 1
            size += 2
            continue
        for place in range(surface.node_begin[node], surface.node_end[node]):
            p, q, r = triangle_corners(surface.vertices, surface.triangles[surface.order[place]])
            p, q, r = sub(p, point), sub(q, point), sub(r, point)
            a, b, c = norm(p), norm(q), norm(r)
            around = a * b * c + dot(p, q) * c + dot(q, r) * a + dot(r, p) * b
            total += 2.0 * arctangent(dot(p, cross(q, r)), around)
    return total / (4.0 * np.pi)


@leaf_kernel
def closest_weights(table, s, point, stack):
    """Find the point of surface s closest to a point.

    Returns the triangle, and the barycentric weights of its second and third corner there.
    """
    surface = own_view(table, s)
    _, f, closest = closest_on_surface(surface, point, np.inf, 0.0, stack)
    p, q, r = triangle_corners(surface.vertices, surface.triangles[f])
    e, o, d = sub(q, p), sub(r, p), sub(closest, p)
    ee, oo, eo, ed, od = norm2(e), norm2(o), dot(e, o), dot(e, d), dot(o, d)
    determinant = ee * oo - eo * eo
    second = third = 0.0
    if determinant > 0.0:
        second = (ed * oo - od * eo) / determinant
        third = (od * ee - ed * eo) / determinant
    return f, second, third


@leaf_kernel
def velocity_at(table, s, point, velocity, stack):
    """Interpolate vertex velocities (v, 3) [m/s] at the point of surface s closest to a point."""
    f, second, third = closest_weights(table, s, point, stack)
    a, b, c = triangle_corners(velocity, own_view(table, s).triangles[f])
    return add(add(scaled(1.0 - second - third, a), scaled(second, b)), scaled(third, c))


@kernel
def surface_velocities(table, s, points, velocity):
    """Interpolate vertex velocities (v, 3) [m/s] at the points of surface s closest to points (m, 3) [m]. Returns (m, 3) [m/s].

    Points and velocities are in the frame of the surface.
    """
    stack = np.empty(64, np.int64)
    out = np.empty((len(points), 3))
    for i in range(len(points)):
        set_vec(out, i, velocity_at(table, s, vec(points, i), velocity, stack))
    return out


@kernel
def surface_weights(table, s, points):
    """Find the points of surface s closest to points (m, 3) [m], in the frame of the surface.

    Returns the vertices (m, 3) of the triangles, and their barycentric weights (m, 3).
    """
    stack = np.empty(64, np.int64)
    corners, weights = np.empty((len(points), 3), np.int64), np.empty((len(points), 3))
    for i in range(len(points)):
        f, second, third = closest_weights(table, s, vec(points, i), stack)
        corners[i] = table.triangles[table.first_triangle[s] + f]
        weights[i, 0], weights[i, 1], weights[i, 2] = 1.0 - second - third, second, third
    return corners, weights


@leaf_kernel
def is_inside(surface, point, stack):
    """Return True if a closed surface contains a point: its winding number there exceeds INSIDE_WINDING."""
    x, y, z = point
    box = surface.boxes[0]
    if not (box[0] <= x <= box[3] and box[1] <= y <= box[4] and box[2] <= z <= box[5]):
        return False
    return winding_number(surface, point, stack) > INSIDE_WINDING
