# SPDX-License-Identifier: GPL-3.0-or-later
"""A growing buffer for the contacts of all pairs, in world coordinates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, inner_kernel, leaf_kernel
from ..linalg.vec3 import ZERO, advanced, set_vec, vec
from .contact_set import ContactSet
from .grouping import child_feature_id
from .manifold import write_contact

__all__ = [
    "ContactBuilder",
    "Poses",
    "append_rows",
    "append_sorted",
    "ensure_capacity",
    "new_builder",
    "place_contacts",
    "trimmed",
]

Array = NDArray[np.float64]


class Poses(NamedTuple):
    """World poses of the c colliders: position (c, 3) [m] and rotation (c, 3, 3)."""

    position: Array
    rotation: Array


class ContactBuilder(NamedTuple):
    """A buffer of contacts. used: (1,) number of rows in use."""

    contacts: ContactSet
    used: NDArray[np.int64]


@inner_kernel
def new_builder(rows):
    """Return an empty buffer for `rows` contacts."""
    contacts = ContactSet(
        np.empty(rows, dtype=np.int64),
        np.empty(rows, dtype=np.int64),
        np.empty((rows, 3)),
        np.empty((rows, 3)),
        np.empty(rows),
        np.empty(rows, dtype=np.uint64),
    )
    return ContactBuilder(contacts, np.zeros(1, dtype=np.int64))


@inner_kernel
def ensure_capacity(found, more):
    """Return the buffer, or a larger copy, with capacity for `more` additional contacts."""
    total, room = found.used[0], found.contacts.gap.size
    if total + more <= room:
        return found
    larger, there = new_builder(max(total + more, 2 * room)), trimmed(found)
    larger.contacts.body_a[:total], larger.contacts.body_b[:total] = there.body_a, there.body_b
    larger.contacts.point[:total], larger.contacts.normal[:total] = there.point, there.normal
    larger.contacts.gap[:total], larger.contacts.feature[:total] = there.gap, there.feature
    larger.used[0] = total
    return larger


@inner_kernel
def trimmed(found):
    """Return the contacts in the buffer as views."""
    one, total = found.contacts, found.used[0]
    pairs = one.body_a[:total], one.body_b[:total]
    return ContactSet(pairs[0], pairs[1], one.point[:total], one.normal[:total], one.gap[:total], one.feature[:total])


@inlined_kernel
def to_world(origin, rotation, v):
    """Return origin + rotation v, summed column by column."""
    for k in range(3):
        origin = advanced(origin, v[k], (rotation[0, k], rotation[1, k], rotation[2, k]))
    return origin


@leaf_kernel
def append_rows(found, pair, rows):
    """Write rows of a `ContactBuffer`, in the given order, behind the contacts of the buffer."""
    total = found.used[0]
    for k in range(len(rows)):
        row = rows[k]
        write_contact(found.contacts, total + k, vec(pair.point, row), vec(pair.normal, row), pair.gap[row], pair.feature[row])


@inlined_kernel
def append_sorted(found, pair, count):
    """Write the first `count` rows of a `Manifold` behind the contacts of the buffer."""
    out, total = found.contacts, found.used[0]
    for row in range(count):
        write_contact(out, total + row, vec(pair.point, row), vec(pair.normal, row), pair.gap[row], pair.feature[row])


@inlined_kernel
def place_contacts(found, shapes, poses, a, b, frame, count):
    """Add `count` contacts between the cores of colliders a and b, which are in the rows behind the others, to the contacts.

    Their points, normals and gaps become those of the surfaces in world coordinates.

    frame: the collider in whose frame the contacts are.
    """
    out = found.contacts
    body_a, body_b = shapes.body[a], shapes.body[b]
    margin_a, margin_b = shapes.margin[a], shapes.margin[b]
    first_a, first_b = shapes.first_collider[body_a], shapes.first_collider[body_b]
    alone = shapes.first_collider[body_a + 1] - first_a == 1 and shapes.first_collider[body_b + 1] - first_b == 1
    # Offset from midway between the cores to midway between the surfaces with margin.
    shifted = 0.5 * (margin_a - margin_b)
    total = found.used[0]
    for row in range(total, total + count):
        out.body_a[row] = body_a
        out.body_b[row] = body_b
        out.gap[row] = out.gap[row] - margin_a - margin_b
        if not alone:
            out.feature[row] = child_feature_id(out.feature[row], a - first_a, b - first_b)
        normal = vec(out.normal, row)
        middle = advanced(vec(out.point, row), shifted, normal)
        set_vec(out.point, row, to_world(vec(poses.position, frame), poses.rotation[frame], middle))
        set_vec(out.normal, row, to_world(ZERO, poses.rotation[frame], normal))
    found.used[0] = total + count
