# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigid body constraints in Blender for tests, and how Blender's own simulation moves what they join."""

from __future__ import annotations

import bpy
import numpy as np

from .objects import add_empty, world_matrix

FPS = 24.0


def constrain(kind, first, second, *, location=(0.0, 0.0, 0.0), rotation=(0.0, 0.0, 0.0), name="Joint", **values):
    """An empty with a rigid body constraint between two objects."""
    world = bpy.context.scene.rigidbody_world
    if world.constraints is None:
        world.constraints = bpy.data.collections.new("RigidBodyConstraints")
    ob = add_empty(name, location, rotation)
    bpy.context.view_layer.objects.active = ob
    bpy.ops.rigidbody.constraint_add(type=kind)
    constraint = ob.rigid_body_constraint
    constraint.object1, constraint.object2 = first, second
    for key, value in values.items():
        setattr(constraint, key, value)
    return ob


def simulated(frames: int, *objects) -> np.ndarray:
    """World matrices (frames, objects, 4, 4) in Blender's own simulation."""
    scene = bpy.context.scene
    scene.rigidbody_world.point_cache.frame_end = frames
    result = []
    for frame in range(1, frames + 1):
        scene.frame_set(frame)
        result.append([world_matrix(ob) for ob in objects])
    return np.array(result)
