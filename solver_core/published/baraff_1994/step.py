# SPDX-License-Identifier: GPL-3.0-or-later
"""A step of Baraff 1994: the change of all other forces while one force increases, and the largest step.

`fdirection` (6) and `maxstep` (10) to (12), with friction (23), are functions of the paper, sections 4 and 5. The accelerations
are (1). If several limits give the same step, the one with the largest change comes first; the paper leaves this choice open.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ...linalg.incremental import solve
from ..complementarity import ROUNDING, terms
from .index_sets import CF, CFX, CLAMPED, FREE, NC, NCF

__all__ = [
    "BOUND",
    "CLAMP",
    "DRIVE_FRICTION",
    "DRIVE_NORMAL",
    "IDLE",
    "RELEASE",
    "REST",
    "RETURN",
    "SLIP",
    "STICK",
    "TAKE_BACK",
    "fdirection",
    "holds",
    "maxstep",
    "recompute",
]

# Limits of a step. REST, RETURN: the driven acceleration or force reaches zero. BOUND: the driven friction reaches its bound.
# At another contact, RELEASE, CLAMP: the normal force or acceleration reaches zero. SLIP: friction reaches its bound.
# STICK: the acceleration along delta reaches zero. IDLE: the acceleration of an idle index would change.
NOTHING, REST, RETURN, BOUND, RELEASE, CLAMP, SLIP, STICK, IDLE = range(9)

# Purposes of a drive: establish a normal force, establish a friction force, drive friction that was given up to zero.
DRIVE_NORMAL, DRIVE_FRICTION, TAKE_BACK = range(3)

EQUAL = 1e-12  # relative difference of steps that count as equal
IDLE_CHANGE = 1e2  # relative to the round-off of a step: an idle index whose acceleration changes less stays idle


@leaf_kernel
def _add_columns(matrix, x, indices, count, out):
    """Add the sum of x_j A_j over the first `count` indices to out, four columns at a time."""
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
    """Set the friction entries of contacts in NCF to mu delta times their normal entries, in place."""
    for c in range(p.normal.size):
        if p.friction_set[c] == NCF:
            for t in range(p.tangents):
                vector[p.friction[c] + t] = p.mu[c] * p.delta[c, t] * vector[p.normal[c]]


@leaf_kernel
def _measure(p):
    """Compute the accelerations a = A f + b (1) from the forces."""
    count = 0
    for j in range(p.b.size):
        p.acceleration[j] = p.b[j]
        if p.force[j] != 0.0:
            p.acting[count] = j
            count += 1
    _add_columns(p.matrix, p.force, p.acting, count, p.acceleration)


@leaf_kernel
def holds(p, at_rest):
    """Return True if the factorized indices have |a| <= at_rest under the present forces. Recompute all accelerations."""
    inside = p.clamped
    _follow(p, p.force)
    _measure(p)
    largest = 0.0
    for i in range(inside.size[0]):
        largest = max(largest, abs(p.acceleration[inside.rows[i]]))
    return largest <= at_rest


@leaf_kernel
def recompute(p):
    """Solve for the forces in C and CF again, such that a = 0 there, and recompute all accelerations."""
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


@kernel_part
def fdirection(p, d, sign):
    """Compute Delta f for a unit change of f_d, with Delta a = 0 in C and CF, and Delta a (6).

    The results are in `p.change` and `p.response`. sign: 1 to increase f_d, -1 to decrease it.

    Returns the round-off of column_i Delta f_i and of Delta a_i / row_i.
    """
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
    """Return the step at which friction reaches its bound, (23), or inf if it never does."""
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
        # This is the only positive root if square > 0, and the smaller one otherwise.
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
    """Return True if a limit precedes the best one so far. Of equal limits, the one with the larger change comes first."""
    if not np.isfinite(best):
        return s < best
    near = EQUAL * max(abs(s), abs(best))
    return s < best - near or (s <= best + near and weight > best_weight)


@kernel_part
def _limit_of_driven(p, d, purpose, sign, noise):
    """Return the step at which the driven index reaches its goal or, with friction, its bound, (12), and the event."""
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


@kernel_part
def maxstep(p, d, purpose, sign, noise):
    """Return the largest step that keeps all conditions, as (s, event, j).

    noise: round-off, from `fdirection`.

    s: the step; inf without a limit. event: the limit. j: its contact, its index if IDLE, or -1 if it is the driven index.
    """
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


@kernel_part
def _restless(p, d, noise):
    """Return the idle index whose acceleration would change most, or -1 if none would change."""
    worst, largest = -1, IDLE_CHANGE * noise
    for i in range(p.b.size):
        if i == d or p.clamped.column_at[i] >= 0 or not abs(p.response[i]) > largest * p.sizes.row[i]:
            continue
        c = p.owner[i]
        if c == FREE:
            established = True
        elif i == p.normal[c]:
            established = p.normal_set[c] == CLAMPED
        else:
            established = p.friction_set[c] == CF or (p.friction_set[c] == CFX and i == p.friction[c])
        if established:
            worst, largest = i, abs(p.response[i]) / p.sizes.row[i]
    return worst
