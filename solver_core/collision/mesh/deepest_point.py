# SPDX-License-Identifier: GPL-3.0-or-later
"""Depth of the overlap of two solids within one curve of intersection: the deepest point of one surface inside the other solid.

The distance to a surface is 1-Lipschitz. So a triangle whose centroid has depth d, and whose corners are within r of the
centroid, has no point deeper than d + r. Triangles that may exceed the best known depth are split in four, largest bound first
(branch and bound). The search starts with the triangles that intersect along the curve and all triangles connected to them
inside the other solid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, TRUE, inlined_kernel, kernel_part, leaf_kernel
from ...linalg.vec3 import add, distance2, divided, midpoint, vec
from .mesh_pair import point_to_surface, surface_contains, surface_of
from .pass_through import EndsByEdge, inner_edge_end
from .queries import closest_on_surface, closest_on_triangle, triangle_corners

__all__ = ["Search", "deepest_inside", "search_of"]

# Relative to the best depth: smaller improvements are not searched for.
DEPTH_TOLERANCE_RATIO = 0.02
# In tolerances of the surface: smaller cells are not split.
MIN_CELL_IN_TOLERANCES = 10.0
# Most depth queries for the cells of one pair, besides one per triangle. After that the best depth so far is the result.
MAX_QUERIES = 4_000
CELL_COUNT, QUERY_COUNT = range(2)
# A cell: three corners, the bound of its depth, and the depth of its centroid.
CELL_BOUND, CELL_CENTER_DEPTH, CELL_NUMBERS = 9, 10, 11
CHILDREN = 4
# Capacity for cells in addition to one per triangle. Further cells are dropped.
EXTRA_CELLS = 2_000


class Search(NamedTuple):
    """Work arrays for one pair of surfaces.

    cells: (c, 11) corners of a triangle [m], an upper bound of the depth of its points, and the depth of its centroid [m].
    queue: (t,) triangles. queued: (t,) triangles that were in the queue, those of the first surface first.
    depth_bound: (v,) upper bound of the depth of each vertex inside the other solid [m]; 0 outside, -1 if not tested yet.
    pierced: (e,) edges that may pass through the other surface.
    counters: (2,) number of cells, and number of depth queries.
    by_edge: the ends of the intersection segments by edge.
    """

    cells: NDArray[np.float64]
    queue: NDArray[np.int64]
    queued: NDArray[np.bool_]
    depth_bound: NDArray[np.float64]
    pierced: NDArray[np.bool_]
    counters: NDArray[np.int64]
    by_edge: EndsByEdge


@kernel_part
def search_of(table, query, by_edge, keys, is_torn):
    """Allocate a `Search`.

    keys: (k, 2, 3) as in `intersect_triangles`. is_torn: True if intersection segments may be missing.
    """
    s, t = query.first, query.second
    triangles = table.first_triangle[s + 1] - table.first_triangle[s] + table.first_triangle[t + 1] - table.first_triangle[t]
    vertices = len(query.vertices_first) + len(query.vertices_second)
    cells = np.empty((triangles + EXTRA_CELLS, CELL_NUMBERS))
    queued, depth_bound = np.zeros(triangles, np.bool_), np.full(vertices, -1.0)
    edges_first = table.first_edge[s + 1] - table.first_edge[s]
    pierced = np.full(edges_first + table.first_edge[t + 1] - table.first_edge[t], is_torn)
    for row in range(len(keys)):
        for end in range(2):
            pierced[keys[row, end, 1] + (0 if keys[row, end, 0] == 1 else edges_first)] = True
    return Search(cells, np.empty(triangles, np.int64), queued, depth_bound, pierced, np.zeros(2, np.int64), by_edge)


@kernel_part
def depth_inside(pair, other, point, ignore_depth, outside_range, side):
    """Return the signed depth of a point in a solid [m]: positive inside, minus the distance outside.

    other: `PairSurface` of the solid. point: in the frame of the pair [m].
    ignore_depth: if outside_range <= 0, a point this near the surface returns some value up to ignore_depth, whether inside or
        outside, without the inside test [m].
    outside_range: an outside point at least this far away returns -inf, as does any other outside point if it is not positive
        [m].
    side: positive if the point is known to be inside, negative if it is known to be outside, else 0.
    """
    local_point = point_to_surface(pair, other.is_first, point)
    if outside_range <= 0.0:
        if side < 0.0:
            return -np.inf
        squared, _, _ = closest_on_surface(other.surface, local_point, np.inf, ignore_depth, pair.query.stack)
        distance = np.sqrt(squared)
        is_deep = distance <= ignore_depth or side > 0.0 or surface_contains(pair, other, point)
        return distance if is_deep else -np.inf
    contains = side > 0.0 or (side == 0.0 and surface_contains(pair, other, point))
    squared, f, _ = closest_on_surface(other.surface, local_point, np.inf if contains else outside_range, 0.0, pair.query.stack)
    if f < 0:
        return -np.inf
    return np.sqrt(squared) if contains else -np.sqrt(squared)


@kernel_part
def deeper_below(pair, other, point, f, depth):
    """Return the larger of `depth` and the depth of a point inside a solid [m].

    f: a triangle of the solid near the point, used to reject points that are not deeper.
    """
    surface, local_point = other.surface, point_to_surface(pair, other.is_first, point)
    p, q, r = triangle_corners(surface.vertices, surface.triangles[f])
    squared_bound, _ = closest_on_triangle(p, q, r, local_point)
    if squared_bound <= depth * depth:
        return depth
    squared, _, _ = closest_on_surface(surface, local_point, np.inf, depth, pair.query.stack)
    if squared <= depth * depth or not surface_contains(pair, other, point):
        return depth
    return np.sqrt(squared)


@inlined_kernel
def enqueue(search, offset, f, count):
    """Append triangle f to the queue unless it was in it, and return the new length.

    offset: index of the first triangle of its surface. count: length of the queue.
    """
    if search.queued[offset + f]:
        return count
    search.queued[offset + f] = True
    search.queue[count] = f
    return count + 1


@leaf_kernel
def deeper_at_vertex(pair, own, other, v, depth, search):
    """Return the larger of `depth` and the depth of vertex v of surface `own` in the solid `other` [m], and whether v is
    inside.
    """
    row = v if own.is_first else len(pair.query.vertices_first) + v
    depth_bound = search.depth_bound
    if depth_bound[row] < 0.0:
        depth_bound[row] = np.inf if surface_contains(pair, other, vec(own.vertices, v)) else 0.0
    if depth_bound[row] > depth:
        local_point = point_to_surface(pair, other.is_first, vec(own.vertices, v))
        squared, _, _ = closest_on_surface(other.surface, local_point, np.inf, depth, pair.query.stack)
        depth_bound[row] = min(depth_bound[row], np.sqrt(squared))
    return max(depth, depth_bound[row]), depth_bound[row] > 0.0


@leaf_kernel
def propagate_inside(search, surface, f, first_row, first_edge):
    """Copy the inside flag along the edges of triangle f that do not pass through the other surface.

    first_row: row of the surface's first vertex in `depth_bound`. first_edge: row of its first edge in `pierced`.
    """
    depth_bound = search.depth_bound
    for k in range(3):
        e = surface.triangle_edges[f, k]
        one, other = first_row + surface.triangles[f, k], first_row + surface.triangles[f, k + 1 if k < 2 else 0]
        if e < 0 or search.pierced[first_edge + e]:
            continue
        if depth_bound[one] < 0.0 and depth_bound[other] >= 0.0:
            depth_bound[one] = np.inf if depth_bound[other] > 0.0 else 0.0
        elif depth_bound[other] < 0.0 and depth_bound[one] >= 0.0:
            depth_bound[other] = np.inf if depth_bound[one] > 0.0 else 0.0


@leaf_kernel
def collect_inside(pair, keys, curve, curve_id, own, other, depth, search):
    """Put the triangles along a curve, and those connected to them inside the other solid, into the queue.

    keys: (k, 2, 3) as in `intersect_triangles`. curve: (k,) curve of each segment. own, other: `PairSurface` of the triangles
        and of the solid.

    Returns the length of the queue, and the larger of `depth` and the depth of the deepest vertex [m].
    """
    surface = own.surface
    offset, first_row, first_edge = 0, 0, 0
    if not own.is_first:
        offset, first_row, first_edge = len(pair.first.triangles), len(pair.query.vertices_first), len(pair.first.edges)
    count = 0
    for row in range(len(keys)):
        if curve[row] != curve_id:
            continue
        for end in range(2):
            if (keys[row, end, 0] == 1) != own.is_first:
                count = enqueue(search, offset, keys[row, end, 2], count)
                continue
            e = keys[row, end, 1]
            for slot in range(surface.beside_start[e], surface.beside_start[e + 1]):
                count = enqueue(search, offset, surface.beside[slot, 0], count)
    done = 0
    while done < count:
        f = search.queue[done]
        for k in range(3):
            v = surface.triangles[f, k]
            e = surface.triangle_edges[f, k]
            if e < 0:
                continue
            following = surface.triangles[f, k + 1 if k < 2 else 0]
            propagate_inside(search, surface, f, first_row, first_edge)
            depth, inside = deeper_at_vertex(pair, own, other, v, depth, search)
            propagate_inside(search, surface, f, first_row, first_edge)
            depth, also_inside = deeper_at_vertex(pair, own, other, following, depth, search)
            if inside or also_inside:
                for slot in range(surface.beside_start[e], surface.beside_start[e + 1]):
                    count = enqueue(search, offset, surface.beside[slot, 0], count)
        done += 1
    return count, depth


@kernel_part
def deepest_edge_midpoint(pair, ends, keys, curve, curve_id, search):
    """Return the largest depth of the midpoints of edge parts that are inside the other solid and start at a curve [m]."""
    depth = 0.0
    for row in range(len(keys)):
        for end in range(2):
            of_first = keys[row, end, 0] == 1
            other = surface_of(pair, not of_first)
            if curve[row] != curve_id or not other.surface.solid:
                continue
            start = vec(ends[row], end)
            inner_row, side = inner_edge_end(pair, ends, keys, search.by_edge, row, end)
            inner = vec(surface_of(pair, of_first).vertices, inner_row) if side < 0 else vec(ends[inner_row], side)
            depth = deeper_below(pair, other, midpoint(start, inner), keys[row, end, 2], depth)
    return depth


@inlined_kernel
def centroid(corners):
    """Return the centroid of a triangle [m]."""
    p, q, r = corners
    return divided(add(add(p, q), r), 3.0)


@leaf_kernel
def bound_triangle(pair, other, corners, side, depth, search):
    """Query the depth of the centroid of a triangle and append the triangle to the cells if a point of it may be deeper than
    `depth`.

    side: positive if the centroid is known to be inside, negative if it is known to be outside, else 0.

    Returns the larger of `depth` and the depth of the centroid [m].
    """
    center = centroid(corners)
    radius = np.sqrt(max(distance2(corners[0], center), distance2(corners[1], center), distance2(corners[2], center)))
    min_useful = (1.0 + DEPTH_TOLERANCE_RATIO) * depth
    center_depth = depth_inside(pair, other, center, min(depth, min_useful - radius), radius - min_useful, side)
    append_cell(corners, radius, center_depth, min_useful, other.surface.tolerance, search)
    return max(depth, center_depth)


@leaf_kernel
def append_cell(corners, radius, center_depth, min_useful, tolerance, search):
    """Append a triangle to the cells if a point of it may be deeper than `min_useful` [m], unless it is too small.

    radius: distance of the centroid to the farthest corner [m]. center_depth: depth of the centroid [m].
    tolerance: of the surface [m].
    """
    size = search.counters[CELL_COUNT]
    if center_depth + radius <= min_useful or radius <= MIN_CELL_IN_TOLERANCES * tolerance or size >= len(search.cells):
        return
    cell = search.cells[size]
    p, q, r = corners
    for axis in range(3):
        cell[axis], cell[3 + axis], cell[6 + axis] = p[axis], q[axis], r[axis]
    cell[CELL_BOUND], cell[CELL_CENTER_DEPTH] = center_depth + radius, center_depth
    search.counters[CELL_COUNT] += 1


@kernel_part
def pop_largest_bound(search):
    """Remove the cell with the largest bound, and return its corners, its bound, and the depth of its centroid [m]."""
    cells, last = search.cells, search.counters[CELL_COUNT] - 1
    best = 0
    for row in range(last + 1):
        if cells[row, CELL_BOUND] > cells[best, CELL_BOUND]:
            best = row
    cell = cells[best]
    p, q, r = (cell[0], cell[1], cell[2]), (cell[3], cell[4], cell[5]), (cell[6], cell[7], cell[8])
    bound, center_depth = cell[CELL_BOUND], cell[CELL_CENTER_DEPTH]
    for k in range(CELL_NUMBERS):
        cells[best, k] = cells[last, k]
    search.counters[CELL_COUNT] = last
    return (p, q, r), bound, center_depth


@leaf_kernel
def split_cell(pair, other, corners, center_depth, depth, search):
    """Bound the four parts of a cell. center_depth: depth of its centroid [m].

    The ball around the centroid that reaches to the surface lies on one side of it. So the sides of most centroids of parts are
    known without an inside test. The middle part has the centroid of the cell.

    Returns the larger of `depth` and the depths of the centroids of the parts [m].
    """
    p, q, r = corners
    center, u, v, w = centroid(corners), midpoint(p, q), midpoint(q, r), midpoint(r, p)
    for part in range(3):
        child = (p, u, w) if part == 0 else ((q, v, u) if part == 1 else (r, w, v))
        is_known = distance2(centroid(child), center) < center_depth * center_depth
        depth = bound_triangle(pair, other, child, center_depth if is_known else 0.0, depth, search)
    radius = np.sqrt(max(distance2(u, center), distance2(v, center), distance2(w, center)))
    append_cell((u, v, w), radius, center_depth, (1.0 + DEPTH_TOLERANCE_RATIO) * depth, other.surface.tolerance, search)
    return depth


@leaf_kernel
def deepest_of(pair, own, other, count, depth, search):
    """Return the larger of `depth` and the depth of the deepest point of the first `count` triangles of the queue [m]."""
    search.counters[CELL_COUNT] = 0
    for row in range(count):
        corners = triangle_corners(own.vertices, own.surface.triangles[search.queue[row]])
        depth = bound_triangle(pair, other, corners, 0.0, depth, search)
    while search.counters[CELL_COUNT] > 0 and search.counters[QUERY_COUNT] < MAX_QUERIES:
        corners, bound, center_depth = pop_largest_bound(search)
        if bound <= (1.0 + DEPTH_TOLERANCE_RATIO) * depth:
            break
        search.counters[QUERY_COUNT] += CHILDREN
        depth = split_cell(pair, other, corners, center_depth, depth, search)
    return depth


@kernel_part
def deepest_inside(pair, ends, keys, curve, curve_id, ignore_depth, is_shallow, search):
    """Return the depth of the surfaces inside each other within a curve [m], or 0 if no point is inside.

    ends, keys: (k, 2, 3) as in `intersect_triangles`. curve: (k,) curve of each segment. curve_id: the curve.
    ignore_depth: the search ends without branch and bound if the vertices and edges show a smaller positive depth [m].
    is_shallow: True to end without branch and bound in any case.
    """
    depth = deepest_edge_midpoint(pair, ends, keys, curve, curve_id, search)
    search.queued[:] = False
    for is_first in (TRUE, FALSE):
        own, other = surface_of(pair, is_first), surface_of(pair, not is_first)
        if other.surface.solid:
            _, depth = collect_inside(pair, keys, curve, curve_id, own, other, depth, search)
    if is_shallow or 0.0 < depth < ignore_depth:
        return depth
    search.queued[:] = False
    for is_first in (TRUE, FALSE):
        own, other = surface_of(pair, is_first), surface_of(pair, not is_first)
        if other.surface.solid:
            count, _ = collect_inside(pair, keys, curve, curve_id, own, other, depth, search)
            depth = deepest_of(pair, own, other, count, depth, search)
    return depth
