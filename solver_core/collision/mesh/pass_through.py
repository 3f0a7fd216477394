# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways out for surfaces that pass right through each other, as a rod through a plate.

What two solids share is bounded by curves, and the sum of their area vectors (`intersection_curves`) is how fast it shrinks.
Around a rod in a plate there are two, one on each side, that cancel: no small motion lessens the overlap. Then the way out is
the shortest of those that end it: out of the face that a curve lies in, until all of the body that passes through is beyond
that face; or along an axis of either body, until nothing of one is beside anything of the other.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inner_kernel, leaf_kernel
from ...disjoint_sets import join, root
from .features import pair_of, turned

__all__ = [
    "inner_end",
    "overlap_of_each_curve",
    "passes",
    "shorter_way_along_axes",
    "shorter_way_out_of_curve",
    "shorter_way_out_of_face",
]


@leaf_kernel
def inner_end(pair, ends, keys, row, end):
    """Where the part of an edge inside of the other solid ends that begins at an end of a crossing: at an end of another one,
    (its row, 0 or 1), where it passes out again; else at its vertex, (the vertex, -1)."""
    of_first, e = keys[row, end, 0] == 1, keys[row, end, 1]
    edges = pair.first.edges if of_first else pair.second.edges
    vertices = pair.first.vertices if of_first else pair.vertices
    n = pair.second.normals[keys[row, end, 2]] if of_first else pair.first.normals[keys[row, end, 2]]
    nx, ny, nz = turned(pair, n) if of_first else (n[0], n[1], n[2])
    first, last = vertices[edges[e, 0]], vertices[edges[e, 1]]
    inwards = nx * (last[0] - first[0]) + ny * (last[1] - first[1]) + nz * (last[2] - first[2]) < 0.0
    other, which = edges[e, 1] if inwards else edges[e, 0], -1
    p, q = ends[row, end], vertices[other]
    x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    nearest = x * x + y * y + z * z
    for k in range(len(keys)):
        for side in range(2):
            if keys[k, side, 1] != e or (keys[k, side, 0] == 1) != of_first or keys[k, side, 2] == keys[row, end, 2]:
                continue
            q = ends[k, side]
            along = x * (q[0] - p[0]) + y * (q[1] - p[1]) + z * (q[2] - p[2])
            if 0.0 <= along < nearest:
                nearest, other, which = along, k, side
    return other, which


@leaf_kernel
def join_overlaps(table, meeting, ends, keys, curve, parent, pierced):
    """Joins curves, and the vertices of both surfaces, that hang together along edges within the other solid.

    parent: (crossings + vertices,) union-find; pierced: (edges,) which pass through the other surface; the first surface's
    come first.
    """
    pair = pair_of(table, meeting)
    count = len(keys)
    for row in range(count):
        parent[row] = curve[row]
        for end in range(2):
            offset = 0 if keys[row, end, 0] == 1 else len(pair.first.edges)
            pierced[offset + keys[row, end, 1]] = True
    for which in range(2):
        surface = pair.first if which == 0 else pair.second
        offset, from_edge = (count, 0) if which == 0 else (count + len(pair.first.vertices), len(pair.first.edges))
        for e in range(len(surface.edges)):
            if not pierced[from_edge + e]:
                join(parent, offset + surface.edges[e, 0], offset + surface.edges[e, 1])
    for row in range(count):
        for end in range(2):
            other, side = inner_end(pair, ends, keys, row, end)
            if side < 0:
                other += count if keys[row, end, 0] == 1 else count + len(pair.first.vertices)
            join(parent, row, other)
    for row in range(count):
        parent[row] = root(parent, row)


@inner_kernel
def overlap_of_each_curve(table, meeting, ends, keys, curve):
    """(k,) for each crossing the overlap that its curve bounds, numbered by one of its crossings. Of two solids."""
    s, t = meeting.first, meeting.second
    vertices = table.first_vertex[s + 1] - table.first_vertex[s] + table.first_vertex[t + 1] - table.first_vertex[t]
    edges = table.first_edge[s + 1] - table.first_edge[s] + table.first_edge[t + 1] - table.first_edge[t]
    parent = np.arange(len(keys) + vertices)
    join_overlaps(table, meeting, ends, keys, curve, parent, np.zeros(edges, np.bool_))
    return parent[: len(keys)]


