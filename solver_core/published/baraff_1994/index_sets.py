# SPDX-License-Identifier: GPL-3.0-or-later
"""The index sets of Baraff 1994, and the moves of a contact from one set to another.

Every scalar force has an index. Its acceleration (at velocity level, its velocity) has the same index. A contact has one normal
index. A contact with static friction also has one friction index in two dimensions and two in three. Indices in C and CF have
zero acceleration. The factorization of A_CC contains a linearly independent subset of them. An index whose acceleration is
already zero because of the others stays outside the factorization ("idle") and keeps its force until that changes.

At a contact in NCF (NC- and NC+ in two dimensions) friction is mu f_N along a frozen direction delta. It is substituted: the
column of the normal force becomes A_N + mu (delta_x A_x + delta_y A_y).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, kernel, kernel_part, leaf_kernel
from ...linalg.incremental import Incremental, append, append_all, incremental, remove, replace_column
from ..complementarity import Sizes
from ..dense import Layout

__all__ = [
    "CF",
    "CFX",
    "CLAMPED",
    "DEPENDENT",
    "DRIVES",
    "FREE",
    "GIVEN_UP",
    "NC",
    "NCF",
    "NONE",
    "OFF",
    "PIVOTS",
    "Sets",
    "Unknowns",
    "clamp",
    "enter",
    "enter_acting",
    "forget",
    "forget_friction",
    "freeze",
    "give_up_friction",
    "give_up_normal",
    "index_sets",
    "leave",
    "release",
    "rotate_frame",
    "slip",
    "start_clamped",
    "stick",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

NONE, CLAMPED, NC = 0, 1, 2  # sets of a normal force: not established (or given up), C, NC
OFF, CFX, CF, NCF = 1, 2, 3, 4  # sets of friction, besides NONE: no normal force, only a_x = 0 established, CF, NCF
FREE = -1

PIVOTS, DRIVES, GIVEN_UP, DEPENDENT = range(4)


class Sets(NamedTuple):
    """The problem a = A f + b, the current forces and accelerations, and the index sets; n indices, m contacts.

    matrix: (n, n) columns of A, in the rotated tangent frames of the contacts.
    effective: (n, n) the same, with the friction of NCF substituted.
    b, force, acceleration: (n,).
    change, response: (n,) Delta f and Delta a.
    sizes: row and column sizes of A, for round-off.
    bilateral: number of bilateral constraints, which have the first indices.
    normal: (m,) index of each normal force.
    friction: (m,) index of each first friction force, FREE for a contact without static friction.
    tangents: number of friction indices of a contact.
    mu: (m,) coefficients of friction.
    owner: (n,) contact of each index, FREE for bilateral constraints.
    normal_set, friction_set: (m,) set of each normal force and of each friction force.
    delta: (m, 2) frozen friction directions.
    frame: (m, 2) cosine and sine of the rotation of each tangent frame from the problem's frame.
    changed: (n,) pivot at which each index last changed its set.
    acting: (n,) work array of indices.
    counts: (4,) counters PIVOTS, DRIVES, GIVEN_UP and DEPENDENT.
    clamped: factorization of A_CC.
    """

    matrix: Floats
    effective: Floats
    b: Floats
    force: Floats
    acceleration: Floats
    change: Floats
    response: Floats
    sizes: Sizes
    bilateral: int
    normal: Indices
    friction: Indices
    tangents: int
    mu: Floats
    owner: Indices
    normal_set: Indices
    friction_set: Indices
    delta: Floats
    frame: Floats
    changed: Indices
    acting: Indices
    counts: Indices
    clamped: Incremental


class Unknowns(NamedTuple):
    """The problem a = A f + b, and the meaning of its indices.

    columns: (n, n) columns of A.
    b: (n,).
    sizes: row and column sizes of A, equal for both tangents of a contact.
    layout: indices of bilateral constraints, normal forces and friction forces.
    mu: (m,) coefficients of friction.
    symmetric: True if A is symmetric and remains so because there is no friction. A is then assumed positive semidefinite.
    """

    columns: Floats
    b: Floats
    sizes: Sizes
    layout: Layout
    mu: Floats
    symmetric: bool


@kernel
def index_sets(unknowns):
    """Return `Sets` with all sets empty and all forces zero. A and b are copied."""
    columns, b, layout, symmetric = unknowns.columns.copy(), unknowns.b.copy(), unknowns.layout, unknowns.symmetric
    normal, friction, tangents = layout.normal, layout.friction, layout.tangents
    n, m = b.size, normal.size
    owner = np.full(n, FREE, np.int64)
    for c in range(m):
        owner[normal[c]] = c
        if friction[c] >= 0:
            owner[friction[c] : friction[c] + tangents] = c
    frame = np.zeros((m, 2))
    frame[:, 0] = 1.0
    return Sets(
        columns,
        columns if symmetric else columns.copy(),
        b,
        np.zeros(n),
        b.copy(),
        np.zeros(n),
        np.zeros(n),
        unknowns.sizes,
        layout.bilateral,
        normal,
        friction,
        tangents,
        unknowns.mu,
        owner,
        np.zeros(m, np.int64),
        np.zeros(m, np.int64),
        np.zeros((m, 2)),
        frame,
        np.full(n, -1, np.int64),
        np.empty(n, np.int64),
        np.zeros(4, np.int64),
        incremental(n, symmetric),
    )


@leaf_kernel
def enter(p, i):
    """Add index i to the factorization, so that a_i stays zero. Return False if i depends on the indices already there."""
    if append(p.clamped, p.effective, i):
        p.acceleration[i] = 0.0
        return True
    p.counts[DEPENDENT] += 1
    return False


@kernel_part
def enter_acting(p, count):
    """Add the first `count` indices in `acting` to the factorization."""
    alone = p.clamped.symmetric and p.clamped.size[0] == 0
    entered = append_all(p.clamped, p.effective, p.acting, count) if alone else 0
    for k in range(entered, count):
        enter(p, p.acting[k])


@leaf_kernel
def leave(p, i):
    """Remove index i from the factorization, if it is there."""
    if p.clamped.column_at[i] >= 0 and not remove(p.clamped, p.effective, i):
        p.counts[DEPENDENT] += 1


@leaf_kernel
def _leave_friction(p, c):
    first = p.friction[c]
    if first >= 0:
        for i in range(first, first + p.tangents):
            leave(p, i)


@inlined_kernel
def _no_force(p, first):
    for i in range(first, first + p.tangents):
        p.force[i] = 0.0


@leaf_kernel
def _substitute(p, c, weight):
    """Set the effective column of a normal force, to which friction adds `weight` times its columns along delta.

    Returns False if the factorization becomes singular.
    """
    normal, first = p.normal[c], p.friction[c]
    for i in range(p.b.size):
        p.effective[normal, i] = p.matrix[normal, i]
    if weight != 0.0:
        for t in range(p.tangents):
            w = weight * p.delta[c, t]
            for i in range(p.b.size):
                p.effective[normal, i] += w * p.matrix[first + t, i]
    if p.clamped.column_at[normal] >= 0:
        return replace_column(p.clamped, p.effective, normal)
    return True


@leaf_kernel
def _unfreeze(p, c):
    """Undo the substitution of friction at a contact in NCF."""
    if p.friction_set[c] == NCF and not _substitute(p, c, 0.0):
        p.counts[DEPENDENT] += 1


@inlined_kernel
def _aim(p, c, vector, sign):
    """Set delta to the direction of sign times the tangential part of a vector. Return False if that part is zero."""
    first, square = p.friction[c], 0.0
    for t in range(p.tangents):
        square += vector[first + t] ** 2
    if square == 0.0:
        return False
    for t in range(p.tangents):
        p.delta[c, t] = sign * vector[first + t] / np.sqrt(square)
    return True


@kernel_part
def clamp(p, c):
    """Move the normal force to C. Friction, if it was OFF, starts in NCF, opposed to the acceleration."""
    normal, first = p.normal[c], p.friction[c]
    p.normal_set[c] = CLAMPED
    p.force[normal] = max(p.force[normal], 0.0)
    enter(p, normal)
    if first >= 0 and p.friction_set[c] == OFF:
        p.friction_set[c] = NONE
        if _aim(p, c, p.acceleration, -1.0):
            freeze(p, c)


@leaf_kernel
def release(p, c):
    """Move the normal force, which is now zero, to NC. Friction becomes zero, too."""
    normal, first = p.normal[c], p.friction[c]
    if first >= 0 and p.friction_set[c] != NONE:
        _leave_friction(p, c)
        _unfreeze(p, c)
        p.friction_set[c] = OFF
        _no_force(p, first)
    leave(p, normal)
    p.normal_set[c] = NC
    p.force[normal] = 0.0


@leaf_kernel
def freeze(p, c):
    """Move friction to NCF: it becomes mu f_N along delta. If that makes A_CC singular, give friction up instead."""
    if _substitute(p, c, p.mu[c]):
        p.friction_set[c] = NCF
        return
    p.counts[GIVEN_UP] += 1
    p.friction_set[c] = NONE
    _substitute(p, c, 0.0)
    enter(p, p.normal[c])


@leaf_kernel
def slip(p, c):
    """Move friction, which is at its bound, to NCF. delta is its direction, or opposes the acceleration if friction is zero."""
    _leave_friction(p, c)
    if not _aim(p, c, p.force, 1.0):
        _aim(p, c, p.acceleration, -1.0)
    freeze(p, c)


@leaf_kernel
def rotate_frame(p, c, x, y):
    """Rotate the tangent frame of a contact so that its first axis points along (x, y), a vector in the present frame."""
    if p.tangents < 2:
        return
    length = np.sqrt(x * x + y * y)
    if length == 0.0:
        return
    cosine, sine = x / length, y / length
    i, j = p.friction[c], p.friction[c] + 1
    for vector in (p.b, p.force, p.acceleration):
        vector[i], vector[j] = cosine * vector[i] + sine * vector[j], cosine * vector[j] - sine * vector[i]
    for k in range(p.b.size):
        u, v = p.matrix[k, i], p.matrix[k, j]
        p.matrix[k, i], p.matrix[k, j] = cosine * u + sine * v, cosine * v - sine * u
        u, v = p.effective[k, i], p.effective[k, j]
        p.effective[k, i], p.effective[k, j] = cosine * u + sine * v, cosine * v - sine * u
    for k in range(p.b.size):
        u, v = p.matrix[i, k], p.matrix[j, k]
        p.matrix[i, k], p.matrix[j, k] = cosine * u + sine * v, cosine * v - sine * u
        p.effective[i, k], p.effective[j, k] = p.matrix[i, k], p.matrix[j, k]
    u, v = p.frame[c, 0], p.frame[c, 1]
    p.frame[c, 0], p.frame[c, 1] = cosine * u - sine * v, sine * u + cosine * v


@leaf_kernel
def stick(p, c, at_rest):
    """Move friction from NCF to CF, where its direction is free.

    Only the acceleration along delta is zero. If the other component exceeds at_rest, friction moves to CFX, and the algorithm
    has to establish that component.
    """
    first = p.friction[c]
    _unfreeze(p, c)
    p.friction_set[c] = CFX
    if p.tangents == 2:
        rotate_frame(p, c, p.delta[c, 0], p.delta[c, 1])
    enter(p, first)
    if p.tangents == 1:
        p.friction_set[c] = CF
    elif abs(p.acceleration[first + 1]) <= at_rest:
        p.friction_set[c] = CF
        enter(p, first + 1)


@leaf_kernel
def give_up_normal(p, c):
    """Give up an oscillating normal force, which is zero. The algorithm establishes it again later."""
    release(p, c)
    p.normal_set[c] = NONE
    if p.friction_set[c] == OFF:
        p.friction_set[c] = NONE
    p.counts[GIVEN_UP] += 1


@leaf_kernel
def give_up_friction(p, c):
    """Give up oscillating friction, which keeps its value. The algorithm establishes it again later."""
    _leave_friction(p, c)
    _unfreeze(p, c)
    p.friction_set[c] = NONE
    p.counts[GIVEN_UP] += 1


@kernel_part
def start_clamped(p, c, guess, slides):
    """Put the normal force in C, and friction in NCF along the guess if it slides, else in CF. The caller enters indices."""
    p.normal_set[c] = CLAMPED
    if p.friction[c] >= 0:
        p.friction_set[c] = CF
        if slides and _aim(p, c, guess, 1.0):
            freeze(p, c)


@leaf_kernel
def forget_friction(p, c):
    """Set the friction of a contact to zero and mark it as not established."""
    first = p.friction[c]
    _leave_friction(p, c)
    _unfreeze(p, c)
    p.friction_set[c] = NONE
    _no_force(p, first)


@kernel_part
def forget(p, c):
    """Set all forces of a contact to zero and mark them as not established."""
    if p.friction[c] >= 0:
        forget_friction(p, c)
    release(p, c)
    p.normal_set[c] = NONE
