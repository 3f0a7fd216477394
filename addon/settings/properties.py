# SPDX-License-Identifier: GPL-3.0-or-later
"""User settings of a scene, `scene.stiction`, and state of the session, `window_manager.stiction`.

Values that Blender has, too (substeps, frame range) are Blender's unless the user enables a switch `use_...`, which is off by
default. The `effective_...` functions return the values in use.
"""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)
from bpy.types import Object, PropertyGroup, Scene

from ...solver_core.scene.spec import ContactMethod, FrictionCombine, PairSpec, SolverSettings
from ...solver_core.threads.count import MOST_ASKED
from .object_properties import names_of_materials

__all__ = [
    "BLEND_RELATIVE",
    "effective_frame_range",
    "effective_pairs",
    "effective_rule",
    "effective_settings",
    "register",
    "set_last_frame",
    "unregister",
]

# In Blender versions with this option, a path starting with // without the option is an error.
BLEND_RELATIVE = {"PATH_SUPPORTS_BLEND_RELATIVE"} if bpy.app.version >= (4, 5, 0) else {"ANIMATABLE"}


def name_pair(self: PairFriction, context: bpy.types.Context) -> None:
    # text displayed and filtered in the list
    self.name = f"{self.a or '?'} – {self.b or '?'}"  # noqa: RUF001 (a dash between two names)


class PairFriction(PropertyGroup):
    """Friction between two materials."""

    a: StringProperty(
        name="Material",
        description="Name of a material of objects",
        search=names_of_materials,
        search_options={"SUGGESTION"},
        update=name_pair,
    )
    b: StringProperty(
        name="Against",
        description="Name of the other material, which may be the same",
        search=names_of_materials,
        search_options={"SUGGESTION"},
        update=name_pair,
    )
    mu_static: FloatProperty(
        name="Static Friction",
        description="Coefficient of friction of the two materials while they do not slide",
        default=0.5,
        min=0.0,
        soft_max=1.5,
        precision=3,
        step=1,
    )
    mu_dynamic: FloatProperty(
        name="Dynamic Friction",
        description="Coefficient of friction of the two materials while they slide",
        default=0.5,
        min=0.0,
        soft_max=1.5,
        precision=3,
        step=1,
    )


class SceneBake(PropertyGroup):
    """The bake of a scene; saved with the file."""

    state: EnumProperty(
        name="State",
        items=(
            ("NONE", "Not Baked", "There is no bake"),
            ("CACHED", "Cached", "The bodies follow the frames in the cache"),
            ("KEYED", "Keyframes", "The bodies have keyframes"),
        ),
    )
    cache: StringProperty(name="Cache File", subtype="FILE_PATH", options=BLEND_RELATIVE)
    digest: StringProperty(name="Digest", description="Of the scene and the settings that the frames were baked from")
    made_from: StringProperty(name="Made From", description="Digests of each body and of the scene, to tell what changed")
    earlier: StringProperty(name="Earlier Frames", description="Which of the first frames are from other bakes, one per line")
    shows_start: BoolProperty(name="Shows Start", description="The bodies are shown at the first frame")
    frame_start: IntProperty()
    frame_end: IntProperty()
    end_before: IntProperty(description="Last frame of the range before Keep lengthened it, 0 if it did not")
    end_kept: IntProperty(description="Last frame of the range that Keep set")
    last_frame: IntProperty()
    missed_steps: IntProperty()
    seconds_a_frame: FloatProperty(description="Of the last frames of the bake")
    moving: IntProperty()
    summary: StringProperty()
    solved_by: StringProperty()
    overlap: StringProperty()
    overlap_is_visible: BoolProperty()


