# SPDX-License-Identifier: GPL-3.0-or-later
"""The permutation of Blender's noise, determined from Blender itself, for any version.

It determines the cells of its Voronoi noise: cell (x, y, z) has its point at position h[h[h[z] + y] + x] of a list, with the
permutation h and all sums modulo 256. Along x this is a rotation of the same row of points, by h[h[z] + y]. Along y with z = 0,
these rotations give h up to its start, and along z with y = 0, up to a constant.
"""

from __future__ import annotations

import itertools

import numpy as np
from mathutils import Vector, noise
from numpy.typing import NDArray

__all__ = ["permutation"]

CODES = 256
# Positions in a cell; from at least one of them, the cell's own point is among the four nearest.
PLACES = tuple(itertools.product((0.2, 0.5, 0.8), repeat=3))


def permutation() -> NDArray[np.float64]:
    """Return the integers 0 to 255 in the order of Blender's noise (256,). Raises RuntimeError."""
    row = np.array([point_of_cell(x, 0, 0) for x in range(CODES)])

    def rotation(y: int, z: int) -> int:
        """Return h[h[z] + y] - h[h[0]]."""
        return int(np.argmin(np.abs(row - point_of_cell(0, y, z)).max(axis=1)))

    along_y = [rotation(y, 0) for y in range(CODES)]
    where = {turn: y for y, turn in enumerate(along_y)}
    # h[z] - h[0]
    along_z = np.array([where.get(rotation(0, z), 0) for z in range(CODES)])
    for first in range(CODES):
        h = (along_z + first) % CODES
        if len(set((np.roll(h, -first) - along_y) % CODES)) == 1 and len(set(h)) == CODES:
            return h.astype(np.float64)
    raise RuntimeError("the noise of this Blender is different: fields of the type Turbulence cannot be read")


def point_of_cell(x: int, y: int, z: int) -> NDArray[np.float64]:
    """Return the position of a cell's point in the cell (3,)."""
    cell = np.array([x, y, z], dtype=np.float64)
    for place in PLACES:
        _, points = noise.voronoi(Vector(cell + place))
        for point in np.array(points, dtype=np.float64) - cell:
            if (point >= 0.0).all() and (point < 1.0).all():
                return point
    raise RuntimeError(f"the noise of this Blender has no point in the cell {x}, {y}, {z}")
