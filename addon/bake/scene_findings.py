# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings from Blender's data alone: frame range, broken constraints between bodies that do not collide, and debris."""

from __future__ import annotations

from collections.abc import Iterator

from bpy.types import Object, Scene

from ..blender.rigid_bodies import constraints_of
from ..settings.properties import effective_frame_range
from .finding import Finding

__all__ = ["broken_glue", "lost_debris", "range_of_bake"]


def range_of_bake(scene: Scene) -> Iterator[Finding]:
    """Yield a finding if the bake and the scene end at different frames."""
    _, end = effective_frame_range(scene)
    if end < scene.frame_end:
        message = f"the bake ends at frame {end} and the scene at {scene.frame_end}: after {end} no body moves"
        yield Finding("WARNING", (), "bake_range", message)
    elif end > scene.frame_end:
        message = (
            f"the bake ends at frame {end} and the scene at {scene.frame_end}: {end - scene.frame_end} frames are not shown"
        )
        yield Finding("INFO", (), "bake_range", message)


def broken_glue(scene: Scene) -> Iterator[Finding]:
    """Yield a finding about breakable constraints between bodies that do not collide with each other."""
    names = tuple(ob.name_full for ob in constraints_of(scene.rigidbody_world) if lets_pass_when_broken(ob))
    if names:
        once = "when it breaks" if len(names) == 1 else f"when one of {len(names)} constraints breaks"
        message = f"{once}, its two bodies pass through each other, because Disable Collisions is on"
        yield Finding("WARNING", names, "disable_collisions", message)


def lost_debris(scene: Scene) -> Iterator[Finding]:
    """Warn if an object shows debris and the next bake keeps none."""
    shown = scene.stiction_debris.shown
    if shown is not None and not scene.stiction.keep_contacts:
        message = f"the next bake has no debris for {shown.name}, because Keep Contacts is off"
        yield Finding("WARNING", (), "keep_contacts", message)


def lets_pass_when_broken(ob: Object) -> bool:
    """Whether a constraint may break and keeps its two bodies from colliding."""
    constraint = ob.rigid_body_constraint
    return bool(
        constraint.enabled
        and constraint.use_breaking
        and constraint.disable_collisions
        and constraint.object1 is not None
        and constraint.object2 is not None
    )
