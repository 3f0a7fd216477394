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

from ..kernel import inner_kernel, leaf_kernel
from .manifold import EDGE_FACE, FACE_EDGE, feature_id
from .surface_features import Buffer, add, buffer, pair_of, turned, turned_back
from .surface_queries import closest_on_surface, winding_number

__all__ = ["crosses", "is_inside", "with_crossings"]

# Of the square of a curve's length: the area vector of what goes around next to nothing tells nothing.
THIN = 1e-7
FACES = 1 << 30


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
def is_inside(surface, x, y, z, stack):
    """Whether a closed surface goes around the point."""
    box = surface.boxes[0]
    if not (box[0] <= x <= box[3] and box[1] <= y <= box[4] and box[2] <= z <= box[5]):
        return False
    return winding_number(surface, x, y, z, stack) > 0.5


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
def curves(keys):
    """(k,) the curve of each crossing, numbered by one of its crossings: they hang together where they share an end."""
    count = len(keys)
    curve = np.arange(count)
    code = np.empty(2 * count, np.int64)
    for row in range(2 * count):
        key = keys[row // 2, row % 2]
        code[row] = (2 * key[1] + key[0]) * FACES + key[2]
    order = np.argsort(code, kind="mergesort")
    for i in range(1, 2 * count):
        if code[order[i]] != code[order[i - 1]]:
            continue
        first, second = order[i] // 2, order[i - 1] // 2
        while curve[first] != first:
            first = curve[first]
        while curve[second] != second:
            second = curve[second]
        curve[max(first, second)] = min(first, second)
    for row in range(count):
        # numbers only fall along the way
        curve[row] = curve[curve[row]]
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
    farthest, nearest, deepest = -np.inf, np.inf, 0.0
    for row in range(len(ends)):
        if curve[row] != which:
            continue
        for end in range(2):
            along = x * ends[row, end, 0] + y * ends[row, end, 1] + z * ends[row, end, 2]
            farthest, nearest = max(farthest, along), min(nearest, along)
            of_first, e = keys[row, end, 0] == 1, keys[row, end, 1]
            owner = pair.first if of_first else pair.second
            other = pair.second if of_first else pair.first
            vertices = pair.first.vertices if of_first else pair.vertices
            if e < 0:
                continue
            for k in range(2):
                v = vertices[owner.edges[e, k]]
                px, py, pz = v[0], v[1], v[2]
                if not other.solid:
                    along = x * px + y * py + z * pz
                    if of_first:
                        farthest = max(farthest, along)
                    else:
                        nearest = min(nearest, along)
                    continue
                if of_first:
                    px, py, pz = turned_back(pair, px - pair.shift[0], py - pair.shift[1], pz - pair.shift[2])
                if is_inside(other, px, py, pz, pair.stack):
                    squared, _, _, _, _ = closest_on_surface(other, px, py, pz, np.inf, 0.0, pair.stack)
                    deepest = max(deepest, np.sqrt(squared))
    return deepest if deepest > 0.0 else farthest - nearest


@leaf_kernel
def leave_out_sunk(found):
    """Leaves out contacts with overlaps."""
    kept = 0
    for row in range(found.used[0]):
        if found.gap[row] < 0.0:
            continue
        for k in range(3):
            found.point[kept, k], found.normal[kept, k] = found.point[row, k], found.normal[row, k]
        found.gap[kept], found.feature[kept] = found.gap[row], found.feature[row]
        kept += 1
    found.used[0] = kept


@leaf_kernel
def add_curve(table, meeting, ends, keys, curve, which, middle, out):
    """Adds the contacts of one curve; returns whether it has a normal."""
    pair = pair_of(table, meeting)
    nx, ny, nz, length = area_vector(ends, curve, which, middle)
    area = np.sqrt(nx * nx + ny * ny + nz * nz)
    if area <= THIN * length * length:
        return False
    sign = out_of_sheet(pair, nx, ny, nz, middle) / area
    nx, ny, nz = sign * nx, sign * ny, sign * nz
    depth = depth_of(pair, ends, keys, curve, which, nx, ny, nz)
    for row in range(len(ends)):
        if curve[row] != which:
            continue
        of_first, e, face = keys[row, 0, 0] == 1, keys[row, 0, 1], keys[row, 0, 2]
        patch = pair.second.patch[face] if of_first else pair.first.patch[face]
        feature = feature_id(EDGE_FACE, e, patch) if of_first != pair.swapped else feature_id(FACE_EDGE, patch, e)
        add(out, ends[row, 0, 0], ends[row, 0, 1], ends[row, 0, 2], nx, ny, nz, -depth, feature, pair.swapped)
    return True


@inner_kernel
def with_crossings(table, meeting, rows, near, crossed, found):
    """Contacts that features have made, in a `Buffer`, with those of curves in the place of what overlaps there; and whether
    there was a curve without a normal. crossed: how many of the first `near` rows of triangles cross."""
    ends, keys = np.empty((crossed, 2, 3)), np.zeros((crossed, 2, 3), np.int64)
    fill_crossings(table, meeting, rows, near, ends, keys)
    curve = curves(keys)
    out = buffer(crossed)
    middle = np.empty(3)
    unclear = False
    for row in range(crossed):
        if curve[row] == row:
            unclear = not add_curve(table, meeting, ends, keys, curve, row, middle, out) or unclear
    leave_out_sunk(found)
    kept, fresh = found.used[0], out.used[0]
    return Buffer(
        np.concatenate((found.point[:kept], out.point[:fresh])),
        np.concatenate((found.normal[:kept], out.normal[:fresh])),
        np.concatenate((found.gap[:kept], out.gap[:fresh])),
        np.concatenate((found.feature[:kept], out.feature[:fresh])),
        np.array([kept + fresh]),
    ), unclear
