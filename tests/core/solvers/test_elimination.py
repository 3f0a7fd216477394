# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints that are eliminated, with contacts, limits and motors beside them, against dense matrices and other methods."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc
from solver_core.solvers.criteria import MOST_BESIDE_JOINTS

from ..contact_problems import frame, random_bodies, rigid_jacobian
from ..jointed_problems import joined

SOLVED, ELIMINATION = sc.Status.SOLVED, sc.Found.ELIMINATION
STIFF = 1e-6  # 1/kg, the compliance of rows that hold
HOLD, SPRING = (-np.inf, np.inf, STIFF), (-np.inf, np.inf, 0.5)
LIMIT, MOTOR, NOTHING = (0.0, np.inf, 1e-2 * STIFF), (-0.2, 0.2, 0.0), (0.0, 0.0, 0.0)


def ball_joints(seed, bodies, pairs, laws, contacts=0, mu=(0.2, 0.6)):
    """Bodies thrown at each other, a point of one held at a point of the other for each pair: three rows with a law each.

    pairs: (j, 2) bodies, -1 for the world. laws: (j, 3) of (low, high, gamma).
    """
    problem, random = random_bodies(seed, max(contacts, 1), bodies, mu), np.random.default_rng(100 + seed)
    if contacts == 0:
        system = problem.system
        names = "body_a", "body_b", "jacobian_a", "jacobian_b", "bias", "slack", "mu"
        rows = {name: getattr(system, name)[:0] for name in names}
        problem = sc.ContactProblem.of_system(system._replace(**rows))
    left, right = np.zeros((len(pairs), 3, 6)), np.zeros((len(pairs), 3, 6))
    for j, (a, _) in enumerate(pairs):
        axes = frame(random.normal(size=3))
        left[j] = 0.0 if a < 0 else -rigid_jacobian(random.normal(size=3), axes)
        right[j] = rigid_jacobian(random.normal(size=3), axes)
    box = np.array(laws, dtype=float)
    bias = 0.3 * random.normal(size=(len(pairs), 3)) * (box[..., 1] > 0.0)
    return joined(problem, pairs, left, right, bias, box)


