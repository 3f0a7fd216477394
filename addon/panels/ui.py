# SPDX-License-Identifier: GPL-3.0-or-later
"""The panels: Stiction in Properties > Physics for objects and in Properties > Scene for the solver, both with the bake."""

from __future__ import annotations

import bpy
from bpy.types import Context, Object, Panel, UILayout

from ...solver_core.scene.spec import ContactMethod, pair_friction
from ..bake.bending import known_words
from ..blender.label_wrapping import characters_in_row, draw_wrapped
from ..settings import properties
from ..settings.materials import QUALITIES, has_preset
from ..settings.object_properties import effective_material, may_bend, why_rigid
from .bake_panel import draw_bake, draw_in_timeline
from .manual import FIRST_BAKE, FRONT

__all__ = ["register", "unregister"]

MOST_PAIRS = 6
# Widths in characters: of a button without its text, of the space beside the name of a setting, and of the arrow of a menu.
MARGIN_CHARACTERS = 4
GAP_CHARACTERS = 3
ARROW_CHARACTERS = 2
# Blender wants a plain set; this one is never changed.
CLOSED = {"DEFAULT_CLOSED"}


class PropertiesPanel:
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"


class PhysicsPanel(PropertiesPanel):
    """Base of panels for objects in the simulation: bodies, and objects of rigid body constraints."""

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


class SceneChildPanel(ScenePanel):
    """Base of panels below the bake; the findings of a check come first."""

    bl_parent_id = "STICTION_PT_scene"
    bl_order = 1


def has_world(context: Context) -> bool:
    return context.scene is not None and context.scene.rigidbody_world is not None


def overridable(
    layout: UILayout, heading: str, settings: bpy.types.PropertyGroup, name: str, other: bpy.types.bpy_struct, other_name: str
) -> None:
    """Draw a row with a switch and one value: our value if the switch is on, otherwise Blender's value, grayed out."""
    row = layout.row(align=True, heading=heading)
    row.prop(settings, f"use_{name}", text="")
    value = row.row(align=True)
    if getattr(settings, f"use_{name}"):
        # as in Blender's own panels
        value.prop(settings, name, text="", slider=True)
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
        settings, body = ob.stiction, ob.rigid_body
        layout.prop(settings, "material")
        column = layout.column()
        overridable(column, "Friction", settings, "mu_static", body, "friction")
        if settings.use_mu_static:
            overridable(column, "Dynamic", settings, "mu_dynamic", settings, "mu_static")
        else:
            overridable(column, "Dynamic", settings, "mu_dynamic", body, "friction")
        overridable(column, "Bounciness", settings, "restitution", body, "restitution")
        column = layout.column(align=True)
        # A split layout has too little space for these names.
        column.use_property_split = False
        column.prop(settings, "rolling")
        column.prop(settings, "torsion")
        column = layout.column()
        column.row().prop(settings, "mass_source", expand=True)
        # The mass itself is Blender's setting, above.
        if settings.mass_source == "DENSITY":
            column.prop(settings, "density", text="kg/m³")


class STICTION_PT_object_grain(ObjectPanel, Panel):
    bl_label = "Grain"
    bl_parent_id = "STICTION_PT_object"
    bl_options = CLOSED

    def draw_header(self, context: Context) -> None:
        self.layout.prop(context.object.stiction, "use_grain", text="")

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        settings = context.object.stiction
        layout.active = settings.use_grain
        layout.prop(settings, "grain_direction")
        column = layout.column()
        column.prop(settings, "mu_across", text="Across")
        overridable(column, "Dynamic", settings, "mu_across_dynamic", settings, "mu_across")


class STICTION_PT_object_mass(ObjectPanel, Panel):
    bl_label = "Mass Properties"
    bl_parent_id = "STICTION_PT_object"
    bl_options = CLOSED

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        settings = context.object.stiction
        # Only active bodies need a mass.
        layout.active = context.object.rigid_body.type == "ACTIVE"
        choice(layout, settings, "center_of_mass", characters_in_row(context))
        if settings.center_of_mass == "OBJECT":
            layout.prop(settings, "center_object")
        layout.prop(settings, "own_inertia")
        if settings.own_inertia:
            layout.prop(settings, "moments", text="kg m²")
        layout.prop(settings, "use_collider")


