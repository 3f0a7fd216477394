# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of surfaces that cross, where the features beside each other no longer tell which way is out.

Triangles of two solids A and B cross along closed curves. The part S of A's surface inside of B has the area vector

    N = integral over S of n dA = 1/2 integral along its border of x cross dx        (Stokes)

and moving B by d changes the volume that they share by -N . d: along N it falls fastest, whatever the triangles are. So what
a curve goes around is one overlap with one normal; its contacts are the points of the curve. Its depth is how far the ends of
its edges are inside of the other solid, or, where none are, how far it reaches along N. Beside a sheet, which has no inside,
the other body's middle tells which of the two ways is out.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inner_kernel, leaf_kernel
from ...disjoint_sets import join, root
from ..manifold import EDGE_FACE, FACE_EDGE, feature_id
from .features import Buffer, add, buffer, pair_of, turned, turned_back
from .pass_through import (
    inner_end,
    overlap_of_each_curve,
    passes,
    shorter_way_along_axes,
    shorter_way_out_of_curve,
    shorter_way_out_of_face,
)
from .queries import closest_on_surface, is_inside, is_nearer

__all__ = ["OPPOSED", "crosses", "with_crossings", "with_passage"]

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


@leaf_kernel
def heights(vertices, triangle, nx, ny, nz, x, y, z):
    """Heights of a triangle's corners over the plane through (x, y, z)."""
    p, q, r = vertices[triangle[0]], vertices[triangle[1]], vertices[triangle[2]]
    return (
        nx * (p[0] - x) + ny * (p[1] - y) + nz * (p[2] - z),
        nx * (q[0] - x) + ny * (q[1] - y) + nz * (q[2] - z),
        nx * (r[0] - x) + ny * (r[1] - y) + nz * (r[2] - z),
    )


@leaf_kernel
def piercing(vertices, triangle, below, others, other, begin):
    """The first edge of a triangle from `begin` on that passes through another one, over which its corners have the heights
    given, and where: (0 to 2, point), or 3 for none."""
    for side in range(begin, 3):
        low, high = below[side], below[side + 1 if side < 2 else 0]
        if (low < 0.0) == (high < 0.0):
            continue
        s = low / (low - high)
        p, q = vertices[triangle[side]], vertices[triangle[side + 1 if side < 2 else 0]]
        x, y, z = p[0] + s * (q[0] - p[0]), p[1] + s * (q[1] - p[1]), p[2] + s * (q[2] - p[2])
        u, v, w = others[other[0]], others[other[1]], others[other[2]]
        ex, ey, ez = v[0] - u[0], v[1] - u[1], v[2] - u[2]
        ox, oy, oz = w[0] - u[0], w[1] - u[1], w[2] - u[2]
        dx, dy, dz = x - u[0], y - u[1], z - u[2]
        nx, ny, nz = ey * oz - ez * oy, ez * ox - ex * oz, ex * oy - ey * ox
        first = (dy * oz - dz * oy) * nx + (dz * ox - dx * oz) * ny + (dx * oy - dy * ox) * nz
        second = (ey * dz - ez * dy) * nx + (ez * dx - ex * dz) * ny + (ex * dy - ey * dx) * nz
        if first >= 0.0 and second >= 0.0 and first + second <= nx * nx + ny * ny + nz * nz:
            return side, x, y, z
    return 3, 0.0, 0.0, 0.0


