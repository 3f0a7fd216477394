# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a solver: status, impulses, velocities and statistics."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

__all__ = ["PRECEDED_BY", "WORST_FIRST", "Found", "Result", "Results", "Statistics", "Status", "together"]


class Status(IntEnum):
    """Outcome of a solve. Only SOLVED means that the measured residuals of the law are within the tolerance."""

    SOLVED = 0
    MAX_ITERATIONS = 1  # no solution within the limit of iterations or work; the best iterate is returned
    NOT_FINITE = 2  # inf or nan occurred; the result must not be used
    RAY = 3  # no solution, but a ray of contact impulses, `Result.ray` (Baraff 1991, section 7)
    INFEASIBLE = 4  # no velocity satisfies all contacts, as `Result.ray` proves; the best iterate is returned
    TIME_LIMIT = 5  # the time ran out; the best iterate is returned
    UNCONFIRMED = 6  # the algorithm met its own stopping rule, but the residuals exceed the tolerance


# Most severe first. The status of several solves together is the most severe of theirs.
WORST_FIRST = (
    Status.NOT_FINITE,
    Status.INFEASIBLE,
    Status.RAY,
    Status.TIME_LIMIT,
    Status.MAX_ITERATIONS,
    Status.UNCONFIRMED,
    Status.SOLVED,
)
PRECEDED_BY = tuple(WORST_FIRST.index(status) for status in Status)  # position in WORST_FIRST of each status


class Found(IntEnum):
    """The method that found a solution. For Staggered Projections, the proposal from which the accepted iteration started."""

    START = 0  # the warm start was accepted, or no impulses were needed
    STAGGERING = 1  # the projections (24) and (25) without a proposal
    NEWTON = 2  # Newton's method on contact and friction together
    HELD_RADII = 3  # only in caches of earlier versions: a projection onto both, with Tresca friction
    PIVOTING = 4  # Baraff's algorithm
    SWEEPS = 5  # Gauss-Seidel sweeps over the contacts
    ADMM = 6  # the alternating direction method of multipliers
    CLUSTERS = 7  # only in caches of earlier versions: clusters of bodies around the worst contacts
    ENERGY = 8  # redistributions of energy (Faure 1996)
    ELIMINATION = 9  # Newton's method on the contacts, after the joints are eliminated


@dataclass(frozen=True)
class Statistics:
    """Cost and course of a solve.

    iterations: staggered iterations, pivots, or redistributions of energy.
    factorisations: numeric factorizations of a system matrix, without updates.
    seconds: wall time [s].

    Staggered Projections:

    first_projections: (2,) factorizations of the first contact and the first friction projection.
    relative_error: (iterations,) relative change of friction (28).
    residual: (iterations,) residual (29) [J].
    coulomb: (iterations,) relative Coulomb residual as computed by the solver; also for redistributions of energy.
    found: the method that found the solution; None if it is not recorded.

    Pivoting:

    drives: calls of `drive_to_zero`.
    given_up: conditions given up because they oscillated.
    rank_deficient: pivots rejected because they depended on earlier ones.
    restarts: attempts after the first one.
    """

    iterations: int
    factorisations: int
    seconds: float
    first_projections: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, np.int64))
    relative_error: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    residual: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    coulomb: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    found: Found | None = None
    drives: int = 0
    given_up: int = 0
    rank_deficient: int = 0
    restarts: int = 0


def together(first: Statistics, last: Statistics, found: Found | None) -> Statistics:
    """Return the combined statistics of two consecutive runs of a method. found: the method that found the solution."""
    return replace(
        first,
        iterations=first.iterations + last.iterations,
        factorisations=first.factorisations + last.factorisations,
        seconds=first.seconds + last.seconds,
        relative_error=np.append(first.relative_error, last.relative_error),
        residual=np.append(first.residual, last.residual),
        coulomb=np.append(first.coulomb, last.coulomb),
        found=found,
    )


@dataclass(frozen=True)
class Result:
    """Solution of a `ContactProblem` with m contacts of dimension dim and b bilateral constraints.

    status: outcome of the solve.
    impulse: (m, dim) impulses in contact axes (n, t1, t2) [N s].
    velocity: (m, dim) velocity of B relative to A after the impulses [m/s].
    body_velocity: (degrees of freedom,) generalized velocity after the impulses.
    stats: cost and course of the solve.
    solver: name of the algorithm.
    bilateral: (b,) impulses of the bilateral constraints.
    ray: (m, dim) direction of contact impulses with ray_n >= 0, or None. If the status is RAY, it causes no positive normal
        velocity at any contact with ray_n > 0 (Baraff 1991, (10)). If the status is INFEASIBLE, it moves nothing, and
        ray_n . (u_n + c) is negative for all velocities (see `solvers.infeasible`).
    """

    status: Status
    impulse: NDArray[np.float64]
    velocity: NDArray[np.float64]
    body_velocity: NDArray[np.float64]
    stats: Statistics
    solver: str
    bilateral: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    ray: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Results:
    """Solutions of p problems given as `ContactProblems`. The contacts of problem i are start[i] to start[i + 1].

    status: (p,) values of `Status`.
    impulse, velocity: (contacts, dim), as in `Result`.
    residual: (p,) largest relative residual of Coulomb's law, computed from the impulses alone.
    start: (p + 1,) first contact of each problem.
    """

    status: NDArray[np.int64]
    impulse: NDArray[np.float64]
    velocity: NDArray[np.float64]
    residual: NDArray[np.float64]
    start: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.status)

    def impulse_of(self, index: int) -> NDArray[np.float64]:
        """Return the impulses (m, dim) of one problem [N s]."""
        i = range(len(self))[index]
        return self.impulse[self.start[i] : self.start[i + 1]]
