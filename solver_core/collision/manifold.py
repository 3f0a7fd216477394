# SPDX-License-Identifier: GPL-3.0-or-later
"""The contacts of one pair while they are collected: storage, feature ids, merging and reduction.

A contact is stored in the frame of the pair's first body (for a plane in that of the other): the point midway between the
cores, the unit normal from a to b, the gap between the cores, and a feature id. An id names the two features that touch, not
which of the bodies served as reference, so it persists when that choice changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ..linalg.vec3 import distance2, set_vec, vec
from .reduction import FEW_CONTACTS, MOST_CONTACTS, choose

__all__ = [
    "CAPACITY",
    "EDGE_EDGE",
    "EDGE_FACE",
    "EDGE_VERTEX",
    "FACE_EDGE",
    "FACE_VERTEX",
    "NONE_FOUND",
    "NO_VERTEX",
    "VERTEX_EDGE",
    "VERTEX_FACE",
    "VERTEX_VERTEX",
    "Manifold",
    "add_contact",
    "copy_contact",
    "empty_manifold",
    "feature_id",
    "reduce_and_sort",
    "write_contact",
]

# Of two polygons that meet with more corners some are left out before all are known, in a mirror others.
CAPACITY = 512

# The feature of a, then that of b.
FACE_VERTEX = np.int64(0)
VERTEX_FACE = np.int64(1)
EDGE_EDGE = np.int64(2)
VERTEX_EDGE = np.int64(3)
EDGE_VERTEX = np.int64(4)
VERTEX_VERTEX = np.int64(5)
EDGE_FACE = np.int64(7)  # 6 is for round bodies
FACE_EDGE = np.int64(8)
# In place of a vertex, for a point inside of an edge.
NO_VERTEX = np.int64(-1)
NONE_FOUND = np.int64(0)
UNTURNED = np.eye(3)


class Manifold(NamedTuple):
    """Work arrays of CAPACITY rows, of which the caller counts those in use.

    chosen: (MOST_CONTACTS,), and kept, serve the reduction.
    """

    point: NDArray[np.float64]
    normal: NDArray[np.float64]
    gap: NDArray[np.float64]
    feature: NDArray[np.uint64]
    chosen: NDArray[np.int64]
    kept: NDArray[np.bool_]


@kernel_part
def empty_manifold():
    """For the contacts of one pair."""
    return Manifold(
        np.empty((CAPACITY, 3)),
        np.empty((CAPACITY, 3)),
        np.empty(CAPACITY),
        np.empty(CAPACITY, dtype=np.uint64),
        np.empty(MOST_CONTACTS, dtype=np.int64),
        np.empty(CAPACITY, dtype=np.bool_),
    )


@inlined_kernel
def feature_id(kind, of_a, of_b):
    """Four bits of kind, thirty of each body's feature index."""
    return (np.uint64(kind) << np.uint64(60)) | (np.uint64(of_a) << np.uint64(30)) | np.uint64(of_b)


@inlined_kernel
def write_contact(contacts, slot, point, normal, gap, feature):
    """Writes a row of a `Manifold`, or of a `Buffer` of `mesh`."""
    set_vec(contacts.point, slot, point)
    set_vec(contacts.normal, slot, normal)
    contacts.gap[slot] = gap
    contacts.feature[slot] = feature


@inlined_kernel
def copy_contact(contacts, source, target):
    """Copies a row to another one."""
    write_contact(
        contacts,
        target,
        vec(contacts.point, source),
        vec(contacts.normal, source),
        contacts.gap[source],
        contacts.feature[source],
    )


@inlined_kernel
def add_contact(manifold, count, limit, merge, point, normal, gap, feature):
    """Adds a contact unless its gap is over the limit, and returns the new count.

    Two contacts closer than `merge`, or of the same features, become the deeper one.
    """
    if gap > limit:
        return count
    for slot in range(count):
        if distance2(vec(manifold.point, slot), point) > merge * merge and manifold.feature[slot] != feature:
            continue
        # Where the gaps are equal up to noise, the features decide.
        noise = 1e-3 * merge
        deeper = gap < manifold.gap[slot] - noise
        if deeper or (gap <= manifold.gap[slot] + noise and feature < manifold.feature[slot]):
            write_contact(manifold, slot, point, normal, gap, feature)
        return count
    if count == CAPACITY:
        count = reduce_and_sort(manifold, count, limit, UNTURNED)
    write_contact(manifold, count, point, normal, gap, feature)
    return count + 1


@kernel_part
def sort_by_feature(manifold, count):
    """Insertion sort."""
    for end in range(1, count):
        point, normal = vec(manifold.point, end), vec(manifold.normal, end)
        gap, feature = manifold.gap[end], manifold.feature[end]
        slot = end
        while slot > 0 and manifold.feature[slot - 1] > feature:
            copy_contact(manifold, slot - 1, slot)
            slot -= 1
        write_contact(manifold, slot, point, normal, gap, feature)


@leaf_kernel
def reduce_and_sort(manifold, count, limit, turn):
    """Sorts by feature, keeps the contacts that `choose` chooses, and returns how many.

    limit: the largest gap that a contact can have. turn: (3, 3) of the smaller body in the frame of the contacts.
    """
    sort_by_feature(manifold, count)
    if count <= FEW_CONTACTS:
        return count
    kept, chosen = manifold.kept, manifold.chosen
    point, normal, gap = manifold.point[:count], manifold.normal[:count], manifold.gap[:count]
    number = choose(point, normal, gap, limit, turn, MOST_CONTACTS, chosen)
    for i in range(count):
        kept[i] = False
    for k in range(number):
        kept[chosen[k]] = True
    count_kept = 0
    for i in range(count):
        if kept[i]:
            copy_contact(manifold, i, count_kept)
            count_kept += 1
    return count_kept
