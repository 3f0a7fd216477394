# SPDX-License-Identifier: GPL-3.0-or-later
"""The normal of two cores that several axes separate about equally, as at coincident edges and vertices.

The translations t of b for which b overlaps a form the convex set C = {t : n . t <= -separation(n) for all unit n}, whose faces
are the separating axes. If features coincide, the origin lies on an edge or a vertex of C, up to rounding and the rest offset.
The nearest face is then one end of a wedge of valid normals, picked by rounding. Bodies with rounded edges would have one
normal. So C is shrunk by a margin, and the normal is the direction from the nearest point of the shrunk set to the origin. It
is the center of the wedge if features coincide, a smooth function of the poses, invariant under reflection, and the normal of
the face if one face alone is near.

The vector x from that point to the origin is the shortest one with n . x >= margin + separation(n) for all n. If x violates the
condition of an axis, that axis is the one with the largest separation after a translation of b by -x. It is added, until no
axis is violated.
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

# Relative to the size of the smaller body: the smallest margin, a hundred times the rounding of single precision; and the
# largest gap, which is that rounding, and the largest depth at which tied axes are searched for.
AXIS_MARGIN = 1e-5
MAX_GAP_RATIO = 1e-7
MAX_DEPTH_RATIO = 1e-3
# Relative to the margin: a second axis violated by less counts as the first one; and the tolerance of the conditions.
SECOND_AXIS_TOLERANCE = 1e-3
CONSTRAINT_TOLERANCE = 1e-9
# Squared sine of two unit normals, or squared volume of three, below which rounding dominates the intersection of their planes.
MIN_SQUARED_VOLUME = 1e-12
# In margins: a longer translation does not belong to one wedge of normals.
MAX_TRANSLATION_IN_MARGINS = 20.0


@inlined_kernel
def may_have_tied_axes(separation, scale):
    """Return True if bodies are so near, or overlap so little, that several axes may separate them.

    scale: size of the smaller one [m].
    """
    return -MAX_DEPTH_RATIO * scale <= separation <= MAX_GAP_RATIO * scale


@inlined_kernel
def inset_margin(separation, scale):
    """Return the margin by which the faces of the Minkowski difference move inward [m].

    It exceeds twice the depth of an overlap.
    """
    return AXIS_MARGIN * scale + 2.0 * max(0.0, -separation)


@kernel_part
def satisfies(axes, count, translation, slack):
    """Return True if a vector satisfies the conditions of the first `count` axes up to a slack [m]."""
    least = np.inf
    for row in range(count):
        least = min(least, dot(vec(axes, row), translation) - axes[row, 3])
    return least >= -slack


@kernel_part
def plane_intersection(axes, i, j, k):
    """Find the point common to the planes n . x = d of rows i, j and k that is nearest to the origin.

    j and k may be -1 for none. Returns whether the planes intersect, and the point [m].
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
    """Find the shortest x with n . x >= d for all rows (n, d) of axes (count, 4), with equality for the last row.

    It is the nearest to the origin of the common points of one, two or three planes that satisfy all other conditions.

    Returns whether it exists, and x [m].
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
    """Write the first axis, with its separation [m] plus the margin [m], to the rows, and return the shortest translation
    [m].
    """
    set_vec(axes, 0, axis)
    axes[0, 3] = margin + separation
    return scaled(axes[0, 3], axis)


@leaf_kernel
def add_axis(axes, count, axis, missing, translation, margin):
    """Add an axis to the first `count` rows, and find the shortest translation that satisfies all of them.

    missing: by how much the translation violates the condition of the axis [m].

    Returns whether there is one that is not too long, and that translation [m].
    """
    set_vec(axes, count, axis)
    axes[count, 3] = missing + dot(axis, translation)
    found, translation = min_norm_translation(axes, count + 1, 0.5 * CONSTRAINT_TOLERANCE * margin)
    return found and norm2(translation) <= (MAX_TRANSLATION_IN_MARGINS * margin) ** 2, translation


@kernel_part
def best_axis(pair):
    """Return the largest separation of the cores [m], and its unit axis from a to b."""
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
    """Return whether several axes separate touching cores, and the normal between these axes from a to b.

    axis, separation: the best axis and the separation along it [m].
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
