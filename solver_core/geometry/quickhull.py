# SPDX-License-Identifier: GPL-3.0-or-later
"""Convex hulls of many points in space by Quickhull, as a kernel.

C. B. Barber, D. P. Dobkin and H. Huhdanpaa (1996), The Quickhull Algorithm for Convex Hulls, ACM Transactions on Mathematical
Software 22(4), 469-483.

A point that lies above a triangle belongs to that triangle. The farthest point of a triangle becomes a corner: it replaces the
triangles that it sees by a fan from their outline, and their points are handed to the fan. Heights are rounded, so the kernel
checks that the outline is one loop and gives up where it is not. The caller moves the points apart by a random distance,
which leaves no four of them in a plane.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, kernel

__all__ = ["hull_triangles"]

END_OF_LIST = -1  # in place of a point

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Surface(NamedTuple):
    """The triangles so far, in rows that are used again.

    corners: (t, 3) counter-clockwise seen from outside. across: (t, 3) the triangle across the edge that starts at the same
    corner. planes: (t, 4) outward unit normals and offsets. is_there: (t,) whether the row is a triangle of the hull.
    """

    corners: Indices
    across: Indices
    planes: Array
    is_there: NDArray[np.bool_]


class PointsAbove(NamedTuple):
    """The points that are not in the hull yet, as a list for each triangle.

    first: (t,) the first point above a triangle, or END_OF_LIST. after: (n,) the next point of the same list, or END_OF_LIST.
    farthest and heights: (t,) the highest point over a triangle, and its height.
    """

    first: Indices
    after: Indices
    farthest: Indices
    heights: Array


class Outline(NamedTuple):
    """The edges around the triangles that a point sees.

    begins, ends: (e,) where each edge begins and ends. beyond: (e,) the triangle on its other side. fan: (e,) the new triangle
    on it. edge_from: (n,) the edge that begins at a corner. edge_of: (n,) the point that saw it.
    """

    begins: Indices
    ends: Indices
    beyond: Indices
    fan: Indices
    edge_from: Indices
    edge_of: Indices


class Rows(NamedTuple):
    """A stack of rows of the surface. rows: (t,). height: (1,) how many there are. is_in: (t,) whether a row is among them."""

    rows: Indices
    height: Indices
    is_in: NDArray[np.bool_]


@inlined_kernel
def _push(stack, row):
    """Put a row on a stack, unless it is there."""
    if not stack.is_in[row]:
        stack.rows[stack.height[0]], stack.is_in[row] = row, True
        stack.height[0] += 1


@inlined_kernel
def _pop(stack):
    """Take the last row from a stack."""
    stack.height[0] -= 1
    row = stack.rows[stack.height[0]]
    stack.is_in[row] = False
    return row


@inlined_kernel
def _above(points, i, planes, triangle):
    """The height of points[i] over the plane of a triangle."""
    along = points[i, 0] * planes[triangle, 0] + points[i, 1] * planes[triangle, 1] + points[i, 2] * planes[triangle, 2]
    return along - planes[triangle, 3]


@inlined_kernel
def _set_triangle(points, surface, triangle, a, b, c):
    """Write a triangle and its plane; returns whether it has a normal."""
    ux, uy, uz = points[b, 0] - points[a, 0], points[b, 1] - points[a, 1], points[b, 2] - points[a, 2]
    vx, vy, vz = points[c, 0] - points[a, 0], points[c, 1] - points[a, 1], points[c, 2] - points[a, 2]
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    length = np.sqrt(x * x + y * y + z * z)
    if not length > 0.0:
        return False
    corners, plane = surface.corners[triangle], surface.planes[triangle]
    corners[0], corners[1], corners[2] = a, b, c
    plane[0], plane[1], plane[2] = x / length, y / length, z / length
    plane[3] = points[a, 0] * plane[0] + points[a, 1] * plane[1] + points[a, 2] * plane[2]
    surface.is_there[triangle] = True
    return True


@inlined_kernel
def _first_corners(points):
    """Four corners of a large tetrahedron, the fourth below the triangle of the others."""
    a = b = c = d = 0
    for i in range(len(points)):
        if points[i, 0] < points[a, 0]:
            a = i
        if points[i, 0] > points[b, 0]:
            b = i
    ux, uy, uz = points[b, 0] - points[a, 0], points[b, 1] - points[a, 1], points[b, 2] - points[a, 2]
    most = -1.0
    nx = ny = nz = 0.0
    for i in range(len(points)):
        vx, vy, vz = points[i, 0] - points[a, 0], points[i, 1] - points[a, 1], points[i, 2] - points[a, 2]
        x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        if x * x + y * y + z * z > most:
            most, c, nx, ny, nz = x * x + y * y + z * z, i, x, y, z
    most, height = -1.0, 0.0
    for i in range(len(points)):
        x, y, z = points[i, 0] - points[a, 0], points[i, 1] - points[a, 1], points[i, 2] - points[a, 2]
        along = x * nx + y * ny + z * nz
        if abs(along) > most:
            most, d, height = abs(along), i, along
    return (a, b, c, d) if height < 0.0 else (a, c, b, d)


@inlined_kernel
def _begin(points, surface, rounding):
    """Make the surface a tetrahedron; returns whether it has a height, and its triangles normals."""
    a, b, c, d = _first_corners(points)
    is_sound = _set_triangle(points, surface, 0, a, b, c) and _set_triangle(points, surface, 1, a, d, b)
    is_sound = is_sound and _set_triangle(points, surface, 2, b, d, c) and _set_triangle(points, surface, 3, c, d, a)
    is_sound = is_sound and _above(points, d, surface.planes, 0) < -rounding
    across = surface.across
    across[0, 0], across[0, 1], across[0, 2] = 1, 2, 3
    across[1, 0], across[1, 1], across[1, 2] = 3, 2, 0
    across[2, 0], across[2, 1], across[2, 2] = 1, 3, 0
    across[3, 0], across[3, 1], across[3, 2] = 2, 1, 0
    return is_sound


@inlined_kernel
def _give(points, point, triangles, surface, above, rounding):
    """Put a point on the list of the first of the triangles that it is above; a point above no triangle is inside."""
    for triangle in triangles:
        height = _above(points, point, surface.planes, triangle)
        if height > rounding:
            if above.first[triangle] == END_OF_LIST or height > above.heights[triangle]:
                above.farthest[triangle], above.heights[triangle] = point, height
            above.after[point], above.first[triangle] = above.first[triangle], point
            return


@inlined_kernel
def _look(points, corner, surface, outline, seen, rounding):
    """Collect the triangles that a corner sees, beyond the first of `seen`, and their outline.

    Returns how many edges the outline has, 0 where it passes a point twice.
    """
    edges = done = 0
    while done < seen.height[0]:
        triangle = seen.rows[done]
        done += 1
        for k in range(3):
            other = surface.across[triangle, k]
            if seen.is_in[other]:
                continue
            if _above(points, corner, surface.planes, other) > rounding:
                _push(seen, other)
                continue
            begin = surface.corners[triangle, k]
            if outline.edge_of[begin] == corner:
                return 0
            outline.edge_of[begin], outline.edge_from[begin] = corner, edges
            outline.begins[edges], outline.ends[edges] = begin, surface.corners[triangle, (k + 1) % 3]
            outline.beyond[edges] = other
            edges += 1
    return edges


@inlined_kernel
def _is_one_loop(outline, corner, edges):
    """Whether each edge of an outline begins where another ends, and all follow each other."""
    at = 0
    for length in range(1, edges + 1):
        if outline.edge_of[outline.ends[at]] != corner:
            return False
        at = outline.edge_from[outline.ends[at]]
        if at == 0:
            return length == edges
    return False


@inlined_kernel
def _remove(corner, surface, above, seen, free):
    """Remove the triangles that a corner sees; returns the first of their points, all in one list, without the corner."""
    orphans = END_OF_LIST
    while seen.height[0]:
        triangle = _pop(seen)
        point = above.first[triangle]
        while point != END_OF_LIST:
            following = above.after[point]
            if point != corner:
                above.after[point], orphans = orphans, point
            point = following
        surface.is_there[triangle], above.first[triangle] = False, END_OF_LIST
        _push(free, triangle)
    return orphans


@inlined_kernel
def _add_fan(points, corner, surface, outline, edges, free):
    """Join a corner with the edges of an outline; returns whether the new triangles have normals and room."""
    for edge in range(edges):
        if not free.height[0]:
            return False
        triangle, other = _pop(free), outline.beyond[edge]
        outline.fan[edge] = triangle
        begin, end = outline.begins[edge], outline.ends[edge]
        if not _set_triangle(points, surface, triangle, begin, end, corner):
            return False
        for k in range(3):
            if surface.corners[other, k] == end and surface.corners[other, (k + 1) % 3] == begin:
                surface.across[other, k] = triangle
        surface.across[triangle, 0] = other
    for edge in range(edges):
        following = outline.fan[outline.edge_from[outline.ends[edge]]]
        surface.across[outline.fan[edge], 1], surface.across[following, 2] = following, outline.fan[edge]
    return True


@inlined_kernel
def _insert(points, corner, surface, above, outline, stacks, rounding):
    """Make the farthest point of a triangle a corner of the hull; returns how many triangles were made, 0 where rounding
    errors leave no closed surface. stacks: rows that are seen, the triangle first, and rows that are free."""
    seen, free = stacks
    edges = _look(points, corner, surface, outline, seen, rounding)
    if edges < 3 or not _is_one_loop(outline, corner, edges):
        return 0
    point = _remove(corner, surface, above, seen, free)
    if not _add_fan(points, corner, surface, outline, edges, free):
        return 0
    while point != END_OF_LIST:
        following = above.after[point]
        _give(points, point, outline.fan[:edges], surface, above, rounding)
        point = following
    return edges


@inlined_kernel
def _grow(points, surface, above, outline, stacks, rounding):
    """Insert points into a tetrahedron until no point is above a triangle; returns whether the surface is closed.

    stacks: empty rows that are seen, rows that are free, and empty rows that wait for the insertion of a point.
    """
    seen, free, waiting = stacks
    corners, rows = surface.corners, waiting.rows
    for triangle in range(4):
        _push(waiting, triangle)
    for point in range(len(points)):
        if point != corners[0, 0] and point != corners[0, 1] and point != corners[0, 2] and point != corners[1, 1]:
            _give(points, point, rows[:4], surface, above, rounding)
    while waiting.height[0]:
        start = _pop(waiting)
        if not surface.is_there[start] or above.first[start] == END_OF_LIST:
            continue
        _push(seen, start)
        edges = _insert(points, above.farthest[start], surface, above, outline, (seen, free), rounding)
        if edges == 0:
            return False
        for triangle in outline.fan[:edges]:
            if above.first[triangle] != END_OF_LIST:
                _push(waiting, triangle)
    return True


@inlined_kernel
def _number_rows(is_there, numbers):
    """Number the rows that are triangles; returns how many there are."""
    count = 0
    for triangle in range(len(is_there)):
        numbers[triangle] = count
        count += is_there[triangle]
    return count


@kernel
def hull_triangles(points, rounding):
    """The triangles of the convex hull of points, and their neighbours.

    points: (n, 3) at least one, no four of them in one plane. rounding: the height up to which a point counts as inside.

    The results are (t, 3) the corners of each triangle, counter-clockwise seen from outside, and (t, 3) the triangle across
    the edge that starts at the same corner. Both are empty where rounding errors give no closed surface, and for fewer than
    four points.
    """
    count, room = len(points), max(4, 2 * len(points))
    triangles, neighbours = np.empty((0, 3), np.int64), np.empty((0, 3), np.int64)
    surface = Surface(
        np.empty((room, 3), np.int64), np.empty((room, 3), np.int64), np.empty((room, 4)), np.zeros(room, np.bool_)
    )
    above = PointsAbove(
        np.full(room, END_OF_LIST, np.int64), np.full(count, END_OF_LIST, np.int64), np.empty(room, np.int64), np.empty(room)
    )
    outline = Outline(
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(count, np.int64),
        np.full(count, END_OF_LIST, np.int64),
    )
    seen = Rows(np.empty(room, np.int64), np.zeros(1, np.int64), np.zeros(room, np.bool_))
    free = Rows(np.empty(room, np.int64), np.zeros(1, np.int64), np.zeros(room, np.bool_))
    waiting = Rows(np.empty(room, np.int64), np.zeros(1, np.int64), np.zeros(room, np.bool_))
    if not _begin(points, surface, rounding):
        return triangles, neighbours
    for triangle in range(room - 1, 3, -1):
        _push(free, triangle)
    if not _grow(points, surface, above, outline, (seen, free, waiting), rounding):
        return triangles, neighbours
    left = _number_rows(surface.is_there, seen.rows)
    triangles, neighbours = np.empty((left, 3), np.int64), np.empty((left, 3), np.int64)
    for triangle in range(room):
        if surface.is_there[triangle]:
            for k in range(3):
                triangles[seen.rows[triangle], k] = surface.corners[triangle, k]
                neighbours[seen.rows[triangle], k] = seen.rows[surface.across[triangle, k]]
    return triangles, neighbours
