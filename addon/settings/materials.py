# SPDX-License-Identifier: GPL-3.0-or-later
"""Presets for surfaces and for the solver, applied from menus of the panels; and copying of settings between bodies."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import math
from typing import Any

import bpy
from bpy.props import EnumProperty
from bpy.types import Context, Menu, Object, Operator, OperatorProperties, Scene

from ...presets import MATERIALS, SOLVER, STIFFNESS
from ...solver_core.scene.spec import FrictionCombine
from .object_properties import may_bend
from .properties import effective_rule

__all__ = [
    "QUALITIES",
    "apply_material",
    "copy_settings",
    "has_preset",
    "register",
    "unregister",
]

# Blender wants plain sets; these are never changed.
UNDOABLE = {"REGISTER", "UNDO"}
# Properties of `scene.stiction` that a solver preset sets, besides substeps.
SET_BY_PRESETS = ("tolerance", "moving_tolerance", "max_iterations")
# Properties of `object.stiction` that are not copied.
NOT_SETTINGS = frozenset(["rna_type", "name", "backup"])


def share_of(pair: float, combine: FrictionCombine) -> float:
    """Return the coefficient of each of two equal bodies whose pair has the coefficient `pair`."""
    return math.sqrt(pair) if combine is FrictionCombine.PRODUCT else pair


def apply_material(ob: Object, material: dict[str, Any], combine: FrictionCombine) -> None:
    """Set a rigid body's values to those of the material.

    Values that the material lacks are unchanged, except that a grain is removed.
    """
    settings, friction = ob.stiction, material["friction"]
    settings.material = material["name"]
    settings.use_mu_static = settings.use_mu_dynamic = True
    settings.mu_static = share_of(friction["static"], combine)
    settings.mu_dynamic = share_of(friction["dynamic"], combine)
    # Friction published without a direction applies in all directions.
    settings.use_grain = "across" in friction
    if settings.use_grain:
        settings.use_mu_across_dynamic = True
        settings.mu_across = share_of(friction["across"]["static"], combine)
        settings.mu_across_dynamic = share_of(friction["across"]["dynamic"], combine)
    if "restitution" in material:
        settings.use_restitution = True
        # Restitution is always multiplied, as in Blender's own rigid bodies.
        settings.restitution = share_of(material["restitution"]["value"], FrictionCombine.PRODUCT)
    if "density" in material:
        settings.mass_source = "DENSITY"
        settings.density = material["density"]["value"]


def apply_stiffness(ob: Object, material: dict[str, Any]) -> None:
    """Make a rigid body flexible with the material's values; those that it does not have stay."""
    settings = ob.stiction
    settings.use_flexible = True
    for name, key in (("young", "young"), ("poisson", "poisson"), ("damping_ratio", "damping")):
        if key in material:
            setattr(settings, name, material[key]["value"])
    settings.mass_source, settings.density = "DENSITY", material["density"]["value"]


def stiffness_tip(material: dict[str, Any]) -> str:
    return f"{material['young']['value']:g} MPa, {material['density']['value']:g} kg/m³"


def material_tip(material: dict[str, Any]) -> str:
    friction = material["friction"]
    across = friction.get("across")
    other = f"; across the grain {across['static']:g} and {across['dynamic']:g}" if across else ""
    return f"{friction['static']:g} at rest, {friction['dynamic']:g} sliding{other} ({friction['pair']})"


MATERIAL_ITEMS = [(name, name, material_tip(material)) for name, material in MATERIALS.items()]
# Former names of presets, in scripts and keymaps of users.
FORMER_NAMES = {"Structure": "Exact", "Draft": "Production"}
STIFFNESS_ITEMS = [(name, name, stiffness_tip(material)) for name, material in STIFFNESS.items()]
SOLVER_ITEMS = [(name, name, preset["description"]) for name, preset in SOLVER.items()]
FORMER_ITEMS = [(name, now, SOLVER[now]["description"]) for name, now in FORMER_NAMES.items()]
# Presets shown as a row in the panel, with short texts about cost and accuracy.
QUALITIES = {name: preset["figures"] for name, preset in SOLVER.items() if "figures" in preset}


SUBSTEPS_OF_PRESETS = frozenset(preset["substeps"] for preset in SOLVER.values() if "substeps" in preset)


class STICTION_OT_apply_material(Operator):
    """Give the selected rigid bodies the friction, bounciness and density of a material"""

    bl_idname = "stiction.apply_material"
    bl_label = "Apply Material"
    bl_options = UNDOABLE

    material: EnumProperty(name="Material", items=MATERIAL_ITEMS)

    @classmethod
    def poll(cls, context: Context) -> bool:
        if not bodies_to_change(context):
            cls.poll_message_set("Select an object with a rigid body")
            return False
        return True

    def execute(self, context: Context) -> set[str]:
        combine = effective_rule(context.scene)
        bodies = bodies_to_change(context)
        for ob in bodies:
            apply_material(ob, MATERIALS[self.material], combine)
        self.report({"INFO"}, f"{self.material} assigned to {len(bodies)} objects")
        return {"FINISHED"}


