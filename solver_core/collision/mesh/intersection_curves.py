# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of surfaces that intersect, where the closest features no longer define the outside.

Triangles of two solids A and B intersect along closed curves. The part S of the surface of A that is inside B has the area
vector

    N = integral over S of n dA = 1/2 integral along its border of x cross dx        (Stokes)

A translation of B by d changes the common volume by -N . d, so the volume decreases fastest along N, however the surfaces are
triangulated. So each curve has one normal, and the points of the curve are its contacts. The depth of the overlap is that of
the deepest point of one surface inside the other solid. A sheet has no inside; there the center of the other body's bounds
decides the sign of the normal.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import FALSE, inlined_kernel, inner_kernel, kernel_part, leaf_kernel
from ...linalg.disjoint_sets import join, root
from ...linalg.vec3 import ZERO, add, advanced, cross, distance2, divided, dot, norm, scaled, set_vec, sub, vec
from ..contact_buffer import ensure_capacity, keep_gaps
from ..manifold import EDGE_FACE, FACE_EDGE
from ..polyhedra.several_axes import MAX_DEPTH_RATIO
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

# Relative to the squared length of a curve: a smaller area vector does not define a normal.
MIN_AREA_RATIO = 1e-7
FACE_KEY_STRIDE = 1 << 30
# Largest cosine between the normals of the two curves where one body passes through another.
OPPOSED = -0.5
# The area vectors of an overlap cancel if their sum is below this fraction of the sum of their areas, or of the product of
# depth and length of the curves if that is less. The product covers two rings on each other, which overlap between two circles.
CANCELLATION_RATIO = 0.3
# In tolerances of the surfaces: no deeper overlap counts as a passage.
SHALLOW_IN_TOLERANCES = 10.0
# In depths of the overlap: the center of a passage is this near a surface. The center of a filled hole is farther away.
PASSAGE_RADIUS_RATIO = 3.0
# In sizes of the smaller body: points of a curve this near to each other are one contact. A corner that overlaps by a
# micrometer has a curve of six points within a few micrometers. As contacts of their own they share a load in no definite way,
# and Newton's method exchanges it between them. With a larger ratio the torque of a load is wrong by as much.
SAME_POINT_RATIO = 1e-4


@inner_kernel
def label_curves(ends, keys, tolerance):
    """Join intersection segments with common ends to curves.

    An edge that passes through an edge of the other surface may miss both neighboring faces by rounding. So ends that no other
    segment shares are joined to other such ends within the tolerance.

    ends, keys: (k, 2, 3) as in `intersect_triangles`. tolerance: [m].

    Returns the curve (k,) of each segment, which is the index of its first segment, and whether an end was not shared.
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
    """Return 1/2 integral of x cross dx along a curve [m^2], the length of the curve [m], and its center [m]."""
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
    """Return the sign that makes an area vector point from the first surface to the second one if one of them is a sheet; else
    1.0.
    """
    if pair.first.solid and pair.second.solid:
        return 1.0
    # The center of the bounds of the other body.
    of_first = pair.first.solid
    box = surface_of(pair, of_first).surface.boxes[0]
    center = point_to_pair(pair, of_first, (0.5 * (box[0] + box[3]), 0.5 * (box[1] + box[4]), 0.5 * (box[2] + box[5])))
    sign = -1.0 if of_first else 1.0
    return sign if dot(vector, sub(center, middle)) >= 0.0 else -sign


@kernel_part
def curve_depth(pair, ends, keys, curve, curve_id, normal, search):
    """Return the depth of the overlap within a curve [m].

    For two solids it is the depth of the deepest point of one surface inside the other. For a sheet, and for solids without
    such a point, it is the extent of the curve along the normal.
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
    """Write the normal and the area [m^2] of each curve to its row of exits (k + 1, 4).

    The area is 0 for a curve without a normal.

    Returns whether a curve has no normal, and the smallest cosine between two normals, which is 1 unless both bodies are
    solids.
    """
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
    """Return True if the center of a curve is within a radius [m] of either surface."""
    if has_point_within(pair.first, middle, radius, pair.query.stack):
        return True
    return has_point_within(pair.second, point_to_surface(pair, FALSE, middle), radius, pair.query.stack)


@inlined_kernel
def is_curve_of_overlap(curve, overlap, exits, row, curve_id):
    """Return True if a row is the first of a curve with a normal that belongs to overlap `curve_id`."""
    return curve[row] == row and overlap[row] == curve_id and exits[row, 3] > 0.0


