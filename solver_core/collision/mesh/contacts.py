# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of meshes with each other, with convex cores, and with half-spaces. Convex cores are triangulated too.

A simultaneous traversal of both bounding volume hierarchies finds the pairs of triangles that are near each other. Each feature
is tested in the one triangle that owns it. Where the surfaces intersect, the curves of intersection give the contacts
(`intersection_curves`). If one surface is inside the other, each vertex inside by its winding number is a contact with the
closest point of the other surface. Other intersections, such as a sheet through a sheet, are contacts along the shortest exit
translation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, TRUE, inlined_kernel, inner_kernel, kernel_part, leaf_kernel
from ...linalg.vec3 import add, advanced, divided, dot, midpoint, rotated, rotated_back, scaled, set_vec, sub, vec
from ..contact_buffer import (
    append_contact,
    capacity_of,
    deepest_per_feature,
    ensure_capacity,
    keep_gaps,
    min_gap,
    new_buffer,
)
from ..half_space import height_of_box, height_over
from ..manifold import FACE_VERTEX, VERTEX_FACE, feature_id
from ..polyhedra.several_axes import MAX_DEPTH_RATIO, MAX_GAP_RATIO, MAX_TRANSLATION_IN_MARGINS, inset_margin
from .crossings import IntersectingPairs, append_if_intersecting
from .features import edge_edge, vertex_edge, vertex_face, vertex_vertex
from .intersection_curves import OPPOSED, with_curve_contacts, with_pass_through_contacts
from .mesh_pair import (
    MeshQuery,
    add_mesh_contact,
    direction_to_pair,
    has_single_triangle,
    pair_feature,
    pair_of,
    point_to_pair,
    point_to_surface,
    surface_contains,
    surface_of,
)
from .near_triangles import nearby_pairs, pairs_within
from .queries import closest_on_surface, is_inside, own_view, triangle_corners
from .set_in import MARGIN_GROWTH, MAX_MARGIN_RATIO, inset_vertices
from .still_near import cache_covers, filtered_pairs
from .walks import Walk
from .within_reach import clearance, corners_within, heights_of, straddles

__all__ = ["PlacedSurfaces", "plane_surface_contacts", "surface_contacts"]

# Smallest cosine between the normal of a sheet and the direction from its closest point to a vertex on its far side. A smaller
# cosine means that the vertex is next to the border of the sheet, not behind it.
SHEET_NORMAL_COSINE = 0.7
FIRST_VERTEX = FIRST_ROW = np.int64(0)
# The bits of the corners in `owned` of a `SurfaceTable`.
OWNED_CORNERS = 7
# 6 contacts of a vertex and a face, 9 of two vertices, 18 of a vertex and an edge, and 9 of two edges.
MAX_CONTACTS_PER_TRIANGLE_PAIR = 42


class PlacedSurfaces(NamedTuple):
    """Two surfaces of a table, and the pose of the second in the frame of the first.

    first, second: indices of the surfaces. turn, shift: (3, 3) rotation and (3,) translation [m].
    """

    first: int
    second: int
    turn: NDArray[np.float64]
    shift: NDArray[np.float64]


@inlined_kernel
def triangle_contacts(pair, f, g, out):
    """Append the contacts of the owned features of triangle f of the first surface and triangle g of the second.

    At most MAX_CONTACTS_PER_TRIANGLE_PAIR contacts are appended.

    Returns whether the triangles may intersect, and their `clearance` [m].
    """
    a, b, limit = pair.first, pair.second, pair.query.limit
    p, q = triangle_corners(a.vertices, a.triangles[f]), triangle_corners(pair.query.vertices_second, b.triangles[g])
    over_f = heights_of(q, vec(a.normals, f), p[0])
    over_g = heights_of(p, direction_to_pair(pair, FALSE, b.normals[g]), q[0])
    clear = clearance(over_f, over_g, a.owned[f], b.owned[g])
    if clear > limit:
        return False, clear
    # At a concave edge a face also bounds points outside its own prism, so vertices are tested against faces by height alone.
    of_f, of_g = a.owned[f] & corners_within(over_g, limit), b.owned[g] & corners_within(over_f, limit)
    if (of_f | of_g) != 0:
        for i in range(3):
            if of_f & (1 << i):
                vertex_face(pair, TRUE, a.triangles[f, i], g, out)
            if of_g & (1 << i):
                vertex_face(pair, FALSE, b.triangles[g, i], f, out)
    edge_and_vertex_contacts(pair, f, g, out)
    is_segment = b.triangles[g, 1] == b.triangles[g, 2]
    return straddles(over_f) and (is_segment or straddles(over_g)), clear


