"""Contact problems without static friction as linear complementarity problems (Baraff 1991, sections 3 and 7).

Where a contact slides along d, the normal force alone says what friction is: lam = F f, and column k of F is (1, -mu_k d_k) in
the rows of contact k. With N the rows of the normals,

    a = A f + b,    A = N^T G F,    b = g_n + c

A is symmetric positive semidefinite without friction. With it A is neither, and there may be several solutions or none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..problem import ContactProblem
from ..result import Result
from .lcp import solve_lcp

__all__ = ["dynamic_friction"]

Floats = NDArray[np.float64]


def dynamic_friction(
    problem: ContactProblem, tolerance: float, max_iterations: int | None, time_limit: float, warm_start: Floats | None
) -> Result:
    """Solve a contact problem whose friction is absent or along given directions, by Lemke's algorithm.

    max_iterations: pivots, None as in `solve_lcp`. warm_start: (m, dim); contacts with a normal impulse in it begin clamped.
    Ends with RAY where it finds contact impulses in place of forces, (10) of Baraff 1991: a problem may have both. Raises
    ValueError that names the first contact that may stick.
    """
    m, dim = problem.contacts, problem.dim
    sticks = np.flatnonzero((problem.system.mu > 0.0) & ~problem.slides_along_given)
    if sticks.size:
        raise ValueError(
            f"mu[{sticks[0]}] = {problem.system.mu[sticks[0]]:g} at a contact that may stick, which is no linear "
            "complementarity problem: give its sliding_direction, or choose method pivot or staggered"
        )
    G, g, lift = _without_bilateral(problem)
    forces = np.zeros((m, dim, m))
    every = np.arange(m)
    forces[every, 0, every] = 1.0
    forces[every, 1:, every] = -problem.system.mu[:, None] * problem.direction
    forces = forces.reshape(m * dim, m)
    found = solve_lcp(
        G[::dim] @ forces,
        g[::dim] + problem.system.slack,
        tolerance=tolerance,
        max_iterations=max_iterations,
        time_limit=time_limit,
        start=None if warm_start is None else warm_start[:, 0] > 0.0,
    )
    impulse = forces @ found.force
    held = -(lift @ np.append(impulse, 1.0))
    momentum = problem.jacobian.T @ impulse + problem.bilateral[0].T @ held
    return Result(
        status=found.status,
        impulse=impulse.reshape(m, dim),
        velocity=(G @ impulse + g).reshape(m, dim),
        body_velocity=problem.system.velocity + problem.inverse_mass @ momentum,
        stats=found.stats,
        solver="lemke",
        bilateral=held,
        ray=None if found.ray is None else (forces @ found.ray).reshape(m, dim),
    )


def _without_bilateral(problem: ContactProblem) -> tuple[Floats, Floats, Floats]:
    """(G, g, lift) of the contacts alone: u_b = 0 gives lam_b = -lift (lam, 1), with lift = G_bb^+ (G_bc, g_b)."""
    cut = problem.contacts * problem.dim
    G, g = problem.delassus, problem.free_velocity.ravel()
    free = np.column_stack([G[cut:, :cut], problem.bilateral[1]])
    lift = np.asarray(np.linalg.lstsq(G[cut:, cut:], free, rcond=None)[0], dtype=np.float64)
    return G[:cut, :cut] - G[:cut, cut:] @ lift[:, :-1], g - G[:cut, cut:] @ lift[:, -1], lift
