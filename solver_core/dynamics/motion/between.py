# SPDX-License-Identifier: GPL-3.0-or-later
"""Removal of redundant contacts of flexible bodies: those that lie between two others and move with them.

If the position of a contact is a weighted mean of two others, with weights w and 1 - w, and so are its normal, its modes and
its gap, then its row is the same mean of their rows, and it forbids no motion that they allow. Modes and gaps are compared
explicitly, because the gap shows an existing deflection. A plank therefore keeps all contacts at which it could sag through the
floor, while the foot of a chair keeps its four corners.

Contacts that carried load in the last step are kept. Without such a contact, others carry more load, the body bends a little
further, and in the next step the contact is closer than the mean of their gaps and is kept again. Contacts would then appear
and disappear forever.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import kernel, kernel_part, leaf_kernel

__all__ = ["NEAREST", "not_between"]

# Largest distance of a contact from the line between the two others, relative to their distance.
BESIDE_THE_LINE = 1e-3
# Largest difference of normals.
NORMALS_APART = 1e-3
# Largest difference of the contact's modes from the interpolated ones, relative to the modes of the two others.
MODES_APART = 1e-2
# Fraction of the smaller rest offset by which the gap may be smaller than the interpolated one.
NEARER_THAN_BETWEEN = 1e-2
# The number of nearest contacts among which the two others are searched.
NEAREST = 8


@kernel_part
def _nearest(point, kept, k, first, end, index, square):
    """Find the kept contacts nearest to the k-th among those from first to end.

    Writes their indices and squared distances, both (NEAREST,). Returns their number.
    """
    count = 0
    for i in range(first, end):
        if i == k or not kept[i]:
            continue
        away = 0.0
        for axis in range(3):
            away += (point[i, axis] - point[k, axis]) ** 2
        if count == NEAREST and away >= square[count - 1]:
            continue
        at = count if count < NEAREST else NEAREST - 1
        count = at + 1
        while at > 0 and square[at - 1] > away:
            index[at], square[at] = index[at - 1], square[at - 1]
            at -= 1
        index[at], square[at] = i, away
    return count


@kernel_part
def _place_between(point, normal, i, j, k):
    """Return the weight of j if contact k lies between i and j and has their normal; -1 otherwise."""
    length = along = off = 0.0
    for axis in range(3):
        way, own = point[j, axis] - point[i, axis], point[k, axis] - point[i, axis]
        length += way * way
        along += way * own
    if not 0.0 < along < length:
        return -1.0
    weight = along / length
    for axis in range(3):
        off += (point[k, axis] - point[i, axis] - weight * (point[j, axis] - point[i, axis])) ** 2
        if abs(normal[i, axis] - normal[k, axis]) + abs(normal[j, axis] - normal[k, axis]) > NORMALS_APART:
            return -1.0
    return weight if off <= BESIDE_THE_LINE * BESIDE_THE_LINE * length else -1.0


@kernel_part
def _moves_between(modes, normal, i, j, k, weight):
    """Return whether modes (2, m, 3, r) move contact k along its normal like the weighted mean of i and j."""
    own = other = 0.0
    for side in range(2):
        for r in range(modes.shape[3]):
            at_i = at_j = at_k = 0.0
            for axis in range(3):
                at_i += normal[k, axis] * modes[side, i, axis, r]
                at_j += normal[k, axis] * modes[side, j, axis, r]
                at_k += normal[k, axis] * modes[side, k, axis, r]
            other += (at_k - (1.0 - weight) * at_i - weight * at_j) ** 2
            own += at_i * at_i + at_j * at_j
    return other <= MODES_APART * MODES_APART * own


@leaf_kernel
def _leave_out(pair, contacts, modes, nearer, bore, kept, index, square):
    """Remove the contacts of a pair that lie between two others. Returns whether any was removed."""
    (first, end), (point, normal, gap), found = pair, contacts, False
    for k in range(first, end):
        count = _nearest(point, kept, k, first, end, index, square) if kept[k] and not bore[k] else 0
        for row in range(count):
            for other in range(row):
                i, j = index[row], index[other]
                weight = _place_between(point, normal, i, j, k)
                if weight < 0.0 or gap[k] < (1.0 - weight) * gap[i] + weight * gap[j] - nearer:
                    continue
                if kept[k] and _moves_between(modes, normal, i, j, k, weight):
                    kept[k], found = False, True
    return found


@kernel
def not_between(ends, places, bodies, modes, bore):
    """Return (m,) which contacts to keep. Contacts are sorted by bodies; those of two rigid bodies are all kept.

    ends: (m,) bodies A and B. places: (m, 3) points and normals, and (m,) gaps. bodies: (n,) which are flexible, and rest
    offsets in m. modes: (2, m, 3, r) world, of both bodies at the contacts. bore: (m,) contacts that carried load in the last
    step.
    """
    (body_a, body_b), gap, (bends, rest) = ends, places[2], bodies
    kept, index, square = np.ones(len(gap), np.bool_), np.empty(NEAREST, np.int64), np.empty(NEAREST)
    first = 0
    while first < len(gap):
        a, b, end = body_a[first], body_b[first], first + 1
        while end < len(gap) and body_a[end] == a and body_b[end] == b:
            end += 1
        nearer = NEARER_THAN_BETWEEN * (rest[b] if rest[a] == 0.0 else (rest[a] if rest[b] == 0.0 else min(rest[a], rest[b])))
        if bends[a] or bends[b]:
            # Repeat, because after a removal other contacts are the nearest.
            while _leave_out((first, end), places, modes, nearer, bore, kept, index, square):
                pass
        first = end
    return kept
