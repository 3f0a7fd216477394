# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversions between quaternions (w, x, y, z) and matrices, and joints whose two frames are apart at the start of a scene."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..scene.joints import FREE_AXIS, LOCKED, AxisSpec
from .described import Found

__all__ = [
    "MOTOR_SLACK",
    "Axes",
    "axis_frame",
    "continuous",
    "euler_angles",
    "joint_between",
    "matrix_of",
    "nearest_rotation",
    "pose_matrix",
    "quaternion_of",
    "with_motor",
]

Array = NDArray[np.float64]
Axes = tuple[AxisSpec, AxisSpec, AxisSpec]

# m and rad: rounding of positions of some meters in single precision
FRAME_ROUNDING = 1e-5
# A motor uses its full force whenever it is too slow. The drive written for it reaches that force when it is too slow by this
# fraction of its speed.
MOTOR_SLACK = 1e-3
# A drive that reaches its largest force when it is too slow by at most this fraction of its speed is read as a motor.
MOTOR_SHARE = 0.1
# Difference from 1 of a component of a unit axis.
PARALLEL = 1e-12


def matrix_of(quaternion: Array) -> Array:
    """Return the rotation matrices (..., 3, 3) of quaternions (..., 4)."""
    # Imported here because this module is loaded when Blender starts.
    from scipy.spatial.transform import Rotation

    q = np.asarray(quaternion, dtype=np.float64)
    flat = Rotation.from_quat(q.reshape(-1, 4)[:, [1, 2, 3, 0]]).as_matrix()
    return flat.reshape(*q.shape[:-1], 3, 3)


def quaternion_of(matrix: Array) -> Array:
    """Return the unit quaternions (..., 4), w >= 0, of rotation matrices (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    m = np.asarray(matrix, dtype=np.float64)
    flat = Rotation.from_matrix(m.reshape(-1, 3, 3)).as_quat()[:, [3, 0, 1, 2]]
    flat = np.where(flat[:, :1] < 0.0, -flat, flat)
    return flat.reshape(*m.shape[:-2], 4)


def continuous(quaternions: Array) -> Array:
    """Return quaternions (frames, 4) with signs such that each is near the previous one."""
    result = np.array(quaternions, dtype=np.float64)
    turns = np.einsum("ij,ij->i", result[1:], result[:-1]) < 0.0
    result[1:] *= np.where(np.cumsum(turns) % 2, -1.0, 1.0)[:, None]
    return result


def pose_matrix(pose: Array) -> Array:
    """Return the matrix (4, 4) of a pose (7,)."""
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = matrix_of(pose[3:]), pose[:3]
    return result


def nearest_rotation(matrix: Array) -> Array:
    """Return the rotation (3, 3) of the polar decomposition of a matrix, of its negative if the matrix mirrors.

    Raises ValueError if the matrix is singular.
    """
    lengths = np.linalg.norm(matrix, axis=0)
    if not lengths.min() > 0.0 or abs(np.linalg.det(matrix / lengths)) < FRAME_ROUNDING:
        raise ValueError(f"its scale {tuple(lengths.round(6).tolist())} leaves no volume; make it non-zero along every axis")
    left, _, right = np.linalg.svd((matrix if np.linalg.det(matrix) > 0.0 else -matrix) / lengths)
    rotation: Array = left @ right
    return rotation


def axis_frame(axis: Array) -> Array:
    """Return a rotation (3, 3) from z to a unit axis; the identity if the axis is z."""
    if axis[2] > 1.0 - PARALLEL:
        return np.eye(3)
    x = np.cross([0.0, 1.0, 0.0] if abs(axis[1]) < np.sqrt(0.5) else [0.0, 0.0, 1.0], axis)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(axis, x), axis], axis=1)


def euler_angles(rotation: Array) -> Array:
    """Return the angles (3,) about X, Y and Z of R = Rz Ry Rx, the angular coordinates of a joint."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(rotation).as_euler("xyz")


def joint_between(frame_a: Array, frame_b: Array, axes: Sequence[AxisSpec]) -> tuple[Array, Array, Axes, Axes, str]:
    """Convert a joint between two frames, one in each body, to a joint with one frame and coordinates of zero at the start.

    The frame has the position of frame B and the rotation of frame A, so linear coordinates only shift. So does the angle if
    only one axis is free to rotate. Otherwise, limits and springs are relative to the rotation at the start, with a warning.

    frame_a, frame_b: (4, 4) in the world. axes: six, along X, Y and Z, then about X, Y and Z.

    Returns the position (3,) and the rotation (3, 3) of the frame, the linear axes, the angular axes, and a warning or "".
    """
    linear, angular = axes[:3], axes[3:]
    turn = frame_a[:3, :3]
    shift = turn.T @ (frame_b[:3, 3] - frame_a[:3, 3])
    angles = euler_angles(turn.T @ frame_b[:3, :3])
    warning = ""
    if any(axis == LOCKED and abs(x) > FRAME_ROUNDING for axis, x in zip(linear, shift, strict=True)) or any(
        axis == LOCKED and abs(x) > FRAME_ROUNDING for axis, x in zip(angular, angles, strict=True)
    ):
        warning = "its two frames are apart along an axis that it locks; it holds the bodies where they are"
    moving = [axis for axis in angular if axis != LOCKED]
    if len(moving) > 1 and any(axis != FREE_AXIS for axis in moving) and np.abs(angles).max() > FRAME_ROUNDING:
        warning = "its frames are rotated relative to each other and it limits several angles; they are zero at the start here"
        angles = np.zeros(3)
    x, y, z = (counted(axis, start) for axis, start in zip(linear, shift, strict=True))
    a, b, c = (counted(axis, start) for axis, start in zip(angular, angles, strict=True))
    return frame_b[:3, 3].copy(), turn.copy(), (x, y, z), (a, b, c), warning


def counted(axis: AxisSpec, start: float) -> AxisSpec:
    """Return an axis whose coordinate is zero where that of the given axis is `start`."""
    if axis in (LOCKED, FREE_AXIS) or abs(start) <= math.ulp(1.0):
        return axis
    is_spring = axis.stiffness > 0.0
    return replace(axis, lower=axis.lower - start, upper=axis.upper - start, rest=axis.rest - start if is_spring else axis.rest)


def with_motor(found: Found, path: str, name: str, axis: AxisSpec, damping: float, speed: float, max_force: float) -> AxisSpec:
    """Return an axis with a motor in place of a drive that has only damping and a target velocity.

    found: gets a warning if the force of the drive differs from that of a motor.
    path, name: of the joint and of its drive.
    damping: N s/m or N m s. speed: target velocity, m/s or rad/s. max_force: N or N m.
    """
    full_force = damping * abs(speed)
    if max_force > MOTOR_SHARE * full_force:
        found.odd(
            path,
            f"drive:{name}:damping",
            f"a motor here has its full force at every lower speed; it is {min(max_force, full_force):g}, the force at rest",
        )
    return replace(axis, motor_velocity=speed, motor_force=min(max_force, full_force))
