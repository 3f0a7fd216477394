# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel of a sweep: its parameters, its progress and its result."""

from __future__ import annotations

import bpy
from bpy.types import Context, Panel, UILayout, UIList

from ...solver_core.process.command_line import UsageError
from ...solver_core.sweep.axes import BODY_FIELDS
from ..blender.label_wrapping import characters_in_row, draw_wrapped
from ..farms.wedge import variations_of
from ..settings.wedge import name_of_body
from .ui import MorePanel, draw_help

__all__ = ["register", "unregister"]

# Blender wants a plain set; this one is never changed.
CLOSED = {"DEFAULT_CLOSED"}


class STICTION_UL_wedge_axes(UIList):
    def draw_item(
        self,
        context: Context,
        layout: UILayout,
        data: bpy.types.AnyType,
        item: bpy.types.PropertyGroup,
        icon: int,
        active_data: bpy.types.AnyType,
        active_property: str,
    ) -> None:
        row = layout.split(factor=0.55)
        name = item.bl_rna.properties["field"].enum_items[item.field].name
        row.label(text=f"{name_of_body(item)} {name}".strip())
        row.label(text=item.values)


class STICTION_PT_scene_wedge(MorePanel, Panel):
    bl_label = "Sweep"
    bl_options = CLOSED

    def draw_header_preset(self, context: Context) -> None:
        draw_help(self.layout, "docs/sweeps.html#from-the-panel")

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        wedge, session = context.scene.stiction_wedge, context.window_manager.stiction_wedge
        settings = layout.column()
        # A running sweep keeps its initial parameters.
        settings.enabled = not session.is_running
        draw_axes(settings, wedge)
        column = settings.column()
        column.prop(wedge, "workers")
        column.prop(wedge, "folder")
        draw_run(layout, wedge, session, characters_in_row(context))


def draw_axes(layout: UILayout, wedge: bpy.types.PropertyGroup) -> None:
    row = layout.row()
    row.template_list("STICTION_UL_wedge_axes", "", wedge, "axes", wedge, "axis_index", rows=3)
    buttons = row.column(align=True)
    buttons.operator("stiction.change_wedge_axes", text="", icon="ADD").change = "ADD"
    buttons.operator("stiction.change_wedge_axes", text="", icon="REMOVE").change = "REMOVE"
    if 0 <= wedge.axis_index < len(wedge.axes):
        axis = wedge.axes[wedge.axis_index]
        column = layout.column()
        column.prop(axis, "field")
        body = column.row()
        body.active = axis.field in BODY_FIELDS
        body.prop(axis, "body")
        column.prop(axis, "values")


def draw_run(layout: UILayout, wedge: bpy.types.PropertyGroup, session: bpy.types.PropertyGroup, width: int) -> None:
    column = layout.column(align=True)
    if session.is_running:
        row = column.row(align=True)
        share, _, rest = session.status.partition("%")
        row.progress(factor=session.factor, text=f"{share.strip()} %" if rest else session.status)
        row.operator("stiction.cancel_wedge", text="", icon="CANCEL")
        draw_wrapped(column, rest.strip(), "BLANK1", width)
        return
    row = column.row(align=True)
    row.operator("stiction.wedge", icon="MOD_ARRAY")
    row.operator("stiction.open_sheet", text="", icon="URL")
    if wedge.axes:
        try:
            count = variations_of(wedge)
            draw_wrapped(column, "1 variation" if count == 1 else f"{count} variations", "BLANK1", width)
        except UsageError as error:
            draw_wrapped(column, str(error), "ERROR", width)
    if session.result:
        draw_wrapped(column, session.result, "ERROR" if session.trouble else "CHECKMARK", width)
    if session.trouble:
        box = layout.box().column(align=True)
        for line in session.trouble.splitlines():
            draw_wrapped(box, line, "CANCEL", width)


CLASSES = (STICTION_UL_wedge_axes, STICTION_PT_scene_wedge)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
