# SPDX-License-Identifier: GPL-3.0-or-later
"""The damped semismooth Newton iteration, for any equation of contact and friction.

The unknowns of a contact problem have two forms: velocities of bodies (`newton.py`), and impulses if only a matrix is known,
small and dense (`newton_in_impulses.py`) or large (`dense_newton.py`). The equations are piecewise smooth, because the
projection onto the friction constraints is. Their iteration, line search and stopping rule are here, once.

What depends on the form is a `NewtonOperator`: three functions of an equation. The iteration is Python source that kernels
inline, so an operator made of kernels is called directly. An operator made of Python functions, which may call LAPACK, runs the
same source as `newton_iteration.py_func`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...compile.kernel import kernel_part

__all__ = ["NewtonOperator", "NewtonRules", "newton_iteration"]

# Line search: the shortest step, relative to a Newton step, and the required relative decrease of the residual per unit of step
# length. Shorter steps lead nowhere at a kink. With a larger decrease good steps are halved, with a smaller one steps are
# accepted that hardly help.
SHORTEST_STEP, DESCENT = 0.06, 0.1


class NewtonOperator(NamedTuple):
    """The functions of one form of the equation. `trial` is a record of arrays that `evaluate` fills.

    evaluate: (equation, x, trial) evaluates the equation at the unknowns x (n,) and returns the norm of its residual.
    is_solved: (equation, trial, target) returns True if the residual of a trial is at most a velocity `target` [m/s].
    find_step: (equation, trial, fresh, step) sets step (n,) to the Newton step of a trial. With `fresh` it factors the
        derivative, otherwise it uses the last factor. It returns False if there is no step: the derivative is singular, or the
        budget is used up.
    """

    evaluate: Callable[[Any, Any, Any], float]
    is_solved: Callable[[Any, Any, float], bool]
    find_step: Callable[[Any, Any, bool, Any], bool]


class NewtonRules(NamedTuple):
    """Limits of an iteration.

    max_steps: maximum number of steps.
    max_uphill: maximum number of steps that are taken although no step length decreases the residual. Across a kink of the
        projection such a step often helps.
    full_uphill: True if these are full steps, False if they are the shortest ones.
    reuse: a factor is used again if its last step left at most this fraction of the residual; 0 for a new factor in each step.
    """

    max_steps: int
    max_uphill: int
    full_uphill: bool
    reuse: float


@kernel_part
def newton_iteration(operator, equation, rules, target, x, trial):
    """Solve an equation with Newton's method, and return the number of steps and whether the target is reached.

    Each step is halved until the norm of the residual decreases enough, down to a step length of `SHORTEST_STEP`.

    operator: `NewtonOperator` of the equation.
    equation: record that the operator's functions know.
    rules: `NewtonRules`.
    target: bound of `operator.is_solved` [m/s].
    x: (n,) on input, the start; on output, the unknowns of the last accepted step.
    trial: on output, the evaluation at x if the target is reached, otherwise at the last unknowns that were tried.
    """
    at, step = np.empty(x.size), np.empty(x.size)
    last, is_factored, uphill = np.inf, False, rules.max_uphill
    now = operator.evaluate(equation, x, trial)
    for done in range(rules.max_steps + 1):
        if operator.is_solved(equation, trial, target):
            return done, True
        fresh = not is_factored or not now <= rules.reuse * last
        if done == rules.max_steps or not operator.find_step(equation, trial, fresh, step):
            return min(done + 1, rules.max_steps), False
        is_factored, last = True, now
        t, after = 1.0, np.inf
        while t >= SHORTEST_STEP and not after < (1.0 - DESCENT * t) * now:
            for i in range(x.size):
                at[i] = x[i] + t * step[i]
            after = operator.evaluate(equation, at, trial)
            t *= 0.5
        if not after < now and not fresh:
            # The reused factor gave no descent direction, so factor again at the present unknowns.
            is_factored = False
            now = operator.evaluate(equation, x, trial)
            continue
        if not after < now:
            if rules.full_uphill and uphill > 0:
                for i in range(x.size):
                    at[i] = x[i] + step[i]
                after = operator.evaluate(equation, at, trial)
            uphill -= 1
            if uphill < 0 or not np.isfinite(after):
                return done + 1, False
        now = after
        for i in range(x.size):
            x[i] = at[i]
    return rules.max_steps, False
