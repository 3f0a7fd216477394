# SPDX-License-Identifier: GPL-3.0-or-later
"""Quaternions turn vectors as rotation matrices do, and back and forth without loss."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_core.dynamics.motion.rotation import matrices, rotate, rotate_by, rotation_vector, write_matrix

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def to_scipy(q):
    return Rotation.from_quat(np.asarray(q)[..., [1, 2, 3, 0]])


def from_scipy(rotation):
    return rotation.as_quat()[..., [3, 0, 1, 2]]


def random_quaternions(n, seed):
    return from_scipy(Rotation.random(n, random_state=seed))


def assert_same_rotation(a, b, atol=1e-14):
    np.testing.assert_allclose(np.sign(a @ b) * a, b, atol=atol)


def turned(q, vector):
    out = np.empty(4)
    rotate_by(q, *vector, out)
    return out


@pytest.mark.parametrize("seed", range(3))
def test_matrices_are_those_of_the_quaternions(seed):
    q = random_quaternions(20, seed)
    expected = to_scipy(q).as_matrix()
    np.testing.assert_allclose(matrices(q), expected, atol=1e-14)
    one = np.empty((3, 3))
    write_matrix(q[0], one)
    np.testing.assert_allclose(one, expected[0], atol=1e-14)
    np.testing.assert_allclose(one @ one.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(one) == pytest.approx(1.0)


def test_vectors_are_turned_one_by_one():
    q, vectors = random_quaternions(20, 1), np.random.default_rng(1).normal(size=(20, 3))
    np.testing.assert_allclose(rotate(q, vectors), to_scipy(q).apply(vectors), atol=1e-14)


def test_a_quaternion_and_its_negative_are_the_assert_same_rotation():
    q, vectors = random_quaternions(5, 2), np.random.default_rng(2).normal(size=(5, 3))
    np.testing.assert_allclose(rotate(-q, vectors), rotate(q, vectors), atol=1e-15)
    np.testing.assert_allclose(matrices(-q), matrices(q), atol=1e-15)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 1.0, 3.0, np.pi, 7.0, 100.0])
def test_turning_is_the_exponential_map_about_world_axes(angle):
    for q, axis in zip(random_quaternions(5, 3), np.random.default_rng(3).normal(size=(5, 3)), strict=True):
        vector = angle * axis / np.linalg.norm(axis)
        result = turned(q, vector)
        assert_same_rotation(result, from_scipy(Rotation.from_rotvec(vector) * to_scipy(q)), atol=1e-13)
        assert np.linalg.norm(result) == pytest.approx(1.0, abs=1e-15)


def test_many_small_turns_make_a_large_one_and_stay_of_length_one():
    q, step = IDENTITY.copy(), 2.0 * np.pi / 10000
    for _ in range(10000):
        q = turned(q, (0.0, 0.0, step))
    assert_same_rotation(q, IDENTITY, atol=1e-11)
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-15)


def test_turning_in_place_is_allowed():
    q = random_quaternions(1, 4)[0]
    expected = turned(q, (0.1, 0.2, 0.3))
    rotate_by(q, 0.1, 0.2, 0.3, q)
    np.testing.assert_array_equal(q, expected)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-8, 1e-3, 1.0, 3.0, np.pi - 1e-6])
def test_the_rotation_vector_undoes_turning(angle):
    for q, axis in zip(random_quaternions(5, 5), np.random.default_rng(5).normal(size=(5, 3)), strict=True):
        vector = angle * axis / np.linalg.norm(axis)
        for after in (turned(q, vector), -turned(q, vector)):
            np.testing.assert_allclose(rotation_vector(q, after), vector, atol=1e-15 + 1e-9 * angle)


def test_the_rotation_vector_goes_the_short_way_round():
    after = turned(IDENTITY, (0.0, 0.0, 1.5 * np.pi))
    np.testing.assert_allclose(rotation_vector(IDENTITY, after), [0.0, 0.0, -0.5 * np.pi], atol=1e-14)
