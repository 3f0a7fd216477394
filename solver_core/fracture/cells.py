# SPDX-License-Identifier: GPL-3.0-or-later
"""Convex cells that fill space: of Voronoi's diagram in a stretched space, or bricks in running bond."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Voronoi

from .solid import FractureError

__all__ = ["MOST_CELLS", "Cell", "brick_cells", "voronoi_cells"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

MOST_CELLS = 20_000
# Sides of the bounding box by which the points are away that bound the outer cells.
FAR_POINTS = 4.0
# Of a brick: cells of the border are longer by that much, for no face of a cell may lie on the surface.
BEYOND = 0.5


@dataclass(frozen=True)
class Cell:
    """A convex polyhedron.

    vertices: (n, 3) m. triangles: (t, 3), counterclockwise as seen from outside. face: (t,) the face that each triangle is part
    of. Two cells have the same vertices and the same triangles, turned around, where they share a face.
    """

    vertices: Array
    triangles: Indices
    face: Indices


def voronoi_cells(sites: Array, low: Array, high: Array, stretch: Array) -> list[Cell]:
    """The cells of points, bounded beyond a box.

    Parameters: `sites` (n, 3) m; `low` and `high` (3,) m, the box; `stretch` (3,), by which space is stretched before distances
    are compared: cells are thin along an axis with a large value.
    """
    box = np.stack([low, high]) * stretch
    middle, size = box.mean(axis=0), np.ptp(box, axis=0).max()
    grid = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3), axis=-1).reshape(-1, 3)
    around = middle + FAR_POINTS * size * grid[np.abs(grid).any(axis=1)]
    points = np.concatenate([sites * stretch, around])
    diagram = Voronoi(points)
    triangles: list[list[Indices]] = [[] for _ in sites]
    for (a, b), ridge in zip(diagram.ridge_points, diagram.ridge_vertices, strict=True):
        if min(ridge) < 0 or min(a, b) >= len(sites):
            continue
        loop = np.array(ridge)
        fan = np.column_stack([np.full(len(loop) - 2, loop[0]), loop[1:-1], loop[2:]])
        p, q, r = diagram.vertices[fan[len(fan) // 2]]
        if np.cross(q - p, r - p) @ (points[b] - points[a]) < 0.0:
            fan = fan[:, ::-1]
        if a < len(sites):
            triangles[a].append(fan)
        if b < len(sites):
            triangles[b].append(fan[:, ::-1])
    cells = []
    for faces in triangles:
        used, numbers = np.unique(np.concatenate(faces), return_inverse=True)
        face = np.repeat(np.arange(len(faces)), [len(one) for one in faces])
        cells.append(Cell(diagram.vertices[used] / stretch, numbers.reshape(-1, 3).astype(np.int64), face))
    return cells


def brick_cells(low: Array, high: Array, brick: Array) -> list[Cell]:
    """Bricks in running bond that fill a box: each course is shifted along x by half a brick against the one below.

    Parameters: `low` and `high` (3,) m, the box; `brick` (3,) m, the size of a brick along x, y and z.

    Raises FractureError if there would be more than `MOST_CELLS`.
    """
    counts = np.maximum(np.round((high - low) / brick), 1.0)
    if counts.prod() > MOST_CELLS:
        raise FractureError(f"would be cut into {counts.prod():.3g} bricks: choose larger ones, for at most {MOST_CELLS}")
    along, deep, courses = counts.astype(int)
    size = np.array([brick[0], (high[1] - low[1]) / deep, (high[2] - low[2]) / courses])
    beyond = BEYOND * size
    cells = []
    for course in range(courses):
        starts = low[0] + size[0] * np.arange(1, along + 2) - (0.5 * size[0] if course % 2 else 0.0)
        inner = starts[(starts > low[0] + 1e-6 * size[0]) & (starts < high[0] - 1e-6 * size[0])]
        xs = np.concatenate([[low[0] - beyond[0]], inner, [high[0] + beyond[0]]])
        ys, z = edges_of(low[1], size[1], deep, beyond[1]), edges_of(low[2], size[2], courses, beyond[2])[course : course + 2]
        cells += [
            box_cell(np.array([xs[i], ys[j], z[0]]), np.array([xs[i + 1], ys[j + 1], z[1]]))
            for i in range(len(xs) - 1)
            for j in range(deep)
        ]
    return cells


def edges_of(low: float, size: float, count: int, beyond: float) -> Array:
    """The borders (count + 1,) of cells of a size in a row, the first and the last of them farther out."""
    edges = low + size * np.arange(count + 1)
    edges[0], edges[-1] = edges[0] - beyond, edges[-1] + beyond
    return edges


def box_cell(low: Array, high: Array) -> Cell:
    """A box."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = np.array([[(a, b, c), (a, c, d)] for a, b, c, d in quads]).reshape(-1, 3)
    return Cell(low + corners * (high - low), triangles, np.repeat(np.arange(6), 2))