@inlined_kernel
def edge_and_vertex_contacts(pair, f, g, out):
    """Append the contacts between the edges and vertices that two triangles own."""
    a, b = pair.first, pair.second
    of_f, of_g = a.owned[f], b.owned[g]
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
    """Append a contact for each vertex of one surface on the wrong side of the other surface.

    of_first: True to test the vertices of the first surface, False for the second.

    The wrong side of a solid is its inside. A vertex is on the wrong side of a sheet if it is behind the sheet, not next to its
    border, and the inside of its own solid is in front of the sheet. All computations are in the frame of the other surface.
    """
    owner, other = surface_of(pair, of_first).surface, surface_of(pair, not of_first).surface
    box = other.boxes[0]
    size = abs(box[3] - box[0]) + abs(box[4] - box[1]) + abs(box[5] - box[2])
    for v in range(len(owner.vertices)):
        if not owner.corner[v]:
            continue
        point = point_to_surface(pair, not of_first, vec(surface_of(pair, of_first).vertices, v))
        if other.solid and not is_inside(other, point, pair.query.stack):
            continue
        radius = size if other.solid else owner.depth[v]
        squared, f, closest = closest_on_surface(other, point, radius, 0.0, pair.query.stack)
        depth = np.sqrt(squared)
        if f < 0 or depth <= pair.query.noise:
            continue
        normal = divided(sub(closest, point), depth)
        if not other.solid:
            if abs(dot(normal, vec(other.normals, f))) < SHEET_NORMAL_COSINE:
                continue
            outwards = vec(owner.vertex_normals, v)
            outwards = rotated_back(pair.query.turn, outwards) if of_first else rotated(pair.query.turn, outwards)
            if -owner.depth[v] * dot(normal, outwards) <= depth:
                continue
        feature = pair_feature(pair, VERTEX_FACE, FACE_VERTEX, of_first, v, other.patch[f])
        middle = point_to_pair(pair, not of_first, midpoint(closest, point))
        from_first = direction_to_pair(pair, not of_first, scaled(-1.0 if of_first else 1.0, normal))
        add_mesh_contact(pair, out, middle, from_first, -depth, feature)


@leaf_kernel
def one_is_inside(table, query):
    """Return True if the first vertex of either surface is inside the other surface."""
    pair = pair_of(table, query)
    if pair.first.solid and surface_contains(pair, surface_of(pair, TRUE), vec(query.vertices_second, FIRST_VERTEX)):
        return True
    return pair.second.solid and surface_contains(pair, surface_of(pair, FALSE), vec(pair.first.vertices, FIRST_VERTEX))


@leaf_kernel
def append_until_full(table, query, rows, row, out, crossed, clear):
    """Append the contacts of pairs of triangles until the buffer may be too small for the next pair.

    rows: (k, 2) triangles of the first and of the second surface. row: first pair to process.
    crossed: `IntersectingPairs`, to which the pairs that intersect are appended.
    clear: (k,) output for the `clearance` of each pair [m], or (0,).

    Returns the pair at which it stopped.
    """
    pair, is_kept = pair_of(table, query), len(clear) > 0
    while row < len(rows) and out.used[0] + MAX_CONTACTS_PER_TRIANGLE_PAIR <= capacity_of(out):
        f, g = rows[row, 0], rows[row, 1]
        may_cross, clear_of = triangle_contacts(pair, f, g, out)
        if may_cross:
            append_if_intersecting(pair, f, g, row, crossed)
        if is_kept:
            clear[row] = clear_of
        row += 1
    return row


