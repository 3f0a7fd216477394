# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of joints beside contacts in one problem: what they hold, let go, give and drive comes out as their laws have it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import solver_core as sc

from ..contact_problems import random_bodies
from ..jointed_problems import DRIVEN, GIVING, HELD, LOWER, UPPER, joined, random_joined

SOLVED = sc.Status.SOLVED


def dual_quadratic_program(problem):
    """Velocities (n,) of a problem without friction, by least squares over impulses within their bounds."""
    m, contacts = problem.contacts, problem.system.mu.size
    low, high, give = np.zeros((m, 3)), np.zeros((m, 3)), np.zeros((m, 3))
    high[:contacts, 0] = np.inf
    low[contacts:], high[contacts:], give[contacts:] = np.moveaxis(problem.system.box, 2, 0)
    g = problem.free_velocity.copy()
    g[:contacts, 0] += problem.system.slack
    acts = (low < high).ravel()
    root = np.linalg.cholesky(problem.inverse_mass)
    rows = np.vstack([(problem.jacobian[acts] @ root).T, np.diag(np.sqrt(give.ravel()[acts]))])
    assert np.linalg.matrix_rank(rows) == rows.shape[1], "the least squares need independent rows"
    wanted = np.linalg.lstsq(rows.T, -g.ravel()[acts], rcond=None)[0]
    found = lsq_linear(rows, wanted, (low.ravel()[acts], high.ravel()[acts]), tol=1e-14, max_iter=1000)
    return problem.system.velocity + root @ (rows[: len(root)] @ found.x)


@pytest.mark.parametrize("seed", [seed for seed in range(13) if seed != 7])  # 7 has more rows than freedoms
def test_without_friction_the_velocities_are_those_of_the_quadratic_program(seed):
    problem = random_joined(seed, bodies=6, mu=(0.0, 0.0), kinds=(HELD, GIVING, LOWER, UPPER, DRIVEN))
    expected = dual_quadratic_program(problem)
    for method in ("staggered", "pivot"):
        result = sc.solve(problem, method, tolerance=1e-9)
        assert result.status == SOLVED, method
        np.testing.assert_allclose(result.body_velocity, expected, atol=1e-6)


@pytest.mark.parametrize("method", ["staggered", "pivot"])
@pytest.mark.parametrize("seed", range(12, 24))
def test_with_friction_all_laws_hold_at_once(seed, method):
    problem = random_joined(seed)
    result = sc.solve(problem, method, tolerance=1e-8)
    found = sc.residuals(problem, result)
    assert result.status == SOLVED
    assert found.static_friction <= 1e-8
    assert found.consistency.relative <= 1e-10
    if method == "staggered":
        assert found.coulomb <= 1e-8


@pytest.mark.parametrize(("staggering", "tolerance"), [("plain", 1e-6), ("published", 1e-8)])
def test_the_published_algorithm_holds_joints_in_both_projections(staggering, tolerance):
    problem = random_joined(3, mu=(0.1, 0.2))
    result = sc.solve(problem, staggering=staggering, tolerance=tolerance)
    best = sc.solve(problem, tolerance=1e-10)
    # the published rule, (28) alone, may stop before the residuals are there, and is then told so
    assert result.status in (SOLVED, sc.Status.UNCONFIRMED)
    np.testing.assert_allclose(result.body_velocity, best.body_velocity, atol=1e-4)


@pytest.mark.parametrize("method", ["staggered", "pivot"])
def test_to_say_the_same_thrice_changes_nothing(method):
    once = random_joined(5, kinds=(HELD,), triples=1)
    s = once.system
    chosen = [*range(once.contacts), once.contacts - 1, once.contacts - 1]
    arrays = {name: getattr(s, name)[chosen] for name in ("body_a", "body_b", "jacobian_a", "jacobian_b", "bias")}
    thrice = sc.ContactProblem.of_system(s._replace(**arrays, box=np.repeat(s.box, 3, axis=0)))
    results = [sc.solve(problem, method, tolerance=1e-9) for problem in (once, thrice)]
    assert all(result.status == SOLVED for result in results)
    np.testing.assert_allclose(results[1].body_velocity, results[0].body_velocity, atol=1e-6)


def test_what_a_row_holds_is_held_to_round_off_and_what_gives_gives_in_proportion():
    problem = random_joined(7, contacts=0, kinds=(HELD, GIVING))
    result = sc.solve(problem, tolerance=1e-10)
    give = problem.system.box[..., 2]
    np.testing.assert_allclose(result.velocity, -give * result.impulse, atol=1e-9)


def test_the_outside_measure_sees_a_joint_that_is_a_little_off():
    problem = random_joined(9)
    result = sc.solve(problem, tolerance=1e-10)
    fastest = sc.residuals(problem, result).joint.value / sc.residuals(problem, result).joint.relative
    for j, row in np.argwhere(problem.system.box[..., 1] == np.inf):
        impulse = result.impulse.copy()
        impulse[problem.system.mu.size + j, row] += 1e-3
        found = sc.residuals(problem, dataclasses.replace(result, impulse=impulse)).joint
        assert found.value > 1e-5
        assert found.relative == pytest.approx(found.value / fastest)


def test_contradicting_rows_are_never_called_solved():
    """Two rows hold one body at two speeds."""
    free = random_bodies(0, contacts=0, bodies=1)
    rows = np.tile(np.eye(3, 6), (2, 1, 1))
    box = np.tile([-np.inf, np.inf, 0.0], (2, 3, 1))
    bias = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    problem = joined(free, [(-1, 0)] * 2, np.zeros_like(rows), rows, bias, box)
    for method in ("staggered", "pivot"):
        assert sc.solve(problem, method, max_iterations=20).status != SOLVED


def test_lemke_says_that_it_knows_no_joints():
    with pytest.raises(ValueError, match="joints"):
        sc.solve(random_joined(0, mu=(0.0, 0.0)), "lemke")


def test_pivoting_names_a_law_that_it_does_not_know():
    problem = random_joined(1)
    box = problem.system.box.copy()
    box[1, 2] = -1.0, np.inf, 0.0
    with pytest.raises(ValueError, match=r"box\[1, 2\]"):
        sc.solve(sc.ContactProblem.of_system(problem.system._replace(box=box)), "pivot")
