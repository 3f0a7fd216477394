# SPDX-License-Identifier: GPL-3.0-or-later
"""The same bits with any number of threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.collision.detect import MIN_COLLIDERS_FOR_THREADS, Scene, detect_all
from solver_core.dynamics.model.bodies import build_bodies
from solver_core.dynamics.motion.rotation import matrices
from solver_core.dynamics.solve.islands import Requests, solve_islands
from solver_core.problem.system import System
from solver_core.solvers.coulomb.cascade import ACCELERATED
from solver_core.solvers.effort import OF_A_RUN, OVERDUE, WORK, do_within_budget, effort_of_a_step
from solver_core.threads.count import number_of_threads
from solver_core.threads.side_by_side import runs

from ..piles import falling_cubes, pile, stacked_boxes

WALL = stacked_boxes(columns=20, layers=10).system


def side_by_side(system: System, copies: int) -> System:
    """A problem so many times over, none of them touching another."""
    bodies = len(system.offset) - 1
    shift = np.repeat(bodies * np.arange(copies), len(system.body_a))

    def moved(body):
        whole = np.tile(body, copies)
        return np.where(whole >= 0, whole + shift, -1)

    def continued(begin):
        return np.concatenate([[0], *(begin[1:] + copy * begin[-1] for copy in range(copies))])

    arrays = {name: array for name, array in system._asdict().items() if np.ndim(array)}
    many = {name: np.concatenate([array] * copies) for name, array in arrays.items()}
    many["offset"], many["block_start"] = continued(system.offset), continued(system.block_start)
    many["body_a"], many["body_b"] = moved(system.body_a), moved(system.body_b)
    return system._replace(**many)


def requests_at(tolerance, system):
    bodies = len(system.offset) - 1
    return Requests(np.full(bodies, tolerance), np.zeros(bodies, dtype=bool), np.ones(bodies), 200, 0, ACCELERATED)


@pytest.mark.parametrize("copies", [1, 2])
def test_islands_come_out_the_same_with_any_number_of_threads(copies):
    """One wall of 200 bodies, and two of them that are islands of their own."""
    system = side_by_side(WALL, copies)
    answers = []
    for threads in (1, 3):
        impulse = np.zeros((len(system.body_a), 3))
        v, totals = solve_islands(system, impulse, requests_at(1e-4, system), effort_of_a_step(), threads)
        assert totals.status == sc.Status.SOLVED and totals.islands == copies
        answers.append((v, impulse, *totals))
    for answer in answers[1:]:
        for mine, first in zip(answer, answers[0], strict=True):
            np.testing.assert_array_equal(mine, first)


def test_many_small_islands_come_out_the_same_with_any_number_of_threads():
    """Walls of 12 bodies, 80 of them, in several runs of islands."""
    system = side_by_side(stacked_boxes(columns=4, layers=3).system, 80)
    assert len(system.body_a) > 2 * OF_A_RUN
    answers = []
    for threads in (1, 2, 3):
        impulse, effort = np.zeros((len(system.body_a), 3)), effort_of_a_step()
        v, totals = solve_islands(system, impulse, requests_at(1e-6, system), effort, threads)
        assert totals.status == sc.Status.SOLVED and totals.islands == 80 and effort[WORK] > 0
        answers.append((v, impulse, *totals, effort[WORK]))
    for answer in answers[1:]:
        for mine, first in zip(answer, answers[0], strict=True):
            np.testing.assert_array_equal(mine, first)


def test_the_deadline_of_a_step_holds_in_all_threads():
    """A step whose time is over is not solved on, whoever does it; of each island only its first contact projection is."""
    system = side_by_side(stacked_boxes(columns=4, layers=3).system, 80)
    assert len(system.body_a) > 2 * OF_A_RUN
    factorisations = []
    for overdue in (0, 1):
        effort = effort_of_a_step()
        effort[OVERDUE] = overdue
        _, totals = solve_islands(system, np.zeros((len(system.body_a), 3)), requests_at(1e-12, system), effort, 2)
        factorisations.append(totals.factorisations)
    whole, in_time = factorisations
    assert in_time < 0.1 * whole


@pytest.mark.parametrize("threads", [1, 2])
def test_a_deadline_between_tasks_reaches_the_tasks_that_follow(threads):
    """In one thread, the time runs out during the first task. In two, it runs out while both of them wait for it."""
    effort, seen = effort_of_a_step(), []

    def first(of_task):
        effort[OVERDUE] = 1
        while not of_task[OVERDUE]:
            pass

    def second(of_task):
        while threads > 1 and not of_task[OVERDUE]:
            pass
        seen.append(bool(of_task[OVERDUE]))
        of_task[WORK] += 5

    do_within_budget(threads, effort, [first, second])
    assert seen == [True] and effort[WORK] == 5


@pytest.mark.parametrize("as_hulls", [False, True])
def test_contacts_are_found_the_same_with_any_number_of_threads(as_hulls):
    """Of 2,100 cubes at random turns, in their order and to the last bit, as boxes and as any other polyhedra."""
    bodies, state = build_bodies(falling_cubes(2100))
    shapes, model = bodies.shapes, bodies.model
    if as_hulls:
        shapes = shapes._replace(box=np.zeros_like(shapes.box))
    count, rotation = len(model.dof), matrices(state.orientation)
    reach, travel = np.full(count, 0.1), np.zeros((count, 3))
    assert count >= MIN_COLLIDERS_FOR_THREADS
    scene = Scene(state.position, rotation, reach, travel, model.collections, model.dof >= 0, bodies.excluded)
    one, two, three = (detect_all(shapes, scene, threads) for threads in (1, 2, 3))
    assert len(one) > 1000
    for other in (two, three):
        for same, expected in zip(other, one, strict=True):
            np.testing.assert_array_equal(same, expected)


@pytest.mark.parametrize("sizes", [[], [5], [300, 1, 1, 1], [511, 1, 300], [1] * 1000, [10000, 1, 10000], [100] * 900])
def test_runs_are_all_items_in_their_order_and_none_is_small_beside_another(sizes):
    """A run that is smaller than the least size would take less time than starting its thread."""
    found = runs(np.array(sizes, dtype=np.int64), 256)
    assert [i for first, last in found for i in range(first, last)] == list(range(len(sizes)))
    assert all(sum(sizes[first:last]) >= 256 for first, last in found) or len(found) == 1
    assert len(found) <= 16


def test_a_simulation_is_the_same_with_any_number_of_threads():
    spec = pile(14, 10)
    slab = replace(spec.bodies[1], velocity=np.array([1.0, 0.0, 0.0]))
    spec = replace(spec, bodies=(spec.bodies[0], slab, *spec.bodies[2:]))
    one, two = (sc.Simulation(spec, threads=threads, substeps=2).run(1)[-1] for threads in (1, 2))
    assert one.statistics.found[:, [sc.Found.SWEEPS, sc.Found.ADMM]].any()
    np.testing.assert_array_equal(one.poses, two.poses)
    np.testing.assert_array_equal(one.velocities, two.velocities)


@pytest.mark.parametrize("asked", [-1, 1000, 1.5, "two", None, True])
def test_a_number_of_threads_that_is_none_is_named(asked):
    with pytest.raises(ValueError, match="threads must be a whole number from 1 to 256, or 0"):
        number_of_threads(asked)
    with pytest.raises(ValueError, match="threads"):
        sc.Simulation(sc.scenes.slope(), threads=asked)


def test_none_asked_for_is_one_a_processor():
    assert number_of_threads(0) >= 1
    assert number_of_threads(3) == 3
