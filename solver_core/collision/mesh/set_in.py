# SPDX-License-Identifier: GPL-3.0-or-later
"""Inset surfaces: contacts of solids that touch or barely overlap at coincident features.

Coincident surfaces intersect along curves that rounding breaks or that enclose no area, or do not intersect at all. As for
hulls (`polyhedra/several_axes.py`) the normal is that of rounded edges. Each surface moves inward by half a margin, so
coincident features have one closest direction, the center of the wedge of normals, which is invariant under reflection. The
contacts are those of the inset surfaces, with points and gaps corrected to the original surfaces.

A vertex moves by the offset o that minimizes the sum of w (n . o + 1)^2 over the normals n of its triangles, weighted by their
angles w. So all faces at an edge or a corner move by the same distance, independently of the triangulation.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inner_kernel, kernel_part, leaf_kernel
from ...linalg.elementary import arctangent
from ...linalg.vec3 import cross, divided, dot, norm, norm2, scaled, sub, vec
from ..polyhedra.several_axes import AXIS_MARGIN, MAX_DEPTH_RATIO
from .queries import own_view

__all__ = ["MARGIN_GROWTH", "MAX_MARGIN_RATIO", "inset_vertices"]

# Relative to the size of the smaller body: the largest margin.
MAX_MARGIN_RATIO = AXIS_MARGIN + 2.0 * MAX_DEPTH_RATIO
# Factor by which the margin grows while the inset surfaces still intersect.
MARGIN_GROWTH = 14.0
# Relative to the sum of the weights of a vertex: makes the offset unique on a flat patch.
REGULARIZATION = 1e-4
# Relative to the shortest edge of a vertex and to half the thickness of the solid behind it: the largest offset.
MAX_INSET_FRACTION = 0.25


@leaf_kernel
def mark_vertices(view, seeds, marked):
    """Mark the corners of triangles (k,) with 2, and the other vertices of all triangles at these corners with 1."""
    for f in seeds:
        for k in range(3):
            marked[view.triangles[f, k]] = 2
    for f in range(len(view.triangles)):
        i, j, k = view.triangles[f]
        if max(marked[i], marked[j], marked[k]) == 2:
            marked[i], marked[j], marked[k] = max(marked[i], 1), max(marked[j], 1), max(marked[k], 1)


@kernel_part
def add_around(view, marked, sums):
    """Add the normal equations of the triangles at each marked vertex to sums (v, 10): w n n^T (six entries), w n, and w."""
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
    """Return the offset of a vertex that moves its faces inward by one unit. row: (10,) sums of the vertex."""
    regularization = REGULARIZATION * row[9]
    x = row[0] + regularization, row[1], row[2]
    y = row[1], row[3] + regularization, row[4]
    z = row[2], row[4], row[5] + regularization
    yz, zx, xy = cross(y, z), cross(z, x), cross(x, y)
    volume = dot(x, yz)
    m = row[6], row[7], row[8]
    # The rows of the adjugate of a symmetric matrix.
    offset = dot(yz, m), dot(zx, m), dot(xy, m)
    return divided(offset, -volume)


@kernel_part
def may_inset(view, v, square):
    """Return True if a vertex may move by a distance without self-intersection. square: squared distance [m^2]."""
    if square > (MAX_INSET_FRACTION * view.depth[v]) ** 2 and view.depth[v] > 0.0:
        return False
    point = vec(view.vertices, v)
    shortest = np.inf
    for slot in range(view.ring_start[v], view.ring_start[v + 1]):
        shortest = min(shortest, norm2(sub(vec(view.vertices, view.ring[slot]), point)))
    return square <= MAX_INSET_FRACTION * MAX_INSET_FRACTION * shortest


@leaf_kernel
def write_inset(table, s, seeds, distance, marked, sums, out):
    """Write the inset vertices of surface s to out (v, 3) [m], in its own frame, and return True if all of them may move that
    far.
    """
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
    """Move the vertices of surface s near the triangles `seeds` (k,) inward by a distance [m].

    Returns True if all of them may move that far, and the vertices (v, 3) [m] in the frame of the surface.
    """
    count = table.first_vertex[s + 1] - table.first_vertex[s]
    out = np.empty((count, 3))
    marked, sums = np.zeros(count, np.int64), np.zeros((count, 10))
    return write_inset(table, s, seeds, distance, marked, sums, out), out
