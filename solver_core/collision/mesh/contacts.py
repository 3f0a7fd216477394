# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of meshes: with each other, with convex cores, whose surfaces are triangulated too, and with half-spaces.

The trees of two surfaces are walked together down to the triangles that come near each other, and every feature is tested in
the one triangle that owns it. Where surfaces cross, the curves tell of the overlap (`intersection_curves`). Where one is inside
of the other, every vertex that the other one's winding number has inside is a contact with the closest point of that surface.
What passes right through without either is a contact along the shortest way out.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inner_kernel, leaf_kernel
from ..manifold import FACE_VERTEX, VERTEX_FACE, feature_id
from .features import (
    Buffer,
    Meeting,
    add,
    buffer,
    edge_edge,
    pair_of,
    turned,
    turned_back,
    vertex_edge,
    vertex_face,
    vertex_vertex,
)
from .intersection_curves import OPPOSED, crosses, with_crossings, with_passage
from .queries import closest_on_surface, is_inside, surface_view

__all__ = ["one_a_feature", "plane_surface_contacts", "surface_contacts"]

# Cosine between a sheet's normal and the way to a vertex that is beyond it and not beside its border.
BEYOND_SHEET = 0.7


@leaf_kernel
def near_triangles(table, meeting, rows):
    """Pairs of triangles whose boxes come within the limit, into rows (., 2): the count, also beyond the room there is."""
    pair = pair_of(table, meeting)
    a, b, turn, shift, reach = pair.first, pair.second, pair.turn, pair.shift, pair.limit
    stack = pair.stack
    stack[0], stack[1] = 0, 0
    size = 2
    count = 0
    while size > 0:
        size -= 2
        node, other = stack[size], stack[size + 1]
        apart = False
        volume = 0.0
        for i in range(3):
            middle, half = shift[i], 0.0
            for k in range(3):
                middle += 0.5 * turn[i, k] * (b.boxes[other, k] + b.boxes[other, 3 + k])
                half += 0.5 * abs(turn[i, k]) * (b.boxes[other, 3 + k] - b.boxes[other, k])
            low, high = a.boxes[node, i], a.boxes[node, 3 + i]
            apart = apart or middle - half > high + reach or middle + half < low - reach
            volume += high - low - 2.0 * half
        if apart:
            continue
        right, other_right = a.right[node], b.right[other]
        if right > 0 and (other_right == 0 or volume >= 0.0):
            stack[size], stack[size + 1] = right, other
            stack[size + 2], stack[size + 3] = node + 1, other
            size += 4
        elif other_right > 0:
            stack[size], stack[size + 1] = node, other_right
            stack[size + 2], stack[size + 3] = node, other + 1
            size += 4
        else:
            for row in range(a.node_begin[node], a.node_end[node]):
                f = a.order[row]
                for slot in range(b.node_begin[other], b.node_end[other]):
                    g = b.order[slot]
                    if boxes_meet(a.vertices, a.triangles[f], pair.vertices, b.triangles[g], reach):
                        if count < len(rows):
                            rows[count, 0] = f
                            rows[count, 1] = g
                        count += 1
    return count


@leaf_kernel
def boxes_meet(vertices, triangle, others, other, reach):
    """Whether the bounds of two triangles come within the reach."""
    for k in range(3):
        p, q, r = vertices[triangle[0], k], vertices[triangle[1], k], vertices[triangle[2], k]
        u, v, w = others[other[0], k], others[other[1], k], others[other[2], k]
        if min(p, q, r) > max(u, v, w) + reach or max(p, q, r) < min(u, v, w) - reach:
            return False
    return True


@leaf_kernel
def triangle_contacts(pair, f, g, out):
    """Adds the contacts of all that triangle f of the first and triangle g of the second surface own."""
    a, b = pair.first, pair.second
    of_f, of_g = a.owned[f], b.owned[g]
    for turn in range(2):
        of_first = turn == 0
        own, other = (of_f, of_g) if of_first else (of_g, of_f)
        for i in range(3):
            if not own & (1 << i):
                continue
            v = a.triangles[f, i] if of_first else b.triangles[g, i]
            vertex_face(pair, of_first, v, g if of_first else f, out)
            for k in range(3):
                if other & (8 << k):
                    e = b.triangle_edges[g, k] if of_first else a.triangle_edges[f, k]
                    vertex_edge(pair, of_first, v, e, out)
    for i in range(3):
        for k in range(3):
            if of_f & (1 << i) and of_g & (1 << k):
                vertex_vertex(pair, a.triangles[f, i], b.triangles[g, k], out)
            if of_f & (8 << i) and of_g & (8 << k):
                edge_edge(pair, a.triangle_edges[f, i], b.triangle_edges[g, k], out)


