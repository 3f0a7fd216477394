# SPDX-License-Identifier: GPL-3.0-or-later
"""Matrices that are symmetric and semidefinite only up to round-off, which are repaired or refused.

A Delassus operator that was printed with six to eight digits is slightly asymmetric. It has eigenvalues of -1e-8 to -1e-6 of
its largest entry. The operator of an implicit time step, whose mass matrix contains rotational terms, may be asymmetric by a
thousandth. The repaired matrix is the mean of the matrix and its transpose, without the negative eigenvalues. The original
matrix is kept, so that results can be corrected and measured with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

__all__ = ["ASYMMETRY_MENDED", "BELOW_ZERO_MENDED", "EXACT_ASYMMETRY", "Rounded", "Rounding", "rounding_named"]

# All relative to the largest entry. An asymmetry up to the first counts as round-off. Beyond the other two, a matrix is refused
# even if repair is requested.
EXACT_ASYMMETRY, ASYMMETRY_MENDED, BELOW_ZERO_MENDED = 1e-9, 1e-2, 1e-5


class Rounding(StrEnum):
    """Treatment of an inexact matrix: repair it and measure the result with the original, or refuse it."""

    REPAIR = "repair"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Rounded:
    """The original of a repaired matrix, and its defects.

    matrix: (rows, rows) original matrix.
    asymmetry: largest difference of two entries that should be equal, relative to the largest entry.
    below_zero: most negative eigenvalue that was removed, relative to the largest entry, or 0.
    """

    matrix: csr_matrix
    asymmetry: float
    below_zero: float

    def velocity(self, impulse: NDArray[np.float64], free: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return G lam + g, (rows,), with the original G, for lam and g (rows,)."""
        return self.matrix @ impulse + free


def rounding_named(name: str) -> Rounding:
    """Return the `Rounding` of a name. Raises ValueError for an unknown name."""
    if name not in [choice.value for choice in Rounding]:
        raise ValueError(f"rounding must be one of {', '.join(Rounding)}, not {name!r}")
    return Rounding(name)
