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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel, kernel_part, leaf_kernel

__all__ = ["NEAREST", "ContactGeometry", "nonredundant"]

Floats = NDArray[np.float64]

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


class ContactGeometry(NamedTuple):
    """The geometry of m contacts: point and normal (m, 3) m, world, and gap (m,) m."""

    point: Floats
    normal: Floats
    gap: Floats


class Nearest(NamedTuple):
    """Work arrays for the nearest contacts of one: row (NEAREST,), and square (NEAREST,) m^2, their squared distances."""

    row: NDArray[np.int64]
    square: Floats


@kernel_part
def _find_nearest(point, kept, k, first, end, out):
    """Find the kept contacts nearest to the k-th among those from first to end; write `Nearest` and return their number."""
    count, index, square = 0, out.row, out.square
    for i in range(first, end):
        if i == k or not kept[i]:
            continue
        away = 0.0
        for axis in range(3):
            away += (point[i, axis] - point[k, axis]) ** 2
        if count == NEAREST and away >= square[count - 1]:
            continue
        slot = count if count < NEAREST else NEAREST - 1
        count = slot + 1
        while slot > 0 and square[slot - 1] > away:
            index[slot], square[slot] = index[slot - 1], square[slot - 1]
            slot -= 1
        index[slot], square[slot] = i, away
    return count


@kernel_part
def _place_between(point, normal, i, j, k):
    """Return the weight of j if contact k lies between i and j and has their normal; -1 otherwise."""
    length = along = off = 0.0
    for axis in range(3):
        way, offset = point[j, axis] - point[i, axis], point[k, axis] - point[i, axis]
        length += way * way
        along += way * offset
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
def _remove_redundant(first, end, contacts, modes, nearer, keeps, kept, nearest):
    """Remove the contacts of a pair that lie between two others.

    Parameters
    ----------
    first, end : the rows of the pair
    contacts : `ContactGeometry`
    modes : (2, m, 3, r) world, of both bodies at the contacts
    nearer : m; a contact with a gap that is smaller than the interpolated one by more is kept
    keeps : (m,) contacts that are never removed
    kept : (m,) the contacts that are left, updated
    nearest : `Nearest`, overwritten

    Returns
    -------
    whether any contact was removed
    """
    point, normal, gap, found = contacts.point, contacts.normal, contacts.gap, False
    for k in range(first, end):
        count = _find_nearest(point, kept, k, first, end, nearest) if kept[k] and not keeps[k] else 0
        for row in range(count):
            for other in range(row):
                i, j = nearest.row[row], nearest.row[other]
                weight = _place_between(point, normal, i, j, k)
                if weight < 0.0 or gap[k] < (1.0 - weight) * gap[i] + weight * gap[j] - nearer:
                    continue
                if kept[k] and _moves_between(modes, normal, i, j, k, weight):
                    kept[k], found = False, True
    return found


@kernel
def nonredundant(body_a, body_b, contacts, flexible, rest, modes, loaded):
    """Return (m,) which contacts to keep. Contacts of two rigid bodies are all kept.

    Parameters
    ----------
    body_a, body_b : (m,) the bodies of the contacts, which are sorted by them
    contacts : `ContactGeometry`
    flexible : (n,) which bodies are flexible
    rest : (n,) m, rest offsets
    modes : (2, m, 3, r) world, of both bodies at the contacts
    loaded : (m,) contacts that carried load in the last step
    """
    gap, kept = contacts.gap, np.ones(len(contacts.gap), np.bool_)
    nearest = Nearest(np.empty(NEAREST, np.int64), np.empty(NEAREST))
    first = 0
    while first < len(gap):
        a, b, end = body_a[first], body_b[first], first + 1
        while end < len(gap) and body_a[end] == a and body_b[end] == b:
            end += 1
        nearer = NEARER_THAN_BETWEEN * (rest[b] if rest[a] == 0.0 else (rest[a] if rest[b] == 0.0 else min(rest[a], rest[b])))
        if flexible[a] or flexible[b]:
            # Repeat, because after a removal other contacts are the nearest.
            while _remove_redundant(first, end, contacts, modes, nearer, loaded, kept, nearest):
                pass
        first = end
    return kept
