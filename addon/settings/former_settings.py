# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings in files of earlier versions. Renamed settings keep their values, and removed ones are reported if they had an
effect.

Blender stores values under names that no longer have a property.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
from bpy.app.handlers import persistent
from bpy.types import Scene

from ..blender.sanitize_loaded_file import kept

__all__ = ["register", "rename_former_settings", "unregister"]

# Renamed properties of `scene.stiction` and of its bake, by present name.
RENAMED = {"moving_tolerance": "crowd_tolerance"}
RENAMED_OF_BAKE = {"moving": "crowd"}
# Removed properties of `scene.stiction`, with messages. Enums are stored as numbers; 0 is the present behavior.
GONE = {
    "crowd_limit": "only Moving Tolerance applies to large moving islands",
    "friction_cone": "the friction cone is now always exact",
    "polygon_sides": "",
    "staggering": "the solver is always accelerated; the published variants are options of the library",
    "step_accuracy": "time steps no longer depend on each other",
}
NUMBERS = (int, float)


@persistent
def rename_former_settings(_file: str) -> None:
    """Move settings of a loaded file from their former names to the present ones, and report settings that no longer exist."""
    for scene in bpy.data.scenes:
        values = kept(scene).get("stiction")
        if hasattr(values, "keys"):
            rename(scene.stiction, values, RENAMED)
            rename(scene.stiction.bake, values.get("bake"), RENAMED_OF_BAKE)
            for sentence in gone(scene, values):
                print(f"Stiction: {scene.name}: {sentence}")


def rename(group: bpy.types.PropertyGroup, values: Any, names: dict[str, str]) -> None:
    """Move values of a group from their former names to the present ones, unless these are set."""
    for name, former in names.items() if hasattr(values, "keys") else ():
        value = values.get(former)
        # A damaged file may contain anything.
        if isinstance(value, type(getattr(group, name))) and not group.is_property_set(name):
            setattr(group, name, value)
        values.pop(former, None)


def gone(scene: Scene, values: Any) -> Iterator[str]:
    """Remove settings that no longer exist. Yield a sentence for each with an effect."""
    had = {name: values.pop(name) for name in GONE if name in values}
    accepted = had.get("crowd_limit", 0.0)
    if isinstance(accepted, NUMBERS) and accepted <= max(scene.stiction.tolerance, scene.stiction.moving_tolerance):
        had["crowd_limit"] = 0.0
    for name, value in had.items():
        if value and GONE[name]:
            yield f"this file sets {name.replace('_', ' ')}, which is no longer a setting: {GONE[name]}"


def register() -> None:
    """Handle every file that is opened, after unreadable values were removed."""
    bpy.app.handlers.load_post.append(rename_former_settings)


def unregister() -> None:
    """Undo `register`."""
    bpy.app.handlers.load_post.remove(rename_former_settings)
