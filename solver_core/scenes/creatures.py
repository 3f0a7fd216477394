# SPDX-License-Identifier: GPL-3.0-or-later
"""Closed meshes of animals made of round bones, as bodies with necks, ears and tails."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..scene.spec import ShapeSpec
from .published import cells_shape

__all__ = ["bone_mesh", "bunny", "dinosaur"]

Array = NDArray[np.float64]

SMOOTHINGS = 4  # number of smoothing passes: each moves vertices to the mean of their neighbors, and then back to the surface
PULLS = 6  # steps of Newton's method per pass

# Bones of an animal of length about 1: the two ends and the radius at each. x is forward, z is up. Bones off the plane y = 0
# are mirrored.
DINOSAUR = (
    ((-0.12, 0.0, 0.02), (0.14, 0.0, 0.0), 0.13, 0.12),
    ((0.14, 0.0, 0.05), (0.33, 0.0, 0.26), 0.085, 0.06),
    ((0.31, 0.0, 0.27), (0.44, 0.0, 0.24), 0.075, 0.055),
    ((-0.15, 0.0, 0.0), (-0.5, 0.0, -0.06), 0.1, 0.035),
    ((0.11, 0.08, -0.03), (0.14, 0.11, -0.22), 0.06, 0.05),
    ((-0.13, 0.08, -0.03), (-0.14, 0.11, -0.22), 0.065, 0.05),
)
BUNNY = (
    ((-0.14, 0.0, -0.04), (0.08, 0.0, 0.0), 0.21, 0.18),
    ((0.2, 0.0, 0.2), (0.26, 0.0, 0.18), 0.14, 0.11),
    ((0.17, 0.06, 0.28), (0.06, 0.12, 0.5), 0.05, 0.055),
    ((-0.36, 0.0, 0.02), (-0.37, 0.0, 0.03), 0.08, 0.08),
    ((0.16, 0.09, -0.12), (0.24, 0.1, -0.2), 0.07, 0.06),
    ((-0.12, 0.13, -0.16), (0.0, 0.14, -0.2), 0.08, 0.06),
)


def dinosaur(length: float = 0.4, cells: int = 22) -> ShapeSpec:
    """Return the mesh of an animal with a long neck and tail, with the given length [m] and about this number of faces along
    it."""
    return bone_mesh(DINOSAUR, length, cells)


def bunny(length: float = 0.2, cells: int = 14) -> ShapeSpec:
    """Return the mesh of an animal with two ears, with the given length [m] and about this number of faces along it."""
    return bone_mesh(BUNNY, length, cells)


def bone_mesh(bones, length: float, cells: int) -> ShapeSpec:
    """Return a closed mesh around round bones, scaled to a length along x [m] and centered at the middle of its bounds.

    It is the boundary of the grid cells whose centers are inside, smoothed and projected onto the surface.
    """
    rows = list(bones)
    rows += [((a[0], -a[1], a[2]), (b[0], -b[1], b[2]), r, s) for a, b, r, s in bones if a[1] or b[1]]
    a, b = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    radii = np.array([row[2:] for row in rows])
    reach = radii.max(axis=1)[:, None]
    low, high = np.minimum(a, b).min(axis=0) - reach.max(), np.maximum(a, b).max(axis=0) + reach.max()
    cell = float(np.ptp([(np.minimum(a, b) - reach)[:, 0].min(), (np.maximum(a, b) + reach)[:, 0].max()])) / cells
    # y = 0 is a grid plane, so that both sides have the same cells.
    half = cell * np.ceil(high[1] / cell)
    along, up = np.arange(low[0], high[0] + cell, cell), np.arange(low[2], high[2] + cell, cell)
    lines = along, np.arange(-half, half + 0.5 * cell, cell), up
    middles = np.stack(np.meshgrid(*(0.5 * (line[1:] + line[:-1]) for line in lines), indexing="ij"), axis=-1)
    inside = _without_diagonals(_outside(middles.reshape(-1, 3), a, b, radii).reshape(middles.shape[:3]) < 0.0)
    shape = cells_shape(*lines, inside)
    vertices, triangles = shape.vertices.copy(), shape.triangles
    for _ in range(SMOOTHINGS):
        total, count = np.zeros_like(vertices), np.zeros(len(vertices))
        for i, j in ((0, 1), (1, 2), (2, 0)):
            np.add.at(total, triangles[:, i], vertices[triangles[:, j]])
            np.add.at(count, triangles[:, i], 1.0)
        vertices = 0.5 * (vertices + total / count[:, None])
        vertices = _on_surface(vertices, a, b, radii, 0.1 * cell)
    vertices *= length / np.ptp(vertices[:, 0])
    vertices -= 0.5 * (vertices.max(axis=0) + vertices.min(axis=0))
    return ShapeSpec(shape.kind, vertices, triangles)


def _outside(points: Array, a: Array, b: Array, radii: Array) -> Array:
    """Return the distances of points (n, 3) from the bones (n,), negative inside."""
    along = b - a
    share = np.clip(np.einsum("nbk,bk->nb", points[:, None] - a, along) / np.einsum("bk,bk->b", along, along), 0.0, 1.0)
    distance = np.linalg.norm(points[:, None] - a - share[:, :, None] * along, axis=2)
    return (distance - radii[:, 0] - share * (radii[:, 1] - radii[:, 0])).min(axis=1)


def _on_surface(points: Array, a: Array, b: Array, radii: Array, step: float) -> Array:
    """Return points (n, 3) moved to the surface along its normals."""
    for _ in range(PULLS):
        slope = np.stack([_outside(points + d, a, b, radii) - _outside(points - d, a, b, radii) for d in step * np.eye(3)])
        slope = (slope / (2.0 * step)).T
        square = np.maximum(np.einsum("nk,nk->n", slope, slope), 0.25)
        points = points - (_outside(points, a, b, radii) / square)[:, None] * slope
    return points


def _without_diagonals(inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the cells, plus cells that prevent any two from meeting only in an edge."""
    inside = np.pad(inside, 1)
    while True:
        before = int(inside.sum())
        for u, w in ((0, 1), (1, 2), (0, 2)):
            for flip in (False, True):
                cells = np.flip(inside, u) if flip else inside
                one, other = np.roll(cells, -1, u), np.roll(cells, -1, w)
                open_edge = cells & np.roll(one, -1, w) & ~one & ~other
                cells = cells | np.roll(open_edge, 1, u) | np.roll(open_edge, 1, w)
                inside = np.flip(cells, u) if flip else cells
        if int(inside.sum()) == before:
            return inside[1:-1, 1:-1, 1:-1]
