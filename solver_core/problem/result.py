# SPDX-License-Identifier: GPL-3.0-or-later
"""What every solver returns: a status, impulses, velocities and typed statistics."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

__all__ = ["PRECEDED_BY", "WORST_FIRST", "Found", "Result", "Results", "Statistics", "Status", "together"]


class Status(IntEnum):
    """How a solve ended; only SOLVED means that the residuals of the law were measured to be within the tolerance."""

    SOLVED = 0
    MAX_ITERATIONS = 1  # no solution within the limit of iterations, or of the work that they may be; the best iterate found
    NOT_FINITE = 2  # the arithmetic broke down; the result must not be used
    RAY = 3  # no solution was found, but a direction of contact impulses was: `Result.ray` (Baraff 1991, section 7)
    INFEASIBLE = 4  # no velocities keep to all contacts at once, as `Result.ray` proves; the best iterate found is returned
    TIME_LIMIT = 5  # time was over; the best iterate found is returned
    UNCONFIRMED = 6  # the algorithm's own rule stopped it, and the residuals of the law are above the tolerance


# what several solves ended with, in one, is the first of these that one of them did
WORST_FIRST = (
    Status.NOT_FINITE,
    Status.INFEASIBLE,
    Status.RAY,
    Status.TIME_LIMIT,
    Status.MAX_ITERATIONS,
    Status.UNCONFIRMED,
    Status.SOLVED,
)
PRECEDED_BY = tuple(WORST_FIRST.index(status) for status in Status)  # how many there, by the value of a status


class Found(IntEnum):
    """What found an answer: of Staggered Projections the proposal that the accepted iteration began with, else the method."""

    START = 0  # nothing: the impulses that it was started from were good, or none were needed
    STAGGERING = 1  # no proposal: the projections (24) and (25) alone
    NEWTON = 2  # Newton's method on contact and friction together
    HELD_RADII = 3  # only in caches of earlier versions: a projection onto both, with Tresca friction
    PIVOTING = 4  # Baraff's algorithm
    SWEEPS = 5  # Gauss-Seidel sweeps over the contacts
    ADMM = 6  # the alternating direction method of multipliers
    CLUSTERS = 7  # only in caches of earlier versions: clusters of bodies around the worst contacts
    ENERGY = 8  # redistributions of energy (Faure 1996)
    ELIMINATION = 9  # joints that hold eliminated, and Newton's method on what is left


@dataclass(frozen=True)
class Statistics:
    """What a solve cost and how it went.

    iterations: staggered iterations, pivots, or redistributions of energy. factorisations: numeric factorisations of a system
    matrix, updates not counted. seconds: wall time. Of Staggered Projections: first_projections: factorisations of the first
    contact and the first friction projection, (2,); relative_error and residual: one entry an iteration, (iterations,), (28),
    dimensionless, and (29), J; coulomb, also of redistributions of energy: relative Coulomb residual after each, as the solver
    itself saw it; found: what found the answer, None where there is none. Of pivoting: drives: calls to
    `drive_to_zero`; given_up: how often an oscillating contact was left for later; rank_deficient: pivots refused because they
    depended on those made already; restarts: trials after the first one.
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
    """The statistics of two runs of a method, one after the other, and what found the answer."""
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

    impulse: (m, dim) N s in contact axes (n, t1, t2). velocity: (m, dim) m/s, relative velocity of B against A after the
    impulses. body_velocity: (degrees of freedom,). solver: the name of the algorithm that produced it. bilateral: (b,)
    impulses of the bilateral constraints. ray: (m, dim) direction of contact impulses, ray_n >= 0, or None. Where the status is
    RAY: the normal velocity that it causes is not positive where ray_n > 0 (Baraff 1991, (10)). Where it is INFEASIBLE: they
    move nothing, and ray_n . (u_n + c) is negative whatever the velocities (see `solvers.infeasible`).
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
    """Solutions of p `ContactProblems`, whose contacts are start[i] to start[i + 1] of problem i.

    status: (p,) values of `Status`. impulse, velocity: (contacts, dim), as of `Result`. residual: (p,) the largest relative
    residual of Coulomb's law, measured from the impulses alone. start: (p + 1,).
    """

    status: NDArray[np.int64]
    impulse: NDArray[np.float64]
    velocity: NDArray[np.float64]
    residual: NDArray[np.float64]
    start: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.status)

    def impulse_of(self, index: int) -> NDArray[np.float64]:
        """(m, dim) the impulses of one problem."""
        i = range(len(self))[index]
        return self.impulse[self.start[i] : self.start[i + 1]]
