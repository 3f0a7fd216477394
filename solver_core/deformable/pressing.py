# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads of a body that is pressed from outside: on a floor, under a plate, between two walls.

A compact soft body gives way under such loads in many modes at once: twelve modes have a twelfth of the squash of a cube. The
shapes under these loads stand in for the missing modes (`modes.py`). The load of each of 26 directions is a uniform pressure on
the part of the surface that a plane from there touches first: a face of a cube, a cap of a ball. The pressure is in proportion
to the area of this part, since a body lies on its faces rather than on its edges.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from ..geometry.surfaces import Surface
from .voxels import Grid, nodal_weights

__all__ = ["pressing_loads"]

Array = NDArray[np.float64]

# Towards the faces, edges and corners of a cube.
PRESSED_ALONG = np.array([d for d in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(d)])
PRESSED_ALONG /= np.linalg.norm(PRESSED_ALONG, axis=1)[:, None]
# Of the extent of a body in a direction: a plane touches the surface to this depth.
DEPTH = 0.03
# How many points of the whole surface a pressure is applied at.
POINTS = 4_000
# The most parts along each edge of a triangle.
MOST_PARTS = 64


def pressing_loads(grid: Grid, surface: Surface) -> Array:
    """(v, 3, 26) N on the nodes, along the axes of the grid: pressures, the largest total of which is 1 N."""
    places, areas = _spread(surface)
    places, areas = places @ grid.axes.T, areas @ grid.axes.T
    height, facing = places @ PRESSED_ALONG.T, areas @ PRESSED_ALONG.T
    highest, lowest = height.max(axis=0), height.min(axis=0)
    pressed = np.where(height >= highest - DEPTH * (highest - lowest), np.maximum(facing, 0.0), 0.0)
    touched = np.flatnonzero(pressed.any(axis=1))
    total = pressed.sum(axis=0)
    pressed = pressed[touched] * (total / total.max() ** 2)
    weights = nodal_weights(grid, places[touched] @ grid.axes).tocsr()
    forces = -pressed[:, None, :] * PRESSED_ALONG.T
    return (weights.T @ forces.reshape(len(touched), -1)).reshape(-1, 3, len(PRESSED_ALONG))


def _spread(surface: Surface) -> tuple[Array, Array]:
    """(n, 3) m points on a surface, and (n, 3) m^2 the parts of it that they stand for, outward."""
    a, b, c = (surface.vertices[surface.triangles[:, k]] for k in range(3))
    area = 0.5 * np.cross(b - a, c - a)
    sizes = np.linalg.norm(area, axis=1)
    step = np.sqrt(sizes.sum() / POINTS)
    # by area: by the longest side, a fine mesh of long thin triangles would have a thousand times as many points
    parts = np.clip(np.ceil(np.sqrt(2.0 * sizes) / step), 1, MOST_PARTS).astype(np.int64)
    places, areas = [], []
    for count in np.unique(parts):
        of = np.flatnonzero(parts == count)
        i, j = np.nonzero(np.add.outer(np.arange(count), np.arange(count)) < count)
        up = (np.stack([i, j], axis=1) + 1.0 / 3.0) / count
        i, j = np.nonzero(np.add.outer(np.arange(count), np.arange(count)) < count - 1)
        shares = np.concatenate([up, (np.stack([i, j], axis=1) + 2.0 / 3.0) / count])
        along = shares[:, 0, None] * (b - a)[of, None] + shares[:, 1, None] * (c - a)[of, None]
        places.append((a[of, None] + along).reshape(-1, 3))
        areas.append(np.repeat(area[of] / count**2, count**2, axis=0))
    return np.concatenate(places), np.concatenate(areas)
