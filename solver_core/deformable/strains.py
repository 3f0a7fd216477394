# SPDX-License-Identifier: GPL-3.0-or-later
"""Green's strains of displacements of a grid of bricks, large ones too, at the places where energies are summed up.

With H_kd = du_d/dx_k the strain is 1/2 (H + H^T) + 1/2 H H^T. In a full brick it is taken at the eight points of its stiffness,
with the incompatible modes beside its nodes. In a cut one it is of degree two along each axis, so that its values at 27
places give those at all samples: the energy of these is a quadratic form of those.
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

# Where a function of degree two is told along an axis, from -1 to 1.
THREE = np.sqrt(0.6) * np.array([-1.0, 0.0, 1.0])
AT_PLACES = np.array(list(itertools.product(THREE, repeat=3)))


@dataclass(frozen=True)
class Displacements:
    """Of r shapes: nodal (v, 3, r), and of the incompatible modes of the full bricks, bubbles (f, 3, 3, r)."""

    nodal: Array
    bubbles: Array

    def mixed(self, by: Array) -> Displacements:
        """The shapes of which `by` (r, k) says how much of these is in them."""
        return Displacements(self.nodal @ by, self.bubbles @ by)

    def less(self, other: Displacements) -> Displacements:
        """These without others, one by one."""
        return Displacements(self.nodal - other.nodal, self.bubbles - other.bubbles)

    def beside(self, other: Displacements) -> Displacements:
        """Those of both."""
        return Displacements(
            np.concatenate([self.nodal, other.nodal], axis=-1), np.concatenate([self.bubbles, other.bubbles], axis=-1)
        )


@dataclass(frozen=True)
class BrickGroup:
    """Bricks of one kind. nodes: (e, 8). full: (e,) which of the full bricks each is, empty of cut ones. gradients: (p, n, 3)
    of the shape functions over the cube from -1 to 1. slopes: (e, 3) 1/m, of that cube's axes. roots: (e, p, p) sqrt(m^3), the
    lower factor of the weights of products of two places."""

    nodes: Indices
    full: Indices
    gradients: Array
    slopes: Array
    roots: Array

    def strained(self, shapes: Displacements) -> Array:
        """(e, p, 3, 3, r) H of shapes."""
        values = shapes.nodal[self.nodes]
        if len(self.full):
            values = np.concatenate([values, shapes.bubbles[self.full]], axis=1)
        (places, n, _), (count, _, _, r) = self.gradients.shape, values.shape
        flat = self.gradients.transpose(0, 2, 1).reshape(-1, n) @ values.reshape(count, n, -1)
        return flat.reshape(count, places, 3, 3, r) * self.slopes[:, None, :, None, None]

    def weighed(self, stress: Array) -> Array:
        """(e, p, ...) N m: of values (e, p, ...) at the places what pairs with those of another field."""
        flat = stress.reshape(*stress.shape[:2], -1)
        return (self.roots @ (self.roots.transpose(0, 2, 1) @ flat)).reshape(stress.shape)

    def forces(self, stress: Array) -> Array:
        """(e, n, 3, ...) N, on the nodes and the incompatible modes, of weighed stresses (e, p, 3, 3, ...) that pair with H."""
        count, places = stress.shape[:2]
        scaled = stress * self.slopes.reshape(count, 1, 3, *(1,) * (stress.ndim - 3))
        n = self.gradients.shape[1]
        flat = self.gradients.transpose(1, 0, 2).reshape(n, -1) @ scaled.reshape(count, 3 * places, -1)
        return flat.reshape(count, n, *stress.shape[3:])


def groups(grid: Grid, at_once: int) -> Iterator[BrickGroup]:
    """All bricks of a grid, at most so many at once."""
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


def bubbles_of(grid: Grid, nodal: Array, material: tuple[float, float], pushed: Array | None = None) -> Array:
    """(f, 3, 3, r) how far the incompatible modes of the full bricks give way to nodal displacements (v, 3, r), and to forces
    `pushed` (f, 3, 3, r) on them."""
    full = grid.inside.all(axis=1)
    follows, gives = _of_bubbles(grid.sizes[full], material)
    count, r = len(gives), nodal.shape[-1]
    found = follows @ nodal[grid.nodes[full]].reshape(count, 24, r)
    if pushed is not None:
        found += gives @ pushed.reshape(count, 9, r)
    return found.reshape(count, 3, 3, r)


def condensed(grid: Grid, pushed: Array, material: tuple[float, float]) -> Array:
    """(f, 8, 3, r) N: the forces on nodes of full bricks that do what forces (f, 3, 3, r) on their incompatible modes do."""
    follows, _ = _of_bubbles(grid.sizes[grid.inside.all(axis=1)], material)
    count, r = len(follows), pushed.shape[-1]
    return (follows.transpose(0, 2, 1) @ pushed.reshape(count, 9, r)).reshape(count, 8, 3, r)


def _of_bubbles(sizes: Array, material: tuple[float, float]) -> tuple[Array, Array]:
    """(f, 9, 24) how incompatible modes follow the nodes of bricks with edges (f, 3) m, and (f, 9, 9) m/N how they give way to
    forces."""
    different, which = np.unique(sizes, axis=0, return_inverse=True)
    _, coupling, inner = bricks_with_bubbles(different, *material)
    gives, which = np.linalg.inv(inner), which.reshape(-1)
    return -(gives @ coupling.transpose(0, 2, 1))[which], gives[which]


def _of_degree_two(places: Array) -> Array:
    """(n, 27) how much of its values at AT_PLACES is in that at places (n, 3) of a function of degree two along each axis."""
    along = np.ones((3, len(places), 3))
    for k, j in itertools.product(range(3), range(3)):
        for other in range(3):
            if other != j:
                along[k, :, j] *= (places[:, k] - THREE[other]) / (THREE[j] - THREE[other])
    return np.einsum("ni,nj,nk->nijk", *along).reshape(len(places), -1)
