# SPDX-License-Identifier: GPL-3.0-or-later
"""Stopping criteria: every fraction of a tolerance, and every bound on sizes, by which proposals begin and end.

All compare with the natural map, relative to the fastest velocity of a system (`residuals.scales`), of which the tolerance is a
bound too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import leaf_kernel

__all__ = ["ACCEPTABLE", "COARSE", "FEW_BODIES", "LARGE", "MAX_CHECKS", "TARGET", "Aim", "aimed_at", "is_near"]

FEW_BODIES = 64  # in an island that Newton's method is quick with, and that may be a structure
LARGE = 128  # in one that is worth taking apart: a cluster of what is hardly larger is most of it

ACCEPTABLE = 0.7  # of the tolerance: what keeps the other residuals, too, within it
# Of the tolerance, what projections and Newton's method aim at: what stands keeps for good what a step leaves over, what moves
# has forgotten it a step later.
TARGET, TARGET_OF_MOVING = 1e-3, 1e-1
LEAST_AIMED, MOST_AIMED = 1e-10, 1e-4  # tolerances beyond which the target does not follow: rounding, and what costs nothing
COARSE = 1e-4  # of the fastest velocity: what methods of first order reach soon
MAX_CHECKS = 600  # of residuals, in the alternating direction method
QUICK = 0.1  # of an error from check to check: what is near enough already is still brought nearer


class Aim(NamedTuple):
    """inverse: (m, 3) diagonal of the Delassus operator. kappa: (m,) effective masses. goal, enough, limit: of the natural map,
    m/s: what is good, what will do where more is slow, and what is put up with where that is not to be had. few: contacts that
    may be beyond what is enough, for others to finish; 0 for none. checks: of residuals, the most that the alternating
    direction method makes."""

    inverse: NDArray[np.float64]
    kappa: NDArray[np.float64]
    goal: float
    enough: float
    limit: float
    few: int
    checks: int


@leaf_kernel
def aimed_at(tolerance, moving):
    """What projections and Newton's method aim at, relative to the fastest velocity."""
    return (TARGET_OF_MOVING if moving else TARGET) * max(min(tolerance, MOST_AIMED), LEAST_AIMED)


@leaf_kernel
def is_near(aim, error, before, far):
    """Whether a natural map of `error`, after one of `before`, is near enough; far: how many are beyond `aim.enough`."""
    return error <= aim.goal or (error <= aim.enough and error > QUICK * before) or 0 < far <= aim.few
