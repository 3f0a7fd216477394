# SPDX-License-Identifier: GPL-3.0-or-later
"""Stopping criteria: the fractions of a tolerance and the sizes of islands by which the cascade begins and ends proposals.

It holds what several proposals share. A number of one method stands in the file of that method, limits of work in `effort.py`.
The page docs/constants.md has the numbers that decide a result.

A bound on an error has one of four names:

    tolerance     what is asked: an answer within it is accepted
    target        where a method ends
    acceptable    where it ends if what more it does is slow
    fallback      where it ends if it would have to change its penalty

All compare with the natural map, relative to the fastest velocity of a system (`residuals.fastest_velocity`), of which the
tolerance is a bound too; those of `StoppingCriteria` are in m/s.
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

FEW_BODIES = 64  # in an island that Newton's method is quick with, and that may be a structure
CROWDED = 12  # contacts a body: of more of them than degrees of freedom, too, Newton's method is the quicker one
# A dense step costs the cube of its pressing rows. Beyond these bounds a sparse factorization of contacts and joints is faster.
MOST_BESIDE_JOINTS = 40  # contacts beside eliminated joints
ROWS_BESIDE_JOINTS = 160  # rows of the dense problem that remains
LARGE = 128  # in one that is worth taking apart: a cluster of what is hardly larger is most of it

ACCEPTABLE = 0.7  # of the tolerance: what keeps the other residuals, too, within it
# Of the tolerance, what projections and Newton's method aim at: structures keep for good what a step leaves over, what tumbles
# has forgotten it a step later.
TARGET, TARGET_OF_TUMBLING = 1e-3, 1e-1
# Of what is acceptable, what large islands that stand are solved to: what is left over moves them by as much in each step,
# until they are solved again.
OF_STANDING = 0.1 / ACCEPTABLE
# Of what projections and Newton's method aim at, for what stands: what is left as it is, and, at last, aimed at, which rounding
# does not always allow. What may stand still is more than both (`dynamics/model/island_motion.py`), or nothing ever would.
LEFT_STANDING, OF_FIXED_POINT = 5.0, 1e-1
LEAST_AIMED, MOST_AIMED = 1e-10, 1e-4  # tolerances beyond which the target does not follow: rounding, and what costs nothing
WITHIN_SUBDOMAINS = 0.7  # of what is acceptable, that subdomains are solved to
INNER = 0.1  # of what a method aims at, that Newton's method within it is solved to
OF_MENDED = 0.5  # of the tolerance, that the mended matrix is solved to where one that was rounded is given
OF_A_GUESS = 30.0  # times what counts as at rest: where rounding shows, a guess may be that far off
TIGHTER_A_TRY = 0.1  # of the tolerance of a try whose natural map was acceptable, and other residuals were not
COARSE = 1e-4  # of the fastest velocity: what methods of first order reach soon
OF_FEW = 0.5  # of `COARSE`, from which few bodies are left to Newton's method, which is quick from the first digits on
NEAR_FOR_NEWTON = 1e-3  # of the fastest velocity: from there Newton's method needs few steps
ROUGHLY = 1e-4  # of the fastest velocity times a compliance: what an answer may be off that only leads on
LEAST_HELD = 1e-8  # of the fastest velocity: no contact counts as broken that is left by less
MAX_CHECKS = 600  # of residuals, in the alternating direction method
SLOW_GAIN = 0.1  # of an error: what leaves more of it is slow
# of Newton steps: as much of one is taken, halved as often as need be, as brings an error down by this part of it
SHORTEST_STEP, DESCENT = 0.06, 0.1
HALVED = 0.5  # of an error: what leaves more of it for long comes to nothing


class Request(NamedTuple):
    """What is asked of a solve: the tolerance; tumbles: whether the system is known to be no structure; max_iterations; sides:
    0 for the friction disk, else K."""

    tolerance: float
    tumbles: bool
    max_iterations: int
    sides: int


class StoppingCriteria(NamedTuple):
    """target, acceptable, fallback: of the natural map, m/s. scale: m/s, the velocity that errors are a part of.
    max_unconverged: contacts that may be beyond what is acceptable, for others to finish. max_checks: of residuals, in the
    alternating direction method."""

    target: float
    acceptable: float
    fallback: float
    scale: float
    max_unconverged: int
    max_checks: int


def criteria_at(tolerance: float, scale: float, max_unconverged: int = 0) -> StoppingCriteria:
    """The criteria of a tolerance, relative to a velocity `scale`, m/s."""
    acceptable = ACCEPTABLE * tolerance * scale
    return StoppingCriteria(TARGET * tolerance * scale, acceptable, acceptable, scale, max_unconverged, MAX_CHECKS)


@leaf_kernel
def relative_target(tolerance, tumbles):
    """What projections and Newton's method aim at, relative to the fastest velocity."""
    return (TARGET_OF_TUMBLING if tumbles else TARGET) * max(min(tolerance, MOST_AIMED), LEAST_AIMED)


@leaf_kernel
def good_enough(tolerance, tumbles):
    """The largest relative residual of impulses that need no iteration of Algorithm 1: one from there, which takes what
    projections need first, ends where it begins."""
    return ACCEPTABLE * tolerance if tumbles else LEFT_STANDING * relative_target(tolerance, tumbles)


@leaf_kernel
def is_converged(criteria, error, before, unconverged):
    """Whether a natural map of `error`, after one of `before`, ends a method; unconverged: how many are beyond
    `criteria.acceptable`."""
    if error <= criteria.target or 0 < unconverged <= criteria.max_unconverged:
        return True
    return error <= criteria.acceptable and error > SLOW_GAIN * before


@leaf_kernel
def is_held(off, tolerance, scale):
    """Whether contacts hold that are left by no more than `off`, m/s."""
    return off <= max(tolerance, LEAST_HELD) * scale
