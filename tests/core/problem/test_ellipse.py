# SPDX-License-Identifier: GPL-3.0-or-later
"""Elliptical friction: every method has its law, measured here from the given problem alone, and closed forms of one body."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import solver_core as sc
from solver_core import EllipticProblem

from ..contact_problems import random_bodies


def particle(velocity, mass=2.0, **friction):
    """A particle that hits the ground."""
    axes = np.array([[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    jacobians = np.zeros((1, 3, 3)), axes
    return sc.ContactProblem.from_bodies([mass * np.eye(3)], velocity, ([-1], [0]), jacobians, sc.Friction(0.5, **friction))


def excess(elliptic, result, mu):
    """How far a result is from the law of the ellipse, relative to its fastest velocity and largest impulse; of contacts."""
    normal, friction, slip = result.impulse[:, 0], result.impulse[:, 1:], result.velocity[:, 1:]
    largest, fastest = np.abs(result.impulse).max(), np.abs(elliptic.given.free_velocity).max()
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.linalg.norm(np.where(mu > 0.0, friction / mu, np.where(friction == 0.0, 0.0, np.inf)), axis=1) - normal
    # the most energy that friction can take: the support of the ellipse
    lost = normal * np.linalg.norm(mu * slip, axis=1) + (friction * slip).sum(axis=1)
    gap = np.abs(normal * result.velocity[:, 0])
    return max(inside.max() / largest, np.abs(lost).max() / (largest * fastest), gap.max() / (largest * fastest))


@pytest.mark.parametrize("method", ["staggered", "energy", "pivot"])
@pytest.mark.parametrize("velocity", [(1.0, 0.7, -1.0), (-0.3, 2.0, -1.5), (0.05, 0.02, -1.0)])
@pytest.mark.parametrize("mu", [(0.2, 0.6), (0.5, 0.05), (0.0, 0.4)])
def test_a_particle_loses_what_the_ellipse_takes(method, velocity, mu):
    elliptic = EllipticProblem.of(particle(velocity), *mu)
    result = elliptic.result(sc.solve(elliptic.problem, method, tolerance=1e-10))
    assert result.status is sc.Status.SOLVED
    normal, before, square = -2.0 * velocity[2], np.array(velocity[:2]), np.square(mu)
    # with k = normal / (2 |M u|): u (1 + k mu^2) = before
    rubs = np.array(mu) > 0.0
    if (np.divide(2.0 * before, mu, out=np.zeros(2), where=rubs) ** 2).sum() <= normal**2:
        expected = np.where(rubs, 0.0, before)
    else:

        def missing(k):
            return k * np.linalg.norm(mu * before / (1.0 + k * square)) - 0.5 * normal

        expected = before / (1.0 + brentq(missing, 0.0, 1e9, xtol=1e-15) * square)
    np.testing.assert_allclose(result.velocity[0, 1:], expected, atol=1e-7)
    np.testing.assert_allclose(result.impulse[0, 1:], 2.0 * (expected - before), atol=1e-7)
    np.testing.assert_allclose(result.body_velocity[:2], expected, atol=1e-7)


@pytest.mark.parametrize("method", ["staggered", "energy"])
@pytest.mark.parametrize("seed", range(5))
def test_random_bodies_have_the_law_of_their_ellipses(method, seed):
    given = random_bodies(seed)
    mu = np.random.default_rng(seed).uniform(0.05, 1.0, (given.contacts, 2))
    elliptic = EllipticProblem.of(given, mu[:, 0], mu[:, 1])
    result = sc.solve(elliptic.problem, method, tolerance=1e-9)
    assert result.status is sc.Status.SOLVED
    assert excess(elliptic, elliptic.result(result), mu) < 1e-7


def test_lemke_has_friction_along_a_given_direction_as_the_ellipse_has_it():
    """-lam_n M^2 d / |M d|, whatever the velocity becomes."""
    d = np.array([0.6, 0.8])
    given = particle((3.0, 4.0, -1.0), sliding=[True], sliding_direction=[d])
    elliptic = EllipticProblem.of(given, 0.2, 0.6)
    for method in ("lemke", "pivot"):
        result = elliptic.result(sc.solve(elliptic.problem, method))
        assert result.status is sc.Status.SOLVED
        square = np.array([0.04, 0.36])
        np.testing.assert_allclose(result.impulse[0], [2.0, *(-2.0 * square * d / np.sqrt(square @ d**2))], rtol=1e-9)


@pytest.mark.parametrize("options", [{"static_friction": "signs"}, {"static_friction": "creep", "creep_speed": 0.01}])
def test_lemke_treats_what_may_stick_as_without_an_ellipse(options):
    """Along an axis of the ellipse, where the box about it and creep agree with it."""
    elliptic = EllipticProblem.of(particle((0.0, 3.0, -1.0)), 0.2, 0.6)
    result = elliptic.result(sc.solve(elliptic.problem, "lemke", **options))
    np.testing.assert_allclose(result.impulse[0], [2.0, 0.0, -1.2], atol=1e-9)


def test_a_warm_start_is_given_in_impulses_of_the_ellipse():
    elliptic = EllipticProblem.of(particle((1.0, 0.7, -1.0)), 0.2, 0.6)
    cold = sc.solve(elliptic.problem, tolerance=1e-10)
    start = elliptic.start(elliptic.result(cold).impulse)
    np.testing.assert_allclose(start, cold.impulse, rtol=1e-12)


@pytest.mark.parametrize(
    ("mu_1", "mu_2", "named"), [(-0.1, 0.5, "mu_1[0]"), (0.5, [np.nan], "mu_2"), (0.5, [0.1, 0.2], "mu_2")]
)
def test_a_coefficient_that_is_none_is_named(mu_1, mu_2, named):
    with pytest.raises(ValueError, match=named.replace("[", r"\[").replace("]", r"\]")):
        EllipticProblem.of(particle((1.0, 0.0, -1.0)), mu_1, mu_2)


def test_a_problem_in_the_plane_has_no_ellipse():
    with pytest.raises(ValueError, match="two dimensions"):
        EllipticProblem.of(sc.ContactProblem.from_delassus(np.eye(2), np.zeros(2), 0.5, dim=2), 0.1, 0.2)
