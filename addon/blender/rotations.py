# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotations of Blender's objects over many frames: quaternion, axis and angle, or Euler angles in one of six orders.

An Euler order such as XYZ rotates about x first: R = Rz Ry Rx. Of all values with the same rotation, the one closest to the
previous frame is used, so that curves do not jump. mathutils does the same for one rotation at a time in single precision. Here
all frames of a body are converted at once, in double precision.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "angle_between",
    "continuous_rotation",
    "matrix_of_channel",
    "matrix_of_euler",
    "matrix_of_quaternion",
    "nearest_rotation",
    "orthogonal",
    "quaternion_of_matrix",
    "rotation_vector",
]

Array = NDArray[np.float64]

# Cosine of the middle angle below which the first and last axes coincide; only the sum or difference of their angles is known.
GIMBAL_LOCK = 1e-7
# Sine of half the angle below which the axis is round-off.
NO_ROTATION = 1e-12
# Replaces a length of zero where the quotient is not used.
TINY = 1e-300
# Single precision is orthogonal within 1e-6; the square of this is round-off.
NEARLY_ORTHOGONAL = 1e-5


def matrix_of_quaternion(quaternion: Array) -> Array:
    """Convert quaternions (..., 4), (w, x, y, z), of any length to matrices (..., 3, 3)."""
    w, x, y, z = np.moveaxis(quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_of_matrix(matrix: Array) -> Array:
    """Convert rotations (..., 3, 3) to unit quaternions (..., 4), (w, x, y, z), w >= 0."""
    m = np.asarray(matrix, dtype=np.float64)
    d0, d1, d2 = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    # Four times the outer product q q^T; its row with the largest diagonal entry is q up to scale, without cancellation.
    rows = np.stack(
        [
            np.stack(
                [1 + d0 + d1 + d2, m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]], -1
            ),
            np.stack(
                [m[..., 2, 1] - m[..., 1, 2], 1 + d0 - d1 - d2, m[..., 1, 0] + m[..., 0, 1], m[..., 0, 2] + m[..., 2, 0]], -1
            ),
            np.stack(
                [m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] + m[..., 0, 1], 1 - d0 + d1 - d2, m[..., 2, 1] + m[..., 1, 2]], -1
            ),
            np.stack(
                [m[..., 1, 0] - m[..., 0, 1], m[..., 0, 2] + m[..., 2, 0], m[..., 2, 1] + m[..., 1, 2], 1 - d0 - d1 + d2], -1
            ),
        ],
        axis=-2,
    )
    best = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    quaternion = np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :]
    quaternion = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    return np.where(quaternion[..., :1] < 0.0, -quaternion, quaternion)


def matrix_of_channel(values: Array, mode: str) -> Array:
    """Convert rotation channels (..., 3 or 4) of objects to matrices (..., 3, 3). mode: their rotation_mode."""
    if mode == "QUATERNION":
        return matrix_of_quaternion(values)
    if mode == "AXIS_ANGLE":
        half = 0.5 * values[..., :1]
        length = np.linalg.norm(values[..., 1:], axis=-1, keepdims=True)
        axis = values[..., 1:] / np.maximum(length, TINY)
        return matrix_of_quaternion(np.concatenate([np.cos(half), np.sin(half) * axis], axis=-1))
    return matrix_of_euler(values, mode)


def angle_between(a: Array, b: Array) -> Array:
    """Return the angles (...) between rotations (..., 3, 3) [rad]."""
    # Accurate for small angles, unlike the cosine: |a - b| = sqrt(8) sin(angle / 2).
    half = np.linalg.norm(a - b, axis=(-2, -1)) / np.sqrt(8.0)
    angle: Array = 2.0 * np.arcsin(np.minimum(half, 1.0))
    return angle


def rotation_vector(matrix: Array) -> Array:
    """Return the rotation vector (3,) of a rotation (3, 3), with an angle of at most half a turn [rad]."""
    w, *v = quaternion_of_matrix(matrix)
    sine = np.linalg.norm(v)
    return np.array(v) * (2.0 * np.arctan2(sine, w) / sine if sine > 0.0 else 2.0)


def matrix_of_euler(angles: Array, order: str) -> Array:
    """Convert angles about x, y and z (..., 3) [rad] to matrices (..., 3, 3)."""
    result = np.broadcast_to(np.eye(3), (*np.shape(angles)[:-1], 3, 3))
    for name in order:
        axis = "XYZ".index(name)
        c, s = np.cos(angles[..., axis]), np.sin(angles[..., axis])
        about = np.zeros_like(result)
        about[..., axis, axis] = 1.0
        j, k = (axis + 1) % 3, (axis + 2) % 3
        about[..., j, j], about[..., k, k], about[..., j, k], about[..., k, j] = c, c, -s, s
        result = about @ result
    return result


