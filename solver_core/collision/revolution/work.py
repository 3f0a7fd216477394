# SPDX-License-Identifier: GPL-3.0-or-later
"""Work arrays for the contacts of cylinders and cones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..polyhedra.hull_pair import MAX_AXES

__all__ = ["MAX_POLYTOPE_POINTS", "RoundWork", "round_work"]

MAX_POLYTOPE_POINTS = 160


class RoundWork(NamedTuple):
    """Work arrays for pairs with a round shape.

    points (., 3), faces (., 3), planes (., 4), horizon (., 2): the polytope of `expanding_polytope`.
    candidates: (., 3) candidate points [m]. candidate_ids: (.,) their indices. axes: (MAX_AXES, 4) see `several_axes`.
    """

    points: NDArray[np.float64]
    faces: NDArray[np.int64]
    planes: NDArray[np.float64]
    horizon: NDArray[np.int64]
    candidates: NDArray[np.float64]
    candidate_ids: NDArray[np.int64]
    axes: NDArray[np.float64]


def round_work() -> RoundWork:
    """Allocate `RoundWork` for any pair."""
    return RoundWork(
        np.empty((MAX_POLYTOPE_POINTS, 3)),
        np.empty((2 * MAX_POLYTOPE_POINTS, 3), dtype=np.int64),
        np.empty((2 * MAX_POLYTOPE_POINTS, 4)),
        np.empty((6 * MAX_POLYTOPE_POINTS, 2), dtype=np.int64),
        np.empty((16, 3)),
        np.empty(16, dtype=np.int64),
        np.empty((MAX_AXES, 4)),
    )
