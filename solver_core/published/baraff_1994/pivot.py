# SPDX-License-Identifier: GPL-3.0-or-later
"""Baraff 1994: contact forces by pivoting, Dantzig's algorithm in physical terms.

Contacts are taken one by one. While the force at one is increased until its acceleration is zero, all others adapt so that what
has been established stays so; where one of them comes to a bound, its index moves to another set. `compute_forces` and
`drive_to_zero` are the paper's functions, as are `fdirection` and `maxstep` in `step.py`, sections 4 and 5; section 6, dynamic
friction, is in the matrix that they are given. Read velocities and impulses for accelerations and forces and the same algorithm
solves a time step.

    a = A f + b                                                               (1)
    a_N >= 0,  f_N >= 0,  f_N a_N = 0                                         (2), (15)
    |f_F| <= mu f_N,  f_F . a_F <= 0,  |a_F| (mu f_N - |f_F|) = 0             (16), (21)

Where the paper leaves a choice: x, the tangent that is established first, is the direction in which the contact accelerates, so
that friction at the onset of slip opposes it. A contact that leaves NC gets friction opposed to its acceleration.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, kernel, kernel_part, leaf_kernel
from .index_sets import (
    CF,
    CFX,
    CLAMPED,
    DRIVES,
    FREE,
    NC,
    NONE,
    OFF,
    PIVOTS,
    clamp,
    enter,
    give_up_friction,
    give_up_normal,
    release,
    rotate_frame,
    slip,
    stick,
)
from .step import (
    BOUND,
    CLAMP,
    DRIVE_FRICTION,
    DRIVE_NORMAL,
    IDLE,
    RELEASE,
    REST,
    RETURN,
    SLIP,
    TAKE_BACK,
    fdirection,
    maxstep,
    recompute,
)

__all__ = ["ESTABLISHED", "INTERRUPTED", "RAY", "compute_forces", "establish_bilateral"]

# How compute_forces ends.
ESTABLISHED, INTERRUPTED, RAY = range(3)

LASTS = 1e-14  # of the largest force: a step that changes the driven one by less is of size zero
VANISHED = 1e-13  # of the largest force: no friction


@inlined_kernel
def _largest_force(p):
    largest = 0.0
    for f in p.force:
        largest = max(largest, abs(f))
    return largest


@kernel_part
def _take_step(p, s):
    for i in range(p.b.size):
        p.force[i] += s * p.change[i]
        p.acceleration[i] += s * p.response[i]


@leaf_kernel
def _repeats(p, index, standing_since):
    """Whether an index moves although nothing has since it last did: it alternates by steps of size zero."""
    again = p.changed[index] >= standing_since
    p.changed[index] = p.counts[PIVOTS]
    return again


@kernel_part
def _move(p, event, j, standing_since, at_rest):
    """Move j to the set that the event asks for, or give it up where it only alternates."""
    if event == IDLE:
        if _repeats(p, j, standing_since) or not enter(p, j):
            c = p.owner[j]
            if c != FREE and j == p.normal[c]:
                p.normal_set[c] = NONE if p.force[j] == 0.0 else CLAMPED
            elif c != FREE:
                give_up_friction(p, c)
        return
    normal, first = p.normal[j], p.friction[j]
    if event == RELEASE:
        if _repeats(p, normal, standing_since):
            give_up_normal(p, j)
        else:
            release(p, j)
    elif event == CLAMP:
        p.acceleration[normal] = 0.0
        if _repeats(p, normal, standing_since):
            give_up_normal(p, j)
        else:
            clamp(p, j)
    elif event == SLIP:
        if _no_friction(p, j):
            # friction and normal force come to zero together: the contact is about to break
            release(p, j)
        elif _repeats(p, first, standing_since):
            give_up_friction(p, j)
        else:
            slip(p, j)
    elif _repeats(p, first, standing_since):
        give_up_friction(p, j)
    else:
        stick(p, j, at_rest)


@kernel_part
def _no_friction(p, c):
    """Whether both forces of a contact have come to zero, against the largest of all."""
    total = abs(p.force[p.normal[c]])
    for t in range(p.tangents):
        total += abs(p.force[p.friction[c] + t])
    return total <= VANISHED * _largest_force(p)


@kernel_part
def _arrive(p, d, purpose, event):
    """The driven index joins the set that it has come to."""
    c = p.owner[d]
    if purpose == TAKE_BACK:
        p.force[d] = 0.0
    elif purpose == DRIVE_NORMAL:
        p.acceleration[d] = 0.0
        p.normal_set[c] = CLAMPED
        if p.friction_set[c] == OFF:
            p.friction_set[c] = NONE
        enter(p, d)
    elif event == BOUND:
        slip(p, c)
    else:
        p.acceleration[d] = 0.0
        last = d == p.friction[c] + p.tangents - 1
        p.friction_set[c] = CF if last else CFX
        enter(p, d)


@leaf_kernel
def drive_to_zero(p, d, purpose, at_rest, budget):
    """Increase |f_d| until a_d is zero (or friction is at its bound; or, to take friction back, f_d is zero).

    Returns ESTABLISHED, RAY where nothing ever limits the step, or INTERRUPTED where the pivots exceed the budget.
    """
    p.counts[DRIVES] += 1
    if purpose == DRIVE_NORMAL:
        sign = 1.0
    elif purpose == DRIVE_FRICTION:
        sign = -1.0 if p.acceleration[d] > 0.0 else 1.0
    else:
        sign = -1.0 if p.force[d] > 0.0 else 1.0
    standing_since = p.counts[PIVOTS] + 1
    while p.counts[PIVOTS] < budget:
        p.counts[PIVOTS] += 1
        noise = fdirection(p, d, sign)
        s, event, j = maxstep(p, d, purpose, sign, noise)
        if not np.isfinite(s):
            return RAY
        if s > 0.0:
            _take_step(p, s)
        if abs(s * p.change[d]) > LASTS * (_largest_force(p) + 1e-300):
            standing_since = p.counts[PIVOTS]
        if event in (REST, RETURN, BOUND):
            _arrive(p, d, purpose, event)
            return ESTABLISHED
        _move(p, event, j, standing_since, at_rest)
    return INTERRUPTED


@inlined_kernel
def _violated(p, c, at_rest):
    """(index to drive, purpose) at a contact whose conditions are not met, normal before friction; (-1, 0) where all are."""
    normal, first = p.normal[c], p.friction[c]
    if p.normal_set[c] != CLAMPED and p.acceleration[normal] < -at_rest:
        p.normal_set[c] = NONE
        return normal, DRIVE_NORMAL
    if first < 0:
        return -1, 0
    if p.friction_set[c] == NONE:
        x = p.force[first]
        y = p.force[first + 1] if p.tangents == 2 else 0.0
        if x != 0.0 or y != 0.0:
            rotate_frame(p, c, x, y)
            if p.tangents == 2:
                p.force[first + 1] = 0.0
            return first, TAKE_BACK
        if p.normal_set[c] == CLAMPED and p.force[normal] > 0.0:
            x = p.acceleration[first]
            y = p.acceleration[first + 1] if p.tangents == 2 else 0.0
            if np.sqrt(x * x + y * y) > at_rest:
                rotate_frame(p, c, x, y)
                return first, DRIVE_FRICTION
            p.friction_set[c] = CF
            for i in range(first, first + p.tangents):
                enter(p, i)
        else:
            p.friction_set[c] = OFF if p.normal_set[c] == NC else NONE
    elif p.friction_set[c] == CFX:
        if abs(p.acceleration[first + 1]) > at_rest:
            return first + 1, DRIVE_FRICTION
        p.friction_set[c] = CF
        enter(p, first + 1)
    return -1, 0


@kernel_part
def establish_bilateral(p):
    """Solve for the forces of the bilateral constraints, the first indices; they stay in C for good."""
    for i in range(p.bilateral):
        enter(p, i)
    recompute(p)


@kernel
def compute_forces(p, order, cursor, at_rest, negligible, budget):
    """Establish the conditions contact by contact, in an order, from where the cursor (1,) is.

    at_rest: what counts as zero acceleration; negligible: what remains so where it cannot be driven away. budget: the number of
    pivots at which to stop. Returns ESTABLISHED, INTERRUPTED, or RAY with the direction in `change`.
    """
    m = order.size
    checked = 0  # contacts in a row whose conditions were met
    since = p.counts[PIVOTS]
    while checked < m:
        c = order[cursor[0]]
        d, purpose = _violated(p, c, at_rest)
        if d < 0:
            checked += 1
            cursor[0] = (cursor[0] + 1) % m
            if checked == m and p.counts[PIVOTS] > since:
                # what the steps have added up to is measured afresh, once
                recompute(p)
                since = p.counts[PIVOTS]
                checked = 0
            continue
        checked = 0
        ended = drive_to_zero(p, d, purpose, at_rest, budget)
        if ended == RAY and purpose == DRIVE_NORMAL and p.acceleration[d] >= -negligible:
            p.acceleration[d] = 0.0
            continue
        if ended != ESTABLISHED:
            return ended
    return ESTABLISHED
