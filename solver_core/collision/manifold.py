# SPDX-License-Identifier: GPL-3.0-or-later
"""The contact manifold of one convex pair of colliders: feature ids, merging and reduction.

A contact has a point midway between the cores, the unit normal from a to b, the gap between the cores, and a feature id. It is
stored in the frame of one collider of the pair, usually the first. The id names the two features in contact. It does not depend
on which body served as the reference, so it stays the same if that choice changes.

The manifold is a `ContactSet` with at least CAPACITY rows, such as the free rows of a contact buffer. The caller counts the
rows in use.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ..linalg.vec3 import distance2, vec
from .contact_buffer import compact
from .contact_set import copy_pair_contact, write_contact
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
    "add_contact",
    "feature_id",
    "reduce_and_sort",
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


@inlined_kernel
def feature_id(kind, of_a, of_b):
    """Return a feature id with four bits for the kind and thirty bits for the feature index of each body."""
    return (np.uint64(kind) << np.uint64(60)) | (np.uint64(of_a) << np.uint64(30)) | np.uint64(of_b)


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
            copy_pair_contact(manifold, slot - 1, manifold, slot)
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
    rows = manifold.body_a  # as `compact` expects
    point, normal, gap = manifold.point[:count], manifold.normal[:count], manifold.gap[:count]
    number = select_contacts(point, normal, gap, limit, turn, MOST_CONTACTS, rows)
    sort_rows(rows, number)
    compact(manifold, number)
    return number


@kernel_part
def sort_rows(values, count):
    """Sort the first `count` values in ascending order, by insertion."""
    for end in range(1, count):
        value, place = values[end], end
        while place > 0 and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value
