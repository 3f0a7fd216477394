# SPDX-License-Identifier: GPL-3.0-or-later
"""How the coefficients of two touching bodies become that of the pair: the rules, for Python and for kernels alike."""

from __future__ import annotations

from enum import Enum
from math import sqrt

__all__ = ["FrictionCombine", "combine"]

PRODUCT, AVERAGE, GEOMETRIC_MEAN, MINIMUM, MAXIMUM = range(5)


class FrictionCombine(Enum):
    """How the coefficients of two touching bodies become that of the pair."""

    PRODUCT = "product"  # Blender's (Bullet's) own rule
    AVERAGE = "average"
    GEOMETRIC_MEAN = "geometric_mean"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"

    @property
    def code(self) -> int:
        """The number by which `combine` knows it."""
        return list(FrictionCombine).index(self)

    def pair(self, a: float, b: float) -> float:
        """The coefficient of a pair, from those of its bodies."""
        return combine(self.code, a, b)


def combine(rule: int, a: float, b: float) -> float:
    """The coefficient of two bodies by the code of a rule, from those of each; a kernel is made of this."""
    if rule == PRODUCT:
        return a * b
    if rule == AVERAGE:
        return 0.5 * (a + b)
    if rule == GEOMETRIC_MEAN:
        return sqrt(a * b)
    return min(a, b) if rule == MINIMUM else max(a, b)
