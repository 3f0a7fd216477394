# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel of bonds in the properties of a collection."""

from __future__ import annotations

import bpy
from bpy.types import Context, Panel

__all__ = ["register", "unregister"]


class STICTION_PT_collection_bonds(Panel):
    bl_label = "Stiction Bonds"
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "collection"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return context.collection is not None

    def draw_header(self, context: Context) -> None:
        self.layout.prop(context.collection.stiction_bonds, "use_bonds", text="")

    def draw(self, context: Context) -> None:
        layout, settings = self.layout, context.collection.stiction_bonds
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.active = settings.use_bonds
        layout.prop(settings, "material")
        column = layout.column(align=True)
        column.active = settings.material == "CUSTOM"
        column.prop(settings, "tension")
        column.prop(settings, "shear")
        layout.prop(settings, "gap")
        row = layout.row(heading="Release")
        row.prop(settings, "use_release", text="")
        frame = row.row()
        frame.active = settings.use_release
        frame.prop(settings, "release_frame", text="")


def register() -> None:
    """Add the panel."""
    bpy.utils.register_class(STICTION_PT_collection_bonds)


def unregister() -> None:
    """Undo `register`."""
    bpy.utils.unregister_class(STICTION_PT_collection_bonds)
