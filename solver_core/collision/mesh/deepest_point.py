# SPDX-License-Identifier: GPL-3.0-or-later
"""How deep two solids overlap within a curve along which their surfaces cross: the deepest point of one inside of the other.

The distance from a surface changes by no more than the way between two points. So a triangle whose middle is d inside has no
point deeper than d and its radius; if that is deeper than what is known, it is cut into four, and each of these is asked
(branch and bound). The triangles are those that cross along the curve, and all that hang together with them within the solid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, TRUE, inlined_kernel, inner_kernel, leaf_kernel
from ...linalg.vec3 import add, distance2, divided, midpoint, vec
from .mesh_pair import point_in_axes_of, side_contains, side_of
from .queries import closest_on_surface

__all__ = ["Search", "deepest_inside", "search_of"]

# Of the depth that is known: by how little another point may be deeper without being looked for.
CLOSE = 0.02
# In tolerances of the surface: triangles are cut down to this size.
SMALL = 10.0
# Middles that are asked about, of one curve; beyond, the deepest so far counts.
MOST = 20_000
INSIDE, OUTSIDE = np.int8(1), np.int8(2)
CUT_INTO = 4


class Search(NamedTuple):
    """Work arrays for a pair: cells (., 9), corners of triangles that are still to be asked about; queue (t,) of triangles, and
    taken (t,) which were in it, of the first surface and then of the second; known (v,) which of their vertices are inside of
    the other solid; asked (1,) how many middles were."""

    cells: NDArray[np.float64]
    queue: NDArray[np.int64]
    taken: NDArray[np.bool_]
    known: NDArray[np.int8]
    asked: NDArray[np.int64]


@inner_kernel
def search_of(table, meeting):
    """An empty one."""
    s, t = meeting.first, meeting.second
    triangles = table.first_triangle[s + 1] - table.first_triangle[s] + table.first_triangle[t + 1] - table.first_triangle[t]
    vertices = len(meeting.own) + len(meeting.vertices)
    cells = np.empty((triangles + 256, 9))
    taken, known = np.zeros(triangles, np.bool_), np.zeros(vertices, np.int8)
    return Search(cells, np.empty(triangles, np.int64), taken, known, np.zeros(1, np.int64))


@leaf_kernel
def depth_inside(pair, other, point, enough):
    """How deep a point is inside of a solid, the `Side` of one of the two, in m; outside, minus its distance from it, as far as
    that is below `enough`, else -inf."""
    contains = side_contains(pair, other, point)
    if not contains and enough <= 0.0:
        return -np.inf
    radius = np.inf if contains else enough
    squared, f, _ = closest_on_surface(other.surface, point_in_axes_of(pair, other.is_first, point), radius, 0.0, pair.at.stack)
    if f < 0:
        return -np.inf
    return np.sqrt(squared) if contains else -np.sqrt(squared)


@inlined_kernel
def take(search, offset, f, count):
    """Puts triangle f, counted from an offset, into the queue of so many, if it was not in it: how many there are then."""
    if search.taken[offset + f]:
        return count
    search.taken[offset + f] = True
    search.queue[count] = f
    return count + 1


@leaf_kernel
def is_vertex_inside(pair, own, other, v, search):
    """Whether a vertex of a `Side` is inside of the other solid; asked once."""
    row = v if own.is_first else len(pair.at.own) + v
    if search.known[row] == 0:
        contains = side_contains(pair, other, vec(own.vertices, v))
        search.known[row] = INSIDE if contains else OUTSIDE
    return search.known[row] == INSIDE


@leaf_kernel
def gather(pair, keys, curve, which, own, other, search):
    """Puts the triangles of a `Side` that cross along a curve, and those inside of the other solid that hang together with
    them, into the cells: how many."""
    surface = own.surface
    offset = 0 if own.is_first else len(pair.first.triangles)
    count = 0
    for row in range(len(keys)):
        if curve[row] != which:
            continue
        for end in range(2):
            if (keys[row, end, 0] == 1) != own.is_first:
                count = take(search, offset, keys[row, end, 2], count)
                continue
            e = keys[row, end, 1]
            for slot in range(surface.beside_start[e], surface.beside_start[e + 1]):
                count = take(search, offset, surface.beside[slot, 0], count)
    done = 0
    while done < count:
        f = search.queue[done]
        for k in range(3):
            v = surface.triangles[f, k]
            for axis in range(3):
                search.cells[done, 3 * k + axis] = own.vertices[v, axis]
            e = surface.triangle_edges[f, k]
            if e < 0:
                continue
            following = surface.triangles[f, k + 1 if k < 2 else 0]
            if is_vertex_inside(pair, own, other, v, search) or is_vertex_inside(pair, own, other, following, search):
                for slot in range(surface.beside_start[e], surface.beside_start[e + 1]):
                    count = take(search, offset, surface.beside[slot, 0], count)
        done += 1
    return count


@leaf_kernel
def write_cell(cells, row, p, q, r):
    """Writes the corners of a triangle."""
    for axis in range(3):
        cells[row, axis], cells[row, 3 + axis], cells[row, 6 + axis] = p[axis], q[axis], r[axis]


@leaf_kernel
def deepest_of(pair, other, size, depth, search):
    """The depth in m of the deepest point of the first `size` cells inside of a solid, no less than the one given."""
    cells = search.cells
    smallest = SMALL * other.surface.tolerance
    while size > 0 and search.asked[0] < MOST:
        size -= 1
        row = cells[size]
        p, q, r = (row[0], row[1], row[2]), (row[3], row[4], row[5]), (row[6], row[7], row[8])
        middle = divided(add(add(p, q), r), 3.0)
        radius = np.sqrt(max(distance2(p, middle), distance2(q, middle), distance2(r, middle)))
        least = (1.0 + CLOSE) * depth
        search.asked[0] += 1
        inside = depth_inside(pair, other, middle, radius - least)
        depth = max(depth, inside)
        if inside + radius <= max(least, (1.0 + CLOSE) * depth) or radius <= smallest or size + CUT_INTO > len(cells):
            continue
        u, v, w = midpoint(p, q), midpoint(q, r), midpoint(r, p)
        write_cell(cells, size, p, u, w)
        write_cell(cells, size + 1, q, v, u)
        write_cell(cells, size + 2, r, w, v)
        write_cell(cells, size + 3, u, v, w)
        size += CUT_INTO
    return depth


@leaf_kernel
def deepest_inside(pair, keys, curve, which, search):
    """How deep in m the surfaces are inside of each other within a curve, 0 where no point is."""
    search.taken[:] = False
    search.asked[0] = 0
    depth = 0.0
    for is_first in (TRUE, FALSE):
        own, other = side_of(pair, is_first), side_of(pair, not is_first)
        if other.surface.solid:
            size = gather(pair, keys, curve, which, own, other, search)
            depth = deepest_of(pair, other, size, depth, search)
    return depth
