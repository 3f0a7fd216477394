# SPDX-License-Identifier: GPL-3.0-or-later
"""Products in a fixed order are those of numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from solver_core.linalg.in_order import dot, dots, length, product, sum_of_rows

RNG = np.random.default_rng(5)


@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 3), (3, 3)), ((5, 3), (3,)), ((4, 3, 3), (4, 3, 1)), ((2, 4, 1, 3), (4, 3, 6)), ((4, 0), (0, 2)), ((0, 3), (3, 3))],
)
def test_products_of_matrices_vectors_and_stacks(a, b):
    a, b = RNG.normal(size=a), RNG.normal(size=b)
    assert_allclose(product(a, b), a @ b, atol=1e-14)


def test_matrices_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"\(2, 3\) and \(2, 2\)"):
        product(np.zeros((2, 3)), np.zeros((2, 2)))


def test_scalar_products_lengths_and_sums():
    a, b = RNG.normal(size=(2, 50, 3))
    assert_allclose(dots(a, b), np.einsum("ij,ij->i", a, b), atol=1e-15)
    assert dot(a[:, 0], b[:, 0]) == pytest.approx(a[:, 0] @ b[:, 0])
    assert length(a[:, 0]) == pytest.approx(np.linalg.norm(a[:, 0]))
    assert_allclose(sum_of_rows(a), a.sum(axis=0), atol=1e-13)
