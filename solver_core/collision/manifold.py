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

from ..compile.kernel import inlined_kernel, inner_kernel, leaf_kernel
from ..linalg.vec3 import distance2, set_vec, vec

__all__ = [
    "CAPACITY",
    "EDGE_EDGE",
    "EDGE_FACE",
    "EDGE_VERTEX",
    "FACE_EDGE",
    "FACE_VERTEX",
    "MAX_CONTACTS",
    "NONE_FOUND",
    "NO_VERTEX",
    "TIED",
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

MAX_CONTACTS = 8
CAPACITY = 128
# Relative: gaps, and distances of contacts, that differ by less are equal.
TIED = 1e-9

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


class Manifold(NamedTuple):
    """Work arrays of CAPACITY rows; how many are in use is counted by the caller. The last two serve the reduction."""

    point: NDArray[np.float64]
    normal: NDArray[np.float64]
    gap: NDArray[np.float64]
    feature: NDArray[np.uint64]
    distance2: NDArray[np.float64]
    kept: NDArray[np.bool_]


@inner_kernel
def empty_manifold():
    """For the contacts of one pair."""
    return Manifold(
        np.empty((CAPACITY, 3)),
        np.empty((CAPACITY, 3)),
        np.empty(CAPACITY),
        np.empty(CAPACITY, dtype=np.uint64),
        np.empty(CAPACITY),
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
        count = reduce_and_sort(manifold, count, limit)
    write_contact(manifold, count, point, normal, gap, feature)
    return count + 1


@leaf_kernel
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
def reduce_and_sort(manifold, count, limit):
    """Sorts by feature, keeps at most MAX_CONTACTS and returns how many. limit: the largest gap that a contact can have.

    The deepest contact stays; then comes again and again the one farthest from those kept, for those span the support polygon,
    where a gap near the limit makes a contact count as nearer.
    """
    sort_by_feature(manifold, count)
    if count <= MAX_CONTACTS:
        return count
    smallest = np.inf
    for i in range(count):
        smallest = min(smallest, manifold.gap[i])
        manifold.distance2[i] = np.inf
        manifold.kept[i] = False
    spread = max(limit - smallest, 1e-300)
    # Ties, as between the corners of a regular polygon on a plane, go to the first feature and not to rounding.
    latest = 0
    while manifold.gap[latest] > smallest + TIED * spread:
        latest += 1
    manifold.kept[latest] = True
    for _ in range(MAX_CONTACTS - 1):
        farthest = -1
        best = 0.0
        for i in range(count):
            apart = distance2(vec(manifold.point, i), vec(manifold.point, latest))
            manifold.distance2[i] = min(manifold.distance2[i], apart)
            score = (1.0 - 0.9 * (manifold.gap[i] - smallest) / spread) * manifold.distance2[i]
            if not manifold.kept[i] and score > best * (1.0 + TIED):
                best = score
                farthest = i
        if farthest < 0:
            break
        latest = farthest
        manifold.kept[latest] = True
    count_kept = 0
    for i in range(count):
        if manifold.kept[i]:
            copy_contact(manifold, i, count_kept)
            count_kept += 1
    return count_kept
