# SPDX-License-Identifier: GPL-3.0-or-later
"""Staggered Projections give what Coulomb's law has by hand, by enumeration and by other solvers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import solver_core as sc

from ..contact_problems import (
    GRAVITY_STEP,
    box_on_ground,
    cubes_on_each_other,
    frame,
    hard_problems,
    leaning_cards,
    random_bodies,
    rigid_jacobian,
)
from ..friction_oracles import coulomb_violation, disk_friction_velocity, enumerate_modes, polygon_friction, quadprog_contact

TIGHT = 1e-10


# --- closed forms


@pytest.mark.slow
@pytest.mark.parametrize("staggering", ["accelerated", "plain"])
def test_a_parting_contact_is_left_alone(staggering):
    result = sc.solve(sc.ContactProblem.from_delassus(np.eye(3), [0.5, 2.0, -1.0], 0.8), staggering=staggering)
    assert result.status == sc.Status.SOLVED
    assert not result.impulse.any()
    np.testing.assert_array_equal(result.velocity, [[0.5, 2.0, -1.0]])


@pytest.mark.parametrize("staggering", ["accelerated", "plain"])
def test_a_contact_inside_its_cone_sticks(staggering):
    """A mass of 2 kg: 2 N s stop the approach, 0.8 N s stop the motion aside."""
    result = sc.solve(
        sc.ContactProblem.from_delassus(0.5 * np.eye(3), [-1.0, 0.24, 0.32], 0.5), tolerance=TIGHT, staggering=staggering
    )
    np.testing.assert_allclose(result.impulse, [[2.0, -0.48, -0.64]], atol=1e-9)
    np.testing.assert_allclose(result.velocity, [[0.0, 0.0, 0.0]], atol=1e-9)


@pytest.mark.parametrize("angle", np.linspace(0.0, 2.0 * np.pi, 13))
def test_a_sliding_contact_is_braked_against_its_motion_in_any_direction(angle):
    direction = np.array([math.cos(angle), math.sin(angle)])
    result = sc.solve(sc.ContactProblem.from_delassus(0.5 * np.eye(3), [-1.0, *(3.0 * direction)], 0.5), tolerance=TIGHT)
    np.testing.assert_allclose(result.impulse[0], [2.0, *(-1.0 * direction)], atol=1e-9)
    np.testing.assert_allclose(result.velocity[0], [0.0, *(2.5 * direction)], atol=1e-9)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_planar_contact_slides_either_way(sign):
    result = sc.solve(sc.ContactProblem.from_delassus(np.eye(2), [-1.0, sign * 3.0], 0.5, dim=2), tolerance=TIGHT)
    np.testing.assert_allclose(result.impulse, [[1.0, -sign * 0.5]], atol=1e-9)


def test_friction_that_is_not_isotropic_in_mass_still_opposes_the_final_motion():
    """Tangents of different effective mass: the friction impulse opposes the velocity after it, not the one before."""
    problem = sc.ContactProblem.from_delassus(np.diag([1.0, 4.0, 0.25]), [-1.0, 3.0, 4.0], 0.5)
    result = sc.solve(problem, tolerance=TIGHT)
    friction, slip = result.impulse[0, 1:], result.velocity[0, 1:]
    assert np.linalg.norm(friction) == pytest.approx(0.5)
    np.testing.assert_allclose(friction / 0.5, -slip / np.linalg.norm(slip), atol=1e-8)
    assert abs(friction / 0.5 + np.array([0.6, 0.8])).max() > 0.05


@pytest.mark.parametrize("restitution", [0.0, 0.1, 0.5, 1.0])
def test_slack_is_restitution(restitution):
    """The paper's footnote: n . (u + e u_before) >= 0."""
    before = -3.0
    problem = sc.ContactProblem.from_delassus(0.5 * np.eye(3), [before, 0.0, 0.0], 0.5, slack=restitution * before)
    result = sc.solve(problem, tolerance=TIGHT)
    assert result.velocity[0, 0] == pytest.approx(-restitution * before, abs=1e-9)
    assert result.impulse[0, 0] == pytest.approx((1.0 + restitution) * 3.0 / 0.5)


