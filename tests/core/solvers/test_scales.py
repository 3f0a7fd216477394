# SPDX-License-Identifier: GPL-3.0-or-later
"""What errors are measured by: as much of a solve is asked of what falls at any speed, at any size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.dynamics.solve import system_solver
from solver_core.problem.residuals import fastest_velocity
from solver_core.problem.subsystem import subsystem
from solver_core.published.joints_as_contacts import joints_as_contacts
from solver_core.solvers.bilateral import without_bilateral

from ..contact_problems import GRAVITY_STEP, box_on_ground, random_bodies
from ..dolls import doll
from ..jointed_problems import random_joined

EARTH, NOWHERE = (0.0, 0.0, -9.81), (0.0, 0.0, 0.0)


def statistics(spec, gravity, frames=2, **settings):
    """Of all steps: the most factorisations, the worst status, the largest natural map."""
    spec = replace(spec, gravity=np.array(gravity))
    frames = sc.Simulation(spec, sleeping=False, **settings).run(frames)[1:]
    every = [frame.statistics for frame in frames]
    most = max(one.factorisations.max() for one in every)
    return most, max(one.status.max() for one in every), max(one.natural_map.max() for one in every)


@pytest.mark.parametrize(("gravity", "scale"), [(EARTH, 0.01), (NOWHERE, 1.0), (EARTH, 10.0)])
def test_a_doll_in_free_fall_takes_as_much_at_any_speed_and_size(gravity, scale):
    """Gravity pulls all of it alike: its joints have nothing to do but round-off."""
    for speed in (0.0, 1.0, 10.0, 100.0):
        spec = doll(scale=scale, velocity=(0.6 * speed, 0.0, -0.8 * speed))
        factorisations, status, error = statistics(spec, gravity)
        assert status == sc.Status.SOLVED and error <= 1e-6
        assert factorisations == 0


@pytest.mark.parametrize("method", ["staggered", "pivot", "energy"])
def test_every_method_solves_what_falls(method):
    _, status, error = statistics(doll(velocity=(0.0, 30.0, -40.0)), EARTH, frames=1, substeps=2, method=method)
    assert status == sc.Status.SOLVED and error <= 1e-6


@pytest.mark.parametrize("gravity", [EARTH, NOWHERE])
def test_a_doll_that_turns_about_itself_takes_two_factorisations_a_step(gravity):
    """Within the limits of its joints: a tree of joints is one linear solve, in which rows that give way repeat it once."""
    still = doll()
    mass = np.array([body.mass for body in still.bodies])
    middle = mass @ np.array([body.position for body in still.bodies]) / mass.sum()
    spin = np.array([0.6, 0.8, 1.0])
    turning = [replace(b, velocity=np.cross(spin, b.position - middle), angular_velocity=spin) for b in still.bodies]
    factorisations, status, _ = statistics(replace(still, bodies=tuple(turning)), gravity)
    assert status == sc.Status.SOLVED
    assert 1 <= factorisations <= 2


@pytest.mark.parametrize("least", [0.0, 1e-3, 10.0])
def test_what_moves_faster_than_the_least_scale_is_measured_by_how_fast_it_moves(least):
    """The box on its corners falls by gravity's velocity in a step, and so do they."""
    problem = box_on_ground()
    system = problem.system._replace(least_scale=least)
    assert fastest_velocity(system) == pytest.approx(max(GRAVITY_STEP, least))


@pytest.mark.parametrize("make", [random_bodies, random_joined])
def test_all_residuals_are_relative_to_the_same_scale(make):
    """Of the same answer, the same errors: in m/s as they are, and relative to a larger scale by as much less."""
    problem = make(3)
    result = sc.solve(problem, tolerance=1e-2)
    fastest = fastest_velocity(problem.system)
    large = replace(problem, system=problem.system._replace(least_scale=1e3 * fastest))
    exact, coarse = sc.residuals(problem, result), sc.residuals(large, result)
    for name in ("penetration", "complementarity", "dissipation", "natural_map", "joint", "static_map", "opposition"):
        one, other = getattr(exact, name), getattr(coarse, name)
        assert one.value == other.value
        assert other.relative == pytest.approx(1e-3 * one.relative, rel=1e-12)


def test_every_part_of_a_problem_has_its_scale():
    """Islands, and the same problem in the terms that each method knows, are measured alike."""
    problem = random_joined(1)
    problem = replace(problem, system=problem.system._replace(least_scale=3.0))
    island, _ = subsystem(problem.system, np.arange(2), np.full(len(problem.system.offset) - 1, -1))
    translated = joints_as_contacts(problem).problem
    for system in (island, translated.system, without_bilateral(translated).problem.system):
        assert system.least_scale == 3.0


def test_what_rests_is_measured_as_without_a_least_scale(monkeypatch):
    """What gravity gives in a step is what cards that stand would fall by."""
    seen, original = [], system_solver.solve_islands

    def see(system, impulse, *rest):
        seen.append((fastest_velocity(system), fastest_velocity(system._replace(least_scale=0.0))))
        return original(system, impulse, *rest)

    monkeypatch.setattr(system_solver, "solve_islands", see)
    sc.Simulation(sc.scenes.card_house(levels=2)).run(3)
    assert len(seen) > 3
    assert all(floored == pytest.approx(bare, rel=1e-3) for floored, bare in seen)


def test_impulses_whose_squares_are_not_finite_are_no_solution():
    """With G times 1e-155 impulses come to 1e155 N s, and residuals relative to their squares were 0: it was called solved."""
    problem = random_bodies(0, contacts=6, bodies=2)
    for scale, status in ((1e-140, sc.Status.SOLVED), (1e-155, sc.Status.NOT_FINITE)):
        scaled = sc.ContactProblem.from_delassus(scale * problem.delassus, problem.free_velocity, problem.mu)
        assert sc.solve(scaled).status is status


def test_a_warm_start_whose_squares_are_not_finite_is_refused():
    """It came back as infinite impulses."""
    problem = random_bodies(0, contacts=6, bodies=2)
    with pytest.raises(ValueError, match=r"warm_start\[2, 1\] = 1e\+300 N s"):
        start = np.zeros((6, 3))
        start[2, 1] = 1e300
        sc.solve(problem, warm_start=start)


@pytest.mark.parametrize("seed", range(3))
def test_who_asks_for_more_than_there_is_gets_no_worse_an_answer(seed):
    """One of 402 as a coefficient of friction: asked for 1e-6 the answer was off by 24, asked for 1e-3 by 4e-3."""
    problem = random_bodies(seed, contacts=30, bodies=4, mu=(0.1, 400.0))
    errors = [sc.residuals(problem, sc.solve(problem, tolerance=tolerance)).coulomb for tolerance in (1e-3, 1e-16)]
    assert errors[1] <= errors[0]
