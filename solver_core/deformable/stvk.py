# SPDX-License-Identifier: GPL-3.0-or-later
"""The energy of a body of few unknowns in bends that are large: Saint Venant and Kirchhoff's, a polynomial of degree four.

Stresses are in proportion to Green's strain, which is quadratic in q. So the energy is a quadratic form of the monomials,

    W(q) = 1/2 m^T Q m,    m = (q_i, q_i q_j for i <= j),    force = D^T Q m,    D = dm/dq,

and Q one Gram matrix, so that it is nowhere negative. As m is quadratic, D at the middle of q and q' is its difference
quotient, and with the mean of m at both the force does exactly the work between them (a discrete gradient):

    (q' - q) . D^T Q (m + m') / 2 = W(q') - W(q)

The forces are kernels, in `stvk_forces.py`: who reads a scene needs the matrix alone, and no compiler.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .elements import lame
from .reduced import gram_size
from .strains import BrickGroup, Displacements, groups
from .voxels import Grid

__all__ = ["energy", "gram_matrix", "gram_size", "linear_energies"]

Array = NDArray[np.float64]

# Numbers that are worked on at once, 100 MB of them.
NUMBERS_AT_ONCE = 12_000_000
# The strains along axes, and those of two.
STRAINS = (0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2)


def gram_matrix(grid: Grid, shapes: Displacements, material: tuple[float, float]) -> Array:
    """(k, k) Q of shapes; material: Pa and Poisson's ratio."""
    size = gram_size(shapes.nodal.shape[-1])
    return _summed(grid, shapes, lame(*material), size)


def linear_energies(grid: Grid, shapes: Displacements, constants: tuple[float, float]) -> Array:
    """(r, r) what Q has of shapes themselves; constants: Lame's."""
    return _summed(grid, shapes, constants, shapes.nodal.shape[-1])


def _summed(grid: Grid, shapes: Displacements, constants: tuple[float, float], size: int) -> Array:
    found = np.zeros((size, size))
    lam, mu = constants
    normal = np.linalg.cholesky(lam * np.ones((3, 3)) + 2.0 * mu * np.eye(3))
    for part in groups(grid, max(1, NUMBERS_AT_ONCE // (27 * 6 * size))):
        rows = _strain_rows(part, shapes, size)
        rows[:, :, :3] = np.einsum("ab,epak->epbk", normal, rows[:, :, :3], optimize=True)
        rows[:, :, 3:] *= math.sqrt(mu)
        flat = (part.roots.transpose(0, 2, 1) @ rows.reshape(*rows.shape[:2], -1)).reshape(-1, size)
        found += flat.T @ flat
    return found


def _strain_rows(part: BrickGroup, shapes: Displacements, size: int) -> Array:
    """(e, p, 6, k) strains of the monomials: three along the axes, and three of two axes, twice."""
    gradients = part.displacement_gradients(shapes)
    r = gradients.shape[-1]
    rows = np.empty((*gradients.shape[:2], 6, size))
    i, j = np.triu_indices(r)
    for row, (a, b) in enumerate(STRAINS):
        half = 0.5 if a == b else 1.0
        rows[:, :, row, :r] = half * (gradients[:, :, a, b] + gradients[:, :, b, a])
        if size > r:
            both = np.einsum("epdi,epdj->epij", gradients[:, :, a], gradients[:, :, b], optimize=True)
            both = half * (both + both.swapaxes(-1, -2))
            rows[:, :, row, r:] = both[:, :, i, j] * np.where(i == j, 0.5, 1.0)
    return rows


def energy(gram: Array, q: Array) -> float:
    """J at q (r,)."""
    i, j = np.triu_indices(len(q))
    m = np.concatenate([q, q[i] * q[j]])
    return 0.5 * float(m @ gram @ m)
