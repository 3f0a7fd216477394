# SPDX-License-Identifier: GPL-3.0-or-later
"""Closed forms of three by three give what LAPACK gives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from solver_core.linalg.mat3 import eigen_of_each, inverses, principal_axes_of_points, relative_eigen

RNG = np.random.default_rng(3)


def inertias(count, slender=1.0):
    """(count, 3, 3) symmetric positive definite matrices of which one moment is smaller by a factor."""
    turns = np.linalg.qr(RNG.normal(size=(count, 3, 3)))[0]
    moments = RNG.uniform(0.5, 2.0, size=(count, 3)) * (1.0, 1.0, slender)
    return turns @ (moments[:, :, None] * turns.transpose(0, 2, 1))


@pytest.mark.parametrize("slender", [1.0, 1e-4, 1e-9])
def test_inverses_are_as_good_as_the_condition_of_the_matrix_allows(slender):
    matrices = inertias(50, slender)
    found = inverses(matrices)
    assert_allclose(found, found.transpose(0, 2, 1), rtol=0, atol=0)
    assert_allclose(found @ matrices, np.tile(np.eye(3), (50, 1, 1)), atol=1e-14 / slender)


def test_eigenvalues_rise_and_their_vectors_are_those_of_lapack():
    matrices = RNG.normal(size=(200, 3, 3))
    matrices += matrices.transpose(0, 2, 1)
    values, axes = eigen_of_each(matrices)
    assert_allclose(values, np.linalg.eigvalsh(matrices), atol=1e-13)
    assert_allclose(matrices @ axes, axes * values[:, None], atol=1e-13)
    assert_allclose(axes.transpose(0, 2, 1) @ axes, np.tile(np.eye(3), (200, 1, 1)), atol=1e-14)


def test_a_cube_keeps_its_own_axes_and_a_box_has_them_in_the_order_of_its_moments():
    values, axes = eigen_of_each(np.array([2.0 * np.eye(3), np.diag([3.0, 1.0, 2.0])]))
    assert values.tolist() == [[2.0, 2.0, 2.0], [1.0, 2.0, 3.0]]
    assert (axes[0] == np.eye(3)).all()
    assert (axes[1] == np.eye(3)[:, [1, 2, 0]]).all()


def test_what_is_not_finite_is_not_called_an_axis():
    assert not np.isfinite(eigen_of_each(np.full((1, 3, 3), np.nan))[0]).any()


def test_relative_axes_make_both_matrices_again():
    measures, matrices = inertias(50, 1e-3), RNG.normal(size=(50, 3, 3))
    matrices += matrices.transpose(0, 2, 1)
    values, columns = relative_eigen(matrices, measures)
    assert_allclose(columns @ columns.transpose(0, 2, 1), measures, atol=1e-14)
    assert_allclose((columns * values[:, None]) @ columns.transpose(0, 2, 1), matrices, atol=1e-11)
    assert (np.diff(values, axis=1) >= 0.0).all()


@pytest.mark.parametrize("extents", [(1.0, 0.5, 0.2), (1.0, 1e-3, 1e-9), (1.0, 1e-8, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)])
def test_axes_of_points_are_right_handed_and_along_their_spread_however_thin_that_is(extents):
    turn = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    points = RNG.uniform(-1.0, 1.0, size=(40, 3)) * extents @ turn
    points -= points.mean(axis=0)
    axes = principal_axes_of_points(points)
    assert_allclose(axes @ axes.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    spread = np.sqrt(((points @ axes.T) ** 2).sum(axis=0))
    assert_allclose(spread, np.linalg.svd(points)[1], atol=1e-15 * len(points))
