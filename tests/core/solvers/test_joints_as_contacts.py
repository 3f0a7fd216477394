# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of joints with any two bounds by methods that know contacts alone, against the closed form of one row."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import solver_core as sc
from solver_core.problem.system import System

MASS = 2.0


def one_row(speed, law):
    """A body of 2 kg at a speed along x, and a joint that holds x with a law (low, high, compliance)."""
    jacobian, box = np.zeros((1, 3, 6)), np.zeros((1, 3, 3))
    jacobian[0, 0, 0], box[0, 0] = 1.0, law
    mass = np.diag([MASS] * 3 + [1.0] * 3)
    velocity = np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0])
    blocks = np.array([0, 6]), np.array([0, 36]), mass.ravel(), np.linalg.inv(mass).ravel(), velocity
    ends, none = np.array([-1]), np.zeros(0)
    return System(*blocks, ends, np.zeros(1, np.int64), 0.0 * jacobian, jacobian, np.zeros((1, 3)), none, none, box, 1e-6)


BOUNDS = [(-1.0, 1.0), (-3.0, 0.5), (0.5, 2.0), (0.0, 1.0), (-1.0, 0.0), (0.7, 0.7), (-0.2, -0.2)]


@pytest.mark.parametrize("method", ["staggered", "pivot", "energy"])
def test_a_row_transmits_what_stops_it_within_its_bounds(method):
    for bounds, give, speed in itertools.product(BOUNDS, (0.0, 0.3), (-1.0, 0.1, 2.0)):
        problem = sc.ContactProblem.of_system(one_row(speed, (*bounds, give)))
        result = sc.solve(problem, method, tolerance=1e-9)
        wanted = np.clip(-speed / (1.0 / MASS + give), *bounds)
        assert result.status is sc.Status.SOLVED, (bounds, give, speed)
        assert result.impulse[0, 0] == pytest.approx(wanted, abs=1e-8), (bounds, give, speed)
        assert result.body_velocity[0] == pytest.approx(speed + wanted / MASS, abs=1e-8)


def test_a_row_with_one_bound_that_is_not_zero_is_refused():
    problem = sc.ContactProblem.of_system(one_row(1.0, (0.5, np.inf, 0.0)))
    with pytest.raises(ValueError, match=r"box\[0, 0\].*choose the method staggered"):
        sc.solve(problem, "pivot")
