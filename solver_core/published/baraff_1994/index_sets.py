# SPDX-License-Identifier: GPL-3.0-or-later
"""The index sets of Baraff 1994, and moving a contact from one to another.

Every scalar force has an index; its acceleration, or at velocity level its velocity, has the same one. A contact has a normal
index and, where static friction acts, one friction index in two dimensions and two in three. Forces whose acceleration is held
at zero by solving for them are in the factorisation of A_CC, all of them independent. One that the others hold at zero already
stays out of it ("idle") with its force as it is, until they let go.

At a contact in NCF (NC- and NC+ in two dimensions) friction is mu f_N along a frozen direction, which is substituted: the
column of its normal force is A_N + mu (delta_x A_x + delta_y A_y).
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

NONE, CLAMPED, NC = 0, 1, 2  # the normal force: not established (or given up), in C, in NC
OFF, CFX, CF, NCF = 1, 2, 3, 4  # friction, besides NONE: no normal force, only a_x = 0 established, in CF, in NCF
FREE = -1

PIVOTS, DRIVES, GIVEN_UP, DEPENDENT = range(4)


class Sets(NamedTuple):
    """The problem a = A f + b, the iterate, and the sets; n indices, m contacts.

    matrix: (n, n) columns of A, in each contact's own tangent frame. effective: the same with NCF substituted. b, force,
    acceleration, change, response: (n,), the last two being Delta f and Delta a. sizes: of A. bilateral: how many of the first
    indices are bilateral. normal: (m,) index of the normal force. friction: (m,) index of the first friction force, FREE where
    there is none. tangents: how many each has. mu: (m,). owner: (n,) contact of each index, FREE for bilateral constraints.
    normal_set, friction_set: (m,). delta: (m, 2) the frozen directions. frame: (m, 2) cosine and sine of the tangent frame
    against the problem's own. changed: (n,) the pivot at which an index last changed its set. acting: (n,) work array. counts:
    (4,).
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
    """a = A f + b, and what the indices mean.

    columns: (n, n) of A. sizes: of A, for both tangents of a contact the same. mu: (m,). symmetric: whether A is and, there
    being no friction, stays so; it is then taken to be positive semidefinite.
    """

    columns: Floats
    b: Floats
    sizes: Sizes
    layout: Layout
    mu: Floats
    symmetric: bool


@kernel
def index_sets(unknowns):
    """All sets empty, no force; A and b are copied."""
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
    """Hold a_i at zero from now on; False where the others do so already."""
    if append(p.clamped, p.effective, i):
        p.acceleration[i] = 0.0
        return True
    p.counts[DEPENDENT] += 1
    return False


@kernel_part
def enter_acting(p, count):
    """Hold the accelerations of the first `count` indices in `acting` at zero from now on."""
    alone = p.clamped.symmetric and p.clamped.size[0] == 0
    entered = append_all(p.clamped, p.effective, p.acting, count) if alone else 0
    for k in range(entered, count):
        enter(p, p.acting[k])


@leaf_kernel
def leave(p, i):
    """Hold a_i at zero no more."""
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
    """Effective column of the normal force: friction follows it with `weight` times delta."""
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
    """Friction follows the normal force no more."""
    if p.friction_set[c] == NCF and not _substitute(p, c, 0.0):
        p.counts[DEPENDENT] += 1


@inlined_kernel
def _aim(p, c, vector, sign):
    """delta := the direction of +- the tangential part of a vector; False where that is zero."""
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
    """The normal force moves into C; friction, of which there can be none yet, begins opposed to the acceleration."""
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
    """The normal force, zero now, moves into NC, and friction goes with it."""
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
    """Friction becomes mu f_N along delta; where that makes A_CC singular, it is given up instead."""
    if _substitute(p, c, p.mu[c]):
        p.friction_set[c] = NCF
        return
    p.counts[GIVEN_UP] += 1
    p.friction_set[c] = NONE
    _substitute(p, c, 0.0)
    enter(p, p.normal[c])


@leaf_kernel
def slip(p, c):
    """Friction, at its bound, moves into NCF; its direction is recorded, or where it is zero that against the acceleration."""
    _leave_friction(p, c)
    if not _aim(p, c, p.force, 1.0):
        _aim(p, c, p.acceleration, -1.0)
    freeze(p, c)


@leaf_kernel
def rotate_frame(p, c, x, y):
    """Rotate the tangent frame of a contact so that its first axis is along (x, y), of any length, in the present frame."""
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
    """Friction moves from NCF into CF, free to point anywhere.

    Only its component along delta has come to rest; where the other one has not, up to at_rest, that is to be established anew.
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
    """An oscillating normal force, which is zero, is left for later."""
    release(p, c)
    p.normal_set[c] = NONE
    if p.friction_set[c] == OFF:
        p.friction_set[c] = NONE
    p.counts[GIVEN_UP] += 1


@leaf_kernel
def give_up_friction(p, c):
    """Oscillating friction is left for later with the value that it has."""
    _leave_friction(p, c)
    _unfreeze(p, c)
    p.friction_set[c] = NONE
    p.counts[GIVEN_UP] += 1


@kernel_part
def start_clamped(p, c, guess, slides):
    """Begin with the normal force in C, and friction in NCF along the guess or in CF; the indices are still to be entered."""
    p.normal_set[c] = CLAMPED
    if p.friction[c] >= 0:
        p.friction_set[c] = CF
        if slides and _aim(p, c, guess, 1.0):
            freeze(p, c)


@leaf_kernel
def forget_friction(p, c):
    """No friction is established at a contact, and there is none."""
    first = p.friction[c]
    _leave_friction(p, c)
    _unfreeze(p, c)
    p.friction_set[c] = NONE
    _no_force(p, first)


@kernel_part
def forget(p, c):
    """Nothing is established at a contact, and there are no forces at it."""
    if p.friction[c] >= 0:
        forget_friction(p, c)
    release(p, c)
    p.normal_set[c] = NONE
