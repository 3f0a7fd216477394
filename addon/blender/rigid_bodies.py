# SPDX-License-Identifier: GPL-3.0-or-later
"""Members of the two collections of a rigid body world, their kinds, and the objects that a bake moves."""

from __future__ import annotations

from bpy.types import Object, RigidBodyWorld

from ...solver_core.scene.spec import BodyKind

__all__ = ["bodies_of", "body_kind", "constraints_of", "is_baked", "is_linked"]


def bodies_of(world: RigidBodyWorld | None) -> list[Object]:
    """Return the objects with rigid bodies."""
    members = world.collection.all_objects if world is not None and world.collection is not None else ()
    return [ob for ob in members if ob.rigid_body is not None]


def constraints_of(world: RigidBodyWorld | None) -> list[Object]:
    """Return the objects with rigid body constraints."""
    members = world.constraints.all_objects if world is not None and world.constraints is not None else ()
    return [ob for ob in members if ob.rigid_body_constraint is not None]


def body_kind(ob: Object) -> BodyKind:
    """Return how a body moves. A body that is not Dynamic is static at its initial pose, even if it is Animated."""
    body = ob.rigid_body
    if body.type == "ACTIVE" and not body.enabled:
        return BodyKind.PASSIVE
    if body.kinematic:
        return BodyKind.ANIMATED
    return BodyKind.ACTIVE if body.type == "ACTIVE" else BodyKind.PASSIVE


def is_linked(ob: Object) -> bool:
    """Return True if the object belongs to a library, so it cannot be changed in this file."""
    override = ob.override_library
    return ob.library is not None or (override is not None and override.is_system_override)


def is_baked(ob: Object) -> bool:
    """Return True if a bake of this file moves the object."""
    return ob.stiction.backup.baked and not is_linked(ob)
