# SPDX-License-Identifier: GPL-3.0-or-later
"""User settings of an object, `object.stiction`, and the state that a bake stores.

Values that Blender has, too (friction, restitution, mass) are Blender's unless the user enables a switch `use_...`;
`effective_material` returns the ones in use.
"""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)
from bpy.types import Object, PropertyGroup

from ...presets import MATERIALS
from ...solver_core.scene.spec import Grain, MaterialSpec
from ..blender.overflow import number, numbers

__all__ = [
    "PA",
    "effective_grain",
    "effective_material",
    "may_bend",
    "names_of_materials",
    "pinned_vertices",
    "register",
    "stiffness_of",
    "unknown_choices",
    "unregister",
    "why_rigid",
]

# Pa in an MPa.
PA = 1e6
# Weight from which a vertex belongs to a group.
HALF = 0.5
OVERRIDABLE = {"LIBRARY_OVERRIDABLE"}


def start_from_static(self: ObjectStiction, context: bpy.types.Context) -> None:
    body = self.id_data.rigid_body
    if self.use_mu_static and not self.is_property_set("mu_static") and body is not None:
        self.mu_static = body.friction


def start_from_dynamic(self: ObjectStiction, context: bpy.types.Context) -> None:
    if self.use_mu_dynamic and not self.is_property_set("mu_dynamic") and self.id_data.rigid_body is not None:
        self.mu_dynamic = effective_material(self.id_data).mu_static


def start_from_along(self: ObjectStiction, context: bpy.types.Context) -> None:
    if self.use_grain and not self.is_property_set("mu_across") and self.id_data.rigid_body is not None:
        self.mu_across = effective_material(self.id_data).mu_static


def start_from_across(self: ObjectStiction, context: bpy.types.Context) -> None:
    if self.use_mu_across_dynamic and not self.is_property_set("mu_across_dynamic"):
        self.mu_across_dynamic = self.mu_across


def start_from_restitution(self: ObjectStiction, context: bpy.types.Context) -> None:
    body = self.id_data.rigid_body
    if self.use_restitution and not self.is_property_set("restitution") and body is not None:
        self.restitution = body.restitution


class ChangedConstraint(PropertyGroup):
    """Name (`name`) of an object constraint that a bake disabled."""


class ChangedTrack(PropertyGroup):
    """Name (`name`) of an NLA track that a bake disabled."""


class ChangedDriver(PropertyGroup):
    """Data path (`name`) and index of a driver that a bake disabled."""

    index: IntProperty(override=OVERRIDABLE)


class BendKey(PropertyGroup):
    """Name (`name`) of a shape key that bends the object in a bake, and its modal coordinate at the value 1."""

    scale: FloatProperty(override=OVERRIDABLE)


class ObjectBackup(PropertyGroup):
    """Former values of everything that a bake changed on an object; saved with the file, so that Free Bake works after loading
    it."""

    baked: BoolProperty(name="Baked", description="Moved by a bake", override=OVERRIDABLE)
    body: StringProperty(name="Body", description="Name of the body in the frame cache", override=OVERRIDABLE)
    # Row by row. Blender's matrix subtype takes rows but returns columns.
    rest_world: FloatVectorProperty(
        name="Rest Matrix", description="World matrix at the first frame", size=16, override=OVERRIDABLE
    )
    kinematic: BoolProperty(name="Animated", override=OVERRIDABLE)
    member_of: PointerProperty(type=bpy.types.Collection, override=OVERRIDABLE)
    location: FloatVectorProperty(size=3, override=OVERRIDABLE)
    rotation_euler: FloatVectorProperty(size=3, override=OVERRIDABLE)
    rotation_quaternion: FloatVectorProperty(size=4, default=(1.0, 0.0, 0.0, 0.0), override=OVERRIDABLE)
    rotation_axis_angle: FloatVectorProperty(size=4, default=(0.0, 0.0, 1.0, 0.0), override=OVERRIDABLE)
    scale: FloatVectorProperty(size=3, default=(1.0, 1.0, 1.0), override=OVERRIDABLE)
    delta_location: FloatVectorProperty(size=3, override=OVERRIDABLE)
    delta_rotation_euler: FloatVectorProperty(size=3, override=OVERRIDABLE)
    delta_rotation_quaternion: FloatVectorProperty(size=4, default=(1.0, 0.0, 0.0, 0.0), override=OVERRIDABLE)
    delta_scale: FloatVectorProperty(size=3, default=(1.0, 1.0, 1.0), override=OVERRIDABLE)
    had_animation_data: BoolProperty(override=OVERRIDABLE)
    action: PointerProperty(type=bpy.types.Action, override=OVERRIDABLE)
    action_slot: StringProperty(override=OVERRIDABLE)
    use_nla: BoolProperty(override=OVERRIDABLE)
    tracks: CollectionProperty(type=ChangedTrack, override=OVERRIDABLE | {"USE_INSERTION"})
    solo_track: StringProperty(override=OVERRIDABLE)
    constraints: CollectionProperty(type=ChangedConstraint, override=OVERRIDABLE | {"USE_INSERTION"})
    drivers: CollectionProperty(type=ChangedDriver, override=OVERRIDABLE | {"USE_INSERTION"})
    # of flexible bodies
    mesh: PointerProperty(type=bpy.types.Mesh, override=OVERRIDABLE)
    keys: CollectionProperty(type=BendKey, override=OVERRIDABLE | {"USE_INSERTION"})
    reach: FloatProperty(override=OVERRIDABLE)
    active_key: IntProperty(override=OVERRIDABLE)
    had_keys: BoolProperty(override=OVERRIDABLE)
    had_key_animation: BoolProperty(override=OVERRIDABLE)
    key_action: PointerProperty(type=bpy.types.Action, override=OVERRIDABLE)
    key_action_slot: StringProperty(override=OVERRIDABLE)