class STICTION_PT_object_surface_motion(ObjectPanel, Panel):
    bl_label = "Surface Motion"
    bl_parent_id = "STICTION_PT_object"
    bl_options = CLOSED

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        # Both can be keyed.
        layout.use_property_decorate = True
        settings = context.object.stiction
        layout.prop(settings, "surface_velocity")
        layout.prop(settings, "surface_spin")


class STICTION_PT_object_flexible(ObjectPanel, Panel):
    bl_label = "Flexible"
    bl_parent_id = "STICTION_PT_object"
    bl_options = CLOSED

    def draw_header(self, context: Context) -> None:
        # It can be disabled for any shape.
        self.layout.enabled = may_bend(context.object) or context.object.stiction.use_flexible
        self.layout.prop(context.object.stiction, "use_flexible", text="")

    def draw_header_preset(self, context: Context) -> None:
        self.layout.menu("STICTION_MT_stiffness", text="", icon="PRESET")

    def draw(self, context: Context) -> None:
        layout = self.layout
        settings, why = context.object.stiction, why_rigid(context.object)
        if why:
            draw_wrapped(layout.column(align=True), why, "INFO", characters_in_row(context))
        layout = layout.column()
        layout.active = settings.use_flexible
        # Names are inside the fields, which have enough space for them.
        column = layout.column(align=True)
        column.prop(settings, "young", text="Stiffness, MPa")
        if settings.mass_source == "DENSITY":
            column.prop(settings, "density", text="Density, kg/m³")
        column.prop(settings, "poisson")
        column.prop(settings, "damping_ratio")
        layout.prop(settings, "use_large_bends")
        column = layout.column(align=True)
        column.prop(settings, "modes")
        column.prop(settings, "resolution")
        column.prop(context.scene.stiction_display, "show_grid")
        layout.prop_search(settings, "pin_group", context.object, "vertex_groups", text="Pin")
        if settings.use_flexible:
            draw_frequency(layout, context)


class STICTION_PT_object_motion(ObjectPanel, Panel):
    bl_label = "Initial Motion"
    bl_parent_id = "STICTION_PT_object"
    bl_options = CLOSED

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        settings = context.object.stiction
        # Other bodies move as in Blender.
        layout.active = context.object.rigid_body.type == "ACTIVE"
        layout.prop(settings, "initial_motion", text="Begins")
        if settings.initial_motion == "VALUES":
            layout.prop(settings, "velocity")
            layout.prop(settings, "angular_velocity", text="Spin")
        # A split layout has too little space for this name.
        row = layout.row()
        row.use_property_split = False
        row.prop(settings, "blend_frames", text="Blend to Keyframes")


class STICTION_PT_constraint(PhysicsPanel, Panel):
    bl_label = "Constraint"
    bl_parent_id = "STICTION_PT_object"
    bl_options = CLOSED

    @classmethod
    def poll(cls, context: Context) -> bool:
        return super().poll(context) and context.object.rigid_body_constraint is not None

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(context.object.stiction, "hold_bodies")


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
        draw_bake(self.layout, context, has_findings=True)


class STICTION_PT_scene_more(SceneChildPanel, Panel):
    bl_label = "More"
    bl_options = CLOSED
    # after the panels that every bake needs
    bl_order = 2

    def draw(self, context: Context) -> None:
        pass


class MorePanel(ScenePanel):
    """Base of panels that few bakes need."""

    bl_parent_id = "STICTION_PT_scene_more"


