# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels for the faces of a convex hull: groups of coplanar triangles, their boundaries, and the support of each face."""

from __future__ import annotations

import numpy as np

from ..compile.kernel import inlined_kernel, kernel

__all__ = ["above_any", "boundary_loops", "coplanar_groups", "heights_by_climbing"]


@inlined_kernel
def _height(points, i, origin, normal):
    """The height of points[i] over the plane through `origin` with the given normal."""
    x, y, z = points[i, 0] - origin[0], points[i, 1] - origin[1], points[i, 2] - origin[2]
    return x * normal[0] + y * normal[1] + z * normal[2]


@inlined_kernel
def _is_coplanar(points, triangles, normals, is_sliver, other, origin, normal, tolerance):
    """Return True if triangle `other` is within a tolerance [m] of the plane through `origin`, and does not face the other
    way.
    """
    for k in range(3):
        if not abs(_height(points, triangles[other, k], origin, normal)) <= tolerance:
            return False
    x, y, z = normals[other, 0], normals[other, 1], normals[other, 2]
    return is_sliver[other] or x * normal[0] + y * normal[1] + z * normal[2] > 0.0


@kernel
def above_any(points, origins, normals, tolerance):
    """Return whether each point is more than a tolerance above at least one of the planes (n,).

    points: (n, 3) [m]. origins: (f, 3) a point of each plane [m]. normals: (f, 3) unit vectors. tolerance: [m].
    """
    is_above = np.zeros(len(points), dtype=np.bool_)
    for i in range(len(points)):
        for j in range(len(origins)):
            if _height(points, i, origins[j], normals[j]) > tolerance:
                is_above[i] = True
                break
    return is_above


@kernel
def coplanar_groups(points, triangles, neighbours, normals, is_sliver, order, tolerance):
    """Return the group of coplanar triangles of each triangle (t,), as the index of the group's first triangle.

    Triangles are visited in the given order. The first one without a group starts a new group, which grows over shared edges by
    each triangle that is coplanar with it.

    points: (n, 3) [m]. triangles: (t, 3) corners. neighbours: (t, 3) triangles across the three edges.
    normals: (t, 4) cross products of two edges [m^2], and their lengths. is_sliver: (t,) True if the normal is rounding.
    order: (t,) permutation of the triangles. tolerance: [m].
    """
    count = len(triangles)
    group = np.full(count, -1, dtype=np.int64)
    seen_by = np.full(count, -1, dtype=np.int64)
    stack = np.empty(count, dtype=np.int64)
    normal = np.empty(3)
    for seed in order:
        if group[seed] >= 0:
            continue
        group[seed] = seed
        if normals[seed, 3] <= 0.0:
            continue
        for k in range(3):
            normal[k] = normals[seed, k] / normals[seed, 3]
        origin = points[triangles[seed, 0]]
        seen_by[seed] = seed
        stack[0] = seed
        top = 1
        while top:
            top -= 1
            current = stack[top]
            if current != seed:
                if group[current] >= 0:
                    continue
                group[current] = seed
            for k in range(3):
                other = neighbours[current, k]
                if seen_by[other] != seed:
                    seen_by[other] = seed
                    if _is_coplanar(points, triangles, normals, is_sliver, other, origin, normal, tolerance):
                        stack[top] = other
                        top += 1
    return group


@kernel
def boundary_loops(following, first):
    """Return the edges of each group in the order of its boundary, as a permutation (e,).

    The result is empty if a boundary is not one simple loop.

    following: (e,) for each boundary edge, the edge that starts at its end, or -1. Edges of one group are consecutive.
    first: (g + 1,) first edge of each group, and the number of edges.
    """
    ordered = np.empty(len(following), dtype=np.int64)
    for g in range(len(first) - 1):
        edge = first[g]
        if edge == first[g + 1]:
            return ordered[:0]
        for place in range(first[g], first[g + 1]):
            # the loop must neither leave its group nor close before it has all edges
            if edge < first[g] or edge >= first[g + 1] or (edge == first[g] and place > first[g]):
                return ordered[:0]
            ordered[place] = edge
            edge = following[edge]
        if edge != first[g]:
            return ordered[:0]
    return ordered


@kernel
def heights_by_climbing(points, begin, neighbours, starts, normals):
    """Return the support (f,) of a convex polyhedron along each direction [m].

    The search moves from a corner to its highest neighbor until no neighbor is higher. On a convex polyhedron a local maximum
    is the global one, up to rounding.

    points: (n, 3) [m]. begin: (n + 1,), neighbours: those of corner i are neighbours[begin[i]:begin[i + 1]].
    starts: (f,) first corner of each search. normals: (f, 3) unit vectors.
    """
    heights = np.empty(len(starts))
    for i in range(len(starts)):
        corner = starts[i]
        x, y, z = normals[i, 0], normals[i, 1], normals[i, 2]
        height = points[corner, 0] * x + points[corner, 1] * y + points[corner, 2] * z
        while True:
            top, highest = height, corner
            for k in range(begin[corner], begin[corner + 1]):
                other = neighbours[k]
                there = points[other, 0] * x + points[other, 1] * y + points[other, 2] * z
                if there > top:
                    top, highest = there, other
            if highest == corner:
                break
            height, corner = top, highest
        heights[i] = height
    return heights
