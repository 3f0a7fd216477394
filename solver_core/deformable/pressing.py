# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads of a body that is pressed from outside: on a floor, under a plate, between two walls.

A compact soft body gives way under such loads in many modes at once: twelve modes have a twelfth of the squash of a cube. The
shapes under these loads stand in for the missing modes (`modes.py`). The loads are pressures that are polynomials of the normal
of the surface, up to the third degree: 16 spherical harmonics. On a cube any of the six faces can be pressed alone by a sum of
them. They have no preferred direction: a rotation mixes the harmonics of a degree only, so a ball gives way alike on all sides.
Pressures on caps of 26 directions did not have this property, and facets of the ball changed the areas of the caps.

Surfaces far from all planes that touch the body from outside, such as the inside of a cup, are not pressed.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from ..geometry.surfaces import Surface
from .voxels import Grid, nodal_weights

__all__ = ["harmonics", "pressing_loads"]

Array = NDArray[np.float64]

# Planes from these directions touch the body: towards the faces, edges and corners of a cube.
TOUCHED_FROM = np.array([d for d in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(d)])
TOUCHED_FROM /= np.linalg.norm(TOUCHED_FROM, axis=1)[:, None]
# Of the extent of a body in a direction: up to the first depth below a plane the surface has the whole pressure, below the
# second none. All of a ball is less than 0.05 below one of the planes.
WHOLLY_PRESSED, NOT_PRESSED = 0.1, 0.2
# Of the squares of harmonics of the degrees 0 to 3. The sum of their weighted products is 0 at normals that are opposite or at
# right angles, and 1 at equal ones: the loads of the faces of a block do not depend on each other.
DEGREE_WEIGHTS = np.repeat(16.0 / 15.0 * np.array([2.5, 0.75, 1.0, 0.75]), [1, 3, 5, 7])
# About how many points of the surface have a pressure.
POINTS = 4_000
# Largest number of parts along each edge of a triangle.
MOST_PARTS = 64


def pressing_loads(grid: Grid, surface: Surface) -> Array:
    """Return pressure loads on a surface.

    Parameters
    ----------
    grid : the bricks
    surface : of the body

    Returns
    -------
    loads : (v, 3, 16) N on the nodes, along the axes of the grid. The mean square pressure of all harmonics together is 1 N
        divided by the largest projected area of the body along an axis.
    """
    places, areas = _spread(surface)
    places, areas = places @ grid.axes.T, areas @ grid.axes.T
    height = places @ TOUCHED_FROM.T
    highest, lowest = height.max(axis=0), height.min(axis=0)
    depth = ((highest - height) / (highest - lowest)).min(axis=1)
    share = np.clip((NOT_PRESSED - depth) / (NOT_PRESSED - WHOLLY_PRESSED), 0.0, 1.0)
    normals = areas / np.linalg.norm(areas, axis=1)[:, None]
    pressure = share[:, None] * harmonics(normals) * np.sqrt(DEGREE_WEIGHTS) / (0.5 * np.abs(areas).sum(axis=0).max())
    weights = nodal_weights(grid, places @ grid.axes).tocsr()
    forces = -pressure[:, None, :] * areas[:, :, None]
    return (weights.T @ forces.reshape(len(places), -1)).reshape(-1, 3, pressure.shape[1])


def harmonics(normals: Array) -> Array:
    """Return real spherical harmonics (n, 16) up to the third degree at unit vectors (n, 3). The sum of their squares is 1."""
    x, y, z = normals.T
    fields = [np.ones_like(x), *(math.sqrt(3.0) * c for c in (x, y, z))]
    fields += [math.sqrt(15.0) * c for c in (x * y, y * z, z * x, 0.5 * (x * x - y * y))]
    fields += [math.sqrt(5.0) * 0.5 * (3.0 * z * z - 1.0)]
    fields += [math.sqrt(7.0) * 0.5 * c * (5.0 * c * c - 3.0) for c in (x, y, z)]
    fields += [math.sqrt(105.0) * 0.5 * c for c in (x * (y * y - z * z), y * (z * z - x * x), z * (x * x - y * y))]
    fields += [math.sqrt(105.0) * x * y * z]
    return np.stack(fields, axis=1) / 4.0


def _spread(surface: Surface) -> tuple[Array, Array]:
    """Return points (n, 3) on a surface [m], and the outward area vectors (n, 3) of their parts of it [m^2]."""
    a, b, c = (surface.vertices[surface.triangles[:, k]] for k in range(3))
    area = 0.5 * np.cross(b - a, c - a)
    sizes = np.linalg.norm(area, axis=1)
    step = np.sqrt(sizes.sum() / POINTS)
    # By area. By the longest side, a fine mesh of long thin triangles would have a thousand times as many points.
    parts = np.clip(np.ceil(np.sqrt(2.0 * sizes) / step), 1, MOST_PARTS).astype(np.int64)
    places, areas = [], []
    for count in np.unique(parts):
        group = np.flatnonzero(parts == count)
        i, j = np.nonzero(np.add.outer(np.arange(count), np.arange(count)) < count)
        up = (np.stack([i, j], axis=1) + 1.0 / 3.0) / count
        i, j = np.nonzero(np.add.outer(np.arange(count), np.arange(count)) < count - 1)
        shares = np.concatenate([up, (np.stack([i, j], axis=1) + 2.0 / 3.0) / count])
        along = shares[:, 0, None] * (b - a)[group, None] + shares[:, 1, None] * (c - a)[group, None]
        places.append((a[group, None] + along).reshape(-1, 3))
        areas.append(np.repeat(area[group] / count**2, count**2, axis=0))
    return np.concatenate(places), np.concatenate(areas)
