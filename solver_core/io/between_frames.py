# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the bodies of a cache are between two frames: for sub-frames, which motion blur is made of.

Places go straight from frame to frame, as linear keys do: nothing comes nearer to another body than chords do, whereas a curve
through the speeds at both ends would swing into the ground at an impact. Rotations go about one axis at one speed. Two poses
alone leave open how many turns lie between them; of all numbers of turns, the one nearest to the angular velocities is taken.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .cache import FrameCacheReader

__all__ = ["poses_at", "poses_between", "state_at"]

Array = NDArray[np.float64]

FULL_TURN = 2.0 * np.pi
# Below this sine of half an angle an axis is rounding.
NO_TURN = 1e-9


def poses_at(reader: FrameCacheReader, time: float) -> Array:
    """Poses (bodies, 7) at a time in frames, clamped to those that the cache has; raises CacheError as reading does."""
    return state_at(reader, time)[0]


def state_at(reader: FrameCacheReader, time: float) -> tuple[Array, Array]:
    """The same, and how far bodies that bend are in their modes, (k,), which goes straight from frame to frame as places do."""
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
    """Poses (n, 7) at `share`, 0 to 1, of the way from one frame to the next.

    turn: (n, 3) rad, about how far each body turns on the way, as a rotation vector in world axes.
    """
    w, v = relative_quaternions(before[:, 3:], after[:, 3:])
    sine = np.linalg.norm(v, axis=1)
    # after whole turns alone the spin has the axis
    fallback = turn / np.maximum(np.linalg.norm(turn, axis=1), NO_TURN)[:, None]
    axis = np.where((sine > NO_TURN)[:, None], v / np.maximum(sine, NO_TURN)[:, None], fallback)
    angle = 2.0 * np.arctan2(sine, w)
    angle += FULL_TURN * np.round((np.einsum("ij,ij->i", axis, turn) - angle) / FULL_TURN)
    half = 0.5 * share * angle
    way = np.column_stack([np.cos(half), np.sin(half)[:, None] * axis])
    place = (1.0 - share) * before[:, :3] + share * after[:, :3]
    return np.column_stack([place, quaternion_product(way, before[:, 3:])])


def relative_quaternions(before: Array, after: Array) -> tuple[Array, Array]:
    """Scalars (n,) and vectors (n, 3) of what turns unit quaternions (n, 4) into others, by half a turn at most."""
    relative = quaternion_product(after, before * [1.0, -1.0, -1.0, -1.0])
    relative = np.where(relative[:, :1] < 0.0, -relative, relative)
    return relative[:, 0], relative[:, 1:]


def quaternion_product(a: Array, b: Array) -> Array:
    """Products (n, 4) of quaternions (n, 4), (w, x, y, z)."""
    scalar = a[:, 0] * b[:, 0] - np.einsum("ij,ij->i", a[:, 1:], b[:, 1:])
    return np.column_stack([scalar, a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])])
