# SPDX-License-Identifier: GPL-3.0-or-later
"""Semismooth Newton method for contact and Coulomb friction together, inside the method of multipliers.

Let y = (alpha, beta), rho > 0, and y(w) the projection of `problem/coulomb.py`, whose friction radii follow from its own alpha:

    M (v - v_hat) = J^T y(v),    y(v) = y(y_k - rho (J v + c)),

The iteration of `newton_iteration.py` with the derivative  M + J^T D J  solves this for v. Then y_(k+1) := y(v), and the step
repeats (Alart and Curnier 1991, "A mixed formulation for frictional contact problems prone to Newton like solution methods"). A
sliding contact makes the derivative unsymmetric. No merit function decreases in every step, and convergence is only local. The
method therefore only proposes impulses; it never accepts them.

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

from ...compile.kernel import FALSE, inner_kernel, leaf_kernel
from ...linalg.block_lu import factorise_lu, solve_lu_in_place
from ...linalg.copying import copy_rows, copy_vector
from ...problem.coulomb import respond, respond_in_rows
from ...problem.residuals import natural_error
from ..block_operator import (
    BOTH,
    Operator,
    State,
    assemble,
    gap_velocity,
    imbalance,
    update_velocities,
    velocities_of_change,
)
from ..criteria import HALVED, SLOW_GAIN
from ..effort import DONE, count_factorisation, patience, spent
from .newton_iteration import NewtonOperator, NewtonRules, newton_iteration

__all__ = ["FIRST_PENALTIES", "newton"]

Floats = NDArray[np.float64]

# Penalties are rho_k times the effective inverse mass of contact k. The tries of a solve start with these in turn, because the
# one that succeeds depends on the problem. A larger one needs fewer proximal steps, but fails more often from a distant start.
FIRST_PENALTIES = (1e2, 1e0, 1e1)
# With a smaller penalty a try ends. A larger one would cost more digits than it saves steps.
LEAST_PENALTY, LARGEST_PENALTY = 1e-2, 1e7
# Penalty of joints at any penalty of contacts, because their rows are linear. Triples with two bounds on each row, as of joints
# that can break, have kinks as contacts do, and share the penalty of contacts. With the penalty of joints, Newton's method
# fails where many of them reach their bounds.
PENALTY_OF_JOINTS = 1e5
RISE, FALL = 3.0, 0.1  # factors of the penalty if Newton's method is fast, and if it does not converge
QUICK_STEPS, MAX_STEPS = 5, 11  # Newton steps: at most so many if fast, and the limit
MAX_UPHILL = 4  # uphill steps, with joints only; without joints they cost factorizations and find nothing
MAX_FALLS = 2  # consecutive reductions of the penalty; with more, a try that fails takes longer
WITHIN = 1e-2  # target of Newton's method, relative to the smallest natural map so far; a looser one disturbs the next step
WITHIN_AT_MOST = 1e-4  # upper bound of that map, relative to the velocity scale
# Factorizations without halving the error after which the refinement of an accepted state ends. With more, redundant contacts
# that exchange impulses take thousands; with fewer, walls come to rest later.
PATIENCE_OF_REFINEMENT = 20
REUSE = 0.1  # a factor is reused with joints if a step leaves at most this fraction of the residual; 0 never reuses it


class _Equation(NamedTuple):
    """The equation of one proximal point step, in velocities.

    operator: `Operator` of the system, with the storage of the factor.
    sides: number of sides of the friction polygon, 0 for the disk.
    rho: (m,) penalties [kg]. y: (m, 3) multipliers [N s].
    effort: counts and bounds the work.
    """

    operator: Operator
    sides: int
    rho: Floats
    y: Floats
    effort: NDArray[np.int64]


class _Trial(NamedTuple):
    """Evaluation of the equation at velocities v.

    response: (m, 3) y(v). derivative: (m, 3, 3) D.
    gradient: (n,) momentum residual M (v - v_hat) - J^T y(v). back: (n,) M^-1 times it. speed: (m, 3) J times `back`.
    u, w: (3,) work arrays.
    """

    response: Floats
    derivative: Floats
    gradient: Floats
    back: Floats
    speed: Floats
    u: Floats
    w: Floats


@leaf_kernel
def _respond_all(equation, v, trial):
    """Compute y(v) and D of all contacts and joints."""
    system, rho, u, w = equation.operator.system, equation.rho, trial.u, trial.w
    for k in range(rho.size):
        gap_velocity(system, k, v, u)
        for r in range(3):
            w[r] = equation.y[k, r] - rho[k] * u[r]
        if k < system.mu.size:
            respond(system.mu[k], equation.sides, rho[k], w, trial.response[k], trial.derivative[k])
        else:
            respond_in_rows(system.box[k - system.mu.size], rho[k], w, trial.response[k], trial.derivative[k])


@inner_kernel
def _evaluate(equation, v, trial):
    """Update `trial` to v, except `speed`, and return the kinetic norm of its momentum residual."""
    system = equation.operator.system
    _respond_all(equation, v, trial)
    imbalance(system, BOTH, trial.response, v - system.velocity, (trial.gradient, trial.back))
    square = 0.0
    for i in range(v.size):
        square += trial.gradient[i] * trial.back[i]
    return np.sqrt(max(0.0, square))


@inner_kernel
def _is_solved(equation, trial, target):
    """Return True if the momentum residual would change no velocity at a contact by more than `target` [m/s]."""
    return velocities_of_change(equation.operator.system, BOTH, trial.back, trial.speed) <= target


@inner_kernel
def _find_step(equation, trial, fresh, step):
    """Set step (n,) to the Newton step, with M + J^T D J factored in the storage of the operator."""
    operator, effort = equation.operator, equation.effort
    if spent(effort):
        return False
    if fresh:
        assemble(operator, trial.derivative, FALSE)
        count_factorisation(effort)
        if not factorise_lu(operator.blocks.structure, operator.factor):
            return False
    for i in range(step.size):
        step[i] = -trial.gradient[i]
    solve_lu_in_place(operator.blocks.structure, operator.factor, step)
    return True


NEWTON_WITH_BODIES = NewtonOperator(_evaluate, _is_solved, _find_step)


@leaf_kernel
def is_bounded(box):
    """Return whether all three rows of a joint have two bounds. box: (3, 3) of the triple, as in a `System`."""
    bounds = 0
    for r in range(3):
        bounds += int(np.isfinite(box[r, 0])) + int(np.isfinite(box[r, 1]))
    return bounds == 6


@inner_kernel
def newton(operator, sides, first_penalty, criteria, effort, state):
    """Improve a state and return its natural map [m/s].

    It stops if the natural map is at most `criteria.target`, or at most `criteria.acceptable` with slow progress, or at most
    `criteria.fallback` with slow progress at the largest penalty. It also stops if the error is no longer halved, sooner if the
    start is within `criteria.fallback` already.

    sides: number of sides of the friction polygon, 0 for the disk.
    first_penalty: first rho times the effective inverse mass.
    effort: counts and bounds the work.
    state: on input, the warm start; on output, the impulses with the smallest natural map and their velocities.
    """
    system, impulse = operator.system, state.impulse
    m, n, rho = impulse.shape[0], state.v.size, np.empty(impulse.shape[0])
    trial = _Trial(
        np.zeros((m, 3)),
        np.zeros((m, 3, 3)),
        np.empty(n),
        np.empty(n),
        np.empty((m, 3)),
        np.empty(3),
        np.empty(3),
    )
    jointed = system.box.shape[0] > 0
    rules = NewtonRules(MAX_STEPS, MAX_UPHILL if jointed else 0, True, REUSE if jointed else 0.0)
    now, trial_v = State(impulse.copy(), np.empty(n)), np.empty(n)
    update_velocities(system, now)
    copy_vector(now.v, state.v)
    least = natural_error(system, now.impulse, now.v, operator.kappa, sides)
    # The start may already be within the target here, but not by another residual. So always require an improvement.
    target, falls = min(criteria.target, SLOW_GAIN * least), 0
    penalty, mark, progressed, slow = first_penalty, least, effort[DONE], False
    stall_limit = PATIENCE_OF_REFINEMENT if least <= criteria.fallback else patience(effort)
    while least > (criteria.acceptable if slow else target) and penalty >= LEAST_PENALTY and not spent(effort):
        if effort[DONE] - progressed >= stall_limit:
            break
        copy_vector(now.v, trial_v)
        before = effort[DONE]
        inner = WITHIN * min(least, WITHIN_AT_MOST * criteria.scale)
        for k in range(m):
            has_kinks = k < system.mu.size or is_bounded(system.box[k - system.mu.size])
            rho[k] = (penalty if has_kinks else PENALTY_OF_JOINTS) * operator.kappa[k]
        equation = _Equation(operator, sides, rho, now.impulse, effort)
        steps, converged = newton_iteration(NEWTON_WITH_BODIES, equation, rules, inner, trial_v, trial)
        if not converged:
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
