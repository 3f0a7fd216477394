# SPDX-License-Identifier: GPL-3.0-or-later
"""The contacts of all pairs while they are collected, in the world's frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, inner_kernel
from .grouping import mixed

__all__ = ["Found", "room_for", "with_room", "write_contacts"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Found(NamedTuple):
    """Room for the contacts of all pairs, the arrays of a ContactSet; how many rows are in use is counted by the caller."""

    body_a: Indices
    body_b: Indices
    point: Array
    normal: Array
    gap: Array
    feature: NDArray[np.uint64]


@inner_kernel
def room_for(rows):
    """For so many contacts."""
    return Found(
        np.empty(rows, dtype=np.int64),
        np.empty(rows, dtype=np.int64),
        np.empty((rows, 3)),
        np.empty((rows, 3)),
        np.empty(rows),
        np.empty(rows, dtype=np.uint64),
    )


@inner_kernel
def with_room(found, total, most):
    """The contacts found so far, so many in all, with room for at least `most`."""
    if most <= len(found.gap):
        return found
    more = room_for(max(most, 2 * len(found.gap)))
    more.body_a[:total], more.body_b[:total] = found.body_a[:total], found.body_b[:total]
    more.point[:total], more.normal[:total] = found.point[:total], found.normal[:total]
    more.gap[:total], more.feature[:total] = found.gap[:total], found.feature[:total]
    return more


@inlined_kernel
def write_contacts(found, total, shapes, position, rotation, a, b, frame, contacts, count):
    """Appends the first `count` contacts of colliders a and b, a `Manifold` or a `Buffer` in the frame of one of them, and
    returns the new total."""
    point, normal, gap, feature = contacts.point, contacts.normal, contacts.gap, contacts.feature
    body_a, body_b = shapes.body[a], shapes.body[b]
    margin_a, margin_b = shapes.margin[a], shapes.margin[b]
    first_a, first_b = shapes.first_collider[body_a], shapes.first_collider[body_b]
    alone = shapes.first_collider[body_a + 1] - first_a == 1 and shapes.first_collider[body_b + 1] - first_b == 1
    # From midway between the cores to midway between the thickened surfaces.
    shifted = 0.5 * (margin_a - margin_b)
    for slot in range(count):
        found.body_a[total] = body_a
        found.body_b[total] = body_b
        found.gap[total] = gap[slot] - margin_a - margin_b
        found.feature[total] = feature[slot] if alone else mixed(feature[slot], a - first_a, b - first_b)
        for i in range(3):
            found.point[total, i] = position[frame, i]
            found.normal[total, i] = 0.0
            for k in range(3):
                r = rotation[frame, i, k]
                found.point[total, i] += r * (point[slot, k] + shifted * normal[slot, k])
                found.normal[total, i] += r * normal[slot, k]
        total += 1
    return total
