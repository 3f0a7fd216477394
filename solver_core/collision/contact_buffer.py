# SPDX-License-Identifier: GPL-3.0-or-later
"""The buffer in which contacts are collected: of one pair with a mesh, or of all pairs.

A convex pair writes its contacts to the free rows, in the frame of one of its colliders. There they are sorted, reduced
(`manifold`), and moved to world coordinates (`world_contacts`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, inner_kernel, leaf_kernel
from .contact_set import ContactSet, copy_pair_contact, empty_contacts, write_contact

__all__ = [
    "ContactBuffer",
    "append_contact",
    "append_rows",
    "capacity_of",
    "compact",
    "deepest_per_feature",
    "ensure_capacity",
    "free_rows",
    "keep_gaps",
    "min_gap",
    "new_buffer",
    "trimmed",
]


class ContactBuffer(NamedTuple):
    """A growing table of contacts.

    contacts: its rows. The bodies are written last; those of a buffer for one pair are never written.
    used: (1,) number of contacts that were appended, including those for which there was no capacity.
    """

    contacts: ContactSet
    used: NDArray[np.int64]


@inner_kernel
def new_buffer(capacity):
    """Return an empty `ContactBuffer`."""
    return ContactBuffer(empty_contacts(capacity), np.zeros(1, np.int64))


@inlined_kernel
def capacity_of(buffer):
    """Return the number of contacts for which a buffer has rows."""
    return len(buffer.contacts.gap)


@inner_kernel
def ensure_capacity(buffer, more):
    """Return the buffer, or a larger copy, with capacity for `more` additional contacts."""
    total, capacity = buffer.used[0], capacity_of(buffer)
    if total + more <= capacity:
        return buffer
    larger, old = new_buffer(max(total + more, 2 * capacity)), trimmed(buffer)
    new = larger.contacts
    new.body_a[:total], new.body_b[:total] = old.body_a, old.body_b
    new.point[:total], new.normal[:total] = old.point, old.normal
    new.gap[:total], new.feature[:total] = old.gap, old.feature
    larger.used[0] = total
    return larger


@inner_kernel
def trimmed(buffer):
    """Return the contacts in the buffer as views."""
    rows, total = buffer.contacts, buffer.used[0]
    pairs = rows.body_a[:total], rows.body_b[:total]
    return ContactSet(pairs[0], pairs[1], rows.point[:total], rows.normal[:total], rows.gap[:total], rows.feature[:total])


@inlined_kernel
def free_rows(buffer):
    """Return the rows behind the contacts in the buffer as views."""
    rows, total = buffer.contacts, buffer.used[0]
    pairs = rows.body_a[total:], rows.body_b[total:]
    return ContactSet(pairs[0], pairs[1], rows.point[total:], rows.normal[total:], rows.gap[total:], rows.feature[total:])


@leaf_kernel
def append_contact(buffer, point, normal, gap, feature):
    """Append a contact of a pair if there is capacity, and count it in any case."""
    count = buffer.used[0]
    buffer.used[0] += 1
    if count < capacity_of(buffer):
        write_contact(buffer.contacts, count, point, normal, gap, feature)


@leaf_kernel
def append_rows(buffer, pair, rows):
    """Write rows of the buffer of a pair, in the given order, to the first free rows of a buffer with capacity for them."""
    total = buffer.used[0]
    for k in range(len(rows)):
        copy_pair_contact(pair.contacts, rows[k], buffer.contacts, total + k)


@leaf_kernel
def compact(contacts, count):
    """Move the contacts of a pair whose rows are the first `count` entries of `body_a`, in ascending order, to the front.

    Bodies are written last, so until then their column is free for the rows that a reduction selects.
    """
    for k in range(count):
        copy_pair_contact(contacts, contacts.body_a[k], contacts, k)


@leaf_kernel
def min_gap(buffer):
    """Return the smallest gap [m], or inf for an empty buffer."""
    least = np.inf
    for row in range(buffer.used[0]):
        least = min(least, buffer.contacts.gap[row])
    return least


@leaf_kernel
def keep_gaps(buffer, lower, upper):
    """Remove the contacts of a pair whose gap is less than `lower` or greater than `upper` [m]. The others keep their order."""
    contacts, kept = buffer.contacts, 0
    for row in range(buffer.used[0]):
        if lower <= contacts.gap[row] <= upper:
            contacts.body_a[kept] = row
            kept += 1
    compact(contacts, kept)
    buffer.used[0] = kept


@inner_kernel
def deepest_per_feature(buffer):
    """Return the row of the deepest contact of each feature, in the order of the features."""
    count, gap, feature = buffer.used[0], buffer.contacts.gap, buffer.contacts.feature
    order = np.argsort(feature[:count], kind="mergesort")
    kept = 0
    for row in range(count):
        if kept > 0 and feature[order[row]] == feature[order[kept - 1]]:
            if gap[order[row]] < gap[order[kept - 1]]:
                order[kept - 1] = order[row]
            continue
        order[kept] = order[row]
        kept += 1
    return order[:kept]
