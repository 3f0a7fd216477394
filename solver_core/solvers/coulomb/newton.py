# SPDX-License-Identifier: GPL-3.0-or-later
"""Semismooth Newton method for contact and Coulomb friction together, inside the method of multipliers.

Let y = (alpha, beta), rho > 0, and y(w) the projection of `problem/coulomb.py`, whose friction radii follow from its own alpha:

    M (v - v_hat) = J^T y(v),    y(v) = y(y_k - rho (J v + c)),

A semismooth Newton method with the derivative  M + J^T D J  solves this for v. Then y_(k+1) := y(v), and the step repeats
(Alart and Curnier 1991, "A mixed formulation for frictional contact problems prone to Newton like solution methods"). A sliding
contact makes the derivative unsymmetric. No merit function decreases in every step, and convergence is only local. The method
therefore only proposes impulses; it never accepts them.

Each y_(k+1) is a proximal point step: the impulses of contacts with compliance 1/rho about y_k (Rockafellar 1976). With a small
rho, each contact depends mostly on itself, and Newton's method converges from almost any start. With a large rho, few proximal
steps are needed. If bodies fit exactly, redundant contacts exchange impulses before anything slides: the multipliers drift in
proportion to rho, and the errors do not decrease. So rho increases after each step in which Newton's method is fast. If the
method does not converge, rho decreases, and its multipliers are discarded (Bertsekas 1982, "Constrained Optimization and
Lagrange Multiplier Methods", sections 2.2 and 5.2, on when to raise a penalty). The step with the smallest error is proposed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, inner_kernel, kernel_part, leaf_kernel
from ...linalg.block_lu import factorise_lu, solve_lu_in_place
from ...linalg.copying import copy_rows, copy_vector
from ...problem.coulomb import respond, respond_in_rows
from ...problem.residuals import natural_error
from ...problem.system import System
from ..block_operator import (
    BOTH,
    State,
    assemble,
    gap_velocity,
    imbalance,
    update_velocities,
    velocities_of_change,
)
from ..criteria import DESCENT, HALVED, SHORTEST_STEP, SLOW_GAIN
from ..effort import DONE, count_factorisation, patience, spent

__all__ = ["FIRST_PENALTIES", "newton"]

Floats = NDArray[np.float64]

# rho_k times the effective inverse mass. The tries of a solve start with these in turn, because the one that succeeds depends
# on the problem.
FIRST_PENALTIES = (1e2, 1e0, 1e1)
LEAST_PENALTY, LARGEST_PENALTY = 1e-2, 1e7
PENALTY_OF_JOINTS = 1e5  # at any penalty of contacts, because joints are mostly linear
RISE, FALL = 3.0, 0.1  # factors of the penalty if Newton's method is fast, and if it does not converge
QUICK_STEPS, MAX_STEPS = 5, 12  # Newton steps: at most so many if fast, and the limit
MAX_UPHILL = 4  # full steps without a decrease, with joints only; at kinks of y(w) these often help
MAX_FALLS = 2  # consecutive reductions of the penalty
WITHIN = 1e-2  # target of Newton's method, relative to the smallest natural map so far
WITHIN_AT_MOST = 1e-4  # upper bound of that map, relative to the velocity scale
REUSE = 0.1  # a factor is reused with joints if a step leaves at most this fraction of the residual


class _Law(NamedTuple):
    """The equation to solve: a `System`, sides of the friction polygon, rho (m,) [kg] and multipliers y (m, 3) [N s]."""

    system: System
    sides: int
    rho: Floats
    y: Floats


class _Trial(NamedTuple):
    """Evaluation of the equation at velocities v.

    response: (m, 3) y(v). derivative: (m, 3, 3) D.
    gradient: (n,) momentum residual M (v - v_hat) - J^T y(v). back: (n,) M^-1 times it. speed: (m, 3) J times `back`.
    """

    response: Floats
    derivative: Floats
    gradient: Floats
    back: Floats
    speed: Floats


@leaf_kernel
def _respond_all(law, v, work, trial):
    """Compute y(v) and D of all contacts and joints. work: two arrays (3,)."""
    (system, sides, rho, y), (u, w) = law, work
    for k in range(rho.size):
        gap_velocity(system, k, v, u)
        for r in range(3):
            w[r] = y[k, r] - rho[k] * u[r]
        if k < system.mu.size:
            respond(system.mu[k], sides, rho[k], w, trial.response[k], trial.derivative[k])
        else:
            respond_in_rows(system.box[k - system.mu.size], rho[k], w, trial.response[k], trial.derivative[k])


@inner_kernel
def _imbalance(law, v, trial):
    """Update `trial` to v, except `speed`, and return the kinetic norm of its momentum residual."""
    _respond_all(law, v, (np.empty(3), np.empty(3)), trial)
    imbalance(law.system, BOTH, trial.response, v - law.system.velocity, (trial.gradient, trial.back))
    square = 0.0
    for i in range(v.size):
        square += trial.gradient[i] * trial.back[i]
    return np.sqrt(max(0.0, square))


@kernel_part
def _factorise(operator, derivative, effort):
    """Factor M + J^T D J in the storage of the operator. Return False if there is no factor."""
    assemble(operator, derivative, FALSE)
    count_factorisation(effort)
    return factorise_lu(operator.blocks.structure, operator.factor)


@kernel_part
def _search(law, v, step, now, trial, at):
    """Backtrack along a Newton step until the residual norm decreases, and return the last norm.

    now: norm at v. at: (n,) output, velocities of the last trial. If no step length helps, the result is not below `now`.
    """
    t, after = 1.0, np.inf
    while t >= SHORTEST_STEP and not after < (1.0 - DESCENT * t) * now:
        for i in range(v.size):
            at[i] = v[i] + t * step[i]
        after = _imbalance(law, at, trial)
        t *= 0.5
    return after


@kernel_part
def _settle(law, operator, target, effort, v, trial):
    """Solve for the velocities v (n,) of a law with Newton's method, and return the number of steps, or -1 if it fails.

    target: bound on the velocity change that the residual would cause at a contact [m/s].
    v: on input, the start; on output, the solution. The next multipliers are `trial.response`.
    """
    system, at = law.system, np.empty(v.size)
    last, factored, linear = np.inf, False, system.box.shape[0] > 0
    uphill = MAX_UPHILL if linear else 0
    now = _imbalance(law, v, trial)
    for done in range(MAX_STEPS):
        if velocities_of_change(system, BOTH, trial.back, trial.speed) <= target:
            return done
        if spent(effort):
            return -1
        fresh = not (factored and linear) or now > REUSE * last
        if fresh and not _factorise(operator, trial.derivative, effort):
            return -1
        factored, last = True, now
        step = -trial.gradient
        solve_lu_in_place(operator.blocks.structure, operator.factor, step)
        after = _search(law, v, step, now, trial, at)
        if not after < now and not fresh:
            # The reused factor gave no descent direction, so factor again at the present velocities.
            factored = False
            now = _imbalance(law, v, trial)
            continue
        if not after < now:
            if uphill == 0:
                return -1
            uphill -= 1
            for i in range(v.size):
                at[i] = v[i] + step[i]
            after = _imbalance(law, at, trial)
        now = after
        copy_vector(at, v)
    return -1


@inner_kernel
def newton(operator, sides, first_penalty, criteria, effort, state):
    """Improve a state and return its natural map [m/s].

    It stops if the natural map is at most `criteria.target`, or at most `criteria.acceptable` with slow progress, or at most
    `criteria.fallback` with slow progress at the largest penalty. It also stops if the error is no longer halved.

    sides: number of sides of the friction polygon, 0 for the disk.
    first_penalty: first rho times the effective inverse mass.
    effort: counts and bounds the work.
    state: on input, the warm start; on output, the impulses with the smallest natural map and their velocities.
    """
    system, impulse = operator.system, state.impulse
    m, n, rho = impulse.shape[0], state.v.size, np.empty(impulse.shape[0])
    trial = _Trial(np.zeros((m, 3)), np.zeros((m, 3, 3)), np.empty(n), np.empty(n), np.empty((m, 3)))
    now, trial_v = State(impulse.copy(), np.empty(n)), np.empty(n)
    update_velocities(system, now)
    copy_vector(now.v, state.v)
    least = natural_error(system, now.impulse, now.v, operator.kappa, sides)
    # The start may already be within the target here, but not by another residual. So always require an improvement.
    target, falls = min(criteria.target, SLOW_GAIN * least), 0
    penalty, mark, progressed, slow = first_penalty, least, effort[DONE], False
    while least > (criteria.acceptable if slow else target) and penalty >= LEAST_PENALTY and not spent(effort):
        if effort[DONE] - progressed >= patience(effort):
            break
        copy_vector(now.v, trial_v)
        before = effort[DONE]
        inner = WITHIN * min(least, WITHIN_AT_MOST * criteria.scale)
        for k in range(m):
            rho[k] = (penalty if k < system.mu.size else PENALTY_OF_JOINTS) * operator.kappa[k]
        steps = _settle(_Law(system, sides, rho, now.impulse), operator, inner, effort, trial_v, trial)
        if steps < 0:
            falls += 1
            if least <= criteria.acceptable or falls > MAX_FALLS:
                break
            penalty *= FALL
            continue
        falls = 0
        copy_rows(trial.response, now.impulse)
        update_velocities(system, now)
        error = natural_error(system, now.impulse, now.v, operator.kappa, sides)
        slow = not error < SLOW_GAIN * least
        if error < least:
            least = error
            copy_rows(now.impulse, impulse)
            copy_vector(now.v, state.v)
        if least <= HALVED * mark:
            mark, progressed = least, effort[DONE]
        if steps <= QUICK_STEPS:
            penalty = min(RISE * penalty, LARGEST_PENALTY)
        if penalty == LARGEST_PENALTY and (effort[DONE] == before or (slow and least <= criteria.fallback)):
            break
    return least
