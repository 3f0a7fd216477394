# SPDX-License-Identifier: GPL-3.0-or-later
"""What is too large for Blender's single precision, and how it is read.

A driver beyond single precision leaves what is no number up to Blender 4.5, and the largest number from 5.0 on. That is read as
infinite: what must be finite is refused then, and a limit or a range is none. A place comes through parents and constraints,
which make other numbers of the largest, so there the bound is lower.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["FARTHEST", "number", "numbers", "places"]

Array = NDArray[np.float64]

LARGEST = float(np.finfo(np.float32).max)
# From here on squares are beyond single precision, and so are Blender's own lengths; in m.
FARTHEST = math.sqrt(LARGEST)


def number(value: float) -> float:
    """A number of Blender's, infinite if it is the largest in single precision."""
    return math.copysign(math.inf, value) if abs(value) >= LARGEST else value


def numbers(values: ArrayLike) -> Array:
    """Numbers of Blender's, infinite where they are the largest in single precision."""
    array = np.asarray(values, dtype=np.float64)
    return np.where(np.abs(array) >= LARGEST, np.copysign(np.inf, array), array)


def places(values: Array) -> Array:
    """Coordinates or matrices of Blender's, not numbers where they are beyond FARTHEST."""
    return np.where(np.abs(values) < FARTHEST, values, np.nan)
