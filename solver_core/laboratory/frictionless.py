# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems without friction that are given as a matrix: one linear complementarity problem per island, solved by pivoting.

Pivoting factors the dense matrix once, while projections factor it in each step.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ..problem.contact_problem import ContactProblem
from ..problem.residuals import law_of
from ..problem.result import Found, Result, Statistics, Status

__all__ = ["is_frictionless_matrix", "without_friction"]

# Largest tolerance of pivoting. It stops at Baraff's law, and impulses within a loose tolerance of that law may be far from
# Coulomb's.
TIGHT = 1e-8
PIVOTS_PER_CONTACT = 60  # limit of pivots; a problem that needs more is left to the other methods


def is_frictionless_matrix(problem: ContactProblem) -> bool:
    """Return True if a problem has no friction and is given as a matrix with an island of more than six degrees of freedom."""
    system = problem.system
    wide = (system.body_a < 0).all() and np.diff(system.offset).max(initial=0) > 6
    return bool(wide) and not system.mu.any() and not problem.joints


def without_friction(problem: ContactProblem, tolerance: float, time_limit: float) -> Result:
    """Solve a problem for which `is_frictionless_matrix` is True, by pivoting.

    The status is SOLVED if the residuals are within the tolerance. Without friction (28) is zero, and nothing else is required.

    tolerance: relative. time_limit: [s].
    """
    begin, dim, impulse = perf_counter(), problem.dim, np.zeros((problem.contacts, 3))
    impulse[:, 0] = _complementary_impulses(problem, tolerance, time_limit)
    worst, velocity, v = law_of(problem.system, impulse, 0)
    status = Status.SOLVED if worst <= tolerance else Status.UNCONFIRMED
    stats = Statistics(1, 0, perf_counter() - begin, found=Found.PIVOTING)
    return Result(status, impulse[:, :dim], velocity[:, :dim], v, stats, "staggered")


def _complementary_impulses(problem: ContactProblem, tolerance: float, time_limit: float) -> NDArray[np.float64]:
    """Return the normal impulses (m,) [N s], by section 4 of Baraff 1994, island by island.

    They are zero in an island for which pivoting fails.
    """
    from ..published.baraff_1994.lcp import pivot_lcp

    system, deadline = problem.system, perf_counter() + time_limit
    impulse = np.zeros(problem.contacts)
    free = problem.free_velocity[:, 0] + system.slack
    for body in range(len(system.offset) - 1):
        chosen = np.flatnonzero(system.body_b == body)
        size = int(system.offset[body + 1] - system.offset[body])
        normal = system.jacobian_b[chosen, 0, :size]
        block = system.inverse_mass[system.block_start[body] : system.block_start[body + 1]].reshape(size, size)
        operator = normal @ (normal.T if np.array_equal(block, np.eye(size)) else block @ normal.T)
        time_left = max(deadline - perf_counter(), 0.0)
        pivot_limit = PIVOTS_PER_CONTACT * (chosen.size + 1)
        force = pivot_lcp(
            0.5 * (operator + operator.T), free[chosen], None, min(tolerance, TIGHT), pivot_limit, time_left
        ).force
        if np.isfinite(force).all():
            impulse[chosen] = force
    return impulse
