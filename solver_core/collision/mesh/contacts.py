# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of meshes: with each other, with convex cores, whose surfaces are triangulated too, and with half-spaces.

The trees of two surfaces are walked together down to the triangles that come near each other, and every feature is tested in
the one triangle that owns it. Where surfaces cross, the curves show the overlap (`intersection_curves`). Where one is inside
of the other, every vertex that the other one's winding number has inside is a contact with the closest point of that surface.
What passes right through without either is a contact along the shortest way out.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import FALSE, TRUE, inlined_kernel, inner_kernel, kernel_part, leaf_kernel
from ...linalg.vec3 import add, advanced, divided, dot, midpoint, rotated, rotated_back, scaled, set_vec, sub, vec
from ..half_space import height_of_box, height_over
from ..manifold import FACE_VERTEX, VERTEX_FACE, feature_id
from ..polyhedra.several_axes import DEEPEST, FARTHEST, LONGEST, margin_of
from .buffer import add_to, buffer, enlarged, least_gap, leave_out_beyond, one_a_feature
from .crossings import Crossed, note_if_crossing
from .features import edge_edge, vertex_edge, vertex_face, vertex_vertex
from .intersection_curves import OPPOSED, with_crossings, with_passage
from .mesh_pair import (
    Meeting,
    add_mesh_contact,
    in_pair_axes,
    may_penetrate,
    pair_feature,
    pair_of,
    point_in_axes_of,
    point_in_pair,
    side_contains,
    side_of,
)
from .near_triangles import near_triangles, within
from .queries import closest_on_surface, is_inside, own_view, triangle_corners
from .set_in import LARGER, LARGEST_MARGIN, set_in
from .still_near import covers, still_near
from .walks import Walk
from .within_reach import clearance, features_in_reach, heights_of, low_corners, on_both_sides

__all__ = ["plane_surface_contacts", "surface_contacts"]

# Cosine between a sheet's normal and the way to a vertex that is beyond it and not beside its border.
BEYOND_SHEET = 0.7
ANY_VERTEX = NOTHING = np.int64(0)
# The bits of the corners in what a triangle owns.
OWNED_CORNERS = 7
# Contacts that two triangles can have: 6 of a corner and a face, 9 of corners, 18 of a corner and an edge, 9 of edges.
MOST_OF_TRIANGLES = 42


@inlined_kernel
def triangle_contacts(pair, f, g, out):
    """Adds the contacts of all that triangle f of the first and g of the second surface own, at most MOST_OF_TRIANGLES; returns
    whether the triangles may cross, and up to which limit in m they have no contact (`clearance`)."""
    a, b, limit = pair.first, pair.second, pair.at.limit
    p, q = triangle_corners(a.vertices, a.triangles[f]), triangle_corners(pair.at.vertices, b.triangles[g])
    over_f = heights_of(q, vec(a.normals, f), p[0])
    over_g = heights_of(p, in_pair_axes(pair, FALSE, b.normals[g]), q[0])
    clear = clearance(over_f, over_g, a.owned[f], b.owned[g])
    if clear > limit:
        return False, clear
    # a face bounds what is beside it in a valley too, so of corners and faces only the height decides
    of_f, of_g = a.owned[f] & low_corners(over_g, limit), b.owned[g] & low_corners(over_f, limit)
    if (of_f | of_g) != 0:
        for i in range(3):
            if of_f & (1 << i):
                vertex_face(pair, TRUE, a.triangles[f, i], g, out)
            if of_g & (1 << i):
                vertex_face(pair, FALSE, b.triangles[g, i], f, out)
    of_f = a.owned[f] & features_in_reach(p, over_g, q, limit)
    of_g = b.owned[g] & features_in_reach(q, over_f, p, limit)
    if of_f != 0 and of_g != 0:
        border_contacts(pair, f, g, of_f, of_g, out)
    is_segment = b.triangles[g, 1] == b.triangles[g, 2]
    return on_both_sides(over_f) and (is_segment or on_both_sides(over_g)), clear