@leaf_kernel
def crossing(pair, f, g, ends, keys):
    """How many edges of triangles f and g pass through the other one; the first two points into ends (2, 3) and what meets
    there into keys (2, 3): 1 for an edge of the first surface, the edge, the face."""
    a, b = pair.first, pair.second
    n, m = a.normals[f], b.normals[g]
    o = a.vertices[a.triangles[f, 0]]
    over_f = heights(pair.vertices, b.triangles[g], n[0], n[1], n[2], o[0], o[1], o[2])
    if min(over_f) >= 0.0 or max(over_f) < 0.0:
        return 0
    if b.triangles[g, 1] == b.triangles[g, 2]:
        # a segment, the core of a capsule: one point for both ends
        side, x, y, z = piercing(pair.vertices, b.triangles[g], over_f, a.vertices, a.triangles[f], 0)
        for end in range(2):
            ends[end, 0], ends[end, 1], ends[end, 2] = x, y, z
            keys[end, 0], keys[end, 1], keys[end, 2] = 0, b.triangle_edges[g, 0], f
        return 2 if side < 3 else 0
    mx, my, mz = turned(pair, m)
    o = pair.vertices[b.triangles[g, 0]]
    over_g = heights(a.vertices, a.triangles[f], mx, my, mz, o[0], o[1], o[2])
    if min(over_g) >= 0.0 or max(over_g) < 0.0:
        return 0
    count = 0
    for of_first in range(2):
        side = 0
        while side < 3:
            if of_first == 1:
                side, x, y, z = piercing(a.vertices, a.triangles[f], over_g, pair.vertices, b.triangles[g], side)
            else:
                side, x, y, z = piercing(pair.vertices, b.triangles[g], over_f, a.vertices, a.triangles[f], side)
            if side < 3 and count < 2:
                ends[count, 0], ends[count, 1], ends[count, 2] = x, y, z
                keys[count, 0] = of_first
                keys[count, 1] = a.triangle_edges[f, side] if of_first == 1 else b.triangle_edges[g, side]
                keys[count, 2] = g if of_first == 1 else f
            count += side < 3
            side += 1
    return count


@leaf_kernel
def crosses(pair, f, g, ends, keys):
    """Whether triangle f of the first surface and g of the second one cross."""
    return crossing(pair, f, g, ends, keys) >= 2


@leaf_kernel
def fill_crossings(table, meeting, rows, near, ends, keys):
    """Writes the crossings among the first `near` rows of triangles, each running along the cross product of the normals of A
    and B, which has the inside of B on its left on A: ends (k, 2, 3), keys (k, 2, 3) as in `crossing`."""
    pair = pair_of(table, meeting)
    count = 0
    for row in range(near):
        f, g = rows[row, 0], rows[row, 1]
        if count == len(ends) or not crosses(pair, f, g, ends[count], keys[count]):
            continue
        n = pair.first.normals[f]
        mx, my, mz = turned(pair, pair.second.normals[g])
        along = 0.0
        along += (n[1] * mz - n[2] * my) * (ends[count, 1, 0] - ends[count, 0, 0])
        along += (n[2] * mx - n[0] * mz) * (ends[count, 1, 1] - ends[count, 0, 1])
        along += (n[0] * my - n[1] * mx) * (ends[count, 1, 2] - ends[count, 0, 2])
        if along < 0.0:
            for k in range(3):
                ends[count, 0, k], ends[count, 1, k] = ends[count, 1, k], ends[count, 0, k]
                keys[count, 0, k], keys[count, 1, k] = keys[count, 1, k], keys[count, 0, k]
        count += 1
    return count


