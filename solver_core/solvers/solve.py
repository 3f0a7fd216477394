"""One door to all solvers: `solve(problem, method=...)`."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from ..accuracy import residuals
from ..problem import ContactProblem
from ..result import Result, Statistics, Status
from ..system import relative_velocity
from .staggered import staggered

__all__ = ["METHODS", "solve"]


def _solve_staggered(problem: ContactProblem, tolerance, max_iterations, warm_start, polygon_sides, joint) -> Result:
    system = problem.system
    m, dim = problem.contacts, problem.dim
    impulse = np.zeros((m, 3))
    if warm_start is not None:
        impulse[:, :dim] = warm_start
    history = np.zeros((max_iterations, 3))
    v = np.empty_like(system.velocity)
    begin = perf_counter()
    status, iterations, factorisations, contact, friction = staggered(
        system, impulse, tolerance, max_iterations, polygon_sides, joint, history, v
    )
    seconds = perf_counter() - begin
    velocity = np.array([relative_velocity(system, k, v) for k in range(m)]).reshape(m, 3)[:, :dim]
    return Result(
        status=Status(status),
        impulse=impulse[:, :dim].copy(),
        velocity=velocity,
        body_velocity=v,
        stats=Statistics(
            iterations=iterations,
            factorisations=factorisations,
            first_projections=np.array([contact, friction]),
            relative_error=history[:iterations, 0].copy(),
            residual=history[:iterations, 1].copy(),
            coulomb=history[:iterations, 2].copy(),
            seconds=seconds,
        ),
        solver="staggered",
    )


METHODS = {"staggered": _solve_staggered}


def solve(
    problem: ContactProblem,
    method: str = "staggered",
    *,
    tolerance: float = 1e-6,
    max_iterations: int = 200,
    warm_start: np.ndarray | None = None,
    polygon_sides: int = 0,
    joint: bool = True,
) -> Result:
    """Solve a contact problem.

    tolerance: bound on the relative error (28) of Kaufman et al. 2008 and on every relative Coulomb residual; above it the
    status is not SOLVED. warm_start: (m, dim) impulses to start from. polygon_sides: 0 for the friction disk, else the K of the
    inscribed polygon. joint: whether iterations begin with a projection onto contact and friction at once (see `staggered`);
    False is the algorithm as it was published. Raises ValueError that names the argument.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(sorted(METHODS))}, not {method!r}")
    if not (np.isfinite(tolerance) and tolerance > 0.0):
        raise ValueError(f"tolerance must be a positive number, not {tolerance!r}")
    if max_iterations < 1:
        raise ValueError(f"max_iterations must be at least 1, not {max_iterations!r}")
    if polygon_sides != 0 and polygon_sides < 3:
        raise ValueError(f"polygon_sides must be 0 (disk) or at least 3, not {polygon_sides!r}")
    if warm_start is not None:
        warm_start = np.asarray(warm_start, dtype=np.float64)
        if warm_start.shape != (problem.contacts, problem.dim) or not np.isfinite(warm_start).all():
            raise ValueError(f"warm_start must be finite, of shape ({problem.contacts}, {problem.dim}), not {warm_start.shape}")
    result = METHODS[method](problem, tolerance, max_iterations, warm_start, polygon_sides, joint)
    return _confirmed(problem, result, tolerance, polygon_sides)


def _confirmed(problem: ContactProblem, result: Result, tolerance: float, polygon_sides: int) -> Result:
    """The result, its status withdrawn where the outside measure does not bear it out."""
    if not (np.isfinite(result.impulse).all() and np.isfinite(result.velocity).all()):
        status = Status.NOT_FINITE
    elif result.status == Status.SOLVED and not residuals(problem, result, polygon_sides=polygon_sides).coulomb <= tolerance:
        status = Status.MAX_ITERATIONS
    else:
        return result
    return Result(status, result.impulse, result.velocity, result.body_velocity, result.stats, result.solver)