@leaf_kernel
def write_exits(table, query, ends, keys, curve, overlap, exits, search):
    """Replace the area of each curve with a normal by the depth of its overlap [m] (see `write_normals`).

    If curves of one overlap have opposed normals, all of them get one common exit translation.

    overlap: (k,) overlap of each segment. exits: (k + 1, 4) direction and length.
    """
    pair = pair_of(table, query)
    for curve_id in range(len(ends)):
        if overlap[curve_id] == curve_id:
            write_overlap_exit(pair, ends, keys, curve, overlap, curve_id, exits, search)


@kernel_part
def write_overlap_exit(pair, ends, keys, curve, overlap, curve_id, exits, search):
    """Do the work of `write_exits` for one overlap."""
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
    """Append the first end of an intersection segment as a contact. exit_translation: (4,) direction, and depth [m]."""
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
def merge_points(ends, curve, order, radius, owner):
    """Replace the points of a curve within a radius of each other [m] by their mean.

    The points of a curve are the first ends of its segments.

    order: (k,) segments, sorted by the first coordinate of their points.
    owner: (k,) output, for each segment the first segment of its mean. Only that one keeps a point.
    """
    owner[:] = -1
    for i in range(len(order)):
        row = order[i]
        if owner[row] >= 0:
            continue
        point, total, count, first, end = vec(ends[row], FIRST_END), ZERO, 0, row, i
        while end < len(order) and ends[order[end], FIRST_END, 0] - point[0] <= radius:
            other = order[end]
            end += 1
            is_near = distance2(vec(ends[other], FIRST_END), point) <= radius * radius
            if curve[other] == curve[row] and owner[other] < 0 and is_near:
                owner[other] = row
                total, count, first = add(total, vec(ends[other], FIRST_END)), count + 1, min(first, other)
        if count == 1:
            continue
        for k in range(i, end):
            if owner[order[k]] == row:
                owner[order[k]] = first
        set_vec(ends[first], FIRST_END, divided(total, float(count)))


@leaf_kernel
def append_curves(table, query, ends, keys, curve, is_contact, exits, out):
    """Append the contacts of all curves that are deeper than the noise.

    Shallower ones are contacts of features.

    is_contact: (k,) segments with a normal whose first end is a contact.
    """
    pair = pair_of(table, query)
    for row in range(len(ends)):
        if is_contact[row] and exits[curve[row], 3] > pair.query.noise:
            append_intersection(pair, ends, keys, row, exits[curve[row]], out)


@kernel_part
def with_curve_contacts(table, query, intersecting, found):
    """Replace overlaps in the contacts of features by the contacts of curves.

    intersecting: (k, 2) pairs of triangles that intersect. found: `ContactBuffer` of the features.

    Returns a `ContactBuffer`, whether a curve has no normal, and whether an end of a curve was not shared.
    """
    ends, keys = np.empty((len(intersecting), 2, 3)), np.zeros((len(intersecting), 2, 3), np.int64)
    write_intersections(table, query, intersecting, ends, keys)
    tolerance = SHALLOW_IN_TOLERANCES * max(table.tolerance[query.first], table.tolerance[query.second])
    curve, is_torn = label_curves(ends, keys, tolerance)
    # The last row is storage for the exit that several curves share.
    exits = np.zeros((len(intersecting) + 1, 4))
    has_undefined_normal, cosine = write_normals(table, query, ends, curve, exits)
    with_normal = exits[:, 3] > 0.0
    by_edge = ends_by_edge(keys)
    search = search_of(table, query, by_edge, keys, is_torn)
    overlap = label_overlaps(table, query, ends, keys, by_edge, curve) if cosine < OPPOSED else curve
    write_exits(table, query, ends, keys, curve, overlap, exits, search)
    keep_gaps(found, -query.noise, np.inf)
    out = ensure_capacity(found, len(intersecting))
    order, owner = np.argsort(ends[:, FIRST_END, 0], kind="mergesort"), np.empty(len(ends), np.int64)
    merge_points(ends, curve, order, SAME_POINT_RATIO * query.scale, owner)
    is_contact = with_normal[curve] & (owner == np.arange(len(ends)))
    append_curves(table, query, ends, keys, curve, is_contact, exits, out)
    return out, has_undefined_normal, is_torn


@leaf_kernel
def append_pass_through(table, query, ends, keys, exit_translation, out):
    """Append the intersections where edges pass through faces, with the shortest exit translation.

    exit_translation: (4,) work array.
    """
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
    """Return the contacts with those of intersections that enclose no volume, such as a sheet or a segment through a surface.

    The arguments are those of `with_curve_contacts`.
    """
    ends, keys = np.empty((len(intersecting), 2, 3)), np.zeros((len(intersecting), 2, 3), np.int64)
    write_intersections(table, query, intersecting, ends, keys)
    out = ensure_capacity(found, len(intersecting))
    append_pass_through(table, query, ends, keys, np.empty(4), out)
    return out
