# SPDX-License-Identifier: GPL-3.0-or-later
"""The configurations of Baraff 1991: no unique answer, no answer, and answers that are hard to find."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

import solver_core as sc

from ..contact_problems import random_bodies

SOLVED, RAY = sc.Status.SOLVED, sc.Status.RAY
MU = 0.75
SINE = np.sin(np.arctan(3.0))


def lifting_spin(gravity, excess=1.0):
    """The spin at which spin^2 sin theta - gravity is `excess`."""
    return np.sqrt((gravity + excess) / SINE)


EITHER = pytest.mark.parametrize("method", ["lemke", "pivot", "creep"])


def solved_by(method, problem, first=(), tolerance=1e-9):
    """With the contacts `first` clamped at the start; creep gets no sliding direction but velocities above its threshold."""
    start = start_from(problem, first) if len(first) else None
    if method != "creep":
        return sc.solve(problem, method, warm_start=start, tolerance=tolerance)
    sliding, speed = problem.direction, 2.0
    standing = dataclasses.replace(problem, direction=np.zeros_like(sliding), sliding=np.zeros(problem.contacts, dtype=bool))
    result = sc.solve(
        standing,
        "lemke",
        warm_start=start,
        tolerance=tolerance,
        static_friction="creep",
        creep_speed=0.1,
        tangential_velocity=speed * sliding,
    )
    return dataclasses.replace(result, solver="creep")


def check_impulses(problem, result, mu=MU):
    """(10), and friction against the sliding velocity; up to the rounding of the terms that accelerations are the sum of."""
    ray = result.ray
    assert ray is not None
    J = np.abs(problem.jacobian)
    caused = (problem.delassus @ ray.ravel()).reshape(ray.shape)[:, 0]
    size = (J @ np.abs(problem.inverse_mass) @ J.T @ np.abs(ray.ravel())).reshape(ray.shape)[:, 0]
    pushed = ray[:, 0] > 0.0
    assert pushed.any() and ray[:, 0].min() >= 0.0
    assert (caused <= 1e-11 * size)[pushed].all()
    np.testing.assert_allclose(ray[:, 1], mu * ray[:, 0], rtol=1e-9)


def start_from(problem, clamped):
    guess = np.zeros((problem.contacts, problem.dim))
    guess[list(clamped), 0] = 1.0
    return guess


def check_forces(problem, result):
    """(4) and (9), and friction against the sliding velocity, with accelerations from the forces alone."""
    force = result.impulse
    acceleration = (problem.delassus @ force.ravel()).reshape(force.shape) + problem.free_velocity
    bearing = force[:, 0]
    assert bearing.min() >= 0.0
    assert acceleration[:, 0].min() >= -1e-9
    assert np.abs(bearing * acceleration[:, 0]).max() <= 1e-9 * max(1.0, bearing.max())
    np.testing.assert_allclose(force[:, 1], MU * bearing, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("mass", [0.1, 1.0, 40.0])
@pytest.mark.parametrize("gravity", [0.0, 9.81])
@EITHER
def test_the_indeterminate_rod_lifts_off_or_stays_down(mass, gravity, method):
    """Figures 1 to 3."""
    problem = sc.configurations.rod(lifting_spin(gravity), gravity, mass=mass)
    flying, pressed = solved_by(method, problem), solved_by(method, problem, [0])
    for result in (flying, pressed):
        assert result.status == SOLVED
        check_forces(problem, result)
    assert flying.impulse[0, 0] == 0.0
    assert flying.velocity[0, 0] == pytest.approx(1.0, rel=1e-12)
    assert pressed.impulse[0, 0] == pytest.approx(mass, rel=1e-12)


@pytest.mark.parametrize("first", [[], [0]])
@EITHER
def test_the_inconsistent_rod_is_brought_to_rest_by_impulses(first, method):
    """Figure 4a and section 6.1: impulses grow until the tip sticks; what they drive together then collides and sticks."""
    mass, slip = 3.0, 0.8
    problem = sc.configurations.rod(0.0, 9.81, mass=mass)
    result = solved_by(method, problem, first)
    assert result.status == RAY
    check_impulses(problem, result)
    ray = result.ray[0]
    caused = problem.delassus @ ray

    impulse = slip / caused[1] * ray
    colliding = np.array([0.0, -slip]) + problem.delassus @ impulse
    assert colliding[1] == pytest.approx(0.0, abs=1e-12)
    assert impulse[0] == pytest.approx(slip * mass / (15.4 * MU - 4.8))
    assert colliding[0] == pytest.approx(-impulse[0] / mass)

    impact = sc.ContactProblem.from_delassus(problem.delassus, colliding, MU, dim=2)
    second = sc.solve(impact, tolerance=1e-10)
    assert second.status == SOLVED
    np.testing.assert_allclose(second.velocity, 0.0, atol=1e-10)
    # where both components vanish the impulse is -G^-1 u, and inside the friction cone
    wanted = -np.linalg.solve(problem.delassus, colliding)
    np.testing.assert_allclose(second.impulse[0], wanted, rtol=1e-7)
    assert abs(wanted[1]) < MU * wanted[0]


@EITHER
def test_a_rod_without_weight_skims(method):
    """Figure 4b."""
    problem = sc.configurations.rod(0.0, 0.0)
    result = solved_by(method, problem)
    assert result.status == SOLVED
    assert not result.impulse.any() and not result.velocity.any()


@EITHER
def test_with_little_friction_the_rod_has_one_answer_from_every_start(method):
    """2.6 - 4.8 mu > 0 below mu = 13/24: an ordinary contact."""
    problem = sc.configurations.rod(0.0, 9.81, mu=0.5)
    for first in ([], [0]):
        result = solved_by(method, problem, first)
        assert result.status == SOLVED
        assert result.impulse[0, 0] == pytest.approx(9.81 / 0.2)


def leaning_rod(angle, mu, mass=1.0, length=2.0, acceleration=-9.81):
    """The rod of figure 1 at any angle and size: the tip's normal acceleration is f / m (1 + 16 (cos^2 - mu cos sin)) + a."""
    half, sine, cosine = 0.5 * length, np.sin(angle), np.cos(angle)
    return sc.ContactProblem.from_bodies(
        [mass * np.diag([1.0, 1.0, half**2 / 16.0])],
        [0.0, acceleration, 0.0],
        ([-1], [0]),
        (np.zeros((1, 2, 3)), [[[0.0, 1.0, -half * cosine], [1.0, 0.0, half * sine]]]),
        sc.Friction(mu, sliding=[True], sliding_direction=[[-1.0]]),
    )


