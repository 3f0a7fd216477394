# SPDX-License-Identifier: GPL-3.0-or-later
"""Displacement gradients of a grid of bricks at its integration points, for Green's strain of large displacements.

With the displacement gradient H_kd = du_d/dx_k, the strain is 1/2 (H + H^T) + 1/2 H H^T. A full brick has the eight integration
points of its stiffness, and incompatible modes besides its nodes. In a cut brick the strain is a polynomial of degree two along
each axis. Its values at 27 points determine it, and its energy is a quadratic form of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .elements import AT_SAMPLES, bricks_with_bubbles, bubble_gradients, filled, gradients_at
from .voxels import Grid

__all__ = ["BrickGroup", "Displacements", "bubbles_of", "condensed", "groups"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Points along an axis, from -1 to 1, whose values determine a function of degree two.
THREE = np.sqrt(0.6) * np.array([-1.0, 0.0, 1.0])
AT_PLACES = np.array(list(itertools.product(THREE, repeat=3)))


@dataclass(frozen=True)
class Displacements:
    """The displacements of r shapes.

    nodal: (v, 3, r) of the nodes. bubbles: (f, 3, 3, r) of the incompatible modes of the full bricks.
    """

    nodal: Array
    bubbles: Array

    def combined(self, coefficients: Array) -> Displacements:
        """Return k linear combinations of the shapes. coefficients: (r, k)."""
        return Displacements(self.nodal @ coefficients, self.bubbles @ coefficients)

    def minus(self, other: Displacements) -> Displacements:
        """Return the difference of each shape from another one."""
        return Displacements(self.nodal - other.nodal, self.bubbles - other.bubbles)

    def joined(self, other: Displacements) -> Displacements:
        """Return these shapes followed by others."""
        return Displacements(
            np.concatenate([self.nodal, other.nodal], axis=-1), np.concatenate([self.bubbles, other.bubbles], axis=-1)
        )


@dataclass(frozen=True)
class BrickGroup:
    """Bricks with the same integration points.

    nodes: (e, 8). full: (e,) indices among the full bricks, empty for cut bricks.
    gradients: (p, n, 3) of the shape functions at the integration points, in the cube from -1 to 1.
    slopes: (e, 3) derivatives of that cube's coordinates [1/m].
    roots: (e, p, p) lower Cholesky factors of the integration weights of products of values at two points [sqrt(m^3)].
    """

    nodes: Indices
    full: Indices
    gradients: Array
    slopes: Array
    roots: Array

    def displacement_gradients(self, shapes: Displacements) -> Array:
        """Return H (e, p, 3, 3, r) of shapes."""
        values = shapes.nodal[self.nodes]
        if len(self.full):
            values = np.concatenate([values, shapes.bubbles[self.full]], axis=1)
        (places, n, _), (count, _, _, r) = self.gradients.shape, values.shape
        flat = self.gradients.transpose(0, 2, 1).reshape(-1, n) @ values.reshape(count, n, -1)
        return flat.reshape(count, places, 3, 3, r) * self.slopes[:, None, :, None, None]

    def weighted(self, stress: Array) -> Array:
        """Return stresses (e, p, ...) [Pa] times the integration weights [N m]. Their products with H are energies."""
        flat = stress.reshape(*stress.shape[:2], -1)
        return (self.roots @ (self.roots.transpose(0, 2, 1) @ flat)).reshape(stress.shape)

    def forces(self, stress: Array) -> Array:
        """Return forces (e, n, 3, ...) [N] of weighted stresses (e, p, 3, 3, ...) on nodes and incompatible modes."""
        count, places = stress.shape[:2]
        scaled = stress * self.slopes.reshape(count, 1, 3, *(1,) * (stress.ndim - 3))
        n = self.gradients.shape[1]
        flat = self.gradients.transpose(1, 0, 2).reshape(n, -1) @ scaled.reshape(count, 3 * places, -1)
        return flat.reshape(count, n, *stress.shape[3:])


def groups(grid: Grid, at_once: int) -> Iterator[BrickGroup]:
    """Yield all bricks of a grid in groups of at most `at_once`."""
    full = grid.inside.all(axis=1)
    whole, cut = np.flatnonzero(full), np.flatnonzero(~full)
    slopes, volume = 2.0 / grid.sizes, grid.sizes.prod(axis=1)
    root = np.eye(8) / np.sqrt(8.0)
    for first in range(0, len(whole), at_once):
        part = whole[first : first + at_once]
        roots = root * np.sqrt(volume[part])[:, None, None]
        yield BrickGroup(grid.nodes[part], np.arange(first, first + len(part)), bubble_gradients(), slopes[part], roots)
    at_samples = _of_degree_two(AT_SAMPLES)
    for first in range(0, len(cut), at_once):
        part = cut[first : first + at_once]
        weights = np.einsum("sp,es,sq->epq", at_samples, filled(grid.inside[part]), at_samples, optimize=True)
        roots = np.linalg.cholesky(weights) * np.sqrt(volume[part])[:, None, None]
        yield BrickGroup(grid.nodes[part], np.zeros(0, dtype=np.int64), gradients_at(AT_PLACES), slopes[part], roots)


def bubbles_of(grid: Grid, nodal: Array, material: tuple[float, float], forces: Array | None = None) -> Array:
    """Return the displacements (f, 3, 3, r) of the incompatible modes of the full bricks in static equilibrium.

    nodal: (v, 3, r) displacements of the nodes. material: Lame's constants [Pa].
    forces: (f, 3, 3, r) on the incompatible modes, or None.
    """
    full = grid.inside.all(axis=1)
    coupling, compliance = _of_bubbles(grid.sizes[full], material)
    count, r = len(compliance), nodal.shape[-1]
    found = coupling @ nodal[grid.nodes[full]].reshape(count, 24, r)
    if forces is not None:
        found += compliance @ forces.reshape(count, 9, r)
    return found.reshape(count, 3, 3, r)


def condensed(grid: Grid, forces: Array, material: tuple[float, float]) -> Array:
    """Return the nodal forces (f, 8, 3, r) [N] equivalent to forces (f, 3, 3, r) on the incompatible modes of full bricks."""
    coupling, _ = _of_bubbles(grid.sizes[grid.inside.all(axis=1)], material)
    count, r = len(coupling), forces.shape[-1]
    return (coupling.transpose(0, 2, 1) @ forces.reshape(count, 9, r)).reshape(count, 8, 3, r)


def _of_bubbles(sizes: Array, material: tuple[float, float]) -> tuple[Array, Array]:
    """Return the static response of the incompatible modes of bricks with edges (f, 3) [m].

    Returns the response to nodal displacements (f, 9, 24), and to forces on the modes (f, 9, 9) [m/N].
    """
    different, which = np.unique(sizes, axis=0, return_inverse=True)
    _, coupling, inner = bricks_with_bubbles(different, *material)
    compliance, which = np.linalg.inv(inner), which.reshape(-1)
    return -(compliance @ coupling.transpose(0, 2, 1))[which], compliance[which]


def _of_degree_two(places: Array) -> Array:
    """Return weights (n, 27) of the values at AT_PLACES in those at places (n, 3), for functions of degree two per axis."""
    along = np.ones((3, len(places), 3))
    for k, j in itertools.product(range(3), range(3)):
        for other in range(3):
            if other != j:
                along[k, :, j] *= (places[:, k] - THREE[other]) / (THREE[j] - THREE[other])
    return np.einsum("ni,nj,nk->nijk", *along).reshape(len(places), -1)
