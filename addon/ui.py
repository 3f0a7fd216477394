# SPDX-License-Identifier: GPL-3.0-or-later
"""The panels: Stiction in Properties > Physics for the object, in Properties > Scene for the solver, and the bake in both."""

from __future__ import annotations

import textwrap

import bpy
from bpy.types import Context, Object, Panel, UILayout

from ..solver_core.scene.spec import ContactMethod, Staggering, pair_friction
from . import properties
from .made_from import ONLY_THE_END
from .manual import FRONT
from .object_properties import effective_material

__all__ = ["register", "unregister"]

MOST_MESSAGES = 12
MOST_PAIRS = 6
MOST_CHANGES = 5
# Of the panel's frame and icons, and of an average character, at the usual size of the interface.
MARGIN_PIXELS = 62
CHARACTER_PIXELS = 5.9
# Blender wants a plain set; this one is never changed.
CLOSED = {"DEFAULT_CLOSED"}


class PropertiesPanel:
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"


class PhysicsPanel(PropertiesPanel):
    """Of what takes part in the simulation: bodies, and the objects of rigid body constraints."""

    bl_context = "physics"

    @classmethod
    def poll(cls, context: Context) -> bool:
        ob = context.object
        takes_part = ob is not None and (ob.rigid_body is not None or ob.rigid_body_constraint is not None)
        return takes_part and has_world(context)


class ObjectPanel(PropertiesPanel):
    bl_context = "physics"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return context.object is not None and context.object.rigid_body is not None and has_world(context)


class ScenePanel(PropertiesPanel):
    bl_context = "scene"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return has_world(context)


def has_world(context: Context) -> bool:
    return context.scene is not None and context.scene.rigidbody_world is not None


def overridable(
    layout: UILayout, heading: str, own: bpy.types.PropertyGroup, name: str, other: bpy.types.bpy_struct, other_name: str
) -> None:
    """A row with a switch and one value: ours when the switch is on, else the one that holds otherwise, greyed out."""
    row = layout.row(align=True, heading=heading)
    row.prop(own, f"use_{name}", text="")
    value = row.row(align=True)
    if getattr(own, f"use_{name}"):
        value.prop(own, name, text="")
    else:
        value.enabled = False
        value.prop(other, other_name, text="")


class STICTION_PT_object(PhysicsPanel, Panel):
    bl_label = "Stiction"
    bl_idname = "STICTION_PT_object"

    def draw_header_preset(self, context: Context) -> None:
        draw_help(self.layout, "docs/settings.html#surface")

    def draw(self, context: Context) -> None:
        pass


class STICTION_PT_object_surface(ObjectPanel, Panel):
    bl_label = "Surface"
    bl_parent_id = "STICTION_PT_object"

    def draw_header_preset(self, context: Context) -> None:
        self.layout.menu("STICTION_MT_materials", text="", icon="PRESET")

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        ob = context.object
        own, body = ob.stiction, ob.rigid_body
        layout.prop(own, "material")
        column = layout.column()
        overridable(column, "Friction", own, "mu_static", body, "friction")
        if own.use_mu_static:
            overridable(column, "Dynamic", own, "mu_dynamic", own, "mu_static")
        else:
            overridable(column, "Dynamic", own, "mu_dynamic", body, "friction")
        overridable(column, "Bounciness", own, "restitution", body, "restitution")
        column = layout.column()
        column.row().prop(own, "mass_source", expand=True)
        if own.mass_source == "DENSITY":
            column.prop(own, "density", text="kg/m³")
        else:
            column.prop(body, "mass")


class STICTION_PT_object_motion(ObjectPanel, Panel):
    bl_label = "Initial Motion"
    bl_parent_id = "STICTION_PT_object"
    bl_options = CLOSED

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        own = context.object.stiction
        # what is not active moves as Blender has it
        layout.active = context.object.rigid_body.type == "ACTIVE"
        layout.prop(own, "initial_motion", text="Begins")
        if own.initial_motion == "VALUES":
            layout.prop(own, "velocity")
            layout.prop(own, "angular_velocity", text="Spin")


