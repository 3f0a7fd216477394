# SPDX-License-Identifier: GPL-3.0-or-later
"""Staggered Projections go as the paper says, iteration by iteration; wherever they stop, they say how far they have come."""

from __future__ import annotations

import math

import numpy as np
import pytest

import solver_core as sc

from ..contact_problems import hard_problems, leaning_cards, random_bodies
from ..friction_oracles import coulomb_violation, polygon_friction, quadprog_contact


def test_a_status_never_claims_more_than_is_true():
    """Coefficients up to 1.2 on random bodies, where no method is sure to converge: what is not solved says so."""
    solved = 0
    for seed in range(40):
        problem = random_bodies(seed, contacts=8, bodies=3, mu=(0.5, 1.2))
        for staggering in ("accelerated", "plain"):
            result = sc.solve(problem, tolerance=1e-6, max_iterations=100, staggering=staggering)
            holds = coulomb_violation(problem, result) <= 1e-6 * (1.0 + 1e-6)
            assert result.status in ((sc.Status.SOLVED,) if holds else (sc.Status.MAX_ITERATIONS,))
            solved += staggering == "accelerated" and holds
    assert solved >= 36


@pytest.mark.parametrize("seed", range(4))
def test_as_published_every_iteration_is_that_of_algorithm_1(seed):
    """Algorithm 1 written with quadprog's projections and K = 8: relative errors (28) and residuals (29) are the same."""
    problem, sides, iterations = random_bodies(seed, contacts=4, bodies=3, mu=(0.3, 0.6)), 8, 6
    G = problem.delassus
    assert np.linalg.matrix_rank(G) == len(G)
    friction = np.zeros((4, 3))
    errors, residuals = [], []
    for _ in range(iterations):
        v, alpha = quadprog_contact(problem, friction)
        nexts = polygon_friction(problem, alpha, sides)
        change = (nexts - friction).ravel()
        before = friction.ravel() @ G @ friction.ravel()
        errors.append(change @ G @ change / before if before > 0.0 else np.inf)
        v = v + problem.inverse_mass @ problem.jacobian.T @ change
        residuals.append(abs(alpha * (problem.jacobian[::3] @ v + problem.system.bias[:, 0])).sum())
        friction = nexts
    result = sc.solve(problem, tolerance=1e-14, max_iterations=iterations, polygon_sides=sides, staggering="plain")
    assert result.stats.iterations == iterations
    assert errors[-1] > 1e-9, "the history below would only compare round-off"
    np.testing.assert_allclose(result.stats.relative_error, errors, rtol=2e-3, atol=1e-9)
    np.testing.assert_allclose(result.stats.residual, residuals, rtol=2e-3, atol=1e-6 * max(residuals))


@pytest.mark.parametrize("tolerance", [0.1, 1e-4])
@pytest.mark.parametrize("seed", range(6))
def test_as_published_it_returns_what_lines_15_to_17_of_algorithm_1_return(seed, tolerance):
    """Algorithm 1 written with quadprog's projections and K = 8: the friction of least residual, then a contact projection."""
    problem, sides = random_bodies(seed, contacts=4, bodies=3, mu=(0.3, 0.6)), 8
    G = problem.delassus
    friction, best, least, change, iterations = np.zeros((4, 3)), np.zeros((4, 3)), np.inf, np.inf, 0
    while change > tolerance and iterations < 200:
        v, alpha = quadprog_contact(problem, friction)
        nexts = polygon_friction(problem, alpha, sides)
        step, before = (nexts - friction).ravel(), friction.ravel() @ G @ friction.ravel()
        change = step @ G @ step / before if before > 0.0 else np.inf
        v = v + problem.inverse_mass @ problem.jacobian.T @ step
        residual = abs(alpha * (problem.jacobian[::3] @ v + problem.system.bias[:, 0])).sum()
        if residual < least:
            least, best = residual, nexts
        friction, iterations = nexts, iterations + 1
    _, alpha = quadprog_contact(problem, best)
    result = sc.solve(problem, tolerance=tolerance, polygon_sides=sides, staggering="published")
    assert result.stats.iterations == iterations < 200
    expected = np.column_stack([alpha, best[:, 1:]])
    # a projection is accurate to a fraction of the tolerance
    np.testing.assert_allclose(result.impulse, expected, atol=0.03 * tolerance * np.abs(expected).max())


