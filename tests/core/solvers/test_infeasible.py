# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact conditions that contradict each other are told from those that a solver merely fails to meet.

Outside oracle: linear programming (HiGHS) finds the least penetration that any velocities leave.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import solver_core as sc
from solver_core.solvers.infeasible import contradiction, proves_contradiction

from ..contact_problems import box_on_ground, frame, random_bodies, rigid_jacobian


def least_penetration(problem):
    """m/s, over all velocities: min p with N^T v + b_n + c >= -p and, of bilateral constraints, J_b v = J_b v_hat - g_b."""
    rows, n = problem.jacobian[:: problem.dim], problem.system.velocity.size
    bound = problem.system.bias[:, 0] + problem.system.slack
    held, drift = problem.bilateral
    found = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=np.hstack([-rows, -np.ones((len(rows), 1))]),
        b_ub=bound,
        A_eq=np.hstack([held, np.zeros((len(held), 1))]) if len(held) else None,
        b_eq=held @ problem.system.velocity - drift if len(held) else None,
        bounds=[(None, None)] * n + [(0.0, None)],
    )
    return found.fun


def squeezed(closing, mu=0.5):
    """A ball of 1 kg between a floor and a ceiling that comes down at `closing` m/s."""
    axes = np.eye(3)[[2, 0, 1]]
    jacobian = np.array([axes, -axes * [[1], [-1], [1]]])
    bias = np.array([[0.0, 0.0, 0.0], [-closing, 0.0, 0.0]])
    problem = sc.ContactProblem.from_bodies(
        [np.eye(3)], [0, 0, -0.1], ([-1, -1], [0, 0]), (np.zeros_like(jacobian), jacobian), mu
    )
    return replace(problem, system=problem.system._replace(bias=bias))


@pytest.mark.parametrize("method", ["staggered", "pivot"])
@pytest.mark.parametrize("closing", [1e-3, 1.0, 1e3])
def test_a_ball_between_a_floor_and_a_falling_ceiling_has_no_way_out(method, closing):
    problem = squeezed(closing)
    result = sc.solve(problem, method)
    assert result.status is sc.Status.INFEASIBLE
    # equal impulses from both sides: they move nothing, and their contacts close by `closing` together
    assert result.ray == pytest.approx(np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    assert least_penetration(problem) == pytest.approx(0.5 * closing)


@pytest.mark.parametrize("method", ["staggered", "pivot"])
def test_a_ceiling_that_waits_or_goes_is_solved(method):
    for closing in (0.0, -1e-6, -1.0):
        assert sc.solve(squeezed(closing), method).status is sc.Status.SOLVED


def test_two_bodies_that_never_move_and_come_nearer():
    still = sc.ContactProblem.from_delassus(np.zeros((3, 3)), [-1.0, 0.0, 0.0], 0.5)
    assert sc.solve(still).status is sc.Status.INFEASIBLE
    assert sc.solve(still, "pivot").status is sc.Status.INFEASIBLE
    assert contradiction(sc.ContactProblem.from_delassus(np.zeros((3, 3)), [1.0, 0.0, 0.0], 0.5)) is None


def test_a_body_that_bilateral_constraints_hold_is_a_wall():
    """A falling ball is caught, unless a constraint keeps it falling; then the floor cannot be met."""
    g = np.array([-1.0, 0.0, 0.0, -1.0])
    row = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=float)
    problem = sc.ContactProblem.from_delassus(row @ row.T, [*g[:3], 0.0], 0.5, bilateral=1)
    result = sc.solve(problem)
    assert result.status is sc.Status.INFEASIBLE
    assert least_penetration(problem) > 0.1


@pytest.mark.slow
def test_linear_programming_agrees_on_random_problems():
    """Random normals on few bodies: many more contacts than ways to move leave no way out, few leave one."""
    verdicts = []
    for seed in range(60):
        problem = random_bodies(seed, contacts=8 + seed % 3 * 14, bodies=2)
        demanded = np.abs(problem.free_velocity[:, 0])
        problem = replace(problem, system=problem.system._replace(slack=-demanded))
        least, ray = least_penetration(problem), contradiction(problem)
        assert (ray is not None) == (least > 1e-6), (seed, least)
        if ray is not None:
            # weak duality: no velocities come closer than the proof says
            assert -(ray[:, 0] @ (problem.system.bias[:, 0] + problem.system.slack)) <= least * ray[:, 0].sum() * (1 + 1e-6)
        verdicts.append(ray is not None)
    assert 10 < sum(verdicts) < 50


def test_what_can_be_met_is_never_called_infeasible():
    """Wedges of normals up to 1e-6 apart throw a body out at a million times their speed: but they can be met."""
    for apart in (1e-1, 1e-3, 1e-5, 1e-6):
        normals = np.array([[apart, 0, 1], [apart, 0, -1]])
        jacobian = np.array([rigid_jacobian(np.zeros(3), frame(n)) for n in normals])
        problem = sc.ContactProblem.from_bodies(
            [np.eye(6)], [0, 0, 0, 0, 0, 0], ([-1, -1], [0, 0]), (np.zeros_like(jacobian), jacobian), 0.0
        )
        problem = replace(problem, system=problem.system._replace(slack=np.full(2, -1.0)))
        assert contradiction(problem) is None
    for seed in range(20):
        assert contradiction(random_bodies(seed)) is None
    assert contradiction(box_on_ground()) is None


def test_a_wrong_proof_proves_nothing():
    problem = squeezed(1.0)
    ray = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert proves_contradiction(problem, ray)
    assert not proves_contradiction(problem, ray * [[1.0], [1.0 - 1e-6]])  # it moves the ball
    assert not proves_contradiction(problem, -ray)
    assert not proves_contradiction(problem, 0.0 * ray)
    assert not proves_contradiction(problem, np.nan * ray)
    assert not proves_contradiction(squeezed(-1.0), ray)  # nothing closes
