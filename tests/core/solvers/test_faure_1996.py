# SPDX-License-Identifier: GPL-3.0-or-later
"""Redistributions of energy: the smallest forces that balance, figures 4 and 5 of the paper, and Coulomb's law beyond it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import solver_core as sc
from solver_core.scenes import jointed as jointed_scenes

from ..contact_problems import box_on_ground, hard_problems, random_bodies, random_stack


def bar(force_at, feet=(-1.5, -0.5, 0.5, 1.5), mass=1.0, force=1.0, mu=0.0, length=4.0):
    """A bar of 4 m on four feet, in the plane, pushed down at a place; degrees of freedom (x, z, angle)."""
    inertia = mass * length**2 / 12.0
    jacobian = np.array([[[0.0, 1.0, x], [-1.0, 0.0, 0.0]] for x in feet])
    push = np.array([0.0, -force / mass, -force * force_at / inertia])
    masses = [np.diag([mass, mass, inertia])]
    return sc.ContactProblem.from_bodies(masses, push, ([-1] * 4, [0] * 4), (np.zeros_like(jacobian), jacobian), mu)


def test_four_feet_share_a_load_as_the_smallest_forces_do():
    """With n feet at x_i the smallest forces that hold a unit load at x are 1 / n + x x_i / sum x_i^2."""
    feet = np.array([-1.5, -0.5, 0.5, 1.5])
    result = sc.solve(bar(0.6), "energy", tolerance=1e-10)
    assert result.status is sc.Status.SOLVED and result.stats.iterations <= 2
    np.testing.assert_allclose(result.impulse[:, 0], 0.25 + 0.6 * feet / (feet @ feet), rtol=1e-9)


@pytest.mark.parametrize("as_published", [True, False])
def test_a_bar_that_is_pushed_beyond_its_last_foot_pivots_about_it(as_published):
    """Figure 4. The last foot alone bears f = J / (1 / m + x^2 / I) of the push's velocity there, and all others rise."""
    result = sc.solve(bar(2.0), "energy", tolerance=1e-10, as_published=as_published)
    approach = 1.0 + 2.0 * 1.5 / (16.0 / 12.0)
    assert result.status is sc.Status.SOLVED and result.stats.iterations <= 8
    np.testing.assert_allclose(result.impulse[:, 0], [0, 0, 0, approach / (1.0 + 1.5**2 / (16.0 / 12.0))], atol=1e-9)
    assert (result.velocity[:3, 0] > 0.1).all() and abs(result.velocity[3, 0]) < 1e-12


def test_as_published_it_begins_with_every_contact_closed():
    """Section 3.2: a first system with no acceleration at any foot, solved by the smallest forces (2.5), ends in one iteration
    if none of them pulls, even if a foot would have opened without forces."""
    feet, at = np.array([-1.0, 0.5, 0.8, 1.0]), 0.4
    problem = bar(at, feet=feet, length=2.0)
    assert (problem.free_velocity[:, 0] > 0.0).any()
    result = sc.solve(problem, "energy", tolerance=1e-10, as_published=True)
    smallest = np.linalg.lstsq(np.stack([np.ones(4), feet]), [1.0, at], rcond=None)[0]
    assert result.status is sc.Status.SOLVED and result.stats.iterations == 1
    np.testing.assert_allclose(result.impulse[:, 0], smallest, rtol=1e-9)
    np.testing.assert_allclose(smallest, [0.2097, 0.2553, 0.2644, 0.2705], atol=5e-5)


def test_rounding_does_not_decide_how_many_redistributions_a_bar_on_four_feet_takes():
    """Two feet that hold leave the other two with no velocity but rounding, which is neither a foot that closes nor one that
    opens."""
    taken = set()
    for seed in range(10):
        problem, random = bar(2.0, mu=0.5), np.random.default_rng(seed)
        jacobian = problem.jacobian.reshape(4, 2, 3) * (1.0 + 4e-16 * random.uniform(-1.0, 1.0, size=(4, 2, 3)))
        ends, velocity = ([-1] * 4, [0] * 4), problem.system.velocity
        shaken = sc.ContactProblem.from_bodies(
            [np.diag([1.0, 1.0, 16.0 / 12.0])], velocity, ends, (np.zeros_like(jacobian), jacobian), 0.5
        )
        taken.add(sc.solve(shaken, "energy", tolerance=1e-10).stats.iterations)
    assert len(taken) == 1


def test_forces_do_not_depend_on_what_they_are_sought_from():
    """A box on its four corners bears itself in infinitely many ways, and equal shares are the smallest of them."""
    shares = sc.solve(box_on_ground(), "energy", tolerance=1e-10).impulse[:, 0]
    np.testing.assert_allclose(shares, shares.mean(), rtol=1e-9)


@pytest.mark.parametrize("dim", [2, 3])
def test_without_friction_it_solves_the_complementarity_problem(dim):
    random = np.random.default_rng(3)
    for _ in range(40):
        G, g, mu = random_stack(random, dim)
        problem = sc.ContactProblem.from_delassus(G, g, 0.0 * mu, dim=dim)
        result = sc.solve(problem, "energy", tolerance=1e-9)
        assert result.status is sc.Status.SOLVED
        normal, separation = result.impulse[:, 0], result.velocity[:, 0]
        assert normal.min() >= 0.0 and separation.min() > -1e-8 and abs(normal @ separation) < 1e-7


