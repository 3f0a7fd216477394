# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments that look almost right are refused by name, never truncated, cast or passed on."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc

from ..contact_problems import problem_of_bodies, problem_of_matrix

GOOD = {"G": np.eye(6), "g": np.zeros(6), "mu": 0.5}
SKEW = np.eye(6)
SKEW = SKEW + np.outer(np.eye(6)[0], np.eye(6)[1]) * 0.3


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"mu": np.nan}, r"\bmu\b.*nan"),
        ({"mu": -np.inf}, r"\bmu\b.*inf"),
        ({"mu": None}, r"\bmu\b.*None"),
        ({"G": [[1.0, 0.0], [0.0]]}, r"\bG must be an array of numbers"),
        ({"mu_dynamic": np.nan}, r"mu_dynamic\b.*nan"),
        ({"slack": np.nan}, r"slack\b.*nan"),
        ({"g": np.zeros((3, 2))}, r"\bg\b.*\(3, 2\)"),
        ({"G": np.eye(6) * 1j}, r"\bG\b"),
        ({"sliding": ["a", "b"]}, r"sliding"),
        ({"sliding": [np.nan, 0.0]}, r"sliding"),
        ({"dim": 2.0}, r"dim"),
        ({"bilateral": -1}, r"bilateral"),
        ({"bilateral": 2}, r"bilateral = 2"),
        ({"sliding": [True, False], "sliding_direction": np.zeros((2, 2))}, r"sliding_direction\[0\] has length zero"),
        ({"sliding": [True, False], "sliding_direction": np.ones((2, 3))}, r"sliding_direction must have shape"),
    ],
)
def test_an_odd_argument_of_a_delassus_problem_is_named(bad, message):
    with pytest.raises(ValueError, match=message):
        problem_of_matrix(**(GOOD | bad))


BODIES = {
    "masses": [np.eye(6), np.eye(6)],
    "velocity": np.zeros(12),
    "body_a": [0],
    "body_b": [1],
    "jacobian_a": np.ones((1, 3, 6)),
    "jacobian_b": np.ones((1, 3, 6)),
    "mu": 0.5,
}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"masses": [SKEW, np.eye(6)]}, r"masses\[0\].*symmetric"),
        ({"body_a": [0.7]}, r"pairs\[0\]\[0\].*0\.7"),
        ({"body_a": [np.nan]}, r"pairs\[0\]\[0\].*nan"),
        ({"body_a": ["a"]}, r"pairs\[0\]"),
        ({"pairs": [[0], [1], [2]]}, r"pairs must be two arrays"),
        ({"jacobians": 1.0}, r"jacobians must be two arrays"),
        ({"bilateral": np.ones((1, 12))}, r"bilateral must be two arrays"),
        ({"bilateral": (np.ones((1, 6)), 0.0)}, r"bilateral\[0\].*12.*\(1, 6\)"),
        ({"bilateral": (np.ones((1, 12)), [0.0, 1.0])}, r"bilateral\[1\].*1.*\(2,\)"),
        ({"masses": None}, r"masses.*None"),
        ({"masses": 3.0}, r"masses.*3\.0"),
    ],
)
def test_an_odd_argument_of_a_problem_of_bodies_is_named(bad, message):
    with pytest.raises(ValueError, match=message):
        problem_of_bodies(**(BODIES | bad))


@pytest.mark.parametrize(
    "bad",
    [
        {"polygon_sides": 8.5},
        {"max_iterations": 2.5},
        {"tolerance": None},
        {"tolerance": "a"},
        {"warm_start": "x"},
        {"time_limit": 0.0},
        {"colour": 3},
    ],
)
def test_an_odd_option_of_solve_is_named(bad):
    problem = sc.ContactProblem.from_delassus(**GOOD)
    with pytest.raises(ValueError, match=next(iter(bad))):
        sc.solve(problem, **bad)


@pytest.mark.parametrize("sides", [2, -3])
def test_residuals_refuse_a_polygon_of_too_few_sides(sides):
    problem = sc.ContactProblem.from_delassus(**GOOD)
    with pytest.raises(ValueError, match="polygon_sides"):
        sc.residuals(problem, sc.solve(problem), polygon_sides=sides)


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e308])
def test_a_sliding_direction_may_have_any_length_but_zero(size):
    problem = sc.ContactProblem.from_delassus(
        np.eye(3), [-1.0, 0.0, 0.0], sc.Friction(0.5, sliding=[True], sliding_direction=[[0.0, -size]])
    )
    np.testing.assert_allclose(problem.direction, [[0.0, -1.0]])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"problem": None}, r"problem must be a ContactProblem"),
        ({"problem": np.eye(3)}, r"problem must be a ContactProblem"),
        ({"method": ["pivot"]}, r"method must be one of"),
        ({"staggering": "x"}, r"staggering must be one of accelerated, plain, published"),
        ({"method": "pivot", "guess": None}, r"guess must be True or False"),
        ({"warm_start": [[1.0, np.nan, 0.0]]}, r"warm_start\[0, 1\] is nan"),
        ({"warm_start": np.zeros((2, 3))}, r"warm_start must have shape \(1, 3\)"),
    ],
)
def test_an_odd_argument_of_solve_is_named(bad, message):
    problem = sc.ContactProblem.from_delassus(np.eye(3), [-1.0, 0.0, 0.0], 0.5)
    with pytest.raises(ValueError, match=message):
        sc.solve(**({"problem": problem} | bad))
