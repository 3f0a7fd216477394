# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigid bodies and constraints outside the rigid body world, such as those of appended objects."""

from __future__ import annotations

from collections.abc import Iterator

from bpy.types import Scene

from ...solver_core.scene.spec import SceneWarning
from ..blender.rigid_bodies import constraints_of, is_baked

__all__ = ["outside_world"]


def outside_world(scene: Scene) -> Iterator[SceneWarning]:
    """Yield objects whose rigid body or constraint is not in the collections of the scene's rigid body world.

    Parameters
    ----------
    scene : with a rigid body world that has a collection

    Yields
    ------
    SceneWarning
        with the field `membership` for bodies, and `constraint_membership` for constraints; neither take part in a bake
    """
    members = {ob.session_uid for ob in scene.rigidbody_world.collection.all_objects}
    names = tuple(
        ob.name_full for ob in scene.objects if ob.rigid_body is not None and ob.session_uid not in members and not is_baked(ob)
    )
    if names:
        subject = "it has a rigid body, but is" if len(names) == 1 else f"{len(names)} objects have rigid bodies, but are"
        simulated = "is not simulated" if len(names) == 1 else "are not simulated"
        message = f"{subject} not in the collection of the rigid body world, and {simulated}"
        yield SceneWarning(names, "membership", message)
    members = {ob.session_uid for ob in constraints_of(scene.rigidbody_world)}
    names = tuple(
        ob.name_full for ob in scene.objects if ob.rigid_body_constraint is not None and ob.session_uid not in members
    )
    if names:
        subject = "it has a rigid body constraint, but is" if len(names) == 1 else f"{len(names)} rigid body constraints are"
        hold = "holds" if len(names) == 1 else "hold"
        message = f"{subject} not in the constraint collection of the rigid body world, and {hold} nothing"
        yield SceneWarning(names, "constraint_membership", message)
