# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows and columns that come and go leave the same factorisation as one made afresh."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from solver_core.linalg import incremental as kernels
from solver_core.linalg.incremental import incremental

# the kernels are for other kernels: these make them callable from here


@njit
def append(factors, columns, i):
    return kernels.append(factors, columns, i)


@njit
def append_all(factors, columns, indices):
    return kernels.append_all(factors, columns, indices, indices.size)


@njit
def remove(factors, columns, i):
    return kernels.remove(factors, columns, i)


@njit
def replace_column(factors, columns, i):
    return kernels.replace_column(factors, columns, i)


@njit
def solve(factors, right, found):
    kernels.solve(factors, right, found)


@pytest.mark.parametrize("symmetric", [pytest.param(True, marks=pytest.mark.slow), False])
def test_thousands_of_changes_solve_like_a_fresh_factorisation(symmetric):
    rng, n = np.random.default_rng(4), 30
    X = rng.normal(size=(n, n))
    columns = np.ascontiguousarray(X @ X.T if symmetric else X + 3.0 * np.eye(n))
    factors, inside = incremental(n, symmetric), set()
    for _ in range(2000):
        i = int(rng.integers(n))
        if i in inside and not symmetric and rng.random() < 0.4:
            columns[i] = rng.normal(size=n) + 3.0 * np.eye(n)[i]
            assert replace_column(factors, columns, i)
        elif i in inside:
            assert remove(factors, columns, i)
            inside.remove(i)
        else:
            assert append(factors, columns, i)
            inside.add(i)
        chosen = sorted(inside)
        block, right, found = columns.T[np.ix_(chosen, chosen)], rng.normal(size=n), np.zeros(n)
        solve(factors, right, found)
        error = np.linalg.norm(block @ found[chosen] - right[chosen])
        assert error <= 1e-13 * np.linalg.norm(block) * np.linalg.norm(found) + 1e-300


@pytest.mark.parametrize("symmetric", [True, False])
def test_dependent_indices_are_refused_and_change_nothing(symmetric):
    rng = np.random.default_rng(5)
    J = rng.normal(size=(8, 3))
    columns = J @ J.T
    factors = incremental(8, symmetric)
    assert [append(factors, columns, i) for i in range(8)] == [True] * 3 + [False] * 5
    found = np.zeros(8)
    solve(factors, columns[5], found)
    assert columns @ found == pytest.approx(columns[5], abs=1e-12)


def test_many_at_once_are_factorised_like_one_by_one_up_to_the_first_that_depends():
    rng, n = np.random.default_rng(6), 20
    J = rng.normal(size=(n, 12))
    J[7] = J[2] - 3.0 * J[11]
    columns, order = J @ J.T, np.array([11, 5, 2, 14, 7, 0, 1])
    at_once, one_by_one = incremental(n, True), incremental(n, True)
    assert append_all(at_once, columns, order) == 4
    assert [append(one_by_one, columns, i) for i in order[:5]] == [True] * 4 + [False]
    for i in (0, 1):
        assert append(at_once, columns, i) and append(one_by_one, columns, i)
    assert remove(at_once, columns, 2) and remove(one_by_one, columns, 2)
    found = np.zeros((2, n))
    solve(at_once, columns[9], found[0])
    solve(one_by_one, columns[9], found[1])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-13)
    assert np.count_nonzero(found[0]) == 5


def test_what_is_singular_after_a_removal_is_kept_as_far_as_it_is_not():
    columns = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 5.0]])
    factors = incremental(3, False)
    assert append(factors, columns, 0)
    assert append(factors, columns, 2)
    assert append(factors, columns, 1)
    assert not remove(factors, columns, 2)
    assert factors.size[0] == 1
    found = np.zeros(3)
    solve(factors, np.array([2.0, 2.0, 0.0]), found)
    assert found[[0, 1]].sum() == pytest.approx(2.0)