@inlined_kernel
def border_contacts(pair, f, g, of_f, of_g, out):
    """Adds the contacts of those corners and edges of two triangles with each other whose bits are in `of_f` and `of_g`."""
    a, b = pair.first, pair.second
    for i in range(3):
        for k in range(3):
            if of_f & (1 << i) and of_g & (8 << k):
                vertex_edge(pair, TRUE, a.triangles[f, i], b.triangle_edges[g, k], out)
            if of_f & (8 << k) and of_g & (1 << i):
                vertex_edge(pair, FALSE, b.triangles[g, i], a.triangle_edges[f, k], out)
            if of_f & (1 << i) and of_g & (1 << k):
                vertex_vertex(pair, a.triangles[f, i], b.triangles[g, k], out)
            if of_f & (8 << i) and of_g & (8 << k):
                edge_edge(pair, a.triangle_edges[f, i], b.triangle_edges[g, k], out)


@leaf_kernel
def penetrating_vertices(pair, of_first, out):
    """Adds a contact for every corner of the first surface (of_first), else of the second, on the wrong side of the other one.

    That is inside of a solid; or, where the other one is a sheet, beyond it, not beside its border, and with the inside of its
    own solid on this side. All is in the axes of the other one.
    """
    owner, other = side_of(pair, of_first).surface, side_of(pair, not of_first).surface
    box = other.boxes[0]
    size = abs(box[3] - box[0]) + abs(box[4] - box[1]) + abs(box[5] - box[2])
    for v in range(len(owner.vertices)):
        if not owner.corner[v]:
            continue
        point = point_in_axes_of(pair, not of_first, vec(side_of(pair, of_first).vertices, v))
        if other.solid and not is_inside(other, point, pair.at.stack):
            continue
        radius = size if other.solid else owner.depth[v]
        squared, f, closest = closest_on_surface(other, point, radius, 0.0, pair.at.stack)
        depth = np.sqrt(squared)
        if f < 0 or depth <= pair.at.noise:
            continue
        normal = divided(sub(closest, point), depth)
        if not other.solid:
            if abs(dot(normal, vec(other.normals, f))) < BEYOND_SHEET:
                continue
            outwards = vec(owner.vertex_normals, v)
            outwards = rotated_back(pair.at.turn, outwards) if of_first else rotated(pair.at.turn, outwards)
            if -owner.depth[v] * dot(normal, outwards) <= depth:
                continue
        feature = pair_feature(pair, VERTEX_FACE, FACE_VERTEX, of_first, v, other.patch[f])
        middle = point_in_pair(pair, not of_first, midpoint(closest, point))
        from_first = in_pair_axes(pair, not of_first, scaled(-1.0 if of_first else 1.0, normal))
        add_mesh_contact(pair, out, middle, from_first, -depth, feature)


@leaf_kernel
def first_lies_inside(table, meeting):
    """Whether the first vertex of one surface is inside of the other one."""
    pair = pair_of(table, meeting)
    if pair.first.solid and side_contains(pair, side_of(pair, TRUE), vec(meeting.vertices, ANY_VERTEX)):
        return True
    return pair.second.solid and side_contains(pair, side_of(pair, FALSE), vec(pair.first.vertices, ANY_VERTEX))


@leaf_kernel
def some_contacts(table, meeting, rows, row, out, crossed, clear):
    """Adds the contacts of rows of triangles from one on, and which of them are `Crossed`, until there may be no room for the
    contacts of the next: the row at which it stopped. clear: (k,) for what is clear of each row, or (0,)."""
    pair, is_kept = pair_of(table, meeting), len(clear) > 0
    while row < len(rows) and out.used[0] + MOST_OF_TRIANGLES <= len(out.gap):
        f, g = rows[row, 0], rows[row, 1]
        may_cross, clear_of = triangle_contacts(pair, f, g, out)
        if may_cross:
            note_if_crossing(pair, f, g, row, crossed)
        if is_kept:
            clear[row] = clear_of
        row += 1
    return row