class STICTION_PT_object_pairs(ObjectPanel, Panel):
    bl_label = "Friction of Pairs"
    bl_parent_id = "STICTION_PT_object"
    bl_options = CLOSED

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(context.scene.stiction, "pair_object")
        layout.prop(context.scene.stiction, "friction_combine", text="Combine")
        table = layout.column(align=True)
        titles = table_row(table, "Against", "BLANK1", "Static", "Dyn.")
        titles.active = False
        for label, icon, static, dynamic in pairs(context, context.object):
            table_row(table, label, icon, f"{static:.3f}", f"{dynamic:.3f}")


class STICTION_PT_object_bake(PhysicsPanel, Panel):
    bl_label = "Bake"
    bl_parent_id = "STICTION_PT_object"

    def draw(self, context: Context) -> None:
        draw_bake(self.layout, context)


class STICTION_PT_scene(ScenePanel, Panel):
    bl_label = "Stiction"
    bl_idname = "STICTION_PT_scene"

    def draw_header_preset(self, context: Context) -> None:
        draw_help(self.layout, FRONT)

    def draw(self, context: Context) -> None:
        draw_bake(self.layout, context)


class STICTION_PT_scene_solver(ScenePanel, Panel):
    bl_label = "Solver"
    bl_parent_id = "STICTION_PT_scene"

    def draw_header_preset(self, context: Context) -> None:
        self.layout.menu("STICTION_MT_solver_presets", text="", icon="PRESET")

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        own = context.scene.stiction
        # without a label, for the names are long
        layout.row().prop(own, "method", text="")
        column = layout.column()
        column.prop(own, "tolerance")
        crowds = column.column()
        # other methods, and what was published, know no crowds
        crowds.active = own.method == ContactMethod.STAGGERED.name and own.staggering == Staggering.ACCELERATED.name
        crowds.prop(own, "crowd_tolerance", text="Of Crowds")
        crowds.prop(own, "crowd_limit", text="At Worst")
        column.prop(own, "max_iterations", text="Iterations")
        overridable(column, "Substeps", own, "substeps", context.scene.rigidbody_world, "substeps_per_frame")
        column.prop(own, "step_accuracy", text="Accuracy")
        column = layout.column()
        cone = column.column()
        # other methods have the exact cone whatever is chosen here
        cone.active = own.method == ContactMethod.STAGGERED.name
        cone.prop(own, "friction_cone", text="Cone")
        if own.friction_cone == "POLYGON":
            cone.prop(own, "polygon_sides")
        column.prop(own, "friction_combine", text="Combine")
        layout.prop(own, "use_sleeping")
        column = layout.column()
        column.active = own.method == ContactMethod.STAGGERED.name
        column.prop(own, "staggering")
        column = layout.column()
        column.prop(own, "threads")
        column.prop(own, "step_time_limit")
        column.prop(own, "recovery_speed", text="Recovery")


class STICTION_PT_scene_range(ScenePanel, Panel):
    bl_label = "Frames and Cache"
    bl_parent_id = "STICTION_PT_scene"

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        own = context.scene.stiction
        layout.prop(own, "use_frame_range", text="Own Range")
        source = own if own.use_frame_range else context.scene.rigidbody_world.point_cache
        column = layout.column(align=True)
        column.enabled = own.use_frame_range
        column.prop(source, "frame_start", text="Frame Start")
        column.prop(source, "frame_end", text="End")
        layout.row().prop(own, "cache_directory", text="")
        is_one = context.scene.stiction_display.pieces_object is not None
        layout.operator("stiction.remove_pieces" if is_one else "stiction.add_pieces")
        layout.column(heading="Timeline").prop(context.scene.stiction_display, "show_frames", text="Show")


def draw_help(layout: UILayout, page: str) -> None:
    layout.operator("stiction.open_manual", text="", icon="HELP", emboss=False).page = page


def table_row(table: UILayout, label: str, icon: str, *cells: str) -> UILayout:
    row = table.split(factor=0.5)
    row.label(text=label, icon=icon)
    rest = row.row()
    for cell in cells:
        rest.label(text=cell)
    return row


