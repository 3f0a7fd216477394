# SPDX-License-Identifier: GPL-3.0-or-later
"""The two approaches to static friction of Baraff 1991, section 8: friction that creeps, and signs that are guessed."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc

from ..contact_problems import random_stack

SOLVED, RAY, MAX_ITERATIONS = sc.Status.SOLVED, sc.Status.RAY, sc.Status.MAX_ITERATIONS
GRAVITY = 9.81


def block(slope, mu, velocity=0.0, mass=1.0, step=0.01):
    """A step of a block on a slope of so many radians: velocities (downhill, off the slope) after gravity alone."""
    return sc.ContactProblem.from_bodies(
        [mass * np.eye(2)],
        [velocity + step * GRAVITY * np.sin(slope), -step * GRAVITY * np.cos(slope)],
        ([-1], [0]),
        (np.zeros((1, 2, 2)), [[[0.0, 1.0], [1.0, 0.0]]]),
        mu,
    )


def slide(slope, mu, creep_speed, steps, velocity=0.0, mass=1.0, step=0.01, explicit=True):
    """The downhill velocities of a block, step by step; friction by its velocity at the beginning of a step or by that
    without friction."""
    passed = []
    for _ in range(steps):
        result = sc.solve(
            block(slope, mu, velocity, mass, step),
            "lemke",
            static_friction="creep",
            creep_speed=creep_speed,
            tangential_velocity=[[velocity]] if explicit else None,
        )
        assert result.status == SOLVED
        velocity = result.velocity[0, 1]
        passed.append(velocity)
    return np.array(passed)


@pytest.mark.slow
@pytest.mark.parametrize("mass", [1e-3, 1.0, 5e4])
@pytest.mark.parametrize("slope", [0.0, 0.1, 0.4])
def test_a_block_creeps_at_a_speed_that_no_mass_changes(mass, slope):
    mu, eps, step = 0.5, 0.08, 0.01
    crawl = eps * np.tan(slope) / mu
    assert slide(slope, mu, eps, 60, 0.01, mass, step)[-1] == pytest.approx(crawl, abs=1e-9)
    slower = crawl - step * GRAVITY * np.sin(slope)
    assert slide(slope, mu, eps, 60, 0.01, mass, step, explicit=False)[-1] == pytest.approx(slower, abs=1e-9)
    assert crawl < eps


def test_a_block_on_a_steep_slope_slides_as_it_must():
    mu, slope, step = 0.5, 0.6, 0.01
    passed = slide(slope, mu, 0.05, 80, step=step)
    gained = np.diff(passed[passed > 0.05])
    np.testing.assert_allclose(gained, step * GRAVITY * (np.sin(slope) - mu * np.cos(slope)), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("explicit", [True, False])
@pytest.mark.parametrize("ratio", [0.95, 1.05])
def test_creep_is_stable_above_half_the_speed_that_friction_takes_in_a_step(ratio, explicit):
    mu, slope, step = 0.4, 0.2, 0.02
    bound = 0.5 * step * mu * GRAVITY * np.cos(slope)
    passed = slide(slope, mu, ratio * bound, 250, 0.3 * bound, step=step, explicit=explicit)
    swings = np.abs(np.diff(passed))
    assert (swings[-1] < 1e-6 * bound) == (ratio > 1.0)


@pytest.mark.parametrize("ratio", [0.95, 1.05])
def test_a_light_body_under_a_heavy_one_needs_a_larger_threshold(ratio):
    """Its contact bears 1 + M / m times its own weight."""
    light, heavy, mu, step, v = 1.0, 20.0, 0.3, 0.01, 1e-6
    eps = ratio * 0.5 * step * mu * GRAVITY * (1.0 + heavy / light)
    ground, between = [[0.0, 1.0], [1.0, 0.0]], [[0.0, -1.0], [-1.0, 0.0]]
    first = v
    for _ in range(40):
        problem = sc.ContactProblem.from_bodies(
            [light * np.eye(2), heavy * np.eye(2)],
            [v, -step * GRAVITY, 0.0, -step * GRAVITY],
            ([-1, 0], [0, 1]),
            (np.array([np.zeros((2, 2)), between]), np.array([ground, ground])),
            [mu, 0.0],
        )
        result = sc.solve(problem, "lemke", static_friction="creep", creep_speed=eps)
        assert result.status == SOLVED
        v = result.velocity[0, 1]
    assert (abs(v) < first) == (ratio > 1.0)


def test_creep_is_judged_by_its_own_law_and_measured_by_coulombs():
    problem = sc.ContactProblem.from_delassus(np.eye(3), [-2.0, 0.03, -0.04], 0.6)
    result = sc.solve(problem, "lemke", tolerance=1e-10, static_friction="creep", creep_speed=0.5)
    assert result.status == SOLVED
    # (15): -mu f v / eps
    np.testing.assert_allclose(result.impulse[0], [2.0, -0.6 * 2.0 * 0.06, 0.6 * 2.0 * 0.08], rtol=1e-12)
    assert sc.residuals(sc.creep_problem(problem, 0.5), result).coulomb < 1e-12
    assert sc.residuals(problem, result).dissipation.value > 1e-3
    assert sc.solve(problem, tolerance=1e-10).velocity == pytest.approx(np.zeros((1, 3)), abs=1e-9)


def test_above_the_threshold_creep_is_dynamic_friction():
    rng = np.random.default_rng(81)
    for dim in (2, 3):
        G, g, mu = random_stack(rng, dim)
        m = mu.size
        v = rng.normal(size=(m, dim - 1)) + 1.0
        problem = sc.ContactProblem.from_delassus(G, g, mu, dim=dim)
        slides = sc.ContactProblem.from_delassus(G, g, sc.Friction(mu, sliding=np.ones(m, bool), sliding_direction=v), dim=dim)
        creeps = sc.solve(
            problem, "lemke", static_friction="creep", creep_speed=0.5 * np.linalg.norm(v, axis=1).min(), tangential_velocity=v
        )
        np.testing.assert_array_equal(creeps.impulse, sc.solve(slides, "lemke").impulse)


@pytest.mark.slow
def test_creep_always_ends_with_forces_or_impulses():
    rng, rays = np.random.default_rng(82), 0
    for dim in (2, 3) * 150:
        G, g, mu = random_stack(rng, dim)
        problem = sc.ContactProblem.from_delassus(G, g, 2.0 * mu, dim=dim)
        result = sc.solve(problem, "lemke", tolerance=1e-7, static_friction="creep", creep_speed=0.2)
        assert result.status in (SOLVED, RAY)
        if result.ray is not None:
            rays += 1
            pushed = result.ray[:, 0] > 0.0
            caused = (problem.delassus @ result.ray.ravel()).reshape(result.ray.shape)
            assert pushed.any() and caused[pushed, 0].max() <= 1e-9 * np.abs(G).max()
    assert rays > 0


@pytest.mark.parametrize(("slope", "slips"), [(0.2, False), (0.46, False), (0.47, True), (1.0, True)])
def test_a_block_sticks_by_signs_up_to_the_angle_of_friction(slope, slips):
    mu, step = 0.5, 0.01
    result = sc.solve(block(slope, mu, step=step), "lemke", tolerance=1e-10, static_friction="signs")
    assert result.status == SOLVED
    excess = np.sin(slope) - mu * np.cos(slope)
    assert result.velocity[0, 1] == pytest.approx(step * GRAVITY * excess if slips else 0.0, abs=1e-15)
    assert sc.residuals(block(slope, mu, step=step), result).coulomb < 1e-12


@pytest.mark.parametrize(
    ("angle", "holds"), [(0.0, 1.0), (np.pi / 2, 1.0), (np.pi / 4, np.sqrt(2.0)), (0.3, 1.0 / np.cos(0.3))]
)
def test_the_box_holds_more_than_the_disk_along_its_diagonals(angle, holds):
    mu, along = 0.5, np.array([np.cos(angle), np.sin(angle)])
    for push, sticks in ((0.99 * holds, True), (1.01 * holds, False)):
        problem = sc.ContactProblem.from_delassus(np.eye(3), [-1.0, *(mu * push * along)], mu)
        result = sc.solve(problem, "lemke", tolerance=1e-10, static_friction="signs")
        assert result.status == SOLVED
        assert (np.abs(result.velocity).max() < 1e-12) == sticks
        # judged by the box, and off Coulomb's law by what the box allows
        assert sc.residuals(problem, result, box=True).coulomb < 1e-12
        beyond = np.linalg.norm(result.impulse[0, 1:]) - mu
        assert sc.residuals(problem, result).cone.value == pytest.approx(max(0.0, beyond), abs=1e-12)


def test_a_warm_start_with_the_wrong_signs_is_put_right():
    problem = sc.ContactProblem.from_delassus(np.eye(2), [-1.0, 4.0], 0.5, dim=2)
    wrong = sc.solve(problem, "lemke", static_friction="signs", warm_start=np.array([[1.0, 0.5]]))
    assert wrong.status == SOLVED
    assert wrong.impulse[0] == pytest.approx([1.0, -0.5])


def test_with_little_friction_in_two_dimensions_all_methods_agree():
    """Small mu, full rank: the answer is unique."""
    rng = np.random.default_rng(83)
    for _ in range(30):
        m = int(rng.integers(1, 9))
        J = rng.normal(size=(2 * m, 2 * m + 3))
        problem = sc.ContactProblem.from_delassus(J @ J.T, J @ rng.normal(size=2 * m + 3), 0.1, dim=2)
        signs = sc.solve(problem, "lemke", tolerance=1e-10, static_friction="signs")
        assert signs.status == SOLVED
        for method in ("pivot", "staggered"):
            other = sc.solve(problem, method, tolerance=1e-10)
            assert other.status == SOLVED
            np.testing.assert_allclose(signs.velocity, other.velocity, atol=1e-8 * np.abs(problem.free_velocity).max())


@pytest.mark.slow
@pytest.mark.parametrize(("dim", "share"), [(2, 0.99), (3, 0.97)])
def test_signs_are_found_for_nearly_all_stacks_of_bodies(dim, share):
    rng, solved = np.random.default_rng(84), []
    for _ in range(150):
        G, g, mu = random_stack(rng, dim)
        problem = sc.ContactProblem.from_delassus(G, g, mu, dim=dim)
        result = sc.solve(problem, "lemke", tolerance=1e-8, static_friction="signs")
        solved.append(result.status == SOLVED)
        assert result.status in (SOLVED, MAX_ITERATIONS)
        if not solved[-1]:
            continue
        f, u = result.impulse, (G @ result.impulse.ravel() + g).reshape(-1, dim)
        force, speed = max(np.abs(f).max(), 1e-300), np.abs(g).max() * np.sqrt(dim)
        bound = (mu * f[:, 0])[:, None]
        assert u[:, 0].min() >= -1e-8 * speed and f[:, 0].min() >= 0.0  # (19)
        assert np.abs(f[:, 0] * u[:, 0]).max() <= 1e-8 * force * speed
        assert (np.abs(f[:, 1:]) - bound).max() <= 1e-8 * force  # (16)
        assert (f[:, 1:] * u[:, 1:]).max() <= 1e-8 * force * speed  # (17)
        slack = np.abs((bound - np.abs(f[:, 1:])) * u[:, 1:])  # (18)
        assert slack.max() <= 1e-8 * force * speed * dim
    assert np.mean(solved) >= share


def cycling():
    """Two contacts with answers, whose signs are wrong by turns."""
    J = np.array([[1.0, -2.0, 0.0, 2.0], [-1.0, -2.0, 1.0, 1.0], [-1.0, 1.0, 0.0, 0.0], [2.0, 0.0, -1.0, -1.0]])
    return sc.ContactProblem.from_delassus(J @ J.T, [8.0, 4.0, -5.0, 4.0], [4.0, 0.5], dim=2)


def test_signs_that_come_back_end_the_search():
    problem = cycling()
    result = sc.solve(problem, "lemke", tolerance=1e-9, static_friction="signs")
    assert result.status == MAX_ITERATIONS
    assert result.stats.restarts >= 1
    assert np.isfinite(result.impulse).all() and result.impulse[:, 0].min() >= 0.0
    assert sc.residuals(problem, result, box=True).coulomb > 1e-9
    assert sc.solve(problem, "pivot", tolerance=1e-9).status == SOLVED


@pytest.mark.parametrize(("pivots", "seconds"), [(1, np.inf), (None, 1e-12)])
def test_a_limit_ends_the_search_with_what_there_is(pivots, seconds):
    rng = np.random.default_rng(85)
    J = rng.normal(size=(30, 30))
    problem = sc.ContactProblem.from_delassus(J @ J.T, rng.normal(size=30), 0.5)
    result = sc.solve(problem, "lemke", static_friction="signs", max_iterations=pivots, time_limit=seconds)
    assert result.status == MAX_ITERATIONS
    assert np.isfinite(result.impulse).all()
    assert result.stats.iterations <= (pivots or 0)


@pytest.mark.parametrize("static_friction", ["creep", "signs"])
def test_bilateral_constraints_and_sliding_contacts_take_part(static_friction):
    rng = np.random.default_rng(86)
    for _ in range(10):
        m, held = 6, 3
        J = rng.standard_normal((3 * m + held, 3 * m + held + 4))
        G, g = J @ J.T, rng.standard_normal(3 * m + held)
        sliding = np.arange(m) % 2 == 0
        along = rng.standard_normal((m, 2))
        problem = sc.ContactProblem.from_delassus(
            G, g, sc.Friction(0.1, sliding=sliding, sliding_direction=along), bilateral=held
        )
        eps = 0.5 if static_friction == "creep" else None
        result = sc.solve(problem, "lemke", tolerance=1e-9, static_friction=static_friction, creep_speed=eps)
        assert result.status == SOLVED
        u = G @ np.append(result.impulse.ravel(), result.bilateral) + g
        np.testing.assert_allclose(u[3 * m :], 0.0, atol=1e-9 * np.abs(g).max())
        d = along / np.linalg.norm(along, axis=1)[:, None]
        np.testing.assert_allclose(
            result.impulse[sliding, 1:], -0.1 * result.impulse[sliding, :1] * d[sliding], atol=1e-12 * result.impulse.max()
        )
        assert np.abs(result.impulse[~sliding, 1:]).max() > 0.0


PROBLEM = sc.ContactProblem.from_delassus(np.eye(3), [-1.0, 0.2, 0.1], 0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"static_friction": "crawl"}, "static_friction must be None, 'creep' or 'signs', not 'crawl'"),
        ({"static_friction": "creep"}, "needs creep_speed"),
        ({"static_friction": "creep", "creep_speed": 0.0}, "creep_speed must be a positive number of m/s, not 0.0"),
        ({"static_friction": "creep", "creep_speed": np.nan}, "creep_speed must be a positive"),
        ({"static_friction": "creep", "creep_speed": "slow"}, "creep_speed must be a number"),
        ({"static_friction": "signs", "creep_speed": 0.1}, "creep_speed is for static_friction='creep' only"),
        ({"creep_speed": 0.1}, "creep_speed is for static_friction='creep' only"),
        ({"static_friction": "signs", "tangential_velocity": [[0.0, 0.0]]}, "tangential_velocity is for"),
        (
            {"static_friction": "creep", "creep_speed": 0.1, "tangential_velocity": [0.0, 1.0]},
            r"tangential_velocity must have shape \(1, 2\)",
        ),
        (
            {"static_friction": "creep", "creep_speed": 0.1, "tangential_velocity": [[0.0, np.inf]]},
            r"tangential_velocity\[0, 1\] is inf",
        ),
        ({"signs": True}, "signs is no option of the method lemke, which has static_friction, creep_speed"),
        ({}, r"mu\[0\] = 0.5 at a contact that may stick.*static_friction='creep' or 'signs'"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        sc.solve(PROBLEM, "lemke", **options)


def test_other_methods_have_no_such_options():
    with pytest.raises(ValueError, match="static_friction is no option of the method pivot"):
        sc.solve(PROBLEM, "pivot", static_friction="signs")
