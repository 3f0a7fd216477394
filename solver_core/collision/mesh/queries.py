# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions to one surface: the closest point, and the winding number around a point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel, leaf_kernel

__all__ = [
    "SurfaceView",
    "closest_on_surface",
    "is_inside",
    "is_nearer",
    "surface_velocities",
    "surface_view",
    "winding_number",
]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# How many radii away a part of the surface counts as a dipole. The error in the winding number stays well below the half that
# decides.
FAR = 2.3


class SurfaceView(NamedTuple):
    """Views of one surface's rows of the table (see `SurfaceTable`)."""

    solid: bool
    tolerance: float
    triangles: Indices
    triangle_edges: Indices
    patch: Indices
    owned: Indices
    edges: Indices
    sides_start: Indices
    sides: Indices
    fan_start: Indices
    fan: Indices
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


@leaf_kernel
def surface_view(table, s):
    """Surface s of the table, without a copy."""
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
        table.sides_start[edge + s : next_edge + s + 1],
        table.sides,
        table.fan_start[vertex + s : next_vertex + s + 1],
        table.fan,
        table.vertices[vertex:next_vertex],
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


@leaf_kernel
def closest_on_triangle(p, q, r, x, y, z):
    """The point of a triangle, of any width, closest to (x, y, z): (squared distance, point)."""
    ex, ey, ez = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    ox, oy, oz = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    nx, ny, nz = ey * oz - ez * oy, ez * ox - ex * oz, ex * oy - ey * ox
    square = nx * nx + ny * ny + nz * nz
    best, bx, by, bz = np.inf, 0.0, 0.0, 0.0
    outside = square == 0.0
    for side in range(3):
        a, b = (p, q) if side == 0 else ((q, r) if side == 1 else (r, p))
        dx, dy, dz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        wx, wy, wz = x - a[0], y - a[1], z - a[2]
        if (dy * nz - dz * ny) * wx + (dz * nx - dx * nz) * wy + (dx * ny - dy * nx) * wz <= 0.0 and square > 0.0:
            continue
        outside = True
        length2 = dx * dx + dy * dy + dz * dz
        t = min(max((dx * wx + dy * wy + dz * wz) / length2, 0.0), 1.0) if length2 > 0.0 else 0.0
        cx, cy, cz = a[0] + t * dx, a[1] + t * dy, a[2] + t * dz
        squared = (x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2
        if squared < best:
            best, bx, by, bz = squared, cx, cy, cz
    if outside:
        return best, bx, by, bz
    height = (nx * (x - p[0]) + ny * (y - p[1]) + nz * (z - p[2])) / square
    return height * height * square, x - height * nx, y - height * ny, z - height * nz


@leaf_kernel
def squared_distance_to_box(box, x, y, z):
    dx = max(box[0] - x, 0.0, x - box[3])
    dy = max(box[1] - y, 0.0, y - box[4])
    dz = max(box[2] - z, 0.0, z - box[5])
    return dx * dx + dy * dy + dz * dz


@leaf_kernel
def closest_on_surface(surface, x, y, z, radius, enough, stack):
    """Closest point within a radius: (squared distance, triangle, point); triangle -1 for none.

    The search ends early at a point nearer than `enough`. stack: (64,) work array.
    """
    best, triangle, bx, by, bz = radius * radius, -1, 0.0, 0.0, 0.0
    stack[0] = 0
    size = 1
    while size > 0:
        size -= 1
        node = stack[size]
        if squared_distance_to_box(surface.boxes[node], x, y, z) >= best:
            continue
        right = surface.right[node]
        if right > 0:
            left_nearer = squared_distance_to_box(surface.boxes[node + 1], x, y, z) <= squared_distance_to_box(
                surface.boxes[right], x, y, z
            )
            stack[size] = right if left_nearer else node + 1
            stack[size + 1] = node + 1 if left_nearer else right
            size += 2
            continue
        for row in range(surface.node_begin[node], surface.node_end[node]):
            f = surface.order[row]
            p = surface.vertices[surface.triangles[f, 0]]
            q = surface.vertices[surface.triangles[f, 1]]
            r = surface.vertices[surface.triangles[f, 2]]
            squared, cx, cy, cz = closest_on_triangle(p, q, r, x, y, z)
            if squared < best:
                best, triangle, bx, by, bz = squared, f, cx, cy, cz
        if best < enough * enough:
            break
    return best, triangle, bx, by, bz


@leaf_kernel
def is_nearer(surface, x, y, z, distance, stack):
    """Whether some point of the surface is nearer to (x, y, z) than the distance, by more than the surface's tolerance."""
    radius = distance * (1.0 - 1e-6) - surface.tolerance
    if radius <= 0.0:
        return False
    _, triangle, _, _, _ = closest_on_surface(surface, x, y, z, radius, radius, stack)
    return triangle >= 0


@leaf_kernel
def winding_number(surface, x, y, z, stack):
    """How often the surface goes around the point: 1 inside of a closed one, 0 outside (Jacobson et al. 2013).

    Solid angles of triangles (van Oosterom, Strackee 1983), and of dipoles for what is far away. stack: (64,) work array.
    """
    total = 0.0
    stack[0] = 0
    size = 1
    while size > 0:
        size -= 1
        node = stack[size]
        dipole = surface.dipoles[node]
        dx, dy, dz = dipole[3] - x, dipole[4] - y, dipole[5] - z
        square = dx * dx + dy * dy + dz * dz
        if square > (FAR * dipole[6]) ** 2:
            total += (dipole[0] * dx + dipole[1] * dy + dipole[2] * dz) / (square * np.sqrt(square))
            continue
        right = surface.right[node]
        if right > 0:
            stack[size] = right
            stack[size + 1] = node + 1
            size += 2
            continue
        for row in range(surface.node_begin[node], surface.node_end[node]):
            f = surface.order[row]
            i, j, k = surface.triangles[f, 0], surface.triangles[f, 1], surface.triangles[f, 2]
            ax, ay, az = surface.vertices[i, 0] - x, surface.vertices[i, 1] - y, surface.vertices[i, 2] - z
            bx, by, bz = surface.vertices[j, 0] - x, surface.vertices[j, 1] - y, surface.vertices[j, 2] - z
            cx, cy, cz = surface.vertices[k, 0] - x, surface.vertices[k, 1] - y, surface.vertices[k, 2] - z
            a = np.sqrt(ax * ax + ay * ay + az * az)
            b = np.sqrt(bx * bx + by * by + bz * bz)
            c = np.sqrt(cx * cx + cy * cy + cz * cz)
            volume = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
            ab = ax * bx + ay * by + az * bz
            bc = bx * cx + by * cy + bz * cz
            ca = cx * ax + cy * ay + cz * az
            total += 2.0 * np.arctan2(volume, a * b * c + ab * c + bc * a + ca * b)
    return total / (4.0 * np.pi)


@leaf_kernel
def velocity_at(table, s, x, y, z, velocity, stack):
    """Velocity of surface s at its point closest to (x, y, z), between those of the corners (v, 3) of its triangle."""
    surface = surface_view(table, s)
    _, f, px, py, pz = closest_on_surface(surface, x, y, z, np.inf, 0.0, stack)
    i, j, k = surface.triangles[f, 0], surface.triangles[f, 1], surface.triangles[f, 2]
    p, q, r = surface.vertices[i], surface.vertices[j], surface.vertices[k]
    ex, ey, ez = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    ox, oy, oz = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    dx, dy, dz = px - p[0], py - p[1], pz - p[2]
    ee, oo, eo = ex * ex + ey * ey + ez * ez, ox * ox + oy * oy + oz * oz, ex * ox + ey * oy + ez * oz
    ed, od = ex * dx + ey * dy + ez * dz, ox * dx + oy * dy + oz * dz
    determinant = ee * oo - eo * eo
    second = third = 0.0
    if determinant > 0.0:
        second = (ed * oo - od * eo) / determinant
        third = (od * ee - ed * eo) / determinant
    first = 1.0 - second - third
    a, b, c = velocity[i], velocity[j], velocity[k]
    return (
        first * a[0] + second * b[0] + third * c[0],
        first * a[1] + second * b[1] + third * c[1],
        first * a[2] + second * b[2] + third * c[2],
    )


@kernel
def surface_velocities(table, s, points, velocity):
    """(m, 3) velocities of surface s where it is closest to points (m, 3), from those of its vertices (v, 3); its own axes."""
    stack = np.empty(64, np.int64)
    out = np.empty((len(points), 3))
    for row in range(len(points)):
        x, y, z = velocity_at(table, s, points[row, 0], points[row, 1], points[row, 2], velocity, stack)
        out[row, 0], out[row, 1], out[row, 2] = x, y, z
    return out


@leaf_kernel
def is_inside(surface, x, y, z, stack):
    """Whether a closed surface goes around the point."""
    box = surface.boxes[0]
    if not (box[0] <= x <= box[3] and box[1] <= y <= box[4] and box[2] <= z <= box[5]):
        return False
    return winding_number(surface, x, y, z, stack) > 0.5
