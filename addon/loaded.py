# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes out of a loaded file what is no text where our properties have texts.

Blender reads any bytes there, from a damaged file or a stranger's, and Python stops wherever one of them is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

import bpy
from bpy.app.handlers import persistent
from bpy.types import PropertyGroup

__all__ = ["drop_what_is_no_text", "register", "unregister"]


@persistent
def drop_what_is_no_text(_file: str) -> None:
    """Unset the properties that are no text, and say which."""
    groups = [(scene, group) for scene in bpy.data.scenes for group in (scene.stiction, scene.stiction_display)]
    for owner, group in [*groups, *((ob, ob.stiction) for ob in bpy.data.objects)]:
        for within, name in what_is_no_text(group):
            within.property_unset(name)
            print(f"Stiction: {owner.name}: {within.path_from_id(name)} in this file is no text, and is left empty")


def what_is_no_text(group: PropertyGroup) -> Iterator[tuple[PropertyGroup, str]]:
    """The groups, this one or within it, and the names of their properties whose bytes are no UTF-8."""
    for prop in group.bl_rna.properties:
        if prop.identifier == "rna_type":
            continue
        if prop.type == "STRING":
            try:
                getattr(group, prop.identifier)
            except UnicodeDecodeError:
                yield group, prop.identifier
        elif prop.type == "COLLECTION":
            for item in getattr(group, prop.identifier):
                yield from what_is_no_text(item)
        elif prop.type == "POINTER" and isinstance(within := getattr(group, prop.identifier), PropertyGroup):
            yield from what_is_no_text(within)


def register() -> None:
    """Look at every file that is opened, before the other handlers do."""
    bpy.app.handlers.load_post.append(drop_what_is_no_text)


def unregister() -> None:
    """Look no more."""
    bpy.app.handlers.load_post.remove(drop_what_is_no_text)