def nearest_rotation(matrix: Array) -> Array:
    """Return the proper rotations (..., 3, 3) closest to matrices (..., 3, 3), from their polar decompositions; mirrored ones
    are negated."""
    signed = np.where(np.linalg.det(matrix)[..., None, None] > 0.0, matrix, -matrix)
    # Unit columns first, which are already the rotation if there is no shear.
    left, _, right = np.linalg.svd(signed / np.linalg.norm(signed, axis=-2, keepdims=True))
    rotation: Array = left @ right
    return rotation


def orthogonal(matrices: Array) -> Array:
    """Return the orthogonal matrices (..., 3, 3) closest to matrices (..., 3, 3)."""
    gram = np.swapaxes(matrices, -1, -2) @ matrices
    # One Newton-Schulz step squares the error of single precision, at a tenth of the cost of the decomposition.
    result: Array = matrices @ (1.5 * np.eye(3) - 0.5 * gram)
    far = np.abs(gram - np.eye(3)).max(axis=(-1, -2)) > NEARLY_ORTHOGONAL
    if far.any():
        left, _, right = np.linalg.svd(matrices[far])
        result[far] = left @ right
    return result


def continuous_rotation(matrices: Array, mode: str, start: Array) -> Array:
    """Return channel values (frames, ..., 3 or 4) of rotations (frames, ..., 3, 3), each closest to the previous frame.

    mode: rotation_mode of the objects. start: (..., 3 or 4) values before the first frame.
    """
    if mode == "QUATERNION":
        return continuous_quaternion(matrices, start)
    step = axis_angle_near if mode == "AXIS_ANGLE" else partial(euler_near, order=mode)
    values, previous = [], np.asarray(start, dtype=np.float64)
    for matrix in matrices:
        previous = step(matrix, previous)
        values.append(previous)
    return np.array(values)


def continuous_quaternion(matrices: Array, start: Array) -> Array:
    quaternions = quaternion_of_matrix(matrices)
    previous = np.concatenate([start[None], quaternions[:-1]])
    flips = np.where(np.einsum("...i,...i", quaternions, previous) < 0.0, -1.0, 1.0)
    return quaternions * np.cumprod(flips, axis=0)[..., None]


def axis_angle_near(matrix: Array, previous: Array) -> Array:
    """Return the angle and axis (..., 4) of rotations (..., 3, 3) that are closest to given values (..., 4)."""
    quaternion = quaternion_of_matrix(matrix)
    sine = np.linalg.norm(quaternion[..., 1:], axis=-1, keepdims=True)
    length = np.linalg.norm(previous[..., 1:], axis=-1, keepdims=True)
    kept = np.where(length > 0.0, previous[..., 1:] / np.maximum(length, TINY), [0.0, 1.0, 0.0])
    axis = np.where(sine > NO_ROTATION, quaternion[..., 1:] / np.maximum(sine, TINY), kept)
    sign = np.where(np.sum(axis * kept, axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
    angle = sign * 2.0 * np.arctan2(sine, quaternion[..., :1])
    angle += 2.0 * np.pi * np.round((previous[..., :1] - angle) / (2.0 * np.pi))
    return np.concatenate([angle, sign * axis], axis=-1, dtype=np.float64)


def euler_near(matrix: Array, previous: Array, order: str) -> Array:
    """Return the angles (..., 3) of rotations (..., 3, 3) that are closest to given values (..., 3)."""
    i, j, k = ("XYZ".index(name) for name in order)
    parity = 1.0 if (j - i) % 3 == 1 else -1.0
    # R = Rk Rj Ri: row k contains (-+ sin b, cos b sin a, cos b cos a) at (i, j, k), and column i contains sin c and cos c.
    cosine = np.hypot(matrix[..., i, i], matrix[..., j, i])
    a = np.arctan2(parity * matrix[..., k, j], matrix[..., k, k])
    b = np.arctan2(-parity * matrix[..., k, i], cosine)
    c = np.arctan2(parity * matrix[..., j, i], matrix[..., i, i])
    locked = cosine <= GIMBAL_LOCK
    if locked.any():
        kept = previous[..., k]
        back = matrix_of_euler(-kept[..., None] * np.eye(3)[k], order) @ matrix
        # The rest is Rj Ri, whose entries (j, j) and (j, k) are cos a and -sin a.
        a, c = np.where(locked, np.arctan2(-parity * back[..., j, k], back[..., j, j]), a), np.where(locked, kept, c)
    near = previous[..., [i, j, k]]
    choices = np.array([np.stack([a, b, c], axis=-1), np.stack([a + np.pi, np.pi - b, c + np.pi], axis=-1)])
    choices += 2.0 * np.pi * np.round((near - choices) / (2.0 * np.pi))
    distances = np.abs(choices - near).sum(axis=-1)
    first = (distances[0] <= distances[1]) | locked
    values: Array = np.empty(near.shape)
    values[..., [i, j, k]] = np.where(first[..., None], choices[0], choices[1])
    return values
