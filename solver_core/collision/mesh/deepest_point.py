# SPDX-License-Identifier: GPL-3.0-or-later
"""How deep two solids overlap within a curve along which their surfaces cross: the deepest point of one inside of the other.

The distance from a surface changes by no more than the way between two points. So a triangle whose middle is d inside has no
point deeper than d and its radius; if that is deeper than what is known, it is cut into four, and each of these is asked
(branch and bound), the most promising first. The triangles are those that cross along the curve, and all that hang together
with them within the solid.
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

# Of the depth that is known: by how little another point may be deeper without being looked for.
DEPTH_TOLERANCE_RATIO = 0.02
# In tolerances of the surface: triangles are cut down to this size.
MIN_CELL_IN_TOLERANCES = 10.0
# Middles that are asked about for a pair beside those of the triangles themselves; beyond, the deepest so far counts.
MAX_QUERIES = 4_000
CELL_COUNT, QUERY_COUNT = range(2)
CHILDREN = 4
# Cells beside those of all triangles; what there is no room for is left out.
EXTRA_CELLS = 2_000


class Search(NamedTuple):
    """Work arrays for a pair.

    cells: (., 10) corners of triangles and a depth in m that no point of theirs exceeds. queue: (t,) triangles, taken: (t,)
    which were in it, of the first surface and then of the second. known: (v,) m, how deep their vertices are at most inside of
    the other solid, 0 outside and -1 where that was not asked yet. pierced: (e,) their edges that may pass through the other
    surface. counts: (2,) how many cells there are, and how many middles were asked about. on_edges: of the crossings.
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
    """An empty one, of crossings with keys (k, 2, 3) as in `crossing`; is_torn: whether some may be missing."""
    s, t = query.first, query.second
    triangles = table.first_triangle[s + 1] - table.first_triangle[s] + table.first_triangle[t + 1] - table.first_triangle[t]
    vertices = len(query.vertices_first) + len(query.vertices_second)
    cells = np.empty((triangles + EXTRA_CELLS, 10))
    queued, depth_bound = np.zeros(triangles, np.bool_), np.full(vertices, -1.0)
    own = table.first_edge[s + 1] - table.first_edge[s]
    pierced = np.full(own + table.first_edge[t + 1] - table.first_edge[t], is_torn)
    for row in range(len(keys)):
        for end in range(2):
            pierced[keys[row, end, 1] + (0 if keys[row, end, 0] == 1 else own)] = True
    return Search(cells, np.empty(triangles, np.int64), queued, depth_bound, pierced, np.zeros(2, np.int64), by_edge)


@kernel_part
def depth_inside(pair, other, point, ignore_depth, outside_range):
    """How deep a point is inside of a solid, the `Side` of one of the two, in m; outside, minus its distance from it, as far as
    that is below `enough`, else -inf. If nothing is below `enough`: no more than `shallow` for what is no deeper, wherever."""
    at = point_to_surface(pair, other.is_first, point)
    if outside_range <= 0.0:
        squared, _, _ = closest_on_surface(other.surface, at, np.inf, ignore_depth, pair.query.stack)
        distance = np.sqrt(squared)
        return distance if distance <= ignore_depth or surface_contains(pair, other, point) else -np.inf
    contains = surface_contains(pair, other, point)
    squared, f, _ = closest_on_surface(other.surface, at, np.inf if contains else outside_range, 0.0, pair.query.stack)
    if f < 0:
        return -np.inf
    return np.sqrt(squared) if contains else -np.sqrt(squared)


@kernel_part
def deeper_below(pair, other, point, f, depth):
    """The depth in m of a point inside of a solid, below or above triangle f of it, if that is more than the one that is known;
    else that one."""
    surface, at = other.surface, point_to_surface(pair, other.is_first, point)
    p, q, r = triangle_corners(surface.vertices, surface.triangles[f])
    most, _ = closest_on_triangle(p, q, r, at)
    if most <= depth * depth:
        return depth
    squared, _, _ = closest_on_surface(surface, at, np.inf, depth, pair.query.stack)
    if squared <= depth * depth or not surface_contains(pair, other, point):
        return depth
    return np.sqrt(squared)


@inlined_kernel
def enqueue(search, offset, f, count):
    """Puts triangle f, counted from an offset, into the queue of so many, if it was not in it: how many there are then."""
    if search.queued[offset + f]:
        return count
    search.queued[offset + f] = True
    search.queue[count] = f
    return count + 1