def pairs(context: Context, ob: Object) -> list[tuple[str, str, float, float]]:
    """Label, icon, static and dynamic coefficient: with an equal body, the chosen one, and the others that are selected."""
    others = [context.scene.stiction.pair_object, *context.selected_objects]
    bodies = {other.name_full: other for other in others if other is not None and other != ob and other.rigid_body is not None}
    rule = properties.effective_rule(context.scene)
    a = effective_material(ob)
    rows = [("Equal Body", "DUPLICATE", a)]
    rows += [(name, "OBJECT_DATA", effective_material(body)) for name, body in list(bodies.items())[:MOST_PAIRS]]
    table = properties.effective_pairs(context.scene)
    return [(label, icon, *pair_friction(table, rule, a, b)) for label, icon, b in rows]


def draw_bake(layout: UILayout, context: Context) -> None:
    session, bake = context.window_manager.stiction, context.scene.stiction.bake
    if session.is_baking:
        row = layout.row(align=True)
        # how many contacts the frame had is said below, where there is room
        row.progress(factor=session.factor, text=session.status.partition(",")[0])
        if not session.is_reading:
            row.operator("stiction.pause", text="", icon="PLAY" if session.is_paused else "PAUSE")
            row.operator("stiction.cancel", text="", icon="CANCEL")
        column = layout.column(align=True)
        for line in session.details.splitlines():
            draw_wrapped(column, line, "BLANK1", characters_in_row(context))
    else:
        column = layout.column(align=True)
        row = column.row(align=True)
        is_longer = [change.name for change in changes_shown(context)] == [ONLY_THE_END]
        is_partial = bake.state == "CACHED" and (bake.last_frame < bake.frame_end or is_longer)
        row.operator("stiction.bake", text="Bake Again" if bake.state != "NONE" else "Bake", icon="PHYSICS").resume = False
        if is_partial:
            row.operator("stiction.bake", text="Resume").resume = True
            # three in a row would be cut at the usual width
            row = column.row(align=True)
        row.operator("stiction.free_bake")
        draw_from_here(column, context)
        column.operator("stiction.bake_to_keyframes", icon="KEYFRAME")
        width = characters_in_row(context)
        draw_result(layout, context, width)
        if session.compiling:
            row = layout.row(align=True)
            row.progress(factor=session.compiling_factor, text="Compiling, once")
            row.operator("stiction.stop_compiling", text="", icon="CANCEL")
            draw_wrapped(layout.column(align=True), session.compiling, "BLANK1", width)
    draw_messages(layout, context)


def draw_from_here(column: UILayout, context: Context) -> None:
    """Where the scene is not what it was baked from: the rest of the bake, from the frame that is shown."""
    bake, frame, found = context.scene.stiction.bake, context.scene.frame_current, changes_shown(context)
    is_there = bake.state == "CACHED" and bake.frame_start <= frame <= bake.last_frame
    if is_there and found and not any(change.is_lost for change in found):
        column.operator("stiction.bake", text=f"Keep to Frame {frame}, Bake the Rest").from_here = True


def draw_wrapped(layout: UILayout, text: str, icon: str, width: int) -> None:
    """A label of several rows where one is too short, for Blender would cut the middle out of it."""
    for line in textwrap.wrap(text, width):
        layout.label(text=line, icon=icon)
        icon = "BLANK1"