@leaf_kernel
def are_solids(table, query):
    """Return True if both surfaces are closed and have more than one triangle."""
    pair = pair_of(table, query)
    return pair.first.solid and pair.second.solid and not has_single_triangle(pair)


@inner_kernel
def all_triangle_contacts(table, query, rows, clear):
    """Find the contacts of pairs of triangles (k, 2).

    clear: (k,) output for the `clearance` of each pair [m], or (0,).

    Returns the contacts as a `ContactBuffer`, and the pairs (n, 2) that intersect.
    """
    out = new_buffer(128)
    crossed = IntersectingPairs(
        np.empty(len(rows), np.int64), np.zeros(1, np.int64), np.empty((2, 3)), np.empty((2, 3), np.int64)
    )
    row = append_until_full(table, query, rows, FIRST_ROW, out, crossed, clear)
    while row < len(rows):
        out = ensure_capacity(out, 3 * capacity_of(out))
        row = append_until_full(table, query, rows, row, out, crossed, clear)
    return out, rows[crossed.rows[: crossed.used[0]]]


@leaf_kernel
def penetrating_contacts(table, query, out):
    """Append the contacts of the vertices of each surface that are inside the other surface."""
    pair = pair_of(table, query)
    if pair.first.solid or pair.second.solid:
        penetrating_vertices(pair, TRUE, out)
        penetrating_vertices(pair, FALSE, out)


@inner_kernel
def transformed(vertices, turn, shift):
    """Return vertices (v, 3) [m] after a rotation by turn (3, 3) and a translation by shift (3,) [m]."""
    out = np.empty((len(vertices), 3))
    for v in range(len(vertices)):
        set_vec(out, v, add(rotated(turn, vec(vertices, v)), shift))
    return out


@kernel_part
def inset_contacts(table, query, near):
    """Find the contacts of two solids that touch or barely overlap, from surfaces that are moved inward (`set_in`).

    near: (k, 2) pairs of triangles near each other.

    Returns whether the inset surfaces are separated, and then a `ContactBuffer` with their contacts.
    """
    scale = query.scale
    found, out = False, new_buffer(0)
    margin, settled = inset_margin(0.0, scale), False
    while margin <= MAX_MARGIN_RATIO * scale:
        limit = query.limit + MAX_TRANSLATION_IN_MARGINS * margin
        # Two vertices move toward each other by at most MAX_TRANSLATION_IN_MARGINS margins.
        rows = pairs_within(table, query, limit + MAX_TRANSLATION_IN_MARGINS * margin, near)
        fits, inset = inset_vertices(table, query.first, rows[:, 0], 0.5 * margin)
        other_fits, others = inset_vertices(table, query.second, rows[:, 1], 0.5 * margin)
        if not (fits and other_fits):
            break
        vertices = transformed(others, query.turn, query.shift)
        apart = MeshQuery(
            query.first,
            query.second,
            inset,
            vertices,
            query.vertices_first,
            query.vertices_second,
            query.turn,
            query.shift,
            limit,
            query.noise,
            query.scale,
            query.swapped,
            query.stack,
        )
        fresh, crossed = all_triangle_contacts(table, apart, rows, np.empty(0))
        keep_gaps(fresh, -np.inf, query.limit)
        if len(crossed) > 0 or fresh.used[0] == 0:
            if found:
                break
            margin *= MARGIN_GROWTH
            continue
        least = min_gap(fresh)
        if least < -MAX_DEPTH_RATIO * scale:
            break
        found, out = True, fresh
        if settled or least >= 0.0:
            break
        margin, settled = inset_margin(least, scale), True
    return found, out


