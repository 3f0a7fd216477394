# SPDX-License-Identifier: GPL-3.0-or-later
"""Stiffness and mass of a grid of bricks with eight nodes and trilinear displacements.

With gradients g of the shape functions, the stiffness of an isotropic material is made of S_ab[n, m] = integral g_na g_mb dV,

    K[n i, m j] = lambda S_ij + mu S_ji + mu delta_ij sum_a S_aa,

and S of a brick is that of a cube, scaled by its edges. Full bricks have Wilson's incompatible modes 1 - xi^2 besides,
condensed (Wilson et al. 1973; Taylor, Beresford, Wilson 1976): without them a brick cannot bend, and a beam of two bricks
across is 20 % too fast. Cut bricks are integrated over their samples alone (Parvizian, Duester, Rank 2007) and have no such
modes, which would let them give way in what is not there.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from .bricks import CORNERS
from .voxels import SAMPLES_ALONG, Grid

__all__ = [
    "AT_SAMPLES",
    "bricks_with_bubbles",
    "bubble_gradients",
    "corner_gradients",
    "filled",
    "gradients_at",
    "lame",
    "mass_matrix",
    "stiffness_matrix",
]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Of the material, what is where a cut brick is empty: its far nodes then have a stiffness, and a mass in proportion.
VOID = 1e-4
# Cut bricks whose matrices are made at once, 5 kB each.
CUT_AT_ONCE = 2_000

SIDES_OF_CORNERS = 2.0 * CORNERS - 1.0
MIDDLES = (np.arange(SAMPLES_ALONG) + 0.5) / SAMPLES_ALONG * 2.0 - 1.0
# In the order of `Grid.inside`, the first axis fastest; -1 to 1 along each edge.
AT_SAMPLES = np.array([(x, y, z) for z, y, x in itertools.product(MIDDLES, repeat=3)])
# Gauss points, of weight 1 each: exact for a full brick.
AT_POINTS = SIDES_OF_CORNERS / np.sqrt(3.0)


def lame(young: float, poisson: float) -> tuple[float, float]:
    """Lame's constants lambda and mu, Pa."""
    return young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)), 0.5 * young / (1.0 + poisson)


def stiffness_matrix(grid: Grid, young: float, poisson: float) -> csc_array:
    """(3 v, 3 v) N/m, node by node, in the axes of the grid."""
    full = grid.inside.all(axis=1)
    material = lame(young, poisson)
    blocks = np.empty((len(full), 24, 24))
    sizes, which = np.unique(grid.sizes[full], axis=0, return_inverse=True)
    blocks[full] = bending_bricks(sizes, *material)[which.reshape(-1)]
    cut = np.flatnonzero(~full)
    for first in range(0, len(cut), CUT_AT_ONCE):
        part = cut[first : first + CUT_AT_ONCE]
        blocks[part] = cut_bricks(grid.sizes[part], grid.inside[part], *material)
    rows = (3 * grid.nodes[:, :, None] + np.arange(3)).reshape(-1, 24)
    return _assembled(rows, blocks, 3 * len(grid.points))


def mass_matrix(grid: Grid, mass: float) -> csc_array:
    """(v, v) kg, the same along each axis, of the whole mass: samples have the volume of a body to some per mille only.

    It is consistent with the displacements, so that a body that turns has the kinetic energy that it should.
    """
    line = np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0
    cube = np.array([[np.prod([line[a[k], b[k]] for k in range(3)]) for b in CORNERS] for a in CORNERS])
    shapes = np.prod(1.0 + AT_SAMPLES[:, None] * SIDES_OF_CORNERS, axis=2) / 8.0
    products = (shapes[:, :, None] * shapes[:, None, :]).reshape(-1, 64)
    blocks = (filled(grid.inside) @ products).reshape(-1, 8, 8)
    blocks[grid.inside.all(axis=1)] = cube
    blocks *= grid.sizes.prod(axis=1)[:, None, None]
    return _assembled(grid.nodes, blocks * (mass / blocks.sum()), len(grid.points))


