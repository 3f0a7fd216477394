# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's law of restitution over the two steps that an impact takes (Kaufman et al. 2008, the footnote to (14)).

In the first step a contact with a gap lets the bodies come together, and takes from them what would be too fast for that; in
the second they part with e times the speed at which they met. Both speeds are those of bodies in free fall at the moment of
contact: what forces give on the way there counts, and of the rebound the half of it that gravity takes back until the middle
of the step, where velocities are. So heights of bounces follow e^2, e^4 and so on whatever the step.

An impact that has begun ends in the next step, whatever the gap or the closing speed has become: bodies that slide past each
other have moved apart along a curved surface by v^2 h^2 / 2R, and may no longer be closing in. It ends for the pair, not for
the contact: where the points of the second step are other features than those of the first, each parts with e times its own
approach in the motion that the pair had as it met (`model/impact_memory.py`).

What a contact at rest gathers in a step is no impact. Gravity gives it g h; a rebound that is no faster is over within two
steps, the two that a bounce takes, and rises by less than g h^2 / 2.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...compile.kernel import kernel, kernel_part, leaf_kernel
from ..model.impact_memory import NO_IMPACTS_BEGUN, ImpactMemory
from ..model.predict import Begin
from .memory import ContactMemory, match

__all__ = ["along_begun_normals", "approach_of_pair", "begun_impacts", "begun_row", "bounce", "has_begun"]

Floats = NDArray[np.float64]


@kernel_part
def bounce(closing, pull, gap, times, before, e, least, ends):
    """The speed at which the bodies of a contact part, and the speed of approach to be remembered.

    Parameters
    ----------
    closing : m/s, before the step, in the middle of the last one
    pull : m/s^2, at which forces alone bring the bodies together
    gap : m
    times : s, of the step and of the one before
    before : m/s, the remembered speed of approach, 0 for none
    e : coefficient of restitution
    least : m/s, a rebound that is no faster is none
    ends : whether the impact ends in this step: the bodies touch, or their impact has begun

    Returns
    -------
    rebound, approach : m/s, 0 for none
    """
    approach = before
    if closing > 0.0:
        begin = closing + 0.5 * times[1] * pull
        approach = max(math.sqrt(max(0.0, begin * begin + 2.0 * pull * gap)), before)
    elif not ends:
        return 0.0, 0.0
    if not ends:
        return 0.0, approach
    rebound = e * approach
    return (max(0.0, rebound - 0.5 * times[0] * pull) if rebound > least else 0.0), 0.0


@leaf_kernel
def begun_row(begun, row, a, b):
    """The first row of an `ImpactMemory`, from a row on, whose pair is not before the bodies a < b."""
    while row < begun.body_a.size and (begun.body_a[row] < a or (begun.body_a[row] == a and begun.body_b[row] < b)):
        row += 1
    return row


@leaf_kernel
def approach_of_pair(begun, row, contacts, k, position):
    """m/s at which the bodies of contact k approached each other there as their impact began, 0 where none has begun.

    row: of `begun_row`. position: (n, 3) m, centers of mass.
    """
    a, b = contacts.body_a[k], contacts.body_b[k]
    if row == begun.body_a.size or begun.body_a[row] != a or begun.body_b[row] != b:
        return 0.0
    return max(0.0, closing_speed(begun.twist_a[row], begun.twist_b[row], contacts, k, position))


def along_begun_normals(contacts: ContactSet, memory: ContactMemory) -> ContactSet:
    """Contacts with the normals of the last step where their impact began in it: it ends along the line in which it began.

    Parameters
    ----------
    contacts : of the step
    memory : contacts of the last step
    """
    normal, is_any = begun_normals(contacts, memory)
    if not is_any:
        return contacts
    ids = contacts.body_a, contacts.body_b
    return ContactSet(*ids, contacts.point, normal, contacts.gap, contacts.feature)


