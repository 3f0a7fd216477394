# SPDX-License-Identifier: GPL-3.0-or-later
"""Writing of joints as prims of UsdPhysics: of a named kind if one fits, otherwise with limits and drives of the axes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdPhysics

from ..scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from .described import Described, Found, seconds_a_step
from .frames import MOTOR_SLACK, matrix_of, quaternion_of
from .usd_names import Names

__all__ = ["AXIS_NAMES", "DEGREES", "write_joints"]

Array = NDArray[np.float64]

AXIS_NAMES = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
DEGREES = 180.0 / math.pi


def write_joints(stage: Usd.Stage, names: Names, scene: Described, paths: Mapping[str, Sdf.Path], found: Found) -> None:
    """Write all joints of a scene. paths: of the prims of the bodies, by name."""
    frames = {body.name: (body.position, matrix_of(body.orientation)) for body in scene.spec.bodies}
    excluded = {frozenset(pair) for pair in scene.spec.excluded}
    for joint in scene.spec.joints:
        prim = define(stage, names.path(joint.name, "Joints"), joint)
        prim.GetPrim().SetDisplayName(joint.name)
        turn = matrix_of(joint.orientation)
        for number, body in enumerate((joint.body_a, joint.body_b)):
            origin, axes = frames.get(body, (np.zeros(3), np.eye(3)))
            position, rotation = Gf.Vec3f(*(axes.T @ (joint.position - origin)).tolist()), quaternion_of(axes.T @ turn)
            if body:
                (prim.CreateBody0Rel, prim.CreateBody1Rel)[number]().AddTarget(paths[body])
            (prim.CreateLocalPos0Attr, prim.CreateLocalPos1Attr)[number](position)
            (prim.CreateLocalRot0Attr, prim.CreateLocalRot1Attr)[number](Gf.Quatf(*rotation.tolist()))
        prim.CreateJointEnabledAttr(joint.enabled)
        prim.CreateCollisionEnabledAttr(frozenset((joint.body_a, joint.body_b)) not in excluded)
        if math.isfinite(joint.breaking_impulse):
            load = joint.breaking_impulse / seconds_a_step(scene.spec, scene.settings)
            prim.CreateBreakForceAttr(load)
            prim.CreateBreakTorqueAttr(load)
        if joint.strength is not None:
            strength = joint.strength
            prim.CreateBreakForceAttr(min(strength.tension, strength.shear))
            prim.CreateBreakTorqueAttr(min(strength.bending_x, strength.bending_y, strength.torsion))
            found.odd(joint.name, "strength", "USD has one breaking force and torque for a bond; the smallest ones are written")
        if joint.changes:
            found.odd(joint.name, "changes", "its keyframes are left out; the file has the values of the first frame")


def define(stage: Usd.Stage, path: Sdf.Path, joint: JointSpec) -> UsdPhysics.Joint:
    """Write a joint and return its prim."""
    axes = (*joint.linear, *joint.angular)
    moving = [number for number, axis in enumerate(axes) if axis != LOCKED]
    if not moving:
        return UsdPhysics.FixedJoint.Define(stage, path)
    if moving == [3, 4, 5] and all(axis == FREE_AXIS for axis in joint.angular):
        return UsdPhysics.SphericalJoint.Define(stage, path)
    if len(moving) == 1:
        number = moving[0]
        prim = (UsdPhysics.PrismaticJoint if number < 3 else UsdPhysics.RevoluteJoint).Define(stage, path)
        prim.CreateAxisAttr("XYZ"[number % 3])
        unit = 1.0 if number < 3 else DEGREES
        prim.CreateLowerLimitAttr(axes[number].lower * unit)
        prim.CreateUpperLimitAttr(axes[number].upper * unit)
        write_drive(prim.GetPrim(), "linear" if number < 3 else "angular", axes[number], unit)
        return prim
    prim = UsdPhysics.Joint.Define(stage, path)
    for number, axis in enumerate(axes):
        unit = 1.0 if number < 3 else DEGREES
        if axis == LOCKED:
            write_limit(prim.GetPrim(), AXIS_NAMES[number], 1.0, -1.0)
        elif math.isfinite(axis.lower) or math.isfinite(axis.upper):
            write_limit(prim.GetPrim(), AXIS_NAMES[number], axis.lower * unit, axis.upper * unit)
        write_drive(prim.GetPrim(), AXIS_NAMES[number], axis, unit)
    return prim


def write_limit(prim: Usd.Prim, axis: str, low: float, high: float) -> None:
    limit = UsdPhysics.LimitAPI.Apply(prim, axis)
    limit.CreateLowAttr(low)
    limit.CreateHighAttr(high)


def write_drive(prim: Usd.Prim, axis: str, values: AxisSpec, unit: float) -> None:
    """Write the spring of an axis, otherwise its motor."""
    is_spring = values.stiffness > 0.0 or values.damping > 0.0
    if not is_spring and not values.motor_force > 0.0:
        return
    drive = UsdPhysics.DriveAPI.Apply(prim, axis)
    drive.CreateTypeAttr(UsdPhysics.Tokens.force)
    if is_spring:
        drive.CreateStiffnessAttr(values.stiffness / unit)
        drive.CreateDampingAttr(values.damping / unit)
        drive.CreateTargetPositionAttr(values.rest * unit)
        return
    slow = MOTOR_SLACK * abs(values.motor_velocity) or MOTOR_SLACK
    drive.CreateStiffnessAttr(0.0)
    drive.CreateDampingAttr(values.motor_force / slow / unit)
    drive.CreateTargetVelocityAttr(values.motor_velocity * unit)
    drive.CreateMaxForceAttr(values.motor_force)