@pytest.mark.parametrize("staggering", ["accelerated", "plain"])
@pytest.mark.parametrize("yaw", [0.0, 0.4, math.pi / 4])
@pytest.mark.parametrize(("tangent", "mu"), [(0.0, 0.5), (0.5, 0.501), (0.5, 0.8), (0.5, 0.499), (0.5, 0.1), (0.9, 0.0)])
def test_a_box_on_a_slope_moves_with_g_sin_minus_mu_g_cos_or_not_at_all(tangent, mu, yaw, staggering):
    """Four redundant corners; how they share the weight is open, what they do together is not."""
    tilt, mass = math.atan(tangent), 2.0
    result = sc.solve(
        box_on_ground(half=(0.2, 0.2, 0.02), mass=mass, tilt=tilt, mu=mu, yaw=yaw), tolerance=TIGHT, staggering=staggering
    )
    assert result.status == sc.Status.SOLVED
    speed = max(0.0, math.sin(tilt) - mu * math.cos(tilt)) * GRAVITY_STEP
    np.testing.assert_allclose(result.velocity, np.tile([0.0, speed, 0.0], (4, 1)), atol=1e-9 * GRAVITY_STEP)
    np.testing.assert_allclose(result.body_velocity[3:], 0.0, atol=1e-8 * GRAVITY_STEP)
    assert result.impulse[:, 0].sum() == pytest.approx(mass * GRAVITY_STEP * math.cos(tilt), rel=1e-8)
    assert -result.impulse[:, 1].sum() == pytest.approx(mass * (GRAVITY_STEP * math.sin(tilt) - speed), rel=1e-8, abs=1e-12)


def test_the_lower_corners_of_a_box_on_a_slope_carry_more():
    """Moments about the centre: the pressure moves downhill by the friction's arm, half the height times tan."""
    half, tilt, mass = (0.2, 0.2, 0.1), math.atan(0.5), 2.0
    impulse = sc.solve(box_on_ground(half=half, mass=mass, tilt=tilt, mu=0.8), tolerance=TIGHT).impulse
    uphill, downhill = impulse[:2, 0].sum(), impulse[2:, 0].sum()
    assert (downhill - uphill) * half[0] == pytest.approx(mass * GRAVITY_STEP * math.sin(tilt) * half[2], rel=1e-7)


@pytest.mark.parametrize("degrees", [10.0, 20.0, 30.0])
def test_leaning_cards_stand_when_mu_is_half_the_tangent_of_their_lean(degrees):
    """Moments about a card's foot: the cards push each other with m g tan / 2, which friction has to hold against m g."""
    lean = math.radians(degrees)
    needed = 0.5 * math.tan(lean)
    problem, weight = leaning_cards(lean, 1.02 * needed)
    result = sc.solve(problem, tolerance=1e-9, max_iterations=5000)
    assert result.status == sc.Status.SOLVED
    np.testing.assert_allclose(result.velocity, 0.0, atol=1e-6 * GRAVITY_STEP)
    np.testing.assert_allclose(result.impulse[:, 0], [weight, weight, weight * needed], rtol=1e-6)
    np.testing.assert_allclose(abs(result.impulse[:2, 1]), weight * needed, rtol=1e-6)
    slipping = sc.solve(leaning_cards(lean, 0.98 * needed)[0], tolerance=1e-9, max_iterations=5000)
    assert slipping.status == sc.Status.SOLVED
    assert slipping.velocity[0, 1] * slipping.velocity[1, 1] < 0.0
    assert abs(slipping.velocity[:2, 1]).min() > 1e-4 * GRAVITY_STEP


def test_a_ball_thrown_along_the_ground_begins_to_roll_at_five_sevenths_of_its_speed():
    """Friction acts at the radius until the contact point stands still: v = 5/7 v_0, if there is enough of it."""
    mass, radius, speed = 3.0, 0.2, 1.0
    block = np.diag([mass] * 3 + [0.4 * mass * radius**2] * 3)
    jacobian = rigid_jacobian(np.array([0.0, 0.0, -radius]), frame([0.0, 0.0, 1.0]))[None]
    for mu, expected in ((10.0, 5.0 / 7.0 * speed), (0.1, speed - 0.1 * 2.0)):
        problem = sc.ContactProblem.from_bodies(
            [block], [speed, 0, -2.0, 0, 0, 0], ([-1], [0]), (np.zeros_like(jacobian), jacobian), mu
        )
        assert sc.solve(problem, tolerance=TIGHT).body_velocity[0] == pytest.approx(expected, abs=1e-8)


JAM = np.array([[0.55, 0.11, -1.15], [0.11, 0.93, 0.23], [-1.15, 0.23, 4.40]])


@pytest.mark.parametrize("mu", [0.5, 0.8, 0.95, 1.2])
def test_a_contact_that_jams_is_solved(mu):
    """Pulled in by its own friction, one contact goes round between Newton's pieces; the two projections find it."""
    for g in ([-0.007, -1.0, -2.4], [-0.007, -2.4, 1.0], [-0.01, -0.5, -3.0], [-0.1, -1.0, -2.4]):
        problem = sc.ContactProblem.from_delassus(JAM, g, mu)
        result = sc.solve(problem)
        assert result.status is sc.Status.SOLVED
        assert coulomb_violation(problem, result) <= 1e-6


