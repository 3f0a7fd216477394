"""Arguments that look almost right are refused by name, never truncated, cast or passed on."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc

GOOD = {"G": np.eye(6), "g": np.zeros(6), "mu": 0.5}
SKEW = np.eye(6)
SKEW = SKEW + np.outer(np.eye(6)[0], np.eye(6)[1]) * 0.3


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"mu": np.nan}, r"\bmu\b.*nan"),
        ({"mu": np.inf}, r"\bmu\b.*inf"),
        ({"mu": None}, r"\bmu\b"),
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
        sc.ContactProblem.from_delassus(**(GOOD | bad))


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
        ({"body_a": [0.7]}, r"body_a\[0\].*0\.7"),
        ({"body_a": [np.nan]}, r"body_a\[0\].*nan"),
        ({"body_a": ["a"]}, r"body_a"),
    ],
)
def test_an_odd_argument_of_a_problem_of_bodies_is_named(bad, message):
    with pytest.raises(ValueError, match=message):
        sc.ContactProblem.from_bodies(**(BODIES | bad))


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
