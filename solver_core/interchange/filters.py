# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bodies collide: bit masks of collections, and groups of bodies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..scene.spec import ALL_COLLECTIONS

__all__ = ["BITS", "collide", "masks_of"]

BITS = ALL_COLLECTIONS.bit_length()


def collide(masks: Sequence[int]) -> NDArray[np.bool_]:
    """Return a table (n, n), True for groups that collide. masks: of the groups."""
    return np.array([[bool(a & b) for b in masks] for a in masks], dtype=bool).reshape(len(masks), len(masks))


def masks_of(collides: NDArray[np.bool_]) -> tuple[list[int], list[tuple[int, int]]]:
    """Return masks of groups such that two groups share a bit if and only if they collide.

    Each bit is a set of groups that all collide with each other. collides: (n, n), symmetric.

    Returns the masks, and the pairs of groups that should collide but do not, because there are too few bits.
    """
    n = len(collides)
    masks = [0] * n
    remaining = {(i, j) for i in range(n) for j in range(i, n) if collides[i, j]}
    for bit in range(BITS):
        if not remaining:
            break
        first = min(remaining)
        members = {*first}
        for other in range(n):
            if all(collides[other, member] for member in members) and collides[other, other]:
                members.add(other)
        if not all(collides[member, member] for member in members):
            members = {*first}
        for member in members:
            masks[member] |= 1 << bit
        remaining -= {(i, j) for i in members for j in members if i <= j}
    return masks, sorted(remaining)
