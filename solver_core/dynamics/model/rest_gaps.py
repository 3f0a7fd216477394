# SPDX-License-Identifier: GPL-3.0-or-later
"""The gaps at which bodies rest on each other: a rest offset by their sizes, or the gap at which joints hold them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel

__all__ = ["NEAR_ENOUGH", "REST_OFFSET", "TOUCHING_OFFSETS", "AtRest", "RestGaps", "rest_offsets"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

REST_OFFSET = 2e-4  # of the smaller body's half extent: normals are unique only while bodies are apart
TOUCHING_OFFSETS = 0.5  # rest offsets: with no more than that beyond the gap at rest bodies touch, and bounce
# Rest offsets: room that a contact leaves to joints which hold its bodies, lest rounding decide which of the two bears a load.
ROOM = 0.5
NEAR_ENOUGH = 1.0 + ROOM  # rest offsets: pairs farther apart than that have the room already


def rest_offsets(size: Floats) -> Floats:
    """(n,) m, the gaps that bodies keep when they rest on each other; size: (n,) m, half the largest extents."""
    return np.where(np.isfinite(size), REST_OFFSET * size, 0.0)


class AtRest(NamedTuple):
    """Of m contacts: gap (m,) m, at which their bodies rest; offset (m,) m, what that is of bodies that nothing holds; held
    (m,), whether joints hold them."""

    gap: Floats
    offset: Floats
    held: Flags


class RestGaps(NamedTuple):
    """What some pairs of bodies have in place of their rest offset.

    pair: (k,) ascending, a n + b of bodies a < b of n. gap: (k,) m, at which joints hold them, or have let them go. held: (k,)
    whether joints hold them still.
    """

    bodies: int
    pair: Ints
    gap: Floats
    held: Flags

    @classmethod
    def of_scene(cls, bodies: int) -> RestGaps:
        """Of so many bodies, of which no pair is nearer than its rest offset."""
        return cls(bodies, np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.bool_))

    def find(self, a: Ints, b: Ints) -> Ints:
        """(m,) the rows of pairs a (m,), b (m,); -1 where they have none."""
        if not len(self.pair):
            return np.full(len(a), -1, np.int64)
        wanted = a * self.bodies + b
        row = np.minimum(np.searchsorted(self.pair, wanted), len(self.pair) - 1)
        return np.where(self.pair[row] == wanted, row, -1)

    def of(self, size: Floats, a: Ints, b: Ints) -> AtRest:
        """The gaps at which bodies a (m,) and b (m,) rest; size: (n,) half extents.

        Who is held begins nearer than the rest offset, and has some room below that. Who was let go keeps the gap that he came
        to have, so that nothing moves when joints break; only overlaps are undone.
        """
        return AtRest(*at_rest(self.bodies, self.pair, self.gap, self.held, size, a, b))


@kernel
def at_rest(bodies, pair, pair_gap, pair_held, size, a, b):
    """The arrays of `AtRest`, of what a `RestGaps` consists of."""
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
            own = pair_gap[row] - ROOM * offset[k] if held[k] else max(pair_gap[row], 0.0)
            gap[k] = min(own, offset[k])
    return gap, offset, held
