# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps and the alternating direction method: what they propose, and that it counts only where the law holds."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.dynamics.solve import joined_islands, system_solver
from solver_core.dynamics.solve.islands import Error, Requests, solve_islands
from solver_core.problem.coulomb import solve_contact
from solver_core.problem.system import System
from solver_core.scene.parts import ground
from solver_core.solvers.block_operator import State, operator_of
from solver_core.solvers.coulomb.cascade import ACCELERATED
from solver_core.solvers.coulomb.first_order import propose, sweeps_and_admm
from solver_core.solvers.coulomb.gauss_seidel import delassus_blocks
from solver_core.solvers.criteria import MAX_CHECKS, StoppingCriteria
from solver_core.solvers.effort import effort_of_a_step

from ..bodies import material
from ..contact_problems import random_bodies
from ..dolls import doll, together
from ..kernels import callable_from_python
from ..piles import stacked_boxes

FIRST_ORDER = {sc.Found.SWEEPS, sc.Found.ADMM}
MANY = {"contacts": 240, "bodies": 80}
FASTEST = 1.0  # m/s


@pytest.mark.parametrize("mu", [pytest.param(0.0, marks=pytest.mark.slow), 0.3, pytest.param(1.2, marks=pytest.mark.slow)])
def test_the_law_of_one_contact_holds_exactly(mu):
    """It parts with no impulse, sticks within the cone, or slides against all the friction there is."""
    law, blocks_of = map(callable_from_python, (solve_contact, delassus_blocks))
    seen = set()
    for seed in range(100):
        problem = random_bodies(seed, contacts=1, bodies=1, mu=(mu, mu))
        system = problem.system
        mine = blocks_of(system)
        G, g = mine.delassus[0], problem.free_velocity[0]
        impulse = np.array(law(G, mine.inverse[0], mine.slip[0], mu, *g))
        u = G @ impulse + g
        size, slip = np.linalg.norm(impulse[1:]), np.linalg.norm(u[1:])
        scale, force = np.linalg.norm(g), max(np.linalg.norm(impulse), 1e-300)
        assert u[0] >= -1e-10 * scale
        assert impulse[0] >= 0.0
        assert size <= mu * impulse[0] + 1e-12 * force
        assert abs(impulse[0] * u[0]) <= 1e-10 * force * scale
        assert abs(impulse[1:] @ u[1:] + mu * impulse[0] * slip) <= 1e-9 * force * scale
        seen.add("part" if impulse[0] == 0.0 else "stick" if slip <= 1e-10 * scale else "slide")
    assert seen == ({"part", "slide"} if mu == 0.0 else {"part", "stick", "slide"})


@pytest.mark.parametrize("mu", [(0.0, 0.0), (0.1, 0.4), pytest.param((0.6, 1.2), marks=pytest.mark.slow)])
@pytest.mark.parametrize("tolerance", [pytest.param(1e-2, marks=pytest.mark.slow), 1e-3, 1e-6])
def test_many_bodies_are_solved_within_the_tolerance_as_measured_from_outside(mu, tolerance):
    found = []
    for seed in range(3):
        problem = random_bodies(seed, mu=mu, **MANY)
        result = sc.solve(problem, tolerance=tolerance)
        found.append(result.stats.found)
        assert result.status == sc.Status.SOLVED
        assert sc.residuals(problem, result).coulomb <= tolerance
    assert FIRST_ORDER & set(found) or tolerance < 1e-3


def test_few_factorisations_are_enough_for_a_coarse_answer():
    for seed in range(6):
        problem = random_bodies(seed, **MANY)
        result = sc.solve(problem, tolerance=1e-2)
        assert result.stats.found in FIRST_ORDER
        assert result.stats.factorisations <= 3


def test_few_bodies_that_are_known_to_tumble_take_half_the_factorisations_to_the_same_tolerance():
    factorisations = []
    for tumbles in (False, True):
        total = 0
        for seed in range(12):
            problem = random_bodies(seed, contacts=45, bodies=15, mu=(0.4, 0.8))
            requests = Requests(np.full(15, 1e-6), np.full(15, tumbles), np.ones(15), 200, 0, ACCELERATED)
            impulse = np.abs(np.random.default_rng(seed).normal(0.0, 0.02, (45, 3)))
            _, totals = solve_islands(problem.system, impulse, requests, effort_of_a_step())
            assert totals.status == sc.Status.SOLVED
            assert totals.errors[Error.WORST] <= 1e-6
            total += totals.factorisations
        factorisations.append(total)
    assert factorisations[1] < 0.5 * factorisations[0]


