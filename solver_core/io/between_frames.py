# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses between two frames of a cache: for sub-frames, as in motion blur.

Positions are interpolated linearly, like linear keyframes. Bodies then come no closer to each other than along the chords,
whereas a curve that matches the velocities at both ends would enter the ground at an impact. Rotations are about one axis at
constant speed. Two poses alone leave the number of full turns open; the number closest to the angular velocities is used.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .cache import FrameCacheReader

__all__ = ["poses_at", "poses_between", "state_at"]

Array = NDArray[np.float64]

FULL_TURN = 2.0 * np.pi
# Below this sine of half the angle, the rotation axis is round-off.
NO_TURN = 1e-9


def poses_at(reader: FrameCacheReader, time: float) -> Array:
    """Return the poses (bodies, 7) at a fractional frame, clamped to the frames in the cache. Raises CacheError as reading
    does."""
    return state_at(reader, time)[0]


def state_at(reader: FrameCacheReader, time: float) -> tuple[Array, Array]:
    """Return the poses and the modal coordinates of flexible bodies (k,), which are interpolated linearly."""
    frames = reader.frames
    time = min(max(time, frames[0]), frames[-1])
    frame = math.floor(time)
    before = reader.read(frame)
    if time == frame:
        return before.poses, before.modal
    after = reader.read(frame + 1)
    spin = 0.5 * (before.velocities[:, 3:] + after.velocities[:, 3:])
    share = time - frame
    poses = poses_between(before.poses, after.poses, spin * reader.info.seconds_to(frame + 1), share)
    return poses, (1.0 - share) * before.modal + share * after.modal


def poses_between(before: Array, after: Array, turn: Array, share: float) -> Array:
    """Return the poses (n, 7) at the fraction `share`, 0 to 1, between two frames.

    turn: (n, 3) approximate rotation of each body between the frames, as a rotation vector in world axes [rad].
    """
    w, v = relative_quaternions(before[:, 3:], after[:, 3:])
    sine = np.linalg.norm(v, axis=1)
    # After full turns only, the angular velocity gives the axis.
    fallback = turn / np.maximum(np.linalg.norm(turn, axis=1), NO_TURN)[:, None]
    axis = np.where((sine > NO_TURN)[:, None], v / np.maximum(sine, NO_TURN)[:, None], fallback)
    angle = 2.0 * np.arctan2(sine, w)
    angle += FULL_TURN * np.round((np.einsum("ij,ij->i", axis, turn) - angle) / FULL_TURN)
    half = 0.5 * share * angle
    way = np.column_stack([np.cos(half), np.sin(half)[:, None] * axis])
    place = (1.0 - share) * before[:, :3] + share * after[:, :3]
    return np.column_stack([place, quaternion_product(way, before[:, 3:])])


def relative_quaternions(before: Array, after: Array) -> tuple[Array, Array]:
    """Return the scalars (n,) and vectors (n, 3) of the rotations between unit quaternions (n, 4), by at most half a turn."""
    relative = quaternion_product(after, before * [1.0, -1.0, -1.0, -1.0])
    relative = np.where(relative[:, :1] < 0.0, -relative, relative)
    return relative[:, 0], relative[:, 1:]


def quaternion_product(a: Array, b: Array) -> Array:
    """Return the products (n, 4) of quaternions (n, 4), (w, x, y, z)."""
    scalar = a[:, 0] * b[:, 0] - np.einsum("ij,ij->i", a[:, 1:], b[:, 1:])
    return np.column_stack([scalar, a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])])