def names_of_materials(self: PropertyGroup, context: bpy.types.Context, text: str) -> list[str]:
    """Return the suggested names: those in the scene's pairs, and those of the presets."""
    used = {name for pair in context.scene.stiction.pairs for name in (pair.a, pair.b)} if context.scene is not None else set()
    return sorted(name for name in used | set(MATERIALS) if name and text.lower() in name.lower())


class ObjectStiction(PropertyGroup):
    """Stiction's settings of a rigid body, in addition to Blender's."""

    material: StringProperty(
        name="Material",
        description="Name of this surface in the scene's table of Pairs; it has no effect by itself",
        search=names_of_materials,
        search_options={"SUGGESTION"},
        override=OVERRIDABLE,
    )
    use_mu_static: BoolProperty(
        name="Override Static Friction",
        description="Use the coefficient here instead of the friction of Blender's rigid body",
        override=OVERRIDABLE,
        update=start_from_static,
    )
    mu_static: FloatProperty(
        name="Static Friction",
        description="Coefficient of friction of this surface while it does not slide",
        default=0.5,
        min=0.0,
        soft_max=1.5,
        precision=3,
        step=1,
        override=OVERRIDABLE,
    )
    use_mu_dynamic: BoolProperty(
        name="Override Dynamic Friction",
        description="Use another coefficient while the surface slides; otherwise static friction",
        override=OVERRIDABLE,
        update=start_from_dynamic,
    )
    mu_dynamic: FloatProperty(
        name="Dynamic Friction",
        description="Coefficient of friction of this surface while it slides",
        default=0.5,
        min=0.0,
        soft_max=1.5,
        precision=3,
        step=1,
        override=OVERRIDABLE,
    )
    use_grain: BoolProperty(
        name="Grain",
        description="Use a different friction across a direction of the object, as for wood or a skate",
        override=OVERRIDABLE,
        update=start_from_along,
    )
    grain_direction: FloatVectorProperty(
        name="Direction",
        description="Direction of the grain in the object's local axes; its length has no effect",
        size=3,
        default=(1.0, 0.0, 0.0),
        subtype="XYZ",
        precision=3,
        override=OVERRIDABLE,
    )
    mu_across: FloatProperty(
        name="Friction Across",
        description="Coefficient of friction across the grain; the surface's ordinary friction applies along it",
        default=0.5,
        min=0.0,
        soft_max=1.5,
        precision=3,
        step=1,
        override=OVERRIDABLE,
    )
    use_mu_across_dynamic: BoolProperty(
        name="Override Dynamic Friction Across",
        description="Use another coefficient across the grain while the surface slides",
        override=OVERRIDABLE,
        update=start_from_across,
    )
    mu_across_dynamic: FloatProperty(
        name="Dynamic Friction Across",
        description="Coefficient of friction across the grain while the surface slides",
        default=0.5,
        min=0.0,
        soft_max=1.5,
        precision=3,
        step=1,
        override=OVERRIDABLE,
    )
    use_restitution: BoolProperty(
        name="Override Bounciness",
        description="Use the coefficient here instead of the bounciness of Blender's rigid body",
        override=OVERRIDABLE,
        update=start_from_restitution,
    )
    restitution: FloatProperty(
        name="Bounciness",
        description="Ratio of the speeds after and before an impact",
        default=0.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        precision=3,
        override=OVERRIDABLE,
    )
    mass_source: EnumProperty(
        name="Mass Source",
        description="Source of the mass",
        items=(
            ("MASS", "Mass", "The mass of Blender's rigid body"),
            ("DENSITY", "Density", "Density times the volume of the collision shape"),
        ),
        override=OVERRIDABLE,
    )
    density: FloatProperty(
        name="Density",
        description="Mass per volume in kg/m³",
        default=1000.0,
        min=0.0,
        soft_min=1.0,
        soft_max=20000.0,
        precision=1,
        override=OVERRIDABLE,
    )
    rolling: FloatProperty(
        name="Rolling Friction",
        description="Largest moment against rolling per normal force; the larger value of two surfaces counts",
        default=0.0,
        min=0.0,
        soft_max=0.1,
        precision=4,
        step=0.1,
        subtype="DISTANCE",
        unit="LENGTH",
        override=OVERRIDABLE,
    )
    torsion: FloatProperty(
        name="Torsional Friction",
        description="Largest moment against spinning in place per normal force; the larger value of two surfaces counts",
        default=0.0,
        min=0.0,
        soft_max=0.1,
        precision=4,
        step=0.1,
        subtype="DISTANCE",
        unit="LENGTH",
        override=OVERRIDABLE,
    )
    surface_velocity: FloatVectorProperty(
        name="Velocity",
        description="Velocity of the surface along the object's local axes, as for a conveyor belt; it can be keyed",
        size=3,
        subtype="VELOCITY",
        unit="VELOCITY",
        precision=3,
        override=OVERRIDABLE,
    )
    surface_spin: FloatVectorProperty(
        name="Spin",
        description="Angular velocity of the surface about the object's origin, as for a turntable; it can be keyed",
        size=3,
        subtype="EULER",
        unit="ROTATION",
        override=OVERRIDABLE,
    )
    center_of_mass: EnumProperty(
        name="Center of Mass",
        description="Point about which an active body turns in flight",
        items=(
            ("VOLUME", "Volume", "The center of the volume of the collision shape"),
            ("ORIGIN", "Origin", "The origin of the object, as in Blender"),
            ("OBJECT", "Object", "The origin of another object, such as an empty, at the first frame"),
        ),
        override=OVERRIDABLE,
    )
    center_object: PointerProperty(
        name="Object",
        description="Object whose origin is the center of mass, and whose axes are the principal axes of inertia",
        type=Object,
        override=OVERRIDABLE,
    )
    own_inertia: BoolProperty(
        name="Override Inertia",
        description="Use the moments of inertia here instead of those of the collision shape",
        override=OVERRIDABLE,
    )
    moments: FloatVectorProperty(
        name="Moments of Inertia",
        description="Principal moments of inertia about the center of mass in kg m²",
        size=3,
        default=(1.0, 1.0, 1.0),
        min=0.0,
        subtype="XYZ",
        precision=4,
        override=OVERRIDABLE,
    )
    use_collider: BoolProperty(
        name="Collider",
        description="Let the body collide; without a collider it is a link of a machine and needs Override Inertia",
        default=True,
        override=OVERRIDABLE,
    )
    initial_motion: EnumProperty(
        name="Initial Motion",
        description="Motion of an active body at the start of the simulation",
        items=(
            ("REST", "At Rest", "It starts at rest"),
            ("VALUES", "Values", "It starts with the velocities set here"),
            ("ANIMATION", "Animation", "It continues the motion of its animation from the first frame to the second"),
        ),
        override=OVERRIDABLE,
    )
    velocity: FloatVectorProperty(
        name="Velocity",
        description="Velocity of the object's origin at the first frame, along the world axes",
        size=3,
        subtype="VELOCITY",
        unit="VELOCITY",
        precision=3,
        override=OVERRIDABLE,
    )
    angular_velocity: FloatVectorProperty(
        name="Angular Velocity",
        description="Angular velocity at the first frame, about the world axes",
        size=3,
        subtype="EULER",
        unit="ROTATION",
        override=OVERRIDABLE,
    )
    blend_frames: IntProperty(
        name="Blend",
        description="Number of frames in which the body moves to its keyframes after Animated is keyed on during the shot",
        default=0,
        min=0,
        soft_max=100,
        override=OVERRIDABLE,
    )
    hold_bodies: EnumProperty(
        name="Hold Bodies",
        description="Where the constraint holds its bodies after it is enabled during the shot",
        items=(
            ("SET_UP", "Where Set Up", "It pulls them back to their relative position at the first frame, as in Blender"),
            ("ENABLED", "Where Enabled", "It holds them in their relative position when it is enabled"),
        ),
        override=OVERRIDABLE,
    )
    use_flexible: BoolProperty(
        name="Flexible",
        description="Let the body bend: an active body of the shape Mesh, with a closed mesh",
        override=OVERRIDABLE,
    )
    young: FloatProperty(
        name="Stiffness",
        description="Young's modulus in MPa: foam has 1, rubber 3, plastics 2000, wood 10000, steel 200000",
        default=1000.0,
        min=0.0,
        soft_min=0.01,
        soft_max=250000.0,
        precision=2,
        override=OVERRIDABLE,
    )
    poisson: FloatProperty(
        name="Poisson's Ratio",
        description="Ratio of the lateral contraction to the stretch; up to 0.45, which is also good for rubber",
        default=0.3,
        min=0.0,
        max=0.5,
        soft_max=0.45,
        precision=3,
        step=1,
        override=OVERRIDABLE,
    )
    damping_ratio: FloatProperty(
        name="Damping",
        description="Damping ratio of the slowest vibration: 0 rings forever, 1 does not vibrate",
        default=0.02,
        min=0.0,
        soft_max=1.0,
        precision=3,
        step=1,
        override=OVERRIDABLE,
    )
    use_large_bends: BoolProperty(
        name="Large Bends",
        description="Compute large bends and twists correctly, such as those of rubber and foam",
        override=OVERRIDABLE,
    )
    modes: IntProperty(
        name="Modes",
        description="Largest number of vibration modes, from the lowest frequency up; each becomes a shape key",
        default=12,
        min=1,
        soft_max=60,
        override=OVERRIDABLE,
    )
    resolution: IntProperty(
        name="Bricks",
        description="Number of bricks along the longest side that the stiffness is computed with; 0 for automatic",
        default=0,
        min=0,
        soft_max=200,
        override=OVERRIDABLE,
    )
    pin_group: StringProperty(
        name="Pin Group",
        description="Vertex group that is fixed in place, with weights of 0.5 or more; empty for a free body",
        override=OVERRIDABLE,
    )
    backup: PointerProperty(type=ObjectBackup, override=OVERRIDABLE)