@kernel
def begun_normals(contacts, memory):
    """(m, 3) normals of contacts, of those whose impact has begun as remembered, and whether there are any."""
    normal, is_any = contacts.normal.copy(), False
    old = match(memory, contacts.body_a, contacts.body_b, contacts.feature)
    for k in range(old.size):
        if old[k] >= 0 and has_begun(memory, old[k]):
            normal[k], is_any = memory.normal[old[k]], True
    return normal, is_any


@leaf_kernel
def has_begun(memory, row):
    """Whether the impact of a remembered contact has begun: it slowed its bodies down before they touched."""
    return memory.impulse[row, 0] > 0.0 and memory.approach[row] > 0.0


def begun_impacts(begin: Begin, position: Floats, contacts: ContactSet, memory: ContactMemory) -> ImpactMemory:
    """The impacts that begin in a step.

    Parameters
    ----------
    begin : the step
    position : (n, 3) m, of bodies as it begins
    contacts : of the step
    memory : what is remembered of these contacts after the step: their impulses and speeds of approach

    Returns
    -------
    ImpactMemory : one row for each pair with a contact that has slowed its bodies down before they touch
    """
    if not ((memory.approach > 0.0) & (memory.impulse[:, 0] > 0.0)).any():
        return NO_IMPACTS_BEGUN
    gap = contacts.gap - begin.rest_gaps(contacts)
    return impacts_of_pairs(begin.bodies, position, contacts, gap, memory, (begin.last_step, begin.force_time))


@kernel
def impacts_of_pairs(bodies, position, contacts, gap, memory, times):
    """The `ImpactMemory` of contacts with gaps (m,) m beyond those of rest; times: s, the last step, and how long forces act.

    The motion of a pair is that of the moment at which its first contact closes.
    """
    m = contacts.gap.size
    first, wait = np.zeros(m, np.int64), np.full(m, np.inf)
    taken, count, last = np.zeros(m), 0, -1
    for k in range(m):
        if not has_begun(memory, k):
            continue
        a, b = contacts.body_a[k], contacts.body_b[k]
        if last < 0 or contacts.body_a[last] != a or contacts.body_b[last] != b:
            first[count] = k
            count += 1
        last, row = k, count - 1
        begin = closing_speed(bodies.twist[a], bodies.twist[b], contacts, k, position)
        pull = (closing_speed(bodies.predicted[a], bodies.predicted[b], contacts, k, position) - begin) / times[1]
        begin += 0.5 * times[0] * pull
        meets = begin + memory.approach[k]
        wait[row] = min(wait[row], 2.0 * max(gap[k], 0.0) / meets if meets > 0.0 else 0.0)
        taken[row] += memory.taken[k]
    pairs, twists = np.empty((2, count), np.int64), np.empty((2, count, 6))
    out = ImpactMemory(pairs[0], pairs[1], twists[0], twists[1], taken[:count])
    for row in range(count):
        a, b = contacts.body_a[first[row]], contacts.body_b[first[row]]
        out.body_a[row], out.body_b[row] = a, b
        share = (0.5 * times[0] + wait[row]) / times[1]
        for i in range(6):
            out.twist_a[row, i] = bodies.twist[a, i] + share * (bodies.predicted[a, i] - bodies.twist[a, i])
            out.twist_b[row, i] = bodies.twist[b, i] + share * (bodies.predicted[b, i] - bodies.twist[b, i])
    return out


@leaf_kernel
def closing_speed(twist_a, twist_b, contacts, k, position):
    """m/s at which two bodies with twists (6,) approach each other at contact k. position: (n, 3) m, centers of mass."""
    speed = 0.0
    normal, point = contacts.normal[k], contacts.point[k]
    for twist, body, sign in ((twist_a, contacts.body_a[k], 1.0), (twist_b, contacts.body_b[k], -1.0)):
        center = position[body]
        x, y, z = point[0] - center[0], point[1] - center[1], point[2] - center[2]
        along = normal[0] * (twist[0] + twist[4] * z - twist[5] * y) + normal[1] * (twist[1] + twist[5] * x - twist[3] * z)
        speed += sign * (along + normal[2] * (twist[2] + twist[3] * y - twist[4] * x))
    return speed
