# SPDX-License-Identifier: GPL-3.0-or-later
"""Islands are the connected sets of bodies that touch; what does not move connects nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import solver_core as sc
from solver_core.dynamics.solve.islands import Requests, not_begun, solve_islands, totals
from solver_core.problem.subsystem import contact_islands
from solver_core.problem.system import System
from solver_core.scene.parts import box, ground
from solver_core.scene.spec import MaterialSpec
from solver_core.solvers.effort import effort_of_a_step

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
    requests = Requests(np.full(1, 1e-8), np.zeros(1, np.bool_), 50, 0, 0)
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
