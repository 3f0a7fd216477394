# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints of UsdPhysics as those of a scene, counted from where the scene begins."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pxr import Usd, UsdPhysics

from ..scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from .frames import joint_between, matrix_of, nearest_rotation, quaternion_of, with_motor
from .usd_stage import Opened
from .usd_write_joints import AXIS_NAMES, DEGREES

__all__ = ["ReadJoint", "read_joint"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ReadJoint:
    """A joint, and whether its two bodies collide with each other."""

    joint: JointSpec
    collides: bool


def read_joint(opened: Opened, prim: Usd.Prim, name: str, body_of: Callable[[Usd.Prim], str], step: float) -> ReadJoint | None:
    """Return the joint of a prim, or None if a problem or a warning was added.

    body_of: returns the name of a prim's body, "" for the world. step: time step, by which breaking forces are multiplied [s].
    """
    found, path, joint = opened.found, str(prim.GetPath()), UsdPhysics.Joint(prim)
    first, second = (end_of(opened, prim, number, body_of) for number in (0, 1))
    if first is None or second is None:
        return None
    (body_a, frame_a), (body_b, frame_b) = first, second
    if body_a == body_b:
        reason = f"both of its bodies are {body_a}" if body_a else "neither of its bodies is a rigid body"
        found.odd(path, "body0", f"{reason}, so it joins nothing and is left out")
        return None
    axes = axes_of(opened, prim)
    if axes is None:
        return None
    position, turn, linear, angular, warning = joint_between(frame_a, frame_b, axes)
    if warning:
        found.odd(path, "localPos1", warning)
    spec = JointSpec(
        name,
        body_a,
        body_b,
        position,
        quaternion_of(turn),
        linear,
        angular,
        breaking_of(opened, prim, joint, step),
        bool(joint.GetJointEnabledAttr().Get() is not False),
    )
    return ReadJoint(spec, bool(joint.GetCollisionEnabledAttr().Get()))


def end_of(opened: Opened, prim: Usd.Prim, number: int, body_of: Callable[[Usd.Prim], str]) -> tuple[str, Array] | None:
    """Return the body at one end of a joint, and the joint's frame there (4, 4) in the world, without scale.

    Returns None if a problem was added. number: 0 or 1, the end.
    """
    found, path, joint = opened.found, str(prim.GetPath()), UsdPhysics.Joint(prim)
    relation = (joint.GetBody0Rel, joint.GetBody1Rel)[number]()
    targets = relation.GetForwardedTargets()
    place = opened.vector(prim, (joint.GetLocalPos0Attr, joint.GetLocalPos1Attr)[number]())
    turn = matrix_of(opened.quaternion(prim, (joint.GetLocalRot0Attr, joint.GetLocalRot1Attr)[number]()))
    if len(targets) > 1:
        found.odd(path, relation.GetName(), f"it names {len(targets)} bodies; the first is used, the others are left out")
    if not targets:
        world, body = opened.to_world(np.eye(4)), ""
    else:
        target = opened.stage.GetPrimAtPath(targets[0])
        if not target:
            found.wrong(path, relation.GetName(), f"there is no body {targets[0]}; name another, or remove the joint")
            return None
        world, body = opened.world(target), body_of(target)
    frame = np.eye(4)
    try:
        frame[:3, :3] = nearest_rotation(world[:3, :3]) @ turn
    except ValueError as error:
        found.wrong(path, relation.GetName(), f"of {targets[0]}: {error}")
        return None
    frame[:3, 3] = world[:3, :3] @ place + world[:3, 3]
    return body, frame


def axes_of(opened: Opened, prim: Usd.Prim) -> list[AxisSpec] | None:
    """Return the six axes of a joint: along X, Y and Z, then about X, Y and Z. None if no joint here is like it."""
    found, path, kind = opened.found, str(prim.GetPath()), prim.GetTypeName()
    along = "XYZ".index(str(prim.GetAttribute("physics:axis").Get() or "X")) if prim.HasAttribute("physics:axis") else 0
    if kind == "PhysicsDistanceJoint":
        found.odd(path, "PhysicsDistanceJoint", "distance joints are not supported; it is left out")
        return None
    if kind == "PhysicsFixedJoint":
        return [LOCKED] * 6
    if kind == "PhysicsSphericalJoint":
        axes = [LOCKED] * 3 + [FREE_AXIS] * 3
        cones = [opened.number(prim, prim.GetAttribute(f"physics:coneAngle{n}Limit"), -1.0) for n in (0, 1)]
        # A rotation from the axis toward the next one is about the third one.
        for angle, about in zip(cones, ((along + 2) % 3, (along + 1) % 3), strict=True):
            if angle >= 0.0:
                axes[3 + about] = AxisSpec(-angle / DEGREES, angle / DEGREES)
        if max(cones) >= 0.0:
            found.odd(path, "coneAngle0Limit", "its cone becomes limits of the two angles across its axis")
        return axes
    if kind in ("PhysicsPrismaticJoint", "PhysicsRevoluteJoint"):
        first = 0 if kind == "PhysicsPrismaticJoint" else 3
        unit = opened.length if first == 0 else 1.0 / DEGREES
        axes = [LOCKED] * 6
        free = limited(
            opened.number(prim, prim.GetAttribute("physics:lowerLimit"), -math.inf) * unit,
            opened.number(prim, prim.GetAttribute("physics:upperLimit"), math.inf) * unit,
        )
        axes[first + along] = driven(opened, prim, "linear" if first == 0 else "angular", free, first != 0)
        return axes
    axes = []
    for number, name in enumerate(AXIS_NAMES):
        unit = opened.length if number < 3 else 1.0 / DEGREES
        axis = FREE_AXIS
        if prim.HasAPI(UsdPhysics.LimitAPI, name):
            limit = UsdPhysics.LimitAPI(prim, name)
            axis = limited(
                opened.number(prim, limit.GetLowAttr(), -math.inf) * unit,
                opened.number(prim, limit.GetHighAttr(), math.inf) * unit,
            )
        axes.append(driven(opened, prim, name, axis, number >= 3))
    if prim.HasAPI(UsdPhysics.LimitAPI, "distance"):
        found.odd(path, "limit:distance", "limits of the distance are not supported; this limit is left out")
    return axes


def limited(low: float, high: float) -> AxisSpec:
    """Return an axis between limits. Crossed limits lock it."""
    return LOCKED if low > high else AxisSpec(low, high)


def driven(opened: Opened, prim: Usd.Prim, name: str, axis: AxisSpec, is_angle: bool) -> AxisSpec:
    """The axis with its drive, if it has one: a spring, or a motor."""
    if not prim.HasAPI(UsdPhysics.DriveAPI, name):
        return axis
    found, path, drive = opened.found, str(prim.GetPath()), UsdPhysics.DriveAPI(prim, name)
    # of a force, and of a place, in N or N m and m or rad
    force = opened.mass * opened.length * (opened.length if is_angle else 1.0)
    place = 1.0 / DEGREES if is_angle else opened.length
    stiffness = opened.number(prim, drive.GetStiffnessAttr()) * force / place
    damping = opened.number(prim, drive.GetDampingAttr()) * force / place
    speed = opened.number(prim, drive.GetTargetVelocityAttr()) * place
    strongest = opened.number(prim, drive.GetMaxForceAttr(), math.inf) * force
    if min(stiffness, damping, strongest) < 0.0:
        found.wrong(path, f"drive:{name}", "a drive cannot push the other way; make stiffness, damping and maxForce 0 or more")
        return axis
    if str(drive.GetTypeAttr().Get() or "force") == "acceleration" and (stiffness > 0.0 or damping > 0.0):
        found.odd(path, f"drive:{name}", "drives by acceleration are left out; give the drive the type force")
        return axis
    if axis == LOCKED or not (stiffness > 0.0 or damping > 0.0):
        return axis
    if stiffness == 0.0 and speed != 0.0:
        return with_motor(found, path, name, axis, damping, speed, strongest)
    if math.isfinite(strongest):
        found.odd(path, f"drive:{name}:maxForce", "a spring here has no largest force; it is left out")
    if speed != 0.0:
        found.odd(path, f"drive:{name}:targetVelocity", "a spring here has no speed of its own; it is left out")
    rest = opened.number(prim, drive.GetTargetPositionAttr()) * place if stiffness > 0.0 else 0.0
    return replace(axis, stiffness=stiffness, damping=damping, rest=rest)


def breaking_of(opened: Opened, prim: Usd.Prim, joint: UsdPhysics.Joint, step: float) -> float:
    """The impulse in a step, N s or N m s, that breaks the joint."""
    force = opened.number(prim, joint.GetBreakForceAttr(), math.inf) * opened.mass * opened.length
    torque = opened.number(prim, joint.GetBreakTorqueAttr(), math.inf) * opened.mass * opened.length**2
    if min(force, torque) <= 0.0:
        opened.found.wrong(str(prim.GetPath()), "breakForce", "a joint breaks at a force above 0; correct it, or remove it")
        return math.inf
    if not math.isclose(force, torque, rel_tol=1e-5):
        message = "a joint here breaks at one number, by forces in N and by torques in N m; the smaller one is taken"
        opened.found.odd(str(prim.GetPath()), "breakTorque", message)
    return min(force, torque) * step
