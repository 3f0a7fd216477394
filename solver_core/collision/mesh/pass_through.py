# SPDX-License-Identifier: GPL-3.0-or-later
"""Exit translations for surfaces that pass through each other, such as a rod through a plate.

The common volume of two solids is bounded by curves, and the sum of their area vectors (`intersection_curves`) is its gradient.
A rod in a plate has two curves, one on each side of the plate, whose area vectors cancel: no small motion reduces the overlap.
The shortest translation that ends the overlap is then used. Candidates are the normal of the face in which a curve lies, until
the other body is entirely in front of that face, and the axes of both bodies, until their projections are disjoint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, inner_kernel, kernel_part, leaf_kernel
from ...linalg.disjoint_sets import join, root
from ...linalg.vec3 import distance2, dot, negative, norm2, sub, vec
from .crossings import FIRST_END, SECOND_END
from .mesh_pair import direction_to_pair, pair_of, surface_of

__all__ = [
    "EndsByEdge",
    "ends_by_edge",
    "inner_edge_end",
    "label_overlaps",
    "min_exit_along_axes",
    "min_exit_of_curve",
    "min_exit_of_face",
    "pierces",
]


class EndsByEdge(NamedTuple):
    """The ends of intersection segments, grouped by the edge on which they lie.

    order: (2 k,) ends, those on one edge consecutive. begin: (2 k,) for each end, the position of its group in `order`.
    """

    order: NDArray[np.int64]
    begin: NDArray[np.int64]


@inner_kernel
def ends_by_edge(keys):
    """Return the `EndsByEdge` of k intersection segments. keys: (k, 2, 3) as in `intersect_triangles`."""
    edge = np.empty(2 * len(keys), np.int64)
    for number in range(len(edge)):
        key = keys[number // 2, number % 2]
        edge[number] = 2 * key[1] + key[0]
    order, begin, first = np.argsort(edge, kind="mergesort"), np.empty(len(edge), np.int64), 0
    for place in range(len(order)):
        if edge[order[place]] != edge[order[first]]:
            first = place
        begin[order[place]] = first
    return EndsByEdge(order, begin)


@inlined_kernel
def face_normal(pair, key):
    """Return the normal of the face through which an edge passes. key: (3,) as in `intersect_triangles`."""
    of_first = key[0] == 1
    return direction_to_pair(pair, not of_first, surface_of(pair, not of_first).surface.normals[key[2]])


@leaf_kernel
def inner_edge_end(pair, ends, keys, by_edge, row, end):
    """Find the other end of the part of an edge that is inside the other solid.

    row, end: intersection segment and its end, at which the part starts.

    Returns the row and end of the segment where the edge leaves the solid again; or its vertex and -1 if the edge ends inside.
    """
    of_first, e = keys[row, end, 0] == 1, keys[row, end, 1]
    own = surface_of(pair, of_first)
    edges = own.surface.edges
    inwards = dot(face_normal(pair, keys[row, end]), sub(vec(own.vertices, edges[e, 1]), vec(own.vertices, edges[e, 0]))) < 0.0
    other, curve_id = edges[e, 1] if inwards else edges[e, 0], -1
    start = vec(ends[row], end)
    shortest = sub(vec(own.vertices, other), start)
    nearest = norm2(shortest)
    for place in range(by_edge.begin[2 * row + end], len(by_edge.order)):
        k, side = by_edge.order[place] // 2, by_edge.order[place] % 2
        if keys[k, side, 1] != e or (keys[k, side, 0] == 1) != of_first:
            break
        if keys[k, side, 2] == keys[row, end, 2]:
            continue
        along = dot(shortest, sub(vec(ends[k], side), start))
        if 0.0 <= along < nearest:
            nearest, other, curve_id = along, k, side
    return other, curve_id


@leaf_kernel
def union_overlaps(table, query, ends, keys, by_edge, curve, parent, pierced):
    """Join curves, and vertices of both surfaces, that edges connect inside the other solid.

    parent: (segments + vertices,) disjoint sets. pierced: (edges,) output, edges that pass through the other surface; those of
        the first surface come first.
    """
    pair = pair_of(table, query)
    count = len(keys)
    for row in range(count):
        parent[row] = curve[row]
        for end in range(2):
            offset = 0 if keys[row, end, 0] == 1 else len(pair.first.edges)
            pierced[offset + keys[row, end, 1]] = True
    for curve_id in range(2):
        surface = pair.first if curve_id == 0 else pair.second
        offset, from_edge = (count, 0) if curve_id == 0 else (count + len(pair.first.vertices), len(pair.first.edges))
        for e in range(len(surface.edges)):
            if not pierced[from_edge + e]:
                join(parent, offset + surface.edges[e, 0], offset + surface.edges[e, 1])
    for row in range(count):
        for end in range(2):
            other, side = inner_edge_end(pair, ends, keys, by_edge, row, end)
            if side < 0:
                other += count if keys[row, end, 0] == 1 else count + len(pair.first.vertices)
            join(parent, row, other)
    for row in range(count):
        parent[row] = root(parent, row)


@kernel_part
def label_overlaps(table, query, ends, keys, by_edge, curve):
    """Return the overlap (k,) of each intersection segment of two solids, as the index of one of its segments."""
    s, t = query.first, query.second
    vertices = table.first_vertex[s + 1] - table.first_vertex[s] + table.first_vertex[t + 1] - table.first_vertex[t]
    edges = table.first_edge[s + 1] - table.first_edge[s] + table.first_edge[t + 1] - table.first_edge[t]
    parent = np.arange(len(keys) + vertices)
    union_overlaps(table, query, ends, keys, by_edge, curve, parent, np.zeros(edges, np.bool_))
    return parent[: len(keys)]


@leaf_kernel
def projection_range(vertices, direction):
    """Return the smallest and largest component of the vertices along a direction [m]."""
    lowest, highest = np.inf, -np.inf
    for v in range(len(vertices)):
        along = dot(direction, vec(vertices, v))
        lowest, highest = min(lowest, along), max(highest, along)
    return lowest, highest


@leaf_kernel
def keep_shorter(shortest, direction, length):
    """Write a direction and a length [m] to shortest (4,) if the length is smaller."""
    if length < shortest[3]:
        shortest[0], shortest[1], shortest[2] = direction
        shortest[3] = length


@leaf_kernel
def min_exit_along_axes(pair, shortest):
    """Shorten shortest (4,) by the axes of both surfaces: direction and length of the second surface's translation out of the
    first.
    """
    for axis in range(6):
        k = axis % 3
        direction = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        if axis >= 3:
            direction = pair.query.turn[0, k], pair.query.turn[1, k], pair.query.turn[2, k]
        lowest, highest = projection_range(pair.first.vertices, direction)
        low, high = projection_range(pair.query.vertices_second, direction)
        keep_shorter(shortest, direction, highest - low)
        keep_shorter(shortest, negative(direction), high - lowest)


@kernel_part
def min_exit_of_curve(pair, ends, keys, curve, curve_id, normal, shortest):
    """Shorten shortest (4,), the exit translation, by the normal of a curve.

    The curve lies in a face of one body and around the other body, which has to leave through that face.

    normal: unit vector from the first surface to the second.
    """
    of_first = of_second = level = 0.0
    count = 0
    for row in range(len(ends)):
        if curve[row] != curve_id:
            continue
        for end in range(2):
            level += dot(normal, vec(ends[row], end))
            count += 1
            along = dot(normal, face_normal(pair, keys[row, end]))
            if keys[row, end, 0] == 1:
                of_second = max(of_second, -along)
            else:
                of_first = max(of_first, along)
    level /= count
    if of_first >= of_second:
        low, _ = projection_range(pair.query.vertices_second, normal)
        keep_shorter(shortest, normal, level - low)
    else:
        _, high = projection_range(pair.first.vertices, normal)
        keep_shorter(shortest, normal, high - level)


@leaf_kernel
def pierces(pair, ends, keys, row):
    """Return True if an intersection is more than a touch: it has a length, and its edges extend to both sides of the faces."""
    tolerance = max(pair.first.tolerance, pair.second.tolerance)
    is_segment = keys[row, 0, 2] == keys[row, 1, 2] and keys[row, 0, 1] == keys[row, 1, 1]
    if not is_segment and distance2(vec(ends[row], SECOND_END), vec(ends[row], FIRST_END)) <= tolerance * tolerance:
        return False
    for end in range(2):
        own = surface_of(pair, keys[row, end, 0] == 1)
        edge = own.surface.edges[keys[row, end, 1]]
        normal, point = face_normal(pair, keys[row, end]), vec(ends[row], end)
        for k in range(2):
            if abs(dot(normal, sub(vec(own.vertices, edge[k]), point))) <= tolerance:
                return False
    return True


@kernel_part
def min_exit_of_face(pair, point, f, shortest):
    """Shorten shortest (4,), the exit translation of the second surface, by the normal of triangle f of the first one.

    point: where the second surface passes through the triangle [m]. Both directions count for a sheet.
    """
    normal = vec(pair.first.normals, f)
    level = dot(normal, point)
    low, high = projection_range(pair.query.vertices_second, normal)
    keep_shorter(shortest, normal, level - low)
    if not pair.first.solid:
        keep_shorter(shortest, negative(normal), high - level)