def test_what_is_mostly_joints_is_left_to_newtons_method_however_far_it_is_from_a_solution(monkeypatch):
    """Sweeps and ADMM hand on from joint to joint what a factorisation knows: they took most of a ragdoll's step."""
    (left, whole), seen = map(callable_from_python, (propose, operator_of)), []

    def see(system, impulse, *rest):
        if (impulse[:, 0] != 0.0).any() and len(system.mu) > 0:
            seen.append(System(*map(np.copy, system[:-1]), system.least_scale))
        return joined_islands.solve_corrected(system, impulse, *rest)

    monkeypatch.setattr(system_solver, "solve_corrected", see)
    sc.Simulation(together(doll((0.0, 0.0, 1.1)), bodies=(ground(material(0.5)),)), fps=24, substeps=10).run(16)
    assert len(seen) > 10
    for jointed, expected in ((True, {sc.Found.START}), (False, FIRST_ORDER)):
        system = seen[-1]
        if not jointed:
            # The same bodies with contacts in place of joints, two a body, so that they are not redundant.
            count = 2 * (len(system.offset) - 1)
            rows = {name: getattr(system, name)[:count] for name in ("body_a", "body_b", "jacobian_a", "jacobian_b", "bias")}
            system = system._replace(**rows, mu=np.full(count, 0.5), slack=np.zeros(count), box=system.box[:0])
        impulse, criteria = np.full((len(system.body_a), 3), 1e-3), StoppingCriteria(1e-9, 1e-7, 1e-7, FASTEST, 0, MAX_CHECKS)
        state = State(impulse, np.empty_like(system.velocity))
        found, by_newton = left(whole(system), criteria, True, effort_of_a_step(), state)
        assert found in expected
        assert by_newton
        assert (impulse == 1e-3).all() == jointed


@pytest.mark.parametrize("contacts, is_left", [(156, False), (157, True)])
def test_bodies_with_many_contacts_are_left_to_newtons_method(contacts, is_left):
    """More than twelve a body, and than there are degrees of freedom: a mat of foam took three times as long."""
    left, whole = map(callable_from_python, (propose, operator_of))
    system = random_bodies(2, contacts=contacts, bodies=13, mu=(0.4, 0.8)).system
    impulse, criteria = np.full((contacts, 3), 1.0), StoppingCriteria(1e-9, 1e-7, 1e-7, FASTEST, 0, MAX_CHECKS)
    state = State(impulse, np.empty_like(system.velocity))
    found, by_newton = left(whole(system), criteria, True, effort_of_a_step(), state)
    assert (found == sc.Found.START) == is_left
    assert (impulse == 1.0).all() == is_left
    assert by_newton


@pytest.mark.parametrize("swept", [False, True])
@pytest.mark.parametrize("size", [1e100, 1e155, 1e300])
def test_impulses_beyond_all_numbers_are_an_infinite_error_and_not_none(size, swept):
    """Their squares overflow from 1e154 on, and a maximum over what is no number is 0: a bake ended by it."""
    system = random_bodies(1, contacts=40, bodies=12, mu=(0.4, 0.8)).system
    impulse, v = np.full((40, 3), 0.1 * size), np.empty_like(system.velocity)
    impulse[:, 0] = size
    criteria = StoppingCriteria(1e-6, 1e-5, 1e-4, 1.0, 0, MAX_CHECKS)
    _, error = sweeps_and_admm(system, criteria, swept, effort_of_a_step(), State(impulse, v))
    assert error <= 1e-5 if size < 1e154 else error == np.inf
    assert np.isfinite(impulse).all()
    assert np.isfinite(v).all()


def test_the_same_bits_in_every_run():
    problem = random_bodies(3, **MANY)
    first, second = (sc.solve(problem, tolerance=1e-4) for _ in range(2))
    assert np.array_equal(first.impulse, second.impulse)


def test_light_bodies_among_heavy_ones_are_solved_too():
    """A chain of mass ratios of a million: what is light is measured by its own mass, and counts as much."""
    base = random_bodies(5, **MANY)
    system = base.system
    factor = np.where(np.arange(MANY["bodies"]) % 2 == 0, 1e6, 1.0).repeat(36)
    problem = sc.ContactProblem.of_system(system._replace(mass=system.mass * factor, inverse_mass=system.inverse_mass / factor))
    result = sc.solve(problem, tolerance=1e-4)
    assert result.status == sc.Status.SOLVED
    assert sc.residuals(problem, result).coulomb <= 1e-4


