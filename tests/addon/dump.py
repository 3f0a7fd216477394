# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that a user could find changed in a file, as plain data to compare."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

# What Blender computes or counts by itself, and what says only where memory lies or what was looked at last.
VOLATILE = {
    "rna_type",
    "session_uid",
    "users",
    "is_evaluated",
    "is_runtime_data",
    "id_data",
    "original",
    "preview",
    "view_layers",
    "point_cache",
    "matrix_world",
    "matrix_local",
    "matrix_basis",
    "dimensions",
    "action_slot_handle",
    "last_slot_identifier",
    "is_updated",
    "tag",
    "storage_type",
}


# Of a scene, what a bake could touch; the rest of it is display, render and tools.
SCENE = (
    "name",
    "frame_current",
    "frame_subframe",
    "frame_start",
    "frame_end",
    "gravity",
    "use_gravity",
    "use_custom_simulation_range",
)


def dump() -> dict[str, Any]:
    """Objects, actions, meshes and collections with all their values, and what of the scenes a bake could touch."""
    result: dict[str, Any] = {}
    for kind in ("objects", "actions", "meshes", "collections"):
        for block in getattr(bpy.data, kind):
            result[f"{kind}/{block.name_full}"] = describe(block, 0)
    for scene in bpy.data.scenes:
        values = {name: value_of(scene, scene.bl_rna.properties[name], 0) for name in SCENE}
        values |= {"world": describe(scene.rigidbody_world, 1), "stiction": describe(scene.stiction, 1)}
        result[f"scenes/{scene.name_full}"] = values
    return result


def describe(item: Any, depth: int) -> Any:
    if isinstance(item, bpy.types.bpy_struct):
        if depth > 5:
            return "..."
        return {
            prop.identifier: value_of(item, prop, depth)
            for prop in item.bl_rna.properties
            if prop.identifier not in VOLATILE and not (depth > 0 and prop.identifier == "id_data")
        }
    return item


def value_of(item: Any, prop: Any, depth: int) -> Any:
    value = getattr(item, prop.identifier)
    if prop.type == "POINTER":
        if value is None:
            return None
        return f"<{value.name_full}>" if isinstance(value, bpy.types.ID) else describe(value, depth + 1)
    if prop.type == "COLLECTION":
        # What refers to other data blocks is a set to the user.
        return sorted(f"<{element.name_full}>" for element in value if isinstance(element, bpy.types.ID)) or [
            f"<{element.name_full}>" if isinstance(element, bpy.types.ID) else describe(element, depth + 1) for element in value
        ]
    if getattr(prop, "is_array", False):
        return np.array(value).tolist()
    return value


def differences(before, after, path="") -> list[str]:
    """Where two dumps differ, in words."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = before.keys() | after.keys()
        return [line for key in sorted(keys) for line in differences(before.get(key), after.get(key), f"{path}.{key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [line for i, (a, b) in enumerate(zip(before, after, strict=True)) for line in differences(a, b, f"{path}[{i}]")]
    return [] if before == after else [f"{path}: {before!r} -> {after!r}"]
