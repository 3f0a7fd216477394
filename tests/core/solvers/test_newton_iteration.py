# SPDX-License-Identifier: GPL-3.0-or-later
"""The iteration that all Newton methods share, on equations of one unknown whose solutions are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from solver_core.solvers.coulomb.newton_iteration import NewtonOperator, NewtonRules, newton_iteration


@dataclass
class Equation:
    """f(x) = 0 with its derivative, and a count of the derivatives that were factored."""

    f: Callable[[float], float]
    slope: Callable[[float], float]
    factor: float = 0.0
    factored: int = 0


def evaluate(equation, x, trial):
    trial["x"], trial["f"] = x[0], equation.f(x[0])
    return abs(trial["f"])


def is_solved(_equation, trial, target):
    return abs(trial["f"]) <= target


def find_step(equation, trial, fresh, step):
    if fresh:
        equation.factor = equation.slope(trial["x"])
        equation.factored += 1
    if equation.factor == 0.0:
        return False
    step[0] = -trial["f"] / equation.factor
    return True


OPERATOR = NewtonOperator(evaluate, is_solved, find_step)
DOWNHILL = NewtonRules(20, 0, True, 0.0)


def solve(equation, start, rules=DOWNHILL, target=1e-12):
    x = np.array([start])
    steps, solved = newton_iteration.py_func(OPERATOR, equation, rules, target, x, {})
    return x[0], steps, solved


def test_the_line_search_finds_a_root_that_full_steps_run_away_from():
    """Newton's method on arctan diverges from 2 (Dennis and Schnabel 1983, section 6.3), where its step is 5.5 long."""
    x, _, solved = solve(Equation(np.arctan, lambda x: 1.0 / (1.0 + x * x)), 2.0)
    assert solved and x == pytest.approx(0.0, abs=1e-12)


def test_a_solution_takes_no_step():
    equation = Equation(lambda x: x, lambda _: 1.0)
    assert solve(equation, 0.0) == (0.0, 0, True)
    assert equation.factored == 0


def test_if_no_step_length_helps_full_steps_are_taken_as_often_as_the_rules_allow():
    """f is 1 up to 1/2 and jumps to 4.5 there, so each part of the step from 0 to 1 is uphill or flat."""
    jump = Equation(lambda x: 1.0 if x < 0.5 else 5.0 - x, lambda _: -1.0)
    assert solve(jump, 0.0, DOWNHILL) == (0.0, 1, False)
    assert solve(jump, 0.0, NewtonRules(20, 1, True, 0.0)) == (5.0, 2, True)


def test_uphill_steps_may_be_the_shortest_ones():
    """f is 1 up to 1/20 and 5 - x from there: a step of 1/16 crosses the jump."""
    jump = Equation(lambda x: 1.0 if x < 0.05 else 5.0 - x, lambda _: -1.0)
    x, steps, solved = solve(jump, 0.0, NewtonRules(20, 1, False, 0.0))
    assert (x, steps, solved) == (5.0, 2, True)
    assert solve(jump, 0.0, NewtonRules(20, 0, False, 0.0)) == (0.0, 1, False)


def test_a_step_that_is_not_finite_keeps_the_last_unknowns():
    equation = Equation(lambda x: 1.0 if x == 0.0 else np.nan, lambda _: 1.0)
    assert solve(equation, 0.0, NewtonRules(20, 3, True, 0.0)) == (0.0, 1, False)


def test_a_singular_derivative_ends_it():
    assert solve(Equation(lambda x: x * x + 1.0, lambda x: 2.0 * x), 0.0) == (0.0, 1, False)


def test_the_last_step_is_checked():
    """A root that the last allowed step reaches is found."""
    assert solve(Equation(lambda x: x - 4.0, lambda _: 1.0), 0.0, NewtonRules(1, 0, True, 0.0)) == (4.0, 1, True)


@pytest.mark.parametrize(("reuse", "factored"), [(0.0, 5), (0.5, 1)])
def test_a_factor_is_used_again_while_it_reduces_the_residual(reuse, factored):
    """Of x + x^2 / 20 = 1, whose derivative hardly changes."""
    equation = Equation(lambda x: x + 0.05 * x * x - 1.0, lambda x: 1.0 + 0.1 * x)
    x, steps, solved = solve(equation, 0.0, NewtonRules(40, 0, True, reuse))
    assert solved and x == pytest.approx(-10.0 + np.sqrt(120.0))
    assert equation.factored <= factored and steps >= equation.factored


def test_a_factor_that_gives_no_descent_is_renewed():
    """The first step leads from the slope -2 to the slope 1, where a step with the old factor leads uphill."""
    equation = Equation(lambda x: 4.0 - 2.0 * x if x < 0.8 else x - 1.0, lambda x: -2.0 if x < 0.8 else 1.0)
    x, _, solved = solve(equation, 0.0, NewtonRules(20, 0, True, 0.9))
    assert solved and x == 1.0 and equation.factored == 2
