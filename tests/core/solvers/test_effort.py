# SPDX-License-Identifier: GPL-3.0-or-later
"""A solve ends when its time is over, or its work done, with contact intact and the truth about it."""

from __future__ import annotations

import math
from contextlib import contextmanager
from time import perf_counter, process_time

import numpy as np
import pytest

import solver_core as sc
from solver_core.dynamics.solve import system_solver
from solver_core.laboratory import solve as solve_module
from solver_core.problem.subsystem import contact_islands, subsystem
from solver_core.scene import parts
from solver_core.solvers.effort import LEAST, MOST, MULTIPLICATIONS, OVERDUE, WORK, allow, effort_of_a_step, is_worked_off

from ...bench.heap_scenes import heap_of_cubes
from ..contact_problems import leaning_cards, random_bodies


def hard(seed=0):
    """Many contacts with much friction, to more digits than there are: no iteration is the last one."""
    return random_bodies(seed, contacts=60, bodies=8, mu=(0.8, 1.5))


@pytest.mark.parametrize("staggering", ["accelerated", "plain", "published"])
def test_time_is_up(staggering):
    problem, limit = hard(), 0.2
    sc.solve(problem, max_iterations=1, staggering=staggering)  # compiled
    begin, worked = perf_counter(), process_time()
    result = sc.solve(problem, tolerance=1e-16, max_iterations=1_000_000, time_limit=limit, staggering=staggering)
    assert result.status is sc.Status.TIME_LIMIT
    assert perf_counter() - begin >= limit
    assert process_time() - worked < 2.0 * limit + 5.0  # a million iterations take hours
    assert sc.residuals(problem, result).penetration.relative <= 1e-8


def islands(spec, steps):
    """The largest islands of some of a scene's first steps as problems, with the impulses that these begin with."""
    seen, original = [], system_solver.solve_islands

    def see(system, impulse, *rest):
        none = np.full(len(system.offset) - 1, -1)
        start, contacts = contact_islands(len(none), system.body_a, system.body_b)
        largest = int(np.argmax(np.diff(start)))
        chosen = contacts[start[largest] : start[largest + 1]]
        seen.append((sc.ContactProblem.of_system(subsystem(system, chosen, none)[0]), impulse[chosen].copy()))
        return original(system, impulse, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(system_solver, "solve_islands", see)
        sc.Simulation(spec, sleeping=False).run(1)
    return [seen[step] for step in steps]


STANDING = {"house": sc.scenes.card_house(levels=5), "wall": sc.scenes.wall(), "arch": sc.scenes.arch()}
LIMITS = (1e-9, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("staggering", ["accelerated", "plain", "published"])
@pytest.mark.parametrize("name", STANDING)
def test_however_short_the_time_contact_is_whole(name, staggering):
    """The clock may ring anywhere, from before anything is begun to after all is done: what is answered does not penetrate."""
    for problem, warm in islands(STANDING[name], (0, 3)):
        for limit in LIMITS:
            for start in (None, warm):
                result = sc.solve(problem, time_limit=limit, warm_start=start, staggering=staggering)
                assert result.status in (sc.Status.SOLVED, sc.Status.TIME_LIMIT, sc.Status.UNCONFIRMED)
                assert sc.residuals(problem, result).penetration.relative <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1e-5, 5e-4, 5e-3])
def test_an_arch_in_no_time_stays_out_of_the_ground(limit):
    spec = sc.scenes.arch()
    frames = sc.Simulation(spec, step_time_limit=limit, sleeping=False).run(4)
    assert max(frame.statistics.deepest_overlap.max() for frame in frames[1:]) <= 1e-4


def test_what_penetrates_faster_than_nothing_would_is_not_returned(monkeypatch):
    """A contact projection that may not do its work comes to nothing, and nothing is then what is answered."""
    problem = hard()

    def exhausted():
        effort = effort_of_a_step()
        effort[WORK] = 3 * MULTIPLICATIONS
        return effort

    @contextmanager
    def silent(effort, seconds):
        yield

    monkeypatch.setattr(solve_module, "effort_of_a_step", exhausted)
    monkeypatch.setattr(solve_module, "deadline_timer", silent)
    result = sc.solve(problem, tolerance=1e-12, max_iterations=1)
    without = np.maximum(0.0, -(problem.free_velocity[:, 0] + problem.system.slack)).max()
    assert sc.residuals(problem, result).penetration.value <= without


def test_more_time_than_it_needs_changes_nothing():
    problem, _ = leaning_cards(math.radians(20.0), 0.8)
    free, limited = sc.solve(problem), sc.solve(problem, time_limit=60.0)
    np.testing.assert_array_equal(free.impulse, limited.impulse)
    assert limited.status is sc.Status.SOLVED


@pytest.mark.slow
@pytest.mark.parametrize("iterations", [10, 100])
def test_work_is_bounded_by_the_iterations_that_are_allowed(iterations):
    """What an iteration costs differs by a factor of a thousand, so iterations alone bound nothing."""
    for seed in range(3):
        result = sc.solve(hard(seed), tolerance=1e-16, max_iterations=iterations)
        assert result.status is sc.Status.MAX_ITERATIONS
        assert result.stats.iterations <= iterations
        assert result.stats.factorisations <= 80 * iterations + 2400  # and one contact projection, begun before


