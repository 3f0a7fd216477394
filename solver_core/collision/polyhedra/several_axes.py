# SPDX-License-Identifier: GPL-3.0-or-later
"""The normal where several axes separate two cores about equally: edges and vertices that coincide.

What b may be moved by while it overlaps a is the convex C = {t : n . t <= -separation(n) for all unit n}, and its faces are
the separating axes. Where features coincide the origin lies on an edge or a vertex of C, up to rounding and the rest offset,
and the axis of the nearest face is one end of a wedge of normals: which one, rounding decides. Rounded edges have one normal
there, and so has C with its faces set in by a margin: the direction from its nearest point to the origin. It is the middle of
the wedge where the features coincide, a smooth function of the poses, that of a mirror image too, and the face's normal where
one face alone is near.

The way x from that point is the shortest one with n . x >= margin + separation(n). An axis that it misses is found as the one
that separates the cores most when b is moved by -x, and is added, until there is none.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ...linalg.vec3 import add, cross, divided, dot, negative, norm, norm2, scaled, set_vec, vec
from .hull_pair import MAX_AXES, HullPair
from .polyhedron import translated
from .separation import edge_separation, face_separation

__all__ = [
    "AXIS_MARGIN",
    "MAX_DEPTH_RATIO",
    "MAX_GAP_RATIO",
    "MAX_TRANSLATION_IN_MARGINS",
    "SECOND_AXIS_TOLERANCE",
    "add_axis",
    "inset_margin",
    "may_have_tied_axes",
    "min_norm_translation",
    "start_axes",
    "wedge_normal",
]

# Of the smaller body's size: the least margin by which faces are set in, a hundred times the rounding of single precision;
# up to which gap, that rounding, and to which depth several axes count.
AXIS_MARGIN = 1e-5
MAX_GAP_RATIO = 1e-7
MAX_DEPTH_RATIO = 1e-3
# Of the margin: by how little a way may miss an axis. A second axis that the first one's way misses by less is about the same.
SECOND_AXIS_TOLERANCE = 1e-3
CONSTRAINT_TOLERANCE = 1e-9
# Squared sine, or squared volume of three unit normals, below which they have no point in common that rounding leaves.
MIN_SQUARED_VOLUME = 1e-12
# In margins: a way as long as this goes around the body.
MAX_TRANSLATION_IN_MARGINS = 20.0


@inlined_kernel
def may_have_tied_axes(separation, scale):
    """Whether bodies of a size are so near, or overlap so little, that another axis may separate them as well."""
    return -MAX_DEPTH_RATIO * scale <= separation <= MAX_GAP_RATIO * scale


@inlined_kernel
def inset_margin(separation, scale):
    """By how much in m the faces of the difference are set in: it holds the origin only if it is that far from them."""
    return AXIS_MARGIN * scale + 2.0 * max(0.0, -separation)


@kernel_part
def satisfies(axes, count, translation, slack):
    """Whether a way is long enough along each axis, up to the slack in m."""
    least = np.inf
    for row in range(count):
        least = min(least, dot(vec(axes, row), translation) - axes[row, 3])
    return least >= -slack


@kernel_part
def plane_intersection(axes, i, j, k):
    """The point nearest to the origin that planes n . x = d have in common, of rows i, j and k: (whether they meet, the point).

    A row of -1 is none.
    """
    p, d = vec(axes, i), axes[i, 3]
    if j < 0:
        return True, scaled(d, p)
    q, e = vec(axes, j), axes[j, 3]
    r, f = (vec(axes, k), axes[k, 3]) if k >= 0 else (cross(p, q), 0.0)
    volume = dot(cross(p, q), r)
    if volume * volume <= MIN_SQUARED_VOLUME * norm2(r):
        return False, p
    point = add(add(scaled(d, cross(q, r)), scaled(e, cross(r, p))), scaled(f, cross(p, q)))
    return True, divided(point, volume)


@kernel_part
def min_norm_translation(axes, count, slack):
    """The shortest x with n . x >= d for all rows (n, d) of axes (count, 4), the last of them with equality.

    Returns (whether there is one, x). It is the nearest to the origin of the points that one, two or three of the planes have
    in common and that satisfy the others.
    """
    last = count - 1
    best, translation = np.inf, vec(axes, last)
    for j in range(-1, last):
        for k in range(-1, max(j, 0)):
            meets, point = plane_intersection(axes, last, j, k)
            square = norm2(point)
            if meets and square < best and satisfies(axes, count, point, slack):
                best, translation = square, point
    return best < np.inf, translation


@inlined_kernel
def start_axes(axes, axis, separation, margin):
    """Writes the first of the axes, with its separation, and returns the way along it."""
    set_vec(axes, 0, axis)
    axes[0, 3] = margin + separation
    return scaled(axes[0, 3], axis)


@leaf_kernel
def add_axis(axes, count, axis, missing, translation, margin):
    """Adds an axis to the first rows, which a way misses by so much in m: (whether a way leads out along all, that way)."""
    set_vec(axes, count, axis)
    axes[count, 3] = missing + dot(axis, translation)
    found, translation = min_norm_translation(axes, count + 1, 0.5 * CONSTRAINT_TOLERANCE * margin)
    return found and norm2(translation) <= (MAX_TRANSLATION_IN_MARGINS * margin) ** 2, translation


@kernel_part
def best_axis(pair):
    """The axis from a to b that separates the cores most, or along which they overlap least: (separation in m, unit axis)."""
    face_axis_a = face_separation(pair.a, pair.b, np.inf)
    face_axis_b = face_separation(pair.b, pair.a, np.inf)
    if face_axis_a.separation >= face_axis_b.separation:
        separation, axis = face_axis_a.separation, vec(pair.a.planes, face_axis_a.face)
    else:
        separation, axis = face_axis_b.separation, negative(vec(pair.b.planes, face_axis_b.face))
    edge_axis = edge_separation(pair, face_axis_a, face_axis_b, separation, abs(separation))
    return (edge_axis.separation, edge_axis.normal) if edge_axis.edge_a >= 0 else (separation, axis)


@leaf_kernel
def wedge_normal(pair, axis, separation):
    """The normal from a to b where several axes separate cores that touch: (whether several do, the normal).

    axis: the best one, with its separation.
    """
    work = pair.work
    margin = inset_margin(separation, pair.scale)
    translation = start_axes(work.axes, axis, separation, margin)
    for count in range(1, MAX_AXES):
        moved = translated(pair.b, negative(translation), work.moved)
        deepest, another = best_axis(HullPair(pair.a, moved, pair.limit, pair.scale, pair.noise, pair.manifold, work))
        missing = deepest + margin
        if missing <= (SECOND_AXIS_TOLERANCE if count == 1 else CONSTRAINT_TOLERANCE) * margin:
            return count > 1, divided(translation, norm(translation))
        found, translation = add_axis(work.axes, count, another, missing, translation, margin)
        if not found:
            break
    return False, axis