def tree(bodies):
    """Each body on one before it, the first on the world."""
    return [(max(-1, (b - 1) // 2 if b else -1), b) for b in range(bodies)]


def dense(system):
    """(M, J) of a system of rigid bodies, rows as `bias.ravel()` has them."""
    n = len(system.velocity)
    M, J = np.zeros((n, n)), np.zeros((3 * len(system.body_a), n))
    for body in range(len(system.offset) - 1):
        at = slice(6 * body, 6 * body + 6)
        M[at, at] = system.mass[36 * body : 36 * body + 36].reshape(6, 6)
    for k, (a, b) in enumerate(zip(system.body_a, system.body_b, strict=True)):
        for body, jacobian in ((a, system.jacobian_a[k]), (b, system.jacobian_b[k])):
            if body >= 0:
                J[3 * k : 3 * k + 3, 6 * body : 6 * body + 6] += jacobian
    return M, J


@pytest.mark.parametrize("law", [HOLD, SPRING])
@pytest.mark.parametrize("shape", ["tree", "loops", "redundant"])
def test_holds_and_springs_have_the_velocities_and_impulses_of_the_dense_matrix(shape, law):
    pairs = tree(7) + {"tree": [], "loops": [(3, 6), (4, 5), (-1, 6)], "redundant": [(1, 3), (1, 3)]}[shape]
    problem = ball_joints(3, 7, pairs, [[law] * 3] * len(pairs))
    if shape == "redundant":
        # the joint between bodies 1 and 3 three times
        system = problem.system
        for name in ("jacobian_a", "jacobian_b", "bias"):
            getattr(system, name)[-2:] = getattr(system, name)[3]
    result = sc.solve(problem, tolerance=1e-8)
    assert result.status is SOLVED and result.stats.found == ELIMINATION and result.stats.factorisations == 1
    system = problem.system
    M, J = dense(system)
    KKT = np.block([[M, -J.T], [J, law[2] * np.eye(len(J))]])
    expected = np.linalg.solve(KKT, np.concatenate([M @ system.velocity, -system.bias.ravel()]))
    np.testing.assert_allclose(result.body_velocity, expected[: len(M)], atol=1e-8)
    np.testing.assert_allclose(result.impulse.ravel(), expected[len(M) :], atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(6))
def test_contacts_limits_and_motors_beside_joints_have_the_velocities_of_pivoting(seed):
    """Without friction velocities are unique."""
    pairs = [*tree(5), (2, 4), (-1, 3)]
    laws = [[HOLD] * 3] * 4 + [[HOLD, LIMIT, MOTOR], [LIMIT, LIMIT, MOTOR], [SPRING, LIMIT, NOTHING]]
    problem = ball_joints(seed, 5, pairs, laws, contacts=4, mu=(0.0, 0.0))
    ours, pivoted = sc.solve(problem, tolerance=1e-8), sc.solve(problem, "pivot", tolerance=1e-8)
    assert ours.status is SOLVED and ours.stats.found == ELIMINATION
    assert sc.residuals(problem, ours).coulomb <= 1e-8
    if pivoted.status is SOLVED:
        np.testing.assert_allclose(ours.body_velocity, pivoted.body_velocity, atol=1e-5)


def test_what_is_eliminated_keeps_coulombs_law_and_the_laws_of_all_rows():
    found, laws = 0, [[HOLD] * 3] * 5 + [[HOLD, LIMIT, MOTOR], [LIMIT, MOTOR, SPRING]]
    for seed in range(20):
        problem = ball_joints(seed, 6, [*tree(6), (3, 5)], laws, contacts=8)
        result = sc.solve(problem, tolerance=1e-6)
        if result.status is SOLVED:
            assert sc.residuals(problem, result).coulomb <= 1e-6
        found += result.status is SOLVED and result.stats.found == ELIMINATION
    assert found >= 18


def test_a_joint_bears_its_breaking_impulse_and_no_more():
    """A weight falls on a row that bears 0.5 N s, at 2 m/s and 3 kg: it loses 1/6 m/s, and a joint below it follows."""
    mass, speed, bound = 3.0, 2.0, 0.5
    jacobian = np.zeros((2, 3, 6))
    jacobian[:, :, :3] = np.eye(3)
    problem = ball_joints(0, 2, [(-1, 0), (0, 1)], [[HOLD, HOLD, (-bound, bound, STIFF)], [HOLD] * 3])
    system = problem.system
    system.mass[:] = system.inverse_mass[:] = 0.0
    for body in range(2):
        system.mass[36 * body : 36 * body + 36] = np.eye(6).ravel() * mass / 2.0
        system.inverse_mass[36 * body : 36 * body + 36] = np.eye(6).ravel() * 2.0 / mass
    system.velocity[:] = [0, 0, -speed, 0, 0, 0] * 2
    system.bias[:] = 0.0
    system.jacobian_b[:] = jacobian
    system.jacobian_a[1] = -jacobian[1]
    result = sc.solve(problem, tolerance=1e-9)
    assert result.status is SOLVED and result.stats.found == ELIMINATION
    np.testing.assert_allclose(result.impulse[0, 2], bound, rtol=1e-9)
    np.testing.assert_allclose(result.body_velocity[[2, 8]], -speed + bound / mass, atol=1e-6)


def test_a_body_that_is_held_in_all_directions_bears_a_contact():
    """Its operator is that of the compliance of the joints alone, a millionth of that of a free body. Where Newton's method
    does not end, the cascade goes on."""
    problem = ball_joints(5, 2, [(-1, 0), (-1, 0), (-1, 0), (0, 1)], [[HOLD] * 3] * 4, contacts=3)
    problem.system.bias[3:] = 0.0
    result = sc.solve(problem, tolerance=1e-6)
    assert result.status is SOLVED
    assert sc.residuals(problem, result).coulomb <= 1e-6
    assert np.abs(result.body_velocity[:6]).max() < 1e-3


def test_a_pile_of_jointed_bodies_is_solved_with_its_joints_eliminated():
    """200 bodies in trees of ten with 150 contacts between them: first-order methods take seconds for such a pile."""
    pairs = [(10 * t + a if a >= 0 else -1, 10 * t + b) for t in range(20) for a, b in tree(10) if b > 0 or t == 0]
    laws = [[HOLD] * 3 if j % 3 else [HOLD, LIMIT, SPRING] for j in range(len(pairs))]
    problem = ball_joints(6, 200, pairs, laws, contacts=150)
    result = sc.solve(problem, tolerance=1e-6)
    assert result.status is SOLVED and result.stats.found == ELIMINATION
    assert sc.residuals(problem, result).coulomb <= 1e-6
    assert result.stats.factorisations <= 40


@pytest.mark.parametrize("seed", range(3))
def test_a_pile_without_friction_has_the_velocities_of_the_published_algorithm(seed):
    """Without friction velocities are unique. More contacts than `MOST_BESIDE_JOINTS`, and as many joints."""
    contacts = MOST_BESIDE_JOINTS + 10
    laws = [[HOLD] * 3 if j % 4 else [SPRING, LIMIT, MOTOR] for j in range(60)]
    problem = ball_joints(seed, 60, tree(60), laws, contacts=contacts, mu=(0.0, 0.0))
    ours, plain = sc.solve(problem, tolerance=1e-8), sc.solve(problem, tolerance=1e-8, staggering="plain")
    assert ours.status is SOLVED and ours.stats.found == ELIMINATION
    assert plain.status is SOLVED
    np.testing.assert_allclose(ours.body_velocity, plain.body_velocity, atol=1e-6)


def test_a_few_joints_beside_many_contacts_are_left_to_the_methods_for_many():
    pairs, contacts = tree(4), MOST_BESIDE_JOINTS + 1
    problem = ball_joints(2, 4, pairs, [[HOLD] * 3] * 4, contacts=contacts)
    result = sc.solve(problem, tolerance=1e-4)
    assert result.stats.found not in (None, ELIMINATION)


def test_answers_do_not_depend_on_the_order_in_which_joints_are_given():
    """Another order of elimination rounds otherwise, and no more than that."""
    laws = [[HOLD] * 3] * 5 + [[HOLD, LIMIT, MOTOR]]
    problem = ball_joints(4, 6, tree(6), laws, contacts=5)
    system, order = problem.system, np.array([0, 1, 2, 3, 4, 10, 8, 6, 5, 7, 9])
    fields = {name: getattr(system, name)[order] for name in ("body_a", "body_b", "jacobian_a", "jacobian_b", "bias")}
    other = sc.ContactProblem.of_system(system._replace(**fields, box=system.box[order[5:] - 5]))
    one, two = (sc.solve(which, tolerance=1e-9) for which in (problem, other))
    np.testing.assert_allclose(one.body_velocity, two.body_velocity, atol=1e-8)
