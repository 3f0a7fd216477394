# SPDX-License-Identifier: GPL-3.0-or-later
"""Baraff 1994: contact forces by pivoting, Dantzig's algorithm in physical terms.

The algorithm adds contacts one at a time. It increases the force at a contact until the acceleration there is zero. Meanwhile
all other forces adapt, so that the conditions established before remain true. If another force or acceleration reaches a bound,
its index moves to another set. `compute_forces` and `drive_to_zero` are functions of the paper, and so are `fdirection` and
`maxstep` in `step.py` (sections 4 and 5). Dynamic friction (section 6) is part of the given matrix. The same algorithm solves a
time step, with velocities and impulses in place of accelerations and forces.

    a = A f + b                                                               (1)
    a_N >= 0,  f_N >= 0,  f_N a_N = 0                                         (2), (15)
    |f_F| <= mu f_N,  f_F . a_F <= 0,  |a_F| (mu f_N - |f_F|) = 0             (16), (21)

The paper leaves two choices open. The first tangent x is the direction of the contact's acceleration, so that friction opposes
slip when it starts. A contact that leaves NC gets friction opposed to its acceleration.
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

# Outcomes of compute_forces.
ESTABLISHED, INTERRUPTED, RAY = range(3)

LASTS = 1e-14  # relative to the largest force: a step that changes the driven force by less has size zero
VANISHED = 1e-13  # relative to the largest force: forces of a contact up to this count as zero


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
    """Return True if an index changes its set a second time with only steps of size zero in between. Record the change."""
    again = p.changed[index] >= standing_since
    p.changed[index] = p.counts[PIVOTS]
    return again


@kernel_part
def _move(p, event, j, standing_since, at_rest):
    """Move j to the set that the event requires, or give it up if it oscillates between sets.

    j: a contact, or for IDLE an index.
    """
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
            # Friction and normal force reach zero together, so the contact is about to break.
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
    """Return True if the normal and friction forces of a contact are zero, relative to the largest force of all."""
    total = abs(p.force[p.normal[c]])
    for t in range(p.tangents):
        total += abs(p.force[p.friction[c] + t])
    return total <= VANISHED * _largest_force(p)


@kernel_part
def _arrive(p, d, purpose, event):
    """Move the driven index d to the set that it has reached."""
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
    """Change f_d until its condition holds, and keep all established conditions.

    `drive-to-zero` of Baraff 1994, sections 4 and 5.

    p: forces, accelerations and index sets; updated in place.
    d: the driving index.
    purpose: DRIVE_NORMAL increases f_d until a_d = 0. DRIVE_FRICTION drives f_d against a_d until a_d = 0 or friction reaches
        its bound. TAKE_BACK drives friction that was given up to zero.
    at_rest: accelerations up to this count as zero [m/s^2].
    budget: value of the pivot counter at which to stop.

    Returns ESTABLISHED, RAY if nothing limits the step (section 6), or INTERRUPTED if the budget is used up.
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
    """Return the index to drive at contact c and the purpose, or (-1, 0) if all its conditions hold.

    The normal condition is checked before friction. Friction without force or acceleration is moved to its set at once.
    """
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
    """Solve for the forces of the bilateral constraints. They have the first indices, which then stay in C."""
    for i in range(p.bilateral):
        enter(p, i)
    recompute(p)


@kernel
def compute_forces(p, order, cursor, at_rest, negligible, budget):
    """Establish the conditions of all contacts, one contact at a time.

    `compute-forces` of Baraff 1994.

    p: forces, accelerations and index sets; updated in place.
    order: (m,) order of the contacts.
    cursor: (1,) position in `order` of the next contact; updated, so that an interrupted call can continue.
    at_rest: accelerations up to this count as zero [m/s^2].
    negligible: a negative normal acceleration up to this size counts as zero if its drive ends with a ray [m/s^2].
    budget: value of the pivot counter at which to stop.

    Returns ESTABLISHED, INTERRUPTED, or RAY with the direction of the ray in `p.change`.
    """
    m = order.size
    checked = 0  # number of consecutive contacts whose conditions hold
    since = p.counts[PIVOTS]
    while checked < m:
        c = order[cursor[0]]
        d, purpose = _violated(p, c, at_rest)
        if d < 0:
            checked += 1
            cursor[0] = (cursor[0] + 1) % m
            if checked == m and p.counts[PIVOTS] > since:
                # The steps accumulate round-off, so compute the forces and accelerations again and check once more.
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
