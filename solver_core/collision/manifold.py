# SPDX-License-Identifier: GPL-3.0-or-later
"""The contact manifold of one pair of colliders: storage, feature ids, merging and reduction.

A contact has a point midway between the cores, the unit normal from a to b, the gap between the cores, and a feature id. It is
stored in the frame of one collider of the pair, usually the first. The id names the two features in contact. It does not depend
on which body served as the reference, so it stays the same if that choice changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ..linalg.vec3 import distance2, set_vec, vec
from .reduction import FEW_CONTACTS, MOST_CONTACTS, select_contacts

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

# If the intersection of two polygons has more corners, the contacts are reduced before all are known. A mirrored scene may then
# keep other contacts.
CAPACITY = 512

# Kinds of contact: the feature of a, then the feature of b.
FACE_VERTEX = np.int64(0)
VERTEX_FACE = np.int64(1)
EDGE_EDGE = np.int64(2)
VERTEX_EDGE = np.int64(3)
EDGE_VERTEX = np.int64(4)
VERTEX_VERTEX = np.int64(5)
EDGE_FACE = np.int64(7)  # 6 is used by cylinders and cones
FACE_EDGE = np.int64(8)
# Replaces the index of a vertex for a point in the interior of an edge.
NO_VERTEX = np.int64(-1)
NONE_FOUND = np.int64(0)
IDENTITY = np.eye(3)


class Manifold(NamedTuple):
    """Contacts of one pair, in arrays of CAPACITY rows. The caller counts the rows in use.

    point: (CAPACITY, 3) [m]. normal: (CAPACITY, 3). gap: (CAPACITY,) [m]. feature: (CAPACITY,).
    chosen: (MOST_CONTACTS,) and kept: (CAPACITY,), work arrays of the reduction.
    """

    point: NDArray[np.float64]
    normal: NDArray[np.float64]
    gap: NDArray[np.float64]
    feature: NDArray[np.uint64]
    chosen: NDArray[np.int64]
    kept: NDArray[np.bool_]


@kernel_part
def empty_manifold():
    """Allocate an empty manifold."""
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
    """Return a feature id with four bits for the kind and thirty bits for the feature index of each body."""
    return (np.uint64(kind) << np.uint64(60)) | (np.uint64(of_a) << np.uint64(30)) | np.uint64(of_b)


@inlined_kernel
def write_contact(contacts, slot, point, normal, gap, feature):
    """Write a row of a `Manifold` or of a mesh `ContactBuffer`."""
    set_vec(contacts.point, slot, point)
    set_vec(contacts.normal, slot, normal)
    contacts.gap[slot] = gap
    contacts.feature[slot] = feature


@inlined_kernel
def copy_contact(contacts, source, target):
    """Copy a row to another row."""
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
    """Add a contact unless its gap exceeds the limit, and return the new number of contacts.

    Of two contacts closer than `merge`, or with the same features, only the deeper one is kept.

    count: number of contacts in the manifold. limit: largest gap [m]. merge: merge distance [m].
    """
    if gap > limit:
        return count
    for slot in range(count):
        if distance2(vec(manifold.point, slot), point) > merge * merge and manifold.feature[slot] != feature:
            continue
        # If the gaps are equal up to round-off, the smaller feature id decides.
        noise = 1e-3 * merge
        deeper = gap < manifold.gap[slot] - noise
        if deeper or (gap <= manifold.gap[slot] + noise and feature < manifold.feature[slot]):
            write_contact(manifold, slot, point, normal, gap, feature)
        return count
    if count == CAPACITY:
        count = reduce_and_sort(manifold, count, limit, IDENTITY)
    write_contact(manifold, count, point, normal, gap, feature)
    return count + 1


@kernel_part
def sort_by_feature(manifold, count):
    """Sort the first `count` contacts by feature id, by insertion."""
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
    """Sort the contacts by feature id, keep those that `select_contacts` selects, and return their number.

    limit: largest gap of a contact [m]. turn: (3, 3) axes of the smaller body in the frame of the contacts, in columns.
    """
    sort_by_feature(manifold, count)
    if count <= FEW_CONTACTS:
        return count
    kept, chosen = manifold.kept, manifold.chosen
    point, normal, gap = manifold.point[:count], manifold.normal[:count], manifold.gap[:count]
    number = select_contacts(point, normal, gap, limit, turn, MOST_CONTACTS, chosen)
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
