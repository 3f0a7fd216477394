# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion of a surface along itself, as pure data: belts, escalators, turntables, wheels that are drawn at rest."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["SurfaceMotion"]


@dataclass(frozen=True)
class SurfaceMotion:
    """How the surface of a body moves in the body frame.

    velocity: (3,) m/s. spin: (3,) rad/s, angular velocity about the origin of the body frame. Either is (frames, 3) where it
    changes, with one row for each frame of the scene's range. Friction sees the part of the motion that lies in the plane of a
    contact; the part along the normal has no effect.
    """

    velocity: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    spin: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
