# SPDX-License-Identifier: GPL-3.0-or-later
"""A buffer that collects the contacts of one pair of colliders with a mesh, before duplicate features are removed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel, leaf_kernel
from ..manifold import copy_contact, write_contact

__all__ = [
    "ContactBuffer",
    "append_contact",
    "deepest_per_feature",
    "keep_gaps",
    "min_gap",
    "new_buffer",
    "with_capacity",
]


class ContactBuffer(NamedTuple):
    """Contacts of one pair, with capacity len(gap).

    point: (c, 3) [m]. normal: (c, 3) unit. gap: (c,) [m]. feature: (c,).
    used: (1,) number of contacts that were appended, including those for which there was no capacity.
    """

    point: NDArray[np.float64]
    normal: NDArray[np.float64]
    gap: NDArray[np.float64]
    feature: NDArray[np.uint64]
    used: NDArray[np.int64]


@inner_kernel
def new_buffer(capacity):
    """Return an empty `ContactBuffer`."""
    return ContactBuffer(
        np.empty((capacity, 3)),
        np.empty((capacity, 3)),
        np.empty(capacity),
        np.empty(capacity, np.uint64),
        np.zeros(1, np.int64),
    )


@leaf_kernel
def append_contact(out, point, normal, gap, feature):
    """Append a contact if there is capacity, and count it in any case."""
    count = out.used[0]
    out.used[0] += 1
    if count < len(out.gap):
        write_contact(out, count, point, normal, gap, feature)


@leaf_kernel
def min_gap(out):
    """Return the smallest gap [m], or inf for an empty buffer."""
    least = np.inf
    for row in range(out.used[0]):
        least = min(least, out.gap[row])
    return least


@leaf_kernel
def keep_gaps(out, least, most):
    """Remove the contacts whose gap is less than `least` or greater than `most` [m]. The others keep their order."""
    kept = 0
    for row in range(out.used[0]):
        if least <= out.gap[row] <= most:
            copy_contact(out, row, kept)
            kept += 1
    out.used[0] = kept


@inner_kernel
def with_capacity(out, count, room):
    """Return a copy of the first `count` contacts with capacity for `room` contacts."""
    larger = new_buffer(room)
    larger.point[:count], larger.normal[:count] = out.point[:count], out.normal[:count]
    larger.gap[:count], larger.feature[:count] = out.gap[:count], out.feature[:count]
    larger.used[0] = count
    return larger


@inner_kernel
def deepest_per_feature(out):
    """Return the row of the deepest contact of each feature, in the order of the features."""
    count = out.used[0]
    order = np.argsort(out.feature[:count], kind="mergesort")
    kept = 0
    for row in range(count):
        if kept > 0 and out.feature[order[row]] == out.feature[order[kept - 1]]:
            if out.gap[order[row]] < out.gap[order[kept - 1]]:
                order[kept - 1] = order[row]
            continue
        order[kept] = order[row]
        kept += 1
    return order[:kept]
