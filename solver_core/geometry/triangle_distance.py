# SPDX-License-Identifier: GPL-3.0-or-later
"""Distance of triangles, and whether a point is inside a closed surface.

The distance of two triangles that do not intersect is that of a corner of one and the other triangle, or of two edges (Ericson
2005, 5.1.5, 5.1.9 and 5.1.10). Triangles without area represent segments and points.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import kernel, leaf_kernel
from ..linalg.vec3 import add, cross, dot, norm2, scaled, sub, vec

__all__ = ["is_inside", "is_within"]

# Relative to the squared lengths of two edges: the squared normal of a triangle without area.
NO_AREA = 1e-24
# Direction of rays. It is unlikely to be parallel to an edge of any model.
ASKEW = (0.5298129428260175, 0.6234898018587336, 0.5749282171928351)


@leaf_kernel
def _to_segment2(p, a, b):
    """Return the squared distance of a point and a segment [m^2]."""
    along, way = sub(b, a), sub(p, a)
    size = norm2(along)
    t = min(max(dot(way, along) / size, 0.0), 1.0) if size > 0.0 else 0.0
    return norm2(sub(way, scaled(t, along)))


@leaf_kernel
def _above_triangle2(p, a, b, c):
    """Return the squared distance of a point and the plane of a triangle if its projection is inside the triangle, else inf
    [m^2].
    """
    ab, ac = sub(b, a), sub(c, a)
    normal = cross(ab, ac)
    size = norm2(normal)
    if size <= NO_AREA * norm2(ab) * norm2(ac):
        return np.inf
    way = sub(p, a)
    u, w = dot(cross(ab, way), normal), dot(cross(way, ac), normal)
    if u < 0.0 or w < 0.0 or u + w > size:
        return np.inf
    height = dot(way, normal)
    return height * height / size


@leaf_kernel
def _of_segments2(p, q, a, b):
    """Return the squared distance of two segments [m^2]."""
    d, e, r = sub(q, p), sub(b, a), sub(p, a)
    dd, ee, de = norm2(d), norm2(e), dot(d, e)
    least = min(min(_to_segment2(p, a, b), _to_segment2(q, a, b)), min(_to_segment2(a, p, q), _to_segment2(b, p, q)))
    size = dd * ee - de * de
    if size <= NO_AREA * dd * ee:
        return least
    s = (de * dot(e, r) - ee * dot(d, r)) / size
    t = (dd * dot(e, r) - de * dot(d, r)) / size
    if 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0:
        return min(least, norm2(sub(add(r, scaled(s, d)), scaled(t, e))))
    return least


@leaf_kernel
def _crosses(p, q, a, b, c):
    """Return True if a segment intersects a triangle."""
    normal = cross(sub(b, a), sub(c, a))
    above, below = dot(sub(p, a), normal), dot(sub(q, a), normal)
    if above == below or (above > 0.0) == (below > 0.0):
        return False
    point = add(p, scaled(above / (above - below), sub(q, p)))
    return _above_triangle2(point, a, b, c) < np.inf


@kernel
def _are_within(one, other, reach2):
    """Return True if two triangles (3, 3) are within a squared distance [m^2]."""
    for i in range(3):
        j = (i + 1) % 3
        if _above_triangle2(vec(one, i), vec(other, 0), vec(other, 1), vec(other, 2)) <= reach2:
            return True
        if _above_triangle2(vec(other, i), vec(one, 0), vec(one, 1), vec(one, 2)) <= reach2:
            return True
        if _crosses(vec(one, i), vec(one, j), vec(other, 0), vec(other, 1), vec(other, 2)):
            return True
        if _crosses(vec(other, i), vec(other, j), vec(one, 0), vec(one, 1), vec(one, 2)):
            return True
        for k in range(3):
            if _of_segments2(vec(one, i), vec(one, j), vec(other, k), vec(other, (k + 1) % 3)) <= reach2:
                return True
    return False


@kernel
def _low_and_high(corners):
    """Return the lower and the upper corner (3,) of the bounds of points (n, 3)."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for i in range(len(corners)):
        for k in range(3):
            low[k], high[k] = min(low[k], corners[i, k]), max(high[k], corners[i, k])
    return low, high


@kernel
def is_within(triangles, others, reach):
    """Return True if any triangles of two sets (m, 3, 3) and (k, 3, 3) are within a distance [m].

    Touching triangles are within 0 m.
    """
    low, high = _low_and_high(triangles.reshape(-1, 3))
    for row in range(len(others)):
        below, above = _low_and_high(others[row])
        if (below > high + reach).any() or (above < low - reach).any():
            continue
        for index in range(len(triangles)):
            lower, upper = _low_and_high(triangles[index])
            if (below > upper + reach).any() or (above < lower - reach).any():
                continue
            if _are_within(triangles[index], others[row], reach * reach):
                return True
    return False


@kernel
def is_inside(point, triangles):
    """Return True if a point (3,) is inside a closed surface of triangles (k, 3, 3), by counting the crossings of a ray with
    signs.
    """
    crossings, p = 0, (point[0], point[1], point[2])
    for row in range(len(triangles)):
        a, b, c = vec(triangles[row], 0), vec(triangles[row], 1), vec(triangles[row], 2)
        # Moeller and Trumbore 1997.
        ab, ac, way = sub(b, a), sub(c, a), sub(p, a)
        h = cross(ASKEW, ac)
        det = dot(ab, h)
        if det == 0.0:
            continue
        u = dot(way, h) / det
        q = cross(way, ab)
        v = dot(ASKEW, q) / det
        if u >= 0.0 and v >= 0.0 and u + v <= 1.0 and dot(ac, q) / det > 0.0:
            crossings += 1 if det > 0.0 else -1
    return crossings != 0
