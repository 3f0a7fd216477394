# SPDX-License-Identifier: GPL-3.0-or-later
"""One-click fixes of findings: for each field, the label of the button, the objects to which it applies, and its action."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import bpy
from bpy.types import Object, Scene
from mathutils import Matrix

from ..blender.rigid_bodies import is_baked
from ..settings.properties import effective_settings, set_last_frame

__all__ = ["MENDS", "Mend", "mend_for"]

MOST_SUBSTEPS = 32767


@dataclass(frozen=True)
class Mend:
    """A fix for objects.

    label: of the button.
    helps: returns True if the fix applies to an object.
    do: applies the fix.
    tip: tooltip without a full stop.
    """

    label: str
    tip: str
    helps: Callable[[Object], bool]
    do: Callable[[Scene, Object], None]


@dataclass(frozen=True)
class SceneMend:
    """As `Mend`, for settings of the scene."""

    label: str
    tip: str
    do: Callable[[Scene], None]


def has_body(ob: Object) -> bool:
    return ob.rigid_body is not None and ob.library is None


def own_mesh(ob: Object) -> bool:
    return ob.type == "MESH" and ob.data.library is None and ob.mode == "OBJECT"


def can_apply_scale(ob: Object) -> bool:
    """Return True if nothing else depends on the scale or the mesh."""
    data = ob.animation_data
    is_free = data is None or (data.action is None and not data.nla_tracks and not data.drivers)
    return own_mesh(ob) and ob.data.users == 1 and not ob.children and not ob.modifiers and is_free and 0.0 not in ob.scale


def apply_scale(_scene: Scene, ob: Object) -> None:
    ob.data.transform(Matrix.Diagonal((*ob.scale, 1.0)), shape_keys=True)
    if ob.scale[0] * ob.scale[1] * ob.scale[2] < 0.0:
        ob.data.flip_normals()
    ob.scale = (1.0, 1.0, 1.0)
    ob.data.update()
    if is_baked(ob):
        ob.stiction.backup.scale = ob.scale


def flip_normals(_scene: Scene, ob: Object) -> None:
    ob.data.flip_normals()
    ob.data.update()


def use_hull(_scene: Scene, ob: Object) -> None:
    ob.rigid_body.collision_shape = "CONVEX_HULL"


def is_flexible(ob: Object) -> bool:
    return has_body(ob) and ob.stiction.use_flexible


def make_rigid(_scene: Scene, ob: Object) -> None:
    ob.stiction.use_flexible = False


def leave_world(scene: Scene, ob: Object) -> None:
    collection = scene.rigidbody_world.collection
    if any(member == ob for member in collection.objects):
        collection.objects.unlink(ob)


def join_world(scene: Scene, ob: Object) -> None:
    scene.rigidbody_world.collection.objects.link(ob)


def follow_keys(_scene: Scene, ob: Object) -> None:
    ob.rigid_body.kinematic = True


def lower_dynamic(_scene: Scene, ob: Object) -> None:
    ob.stiction.mu_dynamic = ob.stiction.mu_static if ob.stiction.use_mu_static else ob.rigid_body.friction


def has_constraint(ob: Object) -> bool:
    return ob.rigid_body_constraint is not None and ob.library is None


def switch_off(_scene: Scene, ob: Object) -> None:
    ob.rigid_body_constraint.enabled = False


def use_damped_springs(_scene: Scene, ob: Object) -> None:
    ob.rigid_body_constraint.spring_type = "SPRING2"


def swap_limits(axis: str) -> Callable[[Scene, Object], None]:
    """Return a function that swaps the limits of one axis of a constraint, such as ang_x."""

    def swap(_scene: Scene, ob: Object) -> None:
        constraint, lower, upper = ob.rigid_body_constraint, f"limit_{axis}_lower", f"limit_{axis}_upper"
        low, high = sorted((getattr(constraint, lower), getattr(constraint, upper)))
        setattr(constraint, lower, low)
        setattr(constraint, upper, high)

    return swap


def more_substeps(scene: Scene) -> None:
    substeps = min(2 * effective_settings(scene).substeps, MOST_SUBSTEPS)
    scene.stiction.use_substeps = True
    scene.stiction.substeps = substeps


def keep_numbers(scene: Scene) -> None:
    scene.stiction.friction_combine = "GEOMETRIC_MEAN"


def is_hull(ob: Object) -> bool:
    return has_body(ob) and ob.rigid_body.collision_shape == "CONVEX_HULL"


def use_mesh(_scene: Scene, ob: Object) -> None:
    ob.rigid_body.collision_shape = "MESH"


def bake_as_long_as_the_scene(scene: Scene) -> None:
    set_last_frame(scene, scene.frame_end)


def keep_contacts(scene: Scene) -> None:
    scene.stiction.keep_contacts = True


def join_constraints(scene: Scene, ob: Object) -> None:
    world = scene.rigidbody_world
    if world.constraints is None:
        world.constraints = bpy.data.collections.new("RigidBodyConstraints")
    world.constraints.objects.link(ob)


def may_pass(ob: Object) -> bool:
    return has_constraint(ob) and ob.rigid_body_constraint.disable_collisions


def let_collide(_scene: Scene, ob: Object) -> None:
    ob.rigid_body_constraint.disable_collisions = False


def may_collide(ob: Object) -> bool:
    return has_constraint(ob) and not ob.rigid_body_constraint.disable_collisions


def let_pass(_scene: Scene, ob: Object) -> None:
    ob.rigid_body_constraint.disable_collisions = True


def free_bake(scene: Scene) -> None:
    from .runner import free

    free(scene)


def switch_on_world(scene: Scene) -> None:
    scene.rigidbody_world.enabled = True


MENDS: dict[str, Mend | SceneMend] = {
    "collision_shape": Mend("Convex Hull", "Use its convex hull as the collision shape", has_body, use_hull),
    "hollow": Mend("Use Mesh", "Use its mesh as the collision shape", is_hull, use_mesh),
    "bake_range": SceneMend("Match Scene", "Let the bake end where the scene ends", bake_as_long_as_the_scene),
    "keep_contacts": SceneMend("Keep Contacts", "Let the next bake keep its contacts", keep_contacts),
    "constraint_membership": Mend(
        "Add to World", "Add it to the rigid body world's constraint collection", has_constraint, join_constraints
    ),
    "disable_collisions": Mend("Let Collide", "Disable the option Disable Collisions", may_pass, let_collide),
    "joined_overlap": Mend("Disable Collisions", "Enable Disable Collisions", may_collide, let_pass),
    "mesh": Mend("Remove from World", "Remove it from the rigid body world", has_body, leave_world),
    "hidden": Mend("Remove from World", "Remove it from the rigid body world", has_body, leave_world),
    "membership": Mend("Add to World", "Add it to the rigid body world's collection", has_body, join_world),
    "normals": Mend("Flip Normals", "Flip the faces of its mesh", own_mesh, flip_normals),
    "scale": Mend("Apply Scale", "Apply its scale to its mesh; its size stays the same", can_apply_scale, apply_scale),
    "kinematic": Mend("Animated", "Let it follow its animation", has_body, follow_keys),
    "mu_dynamic": Mend("Match Static Friction", "Lower dynamic friction to static friction", has_body, lower_dynamic),
    "object1": Mend("Disable", "Disable the constraint", has_constraint, switch_off),
    "object2": Mend("Disable", "Disable the constraint", has_constraint, switch_off),
    "spring_type": Mend("Blender 2.8", "Use the springs of Blender 2.8", has_constraint, use_damped_springs),
    "deformable": Mend("Make Rigid", "Disable Flexible", is_flexible, make_rigid),
    "young": Mend("Make Rigid", "Disable Flexible", is_flexible, make_rigid),
    "substeps": SceneMend("Double Substeps", "Double the time steps per frame", more_substeps),
    "friction_combine": SceneMend(
        "Use Geometric Mean", "Choose the rule Geometric Mean, which keeps two equal coefficients", keep_numbers
    ),
    "bake": SceneMend("Free Bake", "Restore everything that the bake in the other file changed", free_bake),
    "rigidbody_world.enabled": SceneMend("Enable", "Enable the rigid body world", switch_on_world),
} | {
    f"{field}.{axis}.lower": Mend("Swap Limits", "Swap the two limits", has_constraint, swap_limits(f"{field[:3]}_{axis}"))
    for field in ("linear", "angular")
    for axis in "xyz"
}


def mend_for(field: str, objects: list[Object]) -> Mend | SceneMend | None:
    """Return the fix for a finding about these objects, or None."""
    mend = MENDS.get(field)
    if isinstance(mend, Mend) and not any(mend.helps(ob) for ob in objects):
        return None
    return mend
