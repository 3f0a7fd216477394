# SPDX-License-Identifier: GPL-3.0-or-later
"""A pair of boxes in the narrow phase: its geometry and work arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, kernel_part
from ..contact_set import ContactSet

__all__ = ["B_IN_A", "CENTRE_A", "CENTRE_B", "HALF_A", "HALF_B", "OFFSET", "BoxPair", "box_work", "write_layout"]

# Positions in `BoxPair.layout`: the axes of b in the frame of a (9, row by row), the offset from the center of a to that of b
# (3), the half sizes of a and of b (3 each), and the centers of a and of b in their own frames (3 each).
B_IN_A, OFFSET, HALF_A, HALF_B, CENTRE_A, CENTRE_B, LAYOUT_SIZE = 0, 9, 12, 15, 18, 21, 24


class BoxPair(NamedTuple):
    """Boxes a and b.

    layout: (LAYOUT_SIZE,) from `write_layout`. half_edges: (3, 6) half edges of the other box over a face (see `box_face`).
    limit, scale, noise, manifold: as in `HullPair`.
    """

    layout: NDArray[np.float64]
    half_edges: NDArray[np.float64]
    limit: float
    scale: float
    noise: float
    manifold: ContactSet


@kernel_part
def box_work():
    """Allocate `BoxPair.layout` and `BoxPair.half_edges`."""
    return np.empty(LAYOUT_SIZE), np.empty((3, 6))


@inlined_kernel
def write_layout(shapes, a, b, turn, shift, layout):
    """Write the geometry of a pair of boxes. turn, shift: (3, 3) rotation and (3,) translation [m] of b in the frame of a."""
    for i in range(3):
        layout[HALF_A + i] = 0.5 * (shapes.upper[a, i] - shapes.lower[a, i])
        layout[HALF_B + i] = 0.5 * (shapes.upper[b, i] - shapes.lower[b, i])
        layout[CENTRE_A + i] = 0.5 * (shapes.lower[a, i] + shapes.upper[a, i])
        layout[CENTRE_B + i] = 0.5 * (shapes.lower[b, i] + shapes.upper[b, i])
    for i in range(3):
        layout[OFFSET + i] = shift[i] - layout[CENTRE_A + i]
        for j in range(3):
            layout[B_IN_A + 3 * i + j] = turn[i, j]
            layout[OFFSET + i] += turn[i, j] * layout[CENTRE_B + j]