def draw_result(layout: UILayout, context: Context, width: int) -> None:
    bake = context.scene.stiction.bake
    if bake.state == "NONE":
        return
    found = changes_shown(context)
    where = "Keyframes at" if bake.state == "KEYED" else "Cached"
    column = layout.column(align=True)
    if any(change.is_lost for change in found):
        draw_wrapped(column, found[0].name, "ERROR", width)
        return
    column.label(text=f"{where} frames {bake.frame_start} to {bake.last_frame}", icon="ERROR" if found else "CHECKMARK")
    if found:
        draw_outdated(column, bake, [change.name for change in found], width)
    for line in bake.earlier.splitlines():
        draw_wrapped(column, line, "INFO", width)
    if bake.last_frame < bake.frame_end:
        column.label(text=f"Stopped before frame {bake.frame_end}", icon="INFO")
    if bake.missed_steps:
        steps = "1 step" if bake.missed_steps == 1 else f"{bake.missed_steps} steps"
        column.label(text=f"{steps} missed the tolerance", icon="ERROR")
    else:
        within = "tolerance, or limit" if bake.coarse_steps else "tolerance"
        column.label(text=f"Every step within {within}", icon="CHECKMARK")
    if bake.crowd:
        steps = "1 step" if bake.coarse_steps == 1 else f"{bake.coarse_steps} steps"
        within = f": {steps} beyond their tolerance, within their limit" if bake.coarse_steps else ", within their tolerance"
        draw_wrapped(column, f"Up to {bake.crowd} bodies in crowds{within}", "INFO", width)
    if bake.overlap:
        icon = "ERROR" if bake.overlap_is_visible else "CHECKMARK"
        draw_wrapped(column, f"Deepest overlap: {bake.overlap}", icon, width)
    if bake.solved_by:
        draw_wrapped(column, f"Islands solved: {bake.solved_by}", "INFO", width)


def changes_shown(context: Context) -> list[bpy.types.PropertyGroup]:
    """What is known to have changed in the scene since its bake."""
    if context.scene.stiction.bake.state == "NONE":
        return []
    return [change for change in context.window_manager.stiction.changes if change.scene == context.scene.name_full]


def draw_outdated(column: UILayout, bake: bpy.types.PropertyGroup, lines: list[str], width: int) -> None:
    draw_wrapped(column, "Outdated: since the bake changed", "BLANK1", width)
    for line in lines[:MOST_CHANGES]:
        draw_wrapped(column, line, "DOT", width)
    if len(lines) > MOST_CHANGES:
        column.label(text=f"and {len(lines) - MOST_CHANGES} more", icon="BLANK1")
    if lines == [ONLY_THE_END] and bake.state == "CACHED":
        draw_wrapped(column, f"Resume from frame {bake.last_frame}", "INFO", width)
    else:
        draw_wrapped(column, f"Bake again from frame {bake.frame_start}, or the rest from any frame on", "INFO", width)


def draw_in_timeline(self: bpy.types.Header, context: Context) -> None:
    """The timeline shows frames, so it says when those of the bodies are not the scene's any more."""
    found = changes_shown(context) if context.scene is not None else []
    if found and context.space_data.mode == "TIMELINE":
        self.layout.label(text="Bake lost" if any(change.is_lost for change in found) else "Bake outdated", icon="ERROR")


def draw_messages(layout: UILayout, context: Context) -> None:
    messages = context.window_manager.stiction.messages
    if not messages:
        return
    width = characters_in_row(context)
    box = layout.box().column(align=True)
    for message in list(messages)[:MOST_MESSAGES]:
        draw_wrapped(box, message.name, "CANCEL" if message.is_error else "ERROR", width)
    if len(messages) > MOST_MESSAGES:
        box.label(text=f"and {len(messages) - MOST_MESSAGES} more, see the Info editor", icon="BLANK1")
    box.operator("stiction.open_manual", text="Troubleshooting", icon="HELP").page = "docs/troubleshooting.html"


def characters_in_row(context: Context) -> int:
    """About how many characters a label with an icon can show; Blender would cut the middle out of longer ones."""
    scale = context.preferences.system.ui_scale
    return max(16, int((context.region.width / scale - MARGIN_PIXELS) / CHARACTER_PIXELS))


CLASSES = (
    STICTION_PT_object,
    STICTION_PT_object_surface,
    STICTION_PT_object_motion,
    STICTION_PT_object_pairs,
    STICTION_PT_object_bake,
    STICTION_PT_scene,
    STICTION_PT_scene_solver,
    STICTION_PT_scene_range,
)

register_classes, unregister_classes = bpy.utils.register_classes_factory(CLASSES)


def register() -> None:
    """Add the panels, and a word in the timeline."""
    register_classes()
    bpy.types.DOPESHEET_HT_header.append(draw_in_timeline)


def unregister() -> None:
    """Take away what `register` added."""
    bpy.types.DOPESHEET_HT_header.remove(draw_in_timeline)
    unregister_classes()
