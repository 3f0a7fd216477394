# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions and their curves, in one interface for Blender up to 4.3 (one set of curves) and later (slots, layers, strips)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np
from bpy.types import ID, Action, NlaTrack
from numpy.typing import NDArray

__all__ = [
    "COME_OF_BAKES",
    "REACTION_FORCE",
    "REACTION_TORQUE",
    "TRANSFORMS",
    "assign",
    "bake_tracks",
    "copy_for_bake",
    "curves",
    "curves_in",
    "empty_action",
    "is_put_aside",
    "is_transform",
    "push_down",
    "remove_bake_tracks",
    "remove_if_made_by_bake",
    "slot_identifier",
    "tracks_that_play",
    "without_motion",
    "write_curve",
]

HAS_SLOTS = bpy.app.version >= (4, 4, 0)
LINEAR = 1  # value of this item in Keyframe.interpolation
# Custom properties for constraint reactions. Their curves are a result of a bake and not an input.
REACTION_FORCE, REACTION_TORQUE = "reaction_force", "reaction_torque"
COME_OF_BAKES = frozenset(f'["{name}"]' for name in (REACTION_FORCE, REACTION_TORQUE))
TRACK = "Stiction Bake"
MADE_BY_BAKE = "stiction_bake"  # Custom property that marks actions created by a bake, which may remove them.

# Channels of the transform.
TRANSFORMS = {
    "location": 3,
    "rotation_euler": 3,
    "rotation_quaternion": 4,
    "rotation_axis_angle": 4,
    "scale": 3,
    "delta_location": 3,
    "delta_rotation_euler": 3,
    "delta_rotation_quaternion": 4,
    "delta_scale": 3,
}
# Properties that determine whether Blender's own simulation moves a body.
GIVEN_OVER = frozenset(["rigid_body.kinematic", "rigid_body.enabled", "rigid_body.type"])


def is_transform(data_path: str) -> bool:
    """Return True if a curve or driver with this path moves the object itself."""
    return data_path in TRANSFORMS


def is_put_aside(data_path: str) -> bool:
    """Return True if a curve or driver with this path would move a baked object, or return it to Blender's own simulation."""
    return is_transform(data_path) or data_path in GIVEN_OVER


def slot_identifier(owner: ID) -> str:
    """Return the identifier of the slot that `owner` uses in its action, or an empty string."""
    data = owner.animation_data
    return data.action_slot.identifier if HAS_SLOTS and data is not None and data.action_slot is not None else ""


def assign(owner: ID, action: Action | None, slot: str) -> None:
    """Assign the action and the slot with that identifier to `owner`; an empty identifier assigns no slot."""
    data = owner.animation_data or owner.animation_data_create()
    data.action = action
    if HAS_SLOTS and action is not None:
        data.action_slot = next((candidate for candidate in action.slots if candidate.identifier == slot), None)


def empty_action(owner: ID, name: str) -> Action:
    """Assign a new action with room for curves to `owner`."""
    action = bpy.data.actions.new(name)
    action[MADE_BY_BAKE] = True
    slot = action.slots.new(owner.id_type, owner.name).identifier if HAS_SLOTS else ""
    assign(owner, action, slot)
    return action


def curves(owner: ID, *, ensure: bool = False) -> Any:
    """Return the collection of curves that move `owner`, or None. With `ensure`, create it if there is an action."""
    data = owner.animation_data
    if data is None or data.action is None:
        return None
    if not HAS_SLOTS:
        return data.action.fcurves
    if data.action_slot is None:
        return None
    if ensure and not data.action.layers:
        data.action.layers.new("Layer").strips.new(type="KEYFRAME")
    for layer in data.action.layers:
        for strip in layer.strips:
            bag = strip.channelbag(data.action_slot, ensure=ensure)
            if bag is not None:
                return bag.fcurves
    return None


