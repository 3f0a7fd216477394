"""What every solver returns: a status, impulses, velocities and typed statistics."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

__all__ = ["Result", "Statistics", "Status"]


class Status(IntEnum):
    """How a solve ended; only SOLVED means that the Coulomb residuals were measured to be within the tolerance."""

    SOLVED = 0
    MAX_ITERATIONS = 1  # the best iterate found is returned; contact is never violated by it
    NOT_FINITE = 2  # the arithmetic broke down; the result must not be used


@dataclass(frozen=True)
class Statistics:
    """What a solve cost and how it went.

    iterations: staggered iterations, or pivots. factorisations: numeric factorisations of a system matrix.
    first_projections: factorisations of the first contact and the first friction projection, (2,).
    relative_error and residual: one entry an iteration, (iterations,); for Staggered Projections (28), dimensionless, and (29),
    J. coulomb: relative Coulomb residual after each contact projection, as the solver itself saw it. seconds: wall time.
    """

    iterations: int
    factorisations: int
    first_projections: NDArray[np.int64]
    relative_error: NDArray[np.float64]
    residual: NDArray[np.float64]
    coulomb: NDArray[np.float64]
    seconds: float


@dataclass(frozen=True)
class Result:
    """Solution of a `ContactProblem` with m contacts of dimension dim.

    impulse: (m, dim) N s in contact axes (n, t1, t2). velocity: (m, dim) m/s, relative velocity of B against A after the
    impulses. body_velocity: (degrees of freedom,). solver: the name of the algorithm that produced it.
    """

    status: Status
    impulse: NDArray[np.float64]
    velocity: NDArray[np.float64]
    body_velocity: NDArray[np.float64]
    stats: Statistics
    solver: str
