# SPDX-License-Identifier: GPL-3.0-or-later
"""A time step by Faure's redistributions of energy, island by island, with Coulomb's law at the end of the step."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ...dynamics.solve.islands import Totals
from ...dynamics.solve.step_methods import StepInput
from ...problem.contact_problem import ContactProblem
from ...problem.result import Found, Result
from ...problem.system import System
from ...solvers.infeasible import proved_infeasible
from ...solvers.kaufman_2008.staggered import into_cones
from ..methods import Limits, solve_energy
from .one_by_one import COULOMB, solve_one_by_one

__all__ = ["solve_islands"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

MIN_TIME = 1e-9  # s; time limit of an island after the deadline of the step


def solve_islands(system: System, impulse: Floats, step: StepInput) -> tuple[Floats, Totals]:
    """Solve every island with `energy`. This is a `StepMethod`, see `solve_one_by_one`."""

    def solve_part(part: System, _chosen: Indices, warm_start: Floats) -> tuple[ContactProblem, Result]:
        problem, time_left = ContactProblem.of_system(part), max(step.deadline - perf_counter(), MIN_TIME)
        start = warm_start.copy()
        into_cones(part, start)
        result = solve_energy(problem, Limits(step.tolerance, step.max_iterations, time_left, start))
        return problem, proved_infeasible(problem, result, step.tolerance)

    return solve_one_by_one(system, impulse, solve_part, COULOMB, Found.ENERGY)
