# SPDX-License-Identifier: GPL-3.0-or-later
"""What a body stands on bears it until it meets something else.

A gap that closes takes two steps for its impact: in the first the gap closes, in the second what is left is stopped. What the
body stood on lets go in the first, and so bore nothing of what forces gave in both. In truth it bears up to the impact, a share
t of the first step after its begin. From the middle of the step before to the middle of the second that is t + 1/2 of a step:
min(1, t + 1/2) of what forces give in the first step and max(0, t - 1/2) of that in the second are borne as before.

Housner's block, which rocks from edge to edge, lost twice what gravity gives in a step at each impact, and a ball that rolls
from facet to facet three times what the edges take. What bore is taken from the last step, and is no more than the weight, lest
it was an impact itself. Whether a gap closes is asked of the motion to which that leads, or one that closes as the step ends
would take over the weight. In the second step t is what the impulse of the first has left of the speed. All this is for what
has contacts with one body alone that no impulse moves: for all, a funnel in which cubes jam lets two to four of sixteen
through, which stay without, and at shorter steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel, kernel_part, leaf_kernel
from ..model.bodies import State
from ..model.predict import Begin
from ..model.rest_gaps import TOUCHING_OFFSETS
from .memory import ContactMemory, match

__all__ = ["bearing_until_met", "with_borne"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LEAST_IMPACT = 0.05  # times the speed that gravity gives in a step: what closes no faster is none
BEARABLE = 4.0  # times the fastest point: contacts, which may lie outside of both bodies, close no faster


def bearing_until_met(begin: Begin, state: State, speed: Floats, memory: ContactMemory, moving: Flags) -> Begin:
    """The step with what bodies (n,) of no large island in motion stood on in their prediction, up to their impacts.

    state: as it begins; speed: (n,) m/s, of the fastest points of bodies; memory: of the contacts of the last step.
    """
    contacts, fast = begin.contacts, LEAST_IMPACT * begin.gravity_speed
    if not anything_moves(speed, fast / BEARABLE):
        return begin
    limits, rest = (begin.h, fast, begin.force_time), begin.at_rest(contacts)
    found = borne_until_met(begin.model, begin.bodies, state.position, contacts, rest, memory, moving, limits)
    is_borne, predicted, momentum, borne = found
    if not is_borne:
        return begin
    return begin._replace(bodies=begin.bodies._replace(predicted=predicted, end_momentum=momentum), borne=borne)


@kernel
def anything_moves(speed, least):
    """Whether the highest of speeds (n,) is above that."""
    fastest = 0.0
    for s in speed:
        fastest = max(fastest, s)
    return not fastest <= least


@kernel
def borne_until_met(model, bodies, position, contacts, rest, memory, moving, limits):
    """Whether anything is borne, the velocities (n, 6) and momenta (n, 3) predicted with it, and (k, 4) N s, how much of what
    the remembered contacts bore."""
    m, n, (h, fast, force_time) = contacts.gap.size, len(position), limits
    predicted, momentum, borne = bodies.predicted, bodies.end_momentum, memory.impulse
    old, room = match(memory, contacts.body_a, contacts.body_b, contacts.feature), contacts.gap - rest.gap
    body, support, touches = np.full(m, -1), np.full(n, -2), room <= TOUCHING_OFFSETS * rest.offset
    _only_support(model.dof, contacts, moving, support)
    of_contacts = standing(model.dof, contacts, position, bodies.twist, support, (memory.impulse, old), body)
    push, share, pushed, change = of_contacts[2], np.zeros(n), np.zeros((n, 6)), np.zeros((n, 6))
    end_impacts(model, bodies, of_contacts, touches, fast, share, pushed)
    weight = force_time * np.sqrt((model.gravity**2).sum())
    left = np.zeros(n)
    for i in range(n):
        size = np.sqrt((pushed[i, :3] ** 2).sum())
        if size > 0.0:
            left[i] = min(1.0, weight * model.mass[i] / size)
            change[i] = left[i] * model.lock[i] * moved_by(bodies.inverse_mass[model.dof[i]], pushed[i])
    begin_impacts(predicted + change, of_contacts, touches, room, h, fast, share)
    is_borne = (share > 0.0) & (left > 0.0)
    if not is_borne.any():
        return False, predicted, momentum, borne
    predicted, momentum, borne = predicted.copy(), momentum.copy(), np.zeros_like(borne)
    for i in np.flatnonzero(is_borne):
        change[i] *= share[i]
        predicted[i] += change[i]
        for row in range(3):
            momentum[i, row] += (bodies.mass[model.dof[i], 3 + row, 3:] * change[i, 3:]).sum()
    for k in range(m):
        if body[k] >= 0 and is_borne[body[k]] and push[k].any():
            borne[old[k]] = share[body[k]] * left[body[k]] * memory.impulse[old[k]]
    return True, predicted, momentum, borne


@kernel
def standing(dof, contacts, position, twist, support, remembered, body):
    """body: (m,), all -1, of each contact the body that touches no other than `support` (n,) names; of these (m, 6) the twist
    with which its velocity along the normal is a product, (m, 6) what the contact bore, about the centre of mass, N s and
    N m s, and (m,) m/s at which the other body comes."""
    m, (impulse, old) = contacts.gap.size, remembered
    along, push, speed = np.zeros((m, 6)), np.zeros((m, 6)), np.zeros(m)
    for k in range(m):
        a, b, point, normal = contacts.body_a[k], contacts.body_b[k], contacts.point[k], contacts.normal[k]
        i, other, side = (a, b, -1.0) if dof[a] >= 0 else (b, a, 1.0)
        if support[i] != other:
            continue
        arm = point - position[i]
        body[k], along[k, :3] = i, side * normal
        along[k, 3:] = np.cross(arm, along[k, :3])
        speed[k] = (along[k, :3] * (twist[other, :3] + np.cross(twist[other, 3:], point - position[other]))).sum()
        if old[k] >= 0 and impulse[old[k], 0] > 0.0:
            push[k, :3] = side * (impulse[old[k], 0] * normal + impulse[old[k], 1:])
            push[k, 3:] = np.cross(arm, push[k, :3])
    return body, along, push, speed


@kernel_part
def moved_by(inverse_mass, push):
    """(6,) m/s and rad/s: what a push (6,) changes of the velocity of a body with an inverse mass (6, 6)."""
    out = np.zeros(6)
    for i in range(6):
        for j in range(6):
            out[i] += inverse_mass[i, j] * push[j]
    return out


@kernel_part
def end_impacts(model, bodies, of_contacts, touches, fast, share, pushed):
    """share: (n,) how much of a step's forces bodies bear as before whose impact began in the last one; pushed: (n, 6) what
    bore them. What a contact of such an impact bore is no more in `of_contacts`."""
    body, along, push, speed = of_contacts
    for k in range(body.size):
        i = body[k]
        if i < 0:
            continue
        closing = speed[k] - (along[k] * bodies.twist[i]).sum()
        if touches[k] and closing > fast:
            taken = (along[k] * model.lock[i] * moved_by(bodies.inverse_mass[model.dof[i]], push[k])).sum()
            if closing > taken:
                share[i], push[k] = max(share[i], closing / (closing + taken) - 0.5), 0.0
        pushed[i] += push[k]


@kernel_part
def begin_impacts(velocity, of_contacts, touches, room, h, fast, share):
    """The same `share` of bodies that would come to an impact in the step with velocities (n, 6)."""
    body, along, _, speed = of_contacts
    for k in range(body.size):
        i = body[k]
        if i >= 0 and not touches[k]:
            closing = speed[k] - (along[k] * velocity[i]).sum()
            if closing > fast and room[k] < h * closing:
                share[i] = max(share[i], min(1.0, 0.5 + room[k] / (h * closing)))


@leaf_kernel
def _only_support(dof, contacts, moving, out):
    """out: (n,), all -2: the only body that each one of no large island in motion touches, if no impulse moves that, else
    negative."""
    for k in range(contacts.gap.size):
        a, b = contacts.body_a[k], contacts.body_b[k]
        for i, other in ((a, b), (b, a)):
            is_first = out[i] == -2 and dof[i] >= 0 and dof[other] < 0 and not moving[i]
            out[i] = other if is_first or out[i] == other else -1


def with_borne(kept: ContactMemory, memory: ContactMemory, borne: Floats) -> ContactMemory:
    """What is remembered of a step, with what its contacts bore up to an impact, (k, 4) N s of those remembered before it."""
    if not len(borne):
        return kept
    before = match(memory, kept.body_a, kept.body_b, kept.feature)
    return kept._replace(impulse=kept.impulse + np.where((before >= 0)[:, None], borne[before], 0.0))
