# SPDX-License-Identifier: GPL-3.0-or-later
"""How the contacts between two rigid bodies share what they transmit, if they are equal springs.

A wall on the ground is a rigid body on many more contacts than it needs. Which of them bear its weight is undetermined, and
gaps of nanometres decide it, but the loads of its bonds depend on it. So the loads are found with the impulses that have the
same force and moment, as if contacts were equal springs. With a small motion y of one body against the other and the rows G of
a contact,

    lam_n = max(0, G_n y),    lam_t = G_t y where lam_n > 0,    sum G^T lam = W.

Contacts press and never pull; y and the set of those that press are found in turn.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import kernel
from ...linalg.small_dense import solved

__all__ = ["shared_impulses"]

MOST_ROUNDS = 30  # of finding which contacts press; a pair that does not settle keeps its impulses
RIDGE = 1e-12  # of the trace, where contacts in a line leave a motion undetermined
EXACT = 1e-6  # of W: what the sum may be off


@kernel
def shared_impulses(rows, pair, pairs, closed, impulse):
    """(m, 3) N s, the impulses of contacts shared among those of each pair of bodies.

    rows: (m, 3, 6) of one body of the pair. pair: (m,) its number below `pairs`, -1 for contacts that are left alone. closed:
    (m,) which contacts may bear something. impulse: (m, 3) N s.
    """
    out = impulse.copy()
    order = np.argsort(pair, kind="mergesort")
    first = np.searchsorted(pair[order], np.arange(pairs + 1))
    for p in range(pairs):
        members = order[first[p] : first[p + 1]]
        members = members[closed[members]]
        if members.size > 1:
            _share(rows, members, impulse, out)
    return out


@kernel
def _share(rows, members, impulse, out):
    """Share the impulses of the contacts (k,) of a pair."""
    total = _wrench(rows, members, impulse)
    presses, y, is_settled = np.ones(members.size, np.bool_), np.zeros(6), False
    for _ in range(MOST_ROUNDS):
        matrix, trace = _stiffness(rows, members, presses)
        if trace == 0.0:
            return
        y = solved(matrix, total)
        is_settled = True
        for at in range(members.size):
            does = _along(rows[members[at], 0], y) > 0.0
            is_settled &= does == presses[at]
            presses[at] = does
        if is_settled:
            break
    found = np.zeros_like(impulse)
    for at in range(members.size):
        for r in range(3):
            found[members[at], r] = _along(rows[members[at], r], y) if presses[at] else 0.0
    left = np.abs(total - _wrench(rows, members, found)).max()
    if is_settled and left <= EXACT * np.abs(total).max():
        out[members] = found[members]


@kernel
def _wrench(rows, members, impulse):
    """(6,) the sum of what contacts (k,) with impulses (m, 3) transmit."""
    out = np.zeros(6)
    for k in members:
        for r in range(3):
            for i in range(6):
                out[i] += rows[k, r, i] * impulse[k, r]
    return out


@kernel
def _stiffness(rows, members, presses):
    """(6, 6) the sum of G^T G of the contacts (k,) that press (k,), and its trace."""
    matrix, trace = np.zeros((6, 6)), 0.0
    for at in range(members.size):
        for r in range(3 if presses[at] else 0):
            row = rows[members[at], r]
            for i in range(6):
                trace += row[i] * row[i]
                for j in range(6):
                    matrix[i, j] += row[i] * row[j]
    for i in range(6):
        matrix[i, i] += RIDGE * trace
    return matrix, trace


@kernel
def _along(row, y):
    """The product of a row (6,) and a motion (6,)."""
    total = 0.0
    for i in range(6):
        total += row[i] * y[i]
    return total
