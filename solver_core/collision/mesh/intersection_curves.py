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
from ..polyhedra.several_axes import MAX_DEPTH_RATIO
from .buffer import drop_overlaps, joined_buffers, new_buffer
from .crossings import FIRST_END, SECOND_END, write_intersections
from .deepest_point import deepest_inside, search_of
from .mesh_pair import add_mesh_contact, pair_feature, pair_of, point_to_pair, point_to_surface, surface_of
from .pass_through import (
    ends_by_edge,
    label_overlaps,
    min_exit_along_axes,
    min_exit_of_curve,
    min_exit_of_face,
    pierces,
)
from .queries import has_point_within

__all__ = ["OPPOSED", "label_curves", "with_curve_contacts", "with_pass_through_contacts"]

# Of the square of a curve's length: the area vector of what goes around next to nothing tells nothing.
MIN_AREA_RATIO = 1e-7
FACE_KEY_STRIDE = 1 << 30
# Cosine below which two curves may be those of one passage. They cancel up to this part of their areas, or of what is between
# curves as far apart as the overlap is deep: two rings that lie on each other overlap between two circles.
OPPOSED = -0.5
CANCELLATION_RATIO = 0.3
# In tolerances of the surfaces: what is no deeper than this touches.
SHALLOW_IN_TOLERANCES = 10.0
# In depths of the overlap: the middle of a passage is no farther from a surface; that of a hole which something fills is.
PASSAGE_RADIUS_RATIO = 3.0


@inner_kernel
def label_curves(ends, keys, tolerance):
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
        code[row] = (2 * key[1] + key[0]) * FACE_KEY_STRIDE + key[2]
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
def area_vector(ends, curve, curve_id):
    """1/2 integral of x cross dx along one curve: (vector, length of the curve, its middle)."""
    length = 0.0
    middle = ZERO
    for row in range(len(ends)):
        if curve[row] == curve_id:
            p, q = vec(ends[row], FIRST_END), vec(ends[row], SECOND_END)
            step = np.sqrt(distance2(q, p))
            length += step
            middle = advanced(middle, 0.5 * step, add(p, q))
    if length == 0.0:
        return ZERO, 0.0, ZERO
    middle = divided(middle, length)
    vector = ZERO
    for row in range(len(ends)):
        if curve[row] == curve_id:
            vector = advanced(
                vector, 0.5, cross(sub(vec(ends[row], FIRST_END), middle), sub(vec(ends[row], SECOND_END), middle))
            )
    return vector, length, middle


@kernel_part
def sheet_orientation(pair, vector, middle):
    """The sign that makes an area vector lead from the first surface to the second where one is a sheet."""
    if pair.first.solid and pair.second.solid:
        return 1.0
    # the middle of the other body's bounds
    of_first = pair.first.solid
    box = surface_of(pair, of_first).surface.boxes[0]
    center = point_to_pair(pair, of_first, (0.5 * (box[0] + box[3]), 0.5 * (box[1] + box[4]), 0.5 * (box[2] + box[5])))
    sign = -1.0 if of_first else 1.0
    return sign if dot(vector, sub(center, middle)) >= 0.0 else -sign


@kernel_part
def curve_depth(pair, ends, keys, curve, curve_id, normal, search):
    """How deep the surfaces overlap within a curve with a normal, in m.

    That is how far the deepest point of one solid's surface is from the other's. Of a sheet, and of solids where no such point
    is found, how far the curve reaches along the normal.
    """
    farthest, nearest = -np.inf, np.inf
    for row in range(len(ends)):
        if curve[row] == curve_id:
            for end in range(2):
                along = dot(normal, vec(ends[row], end))
                farthest, nearest = max(farthest, along), min(nearest, along)
    shallow = MAX_DEPTH_RATIO * pair.query.scale
    inside = deepest_inside(pair, ends, keys, curve, curve_id, shallow, farthest - nearest < shallow, search)
    if inside > 0.0 and pair.first.solid and pair.second.solid:
        return inside
    for row in range(len(ends)):
        if curve[row] != curve_id:
            continue
        for end in range(2):
            of_first, e = keys[row, end, 0] == 1, keys[row, end, 1]
            if surface_of(pair, not of_first).surface.solid:
                continue
            own = surface_of(pair, of_first)
            for k in range(2):
                along = dot(normal, vec(own.vertices, own.surface.edges[e, k]))
                if of_first:
                    farthest = max(farthest, along)
                else:
                    nearest = min(nearest, along)
    return max(farthest - nearest, inside)


