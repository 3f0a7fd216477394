# SPDX-License-Identifier: GPL-3.0-or-later
"""Baraff 1994: contact forces by pivoting, Dantzig's algorithm told physically.

Contacts are taken one by one. While the force at one is increased until its acceleration is zero, all others adapt so that what
has been established stays so; where one of them comes to a bound, its index moves to another set. `compute_forces`,
`drive_to_zero`, `fdirection` and `maxstep` are the paper's functions, sections 4 and 5; section 6, dynamic friction, is in the
matrix that they are given. Read velocities and impulses for accelerations and forces and the same algorithm solves a time step.

    a = A f + b                                                               (1)
    a_N >= 0,  f_N >= 0,  f_N a_N = 0                                         (2), (15)
    |f_F| <= mu f_N,  f_F . a_F <= 0,  |a_F| (mu f_N - |f_F|) = 0             (16), (21)

Where the paper leaves a choice: x, the tangent that is established first, is the direction in which the contact accelerates, so
that friction at the onset of slip opposes it. A contact that leaves NC gets friction opposed to its acceleration. Among
equal steps the one with the largest change goes first.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, kernel, leaf_kernel
from ...linalg.incremental import solve
from ..complementarity import ROUNDING, terms
from .index_sets import (
    CF,
    CFX,
    CLAMPED,
    DRIVES,
    FREE,
    NC,
    NCF,
    NONE,
    OFF,
    PIVOTS,
    clamp,
    enter,
    give_up_friction,
    give_up_normal,
    release,
    slip,
    stick,
    turn_frame,
)

__all__ = ["compute_forces", "holds", "recompute"]

# How compute_forces ends.
ESTABLISHED, INTERRUPTED, RAY = range(3)

# What limits a step: the driven acceleration or force comes to zero, the driven friction to its bound; another contact's normal
# force or acceleration comes to zero, its friction to its bound, its sliding acceleration to zero; an idle index moves.
NOTHING, REST, RETURN, BOUND, RELEASE, CLAMP, SLIP, STICK, IDLE = range(9)

# What a drive is for: establish a normal force, establish a friction force, take back a friction force that was given up.
DRIVE_NORMAL, DRIVE_FRICTION, TAKE_BACK = range(3)

EQUAL = 1e-12  # relative difference of steps that count as equal


@leaf_kernel
def _add_columns(matrix, x, indices, count, out):
    """out += sum of x_j A_j over the first `count` indices, four columns at a time."""
    n = out.size
    i = 0
    while i + 4 <= count:
        j0, j1, j2, j3 = indices[i], indices[i + 1], indices[i + 2], indices[i + 3]
        x0, x1, x2, x3 = x[j0], x[j1], x[j2], x[j3]
        m0, m1, m2, m3 = matrix[j0], matrix[j1], matrix[j2], matrix[j3]
        for k in range(n):
            out[k] += (x0 * m0[k] + x1 * m1[k]) + (x2 * m2[k] + x3 * m3[k])
        i += 4
    while i < count:
        x0, m0 = x[indices[i]], matrix[indices[i]]
        for k in range(n):
            out[k] += x0 * m0[k]
        i += 1


@inlined_kernel
def _follow(p, vector):
    """Friction in NCF follows its normal force."""
    for c in range(p.normal.size):
        if p.friction_set[c] == NCF:
            for t in range(p.tangents):
                vector[p.friction[c] + t] = p.mu[c] * p.delta[c, t] * vector[p.normal[c]]


@leaf_kernel
def _measure(p):
    """a = A f + b (1), afresh."""
    count = 0
    for j in range(p.b.size):
        p.acceleration[j] = p.b[j]
        if p.force[j] != 0.0:
            p.acting[count] = j
            count += 1
    _add_columns(p.matrix, p.force, p.acting, count, p.acceleration)


@leaf_kernel
def holds(p, at_rest):
    """Whether the forces as they are hold a = 0 in C and CF up to at_rest; computes all accelerations afresh."""
    inside = p.clamped
    _follow(p, p.force)
    _measure(p)
    largest = 0.0
    for i in range(inside.size[0]):
        largest = max(largest, abs(p.acceleration[inside.rows[i]]))
    return largest <= at_rest


@leaf_kernel
def recompute(p):
    """Solve for the forces in C and CF once more, a = 0 there, and compute all accelerations afresh."""
    inside = p.clamped
    for _ in range(2):
        _measure(p)
        solve(inside, p.acceleration, p.change)
        for i in range(inside.size[0]):
            p.force[inside.columns[i]] -= p.change[inside.columns[i]]
        _follow(p, p.force)
    _measure(p)
    for i in range(inside.size[0]):
        p.acceleration[inside.rows[i]] = 0.0


@inlined_kernel
def fdirection(p, d, sign):
    """Delta f for a unit change of f_d, with Delta a = 0 in C and CF, and Delta a (6). Returns what is rounding in column_i
    Delta f_i and in Delta a_i / row_i."""
    inside = p.clamped
    count = inside.size[0]
    for i in range(p.b.size):
        p.change[i] = 0.0
        p.response[i] = p.effective[d, i]
    solve(inside, p.effective[d], p.change)
    for i in range(count):
        j = inside.columns[i]
        p.change[j] = -p.change[j]
    _add_columns(p.effective, p.change, inside.columns, count, p.response)
    for i in range(count):
        p.response[inside.rows[i]] = 0.0
    p.change[d] = 1.0
    if sign < 0.0:
        for i in range(p.b.size):
            p.change[i] = -p.change[i]
            p.response[i] = -p.response[i]
    _follow(p, p.change)
    return ROUNDING * terms(p.sizes.column, p.change)


@inlined_kernel
def _cone_step(p, c, noise):
    """(23): the step at which friction reaches its bound, inf where it never does."""
    n, mu2 = p.normal[c], p.mu[c] * p.mu[c]
    f, df = p.force[n], p.change[n]
    fastest = p.sizes.column[n] * abs(df)
    for t in range(p.tangents):
        i = p.friction[c] + t
        fastest = max(fastest, p.sizes.column[i] * abs(p.change[i]))
    if fastest <= noise:
        return np.inf
    square, product, rest = -mu2 * df * df, -mu2 * f * df, -mu2 * f * f
    for t in range(p.tangents):
        g, dg = p.force[p.friction[c] + t], p.change[p.friction[c] + t]
        square += dg * dg
        product += g * dg
        rest += g * g
    rest = min(rest, 0.0)
    discriminant = product * product - square * rest
    if discriminant < 0.0:
        return np.inf
    root = np.sqrt(discriminant)
    if product + root > 0.0:
        # the smaller root where the bound recedes, the only positive one where it does not
        return -rest / (product + root)
    return (root - product) / square if square > 0.0 else np.inf


@inlined_kernel
def _along_delta(p, c, vector):
    s = 0.0
    for t in range(p.tangents):
        s += p.delta[c, t] * vector[p.friction[c] + t]
    return s


@inlined_kernel
def _sooner(s, weight, best, best_weight):
    """Whether a limit comes before the best one so far; of equal ones the one with the larger change is first."""
    if not np.isfinite(best):
        return s < best
    near = EQUAL * max(abs(s), abs(best))
    return s < best - near or (s <= best + near and weight > best_weight)


@inlined_kernel
def _limit_of_driven(p, d, purpose, sign, noise):
    """The step (12) at which the driven acceleration, or force, comes to zero, or the driven friction to its bound."""
    if purpose == TAKE_BACK:
        return abs(p.force[d]), RETURN
    s, event = np.inf, NOTHING
    a, da = sign * p.acceleration[d], sign * p.response[d]
    if da > noise * p.sizes.row[d]:
        s, event = max(0.0, -a / da), REST
    if purpose == DRIVE_FRICTION:
        bound = _cone_step(p, p.owner[d], noise)
        if bound < s:
            s, event = bound, BOUND
    return s, event


@inlined_kernel
def maxstep(p, d, purpose, sign, noise):
    """(s, event, j): the largest step that keeps to all conditions, what limits it, and at which contact (or idle index)."""
    s, event = _limit_of_driven(p, d, purpose, sign, noise)
    j, weight = -1, np.inf if np.isfinite(s) else 0.0
    for c in range(p.normal.size):
        n, first = p.normal[c], p.friction[c]
        if p.normal_set[c] == CLAMPED:
            shrinks = -p.change[n] * p.sizes.column[n]
            if shrinks > noise and p.clamped.column_at[n] >= 0:
                limit = max(0.0, -p.force[n] / p.change[n])  # (10)
                if _sooner(limit, shrinks, s, weight):
                    s, event, j, weight = limit, RELEASE, c, shrinks
            if first >= 0 and (p.friction_set[c] == CF or p.friction_set[c] == CFX):
                limit = _cone_step(p, c, noise)
                if limit < s * (1.0 - EQUAL):
                    s, event, j, weight = limit, SLIP, c, 0.0
            elif first >= 0 and p.friction_set[c] == NCF:
                da = _along_delta(p, c, p.response)
                if da > noise * p.sizes.row[first]:
                    limit = max(0.0, -_along_delta(p, c, p.acceleration) / da)
                    if _sooner(limit, da / p.sizes.row[first], s, weight):
                        s, event, j, weight = limit, STICK, c, da / p.sizes.row[first]
        elif p.normal_set[c] == NC and p.response[n] < -noise * p.sizes.row[n]:
            limit = max(0.0, -p.acceleration[n] / p.response[n])  # (11)
            if _sooner(limit, -p.response[n] / p.sizes.row[n], s, weight):
                s, event, j, weight = limit, CLAMP, c, -p.response[n] / p.sizes.row[n]
    if s > 0.0:
        i = _restless(p, d, noise)
        if i >= 0:
            return 0.0, IDLE, i
    return s, event, j


@inlined_kernel
def _restless(p, d, noise):
    """The established index outside the factorisation whose acceleration would change most, -1 where none would."""
    worst, most = -1, 1e2 * noise
    for i in range(p.b.size):
        if i == d or p.clamped.column_at[i] >= 0 or not abs(p.response[i]) > most * p.sizes.row[i]:
            continue
        c = p.owner[i]
        if c == FREE:
            held = True
        elif i == p.normal[c]:
            held = p.normal_set[c] == CLAMPED
        else:
            held = p.friction_set[c] == CF or (p.friction_set[c] == CFX and i == p.friction[c])
        if held:
            worst, most = i, abs(p.response[i]) / p.sizes.row[i]
    return worst


@inlined_kernel
def _largest_force(p):
    largest = 0.0
    for f in p.force:
        largest = max(largest, abs(f))
    return largest


@inlined_kernel
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


@leaf_kernel
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


@leaf_kernel
def _no_friction(p, c):
    """Whether both forces of a contact have come to zero, against the largest of all."""
    total = abs(p.force[p.normal[c]])
    for t in range(p.tangents):
        total += abs(p.force[p.friction[c] + t])
    return total <= 1e-13 * _largest_force(p)


@leaf_kernel
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
        if abs(s * p.change[d]) > 1e-14 * (_largest_force(p) + 1e-300):
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
            turn_frame(p, c, x, y)
            if p.tangents == 2:
                p.force[first + 1] = 0.0
            return first, TAKE_BACK
        if p.normal_set[c] == CLAMPED and p.force[normal] > 0.0:
            x = p.acceleration[first]
            y = p.acceleration[first + 1] if p.tangents == 2 else 0.0
            if np.hypot(x, y) > at_rest:
                turn_frame(p, c, x, y)
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


@kernel
def establish_bilateral(p, count):
    """Solve for the forces of the bilateral constraints, the first `count` indices; they stay in C for good."""
    for i in range(count):
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
