# SPDX-License-Identifier: GPL-3.0-or-later
"""Detection of infeasible islands, in which no velocities satisfy all contacts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...problem.contact_problem import ContactProblem
from ...problem.residuals import fastest_velocity
from ...problem.result import Status
from ...problem.subsystem import subsystem
from ...problem.system import System, relative_velocities
from ...solvers.infeasible import contradiction

__all__ = ["mark_infeasible"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def mark_infeasible(
    system: System,
    islands: tuple[Indices, Indices, Indices],
    tolerance: Floats,
    v: Floats,
    status: Indices,
    which: Indices | None,
) -> None:
    """Set the status of infeasible islands to INFEASIBLE.

    Parameters
    ----------
    system : the contact problem
    islands : `Islands`
    tolerance : (islands,) relative
    v : (n,) velocities of the failed solve
    status : (islands,) updated in place
    which : the islands to check among the unconverged ones; None to check all of them
    """
    (start, contacts, number), velocity = islands, relative_velocities(system, v)
    failed = np.flatnonzero((status == Status.MAX_ITERATIONS) | (status == Status.UNCONFIRMED))
    for i in failed if which is None else np.intersect1d(failed, which):
        chosen = contacts[start[i] : start[i + 1]]
        problem = ContactProblem.of_system(subsystem(system, chosen, number)[0])
        if _is_infeasible(problem, velocity[chosen], float(tolerance[i])):
            status[i] = Status.INFEASIBLE


def _is_infeasible(problem: ContactProblem, velocity: Floats, tolerance: float) -> bool:
    """Return whether contacts close too fast at velocities (m, 3) and a proof exists that no velocities satisfy them."""
    fastest = fastest_velocity(problem.system)
    contacts = problem.system.mu.size
    closing = -(velocity[:contacts, 0] + problem.system.slack).min(initial=np.inf)
    return bool(closing > tolerance * fastest) and contradiction(problem, tolerance) is not None
