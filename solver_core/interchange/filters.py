# SPDX-License-Identifier: GPL-3.0-or-later
"""Who collides with whom: bit masks of collections, and groups that collide or do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..scene.spec import ALL_COLLECTIONS

__all__ = ["BITS", "collide", "masks_of"]

BITS = ALL_COLLECTIONS.bit_length()


def collide(masks: Sequence[int]) -> NDArray[np.bool_]:
    """(n, n) whether groups with these masks collide."""
    return np.array([[bool(a & b) for b in masks] for a in masks], dtype=bool).reshape(len(masks), len(masks))


def masks_of(collides: NDArray[np.bool_]) -> tuple[list[int], list[tuple[int, int]]]:
    """Masks of groups of which just those share a bit that collide, (n, n) and symmetric.

    Each bit is a set of groups that all collide with each other. Where there are too few bits, the second list has the pairs
    of groups that would have to collide and do not.
    """
    n = len(collides)
    masks = [0] * n
    left = {(i, j) for i in range(n) for j in range(i, n) if collides[i, j]}
    for bit in range(BITS):
        if not left:
            break
        first = min(left)
        members = {*first}
        for other in range(n):
            if all(collides[other, member] for member in members) and collides[other, other]:
                members.add(other)
        if not all(collides[member, member] for member in members):
            members = {*first}
        for member in members:
            masks[member] |= 1 << bit
        left -= {(i, j) for i in members for j in members if i <= j}
    return masks, sorted(left)