@leaf_kernel
def penetrating_vertices(pair, of_first, out):
    """Adds a contact for every corner of the first surface (of_first), else of the second, on the wrong side of the other one.

    That is inside of a solid; or, where the other one is a sheet, beyond it, not beside its border, and with the inside of its
    own solid on this side.
    """
    owner = pair.first if of_first else pair.second
    other = pair.second if of_first else pair.first
    shift = pair.shift
    box = other.boxes[0]
    size = abs(box[3] - box[0]) + abs(box[4] - box[1]) + abs(box[5] - box[2])
    for v in range(len(owner.vertices)):
        if not owner.corner[v]:
            continue
        x, y, z = owner.vertices[v, 0], owner.vertices[v, 1], owner.vertices[v, 2]
        if of_first:
            # From the first surface's axes to the second's.
            x, y, z = turned_back(pair, x - shift[0], y - shift[1], z - shift[2])
        else:
            x, y, z = pair.vertices[v, 0], pair.vertices[v, 1], pair.vertices[v, 2]
        if other.solid and not is_inside(other, x, y, z, pair.stack):
            continue
        radius = size if other.solid else owner.depth[v]
        squared, f, qx, qy, qz = closest_on_surface(other, x, y, z, radius, 0.0, pair.stack)
        depth = np.sqrt(squared)
        if f < 0 or depth <= pair.noise:
            continue
        nx, ny, nz = (qx - x) / depth, (qy - y) / depth, (qz - z) / depth
        if not other.solid:
            m = other.normals[f]
            if abs(nx * m[0] + ny * m[1] + nz * m[2]) < BEYOND_SHEET:
                continue
            outwards = owner.vertex_normals[v]
            if of_first:
                vx, vy, vz = turned_back(pair, outwards[0], outwards[1], outwards[2])
            else:
                vx, vy, vz = turned(pair, outwards)
            if -owner.depth[v] * (nx * vx + ny * vy + nz * vz) <= depth:
                continue
        px, py, pz = 0.5 * (qx + x), 0.5 * (qy + y), 0.5 * (qz + z)
        if of_first:
            nx, ny, nz = turned(pair, (-nx, -ny, -nz))
            px, py, pz = turned(pair, (px, py, pz))
            px, py, pz = px + shift[0], py + shift[1], pz + shift[2]
        patch = other.patch[f]
        feature = feature_id(VERTEX_FACE, v, patch) if of_first != pair.swapped else feature_id(FACE_VERTEX, patch, v)
        add(out, px, py, pz, nx, ny, nz, -depth, feature, pair.swapped)


@leaf_kernel
def first_lies_inside(table, meeting):
    """Whether the first vertex of one surface is inside of the other one."""
    pair = pair_of(table, meeting)
    a, b = pair.first, pair.second
    if a.solid:
        p = pair.vertices[0]
        if is_inside(a, p[0], p[1], p[2], pair.stack):
            return True
    if b.solid:
        p = a.vertices[0]
        x, y, z = turned_back(pair, p[0] - pair.shift[0], p[1] - pair.shift[1], p[2] - pair.shift[2])
        return is_inside(b, x, y, z, pair.stack)
    return False


@leaf_kernel
def all_triangle_contacts(table, meeting, rows, near, out, ends, keys):
    """Contacts of the first `near` rows of triangles; returns how many of these cross. ends, keys: see `crosses`."""
    pair = pair_of(table, meeting)
    out.used[0] = 0
    crossed = 0
    for row in range(near):
        f, g = rows[row, 0], rows[row, 1]
        triangle_contacts(pair, f, g, out)
        crossed += crosses(pair, f, g, ends, keys)
    return crossed


@leaf_kernel
def sunk_contacts(table, meeting, out):
    """Adds the contacts of the vertices of either surface that are inside of the other one."""
    pair = pair_of(table, meeting)
    for turn in range(2):
        of_first = turn == 0
        if pair.first.solid or pair.second.solid:
            penetrating_vertices(pair, of_first, out)


@inner_kernel
def surface_contacts(table, first, second, turn, shift, limit, noise, swapped):
    """Contacts of surfaces `first` and `second` in the axes of the first: a `Buffer` with one row a feature, in their order.

    turn (3, 3) and shift (3,) take the second's axes to the first's, which should be the surface with more triangles. Normals
    are from the first to the second, or, if swapped, from the second to the first, and features likewise.
    """
    stack = np.empty(512, np.int64)
    own = table.vertices[table.first_vertex[second] : table.first_vertex[second + 1]]
    vertices = np.empty((len(own), 3))
    for v in range(len(own)):
        for i in range(3):
            vertices[v, i] = turn[i, 0] * own[v, 0] + turn[i, 1] * own[v, 1] + turn[i, 2] * own[v, 2] + shift[i]
    meeting = Meeting(first, second, vertices, turn, shift, limit, noise, swapped, stack)
    rows = np.empty((256, 2), np.int64)
    near = near_triangles(table, meeting, rows)
    if near > len(rows):
        rows = np.empty((near, 2), np.int64)
        near_triangles(table, meeting, rows)
    out = buffer(128)
    ends, keys = np.empty((2, 3)), np.empty((2, 3), np.int64)
    crossed = all_triangle_contacts(table, meeting, rows, near, out, ends, keys)
    if out.used[0] > len(out.gap):
        out = buffer(out.used[0])
        all_triangle_contacts(table, meeting, rows, near, out, ends, keys)
    sunk = out.used[0] == 0 and crossed == 0 and first_lies_inside(table, meeting)
    if crossed > 0:
        if table.first_triangle[second + 1] - table.first_triangle[second] > 1:
            out, sunk = with_crossings(table, meeting, rows, near, crossed, out)
        else:
            sunk = not overlaps(out)
    if sunk:
        before = out.used[0]
        sunk_contacts(table, meeting, out)
        if out.used[0] > len(out.gap):
            out = enlarged(out, before)
            sunk_contacts(table, meeting, out)
        if crossed > 0:
            if oppose(out, before):
                # a sheet that goes right through has the solid's corners beyond it on both of its sides
                out.used[0] = before
            if not overlaps(out):
                out = with_passage(table, meeting, rows, near, crossed, out)
    return one_a_feature(out)


