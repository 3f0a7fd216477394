# SPDX-License-Identifier: GPL-3.0-or-later
"""The contacts that collision detection returns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, inner_kernel, kernel, leaf_kernel
from ..linalg.vec3 import set_vec, vec

__all__ = [
    "NO_CONTACTS",
    "NO_OVERLAP",
    "ContactSet",
    "Overlap",
    "chosen_contacts",
    "compare_features",
    "concatenated",
    "copy_pair_contact",
    "deepest_of_pairs",
    "empty_contacts",
    "merged",
    "of_same_pairs",
    "write_contact",
]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Overlap(NamedTuple):
    """An overlap of two bodies.

    depth: depth of the overlap [m].
    ratio: depth relative to the half extent of the smaller body.
    pair: indices of the two bodies, -1 for no overlap.
    """

    depth: float
    ratio: float
    pair: tuple[int, int]


NO_OVERLAP = Overlap(0.0, 0.0, (-1, -1))


class ContactSet(NamedTuple):
    """m contacts sorted by (body_a, body_b, feature). `len` is m, not the number of fields.

    body_a, body_b: (m,) indices of bodies, with a < b.
    point: (m, 3) midway between the surfaces, world coordinates [m].
    normal: (m, 3) unit vector from a to b, world coordinates.
    gap: (m,) distance of the surfaces along the normal, negative for an overlap [m].
    feature: (m,) id of the two features in contact. It is unique in a pair of bodies and stays the same while the same features
        touch.
    """

    body_a: Indices
    body_b: Indices
    point: Array
    normal: Array
    gap: Array
    feature: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.gap)

    @property
    def ends(self) -> Indices:
        """(m, 2) the two bodies of each contact."""
        return np.column_stack([self.body_a, self.body_b])

    def without(self, excluded: NDArray[np.bool_]) -> ContactSet:
        """Return all contacts except those marked in excluded (m,)."""
        return self.chosen(~excluded)

    def chosen(self, rows: Indices | NDArray[np.bool_]) -> ContactSet:
        """Return the contacts in the given rows, in the order of these rows."""
        of_pairs, places = (self.body_a[rows], self.body_b[rows]), (self.point[rows], self.normal[rows])
        return ContactSet(*of_pairs, *places, self.gap[rows], self.feature[rows])

    def placed(self, point: Array, gap: Array) -> ContactSet:
        """Return the same contacts with other points (m, 3) [m] and gaps (m,) [m]."""
        return ContactSet(self.body_a, self.body_b, point, self.normal, gap, self.feature)

    def joined(self, more: ContactSet, salt: int) -> ContactSet:
        """Return the union of two sets.

        Contacts of this set whose features are also in `more` get new ids, derived from `salt`.
        """
        both, new = _joined(self, more)
        # `_joined` returns new arrays, so they can be changed.
        both.feature[~new] ^= np.uint64((2 * salt + 1) * 0x9E3779B97F4A7C15 & (2**64 - 1))
        return both.chosen(_order(both))

    def deepest(self, size: Array) -> Overlap:
        """Return the overlap that is deepest relative to the smaller body. size: (n,) half extents of all bodies [m]."""
        return self.overlap(*deepest_row(self, size))

    def overlap(self, row: int, ratio: float) -> Overlap:
        """Return the overlap of a row, -1 for none. ratio: its depth relative to the half extent of the smaller body."""
        return NO_OVERLAP if row < 0 else Overlap(-float(self.gap[row]), ratio, (int(self.body_a[row]), int(self.body_b[row])))


@kernel
def deepest_row(contacts, size):
    """Return the row of the contact for `ContactSet.deepest`, or -1 for none, and its ratio."""
    row, largest = -1, 0.0
    for k in range(contacts.gap.size):
        ratio = -contacts.gap[k] / min(size[contacts.body_a[k]], size[contacts.body_b[k]])
        if ratio > largest:
            row, largest = k, ratio
    return row, largest


@kernel
def of_same_pairs(contacts, marked):
    """Return the flags (m,) of all contacts whose pair of bodies has a contact that is marked (m,)."""
    (a, b), out, begin = (contacts.body_a, contacts.body_b), np.zeros(marked.size, np.bool_), 0
    while begin < marked.size:
        end, found = begin, False
        while end < marked.size and a[end] == a[begin] and b[end] == b[begin]:
            found |= marked[end]
            end += 1
        out[begin:end] = found
        begin = end
    return out


@kernel
def deepest_of_pairs(contacts, gap, others):
    """Return, for each of the k other contacts, the smallest gap of its pair of bodies in another set (k,) [m].

    The result is 0 if the pair does not overlap. gap: (m,) gaps of the contacts [m]. Both sets are sorted.
    """
    out, i, m = np.zeros(others.gap.size), 0, gap.size
    for k in range(out.size):
        a, b = others.body_a[k], others.body_b[k]
        if k > 0 and a == others.body_a[k - 1] and b == others.body_b[k - 1]:
            out[k] = out[k - 1]
            continue
        while i < m and (contacts.body_a[i] < a or (contacts.body_a[i] == a and contacts.body_b[i] < b)):
            i += 1
        while i < m and contacts.body_a[i] == a and contacts.body_b[i] == b:
            out[k] = min(out[k], gap[i])
            i += 1
    return out


@inner_kernel
def empty_contacts(rows):
    """Allocate a set with the given number of rows, which have no values yet."""
    return ContactSet(
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
        np.empty((rows, 3)),
        np.empty((rows, 3)),
        np.empty(rows),
        np.empty(rows, np.uint64),
    )


@inner_kernel
def chosen_contacts(contacts, rows):
    """Return the contacts that are marked in rows (m,)."""
    out, count = empty_contacts(np.count_nonzero(rows)), 0
    for row in range(rows.size):
        if rows[row]:
            copy_contact(contacts, row, out, count)
            count += 1
    return out


# Made in Python, because an import must not compile kernels.
NO_CONTACTS = empty_contacts.py_func(0)


def concatenated(sets: Iterable[ContactSet]) -> ContactSet:
    """Return the contacts of several sets, one set after another, without sorting."""
    return ContactSet(*(np.concatenate(arrays) for arrays in zip(*sets, strict=True)))


@kernel
def merged(contacts, more):
    """Return the union of two sets. If both have a contact with the same features, the one in `more` is taken.

    Both sets are sorted, as every `ContactSet` is, and so is the result.
    """
    m, k = contacts.gap.size, more.gap.size
    rows, is_new, count, i, j = np.empty(m + k, np.int64), np.empty(m + k, np.bool_), 0, 0, 0
    while i < m or j < k:
        order = 1 if i == m else -1
        if i < m and j < k:
            order = compare_features(contacts, i, more, j)
        is_new[count] = order >= 0
        rows[count] = j if is_new[count] else i
        i += int(order <= 0)
        j += int(order >= 0)
        count += 1
    out = empty_contacts(count)
    for row in range(count):
        if is_new[row]:
            copy_contact(more, rows[row], out, row)
        else:
            copy_contact(contacts, rows[row], out, row)
    return out


@inlined_kernel
def compare_features(one, i, other, j):
    """Return -1, 0 or 1 if contact i of one set precedes, has the same features as, or follows contact j of another set.

    Either set may be a contact history, which has the same three columns.
    """
    if one.body_a[i] != other.body_a[j]:
        return -1 if one.body_a[i] < other.body_a[j] else 1
    if one.body_b[i] != other.body_b[j]:
        return -1 if one.body_b[i] < other.body_b[j] else 1
    if one.feature[i] != other.feature[j]:
        return -1 if one.feature[i] < other.feature[j] else 1
    return 0


@leaf_kernel
def copy_contact(contacts, row, out, target):
    """Copy a row of a set to row `target` of another set."""
    out.body_a[target], out.body_b[target] = contacts.body_a[row], contacts.body_b[row]
    copy_pair_contact(contacts, row, out, target)


@inlined_kernel
def copy_pair_contact(contacts, row, out, target):
    """Copy a row except the two bodies to row `target` of another set, or of the same one."""
    write_contact(out, target, vec(contacts.point, row), vec(contacts.normal, row), contacts.gap[row], contacts.feature[row])


@inlined_kernel
def write_contact(contacts, row, point, normal, gap, feature):
    """Write a row except the two bodies."""
    set_vec(contacts.point, row, point)
    set_vec(contacts.normal, row, normal)
    contacts.gap[row] = gap
    contacts.feature[row] = feature


def _joined(contacts: ContactSet, more: ContactSet) -> tuple[ContactSet, NDArray[np.bool_]]:
    """Return the sorted union of two sets, and flags of the first contact of each feature; those of `more` come first."""
    both = concatenated((more, contacts))
    both = both.chosen(_order(both))
    new = np.ones(len(both), np.bool_)
    for column in (both.body_a, both.body_b, both.feature):
        new[1:] &= column[1:] == column[:-1]
    new[1:] = ~new[1:]
    return both, new


def _order(contacts: ContactSet) -> Indices:
    return np.lexsort((contacts.feature, contacts.body_b, contacts.body_a))
