# SPDX-License-Identifier: GPL-3.0-or-later
"""Beams that bend, and what Euler and Bernoulli say of them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from solver_core.scene.spec import ShapeKind, ShapeSpec

from ..meshes import CUBE, CUBE_TRIANGLES, blocks

YOUNG, DENSITY = 1e7, 1000.0
BEAM = np.array([1.0, 0.06, 0.05])
# Roots of cos x cosh x = 1 and = -1: a free beam and a cantilever, squares of their wave numbers times the length.
FREE, CANTILEVER = 4.73004074, 1.87510407


def mesh(vertices, triangles) -> ShapeSpec:
    return ShapeSpec(ShapeKind.MESH, np.asarray(vertices, dtype=float), triangles)


def box(size: ArrayLike = BEAM) -> ShapeSpec:
    """A mesh of eight vertices; those with the smallest x are 0 to 3."""
    return mesh(CUBE * np.asarray(size), CUBE_TRIANGLES)


def divided(size, cells) -> ShapeSpec:
    """A box whose surface is a grid of quads, `cells` along each axis."""
    lines = [np.linspace(-0.5 * s, 0.5 * s, n + 1) for s, n in zip(size, cells, strict=True)]
    return mesh(*blocks(lines[0], lines[1], lines[2], np.ones(cells, dtype=bool)))


def frequency(root, size=BEAM, across=2, young=YOUNG, density=DENSITY) -> float:
    """Hz of a slender beam along x that bends along an axis."""
    stiffness = young * size[across] ** 2 / 12.0 / density
    return root**2 * math.sqrt(stiffness) / size[0] ** 2 / (2.0 * math.pi)