class SceneStiction(PropertyGroup):
    """Settings of the bakes of a scene."""

    method: EnumProperty(
        name="Method",
        description="Algorithm that finds the contact and friction forces of every step",
        items=(
            (ContactMethod.STAGGERED.name, "Staggered Projections", "Contact and friction solved in turn until both agree"),
            (ContactMethod.PIVOT.name, "Pivoting", "Contacts added one by one; exact, for scenes with few contacts"),
            (
                ContactMethod.ENERGY.name,
                "Energy",
                "The smallest forces, with evenly shared loads; for scenes with few contacts",
            ),
        ),
    )
    tolerance: FloatProperty(
        name="Tolerance",
        description="Largest relative error of a converged step",
        default=SolverSettings.tolerance,
        min=1e-12,
        max=1e-1,
        soft_min=1e-10,
        precision=6,
        step=1,
    )
    moving_tolerance: FloatProperty(
        name="Moving Tolerance",
        description="Largest relative error of steps of more than 32 moving bodies in contact, until they come to rest; all "
        "others use the tolerance above. The last digits of a pile take ten times as long. Staggered Projections only",
        default=SolverSettings.moving_tolerance,
        min=1e-12,
        max=1e-1,
        soft_min=1e-10,
        precision=6,
        step=1,
    )
    max_iterations: IntProperty(
        name="Maximum Iterations",
        description="Largest number of iterations of a step, after which the best result so far is used and reported",
        default=SolverSettings.max_iterations,
        min=1,
        soft_max=1000,
    )
    step_time_limit: FloatProperty(
        name="Step Time Limit",
        description="Largest time of a step, after which the best result so far is used and reported; 0 for no limit. With a "
        "limit, two bakes of the same scene may differ",
        default=SolverSettings.step_time_limit,
        min=0.0,
        soft_max=60.0,
        precision=3,
        subtype="TIME_ABSOLUTE",
    )
    recovery_speed: FloatProperty(
        name="Recovery Speed",
        description="Speed at which overlapping bodies are separated, in half extents of the smaller body per second. It adds "
        "no velocity",
        default=SolverSettings.recovery_speed,
        min=0.001,
        soft_max=5.0,
        max=100.0,
        precision=3,
    )
    use_substeps: BoolProperty(
        name="Override Substeps", description="Use a number of time steps per frame different from Blender's rigid body world"
    )
    substeps: IntProperty(
        name="Substeps", description="Time steps per frame", default=SolverSettings.substeps, min=1, soft_max=100, max=32767
    )
    use_frame_range: BoolProperty(
        name="Override Frame Range", description="Bake a frame range different from that of the rigid body world's cache"
    )
    frame_start: IntProperty(name="Start", description="First frame of the bake", default=1, min=-1048574, max=1048574)
    frame_end: IntProperty(name="End", description="Last frame of the bake", default=250, min=-1048574, max=1048574)
    use_sleeping: BoolProperty(
        name="Sleep at Rest",
        description="Leave resting bodies out of the steps until something approaches them",
        default=SolverSettings.sleeping,
    )
    friction_combine: EnumProperty(
        name="Combine Friction",
        description="Rule that combines the coefficients of two touching bodies",
        items=(
            (FrictionCombine.PRODUCT.name, "Product", "Product of the two, as in Blender's own rigid bodies"),
            (FrictionCombine.AVERAGE.name, "Average", "Mean of the two"),
            (FrictionCombine.GEOMETRIC_MEAN.name, "Geometric Mean", "Square root of the product"),
            (FrictionCombine.MINIMUM.name, "Minimum", "The smaller of the two"),
            (FrictionCombine.MAXIMUM.name, "Maximum", "The larger of the two"),
        ),
    )
    pairs: CollectionProperty(type=PairFriction)
    pair_index: IntProperty(name="Pair", description="The pair that is shown", options=set())
    cache_directory: StringProperty(
        name="Cache Folder",
        description="Folder for the baked frames; // is the folder of the .blend file",
        subtype="DIR_PATH",
        options=BLEND_RELATIVE,
        default="//stiction_cache",
    )
    keep_contacts: BoolProperty(
        name="Keep Contacts",
        description="Keep the contacts of every frame in the cache, with their forces, for display; the motion is the same",
    )
    threads: IntProperty(
        name="Threads",
        description="Threads for many islands and large piles, 0 for one per processor. The motion does not depend on it",
        default=0,
        min=0,
        soft_max=16,
        max=MOST_ASKED,
    )
    pair_object: PointerProperty(
        name="Against",
        description="Body whose friction with the active one is shown",
        type=Object,
        poll=lambda _self, other: other.rigid_body is not None,
    )
    bake: PointerProperty(type=SceneBake)


class SessionMessage(PropertyGroup):
    """A line (`name`) for the panel."""

    is_error: BoolProperty()


class SessionChange(PropertyGroup):
    """A change (`name`) in a scene since its bake."""

    scene: StringProperty()
    is_lost: BoolProperty(name="Lost", description="The cached frames are missing")


class SessionObject(PropertyGroup):
    """An object (`name`) of a finding, and a number."""

    value: FloatProperty()


class SessionFinding(PropertyGroup):
    """A finding (`name`) of Check Scene, with its objects and field."""

    level: StringProperty()
    field: StringProperty()
    objects: CollectionProperty(type=SessionObject)


class SessionFlexible(PropertyGroup):
    """The summary of a flexible object (`name`) after its modes were computed, and its inputs at that time."""

    inputs: StringProperty()
    words: StringProperty()
    too_stiff: BoolProperty()


