# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems given as a matrix, island by island. Islands are not coupled, and each large one gets its own solve.

Islands of few degrees of freedom stay together, like bodies of a scene. All errors are relative to one velocity scale, that of
the whole problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..problem.contact_problem import ContactProblem
from ..problem.residuals import fastest_velocity
from ..problem.result import WORST_FIRST, Found, Result, Status, together
from ..problem.subsystem import subsystem

__all__ = ["WIDE", "apart", "solve_apart"]

WIDE = 60  # degrees of freedom of ten bodies; the factorization of a larger dense body is slow


def apart(problem: ContactProblem) -> list[NDArray[np.int64]]:
    """Return the contacts of each subproblem that is solved separately; a single one if there is nothing to separate."""
    system = problem.system
    width = np.diff(system.offset)
    is_matrix = (system.body_a < 0).all() and not problem.bilateral_constraints and not problem.joints
    if not problem.contacts or width.max(initial=0) <= WIDE or not is_matrix:
        return [np.arange(problem.contacts)]
    wide = np.flatnonzero(width > WIDE)
    rest = np.flatnonzero(~np.isin(system.body_b, wide))
    return [*([rest] if rest.size else []), *(np.flatnonzero(system.body_b == body) for body in wide)]


def _part(problem: ContactProblem, contacts: NDArray[np.int64], least_scale: float) -> tuple[ContactProblem, NDArray[np.int64]]:
    """Return the subproblem of some contacts, and the indices of its degrees of freedom in the whole problem."""
    system = problem.system
    island, bodies = subsystem(system, contacts, np.full(len(system.offset) - 1, -1))
    jacobian = np.ascontiguousarray(island.jacobian_b[:, :, : np.diff(island.offset).max(initial=0)])
    inverse = island.mass if system.inverse_mass is system.mass else island.inverse_mass
    island = island._replace(jacobian_a=jacobian, jacobian_b=jacobian, inverse_mass=inverse, least_scale=least_scale)
    pieces = [np.arange(system.offset[i], system.offset[i + 1]) for i in bodies]
    freedom = np.concatenate([np.zeros(0, np.int64), *pieces])
    friction = {name: getattr(problem, name)[contacts] for name in ("mu", "mu_dynamic", "sliding", "direction")}
    none = np.zeros((0, island.velocity.size)), np.zeros(0)
    return replace(problem, system=island, bilateral=none, **friction), freedom


def solve_apart(
    problem: ContactProblem, parts: list[NDArray[np.int64]], start: NDArray[np.float64] | None, solve: Callable[..., Result]
) -> Result:
    """Solve each subproblem, and return the result of the whole problem.

    parts: the contacts of each subproblem.
    start: (m, dim) warm start [N s], or None.
    solve: called with a subproblem and its warm start.
    """
    fastest = fastest_velocity(problem.system)
    impulse, velocity = np.zeros((2, problem.contacts, problem.dim))
    v, ray = np.zeros_like(problem.system.velocity), np.zeros((problem.contacts, problem.dim))
    results = []
    for contacts in parts:
        part, freedom = _part(problem, contacts, fastest)
        result = solve(part, None if start is None else start[contacts])
        impulse[contacts], velocity[contacts], v[freedom] = result.impulse, result.velocity, result.body_velocity
        if result.ray is not None:
            ray[contacts] = result.ray
        results.append(result)
    status = min((result.status for result in results), key=WORST_FIRST.index)
    found = max((result.stats.found or Found.START for result in results), default=Found.START)
    stats = results[0].stats
    for result in results[1:]:
        stats = together(stats, result.stats, found)
    stats = replace(stats, found=found if status is Status.SOLVED else None)
    proof = ray if status in (Status.RAY, Status.INFEASIBLE) else None
    return replace(results[0], status=status, impulse=impulse, velocity=velocity, body_velocity=v, stats=stats, ray=proof)
