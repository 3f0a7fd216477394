# SPDX-License-Identifier: GPL-3.0-or-later
"""Islands are the connected sets of bodies that touch; what does not move connects nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import solver_core as sc
from solver_core.dynamics.model.island_motion import Asked
from solver_core.dynamics.solve.islands import Again, Error, Requests, island_of_each, not_begun, solve_islands, totals
from solver_core.problem.residuals import fastest_velocity
from solver_core.problem.subsystem import contact_islands
from solver_core.problem.system import System
from solver_core.scene.parts import box, ground
from solver_core.scene.spec import MaterialSpec
from solver_core.solvers.effort import OVERDUE, effort_of_a_step

from ..contact_problems import random_bodies, together

ROUGH = MaterialSpec(0.7, 0.7)


def islands(bodies, pairs):
    """Islands as lists of contact indices."""
    pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    start, contacts = contact_islands(bodies, pairs[:, 0].copy(), pairs[:, 1].copy())
    assert start[0] == 0
    assert start[-1] == contacts.size == len(pairs)
    return [contacts[a:b].tolist() for a, b in itertools.pairwise(start)]


def test_no_contacts_are_no_islands():
    assert islands(4, []) == []


def test_a_chain_is_one_island():
    assert islands(4, [(0, 1), (2, 3), (1, 2)]) == [[0, 1, 2]]


def test_what_stands_on_the_same_ground_is_not_connected():
    assert islands(3, [(-1, 0), (-1, 1), (-1, 2), (-1, 0)]) == [[0, 3], [1], [2]]


def test_the_side_on_which_the_ground_is_does_not_matter():
    assert islands(2, [(0, -1), (-1, 1), (1, -1)]) == [[0], [1, 2]]


@pytest.mark.parametrize("seed", range(12))
def test_islands_are_the_connected_components(seed):
    random = np.random.default_rng(seed)
    bodies, m = 30, int(random.integers(1, 40))
    pairs = np.array([random.choice(bodies, 2, replace=False) for _ in range(m)])
    to_ground = random.random(m) < 0.3
    pairs[to_ground, random.integers(0, 2)] = -1
    touching = pairs[(pairs >= 0).all(axis=1)]
    graph = coo_array((np.ones(len(touching)), touching.T), shape=(bodies, bodies))
    _, label = connected_components(graph, directed=False)
    expected = {}
    for k, pair in enumerate(pairs):
        expected.setdefault(label[pair.max()], []).append(k)
    assert sorted(islands(bodies, pairs)) == sorted(expected.values())


@pytest.mark.parametrize("apart", [0.5, 0.2])
def test_the_simulation_counts_the_islands_that_it_solves(apart):
    """Three boxes in a row on the ground: alone, or side by side in touch."""
    bodies = [box(f"Box {i}", (0.2, 0.2, 0.2), (apart * i, 0.0, 0.1), ROUGH) for i in range(3)]
    frames = sc.Simulation(sc.SceneSpec((ground(ROUGH), *bodies))).run(2)
    assert set(frames[-1].statistics.islands) == {3 if apart > 0.2 else 1}


def held_by_a_limit(slowest):
    """A body that falls onto a point half a metre aside, whose turn about y a limit keeps above -slowest rad/s."""
    normal, turn = np.zeros((2, 1, 3, 6))
    normal[0, 0, 2], normal[0, 0, 4], turn[0, 0, 4] = 1.0, -0.5, 1.0
    rows, eye = np.concatenate([normal, turn]), np.eye(6).ravel()
    box = np.array([[[0.0, np.inf, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]])
    falls, ends, none = np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0]), np.array([-1, -1]), np.zeros(1)
    bias = np.array([[0.0, 0.0, 0.0], [slowest, 0.0, 0.0]])
    blocks = np.array([0, 6]), np.array([0, 36]), eye, eye, falls
    return System(*blocks, ends, np.zeros(2, np.int64), 0.0 * rows, rows, bias, none, none, box, 1e-6)


@pytest.mark.parametrize(("slowest", "push", "hold"), [(0.1, 0.95, 0.375), (0.5, 0.8, 0.0)])
def test_a_limit_that_only_an_impact_of_the_same_solve_reaches_holds(slowest, push, hold):
    """Alone the impact of 0.8 N s would turn the body by -0.4 rad/s."""
    system, impulse = held_by_a_limit(slowest), np.zeros((2, 3))
    requests = Requests(np.full(1, 1e-8), np.zeros(1, np.bool_), np.ones(1), 50, 0, 0)
    v, totals = solve_islands(system, impulse, requests, effort_of_a_step())
    assert totals.status == sc.Status.SOLVED
    assert impulse[:, 0] == pytest.approx([push, hold], abs=1e-8)
    assert v[4] == pytest.approx(hold - 0.5 * push, abs=1e-8)


@pytest.mark.parametrize(
    ("ends", "worst"),
    [
        ((sc.Status.SOLVED, sc.Status.UNCONFIRMED, sc.Status.MAX_ITERATIONS), sc.Status.MAX_ITERATIONS),
        ((sc.Status.UNCONFIRMED, sc.Status.TIME_LIMIT), sc.Status.TIME_LIMIT),
        ((sc.Status.MAX_ITERATIONS, sc.Status.NOT_FINITE, sc.Status.UNCONFIRMED), sc.Status.NOT_FINITE),
        ((sc.Status.SOLVED, sc.Status.SOLVED), sc.Status.SOLVED),
    ],
)
def test_a_step_has_the_status_of_its_worst_island_in_whatever_order(ends, worst):
    """A step that found nothing is halved, one whose numbers broke down is not used; an unconfirmed island hid both."""
    for order in itertools.permutations(ends):
        outcomes = not_begun(len(order))
        outcomes.status[:] = order
        assert totals(outcomes).status == worst


def measured_by_hand(system, impulse, island, count):
    """The velocities (n,) that impulses (m, 3) lead to, and (count,) the worst relative residual of Coulomb's law in each
    island, by dense matrices."""
    n, m = system.offset[-1], len(system.mu)
    jacobian, inverse = np.zeros((m, 3, n)), np.zeros((n, n))
    for body, (first, last) in enumerate(itertools.pairwise(system.offset)):
        block = system.inverse_mass[system.block_start[body] : system.block_start[body + 1]]
        inverse[first:last, first:last] = block.reshape(last - first, last - first)
        for ends, rows in ((system.body_a, system.jacobian_a), (system.body_b, system.jacobian_b)):
            jacobian[ends == body, :, first:last] += rows[ends == body, :, : last - first]
    v = system.velocity + inverse @ np.einsum("mri,mr->i", jacobian, impulse)
    u, free = (np.einsum("mri,i->mr", jacobian, one) + system.bias for one in (v, system.velocity))
    u[:, 0] += system.slack
    free[:, 0] += np.minimum(system.slack, 0.0)
    worst = np.zeros(count)
    for i in range(count):
        at = island == i
        f, w, fastest = impulse[at], u[at], np.linalg.norm(free[at], axis=1).max()
        largest = np.linalg.norm(f, axis=1).max()
        bound = system.mu[at] * np.maximum(f[:, 0], 0.0)
        slides, pulls = np.linalg.norm(w[:, 1:], axis=1), np.linalg.norm(f[:, 1:], axis=1)
        found = [
            np.maximum(-w[:, 0], 0.0).max() / fastest,
            np.maximum(pulls - bound, np.maximum(-f[:, 0], 0.0)).max() / (largest or 1.0),
            np.abs(f[:, 0] * w[:, 0]).max() / ((largest or 1.0) * fastest),
            np.abs(bound * slides + (f[:, 1:] * w[:, 1:]).sum(axis=1)).max() / ((largest or 1.0) * fastest),
        ]
        worst[i] = max(found)
    return v, worst


def near_answers(system, random, off):
    """Impulses of a solved system, each off by a part of itself."""
    impulse = np.zeros((len(system.mu), 3))
    requests = Requests(
        np.full(len(system.offset) - 1, 1e-10),
        np.zeros(len(system.offset) - 1, np.bool_),
        np.ones(len(system.offset) - 1),
        50,
        0,
        0,
    )
    solve_islands(system, impulse, requests, effort_of_a_step())
    return impulse * (1.0 + off * random.normal(size=impulse.shape))


@pytest.mark.parametrize("variant", [0, 1])
@pytest.mark.parametrize(
    ("iterations", "overdue", "off"), [(50, 0, None), (1, 0, None), (50, 1, None), (50, 0, 1e-4), (50, 0, 1e-8), (1, 1, 1e-4)]
)
def test_what_is_called_solved_is_by_residuals_that_the_test_computes_itself(variant, iterations, overdue, off):
    """Many islands in one step, cold and from starts nearly right, within few iterations, and where time is over."""
    tolerance, random = 1e-6, np.random.default_rng(7)
    system = together([random_bodies(seed, contacts=6, bodies=2, mu=(0.2, 0.9)).system for seed in range(12)])
    impulse = np.zeros((len(system.mu), 3)) if off is None else near_answers(system, random, off)
    bodies, (island, count) = len(system.offset) - 1, island_of_each(system)
    requests = Requests(np.full(bodies, tolerance), np.zeros(bodies, np.bool_), np.ones(bodies), iterations, 0, variant)
    effort = effort_of_a_step()
    effort[OVERDUE] = overdue
    v, found = np.zeros(system.offset[-1]), not_begun(count)
    v, all_of_them = solve_islands(system, impulse, requests, effort, 1, Again(np.arange(count), v, found))
    expected, worst = measured_by_hand(system, impulse, island, count)
    np.testing.assert_allclose(v, expected, atol=1e-9 * np.abs(system.velocity).max())
    is_solved = found.status == sc.Status.SOLVED
    assert (worst[is_solved] <= tolerance * (1.0 + 1e-6)).all()
    assert (all_of_them.status == sc.Status.SOLVED) == is_solved.all()
    assert all_of_them.errors[5] >= worst.max() * (1.0 - 1e-6)
    assert is_solved.any() == (iterations > 1 and not overdue) or off is not None


def test_only_the_islands_that_are_asked_for_are_solved_and_the_others_keep_what_they_had():
    system = together([random_bodies(seed, contacts=6, bodies=2, mu=(0.2, 0.9)).system for seed in range(8)])
    bodies, (island, count) = len(system.offset) - 1, island_of_each(system)
    requests = Requests(np.full(bodies, 1e-6), np.zeros(bodies, np.bool_), np.ones(bodies), 50, 0, 0)
    impulse, found, which = np.zeros((len(system.mu), 3)), not_begun(count), np.arange(0, count, 2)
    found.status[1::2] = sc.Status.MAX_ITERATIONS
    v, all_of_them = solve_islands(
        system, impulse, requests, effort_of_a_step(), 1, Again(which, system.velocity.copy(), found)
    )
    expected, worst = measured_by_hand(system, impulse, island, count)
    assert not impulse[np.isin(island, np.arange(1, count, 2))].any()
    np.testing.assert_allclose(v, expected, atol=1e-9 * np.abs(system.velocity).max())
    assert (worst[which] <= 1e-6).all() and worst[1::2].max() > 1e-3
    assert all_of_them.status != sc.Status.SOLVED


def test_errors_in_velocity_are_relative_to_the_least_scale_of_the_island():
    """The same impulses in an island whose least velocity scale is ten times its fastest velocity have a tenth of the error."""
    system = together([random_bodies(3, contacts=6, bodies=2, mu=(0.2, 0.9)).system])
    system = system._replace(least_scale=fastest_velocity(system))
    given, bodies = near_answers(system, np.random.default_rng(7), 1e-4), len(system.offset) - 1
    errors = []
    for least_scale in (1.0, 10.0):
        requests = Requests(np.full(bodies, 0.1), np.ones(bodies, np.bool_), np.full(bodies, least_scale), 50, 0, 0)
        impulse = given.copy()
        _, found = solve_islands(system, impulse, requests, effort_of_a_step())
        assert (impulse == given).all()
        errors.append(found.errors[Error.NATURAL_MAP])
    assert errors[0] > 1e-6
    assert errors[1] == pytest.approx(0.1 * errors[0], rel=1e-12)


def test_a_request_for_exact_islands_is_relative_to_their_own_velocity():
    asked = Asked(np.array([1e-3, 1e-8]), np.array([True, False]), np.array([10.0, 1.0])).exactly(1e-6)
    assert asked.tolerance.tolist() == [1e-6, 1e-8]
    assert asked.tumbles.tolist() == [True, False]
    assert asked.least_scale.tolist() == [1.0, 1.0]
