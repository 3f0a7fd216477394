# SPDX-License-Identifier: GPL-3.0-or-later
"""Separation velocities of overlapping bodies, against the same problem solved by the contact solver."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc
from solver_core.dynamics.solve.separation import (
    MAX_SPEED_FACTOR,
    MIN_SPEED_SCALE,
    SEPARATED,
    BodyIslands,
    ContactGaps,
    SeparationStart,
    solve_separation,
)
from solver_core.linalg.disjoint_sets import connected
from solver_core.problem.system import relative_velocities
from solver_core.solvers.effort import effort_of_a_step

from ..kernels import callable_from_python
from ..solvers.test_elimination import HOLD, LIMIT, ball_joints, tree

BODIES, CONTACTS = 8, 5


def overlapping_tree(seed):
    """A tree of bodies on ball joints, at rest. One contact has to open at 1 m/s, the others may not close."""
    pairs = tree(BODIES)
    system = ball_joints(seed, BODIES, pairs, [[HOLD, HOLD, LIMIT]] * len(pairs), contacts=CONTACTS, mu=(0.0, 0.0)).system
    slack = np.zeros(CONTACTS)
    slack[seed % CONTACTS] = -1.0
    return system._replace(
        velocity=np.zeros_like(system.velocity), bias=np.zeros_like(system.bias), mu=np.zeros(CONTACTS), slack=slack
    )


def separated(system):
    """Return the separation velocities (dof,) of a system whose static bodies are the last body of the scene."""
    a, b = (np.where(ends < 0, BODIES, ends) for ends in (system.body_a, system.body_b))
    dof = np.append(np.arange(BODIES), -1)
    gaps = ContactGaps(np.where(system.slack < 0.0, -1e-3, 1e-3), np.zeros(CONTACTS), np.ones(CONTACTS))
    start = SeparationStart(system.slack < 0.0, np.zeros(CONTACTS))
    islands = BodyIslands(dof, connected(len(dof), dof >= 0, a, b), a[:CONTACTS], b[:CONTACTS])
    solve = callable_from_python(solve_separation)
    return solve(system, islands, gaps, start, 1.0 / 240.0, SEPARATED, effort_of_a_step())


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_of_joints_is_separated_by_the_smallest_motion_that_keeps_its_joints(seed):
    """Motion that is too fast at a contact is scaled down."""
    system = overlapping_tree(seed)
    exact = sc.solve(sc.ContactProblem.of_system(system), tolerance=1e-10)
    assert exact.status is sc.Status.SOLVED
    u = relative_velocities(system, exact.body_velocity)
    scale = min(1.0, MAX_SPEED_FACTOR / np.linalg.norm(u[:CONTACTS], axis=1).max())
    assert scale > MIN_SPEED_SCALE
    v, impulse = separated(system)
    assert impulse.any()
    np.testing.assert_allclose(relative_velocities(system, v), scale * u, atol=1e-2)
