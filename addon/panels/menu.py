# SPDX-License-Identifier: GPL-3.0-or-later
"""Object > Rigid Body > Stiction: all operators in a menu, so that F3 finds them, also in a new file, and users can assign
keys."""

from __future__ import annotations

import bpy
from bpy.types import Context, Menu

from .manual import FRONT

__all__ = ["register", "unregister"]


class STICTION_MT_rigid_body(Menu):
    bl_label = "Stiction"
    bl_idname = "STICTION_MT_rigid_body"

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.operator("stiction.bake", icon="PHYSICS").resume = False
        layout.operator("stiction.bake", text="Resume Bake").resume = True
        layout.operator("stiction.bake", text="Bake from Current Frame").from_here = True
        layout.operator("stiction.play", icon="PLAY")
        layout.operator("stiction.keep_play", text="Keep Play")
        layout.operator("stiction.free_bake")
        layout.operator("stiction.bake_to_keyframes", icon="KEYFRAME")
        layout.operator("stiction.bake_to_bones", icon="BONE_DATA")
        layout.operator("stiction.find_frames", icon="VIEWZOOM")
        layout.operator("stiction.add_pieces")
        layout.operator("stiction.remove_pieces")
        layout.operator("stiction.settle", icon="TRIA_DOWN_BAR")
        layout.separator()
        layout.operator("stiction.check_scene", icon="VIEWZOOM")
        layout.operator("stiction.copy_to_selected", text="Copy to Selected")
        # With a submenu, F3 would list all materials before Bake when searching for "stiction".
        layout.operator("wm.call_menu", text="Material", icon="PRESET").name = "STICTION_MT_materials"
        layout.separator()
        layout.operator("stiction.fracture", icon="MOD_EXPLODE")
        layout.operator("stiction.join_back")
        layout.operator("stiction.use_proxies")
        layout.operator("stiction.convex_parts")
        layout.operator("stiction.remove_proxies")
        layout.separator()
        layout.operator("stiction.add_contact_points", icon="OUTLINER_OB_POINTCLOUD")
        layout.operator("stiction.export_impacts", icon="EXPORT")
        layout.operator("stiction.add_debris", icon="OUTLINER_OB_POINTCLOUD")
        layout.operator("stiction.export_debris", icon="EXPORT")
        layout.operator("stiction.bake_sound", icon="SOUND")
        layout.operator("stiction.export_sound_events", icon="EXPORT")
        layout.operator("stiction.reactions_to_curves", icon="FCURVE")
        layout.operator_menu_enum("stiction.jump_to_worst", "measure")
        layout.operator("stiction.export_certificate", icon="EXPORT")
        layout.operator("stiction.export_farm_job", icon="EXPORT")
        layout.operator("stiction.wedge", icon="MOD_ARRAY")
        layout.separator()
        layout.operator("stiction.open_manual", icon="HELP").page = FRONT


def draw_in_menu(self: Menu, context: Context) -> None:
    self.layout.separator()
    self.layout.menu(STICTION_MT_rigid_body.bl_idname, icon="PHYSICS")


def register() -> None:
    """Add the menu to that of Blender's rigid bodies."""
    bpy.utils.register_class(STICTION_MT_rigid_body)
    bpy.types.VIEW3D_MT_object_rigid_body.append(draw_in_menu)


def unregister() -> None:
    """Undo `register`."""
    bpy.types.VIEW3D_MT_object_rigid_body.remove(draw_in_menu)
    bpy.utils.unregister_class(STICTION_MT_rigid_body)
