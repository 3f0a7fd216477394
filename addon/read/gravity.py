# SPDX-License-Identifier: GPL-3.0-or-later
"""Gravity of a scene's rigid bodies, also per frame."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from bpy.types import Context, Scene
from numpy.typing import NDArray

from ..blender.overflow import numbers

__all__ = ["PATHS", "gravity_now", "gravity_path", "may_change", "read_on_the_way"]

Array = NDArray[np.float64]

# Scene properties that determine gravity.
PATHS = ("gravity", "use_gravity", "rigidbody_world.effector_weights.gravity", "rigidbody_world.effector_weights.all")


def gravity_now(context: Context) -> Array:
    """Return gravity at the displayed frame (3,) [m/s^2]."""
    scene = context.evaluated_depsgraph_get().scene_eval
    if not scene.use_gravity:
        return np.zeros(3)
    if scene.rigidbody_world is None:
        return numbers(scene.gravity)
    weights = scene.rigidbody_world.effector_weights
    return numbers(scene.gravity) * weights.gravity * weights.all


def may_change(scene: Scene) -> bool:
    """Return True if gravity could change between frames."""
    data = scene.animation_data
    return data is not None and (data.action is not None or bool(data.nla_tracks) or bool(data.drivers))


def read_on_the_way(context: Context, frames: Iterator[int], found: list[Array]) -> Iterator[int]:
    """Yield the frames, each while it is displayed, and append gravity to `found`."""
    for frame in frames:
        found.append(gravity_now(context))
        yield frame


def gravity_path(found: list[Array]) -> Array | None:
    """Return gravity (frames, 3), or None if it is constant."""
    path = np.array(found)
    return path if len(path) and not (path == path[0]).all() else None
