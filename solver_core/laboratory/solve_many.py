# SPDX-License-Identifier: GPL-3.0-or-later
"""Entry point for many contact problems at once: `solve_many(problems)`.

Problems of few contacts are solved in one kernel, with the function that `solve` tries first. `solve` then solves the problems
that it did not accept, and all others, one by one. So the results are those of `solve`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compile.announce import announcer
from ..compile.kernel import kernel
from ..problem.accuracy import coulomb_error
from ..problem.arguments import require_limits
from ..problem.given_arrays import finite_array
from ..problem.result import Results, Status
from ..problem.subsystem import subsystem
from ..solvers.effort import effort_of_a_step
from ..solvers.kaufman_2008.staggered import into_cones
from .few_contacts import MOST_FEW, solve_few
from .many_problems import ContactProblems
from .solve import solve

__all__ = ["solve_many"]

Floats = NDArray[np.float64]


@kernel
def _solve_each(system, start, is_apart, tolerance, effort, impulse, velocity, residual):
    """Solve the problems of few contacts, and return which ones are solved (p,).

    start: (p + 1,) first contact of each problem. is_apart: (p,) problems that are not in the system.
    impulse: (m, 3) on input, the warm start; on output, the impulses of the solved problems [N s].
    velocity: (m, 3) output [m/s]. residual: (p,) output.
    """
    p, number = start.size - 1, np.full(system.offset.size - 1, -1, np.int64)
    solved, history = np.zeros(p, np.bool_), np.zeros((1, 3))
    for i in range(p):
        first, last = start[i], start[i + 1]
        if is_apart[i] or last - first > MOST_FEW:
            continue
        if first == last:
            solved[i] = True
            continue
        part, _ = subsystem(system, np.arange(first, last), number)
        if np.isinf(part.mu).any():
            continue
        some = impulse[first:last].copy()
        into_cones(part, some)
        answer = solve_few(part, tolerance, effort, history, some, np.empty(part.velocity.size))
        if answer.solved:
            solved[i], residual[i] = True, answer.worst
            impulse[first:last], velocity[first:last] = some, answer.velocity
    return solved


def solve_many(problems: ContactProblems, *, tolerance: float = 1e-6, warm_start: ArrayLike | None = None) -> Results:
    """Solve many contact problems by the default method of `solve`, with the same results.

    Parameters
    ----------
    problems : ContactProblems
    tolerance : float
        As in `solve`, for each problem separately.
    warm_start : (contacts, dim) array, optional
        Impulses of all problems to start from [N s].

    Returns
    -------
    Results

    Raises
    ------
    ValueError
        Names the argument.
    """
    announcer()
    if not isinstance(problems, ContactProblems):
        raise ValueError(f"problems must be ContactProblems, not {type(problems).__name__}")
    require_limits(tolerance, 1, np.inf)
    contacts, dim, p = problems.contacts, problems.dim, len(problems)
    impulse, velocity, residual = np.zeros((contacts, 3)), np.zeros((contacts, 3)), np.zeros(p)
    start_impulses = None if warm_start is None else finite_array("warm_start", warm_start)
    if start_impulses is not None:
        if start_impulses.shape != (contacts, dim):
            raise ValueError(f"warm_start must have shape {(contacts, dim)}, not {start_impulses.shape}")
        impulse[:, :dim] = start_impulses
    is_apart = np.zeros(p, dtype=bool)
    is_apart[list(problems.apart)] = True
    of_each = effort_of_a_step(), impulse, velocity, residual
    solved = _solve_each(problems.system, problems.start, is_apart, float(tolerance), *of_each)
    status = np.full(p, Status.SOLVED, np.int64)
    for i in np.flatnonzero(~solved).tolist():
        of_problem, problem = slice(problems.start[i], problems.start[i + 1]), problems[i]
        result = solve(problem, tolerance=tolerance, warm_start=None if start_impulses is None else start_impulses[of_problem])
        status[i], residual[i] = result.status, coulomb_error(problem, result, 0)
        impulse[of_problem, :dim], velocity[of_problem, :dim] = result.impulse, result.velocity
    return Results(status, impulse[:, :dim], velocity[:, :dim], residual, problems.start)