@leaf_kernel
def span(vertices, x, y, z):
    """How far the vertices reach along a direction: (least, most)."""
    least, most = np.inf, -np.inf
    for v in range(len(vertices)):
        along = x * vertices[v, 0] + y * vertices[v, 1] + z * vertices[v, 2]
        least, most = min(least, along), max(most, along)
    return least, most


@leaf_kernel
def take_if_shorter(way, x, y, z, length):
    if length < way[3]:
        way[0], way[1], way[2], way[3] = x, y, z, length


@leaf_kernel
def shorter_way_along_axes(pair, way):
    """Takes an axis of either surface for the way (4,) of the second one out of the first, direction and length, if it is
    shorter."""
    for axis in range(6):
        row = axis % 3
        x, y, z = 1.0 if row == 0 else 0.0, 1.0 if row == 1 else 0.0, 1.0 if row == 2 else 0.0
        if axis >= 3:
            x, y, z = pair.turn[0, row], pair.turn[1, row], pair.turn[2, row]
        least, most = span(pair.first.vertices, x, y, z)
        low, high = span(pair.vertices, x, y, z)
        take_if_shorter(way, x, y, z, most - low)
        take_if_shorter(way, -x, -y, -z, high - least)


@leaf_kernel
def shorter_way_out_of_curve(pair, ends, keys, curve, which, nx, ny, nz, way):
    """Takes the normal of a curve, from the first surface to the second, for the way (4,) out if it is shorter.

    The curve lies in a face of one body, and round about the other one, which has to come out of that face.
    """
    of_first = of_second = level = 0.0
    count = 0
    for row in range(len(ends)):
        if curve[row] != which:
            continue
        for end in range(2):
            level += nx * ends[row, end, 0] + ny * ends[row, end, 1] + nz * ends[row, end, 2]
            count += 1
            if keys[row, end, 0] == 1:
                mx, my, mz = turned(pair, pair.second.normals[keys[row, end, 2]])
                of_second = max(of_second, -(nx * mx + ny * my + nz * mz))
            else:
                m = pair.first.normals[keys[row, end, 2]]
                of_first = max(of_first, nx * m[0] + ny * m[1] + nz * m[2])
    level /= count
    if of_first >= of_second:
        low, _ = span(pair.vertices, nx, ny, nz)
        take_if_shorter(way, nx, ny, nz, level - low)
    else:
        _, high = span(pair.first.vertices, nx, ny, nz)
        take_if_shorter(way, nx, ny, nz, high - level)


@leaf_kernel
def passes(pair, ends, keys, row):
    """Whether a crossing is more than a touch: it has a length, and its edges reach some way to both sides of the faces."""
    tolerance = max(pair.first.tolerance, pair.second.tolerance)
    p, q = ends[row, 0], ends[row, 1]
    is_segment = keys[row, 0, 2] == keys[row, 1, 2] and keys[row, 0, 1] == keys[row, 1, 1]
    if not is_segment and (q[0] - p[0]) ** 2 + (q[1] - p[1]) ** 2 + (q[2] - p[2]) ** 2 <= tolerance * tolerance:
        return False
    for end in range(2):
        of_first, e = keys[row, end, 0] == 1, keys[row, end, 1]
        edge = pair.first.edges[e] if of_first else pair.second.edges[e]
        vertices = pair.first.vertices if of_first else pair.vertices
        n = pair.second.normals[keys[row, end, 2]] if of_first else pair.first.normals[keys[row, end, 2]]
        nx, ny, nz = turned(pair, n) if of_first else (n[0], n[1], n[2])
        o = ends[row, end]
        for k in range(2):
            v = vertices[edge[k]]
            if abs(nx * (v[0] - o[0]) + ny * (v[1] - o[1]) + nz * (v[2] - o[2])) <= tolerance:
                return False
    return True


@leaf_kernel
def shorter_way_out_of_face(pair, point, f, way):
    """Takes the normal of a triangle of the first surface for the way (4,) of the second one out, which passes through it at
    the point, if it is shorter; of a sheet's either way."""
    n = pair.first.normals[f]
    nx, ny, nz = n[0], n[1], n[2]
    level = nx * point[0] + ny * point[1] + nz * point[2]
    low, high = span(pair.vertices, nx, ny, nz)
    take_if_shorter(way, nx, ny, nz, level - low)
    if not pair.first.solid:
        take_if_shorter(way, -nx, -ny, -nz, high - level)
