# SPDX-License-Identifier: GPL-3.0-or-later
"""Configurations of the literature obey rigid body mechanics, and name odd arguments."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import solver_core as sc

SINE, COSINE = np.sin(np.arctan(3.0)), np.cos(np.arctan(3.0))


@pytest.mark.parametrize("mu", [0.0, 0.3, 0.75])
def test_the_tip_accelerates_as_rigid_body_mechanics_says(mu):
    """(22), with cross products of three dimensions: a + alpha x r + omega x (omega x r)."""
    mass, spin, gravity, f = 2.5, 1.7, 9.81, 3.1
    problem = sc.configurations.rod(spin, gravity, mu, mass)
    r, n, t = np.array([-COSINE, -SINE, 0.0]), np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])
    push, omega = f * (n + mu * t), np.array([0.0, 0.0, spin])
    alpha = np.cross(r, push) / (mass / 16.0)
    tip = push / mass - gravity * n + np.cross(alpha, r) + np.cross(omega, np.cross(omega, r))
    found = problem.delassus @ np.array([f, mu * f]) + problem.free_velocity.ravel()
    np.testing.assert_allclose(found, [tip @ n, tip @ t], rtol=1e-13)


def test_the_machine_balances_exactly_where_the_bearing_rods_weigh_the_target():
    """A rod that bears its mass neither lifts off nor sinks; the ends are pressed by what is left of the push."""
    masses, target, mu, block = [3.0, 5.0, 8.0, 2.0], 10.0, 0.75, 2.0
    problem = sc.configurations.subset_sum_machine(masses, target, mu, block)
    for bears in itertools.product([False, True], repeat=4):
        force = np.zeros((6, 2))
        force[:4, 0] = np.where(bears, masses, 0.0)
        force[:, 1] = mu * force[:, 0]
        normal = (problem.delassus @ force.ravel()).reshape(6, 2)[:, 0] + problem.free_velocity[:, 0]
        push = mu * (target - np.dot(bears, masses)) / block
        np.testing.assert_allclose(normal, [*np.where(bears, 0.0, 1.0), push, -push], atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda c: c.rod(0.0, 9.81, mass=0.0), "mass"),
        (lambda c: c.rod("fast", 9.81), "spin"),
        (lambda c: c.rod(0.0, 9.81, mu=-1.0), r"mu"),
        (lambda c: c.subset_sum_machine([1.0, -2.0], 3.0), r"masses\[1\]"),
        (lambda c: c.subset_sum_machine([1.0, 2.0], 3.0, block=0.0), "block"),
        (lambda c: c.subset_sum_machine([1.0, 2.0], None), "target"),
    ],
)
def test_odd_arguments_of_configurations_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make(sc.configurations)


@pytest.mark.parametrize(
    ("name", "arguments"), [("spin", (np.nan, 9.81)), ("gravity", (1.0, np.inf)), ("mass", (1.0, 9.81, 0.5, np.nan))]
)
def test_what_is_not_finite_is_named_as_it_was_given(name, arguments):
    with pytest.raises(ValueError, match=name):
        sc.configurations.rod(*arguments)
    with pytest.raises(ValueError, match="target"):
        sc.configurations.subset_sum_machine([1.0], np.nan)
