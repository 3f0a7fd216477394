# SPDX-License-Identifier: GPL-3.0-or-later
"""A time step with Faure's redistributions of energy, island by island; friction is Coulomb's at the step's end."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ...problem.contact_problem import ContactProblem
from ...problem.result import Found, Result
from ...problem.system import System
from ...solvers.solve import solve
from .islands import Totals
from .one_by_one import COULOMB, solve_one_by_one

__all__ = ["solve_islands_by_energy"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

NO_TIME = 1e-9  # s: `solve` wants some, also where the step's is over


def solve_islands_by_energy(
    system: System, impulse: Floats, tolerance: float, max_iterations: int, deadline: float
) -> tuple[Floats, Totals]:
    """Solve every island, as `solve_one_by_one` says. deadline: of `perf_counter`, after which the status is TIME_LIMIT where
    there is no solution yet."""

    def solve_part(part: System, _chosen: Indices, warm_start: Floats) -> tuple[ContactProblem, Result]:
        problem, left = ContactProblem.of_system(part), max(deadline - perf_counter(), NO_TIME)
        limits = {"tolerance": tolerance, "max_iterations": max_iterations, "time_limit": left}
        return problem, solve(problem, "energy", **limits, warm_start=warm_start)

    return solve_one_by_one(system, impulse, solve_part, COULOMB, Found.ENERGY)
