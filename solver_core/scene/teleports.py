# SPDX-License-Identifier: GPL-3.0-or-later
"""Which steps of a path are teleports: the body appears at another place, and has not moved there.

A jump stands out from the motion around it. Two kinds of it count. A body that stands until just before the frame, as keyframes
with constant interpolation have it, appears there if the way is more than twice that of either neighboring step, and longer
than the body or more than twice any other within four frames: an animation on twos or threes, whose steps are short and alike,
is a motion. A body that is between the two places in between, or of which that is not known, appears there if the way is four
times as long as the body and ten times as long as any other within four frames. No hammer does that: to swing once around its
own end, a body moves by a little more than its length in a frame.
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
    """The frames, counted from the first, at which a body may appear if it stands still until then: those to be looked at.

    path: (frames, 7) poses of the body frame, finite ones.
    """
    ways, size = _ways(path, shape), size_of(shape)
    beside, near = _largest_within(ways, 1), _largest_within(ways, FRAMES_NEARBY)
    stands_out = (
        (ways > LEAST_JUMP * size) & (ways > OVER_NEIGHBORS * beside) & ((ways > size) | (ways > OVER_NEIGHBORS * near))
    )
    return (1 + np.flatnonzero(stands_out)).tolist()


def teleports_of(path: Array, shape: ShapeSpec, stands: Collection[int]) -> tuple[int, ...]:
    """The frames, counted from the first, at which a body appears.

    Parameters
    ----------
    path : (frames, 7) poses of the body frame, finite ones.
    shape : its shape.
    stands : those of its `possible_teleports` before which it stands still until just before the frame.
    """
    ways, size = _ways(path, shape), size_of(shape)
    is_far = (ways > FAR_IN_LENGTHS * size) & (ways > FAR_OVER_NEIGHBORS * _largest_within(ways, FRAMES_NEARBY))
    return tuple(frame for frame in possible_teleports(path, shape) if frame in stands or is_far[frame - 1])


def size_of(shape: ShapeSpec) -> float:
    """The length in m of the diagonal of a shape's bounding box; infinite for a plane."""
    low, high = _bounds(shape)
    return float(np.linalg.norm(high - low))


def _largest_within(ways: Array, steps: int) -> Array:
    """(frames - 1,) m: the largest of the ways of other steps that are no farther off than so many."""
    padded = np.concatenate([np.zeros(steps), ways, np.zeros(steps)])
    others = [padded[steps + k : steps + k + len(ways)] for k in range(-steps, steps + 1) if k != 0]
    return np.max(others, axis=0)


def _ways(path: Array, shape: ShapeSpec) -> Array:
    """(frames - 1,) m: how far a body's farthest point may go from frame to frame."""
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
    """(3,), (3,) m: corners of a box around a shape in the body frame."""
    if shape.kind is ShapeKind.PLANE:
        return np.full(3, -np.inf), np.full(3, np.inf)
    if shape.kind is ShapeKind.COMPOUND:
        # the orientation of a part does not matter to a ball around it
        parts = [(child.position, _bounds(child.shape)) for child in shape.children]
        reach = [(place, np.maximum(np.abs(low), np.abs(high))) for place, (low, high) in parts]
        lows = [np.asarray(place) - np.linalg.norm(far) for place, far in reach]
        highs = [np.asarray(place) + np.linalg.norm(far) for place, far in reach]
        return np.min(lows, axis=0), np.max(highs, axis=0)
    vertices, skin = np.asarray(shape.vertices, dtype=np.float64).reshape(-1, 3), shape.margin + shape.radius
    if not len(vertices):
        return np.full(3, -np.inf), np.full(3, np.inf)
    return vertices.min(axis=0) - skin, vertices.max(axis=0) + skin
