# SPDX-License-Identifier: GPL-3.0-or-later
"""Closest points of two segments, and the closest edges of two polyhedra (Ericson 2005, 5.1.9)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ...linalg.vec3 import add, advanced, dot, norm2, scaled, set_vec, sub, vec
from .hull_pair import EDGE_DATA, EDGE_START, EDGE_VECTOR

__all__ = ["EdgePoints", "closest_edge_points", "closest_edges", "midpoint_between", "segment_parameters", "vector_between"]

# Squared sines of the angle between two segments. Up to the first, the equations for the closest points count as singular.
# Up to the second, their solution has lost digits.
UNSOLVABLE = 1e-14
ILL_CONDITIONED = 1e-6
# Relative difference of squared distances up to which two pairs of edges are equally near.
SAME_PAIR = 1e-12


class EdgePoints(NamedTuple):
    """The point at parameter s in [0, 1] of an edge of a, the point at t of an edge of b, and their distance [m].

    The edges are -1 if there are none.
    """

    distance: float
    edge_a: int
    s: float
    edge_b: int
    t: float


@leaf_kernel
def clamped(value):
    """Clamp a value to [0, 1]."""
    return min(max(value, 0.0), 1.0)


@inlined_kernel
def segment_parameters(p, d, q, e):
    """Find the closest points p + s d and q + t e of two segments, which may be degenerate.

    Returns s and t in [0, 1], and the squared distance [m^2].
    """
    r = sub(p, q)
    dd, ee, de, dr, er = norm2(d), norm2(e), dot(d, e), dot(d, r), dot(e, r)
    determinant = dd * ee - de * de
    s = clamped((de * er - dr * ee) / determinant) if determinant > UNSOLVABLE * dd * ee else 0.0
    t = clamped((de * s + er) / ee) if ee > 0.0 else 0.0
    s = clamped((de * t - dr) / dd) if dd > 0.0 else 0.0
    squared = norm2(advanced(advanced(r, s, d), -t, e))
    if determinant <= ILL_CONDITIONED * dd * ee and dd > 0.0 and ee > 0.0:
        # The solutions at the ends keep their digits.
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
    """Find the closest points of two edges. Returns s, t and the squared distance [m^2], as `segment_parameters` does."""
    p, q = vec(pair.a.vertices, pair.a.edges[edge_a, 0]), vec(pair.b.vertices, pair.b.edges[edge_b, 0])
    d = sub(vec(pair.a.vertices, pair.a.edges[edge_a, 1]), p)
    e = sub(vec(pair.b.vertices, pair.b.edges[edge_b, 1]), q)
    return segment_parameters(p, d, q, e)


@inlined_kernel
def weighted_ends(body, edge, parameter):
    """Return the two terms of the point of an edge at a parameter."""
    start, end = vec(body.vertices, body.edges[edge, 0]), vec(body.vertices, body.edges[edge, 1])
    return scaled(1.0 - parameter, start), scaled(parameter, end)


@kernel_part
def midpoint_between(pair, points):
    """Return the midpoint of the two points of `EdgePoints` [m]."""
    p, q = weighted_ends(pair.a, points.edge_a, points.s)
    u, v = weighted_ends(pair.b, points.edge_b, points.t)
    return scaled(0.5, add(add(add(p, q), u), v))


@inlined_kernel
def vector_between(pair, points):
    """Return the vector from the point on the edge of a to the point on the edge of b [m]."""
    p, q = weighted_ends(pair.a, points.edge_a, points.s)
    u, v = weighted_ends(pair.b, points.edge_b, points.t)
    return sub(sub(add(u, v), p), q)


@inlined_kernel
def write_heights(body, axis, heights):
    """Write the components of the vertices along an axis, and return the largest [m]."""
    highest = -np.inf
    for i in range(len(body.vertices)):
        heights[i] = dot(axis, vec(body.vertices, i))
        highest = max(highest, heights[i])
    return highest


@leaf_kernel
def closest_edges(pair, limit, axis, separation):
    """Return the `EdgePoints` of the closest edges within the limit.

    axis: separates a from b with the given separation [m]; or zero, with separation 0, if no separating axis is known.
    """
    a, b, edges, heights = pair.a, pair.b, pair.work.edges, pair.work.heights
    # Depths are measured from the highest point of a and the lowest point of b along the axis.
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
            # In a tie the first pair is kept. The tolerance keeps rounding from deciding.
            if candidate < squared * (1.0 - SAME_PAIR) or (best_a < 0 and candidate <= squared):
                squared = candidate
                best_a, best_s = i, s
                best_b, best_t = int(edge[EDGE_DATA, 0]), t
                band = np.sqrt(squared) - separation
    return EdgePoints(np.sqrt(squared), best_a, best_s, best_b, best_t)
