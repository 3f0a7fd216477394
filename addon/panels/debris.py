# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel of debris."""

from __future__ import annotations

import bpy
from bpy.types import Context, Panel

from .ui import MorePanel

__all__ = ["register", "unregister"]

CLOSED = {"DEFAULT_CLOSED"}


class STICTION_PT_scene_debris(MorePanel, Panel):
    bl_label = "Debris"
    bl_options = CLOSED

    def draw(self, context: Context) -> None:
        layout, settings = self.layout, context.scene.stiction_debris
        layout.prop(context.scene.stiction, "keep_contacts")
        # Names are inside the fields, which have enough space for them.
        column = layout.column(align=True)
        column.prop(settings, "per_area")
        column.prop(settings, "joint_area")
        column.prop(settings, "per_joule_of_hits")
        column.prop(settings, "per_joule_of_scrapes")
        column = layout.column(align=True)
        column.prop(settings, "least_impulse")
        column.prop(settings, "least_speed")
        layout.prop(settings, "lifetime")
        layout.prop(settings, "seed")
        column = layout.column(align=True)
        column.operator("stiction.add_debris", icon="OUTLINER_OB_POINTCLOUD")
        column.operator("stiction.export_debris", icon="EXPORT")


def register() -> None:
    """Add the panel."""
    bpy.utils.register_class(STICTION_PT_scene_debris)


def unregister() -> None:
    """Undo `register`."""
    bpy.utils.unregister_class(STICTION_PT_scene_debris)
