# SPDX-License-Identifier: GPL-3.0-or-later
"""Who takes part in a rigid body world: the members of its two collections, and nobody else."""

from __future__ import annotations

from bpy.types import Object, RigidBodyWorld

__all__ = ["bodies_of", "constraints_of"]


def bodies_of(world: RigidBodyWorld | None) -> list[Object]:
    """The objects with rigid bodies."""
    members = world.collection.all_objects if world is not None and world.collection is not None else ()
    return [ob for ob in members if ob.rigid_body is not None]


def constraints_of(world: RigidBodyWorld | None) -> list[Object]:
    """The objects with rigid body constraints."""
    members = world.constraints.all_objects if world is not None and world.constraints is not None else ()
    return [ob for ob in members if ob.rigid_body_constraint is not None]
