# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's method on contact and friction together, multiplier step after multiplier step, with the penalty that it bears.

Where bodies fit exactly, redundant contacts hand impulses on among them before anything slides: the multipliers drift, by as
much in every step as the penalty is large, while errors stay as they are, and rise where a contact lets go. `coulomb_newton.py`
ends there, for an error that does not fall is mostly one that never will. Here the penalty rises after each step in which
Newton's method is quick, so that the drift is soon over, and falls where it does not come to an end: those multipliers are
dropped (Bertsekas 1982, "Constrained Optimization and Lagrange Multiplier Methods", sections 2.2 and 5.2, on when to raise a
penalty). What is nearest of all steps is what it proposes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel, kernel_part, leaf_kernel
from ...linalg.block_lu import factorise_lu, solve_lu_in_place
from ...problem.residuals import natural_error
from ...problem.system import relative_velocity
from ..block_operator import BOTH, generalised_impulse, velocity_after
from ..effort import DONE, count_factorisation, patience, spent
from .coulomb_newton import SHORTEST_STEP, assemble_unsymmetric, find_imbalance
from .projection import JOINT_PENALTY
from .stiffening_bodies import Factors

__all__ = ["Means", "multipliers"]

Floats = NDArray[np.float64]

BEGINNING_PENALTY, LEAST_PENALTY, HIGHEST_PENALTY = 1e1, 1e-2, 1e7  # rho_k times the effective inverse mass
RISE, FALL = 3.0, 0.1  # times the penalty, where Newton's method is quick, and where it does not come to an end
QUICK_STEPS, MOST_STEPS = 5, 12  # of Newton's method
SLOWLY = 0.1  # of an error from step to step: what is enough is still brought nearer
WELL_WITHIN = 1e-2  # of the least error so far, that Newton's method leaves


class Means(NamedTuple):
    """What Newton's method works with: room for factors, the sides of a friction polygon, 0 for the disk, the diagonal (m, 3)
    of the Delassus operator, and effective masses (m,)."""

    factors: Factors
    sides: int
    inverse: Floats
    kappa: Floats


@leaf_kernel
def _fastest(system, change):
    """The largest relative velocity that a change of velocities (n,) makes, m/s."""
    largest = 0.0
    for k in range(system.body_a.size):
        n, t1, t2 = relative_velocity(system, k, change)
        largest = max(largest, abs(n - system.bias[k, 0]), abs(t1 - system.bias[k, 1]), abs(t2 - system.bias[k, 2]))
    return largest


@inner_kernel
def _settle(system, means, rho, near, effort, y, v, fresh):
    """Steps of Newton's method until velocities v (n,) are within `near`, m/s, for multipliers y (m, 3), -1 where they are not;
    fresh (m, 3) := the next multipliers."""
    m, n = y.shape[0], v.size
    blocks, lower, upper = means.factors
    derivative, work, gradient, back, trial = np.zeros((m, 3, 3)), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    now = find_imbalance(system, means.sides, rho, y, v, fresh, derivative, work, gradient, back)
    for done in range(MOST_STEPS):
        if _fastest(system, back) <= near:
            return done
        if spent(effort):
            return -1
        assemble_unsymmetric(lower, upper, system, blocks, derivative)
        count_factorisation(effort)
        if not factorise_lu(blocks.structure, lower, upper):
            return -1
        step = -gradient
        solve_lu_in_place(blocks.structure, lower, upper, step)
        t, after = 1.0, np.inf
        while t >= SHORTEST_STEP and not after < (1.0 - 0.1 * t) * now:
            for i in range(n):
                trial[i] = v[i] + t * step[i]
            after = find_imbalance(system, means.sides, rho, y, trial, fresh, derivative, work, gradient, back)
            t *= 0.5
        if not after < now:
            # where pieces of the map meet, the whole step often leads on
            for i in range(n):
                trial[i] = v[i] + step[i]
            after = find_imbalance(system, means.sides, rho, y, trial, fresh, derivative, work, gradient, back)
        now = after
        v[:] = trial
    return -1


@kernel_part
def multipliers(system, means, aims, effort, impulse, v):
    """Improve impulses (m, 3) and their velocities v (n,) until their natural map is good, or enough and slow to fall, or is
    not halved any more; returns it. aims: what is good, what is enough, and the velocity that errors are a part of, m/s."""
    goal, enough, fastest = aims
    m, n = impulse.shape[0], v.size
    rho, scale, work = np.empty(m), np.empty(m), np.empty(n)
    for k in range(m):
        total = means.inverse[k].sum()
        scale[k] = 3.0 / total if total > 0.0 else 0.0
        if k >= system.mu.size:
            scale[k] *= JOINT_PENALTY
    y, fresh, now_v, trial_v = impulse.copy(), np.zeros((m, 3)), np.empty(n), np.empty(n)
    generalised_impulse(system, BOTH, m, y, work)
    velocity_after(system, system.velocity, work, now_v)
    v[:] = now_v
    least = natural_error(system, y, now_v, means.kappa, means.sides)
    penalty, mark, progressed, slow = BEGINNING_PENALTY, least, effort[DONE], True
    while least > (enough if slow else goal) and penalty >= LEAST_PENALTY and not spent(effort):
        if effort[DONE] - progressed >= patience(effort):
            break
        rho[:] = penalty * scale
        trial_v[:] = now_v
        before = effort[DONE]
        steps = _settle(system, means, rho, WELL_WITHIN * min(least, 1e-4 * fastest), effort, y, trial_v, fresh)
        if steps < 0:
            if least <= enough:
                break
            penalty *= FALL
            continue
        y[:] = fresh
        generalised_impulse(system, BOTH, m, y, work)
        velocity_after(system, system.velocity, work, now_v)
        error = natural_error(system, y, now_v, means.kappa, means.sides)
        slow = not error < SLOWLY * least
        if error < least:
            least = error
            impulse[:] = y
            v[:] = now_v
        if least <= 0.5 * mark:
            mark, progressed = least, effort[DONE]
        if steps <= QUICK_STEPS:
            penalty = min(RISE * penalty, HIGHEST_PENALTY)
        if effort[DONE] == before and penalty == HIGHEST_PENALTY:
            break
    return least
