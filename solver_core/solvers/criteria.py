# SPDX-License-Identifier: GPL-3.0-or-later
"""Stopping criteria: fractions of the tolerance and sizes of islands with which the cascade starts and stops proposals.

The constants here are shared by several proposals. A constant of one method is in the file of that method; limits of work are
in `effort.py`. The page docs/constants.md lists the constants that influence a result.

A bound on an error has one of four names:

    tolerance     requested by the user: a result within it is accepted
    target        a method stops here
    acceptable    a method stops here if its progress is slow
    fallback      a method stops here if it would have to change its penalty

All are bounds on the natural map, relative to the velocity scale of a system (`residuals.fastest_velocity`). Those in
`StoppingCriteria` are in m/s.
"""

from __future__ import annotations

from typing import NamedTuple

from ..compile.kernel import leaf_kernel

__all__ = [
    "ACCEPTABLE",
    "COARSE",
    "CROWDED",
    "DESCENT",
    "FEW_BODIES",
    "HALVED",
    "INNER",
    "LARGE",
    "LEFT_STANDING",
    "MAX_CHECKS",
    "MOST_BESIDE_JOINTS",
    "NEAR_FOR_NEWTON",
    "OF_A_GUESS",
    "OF_FEW",
    "OF_FIXED_POINT",
    "OF_MENDED",
    "OF_STANDING",
    "ROUGHLY",
    "ROWS_BESIDE_JOINTS",
    "SHORTEST_STEP",
    "SLOW_GAIN",
    "TARGET",
    "TIGHTER_A_TRY",
    "WITHIN_SUBDOMAINS",
    "Request",
    "StoppingCriteria",
    "criteria_at",
    "good_enough",
    "is_converged",
    "is_held",
    "relative_target",
]

FEW_BODIES = 64  # largest number of bodies of an island that Newton's method solves fast and that may be a static structure
CROWDED = 12  # contacts per body; with more, and more than degrees of freedom, Newton's method is faster
# A dense step costs the cube of the number of its active rows. Beyond these bounds a sparse factorization of contacts and
# joints is faster.
MOST_BESIDE_JOINTS = 40  # largest number of contacts with eliminated joints
ROWS_BESIDE_JOINTS = 160  # rows of the remaining dense problem
LARGE = 128  # an island of more bodies is divided; a region of a smaller one would contain most of it

ACCEPTABLE = 0.7  # relative to the tolerance, so that the other residuals are within it, too
# Targets of projections and Newton's method, relative to the tolerance. A static structure accumulates the errors of its steps.
# A moving island forgets them one step later.
TARGET, TARGET_OF_TUMBLING = 1e-3, 1e-1
# Target of large static islands, relative to the acceptable error. The remaining error moves them by as much in each step
# until they are solved again.
OF_STANDING = 0.1 / ACCEPTABLE
# For static islands, relative to the target. A warm start within LEFT_STANDING is kept. One that is only acceptable is refined
# to OF_FIXED_POINT, which round-off does not always allow. The error at which a body may rest is larger than both, so that it
# can come to rest (`dynamics/model/island_motion.py`).
LEFT_STANDING, OF_FIXED_POINT = 5.0, 1e-1
LEAST_AIMED, MOST_AIMED = 1e-10, 1e-4  # range of tolerances that the target follows; below is round-off, above digits are free
WITHIN_SUBDOMAINS = 0.7  # target of subdomains, relative to the acceptable error
INNER = 0.1  # target of an inner Newton method, relative to the target of the outer method
OF_MENDED = 0.5  # tolerance for a repaired matrix, relative to the tolerance for the original matrix
OF_A_GUESS = 30.0  # largest error of a guess, relative to the error that counts as zero; allows for round-off
TIGHTER_A_TRY = 0.1  # factor of the tolerance for a retry after an acceptable natural map with too large other residuals
COARSE = 1e-4  # relative to the velocity scale: an error that first-order methods reach fast
OF_FEW = 0.5  # relative to `COARSE`: error at which small islands are handed to Newton's method
NEAR_FOR_NEWTON = 1e-3  # relative to the velocity scale: an error from which Newton's method needs few steps
ROUGHLY = 1e-4  # error of an intermediate solution, relative to the velocity scale times a compliance
LEAST_HELD = 1e-8  # relative to the velocity scale: a smaller penetration speed does not violate contact
MAX_CHECKS = 600  # checks of residuals in ADMM
SLOW_GAIN = 0.1  # progress is slow if a larger fraction of the error remains
# Line search of Newton steps: the shortest step, and the required decrease of the error per unit of step length.
SHORTEST_STEP, DESCENT = 0.06, 0.1
HALVED = 0.5  # a method stops if a larger fraction of the error remains for long


class Request(NamedTuple):
    """Request of a solve.

    tolerance: relative tolerance.
    tumbles: True if the system is known to be moving, so that it is not a static structure.
    max_iterations: maximum number of iterations.
    sides: number of sides of the friction polygon, 0 for the disk.
    """

    tolerance: float
    tumbles: bool
    max_iterations: int
    sides: int


class StoppingCriteria(NamedTuple):
    """Bounds at which a method stops.

    target, acceptable, fallback: bounds on the natural map [m/s]; see the module.
    scale: velocity scale to which errors are relative [m/s].
    max_unconverged: number of contacts whose error may exceed `acceptable`, because another method finishes them.
    max_checks: maximum number of checks of residuals in ADMM.
    """

    target: float
    acceptable: float
    fallback: float
    scale: float
    max_unconverged: int
    max_checks: int


def criteria_at(tolerance: float, scale: float, max_unconverged: int = 0) -> StoppingCriteria:
    """Return the criteria for a relative tolerance and a velocity scale [m/s]."""
    acceptable = ACCEPTABLE * tolerance * scale
    return StoppingCriteria(TARGET * tolerance * scale, acceptable, acceptable, scale, max_unconverged, MAX_CHECKS)


@leaf_kernel
def relative_target(tolerance, tumbles):
    """Return the target of projections and Newton's method, relative to the velocity scale."""
    return (TARGET_OF_TUMBLING if tumbles else TARGET) * max(min(tolerance, MOST_AIMED), LEAST_AIMED)


@leaf_kernel
def good_enough(tolerance, tumbles):
    """Return the largest relative residual of impulses that need no iteration of Algorithm 1.

    The projections would accept such impulses at once, so an iteration would return them unchanged.
    """
    return ACCEPTABLE * tolerance if tumbles else LEFT_STANDING * relative_target(tolerance, tumbles)


@leaf_kernel
def is_converged(criteria, error, before, unconverged):
    """Return True if a method may stop.

    error, before: natural map now and at the last check [m/s].
    unconverged: number of contacts whose natural map exceeds `criteria.acceptable`.
    """
    if error <= criteria.target or 0 < unconverged <= criteria.max_unconverged:
        return True
    return error <= criteria.acceptable and error > SLOW_GAIN * before


@leaf_kernel
def is_held(off, tolerance, scale):
    """Return True if contacts hold whose penetration speed is at most `off` [m/s]."""
    return off <= max(tolerance, LEAST_HELD) * scale