def test_contacts_that_contradict_each_other_are_still_told_from_a_failure():
    """A plate closes in from above on many bodies that lie on the ground: nothing holds it, nothing is called a solution."""
    bodies = 70
    masses = [np.eye(3)] * bodies
    normal = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    jacobian = np.concatenate([np.tile(normal, (bodies, 1, 1)), np.tile(-normal, (bodies, 1, 1))])
    left = np.zeros_like(jacobian)
    order = np.tile(np.arange(bodies), 2)
    joined = np.concatenate([jacobian, np.tile(normal, (bodies - 1, 1, 1))])
    left = np.concatenate([left, np.tile(-normal, (bodies - 1, 1, 1))])
    body_a = np.concatenate([np.full(2 * bodies, -1), np.arange(bodies - 1)])
    body_b = np.concatenate([order, np.arange(1, bodies)])
    bias = np.zeros((body_a.size, 3))
    bias[bodies : 2 * bodies, 0] = -1.0  # the plate comes down at 1 m/s
    velocity = np.zeros(3 * bodies)
    problem = sc.ContactProblem.from_bodies(masses, velocity, (body_a, body_b), (left, joined), 0.5, bias=bias)
    result = sc.solve(problem, tolerance=1e-4)
    assert result.status == sc.Status.INFEASIBLE


@pytest.mark.parametrize("tolerance", [1e-6, pytest.param(1e-8, marks=pytest.mark.slow)])
def test_many_bodies_are_solved_to_the_last_digits(tolerance):
    """A bed of boxes on the ground, each on two below, pushed aside."""
    problem = stacked_boxes(columns=15, layers=10)
    result = sc.solve(problem, tolerance=tolerance)
    assert result.status == sc.Status.SOLVED
    assert sc.residuals(problem, result).coulomb <= tolerance
    again = sc.solve(problem, tolerance=tolerance)
    assert np.array_equal(result.impulse, again.impulse)


def test_all_that_a_solve_tries_shares_its_time(monkeypatch):
    """A matrix without friction is pivoted first: the projections have what time that leaves, and not the whole of it again."""
    nothing = sc.solve(sc.ContactProblem.from_delassus(np.eye(60), np.zeros(60), mu=0.0))
    module = importlib.import_module("solver_core.laboratory.solve")
    rest, clock, given = module._staggered_contacts, [100.0], []

    def pivoted(problem, tolerance, time_limit):
        clock[0] += 0.75 * time_limit
        return replace(nothing, status=sc.Status.UNCONFIRMED)

    def staggered(problem, limits, *others):
        given.append(limits.time_limit)
        return rest(problem, replace(limits, time_limit=np.inf), *others)

    monkeypatch.setattr(module, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(module, "without_friction", pivoted)
    monkeypatch.setattr(module, "_staggered_contacts", staggered)
    factor = np.random.default_rng(0).normal(size=(60, 60))
    problem = sc.ContactProblem.from_delassus(factor @ factor.T, -np.ones(60), mu=0.0)
    assert sc.solve(problem, time_limit=8.0).status is sc.Status.SOLVED
    assert given == [pytest.approx(2.0)]


def test_a_plank_that_slides_on_two_rollers_is_loaded_alike_on_both_sides():
    """Of its four points only three loads follow from balance. One that is loaded more on one side turns by its friction."""
    half, apart, mu, mass = 0.1, 0.5, 0.3, 2.0
    inertia = mass / 12.0 * np.array([0.0404, 5.7604, 5.8])
    points = np.array([[x - 0.15, y, -0.01] for x in (-apart, apart) for y in (-half, half)])
    axes = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    jacobian = np.array([[np.concatenate([axis, np.cross(point, axis)]) for axis in axes] for point in points])
    bias = np.zeros((4, 3))
    bias[:, 1] = [-1.5, -1.5, 1.5, 1.5]
    block = np.diag([mass, mass, mass, *inertia])
    system = System(
        offset=np.array([0, 6]),
        block_start=np.array([0, 36]),
        mass=block.ravel(),
        inverse_mass=np.diag(1.0 / np.diag(block)).ravel(),
        velocity=np.array([0.0, 0.0, -0.04, 0.0, 0.0, 0.0]),
        body_a=np.full(4, -1),
        body_b=np.zeros(4, np.int64),
        jacobian_a=np.zeros((4, 3, 6)),
        jacobian_b=jacobian,
        bias=bias,
        slack=np.zeros(4),
        mu=np.full(4, mu),
        box=np.zeros((0, 3, 3)),
        least_scale=0.04,
    )
    # what the step before left, far from the answer: half of the load
    impulse = np.array([[0.007, 0.0021, 0.0]] * 2 + [[0.013, -0.0039, 0.0]] * 2)
    requests = Requests(np.array([1e-6]), np.array([True]), np.ones(1), 50, 0, ACCELERATED)
    v, totals = solve_islands(system, impulse, requests, effort_of_a_step())
    assert totals.status == sc.Status.SOLVED
    np.testing.assert_allclose(impulse[::2, 0], impulse[1::2, 0], rtol=1e-9)
    assert abs(v[5]) < 1e-12 and impulse[:, 0].sum() == pytest.approx(0.08, rel=1e-6)
