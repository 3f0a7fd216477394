# SPDX-License-Identifier: GPL-3.0-or-later
"""Removal of values in a loaded file that Blender or Python cannot read.

Blender reads any bytes, for example from a damaged file. Python raises an exception at text that is not valid, and Blender
crashes at a collection whose items are not groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
from bpy.app.handlers import persistent
from bpy.types import ID, PropertyGroup

__all__ = ["drop_what_cannot_be_read", "kept", "register", "unregister"]


@persistent
def drop_what_cannot_be_read(_file: str) -> None:
    """Unset these properties and print which."""
    names = [(scene, name) for scene in bpy.data.scenes for name in ("stiction", "stiction_display", "stiction_wedge")]
    for owner, name in [*names, *((ob, "stiction") for ob in bpy.data.objects)]:
        for group, broken in list(what_cannot_be_read(getattr(owner, name), kept(owner).get(name))):
            print(f"Stiction: {owner.name}: {group.path_from_id()}.{broken} cannot be read in this file, and is left empty")
            group.property_unset(broken)


def kept(owner: ID) -> Any:
    """Return the storage of our properties by name; from Blender 5.0 on it is separate from the user's custom properties."""
    return owner.bl_system_properties_get() or {} if hasattr(owner, "bl_system_properties_get") else owner


def what_cannot_be_read(group: PropertyGroup, values: Any) -> Iterator[tuple[PropertyGroup, str]]:
    """Yield unreadable properties of this group and of groups in it, with their names.

    values: storage of the group, None if nothing was set.
    """
    for prop in group.bl_rna.properties if hasattr(values, "keys") else ():
        name = prop.identifier
        if prop.type == "STRING":
            try:
                getattr(group, name)
            except UnicodeDecodeError:
                yield group, name
            continue
        value = values.get(name)
        if value is None:
            continue
        if prop.type == "COLLECTION" and not (isinstance(value, list) and all(hasattr(item, "keys") for item in value)):
            yield group, name
        elif prop.type == "COLLECTION":
            for item, kept_of_item in zip(getattr(group, name), value, strict=True):
                yield from what_cannot_be_read(item, kept_of_item)
        elif prop.type == "POINTER":
            within = getattr(group, name)
            if isinstance(within, PropertyGroup):
                yield from what_cannot_be_read(within, value)
            # An empty value is an empty group.
            elif within is not None and not isinstance(within, getattr(bpy.types, prop.fixed_type.identifier)):
                yield group, name


def register() -> None:
    """Handle every file that is opened, before the other handlers."""
    bpy.app.handlers.load_post.append(drop_what_cannot_be_read)


def unregister() -> None:
    """Undo `register`."""
    bpy.app.handlers.load_post.remove(drop_what_cannot_be_read)
