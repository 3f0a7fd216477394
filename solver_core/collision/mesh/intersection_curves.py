# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of surfaces that cross, where the features beside each other no longer tell which way is out.

Triangles of two solids A and B cross along closed curves. The part S of A's surface inside of B has the area vector

    N = integral over S of n dA = 1/2 integral along its border of x cross dx        (Stokes)

and moving B by d changes the volume that they share by -N . d: along N it falls fastest, whatever the triangles are. So what
a curve goes around is one overlap with one normal; its contacts are the points of the curve. Its depth is how far the
deepest point of one surface is inside of the other solid. Beside a sheet, which has no inside,
the other body's middle tells which of the two ways is out.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import FALSE, inlined_kernel, inner_kernel, kernel_part, leaf_kernel
from ...linalg.disjoint_sets import join, root
from ...linalg.vec3 import ZERO, add, advanced, cross, distance2, divided, dot, norm, scaled, set_vec, sub, vec
from ..manifold import EDGE_FACE, FACE_EDGE
from ..polyhedra.several_axes import DEEPEST
from .buffer import buffer, joined, leave_out_overlaps
from .crossings import ONE, OTHER, fill_crossings
from .deepest_point import deepest_inside, search_of
from .mesh_pair import add_mesh_contact, pair_feature, pair_of, point_in_axes_of, point_in_pair, side_of
from .pass_through import (
    edge_ends,
    overlap_of_each_curve,
    passes,
    shorter_way_along_axes,
    shorter_way_out_of_curve,
    shorter_way_out_of_face,
)
from .queries import is_nearer

__all__ = ["OPPOSED", "curves", "with_crossings", "with_passage"]

# Of the square of a curve's length: the area vector of what goes around next to nothing tells nothing.
THIN = 1e-7
FACES = 1 << 30
# Cosine below which two curves may be those of one passage. They cancel up to this part of their areas, or of what is between
# curves as far apart as the overlap is deep: two rings that lie on each other overlap between two circles.
OPPOSED = -0.5
CANCELLED = 0.3
# In tolerances of the surfaces: what is no deeper than this touches.
SHALLOW = 10.0
# In depths of the overlap: the middle of a passage is no farther from a surface; that of a hole which something fills is.
FILLED = 3.0


