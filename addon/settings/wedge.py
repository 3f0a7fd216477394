# SPDX-License-Identifier: GPL-3.0-or-later
"""User settings of a sweep, `scene.stiction_wedge`, and its state, `window_manager.stiction_wedge`."""
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

from ...solver_core.scene.words import in_words
from ...solver_core.sweep.axes import BODY_FIELDS, SCENE_FIELDS
from .properties import BLEND_RELATIVE

__all__ = ["add_axis", "axes_of", "name_of_body", "register", "unregister"]

TIPS = {
    "friction": "Static and dynamic friction of the surface",
    "mu_static": "Friction of a surface at rest",
    "mu_dynamic": "Friction of a sliding surface",
    "restitution": "Bounciness of the surface",
    "mass": "Mass of an active body, in kg",
    "density": "Density of an active body, in kg/m³",
    "linear_damping": "Damping of the motion of an active body",
    "angular_damping": "Damping of the rotation of an active body",
    "substeps": "Time steps per frame",
    "tolerance": "Largest relative error of a converged time step",
    "moving_tolerance": "Largest relative error where many bodies move",
    "max_iterations": "Largest number of iterations of a time step",
    "recovery_speed": "Speed at which overlapping bodies are separated, in half extents of the smaller body per second",
    "method": "Method that solves contacts: staggered, pivot, energy",
    "seed": "Integer that determines a small push of each active body at the start",
}
# Defaults of a second axis, because friction twice would be refused.
SECOND, VALUES_OF_SECOND = "seed", "1:5"
FIELDS = (*BODY_FIELDS, *SCENE_FIELDS)
ITEMS = [(field, in_words(field).title().replace(" In ", " in "), TIPS[field], place) for place, field in enumerate(FIELDS)]


def is_body(self: PropertyGroup, ob: Object) -> bool:
    return ob.rigid_body is not None


class WedgeAxis(PropertyGroup):
    """A varied parameter."""

    field: EnumProperty(name="Parameter", description="Parameter that differs between the variations", items=ITEMS)
    body: PointerProperty(
        name="Body", description="Rigid body with the varied parameter; empty for all of them", type=Object, poll=is_body
    )
    values: StringProperty(
        name="Values",
        description="Values separated by commas; FIRST:LAST:COUNT for evenly spaced ones, FIRST:LAST for integers",
        default="0.2:0.8:7",
    )


class SceneWedge(PropertyGroup):
    """The varied parameters of a sweep, and where it is baked."""

    axes: CollectionProperty(type=WedgeAxis)
    axis_index: IntProperty(name="Axis")
    workers: IntProperty(
        name="Workers",
        description="Number of simultaneous bakes, each on one thread; 0 for one per core",
        default=0,
        min=0,
        soft_max=64,
    )
    folder: StringProperty(
        name="Folder",
        description="Folder for the bakes and the sheet; bakes of the same scene in it are not repeated",
        default="//sweep",
        subtype="DIR_PATH",
        options=BLEND_RELATIVE,
    )


class SessionWedge(PropertyGroup):
    """The running sweep, and the result of the last one; never saved, and not affected by undo."""

    is_running: BoolProperty(options={"SKIP_SAVE"})
    is_cancelled: BoolProperty(options={"SKIP_SAVE"})
    factor: FloatProperty(options={"SKIP_SAVE"})
    status: StringProperty(options={"SKIP_SAVE"})
    result: StringProperty(options={"SKIP_SAVE"})
    trouble: StringProperty(options={"SKIP_SAVE"})
    sheet: StringProperty(options={"SKIP_SAVE"})


def add_axis(wedge: PropertyGroup) -> None:
    """Add an axis with defaults that differ from those of the first one."""
    varied = {axis.field for axis in wedge.axes}
    axis = wedge.axes.add()
    if axis.field in varied and SECOND not in varied:
        axis.field, axis.values = SECOND, VALUES_OF_SECOND


def axes_of(wedge: PropertyGroup) -> list[str]:
    """Return the axes in the notation of the command line: [OBJECT:]FIELD=VALUES."""
    return [f"{name_of_body(axis)}{axis.field}={axis.values}" for axis in wedge.axes]


def name_of_body(axis: PropertyGroup) -> str:
    """Return the name of the body and a colon, or "" for the scene or all bodies."""
    body = axis.body if axis.field in BODY_FIELDS else None
    return "" if body is None else f"{body.name_full}:"


CLASSES = (WedgeAxis, SceneWedge, SessionWedge)


def register() -> None:
    """Register the properties of scenes and of the window manager."""
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    Scene.stiction_wedge = PointerProperty(type=SceneWedge)
    bpy.types.WindowManager.stiction_wedge = PointerProperty(type=SessionWedge)


def unregister() -> None:
    """Undo `register`."""
    del bpy.types.WindowManager.stiction_wedge
    del Scene.stiction_wedge
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
