# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers are sorted as numpy sorts them: few and many, in any order, equal ones among them."""

from __future__ import annotations

import numpy as np
import pytest

from solver_core.compile.kernel import kernel
from solver_core.linalg.sorting import MOST_INSERTED, sort_in_place


@kernel
def in_order(values):
    """A sorted copy."""
    out = values.copy()
    sort_in_place(out)
    return out


@pytest.mark.slow
def test_numbers_are_sorted_as_numpy_sorts_them():
    random = np.random.default_rng(5)
    for size in (0, 1, 2, 3, MOST_INSERTED - 1, MOST_INSERTED, MOST_INSERTED + 1, MOST_INSERTED + 2, 100, 1001):
        ascending = np.arange(size)
        for values in (ascending, ascending[::-1].copy(), random.permutation(size), random.integers(0, 5, size)):
            assert (in_order(values) == np.sort(values)).all()
