# SPDX-License-Identifier: GPL-3.0-or-later
"""Who takes part in a rigid body world, the members of its two collections and nobody else, as what, and whom a bake moves."""

from __future__ import annotations

from bpy.types import Object, RigidBodyWorld

from ...solver_core.scene.spec import BodyKind

__all__ = ["bodies_of", "body_kind", "constraints_of", "is_baked", "is_linked"]


def bodies_of(world: RigidBodyWorld | None) -> list[Object]:
    """The objects with rigid bodies."""
    members = world.collection.all_objects if world is not None and world.collection is not None else ()
    return [ob for ob in members if ob.rigid_body is not None]


def constraints_of(world: RigidBodyWorld | None) -> list[Object]:
    """The objects with rigid body constraints."""
    members = world.constraints.all_objects if world is not None and world.constraints is not None else ()
    return [ob for ob in members if ob.rigid_body_constraint is not None]


def body_kind(ob: Object) -> BodyKind:
    """Who moves the body. One that is not Dynamic is frozen where it is, also when it is Animated."""
    body = ob.rigid_body
    if body.type == "ACTIVE" and not body.enabled:
        return BodyKind.PASSIVE
    if body.kinematic:
        return BodyKind.ANIMATED
    return BodyKind.ACTIVE if body.type == "ACTIVE" else BodyKind.PASSIVE


def is_linked(ob: Object) -> bool:
    """Whether the object is a library's, so that nothing of it can be changed in this file."""
    override = ob.override_library
    return ob.library is not None or (override is not None and override.is_system_override)


def is_baked(ob: Object) -> bool:
    """Whether a bake moves the object, and can be freed here: what a library has baked is as it comes from there."""
    return ob.stiction.backup.baked and not is_linked(ob)
