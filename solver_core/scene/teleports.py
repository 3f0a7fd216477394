# SPDX-License-Identifier: GPL-3.0-or-later
"""Detection of teleports in a path: frames at which a body jumps to another position instead of moving there.

A jump is much longer than the motion around it. Two kinds count. In the first, the body rests until just before the frame, as
with constant interpolation of keyframes. This is a teleport if the displacement is more than twice that of either neighboring
step, and also longer than the body or more than twice any other displacement within four frames. An animation on twos or
threes, whose steps are short and similar, is a motion. In the second kind, the body moves between the two positions, or it is
unknown whether it does. This is a teleport if the displacement is four times as long as the body and ten times as long as any
other within four frames. Fast motion does not reach this: a hammer that swings once around its own end moves by little more
than its length per frame.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from .spec import ShapeKind, ShapeSpec

__all__ = ["possible_teleports", "size_of", "teleports_of"]

Array = NDArray[np.float64]

FRAMES_NEARBY = 4  # frames before and after
# Times the way of other steps.
OVER_NEIGHBORS, FAR_OVER_NEIGHBORS = 2.0, 10.0
# Lengths of the body.
FAR_IN_LENGTHS = 4.0
# What is shorter, in lengths of the body, is a motion however it comes about.
LEAST_JUMP = 0.01


def possible_teleports(path: Array, shape: ShapeSpec) -> list[int]:
    """Return the frames, counted from the first, at which a body may jump if it rests until just before them.

    path: (frames, 7) poses of the body frame, finite ones.
    """
    ways, size = _ways(path, shape), size_of(shape)
    beside, near = _largest_within(ways, 1), _largest_within(ways, FRAMES_NEARBY)
    stands_out = (
        (ways > LEAST_JUMP * size) & (ways > OVER_NEIGHBORS * beside) & ((ways > size) | (ways > OVER_NEIGHBORS * near))
    )
    return (1 + np.flatnonzero(stands_out)).tolist()


def teleports_of(path: Array, shape: ShapeSpec, stands: Collection[int]) -> tuple[int, ...]:
    """Return the frames, counted from the first, at which a body jumps.

    Parameters
    ----------
    path : (frames, 7) poses of the body frame, finite ones.
    shape : its shape.
    stands : the frames of its `possible_teleports` until just before which it rests.
    """
    ways, size = _ways(path, shape), size_of(shape)
    is_far = (ways > FAR_IN_LENGTHS * size) & (ways > FAR_OVER_NEIGHBORS * _largest_within(ways, FRAMES_NEARBY))
    return tuple(frame for frame in possible_teleports(path, shape) if frame in stands or is_far[frame - 1])


def size_of(shape: ShapeSpec) -> float:
    """Return m, the diagonal of a shape's bounding box; infinite for a plane."""
    low, high = _bounds(shape)
    return float(np.linalg.norm(high - low))


def _largest_within(ways: Array, steps: int) -> Array:
    """Return (frames - 1,) m, the largest displacement among other steps within a distance of so many steps."""
    padded = np.concatenate([np.zeros(steps), ways, np.zeros(steps)])
    others = [padded[steps + k : steps + k + len(ways)] for k in range(-steps, steps + 1) if k != 0]
    return np.max(others, axis=0)


def _ways(path: Array, shape: ShapeSpec) -> Array:
    """Return (frames - 1,) m, a bound on the displacement of a body's points from frame to frame."""
    low, high = _bounds(shape)
    size = float(np.linalg.norm(high - low))
    if len(path) < 2 or not np.isfinite(size):
        return np.zeros(max(len(path) - 1, 0))
    w, vector = path[:, 3], path[:, 4:]
    center = 0.5 * (low + high)
    cross = np.cross(vector, center)
    place = path[:, :3] + center + 2.0 * (w[:, None] * cross + np.cross(vector, cross))
    half = np.clip(np.abs(np.einsum("ij,ij->i", path[:-1, 3:], path[1:, 3:])), 0.0, 1.0)
    return np.linalg.norm(np.diff(place, axis=0), axis=1) + 0.5 * size * 2.0 * np.arccos(half)


def _bounds(shape: ShapeSpec) -> tuple[Array, Array]:
    """Return (3,) and (3,) m, the corners of a box around a shape in the body frame."""
    if shape.kind is ShapeKind.PLANE:
        return np.full(3, -np.inf), np.full(3, np.inf)
    if shape.kind is ShapeKind.COMPOUND:
        # A bounding ball of a part does not depend on its orientation.
        parts = [(child.position, _bounds(child.shape)) for child in shape.children]
        reach = [(place, np.maximum(np.abs(low), np.abs(high))) for place, (low, high) in parts]
        lows = [np.asarray(place) - np.linalg.norm(far) for place, far in reach]
        highs = [np.asarray(place) + np.linalg.norm(far) for place, far in reach]
        return np.min(lows, axis=0), np.max(highs, axis=0)
    vertices, skin = np.asarray(shape.vertices, dtype=np.float64).reshape(-1, 3), shape.margin + shape.radius
    if not len(vertices):
        return np.full(3, -np.inf), np.full(3, np.inf)
    return vertices.min(axis=0) - skin, vertices.max(axis=0) + skin
