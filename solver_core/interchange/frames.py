# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotations between quaternions (w, x, y, z) and matrices, and joints whose two frames are apart where the scene begins."""

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
    "begun",
    "continuous",
    "euler_angles",
    "matrix_of",
    "motored",
    "nearest_rotation",
    "pose_matrix",
    "quaternion_of",
]

Array = NDArray[np.float64]
Axes = tuple[AxisSpec, AxisSpec, AxisSpec]

# m and rad: what single precision makes of places of some meters
FRAME_ROUNDING = 1e-5
# A motor holds its speed with all of its force: the drive that stands for it has it where it is slow by that share.
MOTOR_SLACK = 1e-3
# A drive that has its whole force at a tenth of its speed is a motor.
MOTOR_SHARE = 0.1
# of a unit axis
PARALLEL = 1e-12


def matrix_of(quaternion: Array) -> Array:
    """Rotation matrices (..., 3, 3) of quaternions (..., 4)."""
    # what only names shapes, as Blender does at its start, waits for no scipy
    from scipy.spatial.transform import Rotation

    q = np.asarray(quaternion, dtype=np.float64)
    flat = Rotation.from_quat(q.reshape(-1, 4)[:, [1, 2, 3, 0]]).as_matrix()
    return flat.reshape(*q.shape[:-1], 3, 3)


def quaternion_of(matrix: Array) -> Array:
    """Unit quaternions (..., 4), w >= 0, of rotation matrices (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    m = np.asarray(matrix, dtype=np.float64)
    flat = Rotation.from_matrix(m.reshape(-1, 3, 3)).as_quat()[:, [3, 0, 1, 2]]
    flat = np.where(flat[:, :1] < 0.0, -flat, flat)
    return flat.reshape(*m.shape[:-2], 4)


def continuous(quaternions: Array) -> Array:
    """Quaternions (frames, 4) with those signs that keep each near the one before."""
    result = np.array(quaternions, dtype=np.float64)
    turns = np.einsum("ij,ij->i", result[1:], result[:-1]) < 0.0
    result[1:] *= np.where(np.cumsum(turns) % 2, -1.0, 1.0)[:, None]
    return result


def pose_matrix(pose: Array) -> Array:
    """(4, 4) of a pose (7,)."""
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = matrix_of(pose[3:]), pose[:3]
    return result


def nearest_rotation(matrix: Array) -> Array:
    """The rotation (3, 3) of the polar decomposition; what mirrors is negated. Raises ValueError where there is no volume."""
    lengths = np.linalg.norm(matrix, axis=0)
    if not lengths.min() > 0.0 or abs(np.linalg.det(matrix / lengths)) < FRAME_ROUNDING:
        raise ValueError(f"its scale {tuple(lengths.round(6).tolist())} leaves no volume; make it non-zero along every axis")
    left, _, right = np.linalg.svd((matrix if np.linalg.det(matrix) > 0.0 else -matrix) / lengths)
    rotation: Array = left @ right
    return rotation


def axis_frame(axis: Array) -> Array:
    """A rotation (3, 3) that takes z to a unit axis; none where it is z already."""
    if axis[2] > 1.0 - PARALLEL:
        return np.eye(3)
    x = np.cross([0.0, 1.0, 0.0] if abs(axis[1]) < np.sqrt(0.5) else [0.0, 0.0, 1.0], axis)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(axis, x), axis], axis=1)


def euler_angles(rotation: Array) -> Array:
    """The angles (3,) about X, Y and Z of R = Rz Ry Rx, which are a joint's coordinates."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(rotation).as_euler("xyz")


def begun(frame_a: Array, frame_b: Array, axes: Sequence[AxisSpec]) -> tuple[Array, Array, Axes, Axes, str]:
    """A joint that counts from where it begins, made of one between two frames (4, 4) in the world, of its two bodies.

    axes: along X, Y and Z and about them. Returns the place (3,) and rotation (3, 3) of its frame, its axes, and what cannot be
    said of it so. Along axes nothing is lost: the frame lies at that of B and is turned as that of A. Angles are counted on
    about one axis; about several, limits and springs of other than free axes begin where the bodies are.
    """
    linear, angular = axes[:3], axes[3:]
    turn = frame_a[:3, :3]
    shift = turn.T @ (frame_b[:3, 3] - frame_a[:3, 3])
    angles = euler_angles(turn.T @ frame_b[:3, :3])
    said = ""
    if any(axis == LOCKED and abs(x) > FRAME_ROUNDING for axis, x in zip(linear, shift, strict=True)) or any(
        axis == LOCKED and abs(x) > FRAME_ROUNDING for axis, x in zip(angular, angles, strict=True)
    ):
        said = "its two frames are apart along an axis that it locks; it holds its bodies where they are"
    moving = [axis for axis in angular if axis != LOCKED]
    if len(moving) > 1 and any(axis != FREE_AXIS for axis in moving) and np.abs(angles).max() > FRAME_ROUNDING:
        said = "its frames are turned against each other and it limits several angles; they are counted from where it begins"
        angles = np.zeros(3)
    x, y, z = (counted(axis, start) for axis, start in zip(linear, shift, strict=True))
    a, b, c = (counted(axis, start) for axis, start in zip(angular, angles, strict=True))
    return frame_b[:3, 3].copy(), turn.copy(), (x, y, z), (a, b, c), said


def counted(axis: AxisSpec, start: float) -> AxisSpec:
    """An axis whose coordinate is counted from `start` on."""
    if axis in (LOCKED, FREE_AXIS) or abs(start) <= math.ulp(1.0):
        return axis
    sprung = axis.stiffness > 0.0
    return replace(axis, lower=axis.lower - start, upper=axis.upper - start, rest=axis.rest - start if sprung else axis.rest)


def motored(found: Found, path: str, name: str, axis: AxisSpec, damping: float, speed: float, strongest: float) -> AxisSpec:
    """An axis with a motor for a drive that only damps, toward a speed; what a motor does otherwise is added to `found`."""
    whole = damping * abs(speed)
    if strongest > MOTOR_SHARE * whole:
        found.odd(
            path,
            f"drive:{name}:damping",
            f"a motor here has all of its force as soon as it is slow; its force is {min(strongest, whole):g}, that from rest",
        )
    return replace(axis, motor_velocity=speed, motor_force=min(strongest, whole))
