# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings in files of earlier versions: what has another name now keeps its value; what is gone is said where it matters.

Blender keeps what was set by names that no property has any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
from bpy.app.handlers import persistent
from bpy.types import Scene

from ..blender.sanitize_loaded_file import kept

__all__ = ["register", "rename_former_settings", "unregister"]

# Of `scene.stiction` and of its bake, by the names of now.
RENAMED = {"moving_tolerance": "crowd_tolerance"}
RENAMED_OF_BAKE = {"moving": "crowd"}
# Of `scene.stiction`, with what holds in their place; choices are kept as numbers, of which 0 is what all have now.
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
        # anything may be in a damaged file
        if isinstance(value, type(getattr(group, name))) and not group.is_property_set(name):
            setattr(group, name, value)
        values.pop(former, None)


def gone(scene: Scene, values: Any) -> Iterator[str]:
    """Take out what is no setting any more; a sentence for each that was other than what holds now."""
    had = {name: values.pop(name) for name in GONE if name in values}
    accepted = had.get("crowd_limit", 0.0)
    if isinstance(accepted, NUMBERS) and accepted <= max(scene.stiction.tolerance, scene.stiction.moving_tolerance):
        had["crowd_limit"] = 0.0
    for name, value in had.items():
        if value and GONE[name]:
            yield f"this file sets {name.replace('_', ' ')}, which is no longer a setting: {GONE[name]}"


def register() -> None:
    """Look at every file that is opened, after what cannot be read was taken out."""
    bpy.app.handlers.load_post.append(rename_former_settings)


def unregister() -> None:
    """Look no more."""
    bpy.app.handlers.load_post.remove(rename_former_settings)