@leaf_kernel
def write_normals(table, query, ends, curve, exits):
    """Writes the normal and the area of each curve into its row of ways (k, 4), the area 0 where it has no normal. Returns
    whether one has none, and the least cosine between two, 1 unless both bodies are solids."""
    pair = pair_of(table, query)
    has_undefined_normal, cosine = False, 1.0
    for row in range(len(ends)):
        if curve[row] != row:
            continue
        vector, length, middle = area_vector(ends, curve, row)
        area = norm(vector)
        if area <= MIN_AREA_RATIO * length * length:
            exits[row, 3] = 0.0
            has_undefined_normal = True
            continue
        set_vec(exits, row, scaled(sheet_orientation(pair, vector, middle) / area, vector))
        exits[row, 3] = area
        for k in range(row):
            if curve[k] == k and exits[k, 3] > 0.0 and pair.first.solid and pair.second.solid:
                cosine = min(cosine, dot(vec(exits, k), vec(exits, row)))
    return has_undefined_normal, cosine


@kernel_part
def goes_around_surface(pair, middle, radius):
    """Whether the middle of a curve is no farther than the radius from either surface."""
    if has_point_within(pair.first, middle, radius, pair.query.stack):
        return True
    return has_point_within(pair.second, point_to_surface(pair, FALSE, middle), radius, pair.query.stack)


@inlined_kernel
def is_curve_of_overlap(curve, overlap, exits, row, curve_id):
    """Whether a row is the first of a curve that has a normal and is one of those around an overlap."""
    return curve[row] == row and overlap[row] == curve_id and exits[row, 3] > 0.0


@leaf_kernel
def write_exits(table, query, ends, keys, curve, overlap, exits, search):
    """Writes the depth of each curve that has a normal over its area (see `write_normals`); where the curves of an overlap (k,)
    oppose each other, the one way out of it into the rows of them all."""
    pair = pair_of(table, query)
    for curve_id in range(len(ends)):
        if overlap[curve_id] == curve_id:
            write_overlap_exit(pair, ends, keys, curve, overlap, curve_id, exits, search)


@kernel_part
def write_overlap_exit(pair, ends, keys, curve, overlap, curve_id, exits, search):
    """As `write_ways`, of one overlap."""
    shallow = SHALLOW_IN_TOLERANCES * max(pair.first.tolerance, pair.second.tolerance)
    shared_exit = exits[len(exits) - 1]
    total_vector = ZERO
    total = deepest = around = 0.0
    for row in range(curve_id, len(ends)):
        if is_curve_of_overlap(curve, overlap, exits, row, curve_id):
            _, length, _ = area_vector(ends, curve, row)
            area, around = exits[row, 3], around + length
            total_vector = advanced(total_vector, area, vec(exits, row))
            total += area
            exits[row, 3] = curve_depth(pair, ends, keys, curve, row, vec(exits, row), search)
            deepest = max(deepest, exits[row, 3])
    length = norm(total_vector)
    cancelled, opposed = length < CANCELLATION_RATIO * min(total, deepest * around), False
    is_passage = cancelled and deepest > shallow
    for row in range(curve_id, len(ends)):
        if is_curve_of_overlap(curve, overlap, exits, row, curve_id):
            if is_passage:
                _, _, middle = area_vector(ends, curve, row)
                is_passage = goes_around_surface(pair, middle, PASSAGE_RADIUS_RATIO * deepest)
            opposed = opposed or dot(total_vector, vec(exits, row)) < OPPOSED * length
    if is_passage:
        shared_exit[3] = np.inf
        min_exit_along_axes(pair, shared_exit)
        for row in range(curve_id, len(ends)):
            if is_curve_of_overlap(curve, overlap, exits, row, curve_id):
                min_exit_of_curve(pair, ends, keys, curve, row, vec(exits, row), shared_exit)
    elif opposed and not cancelled:
        shared_exit[0], shared_exit[1], shared_exit[2] = divided(total_vector, length)
        shared_exit[3] = deepest
    else:
        return
    for row in range(curve_id, len(ends)):
        if is_curve_of_overlap(curve, overlap, exits, row, curve_id):
            for k in range(4):
                exits[row, k] = shared_exit[k]