class STICTION_OT_apply_stiffness(Operator):
    """Make the selected rigid bodies flexible, with the stiffness and density of a material"""

    bl_idname = "stiction.apply_stiffness"
    bl_label = "Apply Stiffness"
    bl_options = UNDOABLE

    material: EnumProperty(name="Material", items=STIFFNESS_ITEMS)

    @classmethod
    def poll(cls, context: Context) -> bool:
        if not bodies_to_bend(context):
            cls.poll_message_set("Select an active rigid body of the shape Mesh")
            return False
        return True

    def execute(self, context: Context) -> set[str]:
        bodies = bodies_to_bend(context)
        for ob in bodies:
            apply_stiffness(ob, STIFFNESS[self.material])
        # Blender does not announce values set by a script, which outdate the bake.
        context.scene.update_tag()
        self.report({"INFO"}, f"{self.material} assigned to {len(bodies)} objects")
        return {"FINISHED"}


class STICTION_OT_apply_solver_preset(Operator):
    """Set the tolerances and iterations for a purpose, and the substeps if it needs a certain number"""

    bl_idname = "stiction.apply_solver_preset"
    bl_label = "Apply Solver Preset"
    bl_options = UNDOABLE

    preset: EnumProperty(name="Preset", items=[*SOLVER_ITEMS, *FORMER_ITEMS])

    @classmethod
    def description(cls, _context: Context, properties: OperatorProperties) -> str:
        return preset_named(properties.preset)["description"]

    def execute(self, context: Context) -> set[str]:
        preset = preset_named(self.preset)
        for field in SET_BY_PRESETS:
            setattr(context.scene.stiction, field, preset[field])
        settings = context.scene.stiction
        if "substeps" in preset:
            settings.use_substeps, settings.substeps = True, preset["substeps"]
        elif settings.substeps in SUBSTEPS_OF_PRESETS:
            # Values chosen by the user stay.
            settings.use_substeps = False
        # Blender does not announce values set by a script, which outdate the bake.
        context.scene.update_tag()
        return {"FINISHED"}


def preset_named(name: str) -> dict[str, Any]:
    return SOLVER[FORMER_NAMES.get(name, name)]


def has_preset(scene: Scene, name: str) -> bool:
    """Return True if the scene has all values of a solver preset."""
    settings, preset = scene.stiction, preset_named(name)
    are_same = all(is_value(getattr(settings, field), preset[field]) for field in SET_BY_PRESETS)
    of_another = settings.substeps if settings.use_substeps and settings.substeps in SUBSTEPS_OF_PRESETS else None
    return are_same and of_another == preset.get("substeps")


def is_value(value: Any, wanted: Any) -> bool:
    """Return True if a property has a value, in Blender's single precision."""
    return math.isclose(value, wanted, rel_tol=1e-6) if isinstance(wanted, float) else value == wanted


class STICTION_OT_copy_to_selected(Operator):
    """Copy all Stiction settings of the active rigid body to the other selected ones"""

    bl_idname = "stiction.copy_to_selected"
    bl_label = "Copy Stiction to Selected"
    bl_options = UNDOABLE

    @classmethod
    def poll(cls, context: Context) -> bool:
        if context.object is None or context.object.rigid_body is None:
            cls.poll_message_set("The active object has no rigid body")
            return False
        if not [ob for ob in bodies_to_change(context) if ob != context.object]:
            cls.poll_message_set("Also select other objects with a rigid body")
            return False
        return True

    def execute(self, context: Context) -> set[str]:
        source = context.object
        others = [ob for ob in bodies_to_change(context) if ob != source]
        for ob in others:
            copy_settings(source, ob)
        self.report({"INFO"}, f"Settings of {source.name} copied to {len(others)} objects")
        return {"FINISHED"}


def copy_settings(source: Object, target: Object) -> None:
    """Copy the values and the switches of another body. Values that follow Blender's continue to do so."""
    for prop in source.stiction.bl_rna.properties:
        name = prop.identifier
        if name in NOT_SETTINGS:
            continue
        # Always set the value, because a switch that is set for the first time copies Blender's value.
        if source.stiction.is_property_set(name):
            setattr(target.stiction, name, getattr(source.stiction, name))
        else:
            target.stiction.property_unset(name)


class STICTION_MT_materials(Menu):
    bl_label = "Materials"
    bl_description = "Friction, bounciness and density of common materials"

    def draw(self, context: Context) -> None:
        self.layout.operator("stiction.copy_to_selected", text="Copy to Selected", icon="COPYDOWN")
        self.layout.separator()
        self.layout.operator_enum(STICTION_OT_apply_material.bl_idname, "material")


class STICTION_MT_stiffness(Menu):
    bl_label = "Flexible Materials"
    bl_description = "Stiffness and density of common materials"

    def draw(self, context: Context) -> None:
        self.layout.operator_enum(STICTION_OT_apply_stiffness.bl_idname, "material")


class STICTION_MT_solver_presets(Menu):
    bl_label = "Solver Presets"
    bl_description = "Solver settings by purpose"

    def draw(self, context: Context) -> None:
        for name in SOLVER:
            self.layout.operator(STICTION_OT_apply_solver_preset.bl_idname, text=name).preset = name


def bodies_to_change(context: Context) -> list[Object]:
    chosen = {ob.name_full: ob for ob in [*context.selected_objects, context.object] if ob is not None}
    return [ob for ob in chosen.values() if ob.rigid_body is not None and ob.library is None]


def bodies_to_bend(context: Context) -> list[Object]:
    return [ob for ob in bodies_to_change(context) if may_bend(ob)]


CLASSES = (
    STICTION_OT_apply_material,
    STICTION_OT_copy_to_selected,
    STICTION_OT_apply_solver_preset,
    STICTION_OT_apply_stiffness,
    STICTION_MT_materials,
    STICTION_MT_stiffness,
    STICTION_MT_solver_presets,
)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
