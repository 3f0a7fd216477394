# SPDX-License-Identifier: GPL-3.0-or-later
"""Selection of a few contacts of a region with many contacts, all with nearly the same normal, that span its support.

A mirrored scene must keep mirrored contacts. Its contacts have other feature ids, so the ids, which determine the order of the
rows, only break ties. Apart from ties, the selection depends on the extent of the contacts along directions that, as a set, are
invariant under reflection across any axis of a body.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ..linalg.elementary import sine_and_cosine
from ..linalg.vec3 import ZERO, add, cross, divided, dot, norm, rotated, rotated_back, scaled, sub, vec

__all__ = ["FEW_CONTACTS", "MOST_CONTACTS", "TIE_TOLERANCE", "select_contacts"]

# Up to FEW_CONTACTS are all kept. MOST_CONTACTS is the upper limit. It is reached if the lowest contacts, those with low gaps,
# and all contacts span different polygons.
FEW_CONTACTS, MOST_CONTACTS = 8, 20
# Relative difference up to which gaps, and distances of contacts, are equal.
TIE_TOLERANCE = 1e-9
# Relative to the range of gaps: contacts up to this height above the lowest gap touch at the same time. Rounding must not leave
# out one end of an edge that lies flat.
TOUCH_TOGETHER = 1e-4
# Angles [rad] of the directions with the first of two axes, in all four quadrants. Each corner of at most 134 degrees is
# farthest along one of the first eight directions. No direction is perpendicular to an edge of a regular polygon with up to 64
# sides and a corner or an edge on an axis, because rounding would then choose between the ends of the edge.
ANGLES = np.array([0.38666, 0.5 * np.pi - 0.38666, 0.145, 0.5 * np.pi - 0.145, 0.67665, 0.5 * np.pi - 0.67665])
# Computed in Python, because an import must not compile kernels.
SINES, COSINES = np.array([sine_and_cosine.py_func(float(angle)) for angle in ANGLES]).T.copy()
QUADRANTS = 4
# Relative to the range from the lowest gap to the largest gap of a contact: smaller gaps are low. The outline of a curved
# surface is not all that can touch, so contacts with low gaps are selected separately.
LOW_GAP_FRACTION = 0.25
# The four passes of `select_contacts`: gaps up to this fraction of the range above the lowest gap, how many of the ANGLES, and
# how many contacts. The first two passes count all contacts so far, the others only those that they add.
PASS_LEVELS = np.array([TIE_TOLERANCE, TOUCH_TOGETHER, np.inf, LOW_GAP_FRACTION])
PASS_ANGLES = np.array([len(ANGLES), len(ANGLES), len(ANGLES), 1])
PASS_CONTACTS = np.array([FEW_CONTACTS, FEW_CONTACTS, FEW_CONTACTS, QUADRANTS])
CUMULATIVE_PASSES = 2


@kernel_part
def tangent_axes(normal, turn):
    """Return two unit vectors perpendicular to a unit normal and to each other.

    turn: (3, 3) axes, in columns, that determine them.
    """
    x, y, z = rotated_back(turn, normal)
    # Gram-Schmidt on the axis with the smallest component of the normal; the first one in a tie.
    if abs(x) <= min(abs(y), abs(z)) + TIE_TOLERANCE:
        first = 1.0 - x * x, -x * y, -x * z
    elif abs(y) <= abs(z) + TIE_TOLERANCE:
        first = -y * x, 1.0 - y * y, -y * z
    else:
        first = -z * x, -z * y, 1.0 - z * z
    first = rotated(turn, divided(first, norm(first)))
    return first, cross(normal, first)


@inlined_kernel
def direction(angle, side, first, second):
    """Return the unit vector in quadrant `side` of two axes, at one of the ANGLES."""
    x, y = COSINES[angle], SINES[angle]
    return add(scaled(x if side < 2 else -x, first), scaled(y if side % 2 == 0 else -y, second))


@kernel_part
def gap_weight(gap, lowest, span):
    """Return the weight of a contact's distance: 1 at the lowest gap, 0.1 at the largest gap of a contact."""
    return 1.0 - 0.9 * (gap - lowest) / span


@kernel_part
def mean_point_and_normal(point, normal):
    """Return the mean of points (m, 3) and the normalized mean of normals (m, 3)."""
    middle, mean = ZERO, ZERO
    for i in range(len(point)):
        middle, mean = add(middle, vec(point, i)), add(mean, vec(normal, i))
    return divided(middle, float(len(point))), divided(mean, norm(mean))


@kernel_part
def extreme_contact(point, gap, lowest, span, level, direction_vector, middle):
    """Return the contact with a gap up to `level` that is farthest from the center along a direction, by weighted distance."""
    found, reach = -1, 0.0
    for i in range(len(gap)):
        if gap[i] > level:
            continue
        along = gap_weight(gap[i], lowest, span) * dot(direction_vector, sub(vec(point, i), middle))
        if found < 0 or along > reach + TIE_TOLERANCE * abs(reach):
            found, reach = i, along
    return found


@kernel_part
def is_among(row, selected, count):
    """Return True if a row is one of the first `count` chosen rows."""
    found = False
    for k in range(count):
        found = found or selected[k] == row
    return found


@leaf_kernel
def select_contacts(point, normal, gap, limit, turn, max_count, selected):
    """Select at most max_count contacts of one normal region that span its support.

    Four passes select extreme contacts: of the lowest ones, of those that touch together with them, of all, and of those with
    low gaps. The four directions of an angle are added together or not at all (except the first four), so a mirrored scene
    keeps mirrored contacts.

    point, normal, gap: (m, 3) [m], (m, 3) unit, and (m,) [m]. limit: largest gap; a contact at this gap counts for a tenth of
        its distance [m].
    turn: (3, 3) axes of the smaller body, in columns. selected: (MOST_CONTACTS,) output, rows.

    Returns the number of rows.
    """
    count = len(gap)
    if count <= min(FEW_CONTACTS, max_count):
        for i in range(count):
            selected[i] = i
        return count
    lowest, highest = np.inf, -np.inf
    for i in range(count):
        lowest, highest = min(lowest, gap[i]), max(highest, gap[i])
    span = max(limit - lowest, 1e-300)
    middle, mean_normal = mean_point_and_normal(point, normal)
    first, second = tangent_axes(mean_normal, turn)
    count = 0
    for stage in range(len(PASS_LEVELS)):
        level = lowest + PASS_LEVELS[stage] * span
        stage_limit = min(max_count, PASS_CONTACTS[stage] + (count if stage >= CUMULATIVE_PASSES else 0))
        for angle in range(PASS_ANGLES[stage]):
            total = count
            for side in range(QUADRANTS):
                row = extreme_contact(point, gap, lowest, span, level, direction(angle, side, first, second), middle)
                if not is_among(row, selected, total):
                    selected[total] = row
                    total += 1
            if total <= stage_limit or count == 0:
                count = min(total, max_count)
            if count >= stage_limit:
                break
        if stage < CUMULATIVE_PASSES and highest <= level:
            break
    return count
