# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of six numbers, written out, are what numpy makes of them; and they become vectors."""

import re

import numba
import numpy as np
import pytest
from llvmlite import binding as llvm

from solver_core.linalg import rows_of_six


@pytest.fixture
def six():
    rng = np.random.default_rng(6)
    return rng.normal(size=6), rng.normal(size=6), rng.normal(size=36)


def called(function, *arguments):
    """A kernel that becomes part of its callers, called from one."""

    @numba.njit(error_model="numpy")
    def call(*arguments):
        return function(*arguments)

    return call(*arguments)


@pytest.mark.parametrize("count", range(7))
def test_rows_are_subtracted_each_times_its_number(six, count):
    x, y, rows = six
    expected = x - y[:count] @ rows.reshape(6, 6)[:count]
    called(rows_of_six.subtract_rows, x, y, rows, count)
    np.testing.assert_allclose(x, expected, rtol=1e-14, atol=1e-14)


def test_six_rows_are_summed(six):
    out, y, rows = six
    called(rows_of_six.weigh_six_rows, out, y, rows)
    np.testing.assert_allclose(out, y @ rows.reshape(6, 6), rtol=1e-14, atol=1e-14)


def test_three_rows_are_added_and_summed(six):
    out, y, rows = six
    rows = rows[:24].reshape(3, 8)  # of wider ones the first six numbers
    expected = out + y[:3] @ rows[:, :6]
    called(rows_of_six.add_three_rows, out, y[0], y[1], y[2], rows)
    np.testing.assert_allclose(out, expected, rtol=1e-14, atol=1e-14)
    called(rows_of_six.weigh_rows, out, y[0], y[1], y[2], rows)
    np.testing.assert_allclose(out, y[:3] @ rows[:, :6], rtol=1e-14, atol=1e-14)


def test_a_row_times_six_numbers(six):
    x, y, _ = six
    assert called(rows_of_six.product_of_six, x, tuple(y)) == pytest.approx(x @ y, rel=1e-13)


def test_a_row_may_be_one_of_those_that_it_is_made_of(six):
    # all is read before anything is written
    rows = six[2]
    block = rows.reshape(6, 6).copy()
    called(rows_of_six.subtract_rows, rows[6:], rows, rows, 1)
    np.testing.assert_allclose(rows[6:12], block[1] - block[0, 0] * block[0], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    ("module", "vectors"), [("solver_core.linalg.x", True), ("stiction.solver_core.collision.mesh.x", False)]
)
def test_six_numbers_are_multiplied_as_vectors_but_in_collision(module, vectors):
    if llvm.get_process_triple().split("-")[0] != "x86_64":
        pytest.skip("the names of instructions are those of x86-64")

    def function(out, y, rows):
        rows_of_six.subtract_rows(out, y, rows, rows_of_six.SIX)

    function.__module__ = module
    call = numba.njit(error_model="numpy")(function)
    # as a kernel of the package that is not kept: kernels of others are compiled as numba does by itself
    call.keep_under_key = lambda _dispatcher: None
    call(np.ones(6), np.ones(6), np.ones(36))
    code = call.inspect_asm(call.signatures[0])
    assert bool(re.search(r"\bv?mulpd\b", code)) == vectors