@leaf_kernel
def deeper_at_vertex(pair, own, other, v, depth, search):
    """The depth in m of a vertex of a `Side` inside of the other solid if that is more than the one that is known, else that
    one; and whether the vertex is inside."""
    row = v if own.is_first else len(pair.query.vertices_first) + v
    depth_bound = search.depth_bound
    if depth_bound[row] < 0.0:
        depth_bound[row] = np.inf if surface_contains(pair, other, vec(own.vertices, v)) else 0.0
    if depth_bound[row] > depth:
        at = point_to_surface(pair, other.is_first, vec(own.vertices, v))
        squared, _, _ = closest_on_surface(other.surface, at, np.inf, depth, pair.query.stack)
        depth_bound[row] = min(depth_bound[row], np.sqrt(squared))
    return max(depth, depth_bound[row]), depth_bound[row] > 0.0


@leaf_kernel
def propagate_inside(search, surface, f, first_row, first_edge):
    """Lets the ends of each side of triangle f that does not pass through the other surface be inside or outside alike, if one
    of them is known to be. first_row, first_edge: of the surface's vertices in `known` and of its edges in `pierced`."""
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
    """Puts the triangles of a `Side` that cross along a curve, and those inside of the other solid that hang together with
    them, into the queue: how many, and the depth in m of the deepest vertex of these, no less than the one given."""
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
    """The depth in m of the deepest middle of the edges that are inside of the other solid from the curve on."""
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


@leaf_kernel
def bound_triangle(pair, other, corners, depth, search):
    """Asks about the middle of a triangle, and adds it to the cells if a point of it may be deeper inside of a solid than is
    known: the depth in m that is known then."""
    p, q, r = corners
    center = divided(add(add(p, q), r), 3.0)
    radius = np.sqrt(max(distance2(p, center), distance2(q, center), distance2(r, center)))
    min_useful = (1.0 + DEPTH_TOLERANCE_RATIO) * depth
    center_depth = depth_inside(pair, other, center, min(depth, min_useful - radius), radius - min_useful)
    size = search.counters[CELL_COUNT]
    if (
        center_depth + radius > min_useful
        and radius > MIN_CELL_IN_TOLERANCES * other.surface.tolerance
        and size < len(search.cells)
    ):
        cell = search.cells[size]
        for axis in range(3):
            cell[axis], cell[3 + axis], cell[6 + axis] = p[axis], q[axis], r[axis]
        cell[9] = center_depth + radius
        search.counters[CELL_COUNT] += 1
    return max(depth, center_depth)


@kernel_part
def pop_largest_bound(search):
    """Takes the cell with the highest bound out of the others: its corners, and the bound."""
    cells, last = search.cells, search.counters[CELL_COUNT] - 1
    best = 0
    for row in range(last + 1):
        if cells[row, 9] > cells[best, 9]:
            best = row
    cell = cells[best]
    p, q, r = (cell[0], cell[1], cell[2]), (cell[3], cell[4], cell[5]), (cell[6], cell[7], cell[8])
    bound = cell[9]
    for k in range(10):
        cells[best, k] = cells[last, k]
    search.counters[CELL_COUNT] = last
    return (p, q, r), bound


@leaf_kernel
def deepest_of(pair, own, other, count, depth, search):
    """The depth in m of the deepest point of the first `count` triangles of the queue inside of a solid, no less than the one
    given."""
    search.counters[CELL_COUNT] = 0
    for row in range(count):
        depth = bound_triangle(
            pair, other, triangle_corners(own.vertices, own.surface.triangles[search.queue[row]]), depth, search
        )
    while search.counters[CELL_COUNT] > 0 and search.counters[QUERY_COUNT] < MAX_QUERIES:
        (p, q, r), bound = pop_largest_bound(search)
        if bound <= (1.0 + DEPTH_TOLERANCE_RATIO) * depth:
            break
        search.counters[QUERY_COUNT] += CHILDREN
        u, v, w = midpoint(p, q), midpoint(q, r), midpoint(r, p)
        depth = bound_triangle(pair, other, (p, u, w), depth, search)
        depth = bound_triangle(pair, other, (q, v, u), depth, search)
        depth = bound_triangle(pair, other, (r, w, v), depth, search)
        depth = bound_triangle(pair, other, (u, v, w), depth, search)
    return depth


@kernel_part
def deepest_inside(pair, ends, keys, curve, curve_id, ignore_depth, is_shallow, search):
    """How deep in m the surfaces are inside of each other within a curve, 0 where no point is.

    shallow: m; what vertices and edges show to be no deeper is not looked into: triangles would be cut down to that size.
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
