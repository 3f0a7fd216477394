# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact history from step to step: contacts are matched by bodies and feature, and vectors are rotated to the new axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet, compare_features
from ...compile.kernel import kernel, kernel_part

__all__ = ["ContactMemory", "StoredImpulses", "bore", "is_at_its_limit", "match", "recall", "remember"]

Floats = NDArray[np.float64]

AT_ITS_LIMIT = 0.999  # fraction of the largest friction; a sliding contact has more


class ContactMemory(NamedTuple):
    """The stored data of a step's contacts for the next step, sorted by bodies and feature.

    body_a, body_b: (m,). feature: (m,) ids. impulse: (m, 4) N s, the normal impulse, and the friction impulse in world axes.
    normal: (m, 3) of the normal impulse, zero in files of an earlier version. moment: (m, 3) N m s in world axes, of rolling
    and torsional friction. approach: (m,) m/s, the approach speed before the contact slowed its bodies down, for restitution.
    taken: (m,) J, the energy that the contact absorbed. parting: (m,) N s, the separation impulses of the last attempt at the
    step.
    """

    body_a: NDArray[np.int64]
    body_b: NDArray[np.int64]
    feature: NDArray[np.uint64]
    impulse: Floats
    normal: Floats
    moment: Floats
    approach: Floats
    taken: Floats
    parting: Floats


class StoredImpulses(NamedTuple):
    """The contact impulses of the previous step for the m contacts of this one.

    impulse: (k, 4) N s, as in `ContactMemory`. row: (m,) the row of each contact in `impulse`, -1 for new contacts.
    """

    impulse: Floats
    row: NDArray[np.int64]


@kernel
def match(memory, contacts):
    """Return (m,) the row of each contact in the history, -1 for new ones. Both are sorted by bodies and feature."""
    found = np.full(contacts.body_a.size, -1, np.int64)
    i, old = 0, memory.body_a.size
    for k in range(found.size):
        while i < old and compare_features(memory, i, contacts, k) < 0:
            i += 1
        if i < old and compare_features(memory, i, contacts, k) == 0:
            found[k] = i
    return found


def bore(memory: ContactMemory, contacts: ContactSet) -> NDArray[np.bool_]:
    """Return (m,) which contacts, sorted by bodies and feature, carried load in the previous step."""
    found = match(memory, contacts)
    out, known = np.zeros(len(found), np.bool_), found >= 0
    out[known] = memory.impulse[found[known], 0] > 0.0
    return out


@kernel
def remember(axes, impulse):
    """Return (m, 4) the impulses to store: the normal impulse, and the friction impulse in world axes."""
    out = np.empty((impulse.shape[0], 4))
    for k in range(impulse.shape[0]):
        out[k, 0] = impulse[k, 0]
        for i in range(3):
            out[k, 1 + i] = impulse[k, 1] * axes[k, 1, i] + impulse[k, 2] * axes[k, 2, i]
    return out


@kernel_part
def is_at_its_limit(remembered, mu):
    """Return whether a stored impulse (4,) has all the friction that the coefficient allows."""
    x, y, z = remembered[1], remembered[2], remembered[3]
    least = AT_ITS_LIMIT * mu * remembered[0]
    return least > 0.0 and x * x + y * y + z * z > least * least


@kernel_part
def recall(remembered, normal, axes, impulse):
    """impulse (3,) := a stored impulse (4,), whose normal part acted along `normal` (3,), in the present contact axes.

    The impulse is kept as a vector in world axes, so that the same force holds a body at rest if its contact normals rotate.
    The normal between two edges that are a rest offset apart, for example, rotates by rounding.
    """
    same = normal[0] == 0.0 and normal[1] == 0.0 and normal[2] == 0.0
    impulse[0] = remembered[0] if same else 0.0
    for i in range(3):
        pushes = remembered[0] * normal[i] + remembered[1 + i]
        impulse[0] += 0.0 if same else pushes * axes[0, i]
        impulse[1] += pushes * axes[1, i]
        impulse[2] += pushes * axes[2, i]
    impulse[0] = max(0.0, impulse[0])
