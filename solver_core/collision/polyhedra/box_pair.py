# SPDX-License-Identifier: GPL-3.0-or-later
"""A pair of boxes in the narrow phase: what is known of it, and what its contacts are worked out in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, kernel_part
from ..manifold import Manifold

__all__ = ["B_IN_A", "CENTRE_A", "CENTRE_B", "HALF_A", "HALF_B", "OFFSET", "BoxPair", "box_work", "write_layout"]

# Where in the numbers about a pair what begins: the axes of b in the frame of a (9, row by row), the way from the centre of a
# to that of b (3), half the sizes of a and of b (3 each), the centres of a and of b in their bodies' frames (3 each).
B_IN_A, OFFSET, HALF_A, HALF_B, CENTRE_A, CENTRE_B, LAYOUT_SIZE = 0, 9, 12, 15, 18, 21, 24


class BoxPair(NamedTuple):
    """Boxes a and b, with what their contacts are worked out in.

    about: (ABOUT_PAIR,) from `place_boxes`. lean: (3, 6) room for the other box's half edges over a face (see `box_face`).
    limit, scale, noise and manifold: as in `HullPair`.
    """

    layout: NDArray[np.float64]
    half_edges: NDArray[np.float64]
    limit: float
    scale: float
    noise: float
    manifold: Manifold


@kernel_part
def box_work():
    """Room for `BoxPair.about` and `BoxPair.lean`."""
    return np.empty(LAYOUT_SIZE), np.empty((3, 6))


@inlined_kernel
def write_layout(shapes, a, b, turn, shift, layout):
    """Writes what is known of a pair of boxes from the pose of b in the frame of a: turn (3, 3) and shift (3,)."""
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
