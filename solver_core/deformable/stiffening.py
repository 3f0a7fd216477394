# SPDX-License-Identifier: GPL-3.0-or-later
"""The geometric stiffness of a body that spins (Cook et al. 2002, chapter 18; Kane, Ryan, Banerjee 1987).

A point x of a body with the angular velocity w has the centrifugal force f = |w|^2 x - (w.x) w per mass. A free body without a
torque also has the Euler force, which balances the moment of f. The static stress S of both forces is a quadratic form of w. It
does work on products of the slopes H_i of two modes:

    V = 1/2 q.K(w) q,    K_ij(w) = int S(w) : H_i H_j^T = sum w_a w_b K_ij,ab

A beam with a spin about an axis across it is under tension, which raises its frequencies. Without K the centrifugal force alone
moves its modes apart as soon as the spin exceeds its first frequency.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from .elements import lame
from .statics import Statics
from .strains import Displacements, bubbles_of, groups
from .voxels import Grid

__all__ = ["spin_stiffness"]

Array = NDArray[np.float64]

SPUN_AT_ONCE = 200


def spin_stiffness(grid: Grid, statics: Statics, material: tuple[float, float], shapes: Displacements) -> Array:
    """The coefficients of the stiffness that a spin adds to modes.

    Parameters
    ----------
    grid : the bricks
    statics : the body's matrices and factors
    material : Young's modulus in Pa and Poisson's ratio
    shapes : r modes, in the axes of the grid

    Returns
    -------
    (r, r, 3, 3) K_ij,ab in the body's axes, symmetric in i and j and in a and b; zero for a pinned body, which has no spin
    """
    r = shapes.nodal.shape[-1]
    found = np.zeros((3, 3, r, r))
    if len(statics.pinned):
        return found.transpose(2, 3, 0, 1)
    constants = lame(*material)
    pairs = list(itertools.combinations_with_replacement(range(3), 2))
    nodal = statics.displacements_under(_centrifugal_loads(statics, pairs)).reshape(-1, 3, len(pairs))
    stretched = Displacements(nodal, bubbles_of(grid, nodal, constants))
    lam, mu = constants
    for part in groups(grid, SPUN_AT_ONCE):
        slopes = part.displacement_gradients(stretched)
        strain = 0.5 * (slopes + slopes.swapaxes(2, 3))
        stress = 2.0 * mu * strain + lam * np.einsum("epaak->epk", strain)[:, :, None, None] * np.eye(3)[:, :, None]
        weighed = np.moveaxis(part.weighted(stress), -1, 0)
        gradients = part.displacement_gradients(shapes)
        flat = gradients.reshape(-1, r)
        for k, (a, b) in enumerate(pairs):
            pulled = (weighed[k] @ gradients.reshape(*gradients.shape[:3], -1)).reshape(-1, r)
            found[a, b] += flat.T @ pulled
    for a, b in pairs:
        found[a, b] = 0.5 * (found[a, b] + found[a, b].T)
        found[b, a] = found[a, b]
    return np.einsum("klij,ka,lb->ijab", found, grid.axes, grid.axes, optimize=True)


def _centrifugal_loads(statics: Statics, pairs: list[tuple[int, int]]) -> Array:
    """(3 v, k) N s^2: loads for pairs of axes; those of a spin w are the sum of w_a w_b times these over ordered pairs."""
    share = np.asarray(statics.weights.sum(axis=1)).reshape(-1, 3)[:, 0]
    arms = statics.points - share @ statics.points / share.sum()
    fields = np.zeros((*arms.shape, len(pairs)))
    for k, (a, b) in enumerate(pairs):
        fields[:, a, k] -= 0.5 * arms[:, b]
        fields[:, b, k] -= 0.5 * arms[:, a]
        if a == b:
            fields[:, :, k] += arms
    return statics.weights @ fields.reshape(-1, len(pairs))
