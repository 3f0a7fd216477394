# SPDX-License-Identifier: GPL-3.0-or-later
"""The contacts of the current frame in the 3D viewport: points, forces and friction cones from the cache."""

from __future__ import annotations

from typing import Any

import bpy
import gpu
import numpy as np
from bpy.types import Context, Operator, Panel, Scene, UILayout
from gpu_extras.batch import batch_for_shader

from ...solver_core.dynamics.model.frame import FrameContacts
from ..blender.poll import has_bake
from ..blender.restore import baked_objects
from ..output.cached_contacts import CachedContacts, objects_of_bodies
from ..panels.ui import MorePanel
from .contact_lines import Drawing, Wanted, draw_contacts, fitting_length
from .draw_handler import DrawHandler

__all__ = ["register", "unregister"]

POINT_PIXELS = 6.0
LINE_PIXELS = 2.0
UNDOABLE = {"REGISTER", "UNDO"}
CLOSED = {"DEFAULT_CLOSED"}


class Overlay:
    """The drawing, cached until its inputs change."""

    handler = DrawHandler("SpaceView3D", "POST_VIEW")
    contacts = CachedContacts(with_sleepers=True)
    drawn: tuple[Any, Any, Any] | None = None


def draw() -> None:
    """Draw the contacts of the current frame into the viewport that Blender draws."""
    context = bpy.context
    scene, space = context.scene, context.space_data
    if not scene.stiction_display.show_contacts or not space.overlay.show_overlays:
        return
    contacts = Overlay.contacts.of_frame(scene)
    if contacts is None or not len(contacts):
        return
    key = look_of(scene, context)
    if Overlay.drawn is None or Overlay.drawn[0] is not contacts or Overlay.drawn[1] != key:
        Overlay.drawn = contacts, key, batches(drawing_of(scene, contacts))
    ui_scale = context.preferences.system.ui_scale
    (points, point_shader), (lines, line_shader) = Overlay.drawn[2]
    depth_test = gpu.state.depth_test_get()
    gpu.state.blend_set("ALPHA")
    # Most contacts are hidden between their bodies.
    gpu.state.depth_test_set("NONE")
    if lines is not None:
        line_shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
        line_shader.uniform_float("lineWidth", LINE_PIXELS * ui_scale)
        lines.draw(line_shader)
    if points is not None:
        gpu.state.point_size_set(POINT_PIXELS * ui_scale)
        points.draw(point_shader)
        gpu.state.point_size_set(1.0)
    gpu.state.depth_test_set(depth_test)
    gpu.state.blend_set("NONE")


def look_of(scene: Scene, context: Context) -> tuple[Any, ...]:
    """Return all inputs of a drawing except the contacts."""
    settings = scene.stiction_display
    selected = tuple(sorted(ob.session_uid for ob in context.selected_objects)) if settings.only_selected else ()
    return (
        settings.show_normal_forces,
        settings.show_friction_forces,
        settings.show_friction_cones,
        settings.force_length,
        settings.only_selected,
        selected,
    )


def drawing_of(scene: Scene, contacts: FrameContacts) -> Drawing:
    """Return the drawing of contacts with the user's settings."""
    settings = scene.stiction_display
    reader = Overlay.contacts.reader(scene)
    names = reader.info.bodies if reader is not None else ()
    if settings.only_selected:
        wanted = {name for name, ob in objects_of_bodies(scene).items() if ob.select_get()}
    else:
        wanted = {ob.stiction.backup.body for ob in baked_objects(scene)}
    on = np.array([name in wanted for name in names], dtype=bool)
    fitted = None if settings.is_property_set("force_length") else length_for(scene, contacts)
    length = settings.force_length if fitted is None else fitted
    look = Wanted(settings.show_normal_forces, settings.show_friction_forces, settings.show_friction_cones, length)
    return draw_contacts(contacts, look, on, settings.only_selected)


