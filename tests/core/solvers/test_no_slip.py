# SPDX-License-Identifier: GPL-3.0-or-later
"""mu = inf: what presses does not slip, however flat its friction has to lie, and what does not press is free."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc
from solver_core.io.contact_problem_files import ProblemFile, read_problem, write_problem

from ..contact_problems import random_stack
from ..problem.test_rolling import GRAVITY, INERTIA, MASS, STEP, rows_of_ball


@pytest.mark.parametrize("speed", [0.1, 10.0, 1000.0])
def test_a_ball_that_is_thrown_rolls_from_its_first_touch(speed):
    """Friction is up to 3,000 times what presses."""
    rows = rows_of_ball()[:3]
    v = np.array([speed, 0.0, -GRAVITY * STEP, 0.0, 0.0, 0.0])
    mass = np.diag([MASS] * 3 + [INERTIA] * 3)
    problem = sc.ContactProblem.from_bodies([mass], v, ([-1], [0]), (np.zeros((1, 3, 6)), rows[None]), np.inf)
    result = sc.solve(problem, tolerance=1e-9)
    assert result.status is sc.Status.SOLVED
    assert result.body_velocity[0] == pytest.approx(5.0 / 7.0 * speed, rel=1e-8)


def without_slip(G, g, presses):
    """The velocities with tangents that are held where something presses, and without friction everywhere."""
    m = len(presses)
    normals, held = 3 * np.arange(m), np.flatnonzero(np.repeat(presses, 3) & (np.arange(3 * m) % 3 > 0))
    order = np.concatenate([np.column_stack([normals, normals + 1, normals + 2]).ravel(), held])
    none = np.zeros((3 * m + len(held),) * 2)
    free = np.concatenate([g, g[held]])
    none[:] = G[np.ix_(order, order)]
    problem = sc.ContactProblem.from_delassus(none, free, 0.0, bilateral=len(held))
    result = sc.solve(problem, tolerance=1e-10)
    assert result.status is sc.Status.SOLVED
    return result.velocity


def test_it_is_a_bilateral_constraint_of_the_tangents_where_something_presses():
    """In random stacks; in some of them bodies wedge each other, and slide at whatever coefficient."""
    solved = 0
    for seed in range(12):
        G, g, _ = random_stack(np.random.default_rng(seed), 3)
        problem = sc.ContactProblem.from_delassus(G, g, np.inf)
        result = sc.solve(problem, tolerance=1e-6)
        told = sc.residuals(problem, result).coulomb
        assert (told <= 1e-6) == (result.status is sc.Status.SOLVED)
        if result.status is sc.Status.SOLVED:
            presses = result.impulse[:, 0] > 1e-6 * np.abs(result.impulse).max(initial=1e-9)
            u = without_slip(G, g.ravel(), presses)
            assert np.allclose(result.velocity, u, atol=1e-5 * np.abs(g).max())
            solved += bool(presses.any())
        else:
            large = sc.ContactProblem.from_delassus(G, g, 1e4)
            other = sc.solve(large, "pivot", tolerance=1e-6)
            assert sc.residuals(problem, other).coulomb > 1e-2  # it slides
    assert solved >= 8


def test_more_contacts_than_pivoting_is_asked_for_are_held_as_well():
    """40 boxes side by side, on four corners each, thrown along the ground: each stops turning on, and none slides."""
    corners = [(x, y) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    each = np.array([rows_of_ball(-0.1)[:3] for _ in corners])
    for rows, (x, y) in zip(each, corners, strict=True):
        rows[:, 3:] = np.cross((x, y, -0.1), rows[:, :3])
    boxes = 40
    v = np.tile([0.3, 0.0, -1.0, 0.0, 0.0, 0.0], boxes)
    mass = np.diag([1.0] * 3 + [0.01] * 3)
    body = np.repeat(np.arange(boxes), 4)
    jacobian = np.tile(each, (boxes, 1, 1))
    none = np.zeros_like(jacobian)
    problem = sc.ContactProblem.from_bodies([mass] * boxes, v, (np.full(len(body), -1), body), (none, jacobian), np.inf)
    result = sc.solve(problem, tolerance=1e-7)
    assert result.status is sc.Status.SOLVED and np.abs(result.body_velocity).max() < 1e-6


def test_it_stands_beside_contacts_that_slip_and_a_result_that_slips_is_measured():
    G, g, mu = random_stack(np.random.default_rng(5), 3)
    mixed = np.where(np.arange(len(mu)) % 2 == 0, np.inf, 0.1)
    problem = sc.ContactProblem.from_delassus(G, g, mixed)
    result = sc.solve(problem, tolerance=1e-8)
    assert result.status is sc.Status.SOLVED
    slips = sc.solve(sc.ContactProblem.from_delassus(G, g, 0.01), tolerance=1e-9)
    told = sc.residuals(sc.ContactProblem.from_delassus(G, g, np.inf), slips)
    assert told.natural_map.relative > 1e-3 and told.dissipation.relative > 1e-4 and np.isfinite(told.coulomb)


@pytest.mark.parametrize("method", ["pivot", "energy", "lemke"])
def test_the_other_methods_refuse_it_by_name(method):
    problem = sc.ContactProblem.from_delassus(np.eye(6), np.full(6, -1.0), [0.3, np.inf])
    with pytest.raises(ValueError, match=rf"mu\[1\] is inf, which the method {method} does not support"):
        sc.solve(problem, method)


def test_a_direction_of_sliding_and_inf_are_refused_together():
    with pytest.raises(ValueError, match=r"sliding_direction\[0\] is given where mu is inf"):
        sc.ContactProblem.from_delassus(
            np.eye(3), np.ones(3), sc.Friction(np.inf, sliding=[True], sliding_direction=[[1.0, 0.0]])
        )


@pytest.mark.parametrize("name", ["a.npz", "a.hdf5"])
def test_files_have_it(tmp_path, name):
    pytest.importorskip("h5py")
    G, g, mu = random_stack(np.random.default_rng(2), 3)
    mu[::2] = np.inf
    write_problem(tmp_path / name, ProblemFile(sc.LocalForm(G, g, mu)))
    problem = read_problem(tmp_path / name).problem()
    assert np.array_equal(problem.mu, mu)
    assert sc.solve(problem, tolerance=1e-8).status is sc.Status.SOLVED
