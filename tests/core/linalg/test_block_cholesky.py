# SPDX-License-Identifier: GPL-3.0-or-later
"""The block-sparse factorisations solve what a dense solver solves, for any graph and any block sizes."""

import numpy as np
import pytest

from solver_core.linalg import block_cholesky, block_lu, block_triangular

from ..block_matrices import load, random_problem
from ..kernels import callable_from_python

analyse = callable_from_python(block_cholesky.analyse)
factorise, solve_in_place = map(callable_from_python, (block_cholesky.factorise, block_triangular.solve_in_place))
factorise_lu, solve_lu_in_place = map(callable_from_python, (block_lu.factorise_lu, block_lu.solve_lu_in_place))


@pytest.mark.parametrize("seed", range(12))
def test_solves_like_a_dense_solver(seed):
    rng = np.random.default_rng(seed)
    bodies = int(rng.integers(1, 40))
    sizes = rng.integers(1, 9, bodies) if seed % 2 else np.full(bodies, 6)
    offset, body_a, body_b, dense = random_problem(rng, bodies, int(rng.integers(0, 4 * bodies)), sizes)
    structure = analyse(offset, body_a, body_b)
    values = load(structure, offset, dense)
    assert factorise(structure, values)
    right = rng.normal(size=offset[-1])
    x = right.copy()
    solve_in_place(structure, values, x)
    np.testing.assert_allclose(x, np.linalg.solve(dense, right), rtol=1e-10, atol=1e-12)


def test_a_chain_of_bodies_fills_nothing_in():
    bodies = 200
    offset = np.arange(0, 6 * bodies + 1, 6)
    chain = np.arange(bodies - 1)
    shuffled = np.random.default_rng(1).permutation(bodies)
    structure = analyse(offset, shuffled[chain], shuffled[chain + 1])
    assert structure.row.size == bodies - 1


def test_an_indefinite_matrix_is_refused():
    offset = np.array([0, 2])
    none = np.empty(0, np.int64)
    structure = analyse(offset, none, none)
    assert not factorise(structure, load(structure, offset, np.array([[1.0, 2.0], [2.0, 1.0]])))


@pytest.mark.parametrize("seed", range(12))
def test_an_unsymmetric_matrix_solves_like_a_dense_one(seed):
    rng = np.random.default_rng(seed)
    bodies = int(rng.integers(1, 40))
    sizes = rng.integers(1, 9, bodies) if seed % 2 else np.full(bodies, 6)
    offset, body_a, body_b, dense = random_problem(rng, bodies, int(rng.integers(0, 4 * bodies)), sizes)
    dense = dense * (1.0 + 0.2 * rng.uniform(-1.0, 1.0, dense.shape))
    structure = analyse(offset, body_a, body_b)
    values = load(structure, offset, dense)
    values[structure.length :] = load_mirrored(structure, offset, dense)
    assert factorise_lu(structure, values)
    right = rng.normal(size=offset[-1])
    x = right.copy()
    solve_lu_in_place(structure, values, x)
    np.testing.assert_allclose(x, np.linalg.solve(dense, right), rtol=1e-8, atol=1e-10)


def load_mirrored(structure, offset, dense):
    """The upper blocks of a dense matrix at the positions of the lower ones."""
    values = np.zeros(structure.length)
    for j, body in enumerate(structure.order):
        for p in range(structure.column_start[j], structure.column_start[j + 1]):
            row = structure.order[structure.row[p]]
            block = dense[offset[body] : offset[body + 1], offset[row] : offset[row + 1]].ravel()
            values[structure.block[p] : structure.block[p] + block.size] = block
    return values


def test_a_vanishing_pivot_is_refused():
    offset = np.array([0, 2])
    none = np.empty(0, np.int64)
    structure = analyse(offset, none, none)
    assert not factorise_lu(structure, load(structure, offset, np.array([[0.0, 1.0], [1.0, 0.0]])))