def bending_bricks(sizes: Array, lam: float, mu: float) -> Array:
    """(e, 24, 24) of full bricks with edges (e, 3) m."""
    outer, coupling, inner = bricks_with_bubbles(sizes, lam, mu)
    return outer - coupling @ np.linalg.solve(inner, coupling.transpose(0, 2, 1))


def bricks_with_bubbles(sizes: Array, lam: float, mu: float) -> tuple[Array, Array, Array]:
    """(e, 24, 24), (e, 24, 9), (e, 9, 9) of full bricks with edges (e, 3) m: of the nodes, of these with the incompatible
    modes, and of these."""
    gradients = bubble_gradients()
    unit = np.einsum("pna,pmb->abnm", gradients, gradients) / len(AT_POINTS)
    both = _isotropic(_scaled(unit[None], sizes), lam, mu)
    return both[:, :24, :24], both[:, :24, 24:], both[:, 24:, 24:]


def bubble_gradients() -> Array:
    """(8, 11, 3) at AT_POINTS, of the shape functions of the nodes and of the incompatible modes."""
    bubbles = -2.0 * AT_POINTS[:, :, None] * np.eye(3)
    return np.concatenate([gradients_at(AT_POINTS), bubbles], axis=1)


def corner_gradients(sizes: Array) -> tuple[Array, Array]:
    """At the eight corners of bricks with edges (e, 3) m the gradients of the shape functions, (e, 8, 8, 3) 1/m, and of the
    incompatible modes, (e, 8, 3, 3)."""
    slope = (2.0 / sizes)[:, None, None, :]
    return gradients_at(SIDES_OF_CORNERS) * slope, -2.0 * SIDES_OF_CORNERS[:, :, None] * np.eye(3) * slope


def cut_bricks(sizes: Array, inside: NDArray[np.bool_], lam: float, mu: float) -> Array:
    """(e, 24, 24) of bricks with edges (e, 3) m, of which the samples (e, 64) are inside."""
    gradients = gradients_at(AT_SAMPLES)
    unit = np.einsum("pna,pmb->pabnm", gradients, gradients).reshape(len(AT_SAMPLES), -1)
    return _isotropic(_scaled((filled(inside) @ unit).reshape(-1, 3, 3, 8, 8), sizes), lam, mu)


def filled(inside: NDArray[np.bool_]) -> Array:
    """(e, 64) the share of a brick's volume that each sample stands for."""
    return np.where(inside, 1.0, VOID) / inside.shape[1]


def gradients_at(places: Array) -> Array:
    """(p, 8, 3) of the shape functions at places (p, 3) of the cube from -1 to 1."""
    x, y, z = np.moveaxis(1.0 + places[:, None] * SIDES_OF_CORNERS, 2, 0)
    return SIDES_OF_CORNERS / 8.0 * np.stack([y * z, x * z, x * y], axis=2)


def _scaled(unit: Array, sizes: Array) -> Array:
    """S of bricks from means (., 3, 3, n, n) of products of gradients over the cube."""
    slope = 2.0 / sizes
    return unit * (slope[:, :, None] * slope[:, None, :] * sizes.prod(axis=1)[:, None, None])[:, :, :, None, None]


def _isotropic(products: Array, lam: float, mu: float) -> Array:
    """K (e, 3 n, 3 n) from S (e, 3, 3, n, n)."""
    count, n = len(products), products.shape[-1]
    blocks = lam * products + mu * products.transpose(0, 2, 1, 3, 4)
    trace = mu * np.einsum("eaanm->enm", products)
    for k in range(3):
        blocks[:, k, k] += trace
    return blocks.transpose(0, 3, 1, 4, 2).reshape(count, 3 * n, 3 * n)


def _assembled(rows: Indices, blocks: Array, size: int) -> csc_array:
    """The sum of blocks (e, k, k) at rows (e, k)."""
    k = rows.shape[1]
    row = np.repeat(rows, k, axis=1).astype(np.int32)
    column = np.tile(rows, (1, k)).astype(np.int32)
    return csc_array((blocks.ravel(), (row.ravel(), column.ravel())), shape=(size, size))
