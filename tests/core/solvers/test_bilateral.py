# SPDX-License-Identifier: GPL-3.0-or-later
"""Bilateral constraints beside contacts: what they leave free, however much of a body they hold, with contacts or without."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc

METHODS = ["staggered", "pivot", "lemke"]
SOLVED = sc.Status.SOLVED


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_a_body_that_is_wholly_held_does_not_move_whatever_it_touches(method, dim, seed):
    random, dof, m = np.random.default_rng(seed), 3 * (dim - 1), 6
    problem = sc.ContactProblem.from_bodies(
        [np.diag(10.0 ** random.uniform(-3.0, 3.0, dof))],
        random.normal(size=dof),
        (-np.ones(m), np.zeros(m)),
        (np.zeros((m, dim, dof)), random.normal(size=(m, dim, dof))),
        0.0 if method == "lemke" else 0.5,
        bilateral=(random.normal(size=(dof, dof)), 0.0),
    )
    result = sc.solve(problem, method)
    assert result.status == SOLVED
    assert result.ray is None
    np.testing.assert_allclose(result.body_velocity, 0.0, atol=1e-9 * np.abs(problem.free_velocity).max())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("repeated", [1, 3])
def test_a_bead_on_a_rail_is_stopped_by_the_ground_alone(method, repeated):
    """The rail (said once, or over and over) holds the bead across; it falls along it, and only its weight is felt."""
    across, mass, speed = np.array([1.0, 0.0, 0.0]), 2.0, 3.0
    problem = sc.ContactProblem.from_bodies(
        [mass * np.eye(3)],
        [5.0, 0.0, -speed],
        ([-1], [0]),
        (np.zeros((1, 3, 3)), [[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]),
        0.0 if method == "lemke" else 0.5,
        bilateral=(np.tile(across, (repeated, 1)), 0.0),
    )
    result = sc.solve(problem, method)
    assert result.status == SOLVED
    np.testing.assert_allclose(result.impulse, [[mass * speed, 0.0, 0.0]], atol=1e-9)
    np.testing.assert_allclose(result.bilateral.sum(), -mass * 5.0, rtol=1e-9)
    np.testing.assert_allclose(result.body_velocity, 0.0, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_pendulum_without_contacts_is_held_by_its_rod(method):
    problem = sc.ContactProblem.from_delassus([[0.5]], [4.0], [], bilateral=1)
    result = sc.solve(problem, method)
    assert result.status == SOLVED
    np.testing.assert_allclose(result.bilateral, [-8.0])
    assert result.impulse.shape == (0, 3)


@pytest.mark.parametrize("method", METHODS)
def test_where_nothing_touches_nothing_happens(method):
    empty = sc.ContactProblem.from_delassus(np.zeros((0, 0)), np.zeros(0), 0.5)
    apart = sc.ContactProblem.from_bodies(
        [np.eye(6)], np.arange(6.0), ([], []), (np.zeros((0, 3, 6)), np.zeros((0, 3, 6))), 0.5
    )
    for problem in (empty, apart):
        result = sc.solve(problem, method)
        assert result.status == SOLVED
        assert result.impulse.shape == (0, 3)
        np.testing.assert_array_equal(result.body_velocity, problem.system.velocity)


@pytest.mark.parametrize("seed", range(5))
def test_all_methods_agree_on_contacts_beside_constraints(seed):
    random, dof, m = np.random.default_rng(seed), 12, 4
    problem = sc.ContactProblem.from_bodies(
        [np.eye(6), 3.0 * np.eye(6)],
        random.normal(size=dof),
        ([-1, -1, 0, 0], [0, 1, 1, 1]),
        (random.normal(size=(m, 3, 6)), random.normal(size=(m, 3, 6))),
        0.0,
        bilateral=(random.normal(size=(4, dof)), random.normal(size=4)),
    )
    results = [sc.solve(problem, method, tolerance=1e-10) for method in METHODS]
    assert [result.status for result in results] == [SOLVED] * 3
    for result in results:
        np.testing.assert_allclose(result.velocity, results[0].velocity, atol=1e-8)
        assert sc.residuals(problem, result).bilateral.relative < 1e-10