@inner_kernel
def curves(ends, keys, tolerance):
    """(k,) the curve of each crossing, numbered by its first, and whether some end is shared by no two: crossings are connected
    where they share an end.

    Where an edge passes through another one, rounding may find it beside the face in one of the triangles that share it and
    within it in the next: ends that are left over are shared with those at most the tolerance in m away.
    """
    count = len(keys)
    curve = np.arange(count)
    code = np.empty(2 * count, np.int64)
    alone = np.ones(2 * count, np.bool_)
    for row in range(2 * count):
        key = keys[row // 2, row % 2]
        code[row] = (2 * key[1] + key[0]) * FACES + key[2]
    order = np.argsort(code, kind="mergesort")
    for i in range(1, 2 * count):
        one, other = order[i - 1], order[i]
        if code[one] == code[other]:
            alone[one] = alone[other] = False
            join(curve, one // 2, other // 2)
    left_over = np.flatnonzero(alone)
    for i in range(1, len(left_over)):
        end = ends[left_over[i] // 2, left_over[i] % 2]
        for k in range(i):
            if distance2(ends[left_over[k] // 2, left_over[k] % 2], end) <= tolerance * tolerance:
                join(curve, left_over[i] // 2, left_over[k] // 2)
    for row in range(count):
        curve[row] = root(curve, row)
    return curve, len(left_over) > 0


@leaf_kernel
def area_vector(ends, curve, which):
    """1/2 integral of x cross dx along one curve: (vector, length of the curve, its middle)."""
    length = 0.0
    middle = ZERO
    for row in range(len(ends)):
        if curve[row] == which:
            p, q = vec(ends[row], ONE), vec(ends[row], OTHER)
            step = np.sqrt(distance2(q, p))
            length += step
            middle = advanced(middle, 0.5 * step, add(p, q))
    if length == 0.0:
        return ZERO, 0.0, ZERO
    middle = divided(middle, length)
    vector = ZERO
    for row in range(len(ends)):
        if curve[row] == which:
            vector = advanced(vector, 0.5, cross(sub(vec(ends[row], ONE), middle), sub(vec(ends[row], OTHER), middle)))
    return vector, length, middle


@kernel_part
def out_of_sheet(pair, vector, middle):
    """The sign that makes an area vector lead from the first surface to the second where one is a sheet."""
    if pair.first.solid and pair.second.solid:
        return 1.0
    # the middle of the other body's bounds
    of_first = pair.first.solid
    box = side_of(pair, of_first).surface.boxes[0]
    centre = point_in_pair(pair, of_first, (0.5 * (box[0] + box[3]), 0.5 * (box[1] + box[4]), 0.5 * (box[2] + box[5])))
    sign = -1.0 if of_first else 1.0
    return sign if dot(vector, sub(centre, middle)) >= 0.0 else -sign


@kernel_part
def depth_of(pair, ends, keys, curve, which, normal, search):
    """How deep the surfaces overlap within a curve with a normal, in m.

    That is how far the deepest point of one solid's surface is from the other's. Of a sheet, and of solids where no such point
    is found, how far the curve reaches along the normal.
    """
    farthest, nearest = -np.inf, np.inf
    for row in range(len(ends)):
        if curve[row] == which:
            for end in range(2):
                along = dot(normal, vec(ends[row], end))
                farthest, nearest = max(farthest, along), min(nearest, along)
    shallow = DEEPEST * pair.at.scale
    inside = deepest_inside(pair, ends, keys, curve, which, shallow, farthest - nearest < shallow, search)
    if inside > 0.0 and pair.first.solid and pair.second.solid:
        return inside
    for row in range(len(ends)):
        if curve[row] != which:
            continue
        for end in range(2):
            of_first, e = keys[row, end, 0] == 1, keys[row, end, 1]
            if side_of(pair, not of_first).surface.solid:
                continue
            own = side_of(pair, of_first)
            for k in range(2):
                along = dot(normal, vec(own.vertices, own.surface.edges[e, k]))
                if of_first:
                    farthest = max(farthest, along)
                else:
                    nearest = min(nearest, along)
    return max(farthest - nearest, inside)


@leaf_kernel
def write_normals(table, meeting, ends, curve, ways):
    """Writes the normal and the area of each curve into its row of ways (k, 4), the area 0 where it has no normal. Returns
    whether one has none, and the least cosine between two, 1 unless both bodies are solids."""
    pair = pair_of(table, meeting)
    unclear, cosine = False, 1.0
    for row in range(len(ends)):
        if curve[row] != row:
            continue
        vector, length, middle = area_vector(ends, curve, row)
        area = norm(vector)
        if area <= THIN * length * length:
            ways[row, 3] = 0.0
            unclear = True
            continue
        set_vec(ways, row, scaled(out_of_sheet(pair, vector, middle) / area, vector))
        ways[row, 3] = area
        for k in range(row):
            if curve[k] == k and ways[k, 3] > 0.0 and pair.first.solid and pair.second.solid:
                cosine = min(cosine, dot(vec(ways, k), vec(ways, row)))
    return unclear, cosine


@kernel_part
def goes_around_surface(pair, middle, radius):
    """Whether the middle of a curve is no farther than the radius from either surface."""
    if is_nearer(pair.first, middle, radius, pair.at.stack):
        return True
    return is_nearer(pair.second, point_in_axes_of(pair, FALSE, middle), radius, pair.at.stack)


@inlined_kernel
def bounds_overlap(curve, overlap, ways, row, which):
    """Whether a row is the first of a curve that has a normal and is one of those around an overlap."""
    return curve[row] == row and overlap[row] == which and ways[row, 3] > 0.0


@leaf_kernel
def write_ways(table, meeting, ends, keys, curve, overlap, ways, search):
    """Writes the depth of each curve that has a normal over its area (see `write_normals`); where the curves of an overlap (k,)
    oppose each other, the one way out of it into the rows of them all."""
    pair = pair_of(table, meeting)
    for which in range(len(ends)):
        if overlap[which] == which:
            write_way_out(pair, ends, keys, curve, overlap, which, ways, search)


@kernel_part
def write_way_out(pair, ends, keys, curve, overlap, which, ways, search):
    """As `write_ways`, of one overlap."""
    shallow = SHALLOW * max(pair.first.tolerance, pair.second.tolerance)
    shared = ways[len(ways) - 1]
    total_vector = ZERO
    total = deepest = around = 0.0
    for row in range(which, len(ends)):
        if bounds_overlap(curve, overlap, ways, row, which):
            _, length, _ = area_vector(ends, curve, row)
            area, around = ways[row, 3], around + length
            total_vector = advanced(total_vector, area, vec(ways, row))
            total += area
            ways[row, 3] = depth_of(pair, ends, keys, curve, row, vec(ways, row), search)
            deepest = max(deepest, ways[row, 3])
    length = norm(total_vector)
    cancelled, opposed = length < CANCELLED * min(total, deepest * around), False
    is_passage = cancelled and deepest > shallow
    for row in range(which, len(ends)):
        if bounds_overlap(curve, overlap, ways, row, which):
            if is_passage:
                _, _, middle = area_vector(ends, curve, row)
                is_passage = goes_around_surface(pair, middle, FILLED * deepest)
            opposed = opposed or dot(total_vector, vec(ways, row)) < OPPOSED * length
    if is_passage:
        shared[3] = np.inf
        shorter_way_along_axes(pair, shared)
        for row in range(which, len(ends)):
            if bounds_overlap(curve, overlap, ways, row, which):
                shorter_way_out_of_curve(pair, ends, keys, curve, row, vec(ways, row), shared)
    elif opposed and not cancelled:
        shared[0], shared[1], shared[2] = divided(total_vector, length)
        shared[3] = deepest
    else:
        return
    for row in range(which, len(ends)):
        if bounds_overlap(curve, overlap, ways, row, which):
            for k in range(4):
                ways[row, k] = shared[k]


@leaf_kernel
def add_crossing(pair, ends, keys, row, way, out):
    """Adds the contact of a crossing, with the way out (4,)."""
    of_first, e, face = keys[row, 0, 0] == 1, keys[row, 0, 1], keys[row, 0, 2]
    patch = side_of(pair, not of_first).surface.patch[face]
    feature = pair_feature(pair, EDGE_FACE, FACE_EDGE, of_first, e, patch)
    add_mesh_contact(pair, out, vec(ends[row], ONE), (way[0], way[1], way[2]), -way[3], feature)


@leaf_kernel
def add_curves(table, meeting, ends, keys, curve, with_normal, ways, out):
    """Adds the contacts of all curves that have a normal, but those no deeper than noise: there features touch."""
    pair = pair_of(table, meeting)
    for row in range(len(ends)):
        if with_normal[curve[row]] and ways[curve[row], 3] > pair.at.noise:
            add_crossing(pair, ends, keys, row, ways[curve[row]], out)


@kernel_part
def with_crossings(table, meeting, crossed, found):
    """Contacts that features have made, in a `Buffer`, with those of curves in the place of what overlaps there; whether there
    was a curve without a normal, and whether one was torn. crossed: rows (k, 2) of triangles that cross."""
    ends, keys = np.empty((len(crossed), 2, 3)), np.zeros((len(crossed), 2, 3), np.int64)
    fill_crossings(table, meeting, crossed, ends, keys)
    tolerance = SHALLOW * max(table.tolerance[meeting.first], table.tolerance[meeting.second])
    curve, is_torn = curves(ends, keys, tolerance)
    # the last row is for the way that curves share
    ways = np.zeros((len(crossed) + 1, 4))
    unclear, cosine = write_normals(table, meeting, ends, curve, ways)
    with_normal = ways[:, 3] > 0.0
    on_edges = edge_ends(keys)
    search = search_of(table, meeting, on_edges, keys, is_torn)
    overlap = overlap_of_each_curve(table, meeting, ends, keys, on_edges, curve) if cosine < OPPOSED else curve
    write_ways(table, meeting, ends, keys, curve, overlap, ways, search)
    out = buffer(len(crossed))
    add_curves(table, meeting, ends, keys, curve, with_normal, ways, out)
    leave_out_overlaps(found, meeting.noise)
    return joined(found, out), unclear, is_torn


@leaf_kernel
def add_passage(table, meeting, ends, keys, way, out):
    """Adds the crossings where edges pass through faces, with the shortest way (4,) out."""
    pair = pair_of(table, meeting)
    way[3] = np.inf
    for row in range(len(ends)):
        if passes(pair, ends, keys, row):
            if way[3] == np.inf:
                shorter_way_along_axes(pair, way)
            for end in range(2):
                if keys[row, end, 0] == 0:
                    shorter_way_out_of_face(pair, ends[row, end], keys[row, end, 2], way)
    for row in range(len(ends)):
        if passes(pair, ends, keys, row):
            add_crossing(pair, ends, keys, row, way, out)


@kernel_part
def with_passage(table, meeting, crossed, found):
    """Contacts in a `Buffer` with those of crossings that bound no volume: of a sheet or a segment that passes right through,
    so that neither curves nor vertices tell of it. The other arguments are those of `with_crossings`."""
    ends, keys = np.empty((len(crossed), 2, 3)), np.zeros((len(crossed), 2, 3), np.int64)
    fill_crossings(table, meeting, crossed, ends, keys)
    out = buffer(len(crossed))
    add_passage(table, meeting, ends, keys, np.empty(4), out)
    return joined(found, out)
