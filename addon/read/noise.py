# SPDX-License-Identifier: GPL-3.0-or-later
"""The permutation that Blender's noise is made of, read off Blender, whichever version it is.

It is behind the cells of its Voronoi noise: cell (x, y, z) has its point at place h[h[h[z] + y] + x] of a list, with h the
permutation and all sums modulo 256. Along x that is a rotation of one and the same row of points, by h[h[z] + y]; along y with
z = 0 those rotations give h up to where it begins, and along z with y = 0 up to what is added to all.
"""

from __future__ import annotations

import itertools

import numpy as np
from mathutils import Vector, noise
from numpy.typing import NDArray

__all__ = ["permutation"]

CODES = 256
# Places in a cell, from one of which at least its own point is among the four that are nearest.
PLACES = tuple(itertools.product((0.2, 0.5, 0.8), repeat=3))


def permutation() -> NDArray[np.float64]:
    """(256,) the whole numbers from 0 to 255 in the order in which Blender's noise has them. Raises RuntimeError."""
    row = np.array([point_of_cell(x, 0, 0) for x in range(CODES)])

    def rotation(y: int, z: int) -> int:
        """h[h[z] + y] - h[h[0]]"""
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
    """(3,) where in its cell the point of a cell is."""
    cell = np.array([x, y, z], dtype=np.float64)
    for place in PLACES:
        _, points = noise.voronoi(Vector(cell + place))
        for point in np.array(points, dtype=np.float64) - cell:
            if (point >= 0.0).all() and (point < 1.0).all():
                return point
    raise RuntimeError(f"the noise of this Blender has no point in the cell {x}, {y}, {z}")
