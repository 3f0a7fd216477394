# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers that exceed Blender's single precision.

A driver beyond single precision gives NaN up to Blender 4.5, and the largest number from 5.0 on. The largest number is read as
infinite: required finite values are then refused, and limits or ranges do not apply. Locations pass through parents and
constraints, which change the largest number, so their bound is lower.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["FARTHEST", "number", "numbers", "places"]

Array = NDArray[np.float64]

LARGEST = float(np.finfo(np.float32).max)
# m; from here on, squares and hence Blender's own lengths exceed single precision.
FARTHEST = math.sqrt(LARGEST)


def number(value: float) -> float:
    """Return a number of Blender, infinite if it is the largest in single precision."""
    return math.copysign(math.inf, value) if abs(value) >= LARGEST else value


def numbers(values: ArrayLike) -> Array:
    """Return numbers of Blender, infinite where they are the largest in single precision."""
    array = np.asarray(values, dtype=np.float64)
    return np.where(np.abs(array) >= LARGEST, np.copysign(np.inf, array), array)


def places(values: Array) -> Array:
    """Return coordinates or matrices of Blender, NaN beyond FARTHEST."""
    return np.where(np.abs(values) < FARTHEST, values, np.nan)
