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
        layout, own = self.layout, context.collection.stiction_bonds
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.active = own.use_bonds
        layout.prop(own, "material")
        column = layout.column(align=True)
        column.active = own.material == "CUSTOM"
        column.prop(own, "tension")
        column.prop(own, "shear")
        layout.prop(own, "gap")
        row = layout.row(heading="Release")
        row.prop(own, "use_release", text="")
        frame = row.row()
        frame.active = own.use_release
        frame.prop(own, "release_frame", text="")


def register() -> None:
    """Add the panel."""
    bpy.utils.register_class(STICTION_PT_collection_bonds)


def unregister() -> None:
    """Undo `register`."""
    bpy.utils.unregister_class(STICTION_PT_collection_bonds)
