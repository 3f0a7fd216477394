# SPDX-License-Identifier: GPL-3.0-or-later
"""Load sharing between the contacts of two rigid bodies, as if the contacts were equal springs.

A wall on the ground is a rigid body with many more contacts than it needs. The distribution of its weight over them is not
unique, and gaps of nanometers decide it, but the loads of its bonds depend on it. The loads of bonds are therefore computed
with impulses of the same total force and moment, distributed as if contacts were equal springs. With a small motion y of one
body relative to the other and the rows G of a contact,

    lam_n = max(0, G_n y),    lam_t = G_t y if lam_n > 0,    sum G^T lam = W.

Contacts push and never pull. The motion y and the set of pushing contacts are computed alternately.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import kernel
from ...linalg.small_dense import solved

__all__ = ["shared_impulses"]

MOST_ROUNDS = 30  # updates of the set of pushing contacts; a pair that does not settle keeps its impulses
RIDGE = 1e-12  # fraction of the trace, added to the diagonal because contacts in a line leave a motion undetermined
EXACT = 1e-6  # relative tolerance of the sum W


@kernel
def shared_impulses(rows, pair, pairs, closed, impulse):
    """Return (m, 3) N s, the impulses of contacts, shared among the contacts of each pair of bodies.

    rows: (m, 3, 6) Jacobians of one body of the pair. pair: (m,) the pair of each contact, below `pairs`; -1 for contacts that
    keep their impulses. closed: (m,) which contacts may carry load. impulse: (m, 3) N s.
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
    """Return (6,) the total wrench of contacts (k,) with impulses (m, 3)."""
    out = np.zeros(6)
    for k in members:
        for r in range(3):
            for i in range(6):
                out[i] += rows[k, r, i] * impulse[k, r]
    return out


@kernel
def _stiffness(rows, members, presses):
    """Return (6, 6) the sum of G^T G over the pushing contacts, and its trace. members: (k,) contacts. presses: (k,)."""
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
    """Return the product of a row (6,) and a motion (6,)."""
    total = 0.0
    for i in range(6):
        total += row[i] * y[i]
    return total
