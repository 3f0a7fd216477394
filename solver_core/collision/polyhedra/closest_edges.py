# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact closest points where no face is closest: over pairs of edges, which have the vertices as their ends.

Two disjoint polyhedra are closest at a vertex over a face, which the face normals find, or at points of two edges. Edges too
far behind a separating axis to be closer than what is known already are left out, so that few pairs of edges are left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ...linalg.vec3 import add, advanced, dot, norm2, scaled, set_vec, sub, vec
from .hull_pair import EDGE_DATA, EDGE_START, EDGE_VECTOR

__all__ = ["EdgePoints", "closest_edge_points", "closest_edges", "midpoint_between", "segment_parameters", "vector_between"]

# Squared sines of two segments: up to the first the equations for their closest points have no solution, up to the second one
# that has lost its digits.
UNSOLVABLE = 1e-14
ILL_CONDITIONED = 1e-6
# Relative: two pairs of edges are equally near.
SAME_PAIR = 1e-12


class EdgePoints(NamedTuple):
    """The points at s in [0, 1] of an edge of a and at t of one of b, and their distance in m; edges are -1 for none."""

    distance: float
    edge_a: int
    s: float
    edge_b: int
    t: float


@leaf_kernel
def clamped(value):
    """To between 0 and 1."""
    return min(max(value, 0.0), 1.0)


@inlined_kernel
def segment_parameters(p, d, q, e):
    """Closest points p + s d and q + t e of two segments, of any length: (s in [0, 1], t in [0, 1], squared distance)."""
    r = sub(p, q)
    dd, ee, de, dr, er = norm2(d), norm2(e), dot(d, e), dot(d, r), dot(e, r)
    determinant = dd * ee - de * de
    s = clamped((de * er - dr * ee) / determinant) if determinant > UNSOLVABLE * dd * ee else 0.0
    t = clamped((de * s + er) / ee) if ee > 0.0 else 0.0
    s = clamped((de * t - dr) / dd) if dd > 0.0 else 0.0
    squared = norm2(advanced(advanced(r, s, d), -t, e))
    if determinant <= ILL_CONDITIONED * dd * ee and dd > 0.0 and ee > 0.0:
        # The ends have not.
        for end in range(4):
            if end < 2:
                other_s = float(end)
                other_t = clamped((de * other_s + er) / ee)
            else:
                other_t = float(end - 2)
                other_s = clamped((de * other_t - dr) / dd)
            other = norm2(advanced(advanced(r, other_s, d), -other_t, e))
            if other < squared:
                s, t, squared = other_s, other_t, other
    return s, t, squared


@inlined_kernel
def closest_edge_points(pair, edge_a, edge_b):
    """The closest points of two edges: (s, t, squared distance)."""
    p, q = vec(pair.a.vertices, pair.a.edges[edge_a, 0]), vec(pair.b.vertices, pair.b.edges[edge_b, 0])
    d = sub(vec(pair.a.vertices, pair.a.edges[edge_a, 1]), p)
    e = sub(vec(pair.b.vertices, pair.b.edges[edge_b, 1]), q)
    return segment_parameters(p, d, q, e)


@inlined_kernel
def weighted_ends(body, edge, parameter):
    """The two terms of the point of an edge at a parameter."""
    start, end = vec(body.vertices, body.edges[edge, 0]), vec(body.vertices, body.edges[edge, 1])
    return scaled(1.0 - parameter, start), scaled(parameter, end)


@kernel_part
def midpoint_between(pair, points):
    """Midpoint of two points of edges."""
    p, q = weighted_ends(pair.a, points.edge_a, points.s)
    u, v = weighted_ends(pair.b, points.edge_b, points.t)
    return scaled(0.5, add(add(add(p, q), u), v))


@inlined_kernel
def vector_between(pair, points):
    """The way from the point of a's edge to that of b's."""
    p, q = weighted_ends(pair.a, points.edge_a, points.s)
    u, v = weighted_ends(pair.b, points.edge_b, points.t)
    return sub(sub(add(u, v), p), q)


@inlined_kernel
def write_heights(body, axis, heights):
    """Writes the components of the vertices along an axis, and returns the highest one."""
    highest = -np.inf
    for i in range(len(body.vertices)):
        heights[i] = dot(axis, vec(body.vertices, i))
        highest = max(highest, heights[i])
    return highest


@leaf_kernel
def closest_edges(pair, limit, axis, separation):
    """The `EdgePoints` of the edges that are closest, none beyond the limit.

    axis: one that separates a from b with its separation, or zero with separation 0 when none is known.
    """
    a, b, edges, heights = pair.a, pair.b, pair.work.edges, pair.work.heights
    # The highest of a and the lowest of b along the axis; depths are measured back from there.
    top = write_heights(a, axis, heights)
    bottom = top + separation
    band = limit - separation
    write_heights(b, axis, heights)
    count = 0
    least = np.inf
    for j in range(len(b.edges)):
        depth = min(heights[b.edges[j, 0]], heights[b.edges[j, 1]]) - bottom
        if depth > band:
            continue
        start = vec(b.vertices, b.edges[j, 0])
        set_vec(edges[count], EDGE_START, start)
        set_vec(edges[count], EDGE_VECTOR, sub(vec(b.vertices, b.edges[j, 1]), start))
        edges[count, EDGE_DATA, 0], edges[count, EDGE_DATA, 1] = j, depth
        least = min(least, depth)
        count += 1

    write_heights(a, axis, heights)
    squared = limit * limit
    best_a = -1
    best_b = -1
    best_s = best_t = 0.0
    for i in range(len(a.edges)):
        depth = top - max(heights[a.edges[i, 0]], heights[a.edges[i, 1]])
        if depth + least > band:
            continue
        start = vec(a.vertices, a.edges[i, 0])
        direction = sub(vec(a.vertices, a.edges[i, 1]), start)
        for slot in range(count):
            edge = edges[slot]
            if depth + edge[EDGE_DATA, 1] > band:
                continue
            s, t, candidate = segment_parameters(start, direction, vec(edge, EDGE_START), vec(edge, EDGE_VECTOR))
            # A tie goes to the first pair, and rounding must not decide what a tie is.
            if candidate < squared * (1.0 - SAME_PAIR) or (best_a < 0 and candidate <= squared):
                squared = candidate
                best_a, best_s = i, s
                best_b, best_t = int(edge[EDGE_DATA, 0]), t
                band = np.sqrt(squared) - separation
    return EdgePoints(np.sqrt(squared), best_a, best_s, best_b, best_t)
