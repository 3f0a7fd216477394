# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems given as a matrix: what it couples, what it weighs, and answers against closed forms and quadprog."""

from __future__ import annotations

import numpy as np
import pytest
import quadprog

import solver_core as sc

from ..contact_problems import GRAVITY_STEP, tower


def scattered(seed, parts):
    """A matrix with these blocks on its diagonal, contacts in any order, and that order."""
    size = sum(len(part) for part in parts)
    whole, at = np.zeros((size, size)), 0
    for part in parts:
        whole[at : at + len(part), at : at + len(part)] = part
        at += len(part)
    order = np.random.default_rng(seed).permutation(size // 3)
    rows = (3 * order[:, None] + np.arange(3)).ravel()
    return whole[np.ix_(rows, rows)], rows


def test_what_the_matrix_does_not_couple_is_solved_as_if_it_were_alone():
    (G1, g1), (G2, g2) = tower(3), tower(2, edge=0.5, sideways=0.3)
    G, rows = scattered(1, [G1, G2])
    together = sc.solve(sc.ContactProblem.from_delassus(G, np.append(g1, g2)[rows], 0.6), tolerance=1e-10)
    velocity = np.empty(rows.size)
    velocity[rows] = together.velocity.ravel()
    alone = [sc.solve(sc.ContactProblem.from_delassus(G, g, 0.6), tolerance=1e-10) for G, g in ((G1, g1), (G2, g2))]
    assert together.status == sc.Status.SOLVED
    assert np.allclose(velocity, np.concatenate([one.velocity.ravel() for one in alone]), atol=1e-9)


def test_an_island_has_as_many_degrees_of_freedom_as_its_bodies():
    (G1, g1), (G2, g2) = tower(3), tower(2)
    G, rows = scattered(2, [G1, G2])
    system = sc.ContactProblem.from_delassus(G, np.append(g1, g2)[rows], 0.6).system
    assert sorted(np.diff(system.offset)) == [12, 18]


@pytest.mark.parametrize("seed", range(4))
def test_a_light_body_beside_a_heavy_one_keeps_its_digits(seed):
    random = np.random.default_rng(seed)
    J = random.normal(size=(60, 40))
    weight = 10.0 ** random.uniform(-6.0, 6.0, 60)  # entries between 1e-12 and 1e12
    G = weight[:, None] * (J @ J.T) * weight
    kept = sc.ContactProblem.from_delassus(G, np.zeros(60), 0.5).delassus
    size = np.sqrt(np.diag(G))
    assert np.abs((kept - G) / np.outer(size, size)).max() < 1e-12


def test_rounding_below_zero_is_no_error_and_a_negative_eigenvalue_is_one():
    G, g = tower(4)
    noise = np.random.default_rng(0).normal(size=G.shape)
    rough = G + 1e-11 * np.abs(G).max() * (noise + noise.T)
    assert np.linalg.eigvalsh(rough)[0] < -1e-11 * np.abs(G).max()
    assert np.allclose(sc.ContactProblem.from_delassus(rough, g, 0.6).delassus, G, atol=1e-8 * np.abs(G).max())
    with pytest.raises(ValueError, match=r"G must be positive semidefinite.*eigenvalue"):
        sc.ContactProblem.from_delassus(G - 1e-3 * np.eye(len(G)), g, 0.6)


def test_rows_that_nothing_moves_may_be_zero_but_not_be_coupled():
    G = np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    result = sc.solve(sc.ContactProblem.from_delassus(G, [-1.0, 0.0, 0.0, 1.0, 0.0, 0.0], 0.5))
    assert result.status == sc.Status.SOLVED
    G[0, 3] = G[3, 0] = 0.5
    with pytest.raises(ValueError, match="semidefinite"):
        sc.ContactProblem.from_delassus(G, np.zeros(6), 0.5)


@pytest.mark.parametrize("method", ["staggered", "pivot"])
@pytest.mark.parametrize("seed", range(3))
def test_without_friction_velocities_are_those_of_the_quadratic_program(seed, method):
    random = np.random.default_rng(seed)
    bodies, contacts = 15, 70
    N = np.zeros((contacts, 6 * bodies))
    for row in N:
        for body in random.choice(bodies, 2, replace=False):
            row[6 * body : 6 * body + 6] = random.normal(size=6)
    v = random.normal(size=6 * bodies)
    J = np.zeros((3 * contacts, 6 * bodies))
    J[::3] = N
    J[1::3] = random.normal(size=N.shape) * (N != 0.0)
    result = sc.solve(sc.ContactProblem.from_delassus(J @ J.T, J @ v, 0.0), method, tolerance=1e-8)
    expected = quadprog.solve_qp(np.eye(v.size), v, N.T, np.zeros(contacts))[0]
    assert result.status == sc.Status.SOLVED
    assert np.allclose(result.velocity[:, 0], N @ expected, atol=1e-8)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8])
def test_each_level_of_a_tower_given_as_a_matrix_bears_what_is_above_it(tolerance):
    boxes = 14
    G, g = tower(boxes)
    result = sc.solve(sc.ContactProblem.from_delassus(G, g, 0.6), tolerance=tolerance)
    borne = result.impulse[:, 0].reshape(boxes, 4).sum(axis=1)
    assert result.status == sc.Status.SOLVED
    assert np.allclose(borne, GRAVITY_STEP * np.arange(boxes, 0, -1), rtol=0.0, atol=boxes * tolerance * borne[0])


def test_a_tower_that_slides_is_slowed_by_mu_g():
    boxes, mu = 14, 0.05  # below 1/14, from where on it would tip
    G, g = tower(boxes, sideways=2.0)
    problem = sc.ContactProblem.from_delassus(G, g, np.append(np.full(4, mu), np.full(4 * boxes - 4, 0.6)))
    result = sc.solve(problem, tolerance=1e-8)
    assert result.status == sc.Status.SOLVED
    assert sc.residuals(problem, result).coulomb <= 1e-8
    # the lowest interface slides, the others carry the same deceleration and stick
    lowest = result.velocity[:4].mean(axis=0)
    assert lowest[1] == pytest.approx(2.0 - mu * GRAVITY_STEP, abs=1e-7)
    assert np.abs(result.velocity[4:]).max() < 1e-7