CLASSES = (ChangedConstraint, ChangedTrack, ChangedDriver, BendKey, ObjectBackup, ObjectStiction)


def effective_material(ob: Object) -> MaterialSpec:
    """Return the surface of a rigid body: Blender's values unless overridden."""
    settings, body = ob.stiction, ob.rigid_body
    mu_static = number(settings.mu_static if settings.use_mu_static else body.friction)
    return MaterialSpec(
        mu_static=mu_static,
        mu_dynamic=number(settings.mu_dynamic) if settings.use_mu_dynamic else mu_static,
        restitution=settings.restitution if settings.use_restitution else body.restitution,
        name=settings.material,
        rolling=number(settings.rolling),
        torsion=number(settings.torsion),
        grain=effective_grain(settings),
    )


def effective_grain(settings: ObjectStiction) -> Grain | None:
    """Return the grain of the surface of an object, or None."""
    if not settings.use_grain:
        return None
    x, y, z = (float(value) for value in numbers(settings.grain_direction))
    across = number(settings.mu_across)
    return Grain((x, y, z), across, number(settings.mu_across_dynamic) if settings.use_mu_across_dynamic else across)


def may_bend(ob: Object) -> bool:
    """Return True if the object can be flexible: an active body of the shape Mesh."""
    return ob.rigid_body is not None and not why_rigid(ob)


