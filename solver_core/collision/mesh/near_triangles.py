# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of triangles of two surfaces that are near each other, by a simultaneous traversal of both bounding volume hierarchies.

The bounds of the second surface's nodes and triangles in the frame of the first are computed when the traversal first needs
them. Most of them are needed many times, and each use then compares six numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, inlined_kernel, inner_kernel, kernel_part, leaf_kernel
from ...geometry.surface_table import LEAF
from ...linalg.vec3 import vec
from .mesh_pair import direction_to_pair, pair_of
from .queries import box_extent, triangle_corners
from .within_reach import heights_of, planes_separate

__all__ = ["nearby_pairs", "pairs_within"]

NONE_YET = np.int64(0)
# Length of the stack at the start of a traversal: the two roots.
ROOTS = np.int64(2)


class Bounds(NamedTuple):
    """Lower and upper corners in the frame of the first surface [m].

    nodes: (n, 6) of the second surface's nodes. triangles: (t, 6) of its triangles, in the order of its tree.
    found: (n,) True if the bounds of a node, and for a leaf those of its triangles, are known.
    """

    nodes: NDArray[np.float64]
    triangles: NDArray[np.float64]
    found: NDArray[np.bool_]


@inlined_kernel
def write_triangle_bounds(vertices, triangle, box):
    """Write the bounds of a triangle to box (6,)."""
    for k in range(3):
        p, q, r = vertices[triangle[0], k], vertices[triangle[1], k], vertices[triangle[2], k]
        box[k], box[3 + k] = min(p, q, r), max(p, q, r)


@leaf_kernel
def write_node_bounds(pair, bounds, node):
    """Write the bounds of a node of the second surface, and for a leaf those of its triangles."""
    b, turn, shift = pair.second, pair.query.turn, pair.query.shift
    box = bounds.nodes[node]
    for i in range(3):
        middle, half = shift[i], 0.0
        for k in range(3):
            middle += 0.5 * turn[i, k] * (b.boxes[node, k] + b.boxes[node, 3 + k])
            half += 0.5 * abs(turn[i, k]) * (b.boxes[node, 3 + k] - b.boxes[node, k])
        box[i], box[3 + i] = middle - half, middle + half
    if b.right[node] == 0:
        for place in range(b.node_begin[node], b.node_end[node]):
            write_triangle_bounds(pair.query.vertices_second, b.triangles[b.order[place]], bounds.triangles[place])
    bounds.found[node] = True


@inlined_kernel
def bounds_apart(one, other, limit):
    """Return True if two boxes (6,) are farther apart along an axis than a limit [m]."""
    return (
        one[0] > other[3] + limit
        or one[3] < other[0] - limit
        or one[1] > other[4] + limit
        or one[4] < other[1] - limit
        or one[2] > other[5] + limit
        or one[5] < other[2] - limit
    )


@leaf_kernel
def traverse(table, query, bounds, box, size, rows, count):
    """Continue a traversal from the pairs of nodes on the stack, and write pairs of triangles whose boxes are within the limit.

    The traversal stops if `rows` may be too small for two more leaves. The node to open is chosen by the trees alone, so the
    order of the pairs does not depend on the poses.

    box: (6,) work array. size: length of the stack. rows: (m, 2) output, filled from row `count` on.

    Returns the new length of the stack and the new count.
    """
    pair, stack = pair_of(table, query), query.stack
    a, b, limit = pair.first, pair.second, query.limit
    while size > 0 and count + LEAF * LEAF <= len(rows):
        size -= 2
        node, other = stack[size], stack[size + 1]
        if not bounds.found[other]:
            write_node_bounds(pair, bounds, other)
        if bounds_apart(bounds.nodes[other], a.boxes[node], limit):
            continue
        right, other_right = a.right[node], b.right[other]
        if right > 0 and (other_right == 0 or box_extent(a.boxes[node]) >= box_extent(b.boxes[other])):
            stack[size], stack[size + 1] = right, other
            stack[size + 2], stack[size + 3] = node + 1, other
            size += 4
        elif other_right > 0:
            stack[size], stack[size + 1] = node, other_right
            stack[size + 2], stack[size + 3] = node, other + 1
            size += 4
        else:
            for row in range(a.node_begin[node], a.node_end[node]):
                f = a.order[row]
                write_triangle_bounds(a.vertices, a.triangles[f], box)
                if bounds_apart(box, bounds.nodes[other], limit):
                    continue
                for place in range(b.node_begin[other], b.node_end[other]):
                    if not bounds_apart(box, bounds.triangles[place], limit):
                        rows[count, 0], rows[count, 1] = f, b.order[place]
                        count += 1
    return size, count


@kernel_part
def nearby_pairs(table, query):
    """Return the pairs (k, 2) of triangles whose boxes are within the limit of the query."""
    t = query.second
    nodes, triangles = table.first_node[t + 1] - table.first_node[t], table.first_triangle[t + 1] - table.first_triangle[t]
    bounds, box = Bounds(np.empty((nodes, 6)), np.empty((triangles, 6)), np.zeros(nodes, np.bool_)), np.empty(6)
    rows = np.empty((256, 2), np.int64)
    query.stack[0], query.stack[1] = 0, 0
    size, count = traverse(table, query, bounds, box, ROOTS, rows, NONE_YET)
    while size > 0:
        larger = np.empty((4 * len(rows), 2), np.int64)
        larger[:count] = rows[:count]
        rows = larger
        size, count = traverse(table, query, bounds, box, size, rows, count)
    return rows[:count]


@leaf_kernel
def write_pairs_within(table, query, limit, rows, out):
    """Write the pairs of `pairs_within` to out (k, 2), and return their number."""
    pair = pair_of(table, query)
    a, b, count = pair.first, pair.second, 0
    for row in range(len(rows)):
        f, g = rows[row, 0], rows[row, 1]
        p, q = triangle_corners(a.vertices, a.triangles[f]), triangle_corners(query.vertices_second, b.triangles[g])
        over_f = heights_of(q, vec(a.normals, f), p[0])
        over_g = heights_of(p, direction_to_pair(pair, FALSE, b.normals[g]), q[0])
        if not planes_separate(over_f, over_g, limit):
            out[count, 0], out[count, 1] = f, g
            count += 1
    return count


@inner_kernel
def pairs_within(table, query, limit, rows):
    """Return the pairs (k, 2) without those whose planes prove that all their features are farther apart than a limit [m]."""
    out = np.empty((len(rows), 2), np.int64)
    return out[: write_pairs_within(table, query, limit, rows, out)]
