# SPDX-License-Identifier: GPL-3.0-or-later
"""An elimination tree in parts that do not depend on each other, and the top above them."""

from __future__ import annotations

import numpy as np
import pytest

from solver_core.linalg import block_cholesky, block_triangular, elimination_parts

from ..block_matrices import load, random_problem
from ..kernels import callable_from_python

eliminate, lay_out = map(callable_from_python, (block_cholesky.eliminate, block_cholesky.lay_out))
solve_in_place = callable_from_python(block_triangular.solve_in_place)
NAMES = ("reorder", "parts_of", "factorise_part", "factorise_top")
reorder, parts_of, factorise_part, factorise_top = (callable_from_python(getattr(elimination_parts, name)) for name in NAMES)


def in_parts(offset, body_a, body_b, most):
    """The structure of a contact graph, its parts, and the blocks that minimum degree has in its own order."""
    order, column_start, row = eliminate(len(offset) - 1, body_a, body_b)
    eliminated, start, work = reorder(order, column_start, row, body_a, body_b, most)
    structure = lay_out(offset, *eliminated)
    return structure, parts_of(structure, start, work), column_start[-1]


@pytest.mark.parametrize("seed", range(8))
def test_parts_one_by_one_and_the_top_are_the_factor(seed):
    rng = np.random.default_rng(seed)
    bodies = int(rng.integers(1, 60))
    sizes = rng.integers(1, 9, bodies) if seed % 2 else np.full(bodies, 6)
    offset, body_a, body_b, dense = random_problem(rng, bodies, int(rng.integers(0, 3 * bodies)), sizes)
    right = rng.normal(size=offset[-1])
    structure, parts, _ = in_parts(offset, body_a, body_b, 8)
    values = load(structure, offset, dense)
    # parts do not depend on each other, so neither does the factor on their order
    for part in rng.permutation(parts.number):
        assert factorise_part(structure, parts, values, part)
    assert factorise_top(structure, parts, values)
    x = right.copy()
    solve_in_place(structure, values, x)
    np.testing.assert_allclose(x, np.linalg.solve(dense, right), rtol=1e-9, atol=1e-11)


def test_no_block_lies_between_two_parts_and_none_is_added():
    """Of a wall, a grid of bodies that touch the next ones, most is in parts that are about as large as each other."""
    side = 16
    number = np.arange(side * side).reshape(side, side)
    body_a = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    body_b = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    structure, parts, blocks = in_parts(np.arange(0, 6 * side * side + 1, 6), body_a, body_b, 8)
    assert len(structure.row) == blocks
    part = np.repeat(np.arange(parts.number + 1), np.diff(parts.start))[structure.rank]
    inner = (part[body_a] < parts.number) & (part[body_b] < parts.number)
    assert (part[body_a][inner] == part[body_b][inner]).all()
    assert parts.number >= 4 and parts.work[-1] < 0.25 * parts.work.sum()
    assert parts.work[:-1].max() <= 0.3 * parts.work.sum()
