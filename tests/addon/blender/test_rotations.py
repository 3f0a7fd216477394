# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotation channels against Blender's own mathutils."""

from __future__ import annotations

import bpy  # noqa: F401 (mathutils comes with it)
import numpy as np
import pytest
from mathutils import Euler, Matrix, Quaternion

ORDERS = ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"]


@pytest.fixture
def rotations(extension):
    from stiction.addon.blender import rotations

    return rotations


def random_rotations(count: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    return np.array([Quaternion(rng.normal(size=4)).normalized().to_matrix() for _ in range(count)], dtype=float)


def test_matrices_are_those_of_mathutils(rotations):
    rng = np.random.default_rng(1)
    for quaternion in rng.normal(size=(20, 4)):
        wanted = np.array(Quaternion(quaternion).normalized().to_matrix())
        assert np.allclose(rotations.matrix_of_quaternion(quaternion), wanted, atol=1e-6)
    for order in ORDERS:
        for angles in rng.uniform(-7, 7, size=(20, 3)):
            assert np.allclose(rotations.matrix_of_euler(angles, order), np.array(Euler(angles, order).to_matrix()), atol=2e-6)


@pytest.mark.parametrize("mode", [*ORDERS, "QUATERNION", "AXIS_ANGLE"])
def test_channels_give_the_rotation_back(rotations, mode):
    wanted = random_rotations(50)
    start = {"QUATERNION": np.array([1.0, 0, 0, 0]), "AXIS_ANGLE": np.array([0.0, 0, 1, 0])}.get(mode, np.zeros(3))
    values = rotations.continuous_rotation(wanted, mode, start)
    for value, matrix in zip(values, wanted, strict=True):
        if mode == "QUATERNION":
            found = Quaternion(value).to_matrix()
        elif mode == "AXIS_ANGLE":
            found = Matrix.Rotation(value[0], 3, value[1:])
        else:
            found = Euler(value, mode).to_matrix()
        assert np.allclose(np.array(found), matrix, atol=3e-6)


@pytest.mark.parametrize("mode", [*ORDERS, "QUATERNION", "AXIS_ANGLE"])
def test_channels_turn_on_past_a_full_circle_without_a_jump(rotations, mode):
    angles = np.arange(100) * 0.35
    axis = np.array([0.2, -0.5, 0.8])
    axis /= np.linalg.norm(axis)
    turns = np.column_stack([np.cos(angles / 2), np.sin(angles / 2)[:, None] * axis])
    start = {"QUATERNION": np.array([1.0, 0, 0, 0]), "AXIS_ANGLE": np.array([0.0, *axis])}.get(mode, np.zeros(3))
    values = rotations.continuous_rotation(rotations.matrix_of_quaternion(turns), mode, start)
    if mode == "AXIS_ANGLE":
        assert np.allclose(values[:, 0], angles) and np.allclose(values[1:, 1:], axis)
    elif mode == "QUATERNION":
        assert np.abs(np.diff(values, axis=0)).max() < 0.35
    else:
        assert np.abs(np.diff(values, axis=0)).max() < np.pi


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_gimbal_lock_loses_no_rotation(rotations, order, sign):
    rng = np.random.default_rng(2)
    angles = rng.uniform(-3, 3, size=(20, 3))
    angles[:, "XYZ".index(order[1])] = sign * np.pi / 2
    wanted = rotations.matrix_of_euler(angles, order)
    values = rotations.continuous_rotation(wanted, order, np.zeros(3))
    assert np.allclose(rotations.matrix_of_euler(values, order), wanted, atol=1e-9)


def test_the_rotation_in_a_matrix_is_proper_also_when_it_mirrors_or_shears(rotations):
    for turn in random_rotations(20):
        for scale in ((1, 1, 1), (-1, 1, 1), (-2, -0.5, -3), (1e-4, 1e3, 1)):
            found = rotations.nearest_rotation(turn * scale)
            assert np.isclose(np.linalg.det(found), 1.0) and np.allclose(found.T @ found, np.eye(3), atol=1e-12)
            # Up to signs the columns are those of the rotation.
            assert np.allclose(np.abs(np.einsum("ij,ij->j", found, turn)), 1.0, atol=1e-5)
    sheared = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert np.isclose(np.linalg.det(rotations.nearest_rotation(sheared)), 1.0)