@pytest.mark.parametrize("ratio", [1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-8])
def test_what_is_light_carries_what_is_heavy(ratio, tolerance):
    problem = cubes_on_each_other(3, ratio)
    result = sc.solve(problem, tolerance=tolerance)
    assert result.status is sc.Status.SOLVED
    assert abs(result.velocity).max() <= tolerance * GRAVITY_STEP
    # by hand: all weight goes through the lowest face
    assert result.impulse[:4, 0].sum() == pytest.approx((ratio + 2.0) * GRAVITY_STEP, rel=10.0 * tolerance)


@pytest.mark.parametrize("ratio", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("iterations", [1, 2, 3])
def test_contact_is_intact_under_a_heavy_load_too(ratio, iterations):
    """Pushed and turned, too tight a tolerance, stopped early: nothing sinks, but for the rounding of the load's impulses."""
    problem = cubes_on_each_other(3, ratio)
    velocity = problem.system.velocity + np.random.default_rng(1).normal(size=18) * 0.1
    problem = dataclasses.replace(problem, system=problem.system._replace(velocity=velocity))
    result = sc.solve(problem, tolerance=1e-13, max_iterations=iterations)
    assert sc.residuals(problem, result).penetration.relative <= max(1e-8, 1e-14 * ratio)


# --- against other solvers


@pytest.mark.parametrize("seed", range(10))
def test_without_friction_it_is_the_quadratic_programme(seed):
    """Twelve contacts, more than three bodies can resolve: velocities are unique all the same."""
    problem = random_bodies(seed, contacts=12, mu=(0.0, 0.0))
    result = sc.solve(problem, tolerance=TIGHT)
    v, _ = quadprog_contact(problem, result.impulse)
    assert result.status == sc.Status.SOLVED
    np.testing.assert_allclose(result.body_velocity, v, atol=1e-8)
    assert not result.impulse[:, 1:].any()


@pytest.mark.parametrize("seed", range(12))
def test_in_the_plane_it_finds_one_of_the_enumerated_solutions(seed):
    random = np.random.default_rng(seed)
    factor = random.normal(size=(8, 8))
    problem = sc.ContactProblem.from_delassus(
        factor @ factor.T + 0.2 * np.eye(8), random.normal(size=8) - np.tile([1.0, 0.0], 4), random.uniform(0.0, 0.6, 4), dim=2
    )
    solutions = enumerate_modes(problem)
    assert solutions
    result = sc.solve(problem, tolerance=TIGHT, max_iterations=5000)
    assert result.status == sc.Status.SOLVED
    assert min(abs(result.velocity - u).max() for u in solutions) <= 1e-7


@pytest.mark.parametrize("seed", range(8))
def test_both_projections_return_what_they_were_given(seed):
    """The fixed point (26) with the exact disk: contact by quadprog, friction by SLSQP."""
    problem = random_bodies(seed, contacts=6, mu=(0.2, 0.6))
    result = sc.solve(problem, tolerance=TIGHT)
    assert result.status == sc.Status.SOLVED
    assert (np.linalg.norm(result.impulse[:, 1:], axis=1) > 1e-3).any()
    np.testing.assert_allclose(quadprog_contact(problem, result.impulse)[0], result.body_velocity, atol=1e-8)
    np.testing.assert_allclose(disk_friction_velocity(problem, result.impulse[:, 0]), result.velocity, atol=1e-5)


@pytest.mark.parametrize("sides", [3, 4, 8])
@pytest.mark.parametrize("seed", range(4))
def test_with_polygons_both_projections_are_quadratic_programmes(seed, sides):
    problem = random_bodies(seed, contacts=6, mu=(0.2, 0.6))
    result = sc.solve(problem, tolerance=TIGHT, polygon_sides=sides)
    assert result.status == sc.Status.SOLVED
    np.testing.assert_allclose(quadprog_contact(problem, result.impulse)[0], result.body_velocity, atol=1e-8)
    friction = polygon_friction(problem, result.impulse[:, 0], sides)
    friction[:, 0] = result.impulse[:, 0]
    velocity = (problem.delassus @ friction.ravel()).reshape(-1, 3) + problem.free_velocity
    np.testing.assert_allclose(velocity, result.velocity, atol=1e-5)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8, 1e-10])
def test_solved_means_that_coulombs_law_holds_to_the_tolerance(tolerance):
    for problem in hard_problems():
        result = sc.solve(problem, tolerance=tolerance, max_iterations=20000)
        assert result.status == sc.Status.SOLVED
        assert coulomb_violation(problem, result) <= tolerance * (1.0 + 1e-6)
        assert sc.residuals(problem, result).coulomb <= tolerance
