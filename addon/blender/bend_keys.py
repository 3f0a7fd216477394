# SPDX-License-Identifier: GPL-3.0-or-later
"""Shape keys with which a bake bends the mesh of an object, and restoring the mesh.

A mesh with one user gets the keys itself, so that later changes (materials, seams) remain. A mesh with several users, or from a
library, is replaced by a copy for the duration of the bake. The user's own keys are unchanged: each key is a difference from
the basis, and Blender adds them.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from bpy.types import Key, Mesh, Object
from numpy.typing import NDArray

from . import actions

__all__ = [
    "add_keys",
    "begin_action",
    "give_back_mesh",
    "has_keys",
    "mesh_data",
    "mute_keys",
    "path_of",
    "remove_stress",
    "separate",
    "show_bend",
    "show_stress",
]

Array = NDArray[np.float64]

NAME = "Stiction {}"
BASIS = "Basis"
# Point attribute with the stress, for shading [Pa].
STRESS = "stiction_stress"
# Largest absolute value of a key in Blender.
FARTHEST = 10.0


def has_keys(ob: Object) -> bool:
    """Return True if the object has shape keys of a bake."""
    bake_keys, keys = ob.stiction.backup.keys, keys_of(ob)
    return bool(bake_keys) and keys is not None and all(item.name in keys.key_blocks and item.scale > 0.0 for item in bake_keys)


def keys_of(ob: Object) -> Key | None:
    return ob.data.shape_keys if isinstance(ob.data, Mesh) else None


def mesh_data(ob: Object) -> Any:
    """Return the user's data of an object, also while a bake shows a copy."""
    return ob.stiction.backup.mesh or ob.data


def add_keys(ob: Object, displacements: Array, scales: Array, reach: float) -> None:
    """Add a key for each mode to an object with a mesh in Object Mode, and store the state to restore.

    displacements: (n, 3, r) displacements of the vertices in object axes at the value 1, where q is `scales`. No vertex is
        displaced by more than `reach` in the world [m].
    scales: (r,) modal coordinates at the value 1.
    """
    backup, mesh = ob.stiction.backup, ob.data
    backup.active_key = ob.active_shape_key_index
    if mesh.users - mesh.use_fake_user > 1 or mesh.library is not None:
        backup.mesh = mesh
        ob.data = mesh.copy()
        ob.data.name = f"{mesh.name} Baked"
    keys = ob.data.shape_keys
    if keys is not None:
        backup.had_keys = True
        backup.had_key_animation = keys.animation_data is not None
        if keys.animation_data is not None:
            backup.key_action, backup.key_action_slot = keys.animation_data.action, actions.slot_identifier(keys)
    else:
        ob.shape_key_add(name=BASIS, from_mix=False)
        keys = ob.data.shape_keys
    rest = np.empty(3 * len(ob.data.vertices), dtype=np.float32)
    keys.reference_key.data.foreach_get("co", rest)
    for number in range(displacements.shape[2]):
        block = ob.shape_key_add(name=NAME.format(number + 1), from_mix=False)
        block.slider_min, block.slider_max = -FARTHEST, FARTHEST
        block.data.foreach_set("co", rest + displacements[:, :, number].ravel().astype(np.float32))
        item = backup.keys.add()
        item.name, item.scale = block.name, scales[number]
    backup.reach = reach
    ob.active_shape_key_index = backup.active_key
    ob.data.update()


def show_bend(ob: Object, q: Array) -> None:
    """Bend an object by modal coordinates (r,).

    Unchanged values are not written, because Blender would evaluate the object again.
    """
    keys = keys_of(ob)
    if keys is None:
        return
    for item, value in zip(ob.stiction.backup.keys, q, strict=False):
        block = keys.key_blocks.get(item.name)
        if block is None or not item.scale > 0.0:
            continue
        there = float(np.float32(np.clip(value / item.scale, -FARTHEST, FARTHEST)))
        if block.value != there:
            block.value = there


def show_stress(ob: Object, stress: Array) -> None:
    """Write the stress (n,) of a flexible object to its vertices as an attribute [Pa]."""
    mesh = ob.data
    if keys_of(ob) is None or ob.mode == "EDIT" or len(mesh.vertices) != len(stress):
        return
    attribute = mesh.attributes.get(STRESS) or mesh.attributes.new(STRESS, "FLOAT", "POINT")
    there, wanted = np.empty(len(stress), dtype=np.float32), stress.astype(np.float32)
    attribute.data.foreach_get("value", there)
    if not np.array_equal(there, wanted):
        attribute.data.foreach_set("value", wanted)
        mesh.update_tag()


def remove_stress(ob: Object) -> None:
    """Remove the attribute."""
    attribute = ob.data.attributes.get(STRESS) if isinstance(ob.data, Mesh) else None
    if attribute is not None:
        ob.data.attributes.remove(attribute)


def path_of(name: str) -> str:
    """Return the data path of a key's value, relative to its keys."""
    return f'key_blocks["{bpy.utils.escape_identifier(name)}"].value'


def mute_keys(ob: Object, mute: bool) -> Mesh | None:
    """Show the mesh as it is without a bake, or again with it; a copy that a bake shows has to be kept meanwhile: it is what is
    returned, None where there is none."""
    backup, keys = ob.stiction.backup, keys_of(ob)
    if mute and backup.mesh is not None:
        copy, ob.data = ob.data, backup.mesh
        return copy
    blocks = {} if keys is None else keys.key_blocks
    for item in backup.keys:
        block = blocks.get(item.name)
        if block is not None:
            block.mute = mute
    return None


def separate(ob: Object) -> None:
    """Give a duplicate its own mesh if it shares one that a bake bends."""
    backup = ob.stiction.backup
    if backup.keys and backup.mesh is None and ob.data is not None and ob.data.users > 1:
        ob.data = ob.data.copy()


def give_back_mesh(ob: Object) -> None:
    """Remove the keys and restore the mesh. The caller clears the stored state."""
    backup, keys = ob.stiction.backup, keys_of(ob)
    data = keys.animation_data if keys is not None and backup.keys else None
    bake_action = data.action if data is not None else None
    if data is not None:
        actions.remove_bake_tracks(keys)
    if backup.mesh is not None:
        copy, ob.data = ob.data, backup.mesh
        if copy != backup.mesh and copy.users == 0:
            bpy.data.meshes.remove(copy)
    elif keys is not None and backup.keys:
        remove_stress(ob)
        if data is not None and backup.had_key_animation:
            actions.assign(keys, backup.key_action, backup.key_action_slot)
        elif data is not None:
            keys.animation_data_clear()
        for item in backup.keys:
            block = keys.key_blocks.get(item.name)
            if block is not None:
                ob.shape_key_remove(block)
        if not backup.had_keys and len(keys.key_blocks) == 1:
            ob.shape_key_remove(keys.key_blocks[0])
        ob.data.update()
    if backup.keys:
        ob.active_shape_key_index = backup.active_key
    if bake_action is not None:
        actions.remove_if_made_by_bake(bake_action)


def begin_action(ob: Object, *, always_new: bool) -> tuple[Key, Any, str]:
    """Assign an action to the keys of a baked object: a new one if there is none or if `always_new`, otherwise a copy.

    Return the former action and its slot.
    """
    keys = keys_of(ob)
    assert keys is not None
    action = keys.animation_data.action if keys.animation_data is not None else None
    slot = actions.slot_identifier(keys)
    if action is None or always_new:
        actions.empty_action(keys, f"{ob.name} Baked Bend")
    else:
        actions.copy_for_bake(keys, f"{ob.name} Baked Bend")
    return keys, action, slot
