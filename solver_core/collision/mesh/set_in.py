# SPDX-License-Identifier: GPL-3.0-or-later
"""Solids that touch or hardly overlap, told by their surfaces set in: where edges, vertices or faces coincide.

Surfaces that coincide cross along curves that rounding tears, or that enclose nothing, or nowhere. As between hulls
(`polyhedra/several_axes.py`) the normal is that of rounded edges: faces are set in by a margin, half of it in each solid, and
features that were on each other have one closest direction, the middle of the wedge, that of a mirror image too. The contacts
are those of the surfaces set in, with points and gaps of the surfaces as they are.

A vertex is moved by the o with the least sum of w (n . o + 1)^2 over the normals n of the triangles around it, weighted by
their angles w: each face of an edge or a corner is set in by the same, and how faces are cut into triangles does not count.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inner_kernel, kernel_part, leaf_kernel
from ...linalg.elementary import arctangent
from ...linalg.vec3 import cross, divided, dot, norm, norm2, scaled, sub, vec
from ..polyhedra.several_axes import AXIS_MARGIN, MAX_DEPTH_RATIO
from .queries import own_view

__all__ = ["MARGIN_GROWTH", "MAX_MARGIN_RATIO", "inset_vertices"]

# Of the smaller body's size: the largest margin; and by how many times a margin grows while surfaces still cross.
MAX_MARGIN_RATIO = AXIS_MARGIN + 2.0 * MAX_DEPTH_RATIO
MARGIN_GROWTH = 14.0
# Of all the weights around a vertex: what keeps the direction of a flat part from being any.
REGULARIZATION = 1e-4
# Of the shortest edge at a vertex, and of half the thickness behind it: no farther may it be moved.
MAX_INSET_FRACTION = 0.25


@leaf_kernel
def mark_vertices(view, seeds, marked):
    """Marks the corners of triangles (k,) with 2, and with 1 all others of the triangles around these corners."""
    for f in seeds:
        for k in range(3):
            marked[view.triangles[f, k]] = 2
    for f in range(len(view.triangles)):
        i, j, k = view.triangles[f]
        if max(marked[i], marked[j], marked[k]) == 2:
            marked[i], marked[j], marked[k] = max(marked[i], 1), max(marked[j], 1), max(marked[k], 1)


@kernel_part
def add_around(view, marked, sums):
    """Adds to sums (v, 10) of marked vertices what the triangles around them have: w n n^T, six numbers, w n and w."""
    for f in range(len(view.triangles)):
        n = vec(view.normals, f)
        for corner in range(3):
            v = view.triangles[f, corner]
            if marked[v] == 0:
                continue
            i = view.triangles[f, corner + 1 if corner < 2 else 0]
            k = view.triangles[f, corner - 1 if corner > 0 else 2]
            p = vec(view.vertices, v)
            e, o = sub(vec(view.vertices, i), p), sub(vec(view.vertices, k), p)
            w = arctangent(norm(cross(e, o)), dot(e, o))
            row = sums[v]
            row[0] += w * n[0] * n[0]
            row[1] += w * n[0] * n[1]
            row[2] += w * n[0] * n[2]
            row[3] += w * n[1] * n[1]
            row[4] += w * n[1] * n[2]
            row[5] += w * n[2] * n[2]
            row[6] += w * n[0]
            row[7] += w * n[1]
            row[8] += w * n[2]
            row[9] += w


@leaf_kernel
def inset_direction(row):
    """The way of a vertex that sets the faces around it in by one, of its sums."""
    regularization = REGULARIZATION * row[9]
    x = row[0] + regularization, row[1], row[2]
    y = row[1], row[3] + regularization, row[4]
    z = row[2], row[4], row[5] + regularization
    yz, zx, xy = cross(y, z), cross(z, x), cross(x, y)
    volume = dot(x, yz)
    m = row[6], row[7], row[8]
    # the inverse of a symmetric matrix has these three as its rows
    offset = dot(yz, m), dot(zx, m), dot(xy, m)
    return divided(offset, -volume)


@kernel_part
def may_inset(view, v, square):
    """Whether a vertex may be moved by a distance, whose square is given, without the surface meeting itself."""
    if square > (MAX_INSET_FRACTION * view.depth[v]) ** 2 and view.depth[v] > 0.0:
        return False
    point = vec(view.vertices, v)
    shortest = np.inf
    for slot in range(view.ring_start[v], view.ring_start[v + 1]):
        shortest = min(shortest, norm2(sub(vec(view.vertices, view.ring[slot]), point)))
    return square <= MAX_INSET_FRACTION * MAX_INSET_FRACTION * shortest


@leaf_kernel
def write_inset(table, s, seeds, distance, marked, sums, out):
    """Writes the vertices that are set in into out (v, 3), in the surface's axes: whether they all may be."""
    view = own_view(table, s)
    mark_vertices(view, seeds, marked)
    add_around(view, marked, sums)
    allowed = True
    for v in range(len(view.vertices)):
        offset = scaled(0.0, vec(view.vertices, v))
        if marked[v] > 0 and sums[v, 9] > 0.0:
            offset = scaled(distance, inset_direction(sums[v]))
            allowed = allowed and may_inset(view, v, norm2(offset))
        for k in range(3):
            out[v, k] = view.vertices[v, k] + offset[k]
    return allowed


@inner_kernel
def inset_vertices(table, s, seeds, distance):
    """Whether surface s can be set in around its triangles `near` (k,) by a distance in m, and its vertices (v, 3) then, in its
    own axes."""
    count = table.first_vertex[s + 1] - table.first_vertex[s]
    out = np.empty((count, 3))
    marked, sums = np.zeros(count, np.int64), np.zeros((count, 10))
    return write_inset(table, s, seeds, distance, marked, sums, out), out