@leaf_kernel
def append_intersection(pair, ends, keys, row, exit_translation, out):
    """Adds the contact of a crossing, with the way out (4,)."""
    of_first, e, face = keys[row, 0, 0] == 1, keys[row, 0, 1], keys[row, 0, 2]
    patch = surface_of(pair, not of_first).surface.patch[face]
    feature = pair_feature(pair, EDGE_FACE, FACE_EDGE, of_first, e, patch)
    add_mesh_contact(
        pair,
        out,
        vec(ends[row], FIRST_END),
        (exit_translation[0], exit_translation[1], exit_translation[2]),
        -exit_translation[3],
        feature,
    )


@leaf_kernel
def append_curves(table, query, ends, keys, curve, with_normal, exits, out):
    """Adds the contacts of all curves that have a normal, but those no deeper than noise: there features touch."""
    pair = pair_of(table, query)
    for row in range(len(ends)):
        if with_normal[curve[row]] and exits[curve[row], 3] > pair.query.noise:
            append_intersection(pair, ends, keys, row, exits[curve[row]], out)


@kernel_part
def with_curve_contacts(table, query, intersecting, found):
    """Contacts that features have made, in a `Buffer`, with those of curves in the place of what overlaps there; whether there
    was a curve without a normal, and whether one was torn. crossed: rows (k, 2) of triangles that cross."""
    ends, keys = np.empty((len(intersecting), 2, 3)), np.zeros((len(intersecting), 2, 3), np.int64)
    write_intersections(table, query, intersecting, ends, keys)
    tolerance = SHALLOW_IN_TOLERANCES * max(table.tolerance[query.first], table.tolerance[query.second])
    curve, is_torn = label_curves(ends, keys, tolerance)
    # the last row is for the way that curves share
    exits = np.zeros((len(intersecting) + 1, 4))
    has_undefined_normal, cosine = write_normals(table, query, ends, curve, exits)
    with_normal = exits[:, 3] > 0.0
    by_edge = ends_by_edge(keys)
    search = search_of(table, query, by_edge, keys, is_torn)
    overlap = label_overlaps(table, query, ends, keys, by_edge, curve) if cosine < OPPOSED else curve
    write_exits(table, query, ends, keys, curve, overlap, exits, search)
    out = new_buffer(len(intersecting))
    append_curves(table, query, ends, keys, curve, with_normal, exits, out)
    drop_overlaps(found, query.noise)
    return joined_buffers(found, out), has_undefined_normal, is_torn


@leaf_kernel
def append_pass_through(table, query, ends, keys, exit_translation, out):
    """Adds the crossings where edges pass through faces, with the shortest way (4,) out."""
    pair = pair_of(table, query)
    exit_translation[3] = np.inf
    for row in range(len(ends)):
        if pierces(pair, ends, keys, row):
            if exit_translation[3] == np.inf:
                min_exit_along_axes(pair, exit_translation)
            for end in range(2):
                if keys[row, end, 0] == 0:
                    min_exit_of_face(pair, ends[row, end], keys[row, end, 2], exit_translation)
    for row in range(len(ends)):
        if pierces(pair, ends, keys, row):
            append_intersection(pair, ends, keys, row, exit_translation, out)


@kernel_part
def with_pass_through_contacts(table, query, intersecting, found):
    """Contacts in a `Buffer` with those of crossings that bound no volume: of a sheet or a segment that passes right through,
    so that neither curves nor vertices tell of it. The other arguments are those of `with_crossings`."""
    ends, keys = np.empty((len(intersecting), 2, 3)), np.zeros((len(intersecting), 2, 3), np.int64)
    write_intersections(table, query, intersecting, ends, keys)
    out = new_buffer(len(intersecting))
    append_pass_through(table, query, ends, keys, np.empty(4), out)
    return joined_buffers(found, out)
