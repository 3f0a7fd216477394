"""The configurations of Baraff 1991: no unique answer, no answer, and answers that are hard to find."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import solver_core as sc

SOLVED, RAY = sc.Status.SOLVED, sc.Status.RAY
MU = 0.75
SINE = np.sin(np.arctan(3.0))


def lifting_spin(gravity, excess=1.0):
    """The spin at which spin^2 sin theta - gravity is `excess`."""
    return np.sqrt((gravity + excess) / SINE)


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
def test_the_indeterminate_rod_lifts_off_or_stays_down(mass, gravity):
    problem = sc.configurations.rod(lifting_spin(gravity), gravity, mass=mass)
    flying = sc.solve(problem, "lemke")
    pressed = sc.solve(problem, "lemke", warm_start=start_from(problem, [0]))
    for result in (flying, pressed):
        assert result.status == SOLVED
        check_forces(problem, result)
    assert flying.impulse[0, 0] == 0.0
    assert flying.velocity[0, 0] == pytest.approx(1.0, rel=1e-12)
    assert pressed.impulse[0, 0] == pytest.approx(mass, rel=1e-12)


@pytest.mark.parametrize("first", [[], [0]])
def test_the_inconsistent_rod_is_brought_to_rest_by_impulses(first):
    """Section 6.1: impulses grow until the tip sticks; what they drive together then collides with static friction."""
    mass, slip = 3.0, 0.8
    problem = sc.configurations.rod(0.0, 9.81, mass=mass)
    result = sc.solve(problem, "lemke", warm_start=start_from(problem, first))
    assert result.status == RAY
    assert result.ray is not None
    ray = result.ray[0]
    caused = problem.delassus @ ray
    assert ray[0] > 0.0 and ray[1] == pytest.approx(MU * ray[0])
    assert caused[0] <= 0.0  # (10)

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


def test_a_rod_without_weight_skims():
    problem = sc.configurations.rod(0.0, 0.0)
    result = sc.solve(problem, "lemke")
    assert result.status == SOLVED
    assert not result.impulse.any() and not result.velocity.any()


def test_with_little_friction_the_rod_has_one_answer_from_every_start():
    """2.6 - 4.8 mu > 0 below mu = 13/24: an ordinary contact."""
    problem = sc.configurations.rod(0.0, 9.81, mu=0.5)
    for first in ([], [0]):
        result = sc.solve(problem, "lemke", warm_start=start_from(problem, first))
        assert result.status == SOLVED
        assert result.impulse[0, 0] == pytest.approx(9.81 / 0.2)


MACHINES = [
    ([3, 5, 8, 2], 10),
    ([3, 5, 8, 2], 12),
    ([1, 2, 3], 6),
    ([1, 2, 3], 7),
    ([2, 4, 6], 5),
    ([4, 4, 9], 4),
    ([7, 11, 13, 17, 19], 43),
]


def subsets(masses, target):
    """Every subset with the sum `target`, as sets of indices."""
    every = range(len(masses))
    return {c for k in range(len(masses) + 1) for c in itertools.combinations(every, k) if sum(masses[i] for i in c) == target}


@pytest.mark.parametrize(("masses", "target"), MACHINES)
def test_the_machine_bears_forces_only_where_a_subset_has_the_sum(masses, target):
    """From every start: forces that are one of the subsets, or impulses; never something else, and where there is no subset,
    never forces. Every subset is found from some start."""
    problem = sc.configurations.subset_sum_machine(masses, target)
    n, wanted, found = len(masses), subsets(masses, target), set()
    for size in range(n + 3):
        for clamped in itertools.combinations(range(n + 2), size):
            result = sc.solve(problem, "lemke", warm_start=start_from(problem, clamped))
            assert result.status in (SOLVED, RAY)
            if result.status == RAY:
                assert result.ray is not None
                pushed = result.ray[:, 0] > 0.0
                caused = (problem.delassus @ result.ray.ravel()).reshape(result.ray.shape)
                assert pushed.any() and (caused[pushed, 0] <= 1e-9).all()
                continue
            check_forces(problem, result)
            bearing = tuple(int(i) for i in np.flatnonzero(result.impulse[:, 0] > 1e-6))
            assert bearing in wanted
            np.testing.assert_allclose(result.impulse[list(bearing), 0], [masses[i] for i in bearing], rtol=1e-9)
            found.add(bearing)
    assert found == wanted


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
        G, g, mu, sliding=sliding, sliding_direction=random.standard_normal((m, 2)), bilateral=held
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
