# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's law of restitution over the two steps of an impact (Kaufman et al. 2008, footnote to (14)).

In the first step, the contact lets the gap close and removes any speed beyond that. In the second step, the bodies separate at
e times their approach speed. Both speeds are those of bodies in free fall at the moment of contact: forces act on the bodies
until they touch, and gravity reduces the rebound until the middle of the step, where velocities are defined. Bounce heights
therefore follow e^2, e^4 and so on for any step.

An impact that has started ends in the next step, whatever the gap or the closing speed is then: bodies that slide past each
other separate along a curved surface by v^2 h^2 / 2R, and may no longer approach. It ends for the pair of bodies, not for the
contact: if the second step has contacts of other features than the first, each opens at e times its own approach speed in the
motion that the pair had when it collided (`model/impact_memory.py`).

The speed that a resting contact gains in a step, g h by gravity, is no impact. A rebound that is no faster would end within the
two steps that a bounce takes, and rise by less than g h^2 / 2.
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
    """Return the rebound speed of a contact, and the approach speed to store for the next step.

    Parameters
    ----------
    closing : m/s, closing speed in the middle of the previous step
    pull : m/s^2, closing acceleration by forces alone
    gap : m, beyond the gap at rest
    times : s, this step and the previous one
    before : m/s, the stored approach speed, 0 for none
    e : coefficient of restitution
    least : m/s; slower rebounds do not occur
    ends : whether the impact ends in this step: the bodies touch, or their impact has started

    Returns
    -------
    rebound : m/s, the opening speed in the middle of the step, 0 for none
    approach : m/s, the approach speed to store, 0 for none
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
    """Return the first row of an `ImpactMemory`, at or after `row`, whose pair does not precede the bodies a < b."""
    while row < begun.body_a.size and (begun.body_a[row] < a or (begun.body_a[row] == a and begun.body_b[row] < b)):
        row += 1
    return row


@leaf_kernel
def approach_of_pair(begun, row, contacts, k, position):
    """Return m/s, the approach speed at contact k when the impact of its bodies started; 0 if none has started.

    row: of `begun_row`. position: (n, 3) m, centers of mass.
    """
    a, b = contacts.body_a[k], contacts.body_b[k]
    if row == begun.body_a.size or begun.body_a[row] != a or begun.body_b[row] != b:
        return 0.0
    return max(0.0, closing_speed(begun.twist_a[row], begun.twist_b[row], contacts, k, position))


def along_begun_normals(contacts: ContactSet, memory: ContactMemory) -> ContactSet:
    """Return contacts with the stored normals if their impact started in the previous step.

    An impact ends along the line in which it started.

    Parameters
    ----------
    contacts : of the step
    memory : the contact history
    """
    normal, is_any = begun_normals(contacts, memory)
    if not is_any:
        return contacts
    ids = contacts.body_a, contacts.body_b
    return ContactSet(*ids, contacts.point, normal, contacts.gap, contacts.feature)


@kernel
def begun_normals(contacts, memory):
    """Return (m, 3) the normals of contacts, stored ones for impacts that have started, and whether there are any of these."""
    normal, is_any = contacts.normal.copy(), False
    old = match(memory, contacts)
    for k in range(old.size):
        if old[k] >= 0 and has_begun(memory, old[k]):
            normal[k], is_any = memory.normal[old[k]], True
    return normal, is_any


@leaf_kernel
def has_begun(memory, row):
    """Return whether the impact of a stored contact has started: it slowed its bodies down before they touched."""
    return memory.impulse[row, 0] > 0.0 and memory.approach[row] > 0.0


def begun_impacts(begin: Begin, position: Floats, contacts: ContactSet, memory: ContactMemory) -> ImpactMemory:
    """Return the impacts that start in a step.

    Parameters
    ----------
    begin : the step
    position : (n, 3) m, of bodies at its start
    contacts : of the step
    memory : the history of these contacts after the step, with their impulses and approach speeds

    Returns
    -------
    one row for each pair with a contact that slowed its bodies down before they touched
    """
    if not ((memory.approach > 0.0) & (memory.impulse[:, 0] > 0.0)).any():
        return NO_IMPACTS_BEGUN
    gap = contacts.gap - begin.rest_gaps(contacts)
    return impacts_of_pairs(begin.bodies, position, contacts, gap, memory, (begin.last_step, begin.force_time))


@kernel
def impacts_of_pairs(bodies, position, contacts, gap, memory, times):
    """Return the `ImpactMemory` of contacts. The motion of a pair is that at the time at which its first contact closes.

    gap: (m,) m, beyond the gaps at rest. times: s, the previous step, and the time over which forces act.
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
    """Return m/s, the closing speed of two bodies with twists (6,) at contact k. position: (n, 3) m, centers of mass."""
    speed = 0.0
    normal, point = contacts.normal[k], contacts.point[k]
    for twist, body, sign in ((twist_a, contacts.body_a[k], 1.0), (twist_b, contacts.body_b[k], -1.0)):
        center = position[body]
        x, y, z = point[0] - center[0], point[1] - center[1], point[2] - center[2]
        along = normal[0] * (twist[0] + twist[4] * z - twist[5] * y) + normal[1] * (twist[1] + twist[5] * x - twist[3] * z)
        speed += sign * (along + normal[2] * (twist[2] + twist[3] * y - twist[4] * x))
    return speed
