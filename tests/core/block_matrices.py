# SPDX-License-Identifier: GPL-3.0-or-later
"""Matrices of contact graphs, dense and in the storage of blocks."""

import numpy as np

from solver_core.linalg import block_cholesky
from solver_core.linalg.block_cholesky import allocate_factor

from .kernels import callable_from_python

find_block = callable_from_python(block_cholesky.find_block)


def random_problem(rng, bodies, contacts, sizes):
    offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    body_a = rng.integers(-1, bodies, contacts).astype(np.int64)
    body_b = rng.integers(-1, bodies, contacts).astype(np.int64)
    same = body_a == body_b
    body_b[same] = -1
    n = offset[-1]
    dense = np.diag(rng.uniform(1.0, 2.0, n))
    for a, b in zip(body_a, body_b, strict=True):
        dofs = [d for body in (a, b) if body >= 0 for d in range(offset[body], offset[body + 1])]
        jacobian = rng.normal(size=(2, len(dofs)))
        dense[np.ix_(dofs, dofs)] += jacobian.T @ jacobian
    return offset, body_a, body_b, dense


def load(structure, offset, dense):
    """The lower blocks of a dense matrix, in the storage that the module describes."""
    values = allocate_factor(structure)
    values[:] = 0.0
    for j, body in enumerate(structure.order):
        columns = slice(offset[body], offset[body + 1])
        block = dense[columns, columns].ravel()
        values[structure.diagonal[j] : structure.diagonal[j] + block.size] = block
        for p in range(structure.column_start[j], structure.column_start[j + 1]):
            row = structure.order[structure.row[p]]
            block = dense[offset[row] : offset[row + 1], columns].ravel()
            assert find_block(structure, j, structure.row[p]) == structure.block[p]
            values[structure.block[p] : structure.block[p] + block.size] = block
    return values
