# SPDX-License-Identifier: GPL-3.0-or-later
"""What a simulation hands out for every frame: poses, velocities and the statistics of the frame's steps."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Frame", "FrameStatistics"]


@dataclass(frozen=True)
class FrameStatistics:
    """One entry a time step of the frame, in order; every array has the shape (steps,) unless it says more.

    status holds the values of `solver_core.Status`; iterations, factorisations and contacts are counts; found (steps, 8) is how
    many islands were solved by what each of `solver_core.Found` names; solves is how often the step was solved, once for what
    touched at its begin and again with what the motion ran into, cuts how often it was cut at an impact into shorter ones, 0
    for a whole step; relative_error is (28) of Kaufman et al. 2008 and residual is their (29) in J; cone, complementarity,
    dissipation and natural_map (of pivoting its static_map) are the relative Coulomb residuals as `solver_core.residuals`
    measures them; worst_pair (steps, 2) are the indices of the bodies at the worst of these contacts, -1 when there is none;
    deepest_overlap in m is that of the two bodies deepest_pair (steps, 2), which are deepest in each other for the size of the
    smaller one, and overlap_ratio the same in its half extents, 0 when nothing overlaps as the step begins or ends; asleep
    counts the bodies that slept through the step, whose contacts are in none of these figures; seconds is wall time.
    """

    status: NDArray[np.int64]
    contacts: NDArray[np.int64]
    islands: NDArray[np.int64]
    iterations: NDArray[np.int64]
    factorisations: NDArray[np.int64]
    solves: NDArray[np.int64]
    found: NDArray[np.int64]
    cuts: NDArray[np.int64]
    asleep: NDArray[np.int64]
    relative_error: NDArray[np.float64]
    residual: NDArray[np.float64]
    cone: NDArray[np.float64]
    complementarity: NDArray[np.float64]
    dissipation: NDArray[np.float64]
    natural_map: NDArray[np.float64]
    worst_pair: NDArray[np.int64]
    deepest_overlap: NDArray[np.float64]
    overlap_ratio: NDArray[np.float64]
    deepest_pair: NDArray[np.int64]
    seconds: NDArray[np.float64]


@dataclass(frozen=True)
class Frame:
    """State at the end of a frame.

    poses: (bodies, 7) position in m and orientation quaternion (w, x, y, z) of every body frame in the world. velocities:
    (bodies, 6) linear velocity in m/s of the body frame's origin and angular velocity in rad/s, world axes. statistics: of the
    steps that led here from the frame before, empty arrays for the first frame. reactions: (joints, 6) force in N on body B of
    every joint, and torque in N m about the joint, world axes, the mean over the frame; broken: (joints,) which are gone.
    """

    frame: int
    poses: NDArray[np.float64]
    velocities: NDArray[np.float64]
    statistics: FrameStatistics
    reactions: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 6)))
    broken: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
