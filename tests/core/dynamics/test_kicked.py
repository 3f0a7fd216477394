# SPDX-License-Identifier: GPL-3.0-or-later
"""Islands that were missed are solved again from kicked impulses, all others are left as they are."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import solver_core as sc
from solver_core.dynamics.solve.islands import Requests, solve_islands
from solver_core.dynamics.solve.kicked import solve_with_kicks
from solver_core.problem.system import relative_velocities
from solver_core.solvers.effort import OVERDUE, effort_of_a_step

from ..contact_problems import random_bodies, together

SOLVED = sc.Status.SOLVED
WITH_KICKS = partial(solve_with_kicks, solve_islands)


def hard(seed):
    """Random contacts of high friction; of 1,200 such problems six are missed at 1e-6."""
    mu = [(0.3, 2.0), (0.1, 20.0), (0.1, 400.0)][seed % 3]
    return random_bodies(seed, contacts=30 + 10 * (seed % 4), bodies=3 + seed % 5, mu=mu).system


def solve(how, system, tolerance=1e-6, overdue=0):
    bodies, impulse, effort = len(system.offset) - 1, np.zeros((len(system.mu), 3)), effort_of_a_step()
    effort[OVERDUE] = overdue
    requests = Requests(np.full(bodies, tolerance), np.zeros(bodies, np.bool_), np.ones(bodies), 50, 0, 0)
    v, found = how(system, impulse, requests, effort, 1, None)
    return impulse, v, found


def measured(system, impulse, v):
    problem = sc.ContactProblem.of_system(system)
    stats = sc.Statistics(1, 0, 0.0)
    result = sc.Result(SOLVED, impulse, relative_velocities(system, v), v, stats, "staggered")
    return max(sc.residuals(problem, result).coulomb, sc.residuals(problem, result).consistency.relative)


@pytest.mark.parametrize("seed", [416, 484, 584, 644])
def test_a_missed_island_is_solved_from_kicked_impulses(seed):
    system = hard(seed)
    assert solve(solve_islands, system)[2].status == sc.Status.MAX_ITERATIONS
    impulse, v, found = solve(WITH_KICKS, system)
    assert found.status == SOLVED
    assert measured(system, impulse, v) <= 1e-6


def test_kicks_move_no_bit_of_islands_that_are_solved_and_repeat():
    system = together([random_bodies(1).system, hard(484), random_bodies(2).system])
    impulse, _, found = solve(solve_islands, system)
    kicked, _, after = solve(WITH_KICKS, system)
    assert found.status != SOLVED and after.status == SOLVED
    others = np.r_[0 : len(random_bodies(1).system.mu), len(system.mu) - len(random_bodies(2).system.mu) : len(system.mu)]
    assert kicked[others].tobytes() == impulse[others].tobytes()
    assert kicked.tobytes() == solve(WITH_KICKS, system)[0].tobytes()
    easy = random_bodies(3).system
    for one, other in zip(solve(solve_islands, easy)[:2], solve(WITH_KICKS, easy)[:2], strict=True):
        assert one.tobytes() == other.tobytes()


def test_what_no_kick_solves_keeps_its_best_answer_and_nothing_is_kicked_when_time_is_over():
    system = hard(484)
    before = measured(system, *solve(solve_islands, system, 1e-15)[:2])
    impulse, v, found = solve(WITH_KICKS, system, 1e-15)
    assert found.status != SOLVED
    assert measured(system, impulse, v) <= before
    late = solve(WITH_KICKS, system, overdue=1)
    assert late[2].status == sc.Status.TIME_LIMIT
    assert late[0].tobytes() == solve(solve_islands, system, overdue=1)[0].tobytes()
