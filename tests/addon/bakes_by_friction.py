# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes of one scene with another friction each, by which their motion is told apart."""

from __future__ import annotations

from pathlib import Path

import bpy

from .objects import world_matrix


def bake(friction: float) -> Path:
    for ob in bpy.context.scene.rigidbody_world.collection.objects:
        ob.rigid_body.friction = friction
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    return Path(bpy.context.scene.stiction.bake.cache)


def height(ob: bpy.types.Object) -> float:
    bpy.context.scene.frame_set(5)
    return float(world_matrix(ob)[2, 3] - ob.stiction.backup.rest_world[11])


def record() -> dict:
    own = bpy.context.scene.stiction.bake
    return {name: getattr(own, name) for name in ("cache", "digest", "last_frame")}


def go_back(to: dict) -> None:
    """What undo does, which background mode does not have."""
    for name, value in to.items():
        setattr(bpy.context.scene.stiction.bake, name, value)
