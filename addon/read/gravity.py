# SPDX-License-Identifier: GPL-3.0-or-later
"""Gravity of a scene as its rigid bodies feel it, and whether it changes over the frames."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from bpy.types import Context, Scene
from numpy.typing import NDArray

from ..blender.overflow import numbers

__all__ = ["PATHS", "gravity_now", "gravity_path", "may_change", "read_on_the_way"]

Array = NDArray[np.float64]

# What of a scene gravity is made of.
PATHS = ("gravity", "use_gravity", "rigidbody_world.effector_weights.gravity", "rigidbody_world.effector_weights.all")


def gravity_now(context: Context) -> Array:
    """(3,) m/s^2, at the frame that is shown."""
    scene = context.evaluated_depsgraph_get().scene_eval
    if not scene.use_gravity:
        return np.zeros(3)
    if scene.rigidbody_world is None:
        return numbers(scene.gravity)
    weights = scene.rigidbody_world.effector_weights
    return numbers(scene.gravity) * weights.gravity * weights.all


def may_change(scene: Scene) -> bool:
    """Whether anything is there that could give the scene's values others from frame to frame."""
    data = scene.animation_data
    return data is not None and (data.action is not None or bool(data.nla_tracks) or bool(data.drivers))


def read_on_the_way(context: Context, frames: Iterator[int], found: list[Array]) -> Iterator[int]:
    """The frames, each shown while it is at hand; gravity at each is added to `found`."""
    for frame in frames:
        found.append(gravity_now(context))
        yield frame


def gravity_path(found: list[Array]) -> Array | None:
    """(frames, 3), None where it is the same at all frames."""
    path = np.array(found)
    return path if len(path) and not (path == path[0]).all() else None
