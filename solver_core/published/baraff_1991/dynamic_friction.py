# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact problems without static friction as linear complementarity problems (Baraff 1991, sections 3 and 7).

Where a contact slides along d, the normal force alone says what friction is, lam = (1, -mu d) f. With it substituted, and
bilateral constraints eliminated, normal forces and accelerations are left:

    a = A f + b,    f >= 0,    a >= 0,    f . a = 0                                        (9)

A is symmetric positive semidefinite without friction. With it A is neither, and there may be several solutions or none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...problem.accuracy import residuals
from ...problem.contact_problem import ContactProblem
from ...problem.result import Result, Status
from ...solvers.bilateral import without_bilateral
from ..complementarity import checked, most_pivots
from ..dense import dense_problem, impulse_from_forces, result_of
from .lemke import lemke

__all__ = ["dynamic_friction"]

Floats = NDArray[np.float64]


def dynamic_friction(
    problem: ContactProblem, tolerance: float, max_iterations: int | None, time_limit: float, warm_start: Floats | None
) -> Result:
    """Solve a contact problem whose friction is absent or along given directions, by Lemke's algorithm.

    max_iterations: pivots, None for as many as `most_pivots` says. warm_start: (m, dim); contacts with a normal impulse in it
    begin clamped. Ends with RAY where it finds contact impulses in place of forces, (10) of Baraff 1991: a problem may have
    both. Raises ValueError that names the first contact that may stick.
    """
    sticks = np.flatnonzero((problem.system.mu > 0.0) & ~problem.slides_along_given)
    if sticks.size:
        raise ValueError(
            f"mu[{sticks[0]}] = {problem.system.mu[sticks[0]]:g} at a contact that may stick, which is no linear "
            "complementarity problem: give its sliding_direction, say by static_friction='creep' or 'signs' how to treat it, "
            "or choose method pivot or staggered"
        )
    free = without_bilateral(problem)
    A, b, _, layout = dense_problem(free.problem)
    start = None if warm_start is None else warm_start[:, 0] > 0.0
    most = most_pivots(b.size) if max_iterations is None else max_iterations
    found = checked(lemke(A, b, start, most, time_limit), b, tolerance)
    impulse, _ = impulse_from_forces(free.problem, layout, found.force)
    result = result_of(problem, impulse, free.bilateral(impulse), "lemke")
    if found.status != Status.SOLVED:
        none = np.zeros_like(impulse)
        nothing = result_of(problem, none, free.bilateral(none), "lemke")
        if not residuals(problem, result).coulomb <= residuals(problem, nothing).coulomb:
            result = nothing
    if found.status != Status.RAY or found.ray is None:
        return replace(result, status=found.status, stats=found.stats)
    ray, _ = impulse_from_forces(free.problem, layout, found.ray)
    return replace(result, status=found.status, stats=found.stats, ray=ray)
