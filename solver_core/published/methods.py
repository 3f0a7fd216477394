# SPDX-License-Identifier: GPL-3.0-or-later
"""The published methods as functions of a contact problem and limits, each confirmed by an outside measure of its law."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..problem.accuracy import residuals
from ..problem.arguments import require_truth
from ..problem.contact_problem import ContactProblem
from ..problem.result import Result, Status
from .baraff_1991.creep import creep_problem
from .baraff_1991.dynamic_friction import dynamic_friction
from .baraff_1991.signs import sign_guessing
from .baraff_1994.contacts import pivot
from .faure_1996.energy import energy
from .joints_as_contacts import joints_as_contacts

__all__ = ["LARGEST_IMPULSE", "Limits", "confirm", "solve_energy", "solve_lemke", "solve_pivot"]

Floats = NDArray[np.float64]

LARGEST_IMPULSE = 1e150  # N s: the square of a larger one is not finite


@dataclass(frozen=True)
class Limits:
    """The limits of a solve: iterations (None for the default of the method), time_limit in s, and a warm start (m, dim)."""

    tolerance: float
    max_iterations: int | None
    time_limit: float
    warm_start: Floats | None


def confirm(result: Result, measured: float, limits: Limits) -> Result:
    """Return the result, UNCONFIRMED if the outside measure of its law exceeds the tolerance."""
    numbers = np.abs(result.impulse).max(initial=0.0), np.abs(result.velocity).max(initial=0.0)
    if not all(number <= LARGEST_IMPULSE for number in numbers):
        # Residuals relative to an infinite square are zero for any impulses.
        return replace(result, status=Status.NOT_FINITE, stats=replace(result.stats, found=None))
    if result.status == Status.SOLVED and not measured <= limits.tolerance:
        return replace(result, status=Status.UNCONFIRMED, stats=replace(result.stats, found=None))
    return result


def solve_pivot(problem: ContactProblem, limits: Limits, *, guess: bool = True) -> Result:
    """Solve by pivoting (Baraff 1994). guess: True to guess the index sets first, see `solve`."""
    require_truth("guess", guess)
    joined = joints_as_contacts(problem)
    bounds = limits.tolerance, limits.max_iterations, limits.time_limit
    result = joined.result(pivot(joined.problem, *bounds, joined.start(limits.warm_start), bool(guess)))
    return confirm(result, residuals(problem, result).static_friction, limits)


def solve_energy(problem: ContactProblem, limits: Limits, *, as_published: bool = False) -> Result:
    """Solve by redistributions of energy (Faure 1996). as_published: True for the paper's algorithm without changes, see
    `solve`."""
    require_truth("as_published", as_published)
    joined = joints_as_contacts(problem)

    def error_of(result: Result) -> float:
        return residuals(problem, joined.result(result)).coulomb

    bounds = limits.tolerance, limits.max_iterations, limits.time_limit
    result = joined.result(energy(joined.problem, *bounds, joined.start(limits.warm_start), error_of, bool(as_published)))
    return confirm(result, residuals(problem, result).coulomb, limits)


def solve_lemke(
    problem: ContactProblem,
    limits: Limits,
    *,
    static_friction: str | None = None,
    creep_speed: float | None = None,
    tangential_velocity: ArrayLike | None = None,
) -> Result:
    """Solve by Lemke's algorithm (Baraff 1991). The options are those of `solve`.

    Raises ValueError that names the option.
    """
    if problem.joints:
        raise ValueError("the problem has joints, which the method lemke does not support: choose staggered or pivot")
    if static_friction not in (None, "creep", "signs"):
        raise ValueError(f"static_friction must be None, 'creep' or 'signs', not {static_friction!r}")
    if static_friction == "creep":
        if creep_speed is None:
            raise ValueError("static_friction='creep' needs creep_speed: the speed in m/s below which friction fades")
        problem = creep_problem(problem, creep_speed, tangential_velocity)
    else:
        for name, value in (("creep_speed", creep_speed), ("tangential_velocity", tangential_velocity)):
            if value is not None:
                raise ValueError(f"{name} is for static_friction='creep' only, not for {static_friction!r}")
    algorithm, box = (sign_guessing, True) if static_friction == "signs" else (dynamic_friction, False)
    result = algorithm(problem, limits.tolerance, limits.max_iterations, limits.time_limit, limits.warm_start)
    return confirm(result, residuals(problem, result, box=box).coulomb, limits)
