# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact closest points where no face is closest: over pairs of edges, which have the vertices as their ends.

Two disjoint polyhedra are closest at a vertex over a face, which the face normals find, or at points of two edges. Edges too
far behind a separating axis to be closer than what is known already are left out, so that few pairs of edges are left.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, leaf_kernel

__all__ = ["closest_edges", "segment_parameters"]


@leaf_kernel
def clamped(value):
    return min(max(value, 0.0), 1.0)


@inlined_kernel
def segment_parameters(px, py, pz, dx, dy, dz, qx, qy, qz, ex, ey, ez):
    """Closest points p + s d and q + t e of two segments, of any length: (s in [0, 1], t in [0, 1], squared distance)."""
    rx, ry, rz = px - qx, py - qy, pz - qz
    dd = dx * dx + dy * dy + dz * dz
    ee = ex * ex + ey * ey + ez * ez
    de = dx * ex + dy * ey + dz * ez
    dr = dx * rx + dy * ry + dz * rz
    er = ex * rx + ey * ry + ez * rz
    determinant = dd * ee - de * de
    s = clamped((de * er - dr * ee) / determinant) if determinant > 1e-14 * dd * ee else 0.0
    t = clamped((de * s + er) / ee) if ee > 0.0 else 0.0
    s = clamped((de * t - dr) / dd) if dd > 0.0 else 0.0
    x, y, z = rx + s * dx - t * ex, ry + s * dy - t * ey, rz + s * dz - t * ez
    squared = x * x + y * y + z * z
    if determinant <= 1e-6 * dd * ee and dd > 0.0 and ee > 0.0:
        # Nearly parallel: the determinant has lost its digits, the ends have not.
        for end in range(4):
            if end < 2:
                other_s = float(end)
                other_t = clamped((de * other_s + er) / ee)
            else:
                other_t = float(end - 2)
                other_s = clamped((de * other_t - dr) / dd)
            x, y, z = rx + other_s * dx - other_t * ex, ry + other_s * dy - other_t * ey, rz + other_s * dz - other_t * ez
            other = x * x + y * y + z * z
            if other < squared:
                s, t, squared = other_s, other_t, other
    return s, t, squared


@leaf_kernel
def closest_edges(a, b, limit, x, y, z, separation, work, heights):
    """Closest points of the edges of a and b: (distance, edge of a, s, edge of b, t); edges are -1 beyond the limit.

    (x, y, z) is a separating axis from a to b with its separation, or zero with separation 0 when none is known.
    work: (>= edges of b, 8). heights: (>= vertices of either,).
    """
    for i in range(len(b.vertices)):
        heights[i] = x * b.vertices[i, 0] + y * b.vertices[i, 1] + z * b.vertices[i, 2]
    # The highest of a and the lowest of b along the axis; depths are measured back from there.
    top = -np.inf
    for i in range(len(a.vertices)):
        top = max(top, x * a.vertices[i, 0] + y * a.vertices[i, 1] + z * a.vertices[i, 2])
    bottom = top + separation
    band = limit - separation
    count = 0
    least = np.inf
    for j in range(len(b.edges)):
        p = b.edges[j, 0]
        q = b.edges[j, 1]
        depth = min(heights[p], heights[q]) - bottom
        if depth > band:
            continue
        for k in range(3):
            work[count, k] = b.vertices[p, k]
            work[count, 3 + k] = b.vertices[q, k] - b.vertices[p, k]
        work[count, 6] = depth
        least = min(least, depth)
        work[count, 7] = j
        count += 1

    for i in range(len(a.vertices)):
        heights[i] = x * a.vertices[i, 0] + y * a.vertices[i, 1] + z * a.vertices[i, 2]
    squared = limit * limit
    best_a = -1
    best_b = -1
    best_s = best_t = 0.0
    for i in range(len(a.edges)):
        p = a.edges[i, 0]
        q = a.edges[i, 1]
        px, py, pz = a.vertices[p, 0], a.vertices[p, 1], a.vertices[p, 2]
        qx, qy, qz = a.vertices[q, 0], a.vertices[q, 1], a.vertices[q, 2]
        depth = top - max(heights[p], heights[q])
        if depth + least > band:
            continue
        for row in range(count):
            if depth + work[row, 6] > band:
                continue
            s, t, candidate = segment_parameters(
                px,
                py,
                pz,
                qx - px,
                qy - py,
                qz - pz,
                work[row, 0],
                work[row, 1],
                work[row, 2],
                work[row, 3],
                work[row, 4],
                work[row, 5],
            )
            # A tie goes to the first pair, and rounding must not decide what a tie is.
            if candidate < squared * (1.0 - 1e-12) or (best_a < 0 and candidate <= squared):
                squared = candidate
                best_a, best_s = i, s
                best_b, best_t = int(work[row, 7]), t
                band = np.sqrt(squared) - separation
    return np.sqrt(squared), best_a, best_s, best_b, best_t
