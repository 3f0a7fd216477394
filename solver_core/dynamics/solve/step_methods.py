# SPDX-License-Identifier: GPL-3.0-or-later
"""The methods of a step other than Staggered Projections, which are loaded when a scene selects one.

A module of this table has a function `solve_islands`, a `StepMethod`. The engine knows its name only, so a bake with Staggered
Projections loads none of the published methods.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...problem.system import System
from ...scene.spec import ContactMethod
from .islands import Totals

__all__ = ["STEP_METHODS", "StepInput", "StepMethod", "step_method"]

Floats = NDArray[np.float64]

CORE_PACKAGE = __name__.removesuffix(".dynamics.solve.step_methods")
STEP_METHODS = {
    ContactMethod.PIVOT: "published.steps.pivot_step",
    ContactMethod.ENERGY: "published.steps.energy_step",
}


class StepInput(NamedTuple):
    """The input of a step's solve besides its system and warm start.

    velocities: (dof,) at the start of the step. gravity_speed: m/s that gravity gives in the step. tolerance: relative.
    max_iterations: as of `SolverSettings`. deadline: of `perf_counter`; a later solve has the status TIME_LIMIT if it has no
    solution yet.
    """

    velocities: Floats
    gravity_speed: float
    tolerance: float
    max_iterations: int
    deadline: float


# Solves every island of a system. The impulses (m, 3) are the warm start and are overwritten. Returns velocities (dof,) and
# totals.
StepMethod = Callable[[System, Floats, StepInput], tuple[Floats, Totals]]


def step_method(method: ContactMethod) -> StepMethod:
    """Load the published method of a step.

    Parameters
    ----------
    method : any method but Staggered Projections

    Returns
    -------
    The function that solves a step's islands. Raises KeyError for a method that is not registered.
    """
    return import_module(f"{CORE_PACKAGE}.{STEP_METHODS[method]}").solve_islands
