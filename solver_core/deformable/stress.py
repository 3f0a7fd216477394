# SPDX-License-Identifier: GPL-3.0-or-later
"""Stresses in a body that bends, from the slopes of its modes.

In each brick the slope at its corners is that of its shape functions, and in a full one of Wilson's modes, which are condensed
out of its stiffness and follow from the corners. At a node it is the mean over the bricks there, by how much of each is filled,
and a vertex has that of the nodes around it. So a peak that is narrower than a brick, as in an inner corner, is cut off.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .bricks import Bricks
from .elements import corner_gradients

__all__ = ["slope_modes"]

Array = NDArray[np.float64]

# Bricks at once: 2 MB for each 20 modes and 100 bricks.
STRESSED_AT_ONCE = 1_000


def slope_modes(bricks: Bricks, bubbles: Array) -> Array:
    """(v, 3, 3, r) for each of the modes, at nodes: the derivative of component a along axis b of the grid. bubbles:
    (f, 3, 3, r) of the full bricks, in their order, as of `bubbles_of`."""
    which = np.cumsum(bricks.filled == 1.0) - 1
    count = bricks.modes.shape[2]
    total, share = np.zeros((len(bricks.modes), 3, 3, count)), np.zeros(len(bricks.modes))
    along = np.einsum("ka,var->vkr", bricks.axes, bricks.modes)
    volume = bricks.filled * bricks.sizes.prod(axis=1)
    for first in range(0, len(bricks), STRESSED_AT_ONCE):
        part = slice(first, first + STRESSED_AT_ONCE)
        corners, sizes, nodes = along[bricks.nodes[part]], bricks.sizes[part], bricks.nodes[part]
        whole, inner = corner_gradients(sizes)
        slopes = np.einsum("ekcb,ecar->ekabr", whole, corners)
        full = np.flatnonzero(bricks.filled[part] == 1.0)
        slopes[full] += np.einsum("ekcb,ecar->ekabr", inner[full], bubbles[which[first + full]])
        np.add.at(total, nodes, volume[part][:, None, None, None, None] * slopes)
        np.add.at(share, nodes, volume[part][:, None])
    return total / share[:, None, None, None]
