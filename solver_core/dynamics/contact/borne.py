# SPDX-License-Identifier: GPL-3.0-or-later
"""What a body stands on bears it until it meets something else.

A gap that closes takes two steps for its impact: in the first the gap closes, in the second what is left is stopped. What the
body stood on lets go in the first, and so bore nothing of what forces gave in both. In truth it bears up to the impact, a share
t of the first step after its begin. From the middle of the step before to the middle of the second that is t + 1/2 of a step,
and 1/2 comes after the impact; the 1 - t between, in which bodies wait for the step's end, is shared by both, so that it
changes no velocity. Of the forces of both steps 1 + t / 2 are borne as before: those of the first, and t / 2 of the second.

Housner's block, which rocks from edge to edge, lost twice what gravity gives in a step at each impact. What bore is taken from
the last step, and is no more than the weight, lest it was an impact itself. It is for what has contacts with one body alone
that no impulse moves: with it a funnel in which cubes jam let two to four of sixteen through, which stay without, and at
shorter steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel, leaf_kernel
from ..model.bodies import State
from ..model.predict import Begin
from ..model.rest_gaps import TOUCHING_OFFSETS
from .build import ContactMemory, match

__all__ = ["bearing_until_met", "with_borne"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LEAST_IMPACT = 2.0  # times the speed that gravity gives in a step: what closes no faster is none
BEARABLE = 4.0  # times the fastest point: contacts, which may lie outside of both bodies, close no faster


def bearing_until_met(begin: Begin, state: State, speed: Floats, memory: ContactMemory, moving: Flags) -> Begin:
    """The step with what bodies (n,) of no large island in motion stood on in their prediction, up to their impacts.

    state: as it begins; speed: (n,) m/s, of the fastest points of bodies; memory: of the contacts of the last step.
    """
    contacts, fast = begin.contacts, LEAST_IMPACT * begin.gravity_speed
    if not anything_meets(speed, memory.approach, fast):
        return begin
    where = contacts.body_a, contacts.body_b, contacts.feature, contacts.point, contacts.normal, contacts.gap
    limits = begin.h, fast, begin.force_time
    found = borne_until_met(begin.model, begin.bodies, state.position, where, begin.at_rest(contacts), memory, moving, limits)
    is_borne, predicted, momentum, borne = found
    if not is_borne:
        return begin
    return begin._replace(bodies=begin.bodies._replace(predicted=predicted, end_momentum=momentum), borne=borne)


@kernel
def anything_meets(speed, approach, fast):
    """Whether bodies with speeds (n,) could have an impact faster than `fast`, or one with approach (m,) is under way."""
    fastest, under_way = 0.0, 0.0
    for s in speed:
        fastest = max(fastest, s)
    for s in approach:
        under_way = max(under_way, s)
    return not BEARABLE * fastest < fast or under_way > fast


@kernel
def borne_until_met(model, bodies, position, contacts, rest, memory, moving, limits):
    """Whether anything is borne, the velocities (n, 6) and momenta (n, 3) predicted with it, and (k, 4) N s, how much of what
    the remembered contacts bore."""
    (body_a, body_b, feature, point, normal, gap), (h, fast, force_time) = contacts, limits
    predicted, momentum, borne = bodies.predicted, bodies.end_momentum, memory.impulse
    share, meets = np.zeros(len(position)), np.zeros(body_a.size, np.bool_)
    old = match(memory, body_a, body_b, feature)
    where = body_a, body_b, point, normal, gap, rest.gap, rest.offset
    if not _shares(where, position, bodies.twist, (memory.approach, old), h, fast, share, meets):
        return False, predicted, momentum, borne
    pushed, bears, some = np.zeros_like(predicted), np.zeros(body_a.size, np.bool_), False
    support = np.full(len(position), -2)
    _only_support(model.dof, body_a, body_b, moving, support)
    for k in range(body_a.size):
        a_moves = model.dof[body_a[k]] >= 0
        i, other = (body_a[k], body_b[k]) if a_moves else (body_b[k], body_a[k])
        if old[k] < 0 or meets[k] or support[i] != other or not share[i] > 0.0:
            continue
        impulse = memory.impulse[old[k]]
        if impulse[0] > 0.0:
            bears[k] = some = True
            push = (-1.0 if a_moves else 1.0) * (impulse[0] * normal[k] + impulse[1:])
            pushed[i, :3] += push
            pushed[i, 3:] += np.cross(point[k] - position[i], push)
    if not some:
        return False, predicted, momentum, borne
    predicted, momentum, borne = predicted.copy(), momentum.copy(), np.zeros_like(borne)
    weight = force_time * np.sqrt((model.gravity**2).sum())
    for i in range(len(position)):
        size = np.sqrt((pushed[i, :3] ** 2).sum())
        if size > 0.0:
            share[i] *= min(1.0, weight * model.mass[i] / size)
            change = share[i] * model.lock[i] * (bodies.inverse_mass[model.dof[i]] @ pushed[i])
            predicted[i] += change
            for row in range(3):
                momentum[i, row] += (bodies.mass[model.dof[i], 3 + row, 3:] * change[3:]).sum()
    for k in range(body_a.size):
        if bears[k]:
            borne[old[k]] = share[body_a[k] if model.dof[body_a[k]] >= 0 else body_b[k]] * memory.impulse[old[k]]
    return True, predicted, momentum, borne


@leaf_kernel
def _only_support(dof, body_a, body_b, moving, out):
    """out: (n,), all -2: the only body that each one of no large island in motion touches, if no impulse moves that, else
    negative."""
    for k in range(body_a.size):
        for i, other in ((body_a[k], body_b[k]), (body_b[k], body_a[k])):
            is_first = out[i] == -2 and dof[i] >= 0 and dof[other] < 0 and not moving[i]
            out[i] = other if is_first or out[i] == other else -1


@leaf_kernel
def _shares(contacts, position, twist, remembered, h, fast, out, meets):
    """out: (n,) how much of a step's forces bodies bear as before; meets: (m,) which contacts are of an impact. Whether any."""
    (body_a, body_b, point, normal, gap, rest, offset), (approach, old) = contacts, remembered
    some = False
    for k in range(gap.size):
        a, b, room = body_a[k], body_b[k], gap[k] - rest[k]
        touches = room <= TOUCHING_OFFSETS * offset[k]
        before = approach[old[k]] if old[k] >= 0 else 0.0
        if touches and not before > fast:
            continue
        closing = 0.0
        for body, sign in ((a, 1.0), (b, -1.0)):
            x, y, z = point[k, 0] - position[body, 0], point[k, 1] - position[body, 1], point[k, 2] - position[body, 2]
            v = twist[body]
            closing += sign * normal[k, 0] * (v[0] + v[4] * z - v[5] * y)
            closing += sign * normal[k, 1] * (v[1] + v[5] * x - v[3] * z)
            closing += sign * normal[k, 2] * (v[2] + v[3] * y - v[4] * x)
        if touches:
            meets[k] = closing > 0.0
            share = 0.5 * min(closing / before, 1.0)
        else:
            meets[k] = closing > fast and room < h * closing
            share = 1.0
        if meets[k]:
            out[a], out[b], some = max(out[a], share), max(out[b], share), True
    return some


def with_borne(kept: ContactMemory, memory: ContactMemory, borne: Floats) -> ContactMemory:
    """What is remembered of a step, with what its contacts bore up to an impact, (k, 4) N s of those remembered before it."""
    if not borne.any():
        return kept
    before = match(memory, kept.body_a, kept.body_b, kept.feature)
    return kept._replace(impulse=kept.impulse + np.where((before >= 0)[:, None], borne[before], 0.0))
