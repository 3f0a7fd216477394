# SPDX-License-Identifier: GPL-3.0-or-later
"""The energy of a body of few unknowns in bends that are large: Saint Venant and Kirchhoff's, a polynomial of degree four.

Stresses are in proportion to Green's strain, which is quadratic in q. So the energy is a quadratic form of the monomials,

    W(q) = 1/2 m^T Q m,    m = (q_i, q_i q_j for i <= j),    force = D^T Q m,    D = dm/dq,

and Q one Gram matrix, so that it is nowhere negative. As m is quadratic, D at the middle of q and q' is its difference
quotient, and with the mean of m at both the force does exactly the work between them (a discrete gradient):

    (q' - q) . D^T Q (m + m') / 2 = W(q') - W(q)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import kernel, leaf_kernel
from .elements import lame
from .reduced import gram_size
from .strains import Bricks, Displacements, groups
from .voxels import Grid

__all__ = ["energy", "gram_matrix", "gram_size", "interval_force", "linear_energies", "tangents"]

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


def _strain_rows(part: Bricks, shapes: Displacements, size: int) -> Array:
    """(e, p, 6, k) strains of the monomials: three along the axes, and three of two axes, twice."""
    own = part.strained(shapes)
    r = own.shape[-1]
    rows = np.empty((*own.shape[:2], 6, size))
    i, j = np.triu_indices(r)
    for row, (a, b) in enumerate(STRAINS):
        half = 0.5 if a == b else 1.0
        rows[:, :, row, :r] = half * (own[:, :, a, b] + own[:, :, b, a])
        if size > r:
            both = np.einsum("epdi,epdj->epij", own[:, :, a], own[:, :, b], optimize=True)
            both = half * (both + both.swapaxes(-1, -2))
            rows[:, :, row, r:] = both[:, :, i, j] * np.where(i == j, 0.5, 1.0)
    return rows


def energy(gram: Array, q: Array) -> float:
    """J at q (r,)."""
    i, j = np.triu_indices(len(q))
    m = np.concatenate([q, q[i] * q[j]])
    return 0.5 * float(m @ gram @ m)


@kernel
def interval_force(gram, q, velocity, h, late, slack):
    """(r,) N/sqrt(kg) of a material over an interval of h seconds that begins at q with a velocity, both (r,).

    The discrete gradient, with `late` s times the rate of the strains, and slack (r,) s^3 times what the rate of the stresses
    has along each axis of q.
    """
    middle, out = q + 0.5 * h * velocity, np.empty(len(q))
    m, stress = np.empty(len(gram)), np.zeros(len(gram))
    _monomials(q, q + h * velocity, middle, velocity, late, m)
    for a in range(len(q)):
        if slack[a] != 0.0:
            _pulled(gram[a], middle, out)
            m[a] += slack[a] * np.sum(out * velocity)
    for a in range(len(gram)):
        stress += m[a] * gram[a]
    _pulled(stress, middle, out)
    return out


@kernel
def tangents(gram, q, velocity, h, late, slack):
    """The same; how it changes with the velocity, (r, r); and the part of that which is symmetric and never negative, (r, r):
    what the strains do without their directions."""
    r, k = len(q), len(gram)
    middle, after = q + 0.5 * h * velocity, q + h * velocity
    m = np.empty(k)
    _monomials(q, after, middle, velocity, late, m)
    stress, along = np.zeros(k), np.zeros((r, k))
    for a in range(r):
        along[a] += gram[a]
    row = r
    for i in range(r):
        for j in range(i, r):
            for c in range(k):
                one = gram[row, c]
                stress[c] += m[row] * one
                along[i, c] += middle[j] * one
                along[j, c] += middle[i] * one
            row += 1
    force, of_velocity, of_strains, to_after = np.empty(r), np.empty((r, r)), np.empty((r, r)), np.zeros((r, r))
    own = along[:, :r].copy()
    for a in range(r):
        if slack[a] != 0.0:
            m[a] += slack[a] * np.sum(own[:, a] * velocity)
            _pulled(gram[a], after, to_after[a])
        stress += m[a] * gram[a]
        _pulled(along[a], middle, of_strains[a])
        _pulled(along[a], after, of_velocity[a])
    _pulled(stress, middle, force)
    by_slack = own * slack
    of_strains = 0.5 * (0.5 * h + late) * (of_strains + of_strains.T) + by_slack @ own.T
    of_velocity = (0.5 * h + late) * of_velocity + by_slack @ to_after
    row = r
    for i in range(r):
        of_velocity[i, i] += h * stress[row]
        row += 1
        for j in range(i + 1, r):
            of_velocity[i, j] += 0.5 * h * stress[row]
            of_velocity[j, i] += 0.5 * h * stress[row]
            row += 1
    return force, of_velocity, of_strains


@leaf_kernel
def _monomials(before, after, middle, velocity, late, out):
    """out := the mean of m at two places, and `late` times its rate at the middle."""
    r = len(before)
    row = r
    for i in range(r):
        out[i] = middle[i] + late * velocity[i]
        for j in range(i, r):
            rate = middle[i] * velocity[j] + middle[j] * velocity[i]
            out[row] = 0.5 * (before[i] * before[j] + after[i] * after[j]) + late * rate
            row += 1


@leaf_kernel
def _pulled(stress, q, out):
    """out := D^T stress at q, (r,)."""
    r = len(q)
    row = r
    for i in range(r):
        out[i] = stress[i]
    for i in range(r):
        for j in range(i, r):
            out[i] += stress[row] * q[j]
            out[j] += stress[row] * q[i]
            row += 1
