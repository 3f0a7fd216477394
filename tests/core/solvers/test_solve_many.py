# SPDX-License-Identifier: GPL-3.0-or-later
"""Many small problems at once: the answers of `solve`, closed forms, and what is wrong named by its problem."""

from __future__ import annotations

import re
from time import process_time

import numpy as np
import pytest

import solver_core as sc

from ..contact_problems import GRAVITY_STEP, box_on_ground, rigid_jacobian

G_OF_POINT = np.eye(3) / 2.0  # a particle of 2 kg


def one_body(random, contacts):
    """A body thrown at some planes: G of up to three rows a contact, of rank six, and a g that its motion has."""
    arms, axes = random.normal(size=(contacts, 3)), np.linalg.qr(random.normal(size=(contacts, 3, 3)))[0]
    J = np.array([rigid_jacobian(arm, three) for arm, three in zip(arms, axes, strict=True)]).reshape(-1, 6)
    weight = np.repeat([1.0, 4.0], 3)
    return (J * weight) @ J.T, J @ random.normal(size=6)


def of_each(problems, results, tolerance=1e-6):
    """What `solve` has to each of some problems, beside what all of them together have."""
    for i in range(len(problems)):
        alone, own = sc.solve(problems[i], tolerance=tolerance), slice(results.start[i], results.start[i + 1])
        yield i, alone, results.status[i], results.impulse[own], results.velocity[own]


@pytest.mark.parametrize("sizes", [[1] * 40, [4] * 30, [8] * 12, [0, 3, 20, 1, 0, 7]])
def test_each_problem_has_the_answer_that_it_has_alone(sizes):
    random = np.random.default_rng(len(sizes))
    matrices, free = zip(*(one_body(random, m) for m in sizes), strict=True)
    problems = sc.ContactProblems.from_delassus(list(matrices), list(free), 0.5)
    results = sc.solve_many(problems)
    for _, alone, status, impulse, velocity in of_each(problems, results):
        assert alone.status == status
        assert np.array_equal(alone.impulse, impulse)
        assert np.array_equal(alone.velocity, velocity)
    assert (results.residual[results.status == sc.Status.SOLVED] <= 1e-6).all()


@pytest.mark.parametrize("dim", [2, 3])
def test_particles_stick_slide_and_part_as_by_hand(dim):
    speeds = np.array([0.1, 2.0, 1.0])
    g = np.zeros((3, dim))
    g[:, 0], g[:, 1] = [-1.0, -1.0, 1.0], speeds
    G = np.tile(np.eye(dim) / 2.0, (3, 1, 1))
    results = sc.solve_many(sc.ContactProblems.from_delassus(G, g, 0.5, dim=dim))
    assert np.allclose(results.impulse[:, :2], [[2.0, -0.2], [2.0, -1.0], [0.0, 0.0]], atol=1e-9)
    assert np.allclose(results.velocity[:, :2], [[0.0, 0.0], [0.0, 1.5], [1.0, 1.0]], atol=1e-9)


def test_a_gap_is_closed_and_no_more():
    results = sc.solve_many(sc.ContactProblems.from_delassus([G_OF_POINT] * 2, [[-1.0, 0, 0]] * 2, 0.5, slack=[0.25, [2.0]]))
    assert np.allclose(results.velocity[:, 0], [-0.25, -1.0], atol=1e-9)


def test_boxes_given_by_their_bodies_stand_on_the_ground():
    box = box_on_ground()
    system, n = box.system, 25
    places = np.arange(4 * n) // 4
    problems = sc.ContactProblems.from_bodies(
        [4] * n,
        np.tile(system.mass.reshape(1, 6, 6), (n, 1, 1)),
        np.tile(system.velocity, n),
        (np.full(4 * n, -1), places),
        (np.zeros((4 * n, 3, 6)), np.tile(system.jacobian_b, (n, 1, 1))),
        0.5,
    )
    results = sc.solve_many(problems, tolerance=1e-8)
    assert (results.status == sc.Status.SOLVED).all()
    assert np.allclose(results.impulse.reshape(n, 4, 3)[..., 0].sum(axis=1), 2.0 * GRAVITY_STEP, rtol=1e-7)
    assert np.array_equal(problems[3].delassus, box.delassus)
    for i, alone, _, impulse, _ in of_each(problems, results, 1e-8):
        assert np.array_equal(alone.impulse, impulse), i


def test_answers_are_good_to_start_from():
    random = np.random.default_rng(5)
    matrices, free = zip(*(one_body(random, 4) for _ in range(20)), strict=True)
    problems = sc.ContactProblems.from_delassus(np.array(matrices), np.array(free), 0.5)
    first = sc.solve_many(problems, tolerance=1e-8)
    again = sc.solve_many(problems, tolerance=1e-6, warm_start=first.impulse)
    assert (again.status == sc.Status.SOLVED).all()
    assert np.allclose(again.velocity, first.velocity, rtol=0.0, atol=1e-7)