def curves_in(action: Action | None, slot: str) -> Iterator[Any]:
    """Return the curves of an action, or those in the slot with that identifier if the action has slots."""
    if action is None:
        return
    if not HAS_SLOTS:
        yield from action.fcurves
        return
    chosen = next((one for one in action.slots if one.identifier == slot), None)
    for layer in action.layers if chosen is not None else ():
        for strip in layer.strips:
            bag = strip.channelbag(chosen)
            if bag is not None:
                yield from bag.fcurves


def remove_if_made_by_bake(action: Action) -> None:
    """Remove an action that a bake made and that nobody uses any more."""
    if action.users == 0 and action.get(MADE_BY_BAKE):
        bpy.data.actions.remove(action)


def tracks_that_play(owner: ID) -> list[NlaTrack]:
    """Return the owner's own tracks that are not muted, without those of a bake."""
    data = owner.animation_data
    of_user = [] if data is None else [track for track in data.nla_tracks if not is_bake_track(track)]
    return [track for track in of_user if not track.mute]


def bake_tracks(owner: ID) -> list[NlaTrack]:
    """Return the owner's tracks that a bake created."""
    data = owner.animation_data
    return [] if data is None else [track for track in data.nla_tracks if is_bake_track(track)]


def is_bake_track(track: NlaTrack) -> bool:
    of_bake = [strip.action is not None and bool(strip.action.get(MADE_BY_BAKE)) for strip in track.strips]
    return bool(of_bake) and all(of_bake)


def push_down(owner: ID) -> None:
    """Make the owner's action a strip in a track of its own, above all others, and leave the owner without an action."""
    data = owner.animation_data
    action, slot = data.action, data.action_slot if HAS_SLOTS else None
    data.action = None
    active = data.nla_tracks.active
    track = data.nla_tracks.new()
    data.nla_tracks.active = active
    track.name = TRACK
    strip = track.strips.new(action.name, int(action.frame_range[0]), action)
    if HAS_SLOTS:
        strip.action_slot = slot
    # as with keyframes before the first and after the last one
    strip.extrapolation, strip.blend_type = "HOLD", "REPLACE"


def remove_bake_tracks(owner: ID) -> None:
    """Remove the owner's tracks that a bake made, and their actions where nobody else uses them."""
    for track in bake_tracks(owner):
        bake_actions = [strip.action for strip in track.strips]
        owner.animation_data.nla_tracks.remove(track)
        for action in bake_actions:
            remove_if_made_by_bake(action)


def without_motion(owner: ID, name: str) -> None:
    """Replace the owner's action by a copy without the curves that a bake puts aside; by none when nothing else is left."""
    data = owner.animation_data
    if data is None or data.action is None:
        return
    copy = copy_for_bake(owner, name)
    remaining = curves(owner)
    for curve in [curve for curve in remaining or () if is_put_aside(curve.data_path)]:
        remaining.remove(curve)
    if not remaining:
        assign(owner, None, "")
        bpy.data.actions.remove(copy)


def copy_for_bake(owner: ID, name: str) -> Action:
    """Replace the owner's action, which it has, by a copy that a bake may change."""
    slot = slot_identifier(owner)
    copy = owner.animation_data.action.copy()
    copy.name = name
    copy[MADE_BY_BAKE] = True
    assign(owner, copy, slot)
    return copy


def write_curve(owner: ID, path: str, index: int, frames: NDArray[np.float64], values: NDArray[np.float64]) -> None:
    """Write a whole curve at once, with a linear key at each of `frames`; one that is there is replaced."""
    all_curves = curves(owner, ensure=True)
    old = all_curves.find(path, index=index)
    if old is not None:
        all_curves.remove(old)
    curve = all_curves.new(path, index=index)
    points = curve.keyframe_points
    points.add(len(frames))
    points.foreach_set("co", np.column_stack([frames, values]).astype(np.float32).ravel())
    points.foreach_set("interpolation", np.full(len(frames), LINEAR, dtype=np.int32))
    curve.update()
