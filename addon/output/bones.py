# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframes for bones that follow baked bodies by constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from bpy.props import BoolProperty
from bpy.types import Context, Object, Operator, PoseBone
from numpy.typing import NDArray

from ...solver_core.io.cache import CacheError
from ...solver_core.validation.findings import first_few
from ..bake.playback import open_cache
from ..blender import actions, rotations
from ..blender.poll import has_bake
from ..blender.restore import baked_objects

__all__ = ["register", "unregister"]

Array = NDArray[np.float64]

UNDOABLE = {"REGISTER", "UNDO"}
ROTATION_PATHS = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}


class BoneError(Exception):
    """Bones cannot get keyframes. The message names them and the remedy."""


@dataclass(frozen=True)
class Follower:
    """A bone of an armature that follows baked bodies, and the names of the constraints."""

    rig: Object
    bone: str
    constraints: tuple[str, ...]

    @property
    def pose_bone(self) -> PoseBone:
        """The pose bone."""
        return self.rig.pose.bones[self.bone]


class STICTION_OT_bake_to_bones(Operator):
    """Key bones that follow baked bodies by constraints, and disable these constraints"""

    bl_idname = "stiction.bake_to_bones"
    bl_label = "Bake to Bones"
    bl_options = UNDOABLE

    only_selected: BoolProperty(
        name="Only Selected",
        description="Only the bones of selected armatures",
    )
    remove_constraints: BoolProperty(
        name="Remove Constraints",
        description="Remove the constraints by which the bones follow instead of disabling them",
    )

    @classmethod
    def poll(cls, context: Context) -> bool:
        return has_bake(cls, context)

    def execute(self, context: Context) -> set[str]:
        try:
            followers = followers_in(context, only_selected=self.only_selected)
            frames = frames_of_bake(context)
        except BoneError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        except (OSError, CacheError) as error:
            self.report({"ERROR"}, f"The bake cannot be read: {error}")
            return {"CANCELLED"}
        write_keys(followers, frames, own_matrices(context, followers, frames))
        release(followers, remove=self.remove_constraints)
        context.scene.frame_set(context.scene.frame_current, subframe=context.scene.frame_subframe)
        rigs = len({one.rig.session_uid for one in followers})
        of_rigs = "1 armature" if rigs == 1 else f"{rigs} armatures"
        of_bones = "1 bone" if len(followers) == 1 else f"{len(followers)} bones"
        self.report({"INFO"}, f"{of_bones} of {of_rigs} keyed at frames {frames[0]} to {frames[-1]}")
        return {"FINISHED"}


def followers_in(context: Context, *, only_selected: bool) -> list[Follower]:
    """Return the bones in the view layer that follow baked bodies.

    only_selected: ignore armatures that are not selected. Raises BoneError if there are none, or if some belong to another
        file.
    """
    bodies = {ob.session_uid for ob in baked_objects(context.scene)}
    rigs = [ob for ob in context.view_layer.objects if ob.type == "ARMATURE" and (not only_selected or ob.select_get())]
    found = [one for rig in rigs for one in followers_of(rig, bodies)]
    if not found:
        where = "of the selected armatures " if only_selected else ""
        raise BoneError(
            f"No bone {where}follows a baked body; give bones a Child Of or Copy Transforms constraint with a body as target"
        )
    linked = sorted({one.rig.name_full for one in found if not one.rig.is_editable or one.rig.override_library is not None})
    if linked:
        raise BoneError(f"{first_few(linked)}: from another file; bake there, or make local with Object > Relations")
    return found


def followers_of(rig: Object, bodies: set[int]) -> Iterator[Follower]:
    """Return the bones of an armature with constraints whose target is one of these objects, by session ids."""
    for bone in rig.pose.bones:
        names = tuple(one.name for one in bone.constraints if follows(one, bodies))
        if names:
            yield Follower(rig, bone.name, names)


def follows(constraint: Any, bodies: set[int]) -> bool:
    """Return True if a constraint is enabled and has one of these objects as a target."""
    if constraint.mute or constraint.influence == 0.0:
        return False
    targets = [constraint.target] if hasattr(constraint, "target") else []
    targets += [one.target for one in getattr(constraint, "targets", ())]
    return any(target is not None and target.session_uid in bodies for target in targets)


def frames_of_bake(context: Context) -> range:
    """Return the frames of the scene's bake. Raises OSError and CacheError."""
    bake = context.scene.stiction.bake
    if bake.state == "CACHED":
        frames = open_cache(context.scene).frames
        if not frames:
            raise CacheError("it has no frames; resume the bake")
        return range(frames[0], frames[-1] + 1)
    return range(bake.frame_start, bake.last_frame + 1)


def own_matrices(context: Context, followers: list[Follower], frames: range) -> Array:
    """Return the matrix of each bone at each frame relative to its rest pose and its parent (frames, bones, 4, 4)."""
    scene, found = context.scene, np.empty((len(frames), len(followers), 4, 4))
    current, subframe = scene.frame_current, scene.frame_subframe
    for row, frame in enumerate(frames):
        scene.frame_set(frame)
        depsgraph = context.evaluated_depsgraph_get()
        for column, one in enumerate(followers):
            rig = one.rig.evaluated_get(depsgraph)
            bone = rig.pose.bones[one.bone]
            found[row, column] = rig.convert_space(pose_bone=bone, matrix=bone.matrix, from_space="POSE", to_space="LOCAL")
    scene.frame_set(current, subframe=subframe)
    return found


def write_keys(followers: list[Follower], frames: range, matrices: Array) -> None:
    """Key location, rotation and scale of bones from their own matrices (frames, bones, 4, 4)."""
    times = np.arange(frames[0], frames[-1] + 1, dtype=np.float64)
    for column, one in enumerate(followers):
        data = one.rig.animation_data or one.rig.animation_data_create()
        if data.action is None:
            actions.assign(one.rig, None, "")
            actions.empty_action(one.rig, f"{one.rig.name} Baked")
        bone, path = one.pose_bone, one.pose_bone.path_from_id()
        for name, values in channels(bone, matrices[:, column]).items():
            for component in range(values.shape[1]):
                actions.write_curve(one.rig, f"{path}.{name}", component, times, values[:, component])


def channels(bone: PoseBone, matrices: Array) -> Mapping[str, Array]:
    """Return the channels (frames, 3 or 4) of a bone for its own matrices (frames, 4, 4)."""
    turns = rotations.nearest_rotation(matrices[:, :3, :3])
    path = ROTATION_PATHS.get(bone.rotation_mode, "rotation_euler")
    start = getattr(bone, path)
    first = np.array([start[k] for k in range(len(start))], dtype=np.float64)
    scale = np.einsum("fji,fji->fi", turns, matrices[:, :3, :3])
    return {
        "location": matrices[:, :3, 3],
        path: rotations.continuous_rotation(turns, bone.rotation_mode, first),
        "scale": scale,
    }


def release(followers: list[Follower], *, remove: bool) -> None:
    """Disable or remove the constraints by which bones follow."""
    for one in followers:
        constraints = one.pose_bone.constraints
        for name in one.constraints:
            if remove:
                constraints.remove(constraints[name])
            else:
                constraints[name].mute = True


register_classes, unregister_classes = bpy.utils.register_classes_factory((STICTION_OT_bake_to_bones,))


def register() -> None:
    """Add the operator."""
    register_classes()


def unregister() -> None:
    """Undo `register`."""
    unregister_classes()
