# SPDX-License-Identifier: GPL-3.0-or-later
"""Quickhull in three dimensions for many points, as a kernel.

C. B. Barber, D. P. Dobkin and H. Huhdanpaa (1996), The Quickhull Algorithm for Convex Hulls, ACM Transactions on Mathematical
Software 22(4), 469-483.

A point above a triangle is assigned to it. The farthest point of a triangle becomes a corner: it replaces the triangles visible
from it by a fan to their horizon, and their points are reassigned to the fan. Heights are rounded, so the kernel checks that
the horizon is one loop and ends without a result if it is not. The caller joggles the points, so that no four are coplanar.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, kernel

__all__ = ["hull_triangles"]

END_OF_LIST = -1  # replaces the index of a point

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Surface(NamedTuple):
    """The current triangles, in rows that are reused.

    corners: (t, 3) counterclockwise seen from outside. across: (t, 3) triangle across the edge that starts at each corner.
    planes: (t, 4) outward unit normal and offset. is_there: (t,) True if the row is a triangle of the hull.
    """

    corners: Indices
    across: Indices
    planes: Array
    is_there: NDArray[np.bool_]


class PointsAbove(NamedTuple):
    """The points outside the hull, as one linked list per triangle.

    first: (t,) first point above a triangle, or END_OF_LIST. after: (n,) next point of the same list, or END_OF_LIST.
    farthest, heights: (t,) highest point over a triangle, and its height.
    """

    first: Indices
    after: Indices
    farthest: Indices
    heights: Array


class Outline(NamedTuple):
    """The horizon: the edges around the triangles visible from a point.

    begins, ends: (e,) start and end of each edge. beyond: (e,) triangle on its other side. fan: (e,) new triangle at the edge.
    edge_from: (n,) edge that starts at a corner. edge_of: (n,) point from which that edge was found.
    """

    begins: Indices
    ends: Indices
    beyond: Indices
    fan: Indices
    edge_from: Indices
    edge_of: Indices


class Rows(NamedTuple):
    """A stack of rows of the surface.

    rows: (t,). size: (1,) number of rows. is_in: (t,) True if a row is in the stack.
    """

    rows: Indices
    size: Indices
    is_in: NDArray[np.bool_]


@inlined_kernel
def _push(stack, row):
    """Push a row unless it is in the stack."""
    if not stack.is_in[row]:
        stack.rows[stack.size[0]], stack.is_in[row] = row, True
        stack.size[0] += 1


@inlined_kernel
def _pop(stack):
    """Pop the last row."""
    stack.size[0] -= 1
    row = stack.rows[stack.size[0]]
    stack.is_in[row] = False
    return row


@inlined_kernel
def _above(points, i, planes, triangle):
    """Return the height of points[i] over the plane of a triangle."""
    along = points[i, 0] * planes[triangle, 0] + points[i, 1] * planes[triangle, 1] + points[i, 2] * planes[triangle, 2]
    return along - planes[triangle, 3]


@inlined_kernel
def _set_triangle(points, surface, triangle, a, b, c):
    """Write a triangle and its plane. Returns False if its area is zero."""
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
    """Return four corners of a large tetrahedron, the fourth one below the triangle of the others."""
    a = b = c = d = 0
    for i in range(len(points)):
        if points[i, 0] < points[a, 0]:
            a = i
        if points[i, 0] > points[b, 0]:
            b = i
    ux, uy, uz = points[b, 0] - points[a, 0], points[b, 1] - points[a, 1], points[b, 2] - points[a, 2]
    largest = -1.0
    nx = ny = nz = 0.0
    for i in range(len(points)):
        vx, vy, vz = points[i, 0] - points[a, 0], points[i, 1] - points[a, 1], points[i, 2] - points[a, 2]
        x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        if x * x + y * y + z * z > largest:
            largest, c, nx, ny, nz = x * x + y * y + z * z, i, x, y, z
    largest, height = -1.0, 0.0
    for i in range(len(points)):
        x, y, z = points[i, 0] - points[a, 0], points[i, 1] - points[a, 1], points[i, 2] - points[a, 2]
        along = x * nx + y * ny + z * nz
        if abs(along) > largest:
            largest, d, height = abs(along), i, along
    return (a, b, c, d) if height < 0.0 else (a, c, b, d)


@inlined_kernel
def _begin(points, surface, rounding):
    """Initialize the surface with a tetrahedron. Returns False if it is flat."""
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
    """Assign a point to the first of the given triangles that it is above. A point above none is inside."""
    for triangle in triangles:
        height = _above(points, point, surface.planes, triangle)
        if height > rounding:
            if above.first[triangle] == END_OF_LIST or height > above.heights[triangle]:
                above.farthest[triangle], above.heights[triangle] = point, height
            above.after[point], above.first[triangle] = above.first[triangle], point
            return


@inlined_kernel
def _find_horizon(points, corner, surface, outline, seen, rounding):
    """Collect the triangles visible from a corner, starting with the first of `seen`, and their horizon.

    Returns the number of edges of the horizon, 0 if it visits a point twice.
    """
    edges = done = 0
    while done < seen.size[0]:
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
    """Return True if the edges of a horizon form one loop."""
    edge = 0
    for length in range(1, edges + 1):
        if outline.edge_of[outline.ends[edge]] != corner:
            return False
        edge = outline.edge_from[outline.ends[edge]]
        if edge == 0:
            return length == edges
    return False


@inlined_kernel
def _remove(corner, surface, above, seen, free):
    """Remove the triangles visible from a corner. Returns the first of their points, all in one list, without the corner."""
    orphans = END_OF_LIST
    while seen.size[0]:
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
    """Connect a corner with the edges of a horizon. Returns False if a triangle has no area or there is no free row."""
    for edge in range(edges):
        if not free.size[0]:
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
    """Make the farthest point of a triangle a corner of the hull.

    stacks: visible rows, which contain the triangle, and free rows.

    Returns the number of new triangles, 0 if rounding leaves no closed surface.
    """
    seen, free = stacks
    edges = _find_horizon(points, corner, surface, outline, seen, rounding)
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
    """Insert points into a tetrahedron until no point is above a triangle. Returns True if the surface is closed.

    stacks: visible rows (empty), free rows, and rows whose points wait for insertion (empty).
    """
    seen, free, waiting = stacks
    corners, rows = surface.corners, waiting.rows
    for triangle in range(4):
        _push(waiting, triangle)
    for point in range(len(points)):
        if point != corners[0, 0] and point != corners[0, 1] and point != corners[0, 2] and point != corners[1, 1]:
            _give(points, point, rows[:4], surface, above, rounding)
    while waiting.size[0]:
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
    """Number the rows that are triangles, and return their number."""
    count = 0
    for triangle in range(len(is_there)):
        numbers[triangle] = count
        count += is_there[triangle]
    return count


@kernel
def hull_triangles(points, rounding):
    """Return the triangles of a convex hull and their neighbors.

    points: (n, 3), n >= 1, no four of them coplanar. rounding: height up to which a point counts as inside.

    Returns the corners of each triangle (t, 3), counterclockwise seen from outside, and the triangle across the edge that
    starts at each corner (t, 3). Both are empty if rounding leaves no closed surface, and for fewer than four points.
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
    kept = _number_rows(surface.is_there, seen.rows)
    triangles, neighbours = np.empty((kept, 3), np.int64), np.empty((kept, 3), np.int64)
    for triangle in range(room):
        if surface.is_there[triangle]:
            for k in range(3):
                triangles[seen.rows[triangle], k] = surface.corners[triangle, k]
                neighbours[seen.rows[triangle], k] = seen.rows[surface.across[triangle, k]]
    return triangles, neighbours
