# SPDX-License-Identifier: GPL-3.0-or-later
"""The gaps at which bodies rest on each other: a rest offset that depends on their sizes, or the gap given by joints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel

__all__ = ["NEAR_ENOUGH", "REST_OFFSET", "TOUCHING_OFFSETS", "AtRest", "RestGaps", "rest_offsets"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

REST_OFFSET = 2e-4  # fraction of the smaller half size; not zero, because normals are unique only between separate bodies
TOUCHING_OFFSETS = 0.5  # rest offsets; bodies with a smaller gap beyond the gap at rest touch, and may bounce
# Rest offsets by which a contact between jointed bodies may close. Otherwise rounding would decide whether the contact or the
# joint carries a load.
ROOM = 0.5
NEAR_ENOUGH = 1.0 + ROOM  # rest offsets; pairs with a larger gap have this clearance anyway


def rest_offsets(size: Floats) -> Floats:
    """Return (n,) m, the gaps that bodies keep when they rest on each other. size: (n,) m, half sizes."""
    return np.where(np.isfinite(size), REST_OFFSET * size, 0.0)


class AtRest(NamedTuple):
    """The gaps at rest of m contacts.

    gap: (m,) m, at which their bodies rest. offset: (m,) m, the ordinary rest offset. held: (m,) whether they are jointed.
    """

    gap: Floats
    offset: Floats
    held: Flags


class RestGaps(NamedTuple):
    """The gaps of pairs of bodies that do not rest at their rest offset.

    bodies: n, their number. pair: (k,) ascending, a n + b of bodies a < b. gap: (k,) m, when the pair was jointed, or when its
    joints broke. held: (k,) whether the pair is still jointed.
    """

    bodies: int
    pair: Ints
    gap: Floats
    held: Flags

    @classmethod
    def of_scene(cls, bodies: int) -> RestGaps:
        """Return the gaps of so many bodies whose pairs all rest at their rest offset."""
        return cls(bodies, np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.bool_))

    def find(self, a: Ints, b: Ints) -> Ints:
        """Return (m,) the rows of pairs a (m,), b (m,); -1 for pairs without a row."""
        if not len(self.pair):
            return np.full(len(a), -1, np.int64)
        wanted = a * self.bodies + b
        row = np.minimum(np.searchsorted(self.pair, wanted), len(self.pair) - 1)
        return np.where(self.pair[row] == wanted, row, -1)

    def of(self, size: Floats, a: Ints, b: Ints) -> AtRest:
        """Return the gaps at which bodies a (m,) and b (m,) rest. size: (n,) m, half sizes.

        A jointed pair may come a little closer than its initial gap. A pair whose joints broke keeps the gap that it had then,
        so that breaking moves no body, except that overlaps are separated.
        """
        return AtRest(*at_rest(self.bodies, self.pair, self.gap, self.held, size, a, b))


@kernel
def at_rest(bodies, pair, pair_gap, pair_held, size, a, b):
    """Return the arrays of an `AtRest`, from the fields of a `RestGaps`."""
    gap, offset, held = np.empty(a.size), np.empty(a.size), np.zeros(a.size, np.bool_)
    for k in range(a.size):
        smaller = min(size[a[k]], size[b[k]])
        offset[k] = gap[k] = REST_OFFSET * smaller if np.isfinite(smaller) else 0.0
        if pair.size == 0:
            continue
        wanted = a[k] * bodies + b[k]
        row = np.searchsorted(pair, wanted)
        if row < pair.size and pair[row] == wanted:
            held[k] = pair_held[row]
            allowed = pair_gap[row] - ROOM * offset[k] if held[k] else max(pair_gap[row], 0.0)
            gap[k] = min(allowed, offset[k])
    return gap, offset, held
