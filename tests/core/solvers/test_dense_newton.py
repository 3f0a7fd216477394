# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts that depend on each other, given as a matrix: solved where Newton's method alone goes round."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc
from solver_core.solvers.coulomb.dense_newton import continuation, island_of, natural_map
from solver_core.solvers.effort import effort_of_a_step


def tangled(seed, contacts, doubled=0):
    """(G, g) of contacts between random pairs of bodies, six to a body, at random points with random normals; the first
    `doubled` are those after them once more."""
    random = np.random.default_rng(seed)
    bodies = contacts // 6
    rows = np.zeros((contacts, 3, bodies, 6))
    for row in rows:
        axes = np.linalg.qr(random.normal(size=(3, 3)))[0].T
        for sign, body in zip((-1.0, 1.0), random.choice(bodies, 2, replace=False), strict=True):
            row[:, body] = sign * np.hstack([axes, np.cross(random.uniform(-1.0, 1.0, 3), axes)])
    rows[:doubled] = rows[doubled : 2 * doubled]
    J = rows.reshape(3 * contacts, -1)
    inverse = np.repeat(10.0 ** random.uniform(-1.0, 1.0, bodies), 6) * np.tile([1.0, 1.0, 1.0, 4.0, 6.0, 9.0], bodies)
    return (J * inverse) @ J.T, J @ random.normal(size=6 * bodies)


@pytest.mark.parametrize("start", [0.0, 1e3, -1e3])
def test_a_particle_that_hits_the_ground_is_found_from_any_impulse(start):
    m, mu, vn, vt = 2.0, 0.4, 3.0, np.array([1.2, -1.6])
    island = island_of(np.eye(3) / m, np.array([[-vn, *vt]]), np.array([mu]))
    impulse, error, _ = continuation(island, np.full((1, 3), start), 1e-10, vn, effort_of_a_step())
    assert error <= 1e-10  # it slides, for |vt| is 2, more than mu vn
    assert np.allclose(impulse[0], [m * vn, *(-mu * m * vn * vt / 2.0)], atol=1e-8)


@pytest.mark.parametrize("mu", [0.3, pytest.param(0.6, marks=pytest.mark.long), 0.8])
@pytest.mark.parametrize(("seed", "contacts", "doubled"), [(1, 72, 0), (2, 72, 24)])
def test_tangled_contacts_have_coulombs_law(seed, contacts, doubled, mu):
    G, g = tangled(seed, contacts, doubled)
    problem = sc.ContactProblem.from_delassus(G, g, mu)
    result = sc.solve(problem, tolerance=1e-8)
    assert result.status is sc.Status.SOLVED
    assert sc.residuals(problem, result).coulomb <= 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "mu"), [pytest.param(1, 0.5, marks=pytest.mark.long), (3, 0.3)])
def test_hundreds_of_tangled_contacts_have_coulombs_law(seed, mu):
    G, g = tangled(seed, 276)
    problem = sc.ContactProblem.from_delassus(G, g, mu)
    result = sc.solve(problem, tolerance=1e-8)
    assert result.status is sc.Status.SOLVED
    assert sc.residuals(problem, result).coulomb <= 1e-8


def test_what_is_not_found_is_not_claimed():
    """The impulses that come back are the best that were seen, and the error told is theirs."""
    G, g = tangled(5, 18)
    island = island_of(G, g.reshape(-1, 3), np.full(18, 0.6))
    start = np.ones((18, 3))
    impulse, error, cost = continuation(island, start, 0.0, np.abs(g).max(), effort_of_a_step())
    assert cost > 0
    assert error == natural_map(island, impulse).max() <= natural_map(island, start).max()