@pytest.mark.parametrize("staggering", ["accelerated", "plain"])
def test_every_iteration_leaves_its_figures_and_the_last_one_meets_the_tolerance(staggering):
    for problem in hard_problems():
        result = sc.solve(problem, tolerance=1e-8, max_iterations=20000, staggering=staggering)
        stats = result.stats
        assert stats.iterations >= 1
        assert stats.relative_error.shape == stats.residual.shape == stats.coulomb.shape == (stats.iterations,)
        assert stats.relative_error[-1] <= 1e-8
        assert stats.factorisations >= 1
        assert stats.seconds > 0.0
        assert result.solver == "staggered"


@pytest.mark.parametrize("staggering", ["accelerated", "plain"])
@pytest.mark.parametrize("max_iterations", [1, 2, 3, 4, 5])
def test_stopped_early_it_never_violates_contact(max_iterations, staggering):
    """The last projection is the contact one: whatever friction is, (14) holds, and the status says what was missed."""
    missed = 0
    for problem in hard_problems():
        result = sc.solve(problem, tolerance=1e-12, max_iterations=max_iterations, staggering=staggering)
        found = sc.residuals(problem, result)
        assert result.stats.iterations <= max_iterations
        assert found.penetration.relative <= 1e-8
        assert found.complementarity.relative <= 1e-8
        assert found.consistency.relative <= 1e-8
        assert (result.impulse[:, 0] >= 0.0).all()
        if result.status != sc.Status.SOLVED:
            assert result.status == sc.Status.MAX_ITERATIONS
            assert result.stats.iterations == max_iterations
            missed += 1
    assert missed or max_iterations > 2 or staggering == "accelerated"  # whose first iteration may begin with a solution


def test_a_miss_returns_the_iterate_nearest_to_coulombs_law():
    """Stopped at any iteration, the answer has the smallest Coulomb residual that any iteration had so far."""
    for problem in [random_bodies(seed, contacts=8, bodies=3, mu=(0.5, 1.2)) for seed in range(20)]:
        for iterations in range(1, 9):
            result = sc.solve(problem, tolerance=1e-13, max_iterations=iterations, staggering="plain")
            found = sc.residuals(problem, result)
            assert found.coulomb == pytest.approx(result.stats.coulomb.min(), rel=1e-6, abs=1e-12)
            assert found.penetration.relative <= 1e-8


def test_the_best_friction_found_is_kept():
    """As published: at any iteration, friction is that of the iteration with the smallest (29) so far, not the last."""
    worsened = 0
    for problem in [random_bodies(seed, contacts=8, bodies=3, mu=(0.5, 1.2)) for seed in range(20)]:
        stopped = [sc.solve(problem, tolerance=1e-13, max_iterations=i, staggering="published") for i in range(1, 9)]
        for i, result in enumerate(stopped):
            best = int(np.argmin(result.stats.residual))
            worsened += best < i
            np.testing.assert_allclose(result.impulse[:, 1:], stopped[best].impulse[:, 1:], rtol=1e-9, atol=1e-12)
    assert worsened > 0


@pytest.mark.parametrize("staggering", ["accelerated", "plain"])
def test_at_the_solution_one_iteration_is_enough(staggering):
    """Section 6.4: initialised with an optimal friction impulse, the algorithm has converged after one iteration."""
    for problem in hard_problems():
        cold = sc.solve(problem, tolerance=1e-9, max_iterations=20000, staggering=staggering)
        warm = sc.solve(problem, tolerance=1e-6, warm_start=cold.impulse, staggering=staggering)
        assert warm.status == sc.Status.SOLVED
        assert warm.stats.iterations == 1
        np.testing.assert_allclose(warm.velocity, cold.velocity, atol=1e-5 * abs(problem.free_velocity).max())


def test_proposals_save_iterations_where_contact_and_friction_are_coupled():
    problem, _ = leaning_cards(math.radians(40.0), 0.8)
    plain, faster = (sc.solve(problem, tolerance=1e-8, max_iterations=20000, staggering=s) for s in ("plain", "accelerated"))
    assert plain.status == faster.status == sc.Status.SOLVED
    assert faster.stats.iterations < plain.stats.iterations
