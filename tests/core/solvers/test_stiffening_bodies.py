# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of bodies that give way ever less: impulses with Coulomb's law from anywhere, and an end where there are none."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc
from solver_core.compile.kernel import kernel
from solver_core.problem.residuals import effective_masses, natural_error, scales
from solver_core.problem.system import System, effective_inverse_mass
from solver_core.solvers.block_operator import find_blocks
from solver_core.solvers.effort import DONE, allow, effort_of_a_step
from solver_core.solvers.kaufman_2008.stiffening_bodies import Factors, stiffening_bodies

from ..contact_problems import random_bodies

TOLERANCE = 1e-6


@kernel
def solve(system, tolerance, effort, impulse, v):
    blocks = find_blocks(system)
    allow(effort, 200, blocks.structure.target.size, impulse.shape[0])
    kappa = effective_masses(effective_inverse_mass(system))
    fastest, _ = scales(system, impulse)
    lower, upper = np.empty(blocks.structure.length), np.empty(blocks.structure.length)
    least = stiffening_bodies(system, Factors(blocks, lower, upper), kappa, tolerance * fastest, fastest, effort, impulse, v)
    return least, natural_error(system, impulse, v, kappa, 0), fastest


def solved(system: System, start: np.ndarray) -> tuple[float, float, int]:
    """What it says that is left, and what is, of the fastest velocity; factorisations."""
    effort, impulse, v = effort_of_a_step(), start.copy(), np.empty_like(system.velocity)
    least, error, fastest = solve(system, TOLERANCE, effort, impulse, v)
    return least / fastest, error / fastest, int(effort[DONE])


@pytest.mark.parametrize("scale", [0.0, 1.0, 100.0])
def test_it_comes_to_a_solution_from_nothing_and_from_anywhere(scale):
    random = np.random.default_rng(1)
    reached = 0
    for seed in range(10):
        system = random_bodies(seed, contacts=40, bodies=12, mu=(0.4, 0.8)).system
        told, left, _ = solved(system, scale * np.abs(random.normal(0.0, 0.1, (40, 3))))
        assert told == pytest.approx(left)
        reached += left <= TOLERANCE
    assert reached == 10


def test_its_answer_is_that_of_staggered_projections_where_velocities_are_unique():
    """Without friction they are."""
    problem = random_bodies(3, contacts=30, bodies=10, mu=(0.0, 0.0))
    effort, impulse, v = effort_of_a_step(), np.zeros((30, 3)), np.empty_like(problem.system.velocity)
    solve(problem.system, 1e-9, effort, impulse, v)
    np.testing.assert_allclose(v, sc.solve(problem, tolerance=1e-10).body_velocity, atol=1e-6)


def test_it_comes_to_an_end_where_nothing_can_move():
    system = random_bodies(0, contacts=20, bodies=6, mu=(0.5, 0.5)).system
    held = system._replace(inverse_mass=np.zeros_like(system.inverse_mass))
    effort, impulse, v = effort_of_a_step(), np.ones((20, 3)), np.empty_like(system.velocity)
    solve(held, TOLERANCE, effort, impulse, v)
    np.testing.assert_array_equal(v, held.velocity)