@leaf_kernel
def oppose(out, first):
    """Whether two contacts of a `Buffer` from a row on have normals that nearly oppose each other."""
    cosine = 1.0
    for i in range(first, out.used[0]):
        n = out.normal[i]
        for k in range(first, i):
            m = out.normal[k]
            cosine = min(cosine, n[0] * m[0] + n[1] * m[1] + n[2] * m[2])
    return cosine < OPPOSED


@leaf_kernel
def overlaps(out):
    """Whether a `Buffer` has a contact with an overlap."""
    deepest = 0.0
    for row in range(out.used[0]):
        deepest = min(deepest, out.gap[row])
    return deepest < 0.0


@inner_kernel
def enlarged(out, count):
    """The first contacts of a `Buffer`, with room for all that were found."""
    larger = buffer(out.used[0])
    larger.point[:count], larger.normal[:count] = out.point[:count], out.normal[:count]
    larger.gap[:count], larger.feature[:count] = out.gap[:count], out.feature[:count]
    larger.used[0] = count
    return larger


@inner_kernel
def one_a_feature(out):
    """The deepest contact of every feature, sorted by feature."""
    count = out.used[0]
    order = np.argsort(out.feature[:count], kind="mergesort")
    kept = 0
    for row in range(count):
        if kept > 0 and out.feature[order[row]] == out.feature[order[kept - 1]]:
            if out.gap[order[row]] < out.gap[order[kept - 1]]:
                order[kept - 1] = order[row]
            continue
        order[kept] = order[row]
        kept += 1
    order = order[:kept]
    return Buffer(out.point[order], out.normal[order], out.gap[order], out.feature[order], out.used)


@leaf_kernel
def vertices_over_plane(table, s, x, y, z, offset, plane_is_a, limit, stack, out):
    """Adds the contacts of a surface with the half-space (x, y, z) . p <= offset."""
    surface = surface_view(table, s)
    sign = 1.0 if plane_is_a else -1.0
    out.used[0] = 0
    stack[0] = 0
    size = 1
    while size > 0:
        size -= 1
        node = stack[size]
        box = surface.boxes[node]
        lowest = min(x * box[0], x * box[3]) + min(y * box[1], y * box[4]) + min(z * box[2], z * box[5])
        if lowest - offset > limit:
            continue
        right = surface.right[node]
        if right > 0:
            stack[size] = right
            stack[size + 1] = node + 1
            size += 2
            continue
        for row in range(surface.node_begin[node], surface.node_end[node]):
            f = surface.order[row]
            for i in range(3):
                v = surface.triangles[f, i]
                if not surface.owned[f] & (1 << i) or not surface.corner[v]:
                    continue
                px, py, pz = surface.vertices[v, 0], surface.vertices[v, 1], surface.vertices[v, 2]
                gap = x * px + y * py + z * pz - offset
                if gap > limit:
                    continue
                half = 0.5 * gap
                feature = feature_id(FACE_VERTEX, 0, v) if plane_is_a else feature_id(VERTEX_FACE, v, 0)
                px, py, pz = px - half * x, py - half * y, pz - half * z
                add(out, px, py, pz, sign * x, sign * y, sign * z, gap, feature, False)


@inner_kernel
def plane_surface_contacts(table, s, x, y, z, offset, plane_is_a, limit):
    """Contacts of surface s, in its axes, with the half-space (x, y, z) . p <= offset: a `Buffer` in order of the features."""
    stack = np.empty(64, np.int64)
    out = buffer(128)
    vertices_over_plane(table, s, x, y, z, offset, plane_is_a, limit, stack, out)
    if out.used[0] > len(out.gap):
        out = buffer(out.used[0])
        vertices_over_plane(table, s, x, y, z, offset, plane_is_a, limit, stack, out)
    return one_a_feature(out)
