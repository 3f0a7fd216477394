# SPDX-License-Identifier: GPL-3.0-or-later
"""What is proposed before a solve as a whole, by Python: for large islands, and for problems given as a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...problem.residuals import scales
from ...problem.result import Found
from ...problem.system import System
from ..block_operator import State
from ..criteria import COARSE, LARGE, criteria_at
from .cascade import ACCELERATED, Request
from .subdomains import MOST_TOGETHER, begin_large, begin_standing

__all__ = ["is_large", "propose_beforehand"]


def is_large(system: System) -> bool:
    """Whether a system is worth taking apart."""
    return len(system.offset) - 1 > LARGE


def propose_beforehand(
    system: System, request: Request, variant: int, effort: NDArray[np.int64], impulse: NDArray[np.float64], threads: int
) -> tuple[int, Found]:
    """Improve impulses (m, 3) of a system that is large or given as a matrix; returns the factorisations, and what found them.

    variant: of Staggered Projections; only the accelerated one, with the friction disk, has proposals. threads: that large
    systems are begun in; no answer depends on their number.
    """
    if variant != ACCELERATED or request.sides > 0 or not len(impulse):
        return 0, Found.START
    if is_large(system):
        # what moves needs its last digits from Newton's method, what stands has them from many iterations of first order
        together = len(system.offset) - 1 <= MOST_TOGETHER
        scale, state = scales(system, impulse)[0], State(impulse, np.empty_like(system.velocity))
        if not request.moving and request.tolerance < COARSE and together:
            return begin_standing(system, criteria_at(request.tolerance, scale), effort, state)
        return begin_large(system, criteria_at(max(request.tolerance, COARSE), scale), effort, state, threads)
    from .given_as_matrix import is_matrix, propose_for_matrix  # scipy's matrices take as long to load as the kernels

    return propose_for_matrix(system, impulse, request.tolerance, effort) if is_matrix(system) else (0, Found.START)
