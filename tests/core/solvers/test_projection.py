# SPDX-License-Identifier: GPL-3.0-or-later
"""A projection in the kinetic metric finds the nearest point of its set: against quadratic programmes and minimisers."""

from __future__ import annotations

import numpy as np
import pytest
import quadprog
from scipy.optimize import minimize

import solver_core as sc
from solver_core.solvers.block_operator import CONTACT, FRICTION, State, operator_of
from solver_core.solvers.criteria import StoppingCriteria
from solver_core.solvers.effort import allow, effort_of_a_step
from solver_core.solvers.kaufman_2008.projection import MULTIPLIER_STEPS, STALLED_STEPS, Sets, project

from ...bench.quadprog_reference import DenseProblem
from ...bench.scenes import capture, house_with_box

GOAL = 1e-11
DISK, OCTAGON = np.int64(0), np.int64(8)


def random_problem(seed, contacts=7, bodies=3):
    """Bodies of 6, 3 and 6 degrees of freedom; with many contacts the rows are redundant."""
    random = np.random.default_rng(seed)
    sizes = [6, 3, 6][:bodies]
    masses = [np.diag(random.uniform(0.5, 2.0, size)) for size in sizes]
    body_b = random.integers(0, bodies, contacts)
    body_a = np.array([random.choice([-1, *(i for i in range(bodies) if i != b)]) for b in body_b])
    left, right = random.normal(size=(2, contacts, 3, 6))
    return sc.ContactProblem.from_bodies(masses, random.normal(size=sum(sizes)), (body_a, body_b), (left, right), 0.5)


def run(problem, kind, target, radius=None, sides=DISK, warm=None):
    """(v, impulses (m, 3)) of a projection of the velocity `target`."""
    system, m = problem.system, problem.contacts
    impulse = np.zeros((m, 3)) if warm is None else warm.copy()
    radius = np.zeros(m) if radius is None else np.asarray(radius, dtype=float)
    operator, v, effort = operator_of(system), np.zeros(target.size), effort_of_a_step()
    allow(effort, 200, operator.blocks.structure.target.size, m)
    sets, criteria = Sets(kind, sides, radius, system.box), StoppingCriteria(GOAL, GOAL, GOAL, 1.0, 0, 0)
    reached = project(operator, sets, target, criteria, effort, State(impulse, v), MULTIPLIER_STEPS, STALLED_STEPS)
    assert reached <= GOAL
    return v, impulse


def kinetic_norm(problem, v):
    return np.sqrt(v @ np.linalg.solve(problem.inverse_mass, v))


def quadratic_programme(problem, target):
    mass = np.linalg.inv(problem.inverse_mass)
    return quadprog.solve_qp(mass, mass @ target, problem.jacobian[::3].T.copy(), np.zeros(problem.contacts))[0]


