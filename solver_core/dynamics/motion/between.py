# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of bodies that bend which lie between two others, and move between them: what these bear, they need not.

With weights w and 1 - w that add up to its place, the row of such a contact is that sum of the rows of the two, so it forbids
nothing that they allow. That is known of its place and its normal; of its modes it is measured, and so it is of its gap, which
tells what is bent already: a plank keeps all that it could come through the floor between, a chair's foot has four corners.

What bore in the last step stays: without it others bear more, what bends bends a little further, and in the next step it is
nearer than what lies between their gaps and kept again. Such contacts would come and go for ever.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import kernel, kernel_part, leaf_kernel

__all__ = ["NEAREST", "not_between"]

# Of the way from one to the other: how far off it a contact may lie.
BESIDE_THE_LINE = 1e-3
# How much their normals may differ.
NORMALS_APART = 1e-3
# Of the modes of the two: how much those of the contact may differ from what is between theirs.
MODES_APART = 1e-2
# Of the smaller rest offset: how much nearer it may be than what is between their gaps.
NEARER_THAN_BETWEEN = 1e-2
# How many of a contact's nearest two may be.
NEAREST = 8


@kernel_part
def _nearest(point, kept, k, first, end, index, square):
    """Write the kept contacts among first to end nearest to the k-th, and squared distances, both (NEAREST,); how many."""
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
    """The weight of j at contact k, which lies between i and j and has their normal; -1 where that is not so."""
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
    """Whether modes (2, m, 3, r) move contact k along its normal as they do what is between i and j."""
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
    """Leave out, of the contacts from the first to the end of a pair, those between two others; whether any was."""
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
    """(m,) which contacts to keep, of contacts sorted by bodies; all of those of which neither body bends.

    ends: (m,) bodies A and B. places: (m, 3) points and normals, (m,) gaps. bodies: (n,) which bend, and rest offsets in m.
    modes: (2, m, 3, r) world, of both bodies at the contacts. bore: (m,) which contacts bore in the last step.
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
            # with what lay nearest left out, others are the nearest
            while _leave_out((first, end), places, modes, nearer, bore, kept, index, square):
                pass
        first = end
    return kept