@inner_kernel
def surface_contacts(table, placed, limit, noise, scale, swapped, walk):
    """Find the contacts of two surfaces in the frame of the first.

    placed: a `PlacedSurfaces`; the first surface should be the one with more triangles.
    limit: largest gap of a contact [m].
    noise: distance below which the closest direction is lost to rounding [m].
    scale: size of the smaller body [m].
    swapped: True to report normals and features from the second surface to the first.
    walk: a cached `Walk`, which may be `no_walk`.

    Returns the contacts as a `ContactBuffer`, the rows of one contact per feature, in the order of the features, and the `Walk`
    that was used: the given one if it covers the query, else a new one.
    """
    first, second, turn, shift = placed.first, placed.second, placed.turn, placed.shift
    stack = np.empty(512, np.int64)
    vertices_first = table.vertices[table.first_vertex[first] : table.first_vertex[first + 1]]
    vertices = transformed(table.vertices[table.first_vertex[second] : table.first_vertex[second + 1]], turn, shift)
    query = MeshQuery(
        first, second, vertices_first, vertices, vertices_first, vertices, turn, shift, limit, noise, scale, swapped, stack
    )
    if cache_covers(table, query, walk):
        near, clear = filtered_pairs(table, query, walk, limit + noise), np.empty(0)
    else:
        near = nearby_pairs(table, query)
        clear = np.empty(len(near))
        walk = Walk(turn.copy(), shift.copy(), limit, near, clear)
    out, crossed = all_triangle_contacts(table, query, near, clear)
    out = resolve_contacts(table, query, walk, out, crossed)
    return out, deepest_per_feature(out), walk


@kernel_part
def resolve_contacts(table, query, walk, out, crossed):
    """Return the contacts of two surfaces from those of their separate features.

    out: contacts of pairs of features. crossed: (k, 2) pairs of triangles that intersect.
    """
    second, scale = query.second, query.scale
    coincides = len(crossed) == 0 and min_gap(out) <= MAX_GAP_RATIO * scale
    penetrates = out.used[0] == 0 and len(crossed) == 0 and one_is_inside(table, query)
    if len(crossed) > 0:
        if table.first_triangle[second + 1] - table.first_triangle[second] > 1:
            out, penetrates, is_torn = with_curve_contacts(table, query, crossed, out)
            coincides = penetrates or is_torn
        else:
            penetrates = not min_gap(out) < 0.0
    if coincides and are_solids(table, query):
        near = filtered_pairs(table, query, walk, np.inf)
        part, apart = inset_contacts(table, query, near)
        if part:
            return apart
    if penetrates:
        before = out.used[0]
        penetrating_contacts(table, query, out)
        if out.used[0] > capacity_of(out):
            more = out.used[0] - before
            out.used[0] = before
            out = ensure_capacity(out, more)
            penetrating_contacts(table, query, out)
        if len(crossed) > 0:
            if has_opposed_normals(out, before):
                # If a sheet passes through a solid, vertices of the solid are behind it on both of its sides.
                out.used[0] = before
            if not min_gap(out) < 0.0:
                out = with_pass_through_contacts(table, query, crossed, out)
    return out


@leaf_kernel
def has_opposed_normals(out, first):
    """Return True if two contacts from row `first` on have nearly opposite normals."""
    normal, cosine = out.contacts.normal, 1.0
    for i in range(first, out.used[0]):
        for k in range(first, i):
            cosine = min(cosine, dot(vec(normal, i), vec(normal, k)))
    return cosine < OPPOSED


@leaf_kernel
def append_plane_contacts(table, s, plane, limit, stack, out):
    """Replace the content of a buffer by the contacts of surface s with a half-space.

    limit: largest gap of a contact [m]. stack: (64,) work array.
    """
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
                append_contact(out, advanced(point, -0.5 * gap, plane.normal), from_a, gap, feature)


@inner_kernel
def plane_surface_contacts(table, s, plane, limit):
    """Find the contacts of surface s with a half-space in the frame of the surface.

    Returns an unsorted `ContactBuffer`.
    """
    stack = np.empty(64, np.int64)
    out = new_buffer(128)
    append_plane_contacts(table, s, plane, limit, stack, out)
    if out.used[0] > capacity_of(out):
        out = new_buffer(out.used[0])
        append_plane_contacts(table, s, plane, limit, stack, out)
    return out
