# SPDX-License-Identifier: GPL-3.0-or-later
"""Matrices that are no longer symmetric and semidefinite to the last digit: mended, or refused.

A Delassus operator printed with six to eight digits and read again is a little asymmetric, and has eigenvalues of -1e-8 to
-1e-6 of its largest entry; one of an implicit time step, whose mass matrix has the terms of turning in it, may be asymmetric by
a thousandth. Mended it is the nearest matrix that has neither: the mean of it and its transpose, without its negative
eigenvalues. What it was is kept, for answers to be corrected and measured by.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

__all__ = ["ASYMMETRY_MENDED", "BELOW_ZERO_MENDED", "EXACT_ASYMMETRY", "Rounded", "Rounding", "rounding_named"]

# Of the largest entry. Up to the first, asymmetry is that of the arithmetic; beyond the others a matrix is another, and refused
# whatever is asked for.
EXACT_ASYMMETRY, ASYMMETRY_MENDED, BELOW_ZERO_MENDED = 1e-9, 1e-2, 1e-5


class Rounding(StrEnum):
    """What is done about a matrix that was rounded: mended, and the answer measured by what was given; or refused."""

    REPAIR = "repair"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Rounded:
    """What rounding took from a matrix.

    matrix: (rows, rows) as it was given. asymmetry: the largest difference of two entries that should be equal. below_zero: the
    most negative eigenvalue that was taken away, 0 where there was none. Both of the largest entry.
    """

    matrix: csr_matrix
    asymmetry: float
    below_zero: float

    def velocity(self, impulse: NDArray[np.float64], free: NDArray[np.float64]) -> NDArray[np.float64]:
        """(rows,) G lam + g with G as it was given, of (rows,) lam and g."""
        return self.matrix @ impulse + free


def rounding_named(name: str) -> Rounding:
    """The choice of that name; ValueError where there is none."""
    if name not in [choice.value for choice in Rounding]:
        raise ValueError(f"rounding must be one of {', '.join(Rounding)}, not {name!r}")
    return Rounding(name)
