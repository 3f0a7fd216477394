# SPDX-License-Identifier: GPL-3.0-or-later
"""Thickness of a solid behind its surface. It decides on which side of a sheet the solid is where it dips through the sheet."""

from __future__ import annotations

import numpy as np

from ..compile.kernel import kernel, kernel_part
from ..linalg.vec3 import advanced, cross, dot, norm, sub, vec

__all__ = ["fill_depth", "triangle_depths"]


@kernel
def fill_depth(table, s):
    """Write half the thickness of solid s of a `SurfaceTable` behind each vertex, along the inward normal [m]; 0 if no ray
    hits.
    """
    stack = np.empty(64, np.int64)
    first = table.first_vertex[s]
    for v in range(table.first_vertex[s + 1] - first):
        p, n = table.vertices[first + v], table.vertex_normals[first + v]
        if n[0] == 0.0 and n[1] == 0.0 and n[2] == 0.0:
            continue
        length = _ray_length(table, s, p, -n, 10.0 * table.tolerance[s], stack)
        table.depth[first + v] = 0.5 * length if length < np.inf else 0.0


@kernel
def triangle_depths(table, s):
    """Return the thickness of surface s behind the center of each triangle, along the inward normal (t,) [m]; inf for a
    sheet.
    """
    stack = np.empty(64, np.int64)
    first, begin = table.first_vertex[s], table.first_triangle[s]
    depth = np.full(table.first_triangle[s + 1] - begin, np.inf)
    if table.solid[s]:
        middle = np.empty(3)
        for f in range(len(depth)):
            n = table.normals[begin + f]
            if n[0] == 0.0 and n[1] == 0.0 and n[2] == 0.0:
                continue
            middle[:] = 0.0
            for i in range(3):
                middle += table.vertices[first + table.triangles[begin + f, i]] / 3.0
            depth[f] = _ray_length(table, s, middle, -n, 10.0 * table.tolerance[s], stack)
    return depth


@kernel
def _ray_length(table, s, origin, direction, least, stack):
    """Return the length of a ray to the first triangle farther than `least`, or inf [m]."""
    first = table.first_node[s]
    best = np.inf
    stack[0] = 0
    size = 1
    while size > 0:
        size -= 1
        node = stack[size]
        box = table.boxes[first + node]
        near, far = least, best
        for k in range(3):
            if direction[k] == 0.0:
                if not box[k] <= origin[k] <= box[3 + k]:
                    far = -np.inf
                continue
            one, other = (box[k] - origin[k]) / direction[k], (box[3 + k] - origin[k]) / direction[k]
            near, far = max(near, min(one, other)), min(far, max(one, other))
        if near > far:
            continue
        right = table.right[first + node]
        if right > 0:
            stack[size] = right
            stack[size + 1] = node + 1
            size += 2
            continue
        for row in range(table.node_begin[first + node], table.node_end[first + node]):
            f = table.order[table.first_triangle[s] + row]
            length = _hit(table, s, f, origin, direction)
            if least < length < best:
                best = length
    return best


@kernel_part
def _hit(table, s, f, origin, direction):
    """Return the distance along a ray to its intersection with a triangle, or inf [m]."""
    normal = vec(table.normals, table.first_triangle[s] + f)
    triangle = table.triangles[table.first_triangle[s] + f]
    first = table.first_vertex[s]
    along = dot(normal, direction)
    if along == 0.0:
        return np.inf
    length = dot(normal, sub(vec(table.vertices, first + triangle[0]), origin)) / along
    point = advanced(origin, length, direction)
    for side in range(3):
        corner = vec(table.vertices, first + triangle[side])
        edge = sub(vec(table.vertices, first + triangle[(side + 1) % 3]), corner)
        if dot(cross(edge, normal), sub(point, corner)) > table.tolerance[s] * norm(edge):
            return np.inf
    return length
