# SPDX-License-Identifier: GPL-3.0-or-later
"""Stopping criteria: every fraction of a tolerance, and every bound on sizes, by which proposals begin and end.

All compare with the natural map, relative to the fastest velocity of a system (`residuals.scales`), of which the tolerance is a
bound too.
"""

from __future__ import annotations

from typing import NamedTuple

from ..compile.kernel import leaf_kernel

__all__ = [
    "ACCEPTABLE",
    "COARSE",
    "FEW_BODIES",
    "LARGE",
    "LEFT_STANDING",
    "MAX_CHECKS",
    "OF_FIXED_POINT",
    "OF_STANDING",
    "TARGET",
    "WITHIN_SUBDOMAINS",
    "Request",
    "StoppingCriteria",
    "criteria_at",
    "is_converged",
    "relative_target",
]

FEW_BODIES = 64  # in an island that Newton's method is quick with, and that may be a structure
LARGE = 128  # in one that is worth taking apart: a cluster of what is hardly larger is most of it

ACCEPTABLE = 0.7  # of the tolerance: what keeps the other residuals, too, within it
# Of the tolerance, what projections and Newton's method aim at: structures keep for good what a step leaves over, moving bodies
# have forgotten it a step later.
TARGET, TARGET_OF_MOVING = 1e-3, 1e-1
# Of what is acceptable, what large islands that stand are solved to: what is left over moves them by as much in each step,
# until they are solved again.
OF_STANDING = 0.1 / ACCEPTABLE
# Of what projections and Newton's method aim at, for what stands: what is left as it is, and, at last, aimed at, which rounding
# does not always allow. What may stand still is more than both (`dynamics/model/moving.py`), or nothing ever would.
LEFT_STANDING, OF_FIXED_POINT = 5.0, 1e-1
LEAST_AIMED, MOST_AIMED = 1e-10, 1e-4  # tolerances beyond which the target does not follow: rounding, and what costs nothing
COARSE = 1e-4  # of the fastest velocity: what methods of first order reach soon
WITHIN_SUBDOMAINS = 0.7  # of what is acceptable, that subdomains are solved to
MAX_CHECKS = 600  # of residuals, in the alternating direction method
QUICK = 0.1  # of an error from check to check: what is acceptable already is still brought nearer


class Request(NamedTuple):
    """What is asked of a solve: the tolerance; moving: whether the system is known to be no structure; max_iterations; sides: 0
    for the friction disk, else K."""

    tolerance: float
    moving: bool
    max_iterations: int
    sides: int


class StoppingCriteria(NamedTuple):
    """target, acceptable, fallback: of the natural map, m/s: where a method ends, where it ends if what more it does is slow,
    and where it ends if it would have to change its penalty. scale: m/s, the velocity that errors are a part of.
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
def relative_target(tolerance, moving):
    """What projections and Newton's method aim at, relative to the fastest velocity."""
    return (TARGET_OF_MOVING if moving else TARGET) * max(min(tolerance, MOST_AIMED), LEAST_AIMED)


@leaf_kernel
def is_converged(criteria, error, before, unconverged):
    """Whether a natural map of `error`, after one of `before`, ends a method; unconverged: how many are beyond
    `criteria.acceptable`."""
    if error <= criteria.target or 0 < unconverged <= criteria.max_unconverged:
        return True
    return error <= criteria.acceptable and error > QUICK * before
