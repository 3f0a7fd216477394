# SPDX-License-Identifier: GPL-3.0-or-later
"""What is off in few places of a large island is solved there, and nowhere else; what is off in many, domain by domain."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc
from solver_core.problem.residuals import effective_masses, fastest_velocity
from solver_core.problem.subsystem import contact_islands
from solver_core.problem.system import System, effective_inverse_mass
from solver_core.solvers import effort as effort_module
from solver_core.solvers.block_operator import State, measure_each
from solver_core.solvers.coulomb import subdomains
from solver_core.solvers.coulomb.partition import domains, regions
from solver_core.solvers.coulomb.subdomains import begin_large, regions_around
from solver_core.solvers.criteria import ACCEPTABLE, criteria_at
from solver_core.solvers.effort import MULTIPLICATIONS, OVERDUE, WORK, effort_of_a_step

from ..piles import stacked_boxes

COLUMNS, LAYERS, TOLERANCE = 40, 8, 1e-4
WALL = stacked_boxes(columns=COLUMNS, layers=LAYERS).system
BODIES = len(WALL.offset) - 1


def worst(system: System, impulse) -> float:
    """The largest natural map, of the fastest velocity."""
    kappa = effective_masses(effective_inverse_mass(system))
    errors = measure_each(system, kappa, State(impulse, np.empty_like(system.velocity)))
    return errors.max() / fastest_velocity(system)


def begin(system: System, tolerance: float, effort, impulse, threads: int = 1):
    """`begin_large` on impulses."""
    criteria = criteria_at(tolerance, fastest_velocity(system))
    return begin_large(system, criteria, effort, State(impulse, np.empty_like(system.velocity)), threads)


def pushed(system: System, body: int, speed: float) -> System:
    """The same with one body pressed down faster."""
    velocity = system.velocity.copy()
    velocity[system.offset[body] + 2] -= speed
    return system._replace(velocity=velocity)


@pytest.fixture(scope="module")
def at_rest():
    """The impulses of a wall that stands, well within the tolerance."""
    impulse = np.zeros((len(WALL.body_a), 3))
    begin(WALL, 0.1 * TOLERANCE, effort_of_a_step(), impulse)
    assert worst(WALL, impulse) <= 0.1 * TOLERANCE
    return impulse


def test_one_body_that_is_pushed_is_solved_where_it_is(at_rest):
    fastest = fastest_velocity(WALL)
    body = int(WALL.body_b.max())
    system, impulse, effort = pushed(WALL, body, 0.05 * fastest), at_rest.copy(), effort_of_a_step()
    assert worst(system, impulse) > 100.0 * TOLERANCE
    begin(system, TOLERANCE, effort, impulse)
    assert worst(system, impulse) <= ACCEPTABLE * TOLERANCE
    moved = (impulse != at_rest).any(axis=1)
    assert 0 < np.count_nonzero(moved) < 0.5 * len(impulse)
    everything = effort_of_a_step()
    begin(system, TOLERANCE, everything, np.zeros_like(impulse))
    assert effort[WORK] < 0.25 * everything[WORK]


def test_regions_come_out_the_same_with_any_number_of_threads(at_rest):
    """Two places at once."""
    fastest = fastest_velocity(WALL)
    system = pushed(pushed(WALL, int(WALL.body_b.max()), 0.5 * fastest), 0, 0.5 * fastest)
    answers = []
    for threads in (1, 2, 3):
        impulse, effort = at_rest.copy(), effort_of_a_step()
        found = begin(system, TOLERANCE, effort, impulse, threads)
        assert found[1] == sc.Found.ADMM
        answers.append((impulse, effort, found))
    for answer in answers[1:]:
        for mine, first in zip(answer, answers[0], strict=True):
            np.testing.assert_array_equal(mine, first)


def test_what_is_off_is_in_a_region_with_all_that_it_touches(at_rest):
    errors = np.zeros(len(at_rest))
    errors[[0, -1]] = 1.0
    chosen = regions_around(WALL, errors, 0.5)
    start, contacts = contact_islands(BODIES, WALL.body_a[chosen], WALL.body_b[chosen])
    assert len(start) - 1 == 2 and sorted(contacts) == list(range(len(chosen)))
    for k, region in ((0, chosen[contacts[start[0] : start[1]]]), (len(errors) - 1, chosen[contacts[start[1] : start[2]]])):
        assert k in region
        of_its_own = {int(body) for body in (WALL.body_a[k], WALL.body_b[k]) if body >= 0}
        touching = np.isin(WALL.body_a, list(of_its_own)) | np.isin(WALL.body_b, list(of_its_own))
        assert set(np.flatnonzero(touching)) <= set(region.tolist())


def test_nothing_is_begun_when_the_time_is_over(at_rest):
    fastest = fastest_velocity(WALL)
    system, impulse, effort = pushed(WALL, 0, 0.5 * fastest), at_rest.copy(), effort_of_a_step()
    effort[OVERDUE] = 1
    assert begin(system, TOLERANCE, effort, impulse) == (0, sc.Found.START)
    np.testing.assert_array_equal(impulse, at_rest)


@pytest.mark.parametrize("most", [60, 150])
def test_every_contact_has_one_domain_to_answer_for_it_which_knows_all_that_touches_its_bodies(most):
    """Two walls: no domain has bodies of both."""
    wall = WALL.body_a.size
    body_a, body_b = (np.concatenate([b, np.where(b >= 0, b + BODIES, -1)]) for b in (WALL.body_a, WALL.body_b))
    start, contacts, owner = domains(2 * BODIES, body_a, body_b, most)
    assert len(start) - 1 >= 2 * BODIES / most
    for domain in range(len(start) - 1):
        known, own = contacts[start[domain] : start[domain + 1]], np.flatnonzero(owner == domain)
        assert (np.diff(known) > 0).all()
        assert set(own.tolist()) <= set(known.tolist())
        assert (known < wall).all() or (known >= wall).all()
        ends = np.where(body_a >= 0, body_a, body_b)[own]
        of_its_own = np.unique(ends)
        assert 0 < len(of_its_own) <= most
        touching = np.isin(body_a, of_its_own) | np.isin(body_b, of_its_own)
        assert set(np.flatnonzero(touching).tolist()) <= set(known.tolist())
    assert sorted(np.unique(owner)) == list(range(len(start) - 1))


def test_what_is_no_larger_than_a_domain_is_one_and_answers_for_all():
    whole = domains(BODIES, WALL.body_a, WALL.body_b, BODIES), regions(BODIES, WALL.body_a, WALL.body_b)
    for start, contacts, owner in whole:
        assert start.tolist() == [0, len(owner)] and not owner.any()
        np.testing.assert_array_equal(contacts, np.arange(len(owner)))


def test_a_wall_of_several_domains_is_solved_as_well_as_one_and_the_same_with_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(subdomains, "MOST_TOGETHER", BODIES - 1)
    monkeypatch.setattr(subdomains, "OF_A_DOMAIN", 100)
    monkeypatch.setattr(subdomains, "sweeps_and_admm", lambda *_: pytest.fail("all of it was begun together"))
    answers = []
    for threads in (1, 2, 3):
        impulse, effort = np.zeros((len(WALL.body_a), 3)), effort_of_a_step()
        begin(WALL, TOLERANCE, effort, impulse, threads)
        assert worst(WALL, impulse) <= ACCEPTABLE * TOLERANCE
        answers.append((impulse, effort))
    for answer in answers[1:]:
        for mine, first in zip(answer, answers[0], strict=True):
            np.testing.assert_array_equal(mine, first)


def test_a_large_island_goes_on_for_as_long_as_a_step_of_so_many_contacts_may(at_rest, monkeypatch):
    """The bound for all steps alone would end it in the middle, and leave it to what takes far longer."""
    fastest = fastest_velocity(WALL)
    system, impulse, effort = pushed(WALL, 0, 0.5 * fastest), at_rest.copy(), effort_of_a_step()
    effort[WORK] = MULTIPLICATIONS
    assert begin(system, TOLERANCE, effort, impulse) == (0, sc.Found.START)
    monkeypatch.setattr(effort_module, "OF_A_CONTACT_IN_ALL_TRIES", 2 * MULTIPLICATIONS // len(impulse))
    begin(system, TOLERANCE, effort, impulse)
    assert worst(system, impulse) <= ACCEPTABLE * TOLERANCE
