# SPDX-License-Identifier: GPL-3.0-or-later
"""Elementary functions of our own are as accurate as a library's, and have the same bits everywhere."""

import hashlib
import math

import numba
import numpy as np
import pytest

from solver_core.linalg import elementary
from solver_core.linalg.elementary import arctangents, exponentials, powers, sines_and_cosines

FEW = 5.0  # units in the last place: ours are within four, the library's within one


@numba.njit
def of_each(x):
    """Arc sines, arc cosines and logarithms, of leaf kernels, which Python cannot call."""
    out = np.empty((3, len(x)))
    for i in range(len(x)):
        out[0, i], out[1, i] = elementary.arcsine(x[i]), elementary.arccosine(x[i])
        out[2, i] = elementary.logarithm(abs(x[i]))
    return out


def assert_near(found, expected):
    assert (np.abs(found - expected) <= FEW * np.spacing(np.abs(expected))).all()


@pytest.mark.parametrize("largest", [1e-8, 1.0, 7.0, 1e3, 1e6])
def test_sines_and_cosines_are_those_of_the_library(largest):
    x = np.random.default_rng(1).uniform(-largest, largest, 2000)
    sines, cosines = sines_and_cosines(x)
    assert_near(sines, [math.sin(one) for one in x])
    assert_near(cosines, [math.cos(one) for one in x])


def test_beyond_any_turn_of_a_body_the_angle_is_reduced_as_well_as_its_own_digits_allow():
    x = np.random.default_rng(2).uniform(1e7, 1e12, 1000)
    sines, cosines = sines_and_cosines(x)
    assert (np.abs(sines - np.sin(x)) <= 4.0 * np.spacing(x)).all()
    assert sines**2 + cosines**2 == pytest.approx(1.0, abs=1e-15)


def test_what_is_not_finite_has_no_sine():
    assert np.isnan(sines_and_cosines(np.array([np.inf, -np.inf, np.nan]))).all()


def test_arc_tangents_are_those_of_the_library_in_all_quadrants_and_on_their_borders():
    y, x = np.random.default_rng(3).normal(size=(2, 5000))
    x[:1000] *= 1e-6
    y[1000:2000] *= 1e-9
    assert_near(arctangents(y, x), [math.atan2(*pair) for pair in zip(y, x, strict=True)])
    edges = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 1e308, 1e-320]
    y, x = (part.ravel() for part in np.meshgrid(edges, edges))
    expected = np.array([math.atan2(*pair) for pair in zip(y, x, strict=True)])
    found = arctangents(y, x)
    assert_near(found, expected)
    assert (np.signbit(found) == np.signbit(expected)).all()
    assert np.isnan(arctangents(np.array([np.nan, 1.0]), np.array([1.0, np.nan]))).all()


def test_exponentials_keep_the_digits_of_what_they_differ_from_one_by():
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.uniform(-700.0, 700.0, 2000), rng.uniform(-1.0, 1.0, 2000), rng.uniform(-1e-7, 1e-7, 500)])
    whole, less_one = exponentials(x)
    assert_near(whole, [math.exp(one) for one in x])
    assert_near(less_one, [math.expm1(one) for one in x])
    ends, less = exponentials(np.array([0.0, np.inf, -np.inf, 710.0, -746.0]))
    assert ends.tolist() == [1.0, np.inf, 0.0, np.inf, 0.0]
    assert less.tolist() == [0.0, np.inf, -1.0, np.inf, -1.0]


def test_arc_sines_arc_cosines_and_logarithms_are_those_of_the_library():
    x = np.random.default_rng(5).uniform(-1.0, 1.0, 3000)
    found = of_each(x)
    assert_near(found[0], [math.asin(one) for one in x])
    assert_near(found[1], [math.acos(one) for one in x])
    assert_near(found[2], [math.log(abs(one)) for one in x])
    assert of_each(np.array([1.0, -1.0]))[1].tolist() == [0.0, math.pi]
    assert np.isnan(of_each(np.array([1.0 + 1e-15]))[:2]).all()


def test_what_is_damped_for_no_time_is_whole_and_what_is_damped_wholly_is_nothing():
    assert powers(np.array([0.0, 0.3, 1.0]), 0.0).tolist() == [1.0, 1.0, 1.0]
    assert powers(np.array([0.0, 1.0]), 0.01).tolist() == [0.0, 1.0]
    base = np.random.default_rng(6).uniform(0.0, 1.0, 1000)
    assert_near(powers(base, 1.0 / 240.0), [one ** (1.0 / 240.0) for one in base])


def test_they_have_the_same_bits_everywhere():
    """The hash of 40,000 values, which another processor or library has to give as well."""
    x = (np.arange(8192) - 4096) * 0.0078125 + 1e-3
    parts = *sines_and_cosines(x), arctangents(x, x[::-1] * x), *exponentials(0.1 * x), *of_each(x / 64.0)[:, 100:-100]
    assert hashlib.sha256(b"".join(part.astype("<f8").tobytes() for part in parts)).hexdigest()[:16] == "db8acc7802595755"


def test_the_compiler_changes_no_operation():
    """Python's own numbers are never fused or reordered."""
    x = np.random.default_rng(7).uniform(-20.0, 20.0, 1000)
    by_hand = np.array([elementary.sine_and_cosine.py_func(one) for one in x]).T
    assert (by_hand == sines_and_cosines(x)).all()
    assert [elementary.arctangent.py_func(one, 3.0) for one in x] == arctangents(x, np.full(1000, 3.0)).tolist()
    by_hand = np.array([elementary.exponential.py_func(one) for one in x]).T
    assert (by_hand == exponentials(x)).all()
    assert [elementary.logarithm.py_func(abs(one)) for one in x] == of_each(x)[2].tolist()