@EITHER
def test_rods_of_every_angle_friction_and_size_have_forces_or_impulses(method):
    """A third of them at the very coefficient at which a force does nothing at all to the normal acceleration: what is left of
    1 + 16 (cos^2 - mu cos sin) is rounding there, and no force, were it 1e16 N, is an answer."""
    random = np.random.default_rng(4)
    for k in range(120):
        angle, gain = random.uniform(0.02, 1.55), 0.0
        mu = (1.0 + 16.0 * np.cos(angle) ** 2) / (16.0 * np.cos(angle) * np.sin(angle))
        if k % 3:
            mu = random.uniform(0.0, 3.0)
            gain = 1.0 + 16.0 * (np.cos(angle) ** 2 - mu * np.cos(angle) * np.sin(angle))
        mass, acceleration = 10.0 ** random.uniform(-6.0, 6.0), (-9.81, 1.0, 0.0, -1e-3)[k % 4]
        problem = leaning_rod(angle, mu, mass, 10.0 ** random.uniform(-6.0, 6.0), acceleration)
        result = solved_by(method, problem)
        if acceleration < 0.0 and gain <= 0.0:
            assert result.status == RAY
            check_impulses(problem, result, mu)
        else:
            assert result.status == SOLVED
            bears = -mass * acceleration / gain if acceleration < 0.0 else 0.0
            assert result.impulse[0, 0] == pytest.approx(bears, rel=1e-9)