def length_for(scene: Scene, contacts: FrameContacts) -> float | None:
    """Return the line length for 1 N at which forces are about as long as the bodies [m]; None without forces or bodies."""
    sizes = [max(ob.dimensions) for ob in baked_objects(scene)]
    return fitting_length(contacts, float(np.median(sizes))) if sizes else None


def batches(drawing: Drawing) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return points and lines with their shaders for the GPU; None for empty ones, which it refuses."""
    point_shader, line_shader = shader_for_points(), gpu.shader.from_builtin("POLYLINE_FLAT_COLOR")
    points = lines = None
    if len(drawing.points):
        points = batch_for_shader(point_shader, "POINTS", {"pos": drawing.points, "color": drawing.point_colours})
    if len(drawing.lines):
        lines = batch_for_shader(line_shader, "LINES", {"pos": drawing.lines, "color": drawing.line_colours})
    return (points, point_shader), (lines, line_shader)


def shader_for_points() -> Any:
    # Blender 4.5 and later have a separate shader for points larger than a pixel.
    return gpu.shader.from_builtin("POINT_FLAT_COLOR" if bpy.app.version >= (4, 5, 0) else "FLAT_COLOR")


class STICTION_OT_fit_forces(Operator):
    """Scale the force lines of the current frame to the size of the bodies"""

    bl_idname = "stiction.fit_forces"
    bl_label = "Fit Length"
    bl_options = UNDOABLE

    @classmethod
    def poll(cls, context: Context) -> bool:
        return has_bake(cls, context)

    def execute(self, context: Context) -> set[str]:
        scene = context.scene
        contacts = Overlay.contacts.of_frame(scene)
        length = None if contacts is None else length_for(scene, contacts)
        if length is None:
            self.report({"WARNING"}, f"No contact of frame {scene.frame_current} carries a load")
            return {"CANCELLED"}
        scene.stiction_display.force_length = length
        return {"FINISHED"}


class STICTION_PT_scene_contacts(MorePanel, Panel):
    bl_label = "Contacts"
    bl_options = CLOSED

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(context.scene.stiction, "keep_contacts")
        draw_settings(layout, context)
        column = layout.column(align=True)
        column.operator("stiction.add_contact_points", icon="OUTLINER_OB_POINTCLOUD")
        column.operator("stiction.export_impacts", icon="EXPORT")


def draw_settings(layout: UILayout, context: Context) -> None:
    """Draw the overlay's settings, for the panel and for the viewport's overlay popover."""
    settings = context.scene.stiction_display
    layout.prop(settings, "show_contacts", text="In Viewport")
    column = layout.column()
    column.active = settings.show_contacts
    column.prop(settings, "show_normal_forces")
    column.prop(settings, "show_friction_forces")
    column.prop(settings, "show_friction_cones")
    column.prop(settings, "only_selected")
    row = column.row(align=True)
    # A split layout has too little space for this name.
    row.use_property_split = False
    row.prop(settings, "force_length", text="Length per N")
    row.operator("stiction.fit_forces", text="", icon="FULLSCREEN_EXIT")
    if settings.show_contacts and context.scene.stiction.bake.state != "NONE":
        reader = Overlay.contacts.reader(context.scene)
        if reader is not None and not reader.has_contacts:
            layout.label(text="This bake has no contacts", icon="INFO")


def draw_in_overlays(self: Panel, context: Context) -> None:
    if context.scene.rigidbody_world is not None:
        self.layout.label(text="Stiction")
        draw_settings(self.layout.column(), context)


CLASSES = (STICTION_OT_fit_forces, STICTION_PT_scene_contacts)

register_classes, unregister_classes = bpy.utils.register_classes_factory(CLASSES)


def register() -> None:
    """Add the panel, and draw where there is a window to draw in."""
    register_classes()
    bpy.types.VIEW3D_PT_overlay.append(draw_in_overlays)
    Overlay.handler.add(draw)


def unregister() -> None:
    """Draw no more, and take away what `register` added."""
    Overlay.handler.remove()
    Overlay.drawn = None
    Overlay.contacts.forget()
    bpy.types.VIEW3D_PT_overlay.remove(draw_in_overlays)
    unregister_classes()
