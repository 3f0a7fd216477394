# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left of a body that bends once its modes are known; light, for those who only show how it is bent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .bricks import Bricks
from .inertia import ModalInertia

__all__ = ["MOST_A_STEP", "LargeBending", "ReducedBody", "equivalent_stress", "gram_size"]

Array = NDArray[np.float64]

# rad a step: what swings faster than steps can follow is pulled to rest.
MOST_A_STEP = 2.0


@dataclass(frozen=True)
class LargeBending:
    """gram: (k, k) the energy, see `stvk.py`. modes: how many of the shapes are modes; the others go with their bends."""

    gram: Array
    modes: int


@dataclass(frozen=True)
class ReducedBody:
    """mass: kg. omega: (r,) rad/s, rising. damping: (r,) 1/s, of q'' + damping q' + omega^2 q = force.

    shapes: (n, 3, r) 1/sqrt(kg), what each mode does to the vertices of the shape, in the body's axes: displacements are
    shapes @ q in m, with q in m sqrt(kg), and half the square of q' is kinetic energy in J. inertia: what the floating frame
    needs. bricks: what it was computed with. lame: (2,) Pa, lambda and mu. slopes: (n, 3, 3, r) 1/(m sqrt(kg)), the derivative
    of each mode's component a along axis b of the bricks, at the vertices. large: what large bends are computed with, None of a
    body in small ones.
    """

    mass: float
    omega: Array
    damping: Array
    shapes: Array
    inertia: ModalInertia
    bricks: Bricks
    lame: Array
    slopes: NDArray[np.float32]
    large: LargeBending | None = None

    def stresses(self, q: Array) -> Array:
        """(n,) Pa, von Mises' equivalent stress at the vertices, with q (r,) m sqrt(kg)."""
        # in the precision of the slopes, and as one product: ten times faster than in double
        slopes = self.slopes.reshape(-1, len(q)) @ q.astype(np.float32)
        return equivalent_stress(slopes.reshape(-1, 3, 3), self.lame, self.large is not None)

    @property
    def frequencies(self) -> Array:
        """(r,) Hz."""
        return self.omega / (2.0 * math.pi)


def equivalent_stress(slopes: Array, lame: Array, large: bool) -> Array:
    """(n,) Pa, von Mises' equivalent stress where displacements have slopes (n, 3, 3): of Hooke's law, or, large, of Saint
    Venant and Kirchhoff's, whose stress F S F^T is that of the bent body times the share of volume that is left of it."""
    if large:
        transposed, eye = slopes.transpose(0, 2, 1), np.eye(3)
        strain = 0.5 * (slopes + transposed + transposed @ slopes)
        stress = lame[0] * np.trace(strain, axis1=1, axis2=2)[:, None, None] * eye + 2.0 * lame[1] * strain
        return of_mises((eye + slopes) @ stress @ (eye + transposed))
    # what changes the volume alone is no part of it
    return 2.0 * lame[1] * of_mises(0.5 * (slopes + slopes.transpose(0, 2, 1)))


def of_mises(tensors: Array) -> Array:
    """(n,) the root of 3/2 of the squares of what symmetric tensors (n, 3, 3) have beside their mean diagonal."""
    x, y, z = tensors[:, 0, 0], tensors[:, 1, 1], tensors[:, 2, 2]
    across = tensors[:, 0, 1] ** 2 + tensors[:, 1, 2] ** 2 + tensors[:, 2, 0] ** 2
    return np.sqrt(0.5 * ((x - y) ** 2 + (y - z) ** 2 + (z - x) ** 2) + 3.0 * across)


def gram_size(count: int) -> int:
    """How many monomials there are of so many unknowns."""
    return count + count * (count + 1) // 2