@inner_kernel
def curves(ends, keys, tolerance):
    """(k,) the curve of each crossing, numbered by its first: crossings are connected where they share an end.

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
        p = ends[left_over[i] // 2, left_over[i] % 2]
        for k in range(i):
            q = ends[left_over[k] // 2, left_over[k] % 2]
            if (q[0] - p[0]) ** 2 + (q[1] - p[1]) ** 2 + (q[2] - p[2]) ** 2 <= tolerance * tolerance:
                join(curve, left_over[i] // 2, left_over[k] // 2)
    for row in range(count):
        curve[row] = root(curve, row)
    return curve


@leaf_kernel
def area_vector(ends, curve, which, middle):
    """1/2 integral of x cross dx along one curve: (vector, length of the curve); and its middle into (3,)."""
    length = 0.0
    middle[:] = 0.0
    for row in range(len(ends)):
        if curve[row] != which:
            continue
        p, q = ends[row, 0], ends[row, 1]
        step = np.sqrt((q[0] - p[0]) ** 2 + (q[1] - p[1]) ** 2 + (q[2] - p[2]) ** 2)
        length += step
        for k in range(3):
            middle[k] += 0.5 * step * (p[k] + q[k])
    if length == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        middle[k] /= length
    x = y = z = 0.0
    for row in range(len(ends)):
        if curve[row] != which:
            continue
        p, q = ends[row, 0], ends[row, 1]
        a, b, c = p[0] - middle[0], p[1] - middle[1], p[2] - middle[2]
        d, e, f = q[0] - middle[0], q[1] - middle[1], q[2] - middle[2]
        x, y, z = x + 0.5 * (b * f - c * e), y + 0.5 * (c * d - a * f), z + 0.5 * (a * e - b * d)
    return x, y, z, length


@leaf_kernel
def out_of_sheet(pair, x, y, z, middle):
    """The sign that makes an area vector lead from the first surface to the second where one is a sheet."""
    if pair.first.solid and pair.second.solid:
        return 1.0
    surface = pair.second if not pair.first.solid else pair.first
    box = surface.boxes[0]
    centre = (0.5 * (box[0] + box[3]), 0.5 * (box[1] + box[4]), 0.5 * (box[2] + box[5]))
    px, py, pz = centre
    sign = -1.0
    if not pair.first.solid:
        px, py, pz = turned(pair, centre)
        px, py, pz = px + pair.shift[0], py + pair.shift[1], pz + pair.shift[2]
        sign = 1.0
    along = x * (px - middle[0]) + y * (py - middle[1]) + z * (pz - middle[2])
    return sign if along >= 0.0 else -sign


@leaf_kernel
def depth_of(pair, ends, keys, curve, which, x, y, z):
    """How deep the surfaces overlap within a curve whose normal is (x, y, z), in m."""
    farthest, nearest, inside, has_vertex = -np.inf, np.inf, 0.0, False
    for row in range(len(ends)):
        if curve[row] != which:
            continue
        for end in range(2):
            p = ends[row, end]
            along = x * p[0] + y * p[1] + z * p[2]
            farthest, nearest = max(farthest, along), min(nearest, along)
            of_first, e = keys[row, end, 0] == 1, keys[row, end, 1]
            owner = pair.first if of_first else pair.second
            other = pair.second if of_first else pair.first
            vertices = pair.first.vertices if of_first else pair.vertices
            if not other.solid:
                for k in range(2):
                    v = vertices[owner.edges[e, k]]
                    along = x * v[0] + y * v[1] + z * v[2]
                    if of_first:
                        farthest = max(farthest, along)
                    else:
                        nearest = min(nearest, along)
                continue
            inner, side = inner_end(pair, ends, keys, row, end)
            v = vertices[inner] if side < 0 else ends[inner, side]
            # the middle of what is inside of an edge, which may pass out again, and its vertex
            for half in range(1, 3 if side < 0 else 2):
                share = 0.5 * half
                px, py, pz = p[0] + share * (v[0] - p[0]), p[1] + share * (v[1] - p[1]), p[2] + share * (v[2] - p[2])
                if of_first:
                    px, py, pz = turned_back(pair, px - pair.shift[0], py - pair.shift[1], pz - pair.shift[2])
                if is_inside(other, px, py, pz, pair.stack):
                    squared, _, _, _, _ = closest_on_surface(other, px, py, pz, np.inf, 0.0, pair.stack)
                    inside = max(inside, np.sqrt(squared))
                    has_vertex = has_vertex or half == 2
    return inside if has_vertex else max(farthest - nearest, inside)


@leaf_kernel
def leave_out_sunk(found, noise):
    """Leaves out contacts with overlaps deeper than the noise in m."""
    kept = 0
    for row in range(found.used[0]):
        if found.gap[row] < -noise:
            continue
        for k in range(3):
            found.point[kept, k], found.normal[kept, k] = found.point[row, k], found.normal[row, k]
        found.gap[kept], found.feature[kept] = found.gap[row], found.feature[row]
        kept += 1
    found.used[0] = kept


@leaf_kernel
def put_normals(table, meeting, ends, curve, middle, ways):
    """Writes the normal and the area of each curve into its row of ways (k, 4), the area 0 where it has no normal. Returns
    whether one has none, and the least cosine between two, 1 unless both bodies are solids."""
    pair = pair_of(table, meeting)
    unclear, cosine = False, 1.0
    for row in range(len(ends)):
        if curve[row] != row:
            continue
        nx, ny, nz, length = area_vector(ends, curve, row, middle)
        area = np.sqrt(nx * nx + ny * ny + nz * nz)
        if area <= THIN * length * length:
            ways[row, 3] = 0.0
            unclear = True
            continue
        sign = out_of_sheet(pair, nx, ny, nz, middle) / area
        ways[row, 0], ways[row, 1], ways[row, 2], ways[row, 3] = sign * nx, sign * ny, sign * nz, area
        for k in range(row):
            if curve[k] == k and ways[k, 3] > 0.0 and pair.first.solid and pair.second.solid:
                along = ways[k, 0] * ways[row, 0] + ways[k, 1] * ways[row, 1] + ways[k, 2] * ways[row, 2]
                cosine = min(cosine, along)
    return unclear, cosine


@leaf_kernel
def goes_around_surface(pair, ends, curve, which, reach, middle):
    """Whether the middle of a curve, which is written into (3,), is no farther than the reach from either surface."""
    area_vector(ends, curve, which, middle)
    x, y, z = middle[0], middle[1], middle[2]
    if is_nearer(pair.first, x, y, z, reach, pair.stack):
        return True
    x, y, z = turned_back(pair, x - pair.shift[0], y - pair.shift[1], z - pair.shift[2])
    return is_nearer(pair.second, x, y, z, reach, pair.stack)


@leaf_kernel
def put_ways(table, meeting, ends, keys, curve, overlap, shared, ways):
    """Writes the depth of each curve that has a normal over its area (see `put_normals`); where the curves of an overlap (k,)
    oppose each other, the one way out of it into the rows of them all. shared: (4,) work array."""
    pair = pair_of(table, meeting)
    shallow = SHALLOW * max(pair.first.tolerance, pair.second.tolerance)
    for which in range(len(ends)):
        if overlap[which] != which:
            continue
        x = y = z = total = deepest = around = 0.0
        for row in range(which, len(ends)):
            if curve[row] == row and overlap[row] == which and ways[row, 3] > 0.0:
                _, _, _, length = area_vector(ends, curve, row, shared)
                area, around = ways[row, 3], around + length
                x, y, z = x + area * ways[row, 0], y + area * ways[row, 1], z + area * ways[row, 2]
                total += area
                ways[row, 3] = depth_of(pair, ends, keys, curve, row, ways[row, 0], ways[row, 1], ways[row, 2])
                deepest = max(deepest, ways[row, 3])
        length = np.sqrt(x * x + y * y + z * z)
        cancelled, opposed = length < CANCELLED * min(total, deepest * around), False
        is_passage = cancelled and deepest > shallow
        for row in range(which, len(ends)):
            if curve[row] == row and overlap[row] == which and ways[row, 3] > 0.0:
                is_passage = is_passage and goes_around_surface(pair, ends, curve, row, FILLED * deepest, shared)
                opposed = opposed or x * ways[row, 0] + y * ways[row, 1] + z * ways[row, 2] < OPPOSED * length
        if is_passage:
            shared[3] = np.inf
            shorter_way_along_axes(pair, shared)
            for row in range(which, len(ends)):
                if curve[row] == row and overlap[row] == which and ways[row, 3] > 0.0:
                    shorter_way_out_of_curve(pair, ends, keys, curve, row, ways[row, 0], ways[row, 1], ways[row, 2], shared)
        elif opposed and not cancelled:
            shared[0], shared[1], shared[2], shared[3] = x / length, y / length, z / length, deepest
        else:
            continue
        for row in range(which, len(ends)):
            if curve[row] == row and overlap[row] == which and ways[row, 3] > 0.0:
                for k in range(4):
                    ways[row, k] = shared[k]


@leaf_kernel
def add_crossing(pair, ends, keys, row, way, out):
    """Adds the contact of a crossing, with the way out (4,)."""
    of_first, e, face = keys[row, 0, 0] == 1, keys[row, 0, 1], keys[row, 0, 2]
    patch = pair.second.patch[face] if of_first else pair.first.patch[face]
    feature = feature_id(EDGE_FACE, e, patch) if of_first != pair.swapped else feature_id(FACE_EDGE, patch, e)
    x, y, z = ends[row, 0, 0], ends[row, 0, 1], ends[row, 0, 2]
    add(out, x, y, z, way[0], way[1], way[2], -way[3], feature, pair.swapped)


@leaf_kernel
def add_curves(table, meeting, ends, keys, curve, with_normal, ways, out):
    """Adds the contacts of all curves that have a normal, but those no deeper than noise: there features touch."""
    pair = pair_of(table, meeting)
    for row in range(len(ends)):
        if with_normal[curve[row]] and ways[curve[row], 3] > pair.noise:
            add_crossing(pair, ends, keys, row, ways[curve[row]], out)


@inner_kernel
def joined(found, more):
    """Two `Buffer`s in one."""
    kept, fresh = found.used[0], more.used[0]
    return Buffer(
        np.concatenate((found.point[:kept], more.point[:fresh])),
        np.concatenate((found.normal[:kept], more.normal[:fresh])),
        np.concatenate((found.gap[:kept], more.gap[:fresh])),
        np.concatenate((found.feature[:kept], more.feature[:fresh])),
        np.array([kept + fresh]),
    )


@inner_kernel
def with_crossings(table, meeting, rows, near, crossed, found):
    """Contacts that features have made, in a `Buffer`, with those of curves in the place of what overlaps there; and whether
    there was a curve without a normal. crossed: how many of the first `near` rows of triangles cross."""
    ends, keys = np.empty((crossed, 2, 3)), np.zeros((crossed, 2, 3), np.int64)
    fill_crossings(table, meeting, rows, near, ends, keys)
    tolerance = SHALLOW * max(table.tolerance[meeting.first], table.tolerance[meeting.second])
    curve = curves(ends, keys, tolerance)
    ways, work = np.zeros((crossed, 4)), np.empty(4)
    unclear, cosine = put_normals(table, meeting, ends, curve, work, ways)
    with_normal = ways[:, 3] > 0.0
    overlap = overlap_of_each_curve(table, meeting, ends, keys, curve) if cosine < OPPOSED else curve
    put_ways(table, meeting, ends, keys, curve, overlap, work, ways)
    out = buffer(crossed)
    add_curves(table, meeting, ends, keys, curve, with_normal, ways, out)
    leave_out_sunk(found, meeting.noise)
    return joined(found, out), unclear


@leaf_kernel
def add_passage(table, meeting, ends, keys, count, way, out):
    """Adds the crossings where edges pass through faces, with the shortest way (4,) out."""
    pair = pair_of(table, meeting)
    way[3] = np.inf
    for row in range(count):
        if passes(pair, ends, keys, row):
            if way[3] == np.inf:
                shorter_way_along_axes(pair, way)
            for end in range(2):
                if keys[row, end, 0] == 0:
                    shorter_way_out_of_face(pair, ends[row, end], keys[row, end, 2], way)
    for row in range(count):
        if passes(pair, ends, keys, row):
            add_crossing(pair, ends, keys, row, way, out)


@inner_kernel
def with_passage(table, meeting, rows, near, crossed, found):
    """Contacts in a `Buffer` with those of crossings that bound no volume: of a sheet or a segment that passes right through,
    so that neither curves nor vertices tell of it. The other arguments are those of `with_crossings`."""
    ends, keys = np.empty((crossed, 2, 3)), np.zeros((crossed, 2, 3), np.int64)
    count = fill_crossings(table, meeting, rows, near, ends, keys)
    out = buffer(crossed)
    add_passage(table, meeting, ends, keys, count, np.empty(4), out)
    return joined(found, out)
