# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the rigid body world that may be keyed or driven: its speed, which is followed, and what is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from bpy.types import Context, Scene
from numpy.typing import NDArray

from ...solver_core.scene.spec import SceneWarning, SolverSettings
from ...solver_core.scene.words import in_words
from ..blender import actions
from ..blender.overflow import number

__all__ = ["SPEED", "SUBSTEPS", "WorldValues", "unfollowed_scene_values"]

Array = NDArray[np.float64]

SPEED, SUBSTEPS = "rigidbody_world.time_scale", "rigidbody_world.substeps_per_frame"
WEIGHTS = "rigidbody_world.effector_weights."
# What has no effect on a bake, keyed or not.
WITHOUT_EFFECT = ("rigidbody_world.solver_iterations", "rigidbody_world.use_split_impulse")


@dataclass
class WorldValues:
    """The speeds and the substeps of the world at the first frame, and at each of those after it where they may change."""

    speeds: list[float] = field(default_factory=list)
    substeps: list[int] = field(default_factory=list)

    def note(self, context: Context) -> None:
        """Add those of the frame that is shown."""
        world = context.evaluated_depsgraph_get().scene_eval.rigidbody_world
        self.speeds.append(number(world.time_scale))
        self.substeps.append(world.substeps_per_frame)

    def read_on_the_way(self, context: Context, frames: Iterator[int]) -> Iterator[int]:
        """The frames, each shown while it is at hand."""
        self.speeds.clear()
        self.substeps.clear()
        for frame in frames:
            self.note(context)
            yield frame

    @property
    def speed(self) -> float:
        """The largest speed on the way to a frame; that of the first frame, to which there is no way, counts alone."""
        return max(self.speeds[1:] or self.speeds)

    @property
    def speed_path(self) -> Array | None:
        """(frames,) the speed on the way to each frame, None where it is the same for all. The first is that of the second."""
        ways = np.array(self.speeds[1:], dtype=np.float64)
        return None if not len(ways) or (ways == ways[0]).all() else np.concatenate([ways[:1], ways])

    def settings(self, settings: SolverSettings, scene: Scene) -> tuple[SolverSettings, list[SceneWarning]]:
        """The settings with the most substeps of any frame, where Blender's count and change, and what is said of that."""
        few, many = min(self.substeps), max(self.substeps)
        if scene.stiction.use_substeps or few == many:
            return settings, []
        message = f"they vary from {few} to {many}: all frames are baked with {many}, the most exact value"
        return replace(settings, substeps=many), [SceneWarning((), "substeps_per_frame", message)]


def unfollowed_scene_values(scene: Scene) -> Iterator[SceneWarning]:
    """A warning for each value of the world, and of the solver, that is keyed or driven and keeps that of the first frame."""
    drivers = scene.animation_data.drivers if scene.animation_data is not None else ()
    for what, movers in (("keyframes", actions.curves(scene) or ()), ("drivers", drivers)):
        for path in sorted({one.data_path for one in movers if is_unfollowed(one.data_path)}):
            name = path.rpartition(".")[2]
            message = f"its {what} are not followed; {in_words(name)} keeps the value of the first frame"
            yield SceneWarning((), path, message)


def is_unfollowed(path: str) -> bool:
    """Whether a path of the scene is a value of its rigid bodies whose keyframes are not followed."""
    followed = path in (SPEED, SUBSTEPS, *WITHOUT_EFFECT) or path.startswith(WEIGHTS)
    return path.startswith(("rigidbody_world.", "stiction.")) and not followed
