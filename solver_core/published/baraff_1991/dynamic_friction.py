# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact problems without static friction as linear complementarity problems (Baraff 1991, sections 3 and 7).

At a contact that slides along d, the normal force f determines friction: lam = (1, -mu d) f. With this substituted, and
bilateral constraints eliminated, only normal forces and accelerations remain:

    a = A f + b,    f >= 0,    a >= 0,    f . a = 0                                        (9)

Without friction, A is symmetric positive semidefinite. With friction it is neither, and there may be several solutions or none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...problem.accuracy import residuals
from ...problem.contact_problem import ContactProblem
from ...problem.result import Result, Status
from ...solvers.bilateral import without_bilateral
from ..complementarity import checked, default_pivot_limit
from ..dense import dense_problem, impulse_from_forces, result_of
from .lemke import lemke

__all__ = ["dynamic_friction"]

Floats = NDArray[np.float64]


def dynamic_friction(
    problem: ContactProblem, tolerance: float, max_iterations: int | None, time_limit: float, warm_start: Floats | None
) -> Result:
    """Solve a contact problem with no friction, or with friction along given directions, by Lemke's algorithm.

    tolerance: bound on `lcp_residual`.
    max_iterations: limit of pivots; None for `default_pivot_limit`.
    time_limit: time after which the best result so far is returned [s].
    warm_start: (m, dim) impulses or None [N s]; contacts with a normal impulse are initially clamped.

    Returns a `Result`. Its status is RAY if the algorithm finds contact impulses instead of forces, (10) of the paper; a
    problem may have both. An unsolved result is never worse than no impulses.

    Raises ValueError that names the first contact that may stick.
    """
    sticks = np.flatnonzero((problem.system.mu > 0.0) & ~problem.slides_along_given)
    if sticks.size:
        raise ValueError(
            f"mu[{sticks[0]}] = {problem.system.mu[sticks[0]]:g} at a contact that may stick, so this is not a linear "
            "complementarity problem: set its sliding_direction, pass static_friction='creep' or 'signs', or choose the method "
            "pivot or staggered"
        )
    free = without_bilateral(problem)
    A, b, _, layout = dense_problem(free.problem)
    start = None if warm_start is None else warm_start[:, 0] > 0.0
    pivot_limit = default_pivot_limit(b.size) if max_iterations is None else max_iterations
    found = checked(lemke(A, b, start, pivot_limit, time_limit), b, tolerance)
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