class STICTION_PT_scene_start(PropertiesPanel, Panel):
    """In place of all others in a scene without rigid bodies: what to do first."""

    bl_label = "Stiction"
    bl_context = "scene"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return context.scene is not None and not has_world(context)

    def draw_header_preset(self, context: Context) -> None:
        draw_help(self.layout, FRONT)

    def draw(self, context: Context) -> None:
        layout, width = self.layout, characters_in_row(context)
        column = layout.column(align=True)
        count = sum(ob.rigid_body is not None for ob in context.scene.objects)
        if count:
            have = "1 object has a rigid body" if count == 1 else f"{count} objects have rigid bodies"
            draw_wrapped(column, f"{have}, but the scene has no rigid body world, so they are not simulated", "ERROR", width)
            layout.operator("stiction.add_world", icon="ADD")
            return
        draw_wrapped(column, "No rigid bodies yet", "INFO", width)
        draw_wrapped(column, "Select objects, and choose Object > Rigid Body > Add Active or Add Passive", "BLANK1", width)
        draw_wrapped(column, "Or start with a demo:", "BLANK1", width)
        row = layout.row(align=True)
        row.operator("stiction.add_card_house", icon="ADD")
        row.menu("STICTION_MT_add_demo", text="Demos")
        layout.operator("stiction.open_manual", text="First Bake, Step by Step", icon="HELP").page = FIRST_BAKE


class STICTION_PT_scene_solver(SceneChildPanel, Panel):
    bl_label = "Solver"

    def draw_header_preset(self, context: Context) -> None:
        self.layout.menu("STICTION_MT_solver_presets", text="", icon="PRESET")

    def draw(self, context: Context) -> None:
        layout, width = self.layout, characters_in_row(context)
        settings = context.scene.stiction
        column = layout.column()
        draw_qualities(column, context)
        choice(column, settings, "method", width)
        tolerances = layout.column(align=True)
        number(tolerances, settings, "tolerance", width)
        in_motion = tolerances.column(align=True)
        # Other methods have only one tolerance.
        in_motion.active = settings.method == ContactMethod.STAGGERED.name
        number(in_motion, settings, "moving_tolerance", width)
        number(tolerances, settings, "max_iterations", width)
        column = layout.column()
        # Instead of a split layout, which has too little space for these names.
        overridable(column, "Substeps", settings, "substeps", context.scene.rigidbody_world, "substeps_per_frame")
        choice(column, settings, "friction_combine", width)


class STICTION_PT_scene_advanced(ScenePanel, Panel):
    bl_label = "Advanced"
    bl_parent_id = "STICTION_PT_scene_solver"
    bl_options = CLOSED

    def draw(self, context: Context) -> None:
        layout = self.layout
        settings = context.scene.stiction
        layout.prop(settings, "use_sleeping")
        column = layout.column(align=True)
        column.prop(settings, "threads")
        column.prop(settings, "recovery_speed")
        column.prop(settings, "step_time_limit")


class STICTION_PT_scene_range(SceneChildPanel, Panel):
    bl_label = "Frames and Cache"
    bl_options = CLOSED

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        settings = context.scene.stiction
        row = layout.row()
        # A split layout has too little space for this name.
        row.use_property_split = False
        row.prop(settings, "use_frame_range")
        source = settings if settings.use_frame_range else context.scene.rigidbody_world.point_cache
        column = layout.column(align=True)
        column.enabled = settings.use_frame_range
        column.prop(source, "frame_start", text="Start")
        column.prop(source, "frame_end", text="End")
        layout.row().prop(settings, "cache_directory", text="")
        is_one = context.scene.stiction_display.pieces_object is not None
        layout.operator("stiction.remove_pieces" if is_one else "stiction.add_pieces")
        layout.column(heading="Timeline").prop(context.scene.stiction_display, "show_frames", text="Show")


def choice(layout: UILayout, settings: bpy.types.PropertyGroup, name: str, width: int) -> None:
    """Draw an enum property with its full name and enough space for its longest item, in a row or, if narrow, in two."""
    property_ = settings.bl_rna.properties[name]
    label, longest = property_.name, max(len(item.name) for item in property_.enum_items)
    row = layout.column(align=True)
    if len(label) + longest + ARROW_CHARACTERS <= width:
        beside = longest + ARROW_CHARACTERS + GAP_CHARACTERS
        row = row.split(factor=(len(label) + GAP_CHARACTERS) / (len(label) + GAP_CHARACTERS + beside))
    row.label(text=label)
    row.prop(settings, name, text="")


