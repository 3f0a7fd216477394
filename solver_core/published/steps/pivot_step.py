# SPDX-License-Identifier: GPL-3.0-or-later
"""A time step by Baraff's algorithm, island by island.

A contact that slides fast at the start of the step has friction mu f_N against that sliding velocity (Baraff 1994, section 6).
If friction would reverse the sliding within the step, the contact has static friction instead. An infinite step of the
algorithm is a set of contact impulses. They are scaled until the first sliding contact sticks, and applied. The rest is an
impact that is solved like any other step (Baraff 1991, section 7.1).
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ...dynamics.solve.islands import Totals
from ...dynamics.solve.step_methods import StepInput
from ...linalg.in_order import length
from ...linalg.small_dense import times
from ...problem.accuracy import residuals
from ...problem.contact_problem import ContactProblem
from ...problem.result import Found, Result, Status
from ...problem.system import System, relative_velocities
from ..baraff_1994.contacts import pivot
from ..joints_as_contacts import joints_as_contacts
from .one_by_one import BARAFF, solve_one_by_one

__all__ = ["sliding_directions", "solve_islands", "solve_step"]

Floats = NDArray[np.float64]

LASTING = 4.0  # times the velocity that friction can remove in a step: faster contacts slide for the whole step
TURNED_BACK = 1e-9  # relative to the fastest relative velocity: a smaller reversal counts as coming to rest


def sliding_directions(system: System, twist: Floats, gravity_speed: float) -> Floats:
    """Return unit vectors (m, 2) along the sliding velocity, or zero for contacts that may come to rest within the step.

    Slower contacts get static friction, which at velocity level is Coulomb's law at the end of the step.

    twist: (n,) velocities of the bodies at the start of the step.
    gravity_speed: velocity that gravity adds in a step [m/s]. Friction under a body's own weight removes mu times as much.
    """
    direction = np.zeros((system.mu.size, 2))
    for k, u in enumerate(relative_velocities(system, twist)[: system.mu.size, 1:]):
        speed = length(u)
        if speed > LASTING * (1.0 + system.mu[k]) * gravity_speed:
            direction[k] = u / speed
    return direction


def solve_step(
    system: System, direction: Floats, warm_start: Floats, tolerance: float, max_iterations: int, deadline: float = np.inf
) -> tuple[ContactProblem, Result]:
    """Solve the step of one island.

    direction: (m, 2) direction of each sliding contact, or zero.
    warm_start: (m, 3) [N s].
    max_iterations: limit of pivots per contact.
    deadline: time of `perf_counter` [s]; the status is TIME_LIMIT if there is no solution by then.

    Returns the problem, with the law that holds at each contact, and its result.
    """
    m = system.body_a.size
    problem = ContactProblem(
        dim=3,
        system=system,
        mu=system.mu,
        mu_dynamic=system.mu,
        sliding=direction.any(axis=1),
        direction=direction.copy(),
        bilateral=(np.zeros((0, system.velocity.size)), np.zeros(0)),
    )
    accumulated = np.zeros((m, 3))
    iterations = 0
    result = None
    for _ in range(m + 1):
        result = pivot(problem, tolerance, max_iterations * m, max(deadline - perf_counter(), 0.0), warm_start)
        iterations += result.stats.iterations
        if result.status is Status.RAY:
            impulse, stuck = _impulses(problem, result)
            if stuck < 0:
                break
            accumulated += impulse
            v = problem.velocity_after(impulse, np.zeros(0))
            problem = _stuck(problem, np.arange(m) == stuck, problem.system._replace(velocity=v))
            continue
        fastest = np.abs(problem.free_velocity).max(initial=0.0)
        turned = np.sum(problem.direction * result.velocity[:, 1:], axis=1) < -TURNED_BACK * fastest
        if result.status is not Status.SOLVED or not turned.any():
            break
        warm_start = result.impulse
        problem = _stuck(problem, turned, problem.system)
    assert result is not None
    result = replace(result, stats=replace(result.stats, iterations=iterations))
    if accumulated.any():
        # One problem for the whole step, from the velocities at its start.
        problem = _stuck(problem, np.zeros(m, dtype=bool), system)
        result = _confirmed(problem, replace(result, impulse=result.impulse + accumulated), tolerance)
    return problem, result


def _confirmed(problem: ContactProblem, result: Result, tolerance: float) -> Result:
    """Return the result, UNCONFIRMED if Baraff's law does not hold for the whole step.

    The sum of an impact, whose friction opposes the initial sliding, and of the remaining step need not be a solution of the
    step.
    """
    if result.status is Status.SOLVED and not residuals(problem, result).static_friction <= tolerance:
        return replace(result, status=Status.UNCONFIRMED)
    return result


def _solve_joined(
    system: System, warm_start: Floats, tolerance: float, max_iterations: int, deadline: float
) -> tuple[ContactProblem, Result]:
    """As `solve_step`, for an island with joints. All its friction is static: sliding contacts have the law of static friction
    at the end of the step, and there are no infinite steps."""
    problem = ContactProblem.of_system(system)
    joined = joints_as_contacts(problem)
    pivot_limit, time_left = max_iterations * problem.contacts, max(deadline - perf_counter(), 0.0)
    result = joined.result(pivot(joined.problem, tolerance, pivot_limit, time_left, joined.start(warm_start)))
    return problem, _confirmed(problem, result, tolerance)


def _stuck(problem: ContactProblem, stuck: NDArray[np.bool_], system: System) -> ContactProblem:
    direction = np.where(stuck[:, None], 0.0, problem.direction)
    return replace(problem, system=system, direction=direction)


def _impulses(problem: ContactProblem, result: Result) -> tuple[Floats, int]:
    """Return the ray scaled until the first sliding contact sticks, and that contact, or -1 if none ever sticks."""
    assert result.ray is not None
    change = times(problem.delassus, result.ray.ravel()).reshape(result.ray.shape)
    speed = np.sum(problem.direction * problem.free_velocity[:, 1:], axis=1)
    slowing = np.sum(problem.direction * change[:, 1:], axis=1)
    scale = np.full(speed.size, np.inf)
    sticks = (slowing < 0.0) & (speed > 0.0)
    scale[sticks] = -speed[sticks] / slowing[sticks]
    first = int(np.argmin(scale))
    return (scale[first] * result.ray, first) if np.isfinite(scale[first]) else (np.zeros_like(result.ray), -1)


def solve_islands(system: System, impulse: Floats, step: StepInput) -> tuple[Floats, Totals]:
    """Solve every island by pivoting. This is a `StepMethod`, see `solve_one_by_one`.

    The reported dissipation is the larger of opposition and saturation, see `residuals`.
    """
    direction = sliding_directions(system, step.velocities, step.gravity_speed)
    limits = step.tolerance, step.max_iterations, step.deadline

    def solve(part: System, chosen: NDArray[np.int64], warm_start: Floats) -> tuple[ContactProblem, Result]:
        if len(part.box):
            return _solve_joined(part, warm_start, *limits)
        return solve_step(part, direction[chosen], warm_start, *limits)

    return solve_one_by_one(system, impulse, solve, BARAFF, Found.PIVOTING)
