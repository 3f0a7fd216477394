# SPDX-License-Identifier: GPL-3.0-or-later
"""Which contacts are kept of a region with many, all with nearly one normal: a few that span what they support together.

Features have no say unless nothing else decides, for in a mirror they have other numbers. What decides is how far contacts lie
out in directions that are, as a set, the same in a mirror across any axis of a body, and after that how far from each other.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ..linalg.elementary import sine_and_cosine
from ..linalg.vec3 import ZERO, add, cross, divided, dot, norm, rotated, rotated_back, scaled, sub, vec

__all__ = ["FEW_CONTACTS", "MOST_CONTACTS", "TIED", "choose"]

# So few contacts are all kept; and the most, where the lowest, the lower and all of them span different polygons.
FEW_CONTACTS, MOST_CONTACTS = 8, 20
# Relative: gaps, and distances of contacts, that differ by less are equal.
TIED = 1e-9
# Of the way from the lowest gap to the largest that a contact may have: contacts up to here touch at the same time. Rounding
# must not leave out one end of an edge that lies flat.
TOUCH_TOGETHER = 1e-4
# The directions lead to both sides of two axes, at these angles in rad with the one, then with the other. A corner of at most
# 134 degrees is always the farthest in one of the first eight, and none is across an edge of a regular polygon, of up to 64
# sides, with a corner or an edge on an axis: there rounding would choose between the edge's ends.
ANGLES = np.array([0.38666, 0.5 * np.pi - 0.38666, 0.145, 0.5 * np.pi - 0.145, 0.67665, 0.5 * np.pi - 0.67665])
# in Python, for nothing is compiled when a module is imported
SINES, COSINES = np.array([sine_and_cosine.py_func(float(angle)) for angle in ANGLES]).T.copy()
QUARTERS = 4
# Of the way from the lowest gap to the largest that a contact may have: up to here gaps count as lower. Where a surface bulges,
# its outline is not all that can touch.
LOWER = 0.25


@kernel_part
def axes_across(normal, turn):
    """Two unit vectors across a unit normal and each other, by the axes in the columns of turn (3, 3)."""
    x, y, z = rotated_back(turn, normal)
    # From the axis that is least along the normal, the first of those that are up to noise, what lies along it taken off.
    if abs(x) <= min(abs(y), abs(z)) + TIED:
        first = 1.0 - x * x, -x * y, -x * z
    elif abs(y) <= abs(z) + TIED:
        first = -y * x, 1.0 - y * y, -y * z
    else:
        first = -z * x, -z * y, 1.0 - z * z
    first = rotated(turn, divided(first, norm(first)))
    return first, cross(normal, first)


@inlined_kernel
def direction(angle, side, first, second):
    """A unit vector to one of the QUARTERS of two axes, at one of the ANGLES."""
    x, y = COSINES[angle], SINES[angle]
    return add(scaled(x if side < 2 else -x, first), scaled(y if side % 2 == 0 else -y, second))


@kernel_part
def nearness(gap, lowest, span):
    """What distances of a contact count for: where its gap is the largest that it may have, a tenth."""
    return 1.0 - 0.9 * (gap - lowest) / span


@kernel_part
def middle_of(point, normal):
    """The mean of points (m, 3), and the unit normal that unit normals (m, 3) are near to."""
    middle, mean = ZERO, ZERO
    for i in range(len(point)):
        middle, mean = add(middle, vec(point, i)), add(mean, vec(normal, i))
    return divided(middle, float(len(point))), divided(mean, norm(mean))


@kernel_part
def outermost(point, gap, lowest, span, level, way, middle):
    """Of the contacts with gaps up to a level, the one that is farthest from the middle along a way."""
    found, reach = -1, 0.0
    for i in range(len(gap)):
        if gap[i] > level:
            continue
        along = nearness(gap[i], lowest, span) * dot(way, sub(vec(point, i), middle))
        if found < 0 or along > reach + TIED * abs(reach):
            found, reach = i, along
    return found


@kernel_part
def is_among(row, chosen, count):
    """Whether a row is one of the first `count` chosen."""
    found = False
    for k in range(count):
        found = found or chosen[k] == row
    return found


@leaf_kernel
def choose(point, normal, gap, limit, turn, share, chosen):
    """Writes the rows of at most `share` contacts of a region into chosen (MOST_CONTACTS,): how many.

    Those that lie farthest out of the lowest, of those that touch together with them, of all, and of the lower ones, in this
    order, on all sides or none. A gap near the limit makes a contact count as nearer. turn: (3, 3) axes of the smaller body, in
    columns.
    """
    count = len(gap)
    if count <= min(FEW_CONTACTS, share):
        for i in range(count):
            chosen[i] = i
        return count
    lowest, highest = np.inf, -np.inf
    for i in range(count):
        lowest, highest = min(lowest, gap[i]), max(highest, gap[i])
    span = max(limit - lowest, 1e-300)
    middle, up = middle_of(point, normal)
    first, second = axes_across(up, turn)
    count = 0
    # the lowest, those that touch together with them, all, and the lower ones
    for stage in range(4):
        part = TIED if stage == 0 else TOUCH_TOGETHER if stage == 1 else np.inf if stage == 2 else LOWER
        level = lowest + part * span
        room = min(share, FEW_CONTACTS if stage < 2 else count + (QUARTERS if stage == 3 else FEW_CONTACTS))
        for angle in range(1 if stage == 3 else len(ANGLES)):
            total = count
            for side in range(QUARTERS):
                row = outermost(point, gap, lowest, span, level, direction(angle, side, first, second), middle)
                if not is_among(row, chosen, total):
                    chosen[total] = row
                    total += 1
            if total <= room or count == 0:
                count = min(total, share)
            if count >= room:
                break
        if stage < 2 and highest <= level:
            break
    return count