def why_rigid(ob: Object) -> str:
    """Return why a rigid body's type or shape cannot be flexible, with the remedy; "" if it can."""
    body = ob.rigid_body
    if body.type != "ACTIVE":
        return "Only active bodies bend: choose the type Active"
    if body.collision_shape != "MESH":
        shape = body.bl_rna.properties["collision_shape"].enum_items[body.collision_shape].name
        return f"The shape {shape} cannot bend: choose the shape Mesh"
    return ""


def stiffness_of(ob: Object) -> tuple[float, ...]:
    """Return all numbers that determine the flexibility of a body except its mesh and mass; the modulus in Pa."""
    settings = ob.stiction
    return (
        PA * number(settings.young),
        number(settings.poisson),
        settings.modes,
        settings.resolution,
        number(settings.damping_ratio),
    )


def pinned_vertices(ob: Object) -> list[int]:
    """Return the pinned vertices of a mesh object; none without the vertex group."""
    group = ob.vertex_groups.get(ob.stiction.pin_group) if ob.stiction.pin_group else None
    if group is None:
        return []
    held = ((vertex.index, one) for vertex in ob.data.vertices for one in vertex.groups)
    return [index for index, one in held if one.group == group.index and one.weight >= HALF]


def unknown_choices(settings: PropertyGroup) -> list[str]:
    """Yield enum values that this version does not have, as in a file of a later version; Blender has no names for them."""
    return [
        prop.identifier
        for prop in settings.bl_rna.properties
        if prop.type == "ENUM" and getattr(settings, prop.identifier) == ""
    ]


register_classes, unregister_classes = bpy.utils.register_classes_factory(CLASSES)


def register() -> None:
    """Register the properties of objects."""
    register_classes()
    Object.stiction = PointerProperty(type=ObjectStiction, override=OVERRIDABLE)


def unregister() -> None:
    """Undo `register`."""
    del Object.stiction
    unregister_classes()
