# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's method on contact and Coulomb friction together, in the method of multipliers, with the penalty that it bears.

With y = (alpha, beta), rho > 0 and the response y(w) of `problem/coulomb.py`, whose friction radii are those of its own alpha,

    M (v - v_hat) = J^T y(v),    y(v) = y(y_k - rho (J v + c)),

is solved for v by a semismooth Newton method with the derivative  M + J^T D J,  and y_(k+1) := y(v) repeats (Alart and Curnier
1991, "A mixed formulation for frictional contact problems prone to Newton like solution methods"). A contact that slides makes
the derivative unsymmetric, there is no function that every step brings down, and convergence is only local: this is a way to
propose impulses, never to accept them.

Each y_(k+1) is a proximal point step: the impulses of contacts with the compliance 1/rho about y_k (Rockafellar 1976). With a
small rho each contact answers mostly to itself, and Newton's method gets there from nearly anywhere; with a large one few steps
are needed. Where bodies fit exactly, redundant contacts hand impulses on among them before anything slides: multipliers drift,
by as much in every step as rho is large, while errors stay as they are. So rho rises after each step in which Newton's method
is quick, and falls where it does not come to an end: those multipliers are dropped (Bertsekas 1982, "Constrained Optimization
and Lagrange Multiplier Methods", sections 2.2 and 5.2, on when to raise a penalty). The nearest of all steps is proposed.
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

# rho_k times the effective inverse mass. Tries of a solve begin with the first ones in turn: which of them leads to a solution
# differs from problem to problem.
FIRST_PENALTIES = (1e2, 1e0, 1e1)
LEAST_PENALTY, LARGEST_PENALTY = 1e-2, 1e7
PENALTY_OF_JOINTS = 1e5  # at any penalty of contacts: what is linear needs no other
RISE, FALL = 3.0, 0.1  # factors of the penalty, where Newton's method is quick, and where it does not come to an end
QUICK_STEPS, MAX_STEPS = 5, 12  # of Newton's method
MAX_UPHILL = 4  # whole steps among joints that bring nothing down: where pieces of the response meet these often lead on
MAX_FALLS = 2  # of the penalty, one after the other
WITHIN = 1e-2  # of the least natural map so far, that Newton's method leaves
WITHIN_AT_MOST = 1e-4  # of the fastest velocity, in place of that map where it is larger
REUSE = 0.1  # of the imbalance: a factor that leaves no more of it a step is used again where joints, linear, prevail


class _Law(NamedTuple):
    """The law whose velocities are looked for: a `System`, sides of the friction polygon, rho (m,) and multipliers y (m, 3)."""

    system: System
    sides: int
    rho: Floats
    y: Floats


class _Trial(NamedTuple):
    """What velocities v lead to: the response y(v) (m, 3) and D (m, 3, 3); gradient: (n,) M (v - v_hat) - J^T y(v), and M^-1
    of it; speed: (m, 3) J of that."""

    response: Floats
    derivative: Floats
    gradient: Floats
    back: Floats
    speed: Floats


@leaf_kernel
def _respond_all(law, v, work, trial):
    """The response y(v) and D of all contacts and joints; work: u and w, (3,) each."""
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
    """The kinetic norm of M (v - v_hat) - J^T y(v), all of `trial` being brought up to v."""
    _respond_all(law, v, (np.empty(3), np.empty(3)), trial)
    imbalance(law.system, BOTH, trial.response, v - law.system.velocity, (trial.gradient, trial.back))
    square = 0.0
    for i in range(v.size):
        square += trial.gradient[i] * trial.back[i]
    return np.sqrt(max(0.0, square))


@kernel_part
def _factorise(operator, derivative, effort):
    """Whether M + J^T D J has a factorisation, which the operator has then."""
    assemble(operator, derivative, FALSE)
    count_factorisation(effort)
    return factorise_lu(operator.blocks.structure, operator.factor)


@kernel_part
def _search(law, v, step, now, trial, at):
    """The imbalance after as much of a step as brings it down, and whether any does; at (n,) := the velocities there."""
    t, after = 1.0, np.inf
    while t >= SHORTEST_STEP and not after < (1.0 - DESCENT * t) * now:
        for i in range(v.size):
            at[i] = v[i] + t * step[i]
        after = _imbalance(law, at, trial)
        t *= 0.5
    return after


@kernel_part
def _settle(law, operator, target, effort, v, trial):
    """Newton's method for the velocities v (n,) of a law, within a target, m/s; returns its steps, -1 where it does not come to
    an end. The next multipliers are the response of the trial."""
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
            # not along the step of a factor of another place
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
    """Improve a state until its natural map is at most `criteria.target`, or `criteria.acceptable` and slow to fall, or
    `criteria.fallback` and that at the largest penalty, or is not halved any more; returns it, m/s. sides: of a friction
    polygon, 0 for the disk."""
    system, impulse = operator.system, state.impulse
    m, n, rho = impulse.shape[0], state.v.size, np.empty(impulse.shape[0])
    trial = _Trial(np.zeros((m, 3)), np.zeros((m, 3, 3)), np.empty(n), np.empty(n), np.empty((m, 3)))
    now, trial_v = State(impulse.copy(), np.empty(n)), np.empty(n)
    update_velocities(system, now)
    copy_vector(now.v, state.v)
    least = natural_error(system, now.impulse, now.v, operator.kappa, sides)
    # what is asked to be better may be good by this measure, and is not by another one
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
