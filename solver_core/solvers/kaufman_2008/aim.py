# SPDX-License-Identifier: GPL-3.0-or-later
"""What proposals by methods of first order are measured by, and when they are near enough."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import leaf_kernel

__all__ = ["COARSE", "FEW_BODIES", "LARGE", "MOST_LOOKS", "Aim", "is_near"]

FEW_BODIES = 64  # in an island that Newton's method is quick with, and that may be a structure
LARGE = 128  # in one that is worth taking apart: a cluster of what is hardly larger is most of it

COARSE = 1e-4  # of the fastest velocity: what methods of first order reach soon
MOST_LOOKS = 600  # at residuals, in the alternating direction method
QUICK = 0.1  # of an error from look to look: what is near enough already is still brought nearer


class Aim(NamedTuple):
    """inverse: (m, 3) diagonal of the Delassus operator. kappa: (m,) effective masses. goal, enough, limit: of the natural map,
    m/s: what is good, what will do where more is slow, and what is put up with where that is not to be had. few: contacts that
    may be beyond what is enough, for others to finish; 0 for none. looks: at residuals, the most that the alternating direction
    method takes."""

    inverse: NDArray[np.float64]
    kappa: NDArray[np.float64]
    goal: float
    enough: float
    limit: float
    few: int
    looks: int


@leaf_kernel
def is_near(aim, error, before, far):
    """Whether a natural map of `error`, after one of `before`, is near enough; far: how many are beyond `aim.enough`."""
    return error <= aim.goal or (error <= aim.enough and error > QUICK * before) or 0 < far <= aim.few
