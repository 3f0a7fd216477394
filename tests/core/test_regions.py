# SPDX-License-Identifier: GPL-3.0-or-later
"""What is off in few places of a large island is solved there, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc
from solver_core.problem.residuals import effective_masses, scales
from solver_core.problem.system import System, effective_inverse_mass
from solver_core.solvers.effort import BELL, WORK, effort_of_a_step
from solver_core.solvers.kaufman_2008.regions import GOOD_ENOUGH, begin_large, measure_each, regions_around

from .piles import stacked_boxes

COLUMNS, LAYERS, TOLERANCE = 40, 8, 1e-4
WALL = stacked_boxes(columns=COLUMNS, layers=LAYERS).system


def worst(system: System, impulse) -> float:
    """The largest natural map, of the fastest velocity."""
    kappa, v, errors = effective_masses(effective_inverse_mass(system)), np.empty_like(system.velocity), np.empty(len(impulse))
    measure_each(system, impulse, kappa, v, errors)
    return errors.max() / scales(system, impulse)[0]


def pushed(system: System, body: int, speed: float) -> System:
    """The same with one body pressed down faster."""
    velocity = system.velocity.copy()
    velocity[system.offset[body] + 2] -= speed
    return system._replace(velocity=velocity)


@pytest.fixture(scope="module")
def at_rest():
    """The impulses of a wall that stands, well within the tolerance."""
    impulse = np.zeros((len(WALL.body_a), 3))
    begin_large(WALL, 0.1 * TOLERANCE, 0.1 * TOLERANCE, effort_of_a_step(), impulse, 1)
    assert worst(WALL, impulse) <= 0.1 * TOLERANCE
    return impulse


def test_one_body_that_is_pushed_is_solved_where_it_is(at_rest):
    fastest, _ = scales(WALL, at_rest)
    body = int(WALL.body_b.max())
    system, impulse, effort = pushed(WALL, body, 0.05 * fastest), at_rest.copy(), effort_of_a_step()
    assert worst(system, impulse) > 100.0 * TOLERANCE
    begin_large(system, TOLERANCE, TOLERANCE, effort, impulse, 1)
    assert worst(system, impulse) <= GOOD_ENOUGH * TOLERANCE
    moved = (impulse != at_rest).any(axis=1)
    assert 0 < np.count_nonzero(moved) < 0.5 * len(impulse)
    everything = effort_of_a_step()
    begin_large(system, TOLERANCE, TOLERANCE, everything, np.zeros_like(impulse), 1)
    assert effort[WORK] < 0.25 * everything[WORK]


def test_regions_come_out_the_same_with_any_number_of_threads(at_rest):
    """Two places at once."""
    fastest, _ = scales(WALL, at_rest)
    system = pushed(pushed(WALL, int(WALL.body_b.max()), 0.5 * fastest), 0, 0.5 * fastest)
    answers = []
    for threads in (1, 2, 3):
        impulse, effort = at_rest.copy(), effort_of_a_step()
        found = begin_large(system, TOLERANCE, TOLERANCE, effort, impulse, threads)
        assert found[1] == sc.Found.ADMM
        answers.append((impulse, effort, found))
    for answer in answers[1:]:
        for mine, first in zip(answer, answers[0], strict=True):
            np.testing.assert_array_equal(mine, first)


def test_what_is_off_is_in_a_region_with_all_that_it_touches(at_rest):
    errors = np.zeros(len(at_rest))
    errors[[0, -1]] = 1.0
    chosen, start, contacts = regions_around(WALL, errors, 0.5)
    assert len(start) - 1 == 2 and sorted(contacts) == list(range(len(chosen)))
    for k, region in ((0, chosen[contacts[start[0] : start[1]]]), (len(errors) - 1, chosen[contacts[start[1] : start[2]]])):
        assert k in region
        of_its_own = {int(body) for body in (WALL.body_a[k], WALL.body_b[k]) if body >= 0}
        touching = np.isin(WALL.body_a, list(of_its_own)) | np.isin(WALL.body_b, list(of_its_own))
        assert set(np.flatnonzero(touching)) <= set(region.tolist())


def test_nothing_is_begun_when_the_time_is_over(at_rest):
    fastest, _ = scales(WALL, at_rest)
    system, impulse, effort = pushed(WALL, 0, 0.5 * fastest), at_rest.copy(), effort_of_a_step()
    effort[BELL] = 1
    assert begin_large(system, TOLERANCE, TOLERANCE, effort, impulse, 1) == (0, sc.Found.START)
    np.testing.assert_array_equal(impulse, at_rest)
