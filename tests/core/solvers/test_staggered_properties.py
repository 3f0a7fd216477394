# SPDX-License-Identifier: GPL-3.0-or-later
"""What a solution of Staggered Projections cannot depend on: axes, order, units, mirrors, copies; and what it can only take."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc

from ..contact_problems import hard_problems, random_bodies

TIGHT = 1e-10


@pytest.mark.parametrize("seed", range(6))
def test_a_turned_tangent_basis_turns_friction_and_changes_nothing_else(seed):
    problem = random_bodies(seed, mu=(0.05, 0.25))
    angles = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, problem.contacts)
    turn = np.zeros((3 * problem.contacts,) * 2)
    for k, angle in enumerate(angles):
        turn[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = Rotation.from_euler("x", angle).as_matrix()
    turned = sc.ContactProblem.from_delassus(turn @ problem.delassus @ turn.T, turn @ problem.free_velocity.ravel(), problem.mu)
    before, after = sc.solve(problem, tolerance=TIGHT), sc.solve(turned, tolerance=TIGHT)
    np.testing.assert_allclose(after.impulse.ravel(), turn @ before.impulse.ravel(), atol=1e-7)
    np.testing.assert_allclose(after.velocity.ravel(), turn @ before.velocity.ravel(), atol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_contacts_does_not_matter(seed):
    problem = random_bodies(seed, mu=(0.05, 0.25))
    order = np.random.default_rng(seed).permutation(problem.contacts)
    rows = (3 * order[:, None] + np.arange(3)).ravel()
    shuffled = sc.ContactProblem.from_delassus(
        problem.delassus[np.ix_(rows, rows)], problem.free_velocity[order], problem.mu[order]
    )
    before, after = sc.solve(problem, tolerance=TIGHT), sc.solve(shuffled, tolerance=TIGHT)
    np.testing.assert_allclose(after.velocity, before.velocity[order], atol=1e-7)
    np.testing.assert_allclose(after.impulse, before.impulse[order], atol=1e-7)


@pytest.mark.parametrize("sides", [0, 8])
@pytest.mark.parametrize(("mass", "speed"), [(1e3, 1.0), (1e-3, 1.0), (1.0, 1e-3), (1.0, 1e3), (1e3, 1e-3), (1e-6, 1e-3)])
def test_units_do_not_matter(mass, speed, sides):
    """Other masses and speeds give the same problem in other units, with the same number of iterations."""
    for seed in range(3):
        problem = random_bodies(seed)
        scaled = sc.ContactProblem.from_delassus(problem.delassus / mass, problem.free_velocity * speed, problem.mu)
        plain = sc.ContactProblem.from_delassus(problem.delassus, problem.free_velocity, problem.mu)
        before, after = (sc.solve(p, tolerance=1e-9, polygon_sides=sides) for p in (plain, scaled))
        assert before.status == after.status == sc.Status.SOLVED
        np.testing.assert_allclose(after.velocity / speed, before.velocity, atol=1e-7)
        np.testing.assert_allclose(after.impulse / (mass * speed), before.impulse, atol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_a_mirrored_problem_has_the_mirrored_solution(seed):
    problem = random_bodies(seed, mu=(0.05, 0.25))
    mirror = np.tile([1.0, 1.0, -1.0], problem.contacts)
    mirrored = sc.ContactProblem.from_delassus(
        mirror[:, None] * problem.delassus * mirror, mirror * problem.free_velocity.ravel(), problem.mu
    )
    before, after = sc.solve(problem, tolerance=TIGHT), sc.solve(mirrored, tolerance=TIGHT)
    np.testing.assert_allclose(after.impulse, before.impulse * [1.0, 1.0, -1.0], atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_seen_from_the_other_body_a_contact_is_the_same(seed):
    """A and B exchanged: normals and tangents are those of B against A, so nothing changes sign."""
    problem = random_bodies(seed, mu=(0.05, 0.25))
    system = problem.system
    masses = [system.mass[36 * i : 36 * (i + 1)].reshape(6, 6) for i in range(3)]
    exchanged = sc.ContactProblem.from_bodies(
        masses, system.velocity, (system.body_b, system.body_a), (system.jacobian_b, system.jacobian_a), problem.mu
    )
    before, after = sc.solve(problem, tolerance=TIGHT), sc.solve(exchanged, tolerance=TIGHT)
    np.testing.assert_allclose(after.velocity, before.velocity, atol=1e-8)


def test_the_same_problem_gives_the_same_bits():
    for problem in hard_problems():
        first, second = (sc.solve(problem, tolerance=1e-8) for _ in range(2))
        np.testing.assert_array_equal(first.impulse, second.impulse)
        np.testing.assert_array_equal(first.velocity, second.velocity)


def test_solving_changes_neither_the_problem_nor_the_warm_start():
    problem = random_bodies(1)
    kept = [np.copy(array) for array in problem.system]
    warm = np.full((problem.contacts, 3), 0.1)
    sc.solve(problem, warm_start=warm)
    assert (warm == 0.1).all()
    for before, now in zip(kept, problem.system, strict=True):
        np.testing.assert_array_equal(before, now)


@pytest.mark.parametrize("seed", range(6))
def test_friction_and_contact_only_take_energy(seed):
    problem = random_bodies(seed, contacts=8, mu=(0.2, 0.9))
    mass = np.linalg.inv(problem.inverse_mass)
    result = sc.solve(problem, tolerance=1e-9, max_iterations=2000)
    before, after = (0.5 * v @ mass @ v for v in (problem.system.velocity, result.body_velocity))
    assert after <= before * (1.0 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_many_copies_of_a_contact_move_bodies_as_one_of_it(seed):
    """Redundant contacts share an impulse somehow; what they do together does not depend on their number."""
    problem = random_bodies(seed, contacts=3, mu=(0.1, 0.3))
    system = problem.system
    masses = [system.mass[36 * i : 36 * (i + 1)].reshape(6, 6) for i in range(3)]
    often = np.repeat(np.arange(3), 7)
    copies = sc.ContactProblem.from_bodies(
        masses,
        system.velocity,
        (system.body_a[often], system.body_b[often]),
        (system.jacobian_a[often], system.jacobian_b[often]),
        problem.mu[often],
    )
    once, many = sc.solve(problem, tolerance=TIGHT), sc.solve(copies, tolerance=TIGHT)
    assert many.status == sc.Status.SOLVED
    np.testing.assert_allclose(many.body_velocity, once.body_velocity, atol=1e-7)
    np.testing.assert_allclose(many.impulse[:, 0].reshape(3, 7).sum(axis=1), once.impulse[:, 0], atol=1e-6)


@pytest.mark.parametrize("sides", [4, 8, 16, 32])
def test_the_polygon_brakes_at_most_cos_pi_over_k_too_little(sides):
    """Over all directions: the loss of friction along the motion is at most 1 - cos(pi / K), reached between two corners."""
    loss = []
    for angle in np.linspace(0.0, 2.0 * np.pi / sides, 33):
        direction = np.array([math.cos(angle), math.sin(angle)])
        problem = sc.ContactProblem.from_delassus(np.eye(3), [-1.0, *(100.0 * direction)], 0.5)
        result = sc.solve(problem, tolerance=TIGHT, polygon_sides=sides)
        assert result.status == sc.Status.SOLVED
        loss.append(1.0 + result.impulse[0, 1:] @ direction / 0.5)
    assert min(loss) >= -1e-12
    assert max(loss) == pytest.approx(1.0 - math.cos(math.pi / sides), rel=1e-3)
