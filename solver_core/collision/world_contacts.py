# SPDX-License-Identifier: GPL-3.0-or-later
"""The contacts of all pairs while they are collected, in the world's frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, inner_kernel
from ..linalg.vec3 import ZERO, advanced, set_vec, vec
from .grouping import mixed

__all__ = ["Poses", "WorldContacts", "allocate", "with_room", "write_contacts"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Poses(NamedTuple):
    """Of the colliders in the world: position (c, 3) m, rotation (c, 3, 3)."""

    position: Array
    rotation: Array


class WorldContacts(NamedTuple):
    """Room for the contacts of all pairs, the arrays of a ContactSet; used: (1,) how many rows are."""

    body_a: Indices
    body_b: Indices
    point: Array
    normal: Array
    gap: Array
    feature: NDArray[np.uint64]
    used: Indices


@inner_kernel
def allocate(rows):
    """For so many contacts."""
    return WorldContacts(
        np.empty(rows, dtype=np.int64),
        np.empty(rows, dtype=np.int64),
        np.empty((rows, 3)),
        np.empty((rows, 3)),
        np.empty(rows),
        np.empty(rows, dtype=np.uint64),
        np.zeros(1, dtype=np.int64),
    )


@inner_kernel
def with_room(found, more):
    """The contacts found so far, with room for so many more."""
    total = found.used[0]
    if total + more <= len(found.gap):
        return found
    larger = allocate(max(total + more, 2 * len(found.gap)))
    larger.body_a[:total], larger.body_b[:total] = found.body_a[:total], found.body_b[:total]
    larger.point[:total], larger.normal[:total] = found.point[:total], found.normal[:total]
    larger.gap[:total], larger.feature[:total] = found.gap[:total], found.feature[:total]
    larger.used[0] = total
    return larger


@inlined_kernel
def in_world(origin, rotation, v):
    """origin + rotation v, a column of the matrix after the other."""
    for k in range(3):
        origin = advanced(origin, v[k], (rotation[0, k], rotation[1, k], rotation[2, k]))
    return origin


@inlined_kernel
def write_contacts(found, shapes, poses, a, b, frame, contacts, count):
    """Appends the first `count` contacts of colliders a and b, a `Manifold` or a `Buffer` in the frame of one of them."""
    body_a, body_b = shapes.body[a], shapes.body[b]
    margin_a, margin_b = shapes.margin[a], shapes.margin[b]
    first_a, first_b = shapes.first_collider[body_a], shapes.first_collider[body_b]
    alone = shapes.first_collider[body_a + 1] - first_a == 1 and shapes.first_collider[body_b + 1] - first_b == 1
    # From midway between the cores to midway between the thickened surfaces.
    shifted = 0.5 * (margin_a - margin_b)
    total = found.used[0]
    for slot in range(count):
        feature = contacts.feature[slot]
        found.body_a[total] = body_a
        found.body_b[total] = body_b
        found.gap[total] = contacts.gap[slot] - margin_a - margin_b
        found.feature[total] = feature if alone else mixed(feature, a - first_a, b - first_b)
        normal = vec(contacts.normal, slot)
        middle = advanced(vec(contacts.point, slot), shifted, normal)
        set_vec(found.point, total, in_world(vec(poses.position, frame), poses.rotation[frame], middle))
        set_vec(found.normal, total, in_world(ZERO, poses.rotation[frame], normal))
        total += 1
    found.used[0] = total
