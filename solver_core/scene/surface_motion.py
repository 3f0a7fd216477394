# SPDX-License-Identifier: GPL-3.0-or-later
"""Surface velocity as pure data: conveyor belts, escalators, turntables, and wheels that are animated without rotation."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["SurfaceMotion"]


@dataclass(frozen=True)
class SurfaceMotion:
    """The velocity of the surface of a body in the body frame.

    velocity: (3,) m/s. spin: (3,) rad/s, angular velocity about the origin of the body frame. Either is (frames, 3) if it
    changes, with one row for each frame of the scene's range. Friction uses the part of the velocity in the plane of a contact;
    the part along the normal has no effect.
    """

    velocity: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    spin: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