@leaf_kernel
def are_solids(table, meeting):
    """Whether both surfaces are closed and more than a point or a segment."""
    pair = pair_of(table, meeting)
    return pair.first.solid and pair.second.solid and not may_penetrate(pair)


@inner_kernel
def all_triangle_contacts(table, meeting, rows, clear):
    """The contacts of rows (k, 2) of triangles, a `Buffer`, and those rows whose triangles cross; the `clearance` of each into
    clear (k,), if it is not (0,)."""
    out = buffer(128)
    crossed = Crossed(np.empty(len(rows), np.int64), np.zeros(1, np.int64), np.empty((2, 3)), np.empty((2, 3), np.int64))
    row = some_contacts(table, meeting, rows, NOTHING, out, crossed, clear)
    while row < len(rows):
        out = enlarged(out, out.used[0], 4 * len(out.gap))
        row = some_contacts(table, meeting, rows, row, out, crossed, clear)
    return out, rows[crossed.rows[: crossed.used[0]]]


@leaf_kernel
def penetrating_contacts(table, meeting, out):
    """Adds the contacts of the vertices of either surface that are inside of the other one."""
    pair = pair_of(table, meeting)
    if pair.first.solid or pair.second.solid:
        penetrating_vertices(pair, TRUE, out)
        penetrating_vertices(pair, FALSE, out)


@inner_kernel
def placed(vertices, turn, shift):
    """Vertices (v, 3) turned and shifted."""
    out = np.empty((len(vertices), 3))
    for v in range(len(vertices)):
        set_vec(out, v, add(rotated(turn, vec(vertices, v)), shift))
    return out


@kernel_part
def contacts_set_in(table, meeting, near):
    """Whether the surfaces, set in around rows (k, 2) of triangles that are near each other, are apart where they touch or
    hardly overlap, and a `Buffer` of their contacts then."""
    scale = meeting.scale
    found, out = False, buffer(0)
    margin, settled = margin_of(0.0, scale), False
    while margin <= LARGEST_MARGIN * scale:
        limit = meeting.limit + LONGEST * margin
        # no two vertices come nearer to each other than by the longest way
        rows = within(table, meeting, limit + LONGEST * margin, near)
        fits, own = set_in(table, meeting.first, rows[:, 0], 0.5 * margin)
        other_fits, others = set_in(table, meeting.second, rows[:, 1], 0.5 * margin)
        if not (fits and other_fits):
            break
        vertices = placed(others, meeting.turn, meeting.shift)
        apart = Meeting(
            meeting.first,
            meeting.second,
            own,
            vertices,
            meeting.own,
            meeting.vertices,
            meeting.turn,
            meeting.shift,
            limit,
            meeting.noise,
            meeting.scale,
            meeting.swapped,
            meeting.stack,
        )
        fresh, crossed = all_triangle_contacts(table, apart, rows, np.empty(0))
        leave_out_beyond(fresh, meeting.limit)
        if len(crossed) > 0 or fresh.used[0] == 0:
            if found:
                break
            margin *= LARGER
            continue
        least = least_gap(fresh)
        if least < -DEEPEST * scale:
            break
        found, out = True, fresh
        if settled or least >= 0.0:
            break
        margin, settled = margin_of(least, scale), True
    return found, out


@inner_kernel
def surface_contacts(table, surfaces, pose, limit, noise, scale, swapped, walk):
    """Contacts of two surfaces, (first, second), in the axes of the first: a `Buffer` with one row a feature, in their order,
    and the `Walk` that they are from, the one given if it covers them.

    pose: turn (3, 3) and shift (3,) take the second's axes to the first's, which should be the surface with more triangles.
    scale: m, the size of the smaller body. Normals are from the first to the second, or, if swapped, from the second to the
    first, and features likewise.
    """
    (first, second), (turn, shift) = surfaces, pose
    stack = np.empty(512, np.int64)
    own = table.vertices[table.first_vertex[first] : table.first_vertex[first + 1]]
    vertices = placed(table.vertices[table.first_vertex[second] : table.first_vertex[second + 1]], turn, shift)
    meeting = Meeting(first, second, own, vertices, own, vertices, turn, shift, limit, noise, scale, swapped, stack)
    if covers(table, meeting, walk):
        near, clear = still_near(table, meeting, walk, limit + noise), np.empty(0)
    else:
        near = near_triangles(table, meeting)
        clear = np.empty(len(near))
        walk = Walk(turn.copy(), shift.copy(), limit, near, clear)
    out, crossed = all_triangle_contacts(table, meeting, near, clear)
    return contacts_of_features(table, meeting, walk, out, crossed), walk


