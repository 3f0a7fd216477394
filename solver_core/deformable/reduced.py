# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left of a body that bends once its modes are known; light, for those who only show how it is bent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .bricks import Bricks
from .inertia import ModalInertia

__all__ = ["MOST_A_STEP", "LargeBending", "ReducedBody", "gram_size"]

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
    needs. bricks: what it was computed with. stress: (n, 6, r) Pa/(m sqrt(kg)) of each mode at the vertices, xx, yy, zz, xy,
    yz, zx along the axes of the bricks. large: what large bends are
    computed with, None of a body in small ones.
    """

    mass: float
    omega: Array
    damping: Array
    shapes: Array
    inertia: ModalInertia
    bricks: Bricks
    stress: NDArray[np.float32]
    large: LargeBending | None = None

    def stresses(self, q: Array) -> Array:
        """(n,) Pa, von Mises' equivalent stress at the vertices, with q (r,) m sqrt(kg)."""
        x, y, z, xy, yz, zx = (self.stress @ q).T
        return np.sqrt(0.5 * ((x - y) ** 2 + (y - z) ** 2 + (z - x) ** 2) + 3.0 * (xy**2 + yz**2 + zx**2))

    @property
    def frequencies(self) -> Array:
        """(r,) Hz."""
        return self.omega / (2.0 * math.pi)


def gram_size(count: int) -> int:
    """How many monomials there are of so many unknowns."""
    return count + count * (count + 1) // 2