@EITHER
@pytest.mark.parametrize("mass", [1e-6, 0.3, 1.0, 1e6])
def test_a_rod_that_neither_resists_nor_gives_way_takes_impulses(mass, method):
    """The end rod of figure 5 on a block of its own mass: what f does to the block it does to the tip."""
    problem = sc.ContactProblem.from_bodies(
        [[[mass]], mass * np.diag([1.0, 1.0, 1.0 / 16.0])],
        [1.0, 0.0, 0.0, 0.0],
        ([0], [1]),
        ([[[-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]], [sc.configurations.TIP]),
        sc.Friction(MU, sliding=[True], sliding_direction=[[-1.0]]),
    )
    result = solved_by(method, problem)
    assert result.status == RAY
    check_impulses(problem, result)


@EITHER
def test_a_pushed_block_between_two_rods_has_impulses_and_one_at_rest_forces(method):
    """Figure 5; and figure 10, where a rod that presses down alone makes the block move."""
    for target, block in itertools.product((0.0, 1.0, -1.0, 1e-3), (1.0, 2.0, 1e3, 1e-3)):
        problem = sc.configurations.subset_sum_machine([], target, block=block)
        result = solved_by(method, problem)
        assert result.status == (RAY if target else SOLVED)
        if target:
            check_impulses(problem, result)
    problem = sc.configurations.subset_sum_machine([3.0], 0.0)
    lifts = solved_by(method, problem)
    assert lifts.status == SOLVED and not lifts.impulse.any()
    presses = solved_by(method, problem, [0])
    assert presses.status == RAY
    check_impulses(problem, presses)


MACHINES = [
    ([3, 5, 8, 2], 10),
    ([3, 5, 8, 2], 12),
    ([1, 2, 3], 6),
    ([1, 2, 3], 7),
    ([2, 4, 6], 5),
    ([4, 4, 9], 4),
    pytest.param([7, 11, 13, 17, 19], 43, marks=pytest.mark.long),
]


def subsets(masses, target):
    """Every subset with the sum `target`, as sets of indices."""
    every = range(len(masses))
    return {c for k in range(len(masses) + 1) for c in itertools.combinations(every, k) if sum(masses[i] for i in c) == target}


@pytest.mark.slow
@pytest.mark.parametrize(("masses", "target"), MACHINES)
@EITHER
def test_the_machine_bears_forces_only_where_a_subset_has_the_sum(masses, target, method):
    """Figure 6, from every start: forces that are one of the subsets, or impulses; never something else, and where there is no
    subset, never forces. Every subset is found from some start."""
    problem = sc.configurations.subset_sum_machine(masses, target)
    n, wanted, found = len(masses), subsets(masses, target), set()
    for size in range(n + 3):
        for clamped in itertools.combinations(range(n + 2), size):
            result = solved_by(method, problem, clamped)
            assert result.status in (SOLVED, RAY)
            if result.status == RAY:
                check_impulses(problem, result)
                continue
            check_forces(problem, result)
            bearing = tuple(int(i) for i in np.flatnonzero(result.impulse[:, 0] > 1e-6))
            assert bearing in wanted
            np.testing.assert_allclose(result.impulse[list(bearing), 0], [masses[i] for i in bearing], rtol=1e-9)
            found.add(bearing)
    assert found == wanted


@EITHER
@pytest.mark.parametrize("unit", [pytest.param(1e-6, marks=pytest.mark.long), 1.0, pytest.param(1e6, marks=pytest.mark.slow)])
def test_machines_of_every_mass_have_forces_or_impulses(unit, method):
    random = np.random.default_rng(6)
    for trial in range(60):
        weights = random.integers(1, 20, int(random.integers(0, 8))).astype(float)
        target = weights[random.random(weights.size) < 0.5].sum() if trial % 2 else random.uniform(-5.0, 30.0)
        problem = sc.configurations.subset_sum_machine(weights, target, block=(1.0, 2.0, 10.0, 1e3)[trial % 4])
        masses = {"mass": unit * problem.system.mass, "inverse_mass": problem.system.inverse_mass / unit}
        problem = dataclasses.replace(problem, system=problem.system._replace(**masses))
        result = solved_by(method, problem)
        assert result.status in (SOLVED, RAY)
        if result.status == RAY:
            check_impulses(problem, result)
        else:
            assert result.impulse[:, 0].sum() == pytest.approx(unit * target, abs=1e-9 * unit)


def scaled(problem, mass, length):
    """The same bodies, so many times as heavy and as long."""
    system, widths = problem.system, np.diff(problem.system.offset)
    stretch = np.diag([1.0, 1.0, 1.0, length, length, length])
    blocks = [stretch @ block.reshape(6, 6) @ stretch * mass for block in np.split(system.mass, system.block_start[1:-1])]
    assert (widths == 6).all()
    jacobians = (system.jacobian_a @ stretch, system.jacobian_b @ stretch)
    # at the same speeds: they turn more slowly
    velocity = (system.velocity.reshape(-1, 6) @ np.linalg.inv(stretch)).ravel()
    sliding = np.arange(problem.contacts) % 3 > 0
    direction = np.random.default_rng(problem.contacts).normal(size=(problem.contacts, 2))
    return sc.ContactProblem.from_bodies(
        blocks,
        velocity,
        (system.body_a, system.body_b),
        jacobians,
        sc.Friction(problem.mu, sliding=sliding, sliding_direction=direction),
    )


@pytest.mark.slow
def test_units_do_not_decide_between_forces_and_impulses():
    ends = []
    for seed in range(40):
        problem = random_bodies(seed, mu=(0.3, 2.5))
        found = [sc.solve(scaled(problem, *units), "pivot") for units in itertools.product((1.0, 1e-6, 1e6), repeat=2)]
        assert len({result.status for result in found}) == 1
        ends.append(found[0].status)
        for result, (mass, _) in zip(found, itertools.product((1.0, 1e-6, 1e6), repeat=2), strict=True):
            if result.status == SOLVED:
                largest = np.abs(found[0].impulse).max()
                np.testing.assert_allclose(result.impulse, mass * found[0].impulse, atol=1e-6 * mass * largest)
    assert set(ends) == {SOLVED, RAY}


@pytest.mark.parametrize("target", [10.0, 5.5])
def test_guessed_signs_say_of_the_machine_what_they_know(target):
    """Nothing of it sticks, so there is no sign to guess; of impulses that approach knows nothing."""
    problem = sc.configurations.subset_sum_machine([3.0, 5.0, 8.0, 2.0], target)
    result = sc.solve(problem, "lemke", static_friction="signs")
    nothing = dataclasses.replace(result, impulse=0.0 * result.impulse, velocity=problem.free_velocity)
    assert result.ray is None
    assert result.status in (SOLVED, sc.Status.MAX_ITERATIONS)
    assert sc.residuals(problem, result, box=True).coulomb <= sc.residuals(problem, nothing, box=True).coulomb
    indeterminate = sc.configurations.rod(lifting_spin(9.81), 9.81)
    assert sc.solve(indeterminate, "lemke", static_friction="signs").status == SOLVED


def test_a_contact_that_may_stick_is_no_linear_complementarity_problem():
    problem = sc.ContactProblem.from_delassus(np.eye(6), np.zeros(6), [0.0, 0.5])
    with pytest.raises(ValueError, match=r"mu\[1\] = 0.5.*sliding_direction"):
        sc.solve(problem, "lemke")


@pytest.mark.parametrize("seed", range(5))
def test_sliding_bodies_held_by_bilateral_constraints(seed):
    """Three dimensions, small mu, so that the answer is unique: all residuals, and the constraints' own impulses."""
    random = np.random.default_rng(seed)
    m, held = 6, 3
    rows = random.standard_normal((3 * m + held, 3 * m + held + 4))
    G, g = rows @ rows.T, random.standard_normal(3 * m + held)
    sliding = np.arange(m) % 2 == 0
    mu = np.where(sliding, 0.05, 0.0)
    problem = sc.ContactProblem.from_delassus(
        G, g, sc.Friction(mu, sliding=sliding, sliding_direction=random.standard_normal((m, 2))), bilateral=held
    )
    result = sc.solve(problem, "lemke", tolerance=1e-9)
    assert result.status == SOLVED
    everything = np.append(result.impulse.ravel(), result.bilateral)
    u = G @ everything + g
    np.testing.assert_allclose(u[3 * m :], 0.0, atol=1e-9 * np.abs(g).max())
    np.testing.assert_allclose(u[: 3 * m].reshape(m, 3), result.velocity, atol=1e-9)
    normal, force = result.velocity[:, 0], result.impulse[:, 0]
    assert normal.min() >= -1e-9 and force.min() >= 0.0 and np.abs(normal * force).max() <= 1e-9
    assert result.impulse[~sliding, 1:].max() == 0.0
    np.testing.assert_allclose(np.linalg.norm(result.impulse[:, 1:], axis=1), mu * force, atol=1e-12)
    v = problem.system.velocity + problem.inverse_mass @ (
        problem.jacobian.T @ result.impulse.ravel() + problem.bilateral[0].T @ result.bilateral
    )
    np.testing.assert_allclose(result.body_velocity, v, atol=1e-12)


def test_without_friction_staggered_projections_agree():
    random = np.random.default_rng(3)
    rows = random.standard_normal((12, 8))
    problem = sc.ContactProblem.from_delassus(rows @ rows.T, random.standard_normal(12), 0.0, slack=0.1)
    by_pivots, by_projection = sc.solve(problem, "lemke"), sc.solve(problem, tolerance=1e-10)
    assert by_pivots.status == by_projection.status == SOLVED
    np.testing.assert_allclose(by_pivots.velocity, by_projection.velocity, atol=1e-7)
