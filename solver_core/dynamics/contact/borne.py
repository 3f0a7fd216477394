# SPDX-License-Identifier: GPL-3.0-or-later
"""Support forces of a body until its impact with another contact point.

An impact takes two steps: in the first the gap closes, and in the second the remaining speed is stopped. The old support of the
body lets go in the first step, so it would carry none of the forces in either. In reality it carries them until the impact,
which comes at a fraction t of the first step. From the middle of the step before to the middle of the second step, this is
t + 1/2 of a step: min(1, t + 1/2) of the forces in the first step and max(0, t - 1/2) of those in the second are carried as
before.

Without this correction, Housner's block, which rocks from edge to edge, lost twice the speed that gravity gives in a step at
each impact, and a ball that rolls from facet to facet lost three times as much as impacts at its edges take. The support
impulse is that of the last step, limited to the weight, because it may include an impact. Whether a gap closes is decided with
the motion that results; otherwise a gap that closes at the end of the step would take over the weight. In the second step, t
follows from the speed that the impulse of the first step left.

The correction applies only to bodies that touch a single body, which no impulse moves. Applied to all bodies, it lets two to
four of sixteen cubes through a funnel in which they otherwise jam, as they also do at shorter steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel, kernel_part, leaf_kernel
from ..model.bodies import State
from ..model.predict import Begin
from ..model.rest_gaps import TOUCHING_OFFSETS
from .memory import ContactMemory, StoredImpulses, match

__all__ = ["bearing_until_met", "with_borne"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LEAST_IMPACT = 0.05  # fraction of the speed that gravity gives in a step; an impact closes faster
BEARABLE = 4.0  # times the speed of the fastest point; contacts, which may lie outside of both bodies, close no faster


class ImpactLimits(NamedTuple):
    """The limits that decide whether a contact has an impact in a step.

    h: s, the step. force_time: s, the time over which forces act. closing_speed: m/s; an impact closes faster.
    """

    h: float
    force_time: float
    closing_speed: float


class SupportContacts(NamedTuple):
    """The m contacts of a step, as contacts of bodies with their only support.

    body: (m,) the supported body of each contact, -1 for contacts of another kind; their other entries are undefined. jacobian:
    (m, 6) the derivative of the opening speed with respect to the twist of the body. impulse: (m, 6) N s and N m s, the stored
    impulse on the body about its center of mass. speed: (m,) m/s, the speed of the support along the normal.
    """

    body: NDArray[np.int64]
    jacobian: Floats
    impulse: Floats
    speed: Floats


def bearing_until_met(begin: Begin, state: State, speed: Floats, memory: ContactMemory, moving: Flags) -> Begin:
    """Add support forces up to the impact to the prediction of a step.

    Parameters
    ----------
    begin : the step
    state : at its start
    speed : (n,) m/s, of the fastest point of each body
    memory : the contact history
    moving : (n,) bodies of large moving islands, which get no support forces here

    Returns
    -------
    the step, unchanged if no body has an impact that its support precedes
    """
    contacts, fast = begin.contacts, LEAST_IMPACT * begin.gravity_speed
    if not anything_moves(speed, fast / BEARABLE):
        return begin
    limits, rest = ImpactLimits(begin.h, begin.force_time, fast), begin.at_rest(contacts)
    found = borne_until_met(begin.model, begin.bodies, state.position, contacts, rest, memory, moving, limits)
    is_borne, predicted, momentum, borne = found
    if not is_borne:
        return begin
    return begin._replace(bodies=begin.bodies._replace(predicted=predicted, end_momentum=momentum), borne=borne)


@kernel
def anything_moves(speed, least):
    """Return whether the largest of speeds (n,) exceeds `least`, or is NaN."""
    fastest = 0.0
    for s in speed:
        fastest = max(fastest, s)
    return not fastest <= least


@kernel
def borne_until_met(model, bodies, position, contacts, rest, memory, moving, limits):
    """Compute the support forces up to impacts.

    Parameters
    ----------
    model, bodies : the `Model` and the `Prediction` of n bodies
    position : (n, 3) m, at the start of the step
    contacts : the m contacts
    rest : their gaps at rest
    memory : the contact history, with k contacts
    moving : (n,) bodies of large moving islands, which get no support forces here
    limits : `ImpactLimits`

    Returns
    -------
    is_borne : whether there are support forces
    predicted, momentum : (n, 6) m/s and rad/s, (n, 3) N m s; predicted velocities and angular momenta with these forces
    borne : (k, 4) N s, the part of the stored impulses that they carry
    """
    m, n = contacts.gap.size, len(position)
    predicted, momentum, borne = bodies.predicted, bodies.end_momentum, memory.impulse
    old, room = match(memory, contacts), contacts.gap - rest.gap
    body, support, touches = np.full(m, -1), np.full(n, -2), room <= TOUCHING_OFFSETS * rest.offset
    _only_support(model.dof, contacts, moving, support)
    supports = standing(model.dof, contacts, position, bodies.twist, support, StoredImpulses(memory.impulse, old), body)
    push, share, pushed, change = supports.impulse, np.zeros(n), np.zeros((n, 6)), np.zeros((n, 6))
    end_impacts(model, bodies, supports, touches, limits.closing_speed, share, pushed)
    weight = limits.force_time * np.sqrt((model.gravity**2).sum())
    left = np.zeros(n)
    for i in range(n):
        size = np.sqrt((pushed[i, :3] ** 2).sum())
        if size > 0.0:
            left[i] = min(1.0, weight * model.mass[i] / size)
            change[i] = left[i] * model.lock[i] * moved_by(bodies.inverse_mass[model.dof[i]], pushed[i])
    begin_impacts(predicted + change, supports, touches, room, limits, share)
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
def standing(dof, contacts, position, twist, support, stored, body):
    """Return the `SupportContacts` of a step.

    body: (m,) filled with -1; overwritten with the supported body of each such contact. support: (n,) the only body that each
    body touches. stored: `StoredImpulses`.
    """
    m, impulse, old = contacts.gap.size, stored.impulse, stored.row
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
    return SupportContacts(body, along, push, speed)


@kernel_part
def moved_by(inverse_mass, push):
    """Return (6,) m/s and rad/s, the velocity change of a body by an impulse (6,). inverse_mass: (6, 6)."""
    out = np.zeros(6)
    for i in range(6):
        for j in range(6):
            out[i] += inverse_mass[i, j] * push[j]
    return out


@kernel_part
def end_impacts(model, bodies, supports, touches, closing_speed, share, pushed):
    """Handle impacts that started in the previous step.

    share: (n,) updated to the fraction of the step's forces that the old support of a body carries. pushed: (n, 6) updated to
    its support impulse. The impulse of a contact with such an impact is removed from `supports`.
    """
    body, along, push, speed = supports.body, supports.jacobian, supports.impulse, supports.speed
    for k in range(body.size):
        i = body[k]
        if i < 0:
            continue
        closing = speed[k] - (along[k] * bodies.twist[i]).sum()
        if touches[k] and closing > closing_speed:
            taken = (along[k] * model.lock[i] * moved_by(bodies.inverse_mass[model.dof[i]], push[k])).sum()
            if closing > taken:
                share[i], push[k] = max(share[i], closing / (closing + taken) - 0.5), 0.0
        pushed[i] += push[k]


@kernel_part
def begin_impacts(velocity, supports, touches, room, limits, share):
    """Handle impacts that start in the step, with velocities (n, 6): update `share` (n,) as `end_impacts` does.

    room: (m,) m, the gap of each contact beyond its gap at rest.
    """
    body, along, speed, h = supports.body, supports.jacobian, supports.speed, limits.h
    for k in range(body.size):
        i = body[k]
        if i >= 0 and not touches[k]:
            closing = speed[k] - (along[k] * velocity[i]).sum()
            if closing > limits.closing_speed and room[k] < h * closing:
                share[i] = max(share[i], min(1.0, 0.5 + room[k] / (h * closing)))


@leaf_kernel
def _only_support(dof, contacts, moving, out):
    """Write the only body that each body touches to `out` (n,), filled with -2 before.

    The result is negative if there is no such body, if impulses move it, or for bodies of large moving islands.
    """
    for k in range(contacts.gap.size):
        a, b = contacts.body_a[k], contacts.body_b[k]
        for i, other in ((a, b), (b, a)):
            is_first = out[i] == -2 and dof[i] >= 0 and dof[other] < 0 and not moving[i]
            out[i] = other if is_first or out[i] == other else -1


def with_borne(kept: ContactMemory, memory: ContactMemory, borne: Floats) -> ContactMemory:
    """Return the contact history of a step with its support impulses up to impacts added.

    kept: the history after the step. memory: the history before it. borne: (k, 4) N s, of the contacts in `memory`.
    """
    if not len(borne):
        return kept
    before = match(memory, kept)
    return kept._replace(impulse=kept.impulse + np.where((before >= 0)[:, None], borne[before], 0.0))
