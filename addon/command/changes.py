# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of the open scene and its bodies by the command line before a bake. Invalid values are refused, not clamped."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
from bpy.types import Object, Scene

from ...solver_core.process.command_line import UsageError
from ...solver_core.scene.spec import ContactMethod, Staggering
from ..settings.properties import effective_frame_range

__all__ = ["SETTERS", "set_body", "set_checked", "set_scene", "warnings_of"]


def set_scene(scene: Scene, arguments: argparse.Namespace) -> None:
    """Set what the options say of the scene. Raises UsageError, and may then have set a part."""
    settings = scene.stiction
    if arguments.start is not None or arguments.end is not None:
        if scene.rigidbody_world is not None:
            settings.frame_start, settings.frame_end = effective_frame_range(scene)
        settings.use_frame_range = True
        for name, argument in (("frame_start", "start"), ("frame_end", "end")):
            set_checked(settings, name, getattr(arguments, argument), f"--{argument}")
    if arguments.method is not None:
        settings.method = ContactMethod(arguments.method).name
    set_checked(settings, "tolerance", arguments.tolerance, "--tolerance")
    set_checked(settings, "moving_tolerance", arguments.moving_tolerance, "--moving-tolerance")
    set_checked(settings, "max_iterations", arguments.max_iterations, "--max-iterations")
    set_checked(settings, "step_time_limit", arguments.step_time_limit, "--step-time-limit")
    set_checked(settings, "recovery_speed", arguments.recovery_speed, "--recovery-speed")
    if arguments.substeps is not None:
        settings.use_substeps = True
        set_checked(settings, "substeps", arguments.substeps, "--substeps")
    if getattr(arguments, "cache", None) is not None:
        settings.cache_directory = str(Path(arguments.cache).resolve())


def warnings_of(arguments: argparse.Namespace) -> list[str]:
    """Return messages about options of earlier versions. Options without effect are accepted.

    Raises UsageError for an option that requests another algorithm.
    """
    if arguments.staggering not in (None, Staggering.ACCELERATED.value):
        raise UsageError(
            f"--staggering: bakes are always accelerated; {arguments.staggering} is an option of the "
            f"library: solver_core.Simulation(spec, staggering={arguments.staggering!r})"
        )
    warnings = []
    if arguments.crowd_limit is not None:
        warnings.append("--crowd-limit no longer has an effect: only --moving-tolerance applies to large moving islands")
    if arguments.step_accuracy is not None:
        warnings.append("--step-accuracy no longer has an effect: time steps do not depend on each other")
    if arguments.staggering is not None:
        warnings.append("--staggering no longer has an effect: bakes are always accelerated")
    return warnings


def set_checked(owner: Any, name: str, value: float | None, label: str) -> None:
    """Set a property, or leave it without a value; Blender alone would clamp a wrong one in silence. Raises UsageError."""
    if value is None:
        return
    limits = owner.bl_rna.properties[name]
    # The limits are in single precision, like the property.
    low, high = limits.hard_min, limits.hard_max
    if not (math.isfinite(value) and low <= value <= high):
        raise UsageError(f"{label}: {value} is not between {low:.6g} and {high:.6g}")
    setattr(owner, name, value)


def set_friction(ob: Object, value: float, label: str) -> None:
    set_own("mu_static")(ob, value, label)
    set_own("mu_dynamic")(ob, value, label)


def set_own(name: str) -> Callable[[Object, float, str], None]:
    def assign(ob: Object, value: float, label: str) -> None:
        set_checked(ob.stiction, name, value, label)
        setattr(ob.stiction, f"use_{name}", True)

    return assign


def set_mass(ob: Object, value: float, label: str) -> None:
    set_checked(ob.rigid_body, "mass", value, label)
    ob.stiction.mass_source = "MASS"


def set_density(ob: Object, value: float, label: str) -> None:
    set_checked(ob.stiction, "density", value, label)
    ob.stiction.mass_source = "DENSITY"


def set_young(ob: Object, value: float, label: str) -> None:
    set_checked(ob.stiction, "young", value, label)
    ob.stiction.use_flexible = True


def set_blender(name: str) -> Callable[[Object, float, str], None]:
    return lambda ob, value, label: set_checked(ob.rigid_body, name, value, label)


SETTERS: dict[str, Callable[[Object, float, str], None]] = {
    "friction": set_friction,
    "mu_static": set_own("mu_static"),
    "mu_dynamic": set_own("mu_dynamic"),
    "restitution": set_own("restitution"),
    "mass": set_mass,
    "density": set_density,
    "young": set_young,
    "linear_damping": set_blender("linear_damping"),
    "angular_damping": set_blender("angular_damping"),
}


def set_body(assignment: str) -> None:
    """Apply OBJECT:FIELD=VALUE. An object's name may contain colons and equals signs. Raises UsageError."""
    label = f"--set {assignment!r}"
    match = re.fullmatch(r"(?P<object>.+):(?P<field>[^:=]+)=(?P<value>[^=]*)", assignment)
    if match is None:
        raise UsageError(f"{label}: must look like OBJECT:FIELD=VALUE")
    ob = bpy.context.scene.objects.get(match["object"])
    if ob is None:
        raise UsageError(f"{label}: the scene has no object {match['object']!r}")
    if ob.rigid_body is None:
        raise UsageError(f"{label}: the object {match['object']!r} has no rigid body")
    if match["field"] not in SETTERS:
        raise UsageError(f"{label}: there is no field {match['field']!r}; the fields are {', '.join(SETTERS)}")
    try:
        value = float(match["value"])
    except ValueError:
        raise UsageError(f"{label}: {match['value']!r} is not a number") from None
    SETTERS[match["field"]](ob, value, label)