def number(layout: UILayout, settings: bpy.types.PropertyGroup, name: str, width: int) -> None:
    """Draw a number with its full name: inside the field, or above it if the field is too narrow for both."""
    property_, value = settings.bl_rna.properties[name], getattr(settings, name)
    digits = f"{value:.{property_.precision}f}" if property_.type == "FLOAT" else str(value)
    if len(property_.name) + len(digits) <= width:
        layout.prop(settings, name)
        return
    layout.label(text=property_.name)
    layout.prop(settings, name, text="")


def draw_qualities(layout: UILayout, context: Context) -> None:
    """Draw the quality presets as a row, with the cost and accuracy of the active one."""
    # Widths proportional to the names, because equal widths would cut the longest one.
    widths = [len(name) + MARGIN_CHARACTERS for name in QUALITIES]
    row = layout
    for place, name in enumerate(QUALITIES):
        if place + 1 < len(widths):
            row = row.split(factor=widths[place] / sum(widths[place:]), align=True)
        is_chosen = has_preset(context.scene, name)
        row.operator("stiction.apply_solver_preset", text=name, depress=is_chosen).preset = name
    chosen = next((name for name in QUALITIES if has_preset(context.scene, name)), None)
    if chosen is not None:
        draw_wrapped(layout.column(align=True), QUALITIES[chosen], "INFO", characters_in_row(context))


def draw_frequency(layout: UILayout, context: Context) -> None:
    """Draw the frequency of the object, once it is known, and whether its bending is visible."""
    known = known_words(context.window_manager, context.object)
    width, column = characters_in_row(context), layout.column(align=True)
    if known is None:
        draw_wrapped(column, "Check Scene and Bake compute its frequencies", "INFO", width)
        return
    words, too_stiff = known
    draw_wrapped(column, words[:1].upper() + words[1:], "INFO", width)
    if too_stiff:
        draw_wrapped(column, "Too stiff for visible bending: a rigid body looks the same and is faster", "ERROR", width)


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
    """Return label, icon, static and dynamic coefficient for an equal body, the chosen body, and the other selected bodies.

    A grain adds a row with friction across it; two grains are parallel there.
    """
    others = [context.scene.stiction.pair_object, *context.selected_objects]
    bodies = {other.name_full: other for other in others if other is not None and other != ob and other.rigid_body is not None}
    rule = properties.effective_rule(context.scene)
    a = effective_material(ob)
    rows = [("Equal Body", "DUPLICATE", a)]
    rows += [(name, "OBJECT_DATA", effective_material(body)) for name, body in list(bodies.items())[:MOST_PAIRS]]
    table = properties.effective_pairs(context.scene)
    found = []
    for label, icon, b in rows:
        along, across = pair_friction(table, rule, a, b), pair_friction(table, rule, a.across, b.across)
        found.append((label, icon, *along))
        if along != across:
            found.append(("Across the Grain", "BLANK1", *across))
    return found


CLASSES = (
    STICTION_PT_object,
    STICTION_PT_object_surface,
    STICTION_PT_object_grain,
    STICTION_PT_object_mass,
    STICTION_PT_object_surface_motion,
    STICTION_PT_object_flexible,
    STICTION_PT_object_motion,
    STICTION_PT_constraint,
    STICTION_PT_object_pairs,
    STICTION_PT_object_bake,
    STICTION_PT_scene_start,
    STICTION_PT_scene,
    STICTION_PT_scene_solver,
    STICTION_PT_scene_advanced,
    STICTION_PT_scene_range,
    STICTION_PT_scene_more,
)

register_classes, unregister_classes = bpy.utils.register_classes_factory(CLASSES)


def register() -> None:
    """Add the panels, and a word in the timeline."""
    register_classes()
    bpy.types.DOPESHEET_HT_header.append(draw_in_timeline)


def unregister() -> None:
    """Undo `register`."""
    bpy.types.DOPESHEET_HT_header.remove(draw_in_timeline)
    unregister_classes()
