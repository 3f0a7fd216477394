# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes that a body takes besides its modes where these are large: modal derivatives (Barbic and James 2005).

A beam that bends far grows no longer, so its end comes inwards, by the square of the bend. The second derivative of the
deflection under the forces of modes i and j is

    K Phi_ij = -f''(phi_i, phi_j),    f''.d = int S(i, j) : sym d + S(i) : sym(H_j d^T) + S(j) : sym(H_i d^T)

with stresses S(i) of the linear strain of mode i and S(i, j) of sym(H_i H_j^T), and what has momenta taken off the force of a
free body (inertia relief). Of these, in the measure of the mass and weighed by lambda_1^2 / (lambda_i lambda_j), the largest
principal components go beside the modes, turned so that each has a stiffness of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from .elements import lame
from .modes import Loads, elastic_modes
from .statics import Statics
from .strains import Displacements, bubbles_of, condensed, groups
from .stvk import linear_energies
from .voxels import Grid

__all__ = ["large_bends"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Of the shapes a third are modes, as long as these have as many derivatives as the rest.
OF_ALL = 3
BRICKS_AT_ONCE = 1_000
# Of the largest derivative: principal components that are less are rounding.
LEAST_COMPONENT = 1e-6


def large_bends(
    grid: Grid, statics: Statics, material: tuple[float, float], count: int, loads: Loads | None = None
) -> tuple[Array, Displacements, int]:
    """The shapes of a body in large bends.

    Parameters
    ----------
    grid : the bricks
    statics : the body's matrices and factors
    material : Young's modulus in Pa and Poisson's ratio
    count : how many shapes
    loads : as of `elastic_modes`, which also says when ValueError is raised

    Returns
    -------
    omega : (count,) rad/s, rising
    shapes : as many, orthonormal in the metric of the mass
    modes : how many of the shapes are modes
    """
    known = lame(*material)
    number = max(count // OF_ALL, next(m for m in range(1, count + 1) if m * (m + 3) >= 2 * count))
    while True:
        omega, modes = elastic_modes(statics, number, loads, whole_families=False)
        shapes = Displacements(modes, bubbles_of(grid, modes, known))
        if number == count:
            return omega, shapes, number
        more = _derivatives(grid, statics, known, omega, shapes)
        kept = _principal(statics.weights, shapes, more, count - number)
        if kept is not None:
            break
        # a body that bends as its modes do, as one of few bricks
        number += 1
    square, turned = np.linalg.eigh(linear_energies(grid, kept, known))
    kept = kept.combined(turned)
    flat = kept.nodal.reshape(-1, len(turned))
    kept = kept.combined(np.diag(np.sign(flat[np.argmax(np.abs(flat), axis=0), np.arange(len(turned))])))
    return np.concatenate([omega, np.sqrt(square)]), shapes.joined(kept), number


def _derivatives(
    grid: Grid, statics: Statics, material: tuple[float, float], omega: Array, shapes: Displacements
) -> Displacements:
    """Of all pairs of modes, weighed by their stiffnesses."""
    i, j = np.triu_indices(len(omega))
    weight = omega[0] ** 4 / (omega[i] * omega[j]) ** 2
    load, pushed = _loads(grid, material, shapes, i, j)
    np.add.at(load, grid.nodes[grid.inside.all(axis=1)], condensed(grid, pushed, material))
    nodal = statics.displacements_under(load.reshape(len(load) * 3, -1)).reshape(load.shape)
    return Displacements(nodal * weight, bubbles_of(grid, nodal, material, pushed) * weight)


def _loads(grid: Grid, material: tuple[float, float], shapes: Displacements, i: Indices, j: Indices) -> tuple[Array, Array]:
    """(v, 3, k) N on nodes and (f, 3, 3, k) on incompatible modes, -f'' of pairs (k,) of shapes."""
    lam, mu = material
    load, pushed = np.zeros((len(grid.points), 3, len(i))), np.zeros((*shapes.bubbles.shape[:3], len(i)))
    for part in groups(grid, BRICKS_AT_ONCE):
        gradients = np.moveaxis(part.displacement_gradients(shapes), -1, 0)
        stress = np.moveaxis(part.weighted(np.moveaxis(_stress(gradients, lam, mu), 0, -1)), -1, 0)
        for k, (a, b) in enumerate(zip(i, j, strict=True)):
            of_both = part.weighted(_stress(gradients[a] @ gradients[b].swapaxes(-1, -2), lam, mu))
            whole = part.forces(of_both + stress[a] @ gradients[b] + stress[b] @ gradients[a])
            np.subtract.at(load[:, :, k], part.nodes.ravel(), whole[:, :8].reshape(-1, 3))
            if len(part.full):
                pushed[part.full, :, :, k] = -whole[:, 8:]
    return load, pushed


def _stress(strained: Array, lam: float, mu: float) -> Array:
    """(..., 3, 3) of the symmetric part of a gradient."""
    strain = 0.5 * (strained + strained.swapaxes(-1, -2))
    return 2.0 * mu * strain + lam * np.trace(strain, axis1=-2, axis2=-1)[..., None, None] * np.eye(3)


def _principal(weights: csc_array, modes: Displacements, more: Displacements, count: int) -> Displacements | None:
    """The largest so many principal components of shapes, orthonormal and orthogonal to the modes; None where there are not
    so many."""
    rest = more
    # once more, for what is left may be small beside what is taken off
    for _ in range(2):
        rest = rest.minus(modes.combined(_products(weights, modes, rest)))
    square, turned = np.linalg.eigh(_products(weights, rest, rest))
    square, turned = square[::-1][:count], turned[:, ::-1][:, :count]
    largest = np.diag(_products(weights, more, more)).max()
    if len(square) < count or not square[-1] > LEAST_COMPONENT**2 * largest:
        return None
    rest = rest.combined(turned / np.sqrt(square))
    rest = rest.minus(modes.combined(_products(weights, modes, rest)))
    return rest.combined(np.linalg.inv(np.linalg.cholesky(_products(weights, rest, rest))).T)


def _products(weights: csc_array, one: Displacements, other: Displacements) -> Array:
    """(r, s) in the metric of the mass."""
    return one.nodal.reshape(-1, one.nodal.shape[-1]).T @ (weights @ other.nodal.reshape(-1, other.nodal.shape[-1]))
