# SPDX-License-Identifier: GPL-3.0-or-later
"""What a body that bends is made of, as pure data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

__all__ = ["DeformableSpec", "Elasticity"]


class Elasticity(Enum):
    """How forces in a body grow with its deformation."""

    LINEAR = "linear"  # in proportion: for bends that are small to the eye
    STVK = "stvk"  # with Green's strain (Saint Venant and Kirchhoff): for large bends and twists


@dataclass(frozen=True)
class DeformableSpec:
    """How a body deforms, about a frame that moves as a rigid one does.

    young: Pa. poisson: from 0 to 0.45; what is nearly incompressible would lock. modes: the largest number of shapes it can
    take: those of the lowest frequencies, in large bends a third of them and what goes with these. resolution: bricks along the
    longest side, 0 for as many as its thinnest part needs. damping_ratio: of the first mode, 1 for no swing at all; that of
    others grows with their frequency, as of a material that resists the rate of its strain. pinned: (p,) vertices that move
    with the frame; a triangle of three of them does so as a whole.
    """

    kind: Elasticity = Elasticity.LINEAR
    young: float = 1e7
    poisson: float = 0.3
    modes: int = 20
    resolution: int = 0
    damping_ratio: float = 0.02
    pinned: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