def test_a_step_of_a_simulation_ends_in_time_and_says_so():
    """To more digits than there are, with so many iterations that without the clock each step would take minutes."""
    settings = {"tolerance": 1e-16, "max_iterations": 100_000, "substeps": 1, "step_time_limit": 0.1}
    frames = sc.Simulation(sc.scenes.card_house(levels=3), **settings).run(3)[1:]
    assert all((frame.statistics.status == sc.Status.TIME_LIMIT).all() for frame in frames)


def test_every_step_whose_time_is_over_before_it_is_solved_says_so(monkeypatch):
    from solver_core.dynamics import stepper

    @contextmanager
    def rung_at_once(effort, seconds):
        effort[OVERDUE] = 1
        yield

    monkeypatch.setattr(system_solver, "deadline_timer", rung_at_once)
    frames = sc.Simulation(sc.scenes.card_house(levels=3), tolerance=1e-12, substeps=2).run(4)[1:]
    assert all((frame.statistics.status == sc.Status.TIME_LIMIT).all() for frame in frames)
    assert all((frame.statistics.solves <= stepper.MAX_TRIES).all() for frame in frames)


@pytest.mark.slow
def test_what_has_no_time_runs_into_nothing(monkeypatch):
    """Of a heap of cubes whose steps only keep contact, none is in another by more than a hundredth of its half extents."""

    @contextmanager
    def rung_at_once(effort, seconds):
        effort[OVERDUE] = 1
        yield

    monkeypatch.setattr(system_solver, "deadline_timer", rung_at_once)
    frames = sc.Simulation(heap_of_cubes(64), fps=24.0, substeps=5).run(30)[1:]
    assert all(frame.statistics.overlap_ratio.max() < 0.01 for frame in frames)


def test_pivoting_ends_in_time_too_and_says_so():
    """With no time at all there is no trial beyond the first, and the step moves by what that found."""
    problem = hard()
    assert sc.solve(problem, "pivot", tolerance=1e-16, time_limit=1e-9).status is sc.Status.TIME_LIMIT
    spec = sc.scenes.card_house(levels=2)
    frames = sc.Simulation(spec, method="pivot", tolerance=1e-14, substeps=1, step_time_limit=1e-9).run(3)[1:]
    assert all((frame.statistics.status == sc.Status.TIME_LIMIT).all() for frame in frames)


def test_a_step_that_has_done_its_work_is_not_tried_again(monkeypatch):
    """It is solved twice at most, for what else goes on in the scene."""
    from solver_core.dynamics import stepper

    spec = sc.scenes.card_house(levels=2)
    settings = {"tolerance": 1e-14, "max_iterations": 100, "substeps": 1}
    monkeypatch.setattr(system_solver, "is_worked_off", lambda effort, contacts: True)
    frames = sc.Simulation(spec, **settings).run(3)[1:]
    assert all(
        frame.statistics.solves.max() <= stepper.MAX_TRIES_INFEASIBLE and frame.statistics.cuts.max() == 0 for frame in frames
    )


def test_what_may_be_multiplied_in_a_step_bounds_the_factorisations_of_each_solve():
    effort = effort_of_a_step()
    allow(effort, 200, 40, 100)
    assert effort[MOST] == 80 * 200  # of few bodies, as many as iterations ask for
    allow(effort, 200, 10**5, 10**4)
    of_large = int(effort[MOST])
    assert LEAST < of_large < 2000
    effort[WORK] = MULTIPLICATIONS
    allow(effort, 200, 10**5, 10**4)
    assert effort[MOST] == LEAST < of_large
    assert is_worked_off(effort)


def test_a_step_of_so_many_contacts_that_each_try_takes_a_third_of_the_work_is_tried_again():
    """In a heap of 8,000 cubes a try takes 8e5 multiplications a contact; after three, bodies would be left in each other."""
    effort, of_a_try = effort_of_a_step(), 800_000
    for contacts in (5_000, 14_000, 20_000):
        effort[WORK] = 7 * of_a_try * contacts
        assert not is_worked_off(effort, contacts)
        effort[WORK] = max(MULTIPLICATIONS, 8 * of_a_try * contacts)
        assert is_worked_off(effort, contacts)
    effort[WORK] = MULTIPLICATIONS
    assert is_worked_off(effort, 4_000)  # few contacts may take no more than before
    assert not is_worked_off(effort, 14_000)


def test_a_step_that_has_no_solution_says_so():
    """A box between the ground and a lid that comes down on it."""
    material = parts.ground(parts.pair_material(0.5)).material
    path = np.zeros((3, 7))
    path[:, 2], path[:, 3] = [0.31, 0.29, 0.27], 1.0
    lid = parts.box("Lid", (1.0, 1.0, 0.2), path[0, :3], material)
    lid = lid.__class__(**{**vars(lid), "kind": lid.kind.__class__("animated"), "path": path, "mass": None, "density": None})
    box = parts.box("Box", (0.2, 0.2, 0.2), (0.0, 0.0, 0.1), material)
    spec = sc.SceneSpec((parts.ground(material), box, lid), frame_end=3)
    frame = sc.Simulation(spec).run(1)[-1]
    assert (frame.statistics.status == sc.Status.INFEASIBLE).any()
