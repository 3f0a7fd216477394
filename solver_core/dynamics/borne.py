# SPDX-License-Identifier: GPL-3.0-or-later
"""What a body stands on bears it until it meets something else.

A gap that closes takes two steps for its impact: in the first the gap closes, in the second what is left is stopped. What the
body stood on lets go in the first, and so bore nothing of what forces gave in both. In truth it bears up to the impact, a share
t of the first step after its begin. From the middle of the step before to the middle of the second that is t + 1/2 of a step,
and 1/2 comes after the impact; the 1 - t between, in which bodies wait for the step's end, is shared by both, so that it
changes no velocity. Of the forces of both steps 1 + t / 2 are borne as before: those of the first, and t / 2 of the second.

Housner's block, which rocks from edge to edge, lost twice what gravity gives in a step at each impact. What bore is taken from
the last step, and is no more than the weight, lest it was an impact itself. It is for what stands on what no impulse moves, and
not for crowds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import kernel
from .bodies import State
from .build import ContactMemory, match
from .predict import Begin

__all__ = ["bearing_until_met", "with_borne"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LEAST_IMPACT = 2.0  # times the speed that gravity gives in a step: what closes no faster is none


def bearing_until_met(begin: Begin, state: State, memory: ContactMemory, crowd: Flags) -> Begin:
    """The step with what bodies (n,) of no crowd stood on in their prediction, up to their impacts.

    state: as it begins; memory: of the contacts of the last step.
    """
    contacts, model = begin.contacts, begin.model
    ends = contacts.body_a, contacts.body_b
    old = match(memory, *ends, contacts.feature)
    where = *ends, contacts.point, contacts.normal, contacts.gap - begin.rest_gaps(contacts), begin.touching(contacts), old
    fast = LEAST_IMPACT * begin.gravity_speed
    share, meets = shares(where, state.position, begin.bodies.twist, memory.approach, begin.h, fast)
    if not share.any():
        return begin
    moves = model.dof >= 0
    body, other = (np.where(moves[ends[0]], *pair) for pair in (ends, ends[::-1]))
    bears = (old >= 0) & ~meets & ~moves[other] & moves[body] & ~crowd[body]
    bears[bears] = (memory.impulse[old[bears], 0] > 0.0) & (share[body[bears]] > 0.0)
    if not bears.any():
        return begin
    body, impulse = body[bears], memory.impulse[old[bears]]
    on_b = impulse[:, :1] * contacts.normal[bears] + impulse[:, 1:]
    push = np.where(moves[ends[1][bears], None], on_b, -on_b)
    pushed = np.zeros_like(begin.bodies.twist)
    np.add.at(pushed, body, np.hstack([push, np.cross(contacts.point[bears] - state.position[body], push)]))
    weight = begin.force_time * np.linalg.norm(model.gravity) * model.mass
    size = np.linalg.norm(pushed[:, :3], axis=1)
    share *= np.minimum(1.0, np.divide(weight, size, out=np.zeros_like(size), where=size > 0.0))
    predicted, momentum, borne = begin.bodies.predicted.copy(), begin.bodies.end_momentum.copy(), np.zeros_like(memory.impulse)
    for i in np.unique(body):
        change = share[i] * begin.bodies.inverse_mass[model.dof[i]] @ pushed[i] * model.lock[i]
        predicted[i] += change
        momentum[i] += begin.bodies.mass[model.dof[i], 3:, 3:] @ change[3:]
    borne[old[bears]] = share[body, None] * impulse
    return begin._replace(bodies=begin.bodies._replace(predicted=predicted, end_momentum=momentum), borne=borne)


@kernel
def shares(contacts, position, twist, approach, h, fast):
    """(n,) how much of a step's forces bodies bear as before, and (m,) which contacts are of an impact; gap: m beyond rest."""
    body_a, body_b, point, normal, gap, touches, old = contacts
    out, meets = np.zeros(len(position)), np.zeros(gap.size, np.bool_)
    for k in range(gap.size):
        a, b = body_a[k], body_b[k]
        before = approach[old[k]] if old[k] >= 0 else 0.0
        if touches[k] and not before > fast:
            continue
        closing = 0.0
        for body, sign in ((a, 1.0), (b, -1.0)):
            x, y, z = point[k, 0] - position[body, 0], point[k, 1] - position[body, 1], point[k, 2] - position[body, 2]
            v = twist[body]
            closing += sign * normal[k, 0] * (v[0] + v[4] * z - v[5] * y)
            closing += sign * normal[k, 1] * (v[1] + v[5] * x - v[3] * z)
            closing += sign * normal[k, 2] * (v[2] + v[3] * y - v[4] * x)
        if touches[k]:
            meets[k] = closing > 0.0
            share = 0.5 * min(closing / before, 1.0)
        else:
            meets[k] = closing > fast and gap[k] < h * closing
            share = 1.0
        if meets[k]:
            out[a], out[b] = max(out[a], share), max(out[b], share)
    return out, meets


def with_borne(kept: ContactMemory, memory: ContactMemory, borne: Floats) -> ContactMemory:
    """What is remembered of a step, with what its contacts bore up to an impact, (k, 4) N s of those remembered before it."""
    if not borne.any():
        return kept
    before = match(memory, kept.body_a, kept.body_b, kept.feature)
    return kept._replace(impulse=kept.impulse + np.where((before >= 0)[:, None], borne[before], 0.0))
