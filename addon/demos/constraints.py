# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigid body constraints from joints: the inverse of `joints.py`."""

from __future__ import annotations

import math
from collections.abc import Mapping

import bpy
from bpy.types import Object, RigidBodyConstraint, RigidBodyWorld
from mathutils import Quaternion, Vector

from ...solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from ...solver_core.scene.spec import SceneSpec

__all__ = ["add_constraint"]

# m; display size of the empty of a joint
SIZE = 0.1


def add_constraint(joint: JointSpec, spec: SceneSpec, objects: Mapping[str, Object], world: RigidBodyWorld) -> Object:
    """Add an empty with the constraint of a joint between objects, by the names of their bodies.

    Raises ValueError for a joint that no constraint type can represent.
    """
    ob = bpy.data.objects.new(joint.name, None)
    ob.empty_display_size = SIZE
    ob.rotation_mode = "QUATERNION"
    ob.location, ob.rotation_quaternion = Vector(joint.position), Quaternion(joint.orientation)
    if world.constraints is None:
        world.constraints = bpy.data.collections.new("RigidBodyConstraints")
    # An object linked to that collection gets a constraint.
    world.constraints.objects.link(ob)
    constraint = ob.rigid_body_constraint
    constraint.type = kind_of(joint)
    constraint.object1, constraint.object2 = objects.get(joint.body_a), objects.get(joint.body_b)
    ends = {joint.body_a, joint.body_b}
    constraint.disable_collisions = any(set(pair) == ends for pair in spec.excluded)
    constraint.enabled = joint.enabled
    if math.isfinite(joint.breaking_impulse):
        constraint.use_breaking, constraint.breaking_threshold = True, joint.breaking_impulse
    for letter, along, about in zip("xyz", joint.linear, joint.angular, strict=True):
        # Blender measures angles with the opposite sign.
        set_limits(constraint, f"lin_{letter}", along.lower, along.upper)
        set_limits(constraint, f"ang_{letter}", -about.upper, -about.lower)
        set_spring(constraint, letter, along)
        set_spring(constraint, f"ang_{letter}", about)
    for way, axis in (("lin", joint.linear[0]), ("ang", joint.angular[0])):
        if axis.motor_force > 0.0:
            setattr(constraint, f"use_motor_{way}", True)
            setattr(constraint, f"motor_{way}_target_velocity", -axis.motor_velocity)
            setattr(constraint, f"motor_{way}_max_impulse", axis.motor_force)
    return ob


def kind_of(joint: JointSpec) -> str:
    """Return the constraint type of a joint."""
    axes = (*joint.linear, *joint.angular)
    if any(axis.motor_force > 0.0 for axis in axes):
        if any(axis != FREE_AXIS for axis in (*joint.linear[1:], *joint.angular[1:])):
            raise ValueError(f"{joint.name}: a motor of Blender's drives along and about X, and leaves all else free")
        return "MOTOR"
    if any(axis.stiffness > 0.0 or axis.damping > 0.0 for axis in axes):
        return "GENERIC_SPRING"
    if all(axis == LOCKED for axis in axes[:5]):
        return "FIXED" if axes[5] == LOCKED else "HINGE"
    is_point = all(axis == LOCKED for axis in joint.linear) and all(axis == FREE_AXIS for axis in joint.angular)
    return "POINT" if is_point else "GENERIC"


def set_limits(constraint: RigidBodyConstraint, axis: str, lower: float, upper: float) -> None:
    if math.isfinite(lower) and math.isfinite(upper):
        setattr(constraint, f"use_limit_{axis}", True)
        setattr(constraint, f"limit_{axis}_lower", lower)
        setattr(constraint, f"limit_{axis}_upper", upper)


def set_spring(constraint: RigidBodyConstraint, axis: str, values: AxisSpec) -> None:
    if values.stiffness > 0.0 or values.damping > 0.0:
        constraint.spring_type = "SPRING2"
        setattr(constraint, f"use_spring_{axis}", True)
        setattr(constraint, f"spring_stiffness_{axis}", values.stiffness)
        setattr(constraint, f"spring_damping_{axis}", values.damping)
