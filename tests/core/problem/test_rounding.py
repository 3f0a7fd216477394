# SPDX-License-Identifier: GPL-3.0-or-later
"""Matrices that were printed with few digits, or are of implicit steps: answers have the law with what was given."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import solver_core as sc

from ..contact_problems import random_stack


def printed(matrix, digits, seed=0):
    """A matrix whose two halves were computed apart and printed with so many digits."""
    random = np.random.default_rng(seed)
    apart = matrix * (1.0 + 10.0**-digits * random.normal(size=matrix.shape))
    return np.array([[float(f"{entry:.{digits - 1}e}") for entry in row] for row in apart])


def off_coulombs_law(G, g, mu, impulse):
    """The largest violation of the law, each relative to its scale; of a matrix and impulses alone."""
    r, u = impulse.reshape(-1, 3), (G @ impulse.ravel() + g).reshape(-1, 3)
    fastest, largest = np.linalg.norm(g.reshape(-1, 3), axis=1).max(), np.linalg.norm(r, axis=1).max()
    slip, friction = np.linalg.norm(u[:, 1:], axis=1), np.linalg.norm(r[:, 1:], axis=1)
    bound = np.broadcast_to(mu, len(r)) * r[:, 0]
    return max(
        -u[:, 0].min() / fastest,
        -r[:, 0].min() / largest,
        (friction - bound).max() / largest,
        np.abs(r[:, 0] * u[:, 0]).max() / (largest * fastest),
        np.abs(bound * slip + (r[:, 1:] * u[:, 1:]).sum(axis=1)).max() / (largest * fastest),
    )


@pytest.mark.parametrize("digits", [6, 7, 8])
@pytest.mark.parametrize("method", ["staggered", "pivot"])
def test_the_answer_has_the_law_with_the_matrix_as_it_was_printed(digits, method):
    for seed in range(4):
        G, g, mu = random_stack(np.random.default_rng(seed), 3)
        rough = printed(G, digits, seed)
        problem = sc.ContactProblem.from_delassus(rough, g, mu)
        result = sc.solve(problem, method, tolerance=1e-8)
        assert result.status is sc.Status.SOLVED
        assert sc.residuals(problem, result).static_friction <= 1e-8
        if method == "staggered":
            assert off_coulombs_law(rough, g, mu, result.impulse) <= 1.1e-8
        assert np.allclose(result.velocity.ravel(), rough @ result.impulse.ravel() + g, atol=1e-12)


def test_what_was_mended_is_told_with_its_figures():
    G, g, mu = random_stack(np.random.default_rng(4), 3)
    rough = printed(G, 6)
    largest = np.abs(rough).max()
    rounded = sc.ContactProblem.from_delassus(rough, g, mu).rounded
    assert rounded is not None
    assert rounded.asymmetry == pytest.approx(np.abs(rough - rough.T).max() / largest)
    lowest = np.linalg.eigvalsh(0.5 * (rough + rough.T))[0] / largest
    assert lowest < -1e-8
    # of an island, of which there may be several
    assert rounded.below_zero == pytest.approx(lowest, rel=1e-6)
    assert (rounded.matrix.toarray() == rough).all()
    assert sc.ContactProblem.from_delassus(G, g, mu).rounded is None


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.coo_array])
def test_it_is_refused_where_that_is_asked_for(make):
    G, g, mu = random_stack(np.random.default_rng(4), 3)
    with pytest.raises(ValueError, match=r"G must be symmetric: G\[\d+, \d+\].*rounding='repair' repairs it"):
        sc.ContactProblem.from_delassus(make(printed(G, 6)), g, mu, rounding="refuse")
    even = printed(G, 6)
    even = np.triu(even) + np.triu(even, 1).T
    with pytest.raises(ValueError, match=r"semidefinite.*eigenvalue.*rounding='repair' repairs it"):
        sc.ContactProblem.from_delassus(make(even), g, mu, rounding=sc.Rounding.REFUSE)
    with pytest.raises(ValueError, match="rounding must be one of repair, refuse"):
        sc.ContactProblem.from_delassus(G, g, mu, rounding="round")


def test_another_matrix_is_not_mended():
    G, g, mu = random_stack(np.random.default_rng(4), 3)
    skew = G.copy()
    skew[0, 1] += 0.1 * np.abs(G).max()
    with pytest.raises(ValueError, match=r"G\[0, 1\] = .* but G\[1, 0\]"):
        sc.ContactProblem.from_delassus(skew, g, mu)
    with pytest.raises(ValueError, match="semidefinite"):
        sc.ContactProblem.from_delassus(G - 1e-3 * np.abs(G).max() * np.eye(len(G)), g, mu)


def test_a_step_whose_masses_have_the_terms_of_turning_is_solved_as_it_is():
    """M + h J(w) of an implicit step is not symmetric, nor is W = H^T M^-1 H."""
    random = np.random.default_rng(3)
    H = random.normal(size=(12, 18))
    turning = random.normal(size=(12, 12))
    W = H.T @ np.linalg.inv(np.eye(12) + 1e-3 * (turning - turning.T)) @ H
    assert np.abs(W - W.T).max() > 1e-4 * np.abs(W).max()
    free = H.T @ random.normal(size=12)
    problem = sc.ContactProblem.from_delassus(W, free, 0.4)
    result = sc.solve(problem, tolerance=1e-8)
    assert result.status is sc.Status.SOLVED
    assert off_coulombs_law(W, free, 0.4, result.impulse) <= 1.1e-8