@kernel_part
def contacts_of_features(table, meeting, walk, out, crossed):
    """The contacts of two surfaces, of those `out` of their features, and of rows (k, 2) of triangles that cross."""
    second, scale = meeting.second, meeting.scale
    coincides = len(crossed) == 0 and least_gap(out) <= FARTHEST * scale
    penetrates = out.used[0] == 0 and len(crossed) == 0 and first_lies_inside(table, meeting)
    if len(crossed) > 0:
        if table.first_triangle[second + 1] - table.first_triangle[second] > 1:
            out, penetrates, is_torn = with_crossings(table, meeting, crossed, out)
            coincides = penetrates or is_torn
        else:
            penetrates = not least_gap(out) < 0.0
    if coincides and are_solids(table, meeting):
        near = still_near(table, meeting, walk, np.inf)
        part, apart = contacts_set_in(table, meeting, near)
        if part:
            return one_a_feature(apart)
    if penetrates:
        before = out.used[0]
        penetrating_contacts(table, meeting, out)
        if out.used[0] > len(out.gap):
            out = enlarged(out, before, out.used[0])
            penetrating_contacts(table, meeting, out)
        if len(crossed) > 0:
            if oppose(out, before):
                # a sheet that goes right through has the solid's corners beyond it on both of its sides
                out.used[0] = before
            if not least_gap(out) < 0.0:
                out = with_passage(table, meeting, crossed, out)
    return one_a_feature(out)


@leaf_kernel
def oppose(out, first):
    """Whether two contacts of a `Buffer` from a row on have normals that nearly oppose each other."""
    cosine = 1.0
    for i in range(first, out.used[0]):
        for k in range(first, i):
            cosine = min(cosine, dot(vec(out.normal, i), vec(out.normal, k)))
    return cosine < OPPOSED


@leaf_kernel
def vertices_over_plane(table, s, plane, limit, stack, out):
    """Adds the contacts of a surface with a half-space."""
    surface = own_view(table, s)
    from_a = scaled(1.0 if plane.is_a else -1.0, plane.normal)
    out.used[0] = 0
    stack[0] = 0
    size = 1
    while size > 0:
        size -= 1
        node = stack[size]
        if height_of_box(plane, surface.boxes[node]) > limit:
            continue
        right = surface.right[node]
        if right > 0:
            stack[size] = right
            stack[size + 1] = node + 1
            size += 2
            continue
        for place in range(surface.node_begin[node], surface.node_end[node]):
            f = surface.order[place]
            for i in range(3):
                v = surface.triangles[f, i]
                if not surface.owned[f] & (1 << i) or not surface.corner[v]:
                    continue
                point = vec(surface.vertices, v)
                gap = height_over(plane, point)
                if gap > limit:
                    continue
                feature = feature_id(FACE_VERTEX, 0, v) if plane.is_a else feature_id(VERTEX_FACE, v, 0)
                add_to(out, advanced(point, -0.5 * gap, plane.normal), from_a, gap, feature)


@inner_kernel
def plane_surface_contacts(table, s, plane, limit):
    """Contacts of surface s, in its axes, with a half-space: a `Buffer` in order of the features."""
    stack = np.empty(64, np.int64)
    out = buffer(128)
    vertices_over_plane(table, s, plane, limit, stack, out)
    if out.used[0] > len(out.gap):
        out = buffer(out.used[0])
        vertices_over_plane(table, s, plane, limit, stack, out)
    return one_a_feature(out)
