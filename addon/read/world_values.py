# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyed or driven values of the rigid body world: its speed, which is followed, and others, which are not."""

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
# Values without effect on a bake.
WITHOUT_EFFECT = ("rigidbody_world.solver_iterations", "rigidbody_world.use_split_impulse")


@dataclass
class WorldValues:
    """The speeds and the substeps of the world at the first frame, and at later frames if they may change."""

    speeds: list[float] = field(default_factory=list)
    substeps: list[int] = field(default_factory=list)

    def note(self, context: Context) -> None:
        """Add those of the frame that is shown."""
        world = context.evaluated_depsgraph_get().scene_eval.rigidbody_world
        self.speeds.append(number(world.time_scale))
        self.substeps.append(world.substeps_per_frame)

    def read_on_the_way(self, context: Context, frames: Iterator[int]) -> Iterator[int]:
        """Yield the frames, each while it is displayed."""
        self.speeds.clear()
        self.substeps.clear()
        for frame in frames:
            self.note(context)
            yield frame

    @property
    def speed(self) -> float:
        """The largest speed on the way to a frame. The first frame counts only if there is no other."""
        return max(self.speeds[1:] or self.speeds)

    @property
    def speed_path(self) -> Array | None:
        """The speed on the way to each frame (frames,), or None if it is constant. The first value equals the second."""
        ways = np.array(self.speeds[1:], dtype=np.float64)
        return None if not len(ways) or (ways == ways[0]).all() else np.concatenate([ways[:1], ways])

    def settings(self, settings: SolverSettings, scene: Scene) -> tuple[SolverSettings, list[SceneWarning]]:
        """Return the settings with the most substeps of any frame, if Blender's substeps are used and change, with a note."""
        few, many = min(self.substeps), max(self.substeps)
        if scene.stiction.use_substeps or few == many:
            return settings, []
        message = f"they vary from {few} to {many}: all frames are baked with {many}, the most exact value"
        return replace(settings, substeps=many), [SceneWarning((), "substeps_per_frame", message)]


def unfollowed_scene_values(scene: Scene) -> Iterator[SceneWarning]:
    """Yield a warning for each value of the world and of the solver that is keyed or driven, because its value at the first
    frame applies."""
    drivers = scene.animation_data.drivers if scene.animation_data is not None else ()
    for source, movers in (("keyframes", actions.curves(scene) or ()), ("drivers", drivers)):
        for path in sorted({one.data_path for one in movers if is_unfollowed(one.data_path)}):
            name = path.rpartition(".")[2]
            message = f"its {source} are not followed; {in_words(name)} keeps the value of the first frame"
            yield SceneWarning((), path, message)


def is_unfollowed(path: str) -> bool:
    """Return True if a path of the scene is a rigid body value whose keyframes are not followed."""
    followed = path in (SPEED, SUBSTEPS, *WITHOUT_EFFECT) or path.startswith(WEIGHTS)
    return path.startswith(("rigidbody_world.", "stiction.")) and not followed
