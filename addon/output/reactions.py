# SPDX-License-Identifier: GPL-3.0-or-later
"""Constraint reactions of a bake as F-curves: custom properties of the constraints' objects, keyed at every frame."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
from bpy.types import Context, Operator

from ...solver_core.io.cache import CacheError
from ...solver_core.io.container import ContainerError
from ...solver_core.io.snapshot import read_snapshot
from ...solver_core.validation.findings import first_few
from ..bake.bake_files import cache_path, snapshot_of
from ..bake.playback import open_cache
from ..blender import actions
from ..blender.poll import has_bake
from ..blender.rigid_bodies import constraints_of

__all__ = ["register", "unregister"]

UNDOABLE = {"REGISTER", "UNDO"}


class STICTION_OT_reactions_to_curves(Operator):
    """Key the load of each constraint in the bake as custom properties of its object: force in N and torque in N m on its
    second body, along the world's axes, the mean of each frame. For a motor they are its drive"""

    bl_idname = "stiction.reactions_to_curves"
    bl_label = "Reactions to F-Curves"
    bl_options = UNDOABLE

    @classmethod
    def poll(cls, context: Context) -> bool:
        return has_bake(cls, context)

    def execute(self, context: Context) -> set[str]:
        try:
            reader = open_cache(context.scene)
            frames = [reader.read(number) for number in reader.frames]
            if not frames:
                raise CacheError("it has no frames; resume the bake")
            shared = shared_reactions(Path(cache_path(context.scene)))
        except (OSError, CacheError, ContainerError) as error:
            self.report({"ERROR"}, f"The bake cannot be read: {error}")
            return {"CANCELLED"}
        objects = {ob.name_full: ob for ob in constraints_of(context.scene.rigidbody_world)}
        numbers = np.array([frame.frame for frame in frames], dtype=np.float64)
        written, lost = 0, []
        for joint, name in enumerate(reader.info.joints):
            if name not in objects:
                lost.append(name)
                continue
            write_reactions(objects[name], numbers, np.array([frame.reactions[joint] for frame in frames]))
            written += 1
        if lost:
            self.report({"WARNING"}, f"These constraints no longer exist: {', '.join(lost)}")
        of_many = f"; {len(shared)} are not unique: {first_few(shared)}" if shared else ""
        self.report({"INFO"}, f"The reactions of {written} constraints are keyed{of_many}")
        return {"FINISHED"} if written else {"CANCELLED"}


def shared_reactions(cache: Path) -> list[str]:
    """Return the names of the joints of a bake whose reactions are not unique. Raises OSError and ContainerError."""
    # Imported here because it loads scipy, which Blender's start should not do.
    from ...solver_core.validation.self_stress import has_unique_reaction

    spec, _ = read_snapshot(snapshot_of(cache))
    return [joint.name for joint, unique in zip(spec.joints, has_unique_reaction(spec), strict=True) if not unique]


def write_reactions(ob: bpy.types.Object, frames: np.ndarray, reactions: np.ndarray) -> None:
    """Key the properties of an object at frames (n,), from reactions (n, 6)."""
    data = ob.animation_data or ob.animation_data_create()
    if data.action is None:
        actions.assign(ob, None, "")
        actions.empty_action(ob, f"{ob.name} Reactions")
    for name, first in ((actions.REACTION_FORCE, 0), (actions.REACTION_TORQUE, 3)):
        ob[name] = [0.0, 0.0, 0.0]
        for axis in range(3):
            actions.write_curve(ob, f'["{name}"]', axis, frames, reactions[:, first + axis])


register_classes, unregister_classes = bpy.utils.register_classes_factory((STICTION_OT_reactions_to_curves,))


def register() -> None:
    """Add the operator."""
    register_classes()


def unregister() -> None:
    """Undo `register`."""
    unregister_classes()
