# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that combine the coefficients of two touching bodies, for Python and for kernels."""

from __future__ import annotations

from enum import Enum
from math import sqrt

__all__ = ["FrictionCombine", "combine"]

PRODUCT, AVERAGE, GEOMETRIC_MEAN, MINIMUM, MAXIMUM = range(5)


class FrictionCombine(Enum):
    """The rule that combines the coefficients of two touching bodies."""

    PRODUCT = "product"  # Blender's (Bullet's) own rule
    AVERAGE = "average"
    GEOMETRIC_MEAN = "geometric_mean"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"

    @property
    def code(self) -> int:
        """The code of the rule for `combine`."""
        return list(FrictionCombine).index(self)

    def pair(self, a: float, b: float) -> float:
        """Return the coefficient of a pair from those of its bodies."""
        return combine(self.code, a, b)


def combine(rule: int, a: float, b: float) -> float:
    """Return the coefficient of two bodies from those of each. rule: a code. A kernel is compiled from this function."""
    if rule == PRODUCT:
        return a * b
    if rule == AVERAGE:
        return 0.5 * (a + b)
    if rule == GEOMETRIC_MEAN:
        return sqrt(a * b)
    return min(a, b) if rule == MINIMUM else max(a, b)
