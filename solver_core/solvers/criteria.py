# SPDX-License-Identifier: GPL-3.0-or-later
"""Stopping criteria, and the sizes and fractions of the tolerance by which the cascade selects and stops proposals.

This file has the island sizes that select a proposal, the fractions of the tolerance at which methods stop, and the measures of
slow progress that methods share. Constants that only one method uses for itself (its penalties, limits of steps, bounds
relative to its own residuals) are in the file of that method. Limits of work are in `effort.py`, and tolerances of moving
islands in `dynamics/model/island_motion.py`. The page docs/constants.md lists the constants that influence a result.

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

# Sizes of islands.
#
# Largest number of bodies of a small island, which Newton's method solves fast and which may be a static structure. With more,
# piles take longer; with fewer, structures start with first-order methods, which load redundant contacts unevenly.
FEW_BODIES = 64
# Contacts per body. An island with more, and with more than its degrees of freedom, starts with Newton's method. With a larger
# value such islands take longer, with a smaller one loose piles do.
CROWDED = 12
# Joints are eliminated beside at most so many contacts, or as many contacts as joints. With larger values piles of bodies with
# few joints take longer. With smaller ones, single jointed bodies do.
MOST_BESIDE_JOINTS = 40
# Bodies. A larger island is started as a whole and finished by regions. A region of a smaller island would contain most of it.
# With a larger value large islands take longer, with a smaller one regions cost more than they save.
LARGE = 128

# Fractions of the tolerance.
#
# Acceptable natural map, so that the other residuals are within the tolerance, too. With a larger one more results are rejected
# by the outside measure, with a smaller one more iterations are done.
ACCEPTABLE = 0.7
# Targets of projections and Newton's method, for static and for moving islands. A static structure accumulates the errors of
# its steps. A moving island forgets them one step later. With larger targets structures creep, with smaller ones more digits
# are solved than used.
TARGET, TARGET_OF_TUMBLING = 1e-3, 1e-1
# Target of ADMM in large static islands, relative to the acceptable error. The remaining error moves them by as much in each
# step. With a larger one they creep, with a smaller one ADMM takes longer.
OF_STANDING = 0.1 / ACCEPTABLE
# For static islands, relative to the target. A warm start within LEFT_STANDING is kept. One that is only acceptable is refined
# to OF_FIXED_POINT, which round-off does not always allow. The error at which a body may rest is larger than both, so that it
# can come to rest (`dynamics/model/island_motion.py`). With larger values structures come to rest later or never, with smaller
# ones steps are solved that need no solve.
LEFT_STANDING, OF_FIXED_POINT = 5.0, 1e-1
# Range of tolerances that the target follows. Below the first the target is round-off. Above the second the digits cost
# nothing.
LEAST_AIMED, MOST_AIMED = 1e-10, 1e-4
# Target of subdomains, relative to the acceptable error. With 1 a subdomain that just converged is unconverged in the next
# round; a smaller one costs iterations.
WITHIN_SUBDOMAINS = 0.7
# Target of an inner Newton method, relative to the target of the outer method. With a larger one the outer method cannot reach
# its target, a smaller one costs steps.
INNER = 0.1
# Tolerance for a repaired matrix, relative to the tolerance for the original one. With 1 no room is left for the error of the
# correction; a smaller one costs iterations.
OF_MENDED = 0.5
# Largest error of a guess for pivoting, relative to the error that counts as zero. It allows for round-off. With a larger one
# worse guesses are used, with a smaller one good guesses are discarded.
OF_A_GUESS = 30.0
# Factor of the tolerance for a retry, if the natural map is acceptable but other residuals are too large. With a smaller one
# retries are harder, with a larger one more of them are needed.
TIGHTER_A_TRY = 0.1

# Fractions of the velocity scale.
#
# Error that first-order methods reach fast. With a larger one Newton's method starts too far away, with a smaller one
# first-order methods take long.
COARSE = 1e-4
OF_FEW = 0.5  # relative to `COARSE`: error at which small islands go to Newton's method; the effects are those of `COARSE`
# Error from which Newton's method needs few steps, so that small islands skip first-order methods. With a larger one Newton's
# method starts too far away, with a smaller one first-order methods are done for nothing.
NEAR_FOR_NEWTON = 1e-3
LEAST_HELD = 1e-8  # penetration speed that does not violate contact at any tolerance; a smaller one is round-off

# Measures of progress.
MAX_CHECKS = 600  # limit of residual checks in ADMM; a larger one lets failures take longer, a smaller one ends slow progress
SLOW_GAIN = 0.1  # progress is slow if a larger fraction of the error remains; with a larger one, methods go on for fewer digits
HALVED = 0.5  # a method stops if a larger fraction of the error remains for long; a smaller one stops slow progress sooner


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