def test_what_one_kernel_does_not_know_is_solved_all_the_same():
    rounded = G_OF_POINT + 1e-6 * np.triu(np.ones((3, 3)), 1)
    problems = sc.ContactProblems.from_delassus([G_OF_POINT, rounded, G_OF_POINT], [[-1.0, 5.0, 0.0]] * 3, [0.5, 0.5, np.inf])
    results = sc.solve_many(problems)
    assert (results.status == sc.Status.SOLVED).all()
    assert list(problems.apart) == [1]
    assert abs(results.velocity[1, 1] - 4.5) < 1e-4
    assert np.abs(results.velocity[2]).max() < 1e-6  # where mu is inf nothing slips


def test_nothing_at_all_is_solved():
    none = sc.solve_many(sc.ContactProblems.from_delassus([], [], 0.5))
    assert len(none) == 0
    assert none.impulse.shape == (0, 3)


GOOD = {"G": [G_OF_POINT] * 3, "g": [[-1.0, 0.0, 0.0]] * 3, "mu": 0.5}
INDEFINITE, SKEW = np.diag([1.0, 1.0, -1.0]), np.eye(3) + np.triu(np.ones((3, 3)), 1)
NAN = np.where(np.eye(3) > 0.0, np.nan, 0.0)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"G": [G_OF_POINT, G_OF_POINT, NAN]}, "problem 2: G[0, 0] is nan"),
        ({"G": np.array([G_OF_POINT, NAN, NAN])}, "problem 1: G[0, 0] is nan"),
        ({"G": [G_OF_POINT, INDEFINITE, G_OF_POINT]}, "problem 1: G must be positive semidefinite"),
        ({"G": [G_OF_POINT, G_OF_POINT, SKEW]}, "problem 2: G must be symmetric"),
        ({"G": [G_OF_POINT, np.eye(4), G_OF_POINT]}, "problem 1: G has 4 rows"),
        ({"G": [G_OF_POINT, np.ones((3, 2)), G_OF_POINT]}, "problem 1: G must be a dense square matrix"),
        ({"G": 3.0}, "G must be an array"),
        ({"g": [[-1.0, 0.0, 0.0]] * 2}, "g has 2 problems, but G has 3"),
        ({"g": [[-1.0, 0.0, 0.0]] * 2 + [[-1.0, 0.0]]}, "problem 2: g must have shape (3,)"),
        ({"g": [[-1.0, 0.0, 0.0], [0.0, np.inf, 0.0], [0.0, 0.0, 0.0]]}, "problem 1: g[1] is inf"),
        ({"g": [[-1.0, 0.0, 0.0], ["a", 0.0, 0.0], [0.0, 0.0, 0.0]]}, "problem 1: g must be an array of numbers"),
        ({"mu": [0.5, -0.1, 0.5]}, "problem 1: mu[0] = -0.1 is negative"),
        ({"mu": np.full((3, 2), 0.5)}, "problem 0: mu must be a number or have 1 entries"),
        ({"slack": [0.0, 0.0, [1.0, 2.0]]}, "problem 2: slack must be"),
        ({"dim": 4}, "dim must be 2 or 3"),
        ({"rounding": "perhaps"}, "rounding must be one of"),
    ],
)
def test_what_is_wrong_is_named_with_its_problem(bad, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        sc.ContactProblems.from_delassus(**GOOD | bad)


@pytest.mark.parametrize(
    ("counts", "body", "message"),
    [
        ([1, 2], [0, 1], "counts add up to 3 contacts, but there are 2"),
        ([1.5, 0.5], [0, 1], "counts[0] = 1.5"),
        ([1, 1], [0, 0], "body 0 is in problems 0 and 1"),
    ],
)
def test_bodies_are_of_one_problem_each(counts, body, message):
    jacobians = np.zeros((2, 3, 3)), np.tile(np.eye(3), (2, 1, 1))
    of_bodies = [np.eye(3)] * 2, np.zeros(6), ([-1, -1], body), jacobians, 0.5
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        sc.ContactProblems.from_bodies(counts, *of_bodies)
    with pytest.raises(ValueError, match="mu must be coefficients here"):
        sc.ContactProblems.from_bodies([1, 1], *of_bodies[:4], sc.Friction(0.5, rolling=0.1))


def test_what_is_solved_and_from_where_is_checked():
    problems = sc.ContactProblems.from_delassus(**GOOD)
    with pytest.raises(ValueError, match="problems must be ContactProblems, not ContactProblem"):
        sc.solve_many(problems[0])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=re.escape("warm_start must have shape (3, 3), not (2, 3)")):
        sc.solve_many(problems, warm_start=np.zeros((2, 3)))
    with pytest.raises(ValueError, match="tolerance"):
        sc.solve_many(problems, tolerance=0.0)
    with pytest.raises(IndexError):
        problems[3]


def test_a_thousand_problems_at_once_take_a_part_of_what_they_take_one_by_one():
    G, g = np.tile(G_OF_POINT, (1000, 1, 1)), np.tile([-1.0, 3.0, 0.0], (1000, 1))

    def together():
        return sc.solve_many(sc.ContactProblems.from_delassus(G, g, 0.5)).impulse

    def one_by_one():
        return [sc.solve(sc.ContactProblem.from_delassus(*one, 0.5)).impulse for one in zip(G[:100], g[:100], strict=True)]

    def seconds(work):
        work()
        begin = process_time()
        work()
        return process_time() - begin

    assert seconds(together) < 0.5 * 10.0 * seconds(one_by_one)
