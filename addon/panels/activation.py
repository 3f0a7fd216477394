# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel of activation in the properties of a collection."""

from __future__ import annotations

from typing import ClassVar

import bpy
from bpy.types import Context, Panel, UILayout

__all__ = ["register", "unregister"]


class STICTION_PT_collection_activation(Panel):
    bl_label = "Stiction Activation"
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "collection"
    bl_options: ClassVar = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        return context.collection is not None

    def draw_header(self, context: Context) -> None:
        self.layout.prop(context.collection.stiction_activation, "use_activation", text="")

    def draw(self, context: Context) -> None:
        layout, settings = self.layout, context.collection.stiction_activation
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.active = settings.use_activation
        column = layout.column()
        column.prop(settings, "use_hold")
        column.prop(settings, "use_release")
        chosen(layout, settings, "use_frame").prop(settings, "wake_frame", text="")
        chosen(layout, settings, "use_volume").prop(settings, "volume_object", text="")
        chosen(layout, settings, "use_proximity").prop(settings, "near_object", text="")
        row = layout.row()
        row.active = settings.use_proximity
        row.prop(settings, "distance")
        chosen(layout, settings, "use_impulse").prop(settings, "least_impulse", text="")
        chosen(layout, settings, "use_value").prop(settings, "value_object", text="")
        row = layout.row()
        row.active = settings.use_value
        row.prop(settings, "value_name")


def chosen(layout: UILayout, settings: bpy.types.PropertyGroup, switch: str) -> UILayout:
    """Draw a row with a switch, and a part of it that is active with the switch."""
    row = layout.row(heading=settings.bl_rna.properties[switch].name)
    row.prop(settings, switch, text="")
    rest = row.row()
    rest.active = getattr(settings, switch)
    return rest


def register() -> None:
    """Add the panel."""
    bpy.utils.register_class(STICTION_PT_collection_activation)


def unregister() -> None:
    """Undo `register`."""
    bpy.utils.unregister_class(STICTION_PT_collection_activation)