def held_friction(problem, target, radius):
    """Velocity with |y_k| <= r_k in the tangents, by SLSQP."""
    m = problem.contacts
    rows = (3 * np.arange(m)[:, None] + [1, 2]).ravel()
    J = problem.jacobian[rows]
    H, g = J @ problem.inverse_mass @ J.T, J @ target

    def slope(y):
        out = np.zeros((m, m, 2))
        out[np.arange(m), np.arange(m)] = -2.0 * y.reshape(m, 2)
        return out.reshape(m, -1)

    found = minimize(
        lambda y: 0.5 * y @ H @ y + g @ y,
        np.zeros(rows.size),
        jac=lambda y: H @ y + g,
        constraints=[{"type": "ineq", "fun": lambda y: radius**2 - (y.reshape(m, 2) ** 2).sum(axis=1), "jac": slope}],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return target + problem.inverse_mass @ J.T @ found.x


@pytest.mark.parametrize("contacts", [2, 7, 20])
@pytest.mark.parametrize("seed", range(6))
def test_the_contact_projection_is_the_quadratic_programme(seed, contacts):
    problem = random_problem(seed, contacts)
    target = problem.system.velocity
    v, impulse = run(problem, CONTACT, target)
    np.testing.assert_allclose(v, quadratic_programme(problem, target), atol=1e-9)
    assert (impulse[:, 0] >= 0.0).all()
    assert not impulse[:, 1:].any()


@pytest.mark.parametrize("seed", range(6))
def test_the_friction_projection_is_what_a_minimiser_finds(seed):
    problem = random_problem(seed)
    radius = np.random.default_rng(seed).uniform(0.0, 0.3, problem.contacts)
    v, impulse = run(problem, FRICTION, problem.system.velocity, radius)
    np.testing.assert_allclose(v, held_friction(problem, problem.system.velocity, radius), atol=1e-5)
    assert (np.linalg.norm(impulse[:, 1:], axis=1) <= radius * (1.0 + 1e-12)).all()
    assert not impulse[:, 0].any()


@pytest.mark.parametrize("kind", [CONTACT, FRICTION])
@pytest.mark.parametrize("sides", [DISK, OCTAGON])
@pytest.mark.parametrize("seed", range(4))
def test_projections_are_non_expansive_in_the_kinetic_metric(seed, sides, kind):
    """Neither what is taken from a velocity nor what is left of it moves further than the velocity does."""
    problem, random = random_problem(seed, 12), np.random.default_rng(seed)
    radius = random.uniform(0.0, 0.3, problem.contacts)
    one, other = random.normal(size=(2, problem.system.velocity.size))
    (v_one, _), (v_other, _) = (run(problem, kind, target, radius, sides) for target in (one, other))
    before = kinetic_norm(problem, one - other)
    assert kinetic_norm(problem, v_one - v_other) <= before + 1e-9
    assert kinetic_norm(problem, (one - v_one) - (other - v_other)) <= before + 1e-9


@pytest.mark.parametrize("kind", [CONTACT, FRICTION])
@pytest.mark.parametrize("seed", range(4))
def test_the_answer_is_the_target_and_what_the_impulses_do_to_it(seed, kind):
    problem = random_problem(seed, 12)
    target = problem.system.velocity
    v, impulse = run(problem, kind, target, np.full(problem.contacts, 0.1))
    expected = target + problem.inverse_mass @ problem.jacobian.T @ impulse.ravel()
    np.testing.assert_allclose(v, expected, atol=1e-13)


@pytest.mark.parametrize("kind", [CONTACT, FRICTION])
@pytest.mark.parametrize("seed", range(4))
def test_where_it_starts_does_not_change_what_it_finds(seed, kind):
    problem, random = random_problem(seed, 12), np.random.default_rng(seed)
    radius = random.uniform(0.0, 0.3, problem.contacts)
    cold, _ = run(problem, kind, problem.system.velocity, radius)
    warm = random.normal(size=(problem.contacts, 3))
    warm[:, {CONTACT: slice(1, 3), FRICTION: slice(0, 1)}[kind]] = 0.0
    found, _ = run(problem, kind, problem.system.velocity, radius, warm=warm)
    np.testing.assert_allclose(found, cold, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_rows_of_the_other_kind_stay(seed):
    problem, kept = random_problem(seed), np.random.default_rng(seed).normal(size=(7, 3))
    radius = np.full(7, 0.1)
    _, contact = run(problem, CONTACT, problem.system.velocity, radius, warm=kept)
    _, friction = run(problem, FRICTION, problem.system.velocity, radius, warm=kept)
    np.testing.assert_array_equal(contact[:, 1:], kept[:, 1:])
    np.testing.assert_array_equal(friction[:, 0], kept[:, 0])


@pytest.mark.parametrize("kind", [CONTACT, FRICTION])
def test_what_is_admissible_is_left_alone(kind):
    """All contacts part and none slides: nothing has to be done."""
    axes = np.eye(3)[None]
    problem = sc.ContactProblem.from_bodies([np.eye(3)], [0.5, 0.0, 0.0], ([-1], [0]), (0.0 * axes, axes), 0.5)
    v, impulse = run(problem, kind, problem.system.velocity, [0.3])
    np.testing.assert_allclose(v, [0.5, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(impulse, 0.0, atol=1e-12)


def test_friction_without_radius_does_nothing():
    problem = random_problem(3)
    v, impulse = run(problem, FRICTION, problem.system.velocity, np.zeros(7))
    np.testing.assert_array_equal(v, problem.system.velocity)
    assert not impulse.any()


def test_every_projection_of_a_house_that_is_hit_converges():
    """A Newton step across a kink need not reduce the gradient; where that ended Newton's method, errors of 0.8 were left."""
    for one in capture(house_with_box(levels=5), tuple(range(20, 60)), tolerance=1e-6):
        system, dense = one.system, DenseProblem.from_system(one.system)
        operator, m = operator_of(system), system.body_a.size
        without = dense.relative(dense.velocity)
        without[:, 0] += dense.slack
        fastest = np.linalg.norm(without, axis=1).max()
        criteria = StoppingCriteria(1e-9 * fastest, 3e-8 * fastest, 3e-8 * fastest, fastest, 0, 0)
        state, target, radius = State(np.zeros((m, 3)), np.empty_like(system.velocity)), system.velocity, np.zeros(m)
        target = target + dense.push(one.warm_start, slice(1, 3))
        for kind in CONTACT, FRICTION:
            effort = effort_of_a_step()
            allow(effort, 200, operator.blocks.structure.target.size, m)
            sets = Sets(kind, OCTAGON, radius, system.box)
            error = project(operator, sets, target, criteria, effort, state, MULTIPLIER_STEPS, STALLED_STEPS)
            assert error < 1e-7 * fastest, f"step {one.step}"
            target = system.velocity + dense.push(state.impulse, slice(0, 1))
            radius = system.mu * state.impulse[:, 0]
