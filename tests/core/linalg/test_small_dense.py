# SPDX-License-Identifier: GPL-3.0-or-later
"""Dense systems in a fixed order have the solutions that LAPACK finds."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from solver_core.linalg.small_dense import inverse, is_positive_definite, least_norm, solved, sparse_product, times

RNG = np.random.default_rng(4)
RANK = 1e-11


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_elimination_solves_what_needs_its_rows_exchanged(n):
    matrix, right = RNG.normal(size=(n, n)), RNG.normal(size=n)
    matrix[0, 0] = 0.0 if n > 1 else 1.0
    assert_allclose(matrix @ solved(matrix, right), right, atol=1e-11)


def test_a_singular_matrix_has_no_finite_solution():
    assert not np.isfinite(solved(np.ones((3, 3)), np.arange(3.0))).all()


def test_the_inverse_of_a_symmetric_matrix_is_symmetric_to_the_last_bit():
    matrix = RNG.normal(size=(12, 12))
    matrix = matrix @ matrix.T + np.eye(12)
    found = inverse(matrix)
    assert (found == found.T).all()
    assert_allclose(found @ matrix, np.eye(12), atol=1e-10)


def test_what_has_a_negative_eigenvalue_is_not_positive_definite():
    matrix = RNG.normal(size=(8, 8))
    matrix = matrix @ matrix.T
    least = np.linalg.eigvalsh(matrix)[0]
    assert is_positive_definite(matrix - 0.99 * least * np.eye(8))
    assert not is_positive_definite(matrix - 1.01 * least * np.eye(8))
    assert not is_positive_definite(np.full((2, 2), np.nan))


@pytest.mark.parametrize(("m", "n", "rank"), [(4, 4, 4), (9, 9, 3), (12, 5, 2), (5, 12, 3), (30, 30, 13), (1, 1, 1)])
def test_the_smallest_of_the_nearest_solutions_is_found(m, n, rank):
    matrix, right = RNG.normal(size=(m, rank)) @ RNG.normal(size=(rank, n)), RNG.normal(size=m)
    expected = scipy.linalg.lstsq(matrix, right, cond=RANK)[0]
    assert_allclose(least_norm(matrix, right, RANK), expected, atol=1e-11 * np.abs(expected).max())


def test_of_nothing_the_smallest_solution_is_zero():
    assert (least_norm(np.zeros((3, 5)), np.ones(3), RANK) == 0.0).all()
    assert least_norm(np.zeros((0, 0)), np.zeros(0), RANK).shape == (0,)


def test_products_are_those_of_numpy():
    a = np.where(RNG.random((20, 30)) < 0.2, RNG.normal(size=(20, 30)), 0.0)
    b = RNG.normal(size=(30, 7))
    assert_allclose(sparse_product(a, b), a @ b, atol=1e-14)
    assert_allclose(times(a, b[:, 0]), a @ b[:, 0], atol=1e-14)
