# SPDX-License-Identifier: GPL-3.0-or-later
"""Moments against rolling and against turning about the normal: balls that slow down as they must, and a law that holds."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc

from ..contact_problems import problem_of_matrix

MASS, RADIUS, STEP, GRAVITY = 2.0, 0.1, 0.01, 9.81
INERTIA = 0.4 * MASS * RADIUS**2


def rows_of_ball(lever: float = -RADIUS) -> np.ndarray:
    """(6, 6) of a ball that touches below: n, t1, t2, then its turning about each."""
    x, y, z = np.eye(3)
    arm = lever * z
    forces = [np.concatenate([axis, np.cross(arm, axis)]) for axis in (z, x, y)]
    return np.array([*forces, *(np.concatenate([np.zeros(3), axis]) for axis in (z, x, y))])


def ball(velocity, spin, *, mu=0.6, rolling=None, torsion=None):
    """A ball on the ground, given by its body, and by the matrix that this has."""
    mass = np.diag([MASS] * 3 + [INERTIA] * 3)
    v = np.concatenate([velocity, spin])
    chosen = [0, 1, 2, *([3] if torsion is not None else []), *([4, 5] if rolling is not None else [])]
    rows = rows_of_ball()[chosen]
    friction = sc.Friction(mu, rolling=rolling, torsion=torsion)
    none = np.zeros((1, len(chosen), 6))
    by_body = sc.ContactProblem.from_bodies([mass], v, ([-1], [0]), (none, rows[None]), friction)
    by_matrix = sc.ContactProblem.from_delassus(rows @ np.linalg.inv(mass) @ rows.T, rows @ v, friction)
    return by_body, by_matrix


def solved(problem, tolerance=1e-10, method="staggered"):
    result = sc.solve(problem, method, tolerance=tolerance)
    assert result.status is sc.Status.SOLVED
    return result


def test_a_rolling_ball_slows_by_five_sevenths_of_what_a_point_would():
    speed, length = 1.0, 0.002
    fall = GRAVITY * STEP
    by_body, by_matrix = ball((speed, 0.0, -fall), (0.0, speed / RADIUS, 0.0), rolling=length)
    v = solved(by_body).body_velocity
    after = speed - 5.0 / 7.0 * length * fall / RADIUS
    assert v[0] == pytest.approx(after, rel=1e-9) and v[4] == pytest.approx(after / RADIUS, rel=1e-9)
    assert v[6] == pytest.approx(0.0, abs=1e-9)  # what lies between
    assert np.allclose(solved(by_matrix).impulse, solved(by_body).impulse, atol=1e-9 * MASS * fall)


@pytest.mark.parametrize("share", [0.9, 1.1])
@pytest.mark.parametrize("method", ["staggered", "energy", "pivot"])
def test_a_ball_rests_on_a_slope_up_to_the_angle_of_its_rolling_friction(share, method):
    length = 0.004
    angle = np.arctan(share * length / RADIUS)
    pull = GRAVITY * STEP * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    by_body, _ = ball(pull, np.zeros(3), rolling=length)
    v = solved(by_body, 1e-9, method).body_velocity
    goes = 5.0 / 7.0 * (pull[0] + pull[2] * length / RADIUS)
    assert v[0] == pytest.approx(max(goes, 0.0), abs=1e-7 * GRAVITY * STEP)


@pytest.mark.parametrize("spin", [50.0, 0.05])
def test_a_ball_that_turns_on_the_spot_is_slowed_by_torsion_until_it_stands(spin):
    length, fall = 0.001, GRAVITY * STEP
    by_body, by_matrix = ball((0.0, 0.0, -fall), (0.0, 0.0, spin), torsion=length)
    v = solved(by_body).body_velocity
    slowed = max(spin - length * MASS * fall / INERTIA, 0.0)
    assert v[5] == pytest.approx(slowed, rel=1e-8, abs=1e-8)
    assert np.abs(v[:5]).max() < 1e-9
    assert solved(by_matrix).impulse[1, 1] == pytest.approx(solved(by_body).impulse[1, 1], rel=1e-7)


def test_moments_go_with_what_presses_at_the_moment_and_not_with_what_falls_apart():
    by_body, _ = ball((0.0, 0.0, 0.3), (1.0, 2.0, 3.0), rolling=0.01, torsion=0.01)
    result = solved(by_body)
    assert not result.impulse.any() and np.allclose(result.body_velocity[:6], [0.0, 0.0, 0.3, 1.0, 2.0, 3.0])


def test_a_disc_in_the_plane_rolls_down_or_rests():
    inertia = 0.5 * MASS * RADIUS**2
    mass = np.diag([MASS, MASS, inertia])
    rows = np.array([[[0.0, 1.0, 0.0], [1.0, 0.0, RADIUS], [0.0, 0.0, 1.0]]])
    for share in (0.9, 1.5):
        length = 0.01
        angle = np.arctan(share * length / RADIUS)
        pull = GRAVITY * STEP * np.array([np.sin(angle), -np.cos(angle), 0.0])
        problem = sc.ContactProblem.from_bodies(
            [mass], pull, ([-1], [0]), (np.zeros_like(rows), rows), sc.Friction(0.8, rolling=length)
        )
        goes = (pull[0] + pull[1] * length / RADIUS) / 1.5
        assert solved(problem).body_velocity[0] == pytest.approx(max(goes, 0.0), abs=1e-9)


def pile(seed: int, *, friction: dict, bodies: int = 4, contacts: int = 8):
    """Bodies with contacts at random places, some with the ground, that fall and turn; the problem and its rows (m, 6, n)."""
    random = np.random.default_rng(seed)
    first, second = np.empty((2, contacts), np.int64)
    a, b = np.zeros((2, contacts, 6, 6))
    for k in range(contacts):
        second[k] = random.integers(bodies)
        first[k] = random.choice([i for i in range(-1, bodies) if i != second[k]])
        axes = np.linalg.qr(random.normal(size=(3, 3)))[0]
        for sign, side in ((-1.0, a), (1.0, b)):
            arm = random.uniform(-1.0, 1.0, 3)
            side[k, :3] = sign * np.hstack([axes, np.cross(arm, axes)])
            side[k, 3:, 3:] = sign * axes
    weights = 10.0 ** random.uniform(-1, 1, bodies)
    masses = [np.diag(np.concatenate([np.full(3, w), w * random.uniform(0.1, 0.4, 3)])) for w in weights]
    v = np.tile([0.0, 0.0, -1.0, 0.0, 0.0, 0.0], bodies) + 0.5 * random.normal(size=6 * bodies)
    mu = random.uniform(0.2, 1.0, contacts)
    problem = sc.ContactProblem.from_bodies(masses, v, (first, second), (a, b), sc.Friction(mu, **friction))
    whole = np.zeros((contacts, 6, 6 * bodies))
    for k in range(contacts):
        for body, side in ((first[k], a), (second[k], b)):
            if body >= 0:
                whole[k, :, 6 * body : 6 * body + 6] += side[k]
    inverse = np.diag(1.0 / np.concatenate([np.diagonal(mass) for mass in masses]))
    return problem, whole, inverse, v, mu


def test_the_law_holds_in_random_piles_and_bodies_and_matrix_agree():
    """Measured from the moments alone: bounds, and all the work against turning that the bounds allow."""
    slid = stuck = 0
    for seed in range(12):
        m = 8
        friction = {"rolling": np.linspace(0.0, 0.3, m), "torsion": 0.1}
        problem, rows, inverse, v, mu = pile(seed, friction=friction)
        result = sc.solve(problem, tolerance=1e-9)
        if result.status is not sc.Status.SOLVED:
            assert result.status is sc.Status.INFEASIBLE
            continue
        force, torsion, rolling = result.impulse[:m], result.impulse[m : 2 * m], result.impulse[2 * m :]
        moments = np.hstack([0.1 * torsion[:, 1:2], friction["rolling"][:, None] * rolling[:, 1:]])
        all_impulses = np.hstack([force, moments])
        u = rows @ (v + inverse @ np.einsum("kij,ki->j", rows, all_impulses))
        scale = np.abs(u).max() * np.abs(force).max()
        assert np.abs(force[:, 0] * u[:, 0]).max() < 1e-7 * scale and u[:, 0].min() > -1e-7
        for bound, lam, slip in (
            (mu * force[:, 0], force[:, 1:], u[:, 1:3]),
            (0.1 * force[:, 0], moments[:, :1], u[:, 3:4]),
            (friction["rolling"] * force[:, 0], moments[:, 1:], u[:, 4:]),
        ):
            size, speed = np.linalg.norm(lam, axis=1), np.linalg.norm(slip, axis=1)
            assert (size <= bound + 1e-8 * np.abs(force).max()).all()
            assert np.abs(bound * speed + (lam * slip).sum(axis=1)).max() < 1e-7 * scale
            slid, stuck = slid + (speed > 1e-3).sum(), stuck + ((speed < 1e-6) & (bound > 1e-3)).sum()
        flat = rows.reshape(6 * m, -1)
        by_matrix = sc.ContactProblem.from_delassus(flat @ inverse @ flat.T, flat @ v, sc.Friction(mu, **friction))
        again = sc.solve(by_matrix, tolerance=1e-9, warm_start=result.impulse)
        assert again.status is sc.Status.SOLVED and np.allclose(again.velocity[:m], u[:, :3], atol=1e-6)
    assert slid > 100 and stuck > 10


def test_no_length_is_no_moment():
    plain, _, _, _, _ = pile(3, friction={"rolling": 0.0, "torsion": 0.0})
    result = solved(plain, 1e-9)
    assert np.allclose(result.impulse[8:16, 0], result.impulse[:8, 0], atol=1e-6)


def test_bilateral_constraints_stay_where_they_were():
    rows = rows_of_ball()[[0, 1, 2, 4, 5]][None]
    mass = np.diag([MASS] * 3 + [INERTIA] * 3)
    held = np.zeros((1, 6))
    held[0, 0] = 1.0  # it may not go along x
    v = np.array([1.0, 0.5, -0.1, 0.0, 0.0, 0.0])
    problem = sc.ContactProblem.from_bodies(
        [mass], v, ([-1], [0]), (np.zeros_like(rows), rows), sc.Friction(0.5, rolling=0.01), bilateral=(held, 0.0)
    )
    result = solved(problem)
    assert result.body_velocity[0] == pytest.approx(0.0, abs=1e-10) and sc.residuals(problem, result).coulomb < 1e-9


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rolling": -0.1}, r"rolling\[0\] = -0.1 is negative; give a length in m, at least 0"),
        ({"rolling": [0.1, 0.2]}, "rolling must be a number or have 1 entries"),
        ({"torsion": 0.1}, "G has 5 rows; rows is not a multiple of the 4 rows of a contact with its moments"),
        ({"torsion": 0.1, "dim": 2}, "torsion is given in two dimensions"),
        ({"rolling": np.nan}, "rolling is nan"),
    ],
)
def test_what_makes_no_sense_is_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        problem_of_matrix(np.eye(5), np.zeros(5), 0.5, **arguments)
