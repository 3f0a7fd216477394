# SPDX-License-Identifier: GPL-3.0-or-later
"""The panels of sound: what a body sounds like, and the sound of the bake."""

from __future__ import annotations

import bpy
from bpy.types import Context, Panel

from .ui import MorePanel, ObjectPanel

__all__ = ["register", "unregister"]

CLOSED = {"DEFAULT_CLOSED"}


class STICTION_PT_object_sound(ObjectPanel, Panel):
    bl_label = "Sound"
    bl_parent_id = "STICTION_PT_object"
    bl_options = CLOSED

    def draw(self, context: Context) -> None:
        layout, settings = self.layout, context.object.stiction_sound
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(settings, "material", text="Material")
        layout.prop(settings, "volume")


class STICTION_PT_scene_sound(MorePanel, Panel):
    bl_label = "Sound"
    bl_options = CLOSED

    def draw(self, context: Context) -> None:
        layout, settings = self.layout, context.scene.stiction_sound
        layout.prop(context.scene.stiction, "keep_contacts")
        # Names are inside the fields, which have enough space for them.
        column = layout.column(align=True)
        column.prop(settings, "scraping")
        column.prop(settings, "support_loss")
        column.prop(settings, "seed")
        column = layout.column(align=True)
        column.operator("stiction.bake_sound", icon="SOUND")
        column.operator("stiction.export_sound_events", icon="EXPORT")


register_classes, unregister_classes = bpy.utils.register_classes_factory((STICTION_PT_object_sound, STICTION_PT_scene_sound))


def register() -> None:
    """Add the panels."""
    register_classes()


def unregister() -> None:
    """Take them away."""
    unregister_classes()