@pytest.mark.parametrize(("dim", "mu_most"), [(2, 1.0), (3, 0.3), (3, 1.0)])
def test_solved_is_what_the_outside_measure_says_and_nearly_all_is_solved(dim, mu_most):
    random, solved = np.random.default_rng(11), 0
    for _ in range(20):
        G, g, mu = random_stack(random, dim, mu_most=mu_most)
        problem = sc.ContactProblem.from_delassus(G, g, mu, dim=dim)
        result = sc.solve(problem, "energy")
        if result.status is sc.Status.SOLVED:
            solved += 1
            assert sc.residuals(problem, result).coulomb <= 1e-6
    assert solved >= 18


def test_problems_of_strong_friction_are_solved():
    assert all(sc.solve(problem, "energy").status is sc.Status.SOLVED for problem in hard_problems())


@pytest.mark.parametrize("seed", range(5))
def test_as_published_it_ends_with_forces_and_accelerations_of_the_right_signs(seed):
    """(1) and (2) of the paper hold where it says SOLVED or UNCONFIRMED; Coulomb's law only where it says SOLVED."""
    problem = random_bodies(seed, mu=(0.3, 0.6))
    result = sc.solve(problem, "energy", as_published=True)
    measured = sc.residuals(problem, result)
    if result.status in (sc.Status.SOLVED, sc.Status.UNCONFIRMED):
        assert measured.cone.relative < 1e-6 and measured.penetration.relative < 1e-5
    assert (result.status is sc.Status.SOLVED) == (measured.coulomb <= 1e-6)


def test_stopped_early_it_has_forces_within_their_bounds_and_says_so():
    problem = hard_problems()[1]
    result = sc.solve(problem, "energy", max_iterations=2)
    measured = sc.residuals(problem, result)
    assert result.status is sc.Status.MAX_ITERATIONS and result.stats.iterations == 2
    assert measured.cone.relative < 1e-12 and result.impulse[:, 0].min() >= 0.0


def test_bilateral_constraints_are_held_beside_contacts():
    """Two boxes of 1 kg, one on the ground, the other held at its height: the ground bears the one alone."""
    jacobian = np.array([np.eye(3)])
    hold = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]])
    problem = sc.ContactProblem.from_bodies(
        [np.eye(3)] * 2, [-1.0, 0.1, 0, -1.0, 0, 0], ([-1], [0]), (0 * jacobian, jacobian), 0.5, bilateral=(hold, 0.0)
    )
    result = sc.solve(problem, "energy", tolerance=1e-10)
    np.testing.assert_allclose(result.impulse, [[1.0, -0.1, 0.0]], atol=1e-12)
    np.testing.assert_allclose(result.bilateral, [1.0])


@pytest.mark.parametrize("value", ["yes", 2, None])
def test_odd_options_are_refused_by_name(value):
    with pytest.raises(ValueError, match="as_published"):
        sc.solve(bar(0.0), "energy", as_published=value)


@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(sc.scenes.tower, marks=pytest.mark.slow),
        pytest.param(sc.scenes.arch, marks=pytest.mark.long),
        lambda: sc.scenes.slope(tangent=0.5, mu=0.49),
    ],
)
def test_scenes_move_as_with_staggered_projections(scene):
    by_energy, staggered = (sc.Simulation(scene(), method=method).run(6)[-1] for method in ("energy", "staggered"))
    assert not by_energy.statistics.status.any()
    np.testing.assert_allclose(by_energy.poses, staggered.poses, atol=1e-6)


@pytest.mark.parametrize("method", [pytest.param("energy", marks=pytest.mark.slow), "staggered"])
def test_the_motor_of_the_turning_plane_gives_back_what_friction_takes(method):
    """Figure 5. The plane keeps its speed, so the motor's torque is the rate at which the solid's angular momentum about the
    axle grows, by friction alone."""
    spec = jointed_scenes.four_ball_solid()
    frames = sc.Simulation(spec, method=method).run(24)
    assert not any(frame.statistics.status.any() for frame in frames[1:])
    balls = slice(1, 5)
    arm = np.array([frame.poses[balls, :3] for frame in frames])
    velocity = np.array([frame.velocities[balls] for frame in frames])
    spin = 0.4 * 0.25 * 0.05**2 * velocity[..., 5]
    momentum = (0.25 * np.cross(arm, velocity[..., :3])[..., 2] + spin).sum(axis=1)
    torque = np.array([frame.reactions[:2, 5].sum() for frame in frames[1:]])
    h = 1.0 / 24.0
    assert momentum[-1] > 0.01
    assert abs(torque.sum() * h - (momentum[-1] - momentum[0])) < 0.01 * momentum[-1]
    assert abs(frames[-1].velocities[0, 5] - 1.0) < 1e-6


def test_a_slope_holds_what_its_friction_holds_and_no_more():
    stands, slides = (
        sc.Simulation(sc.scenes.slope(tangent=0.5, mu=mu), method="energy").run(12)[-1].velocities for mu in (0.51, 0.49)
    )
    assert np.abs(stands).max() < 1e-6
    fall = 9.81 * (math.sin(math.atan(0.5)) - 0.49 * math.cos(math.atan(0.5)))
    assert np.linalg.norm(slides[-1, :3]) == pytest.approx(fall * 12 / 24.0, rel=0.02)