class SessionStiction(PropertyGroup):
    """State of the session; never saved, and not affected by undo."""

    is_baking: BoolProperty(options={"SKIP_SAVE"})
    is_cancelled: BoolProperty(options={"SKIP_SAVE"})
    is_paused: BoolProperty(options={"SKIP_SAVE"})
    factor: FloatProperty(options={"SKIP_SAVE"})
    status: StringProperty(options={"SKIP_SAVE"})
    details: StringProperty(options={"SKIP_SAVE"})
    compiling: StringProperty(options={"SKIP_SAVE"})
    compiling_factor: FloatProperty(options={"SKIP_SAVE"})
    messages: CollectionProperty(type=SessionMessage, options={"SKIP_SAVE"})
    changes: CollectionProperty(type=SessionChange, options={"SKIP_SAVE"})
    findings: CollectionProperty(type=SessionFinding, options={"SKIP_SAVE"})
    flexible: CollectionProperty(type=SessionFlexible, options={"SKIP_SAVE"})
    check_number: IntProperty(options={"SKIP_SAVE"})
    was_checked: BoolProperty(options={"SKIP_SAVE"})
    # session_uid of the checked scene, digests of its inputs at that time, and its changes since then, one per line
    checked_scene: StringProperty(options={"SKIP_SAVE"})
    checked_from: StringProperty(options={"SKIP_SAVE"})
    changes_since_check: StringProperty(options={"SKIP_SAVE"})
    is_checking: BoolProperty(options={"SKIP_SAVE"})
    check_status: StringProperty(options={"SKIP_SAVE"})
    # description of the last live simulation, and the session_uid of its scene
    take: StringProperty(options={"SKIP_SAVE"})
    take_scene: StringProperty(options={"SKIP_SAVE"})
    # while the scene is temporarily changed
    is_reading: BoolProperty(options={"SKIP_SAVE"})


CLASSES = (
    PairFriction,
    SceneBake,
    SceneStiction,
    SessionMessage,
    SessionChange,
    SessionObject,
    SessionFinding,
    SessionFlexible,
    SessionStiction,
)


def effective_pairs(scene: Scene) -> tuple[PairSpec, ...]:
    """Return the scene's table of pairs."""
    return tuple(PairSpec(pair.a, pair.b, pair.mu_static, pair.mu_dynamic) for pair in scene.stiction.pairs)


def effective_rule(scene: Scene) -> FrictionCombine:
    """Return the combination rule of the coefficients; unknown values as in `effective_settings`."""
    return FrictionCombine.__members__.get(scene.stiction.friction_combine, FrictionCombine.PRODUCT)


def effective_frame_range(scene: Scene) -> tuple[int, int]:
    """Return the first and last frame of the bake; the rigid body world must exist."""
    settings = scene.stiction
    if settings.use_frame_range:
        return settings.frame_start, settings.frame_end
    cache = scene.rigidbody_world.point_cache
    return cache.frame_start, cache.frame_end


def set_last_frame(scene: Scene, last: int) -> None:
    """Set the last frame of the bake; the rigid body world must exist."""
    settings = scene.stiction
    (settings if settings.use_frame_range else scene.rigidbody_world.point_cache).frame_end = last


def effective_settings(scene: Scene) -> SolverSettings:
    """Return the solver settings of the scene; without a rigid body world, with the default number of substeps.

    An enum value that this version does not have counts as the default, and `unknown_choices` names it. Options only for
    published tables have their defaults.
    """
    settings, world = scene.stiction, scene.rigidbody_world
    of_world = SolverSettings.substeps if world is None else world.substeps_per_frame
    method = ContactMethod.__members__.get(settings.method, SolverSettings.method)
    return SolverSettings(
        method=method,
        tolerance=settings.tolerance,
        moving_tolerance=settings.moving_tolerance,
        max_iterations=settings.max_iterations,
        substeps=settings.substeps if settings.use_substeps else of_world,
        sleeping=settings.use_sleeping,
        step_time_limit=settings.step_time_limit,
        recovery_speed=settings.recovery_speed,
    )


register_classes, unregister_classes = bpy.utils.register_classes_factory(CLASSES)


def register() -> None:
    """Register the properties of scenes and of the session."""
    register_classes()
    Scene.stiction = PointerProperty(type=SceneStiction)
    bpy.types.WindowManager.stiction = PointerProperty(type=SessionStiction)


def unregister() -> None:
    """Undo `register`."""
    del bpy.types.WindowManager.stiction
    del Scene.stiction
    unregister_classes()
