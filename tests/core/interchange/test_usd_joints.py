# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints of a stage: where they begin, in which units, and that bodies come to rest where they allow it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pxr import Gf, UsdGeom, UsdPhysics

import solver_core as sc
from solver_core.interchange.frames import matrix_of
from solver_core.scene.joints import FREE_AXIS, LOCKED

from .stages import body_named, cube, new_stage, saved


def joint_of(scene):
    (joint,) = scene.spec.joints
    return joint


def revolute(stage, at, *, lower=-math.inf, upper=math.inf, axis="Y"):
    joint = UsdPhysics.RevoluteJoint.Define(stage, "/World/Hinge")
    joint.CreateBody1Rel().AddTarget("/World/Door")
    joint.CreateLocalPos0Attr(Gf.Vec3f(*at))
    joint.CreateAxisAttr(axis)
    joint.CreateLowerLimitAttr(lower)
    joint.CreateUpperLimitAttr(upper)
    return joint


@pytest.mark.slow
def test_a_flap_falls_until_its_hinge_stops_it(tmp_path):
    """In centimetres with Y up, from another tool: it hangs at the angle of its limit, 50 degrees below the horizontal."""
    stage = new_stage(tmp_path / "a.usda", up="Y", metres=0.01, frames=49)
    cube(stage, "/World/Door", (100, 4, 40), (50, 0, 0), mass=5.0)
    joint = revolute(stage, (0, 0, 0), lower=-50.0, upper=10.0, axis="Z")
    # the frame of the door has the scale of its box
    joint.CreateLocalPos1Attr(Gf.Vec3f(-0.5, 0, 0))
    scene, found = saved(stage)
    assert found.warnings == []
    frames = list(sc.Simulation(scene.spec, scene.settings).run(48))
    pose = frames[-1].poses[0]
    along = matrix_of(pose[3:]) @ [1, 0, 0]
    assert math.degrees(math.asin(along[2])) == pytest.approx(-50.0, abs=0.01)
    assert np.linalg.norm(pose[:3]) == pytest.approx(0.5, abs=1e-5)
    assert np.abs(frames[-1].velocities[0]).max() < 1e-3


def test_an_angle_is_counted_from_where_the_scene_begins(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    prim = cube(stage, "/World/Door", (1, 1, 1), (0, 0, 0), mass=1.0)
    UsdGeom.Xformable(prim).ClearXformOpOrder()
    UsdGeom.Xformable(prim).AddRotateYOp().Set(30.0)
    revolute(stage, (0, 0, 0), lower=-90.0, upper=45.0)
    axis = joint_of(saved(stage)[0]).angular[1]
    assert [math.degrees(axis.lower), math.degrees(axis.upper)] == pytest.approx([-120.0, 15.0], abs=1e-4)


def test_a_way_is_counted_from_where_the_scene_begins(tmp_path):
    stage = new_stage(tmp_path / "a.usda", metres=0.1)
    cube(stage, "/World/Door", (1, 1, 1), (7, 0, 0), mass=1.0)
    joint = UsdPhysics.PrismaticJoint.Define(stage, "/World/Rail")
    joint.CreateBody1Rel().AddTarget("/World/Door")
    joint.CreateAxisAttr("X")
    joint.CreateLowerLimitAttr(5.0)
    joint.CreateUpperLimitAttr(20.0)
    found = joint_of(saved(stage)[0])
    assert (found.linear[0].lower, found.linear[0].upper) == pytest.approx((-0.2, 1.3))
    assert found.linear[1] == found.angular[2] == LOCKED
    assert found.position == pytest.approx([0.7, 0, 0])


def test_frames_that_a_lock_holds_apart_are_named(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    cube(stage, "/World/Door", (1, 1, 1), (0, 0.2, 0), mass=1.0)
    UsdPhysics.FixedJoint.Define(stage, "/World/Weld").CreateBody1Rel().AddTarget("/World/Door")
    _, found = saved(stage)
    assert ["apart" in one.message for one in found.warnings] == [True]
    assert found.warnings[0].objects == ("/World/Weld",)


def test_springs_and_motors_in_units_of_the_stage(tmp_path):
    """Of a spring in kg/s^2 the centimetre does not matter; per degree it is 180/pi per radian; torques have cm^2."""
    stage = new_stage(tmp_path / "a.usda", metres=0.01)
    cube(stage, "/World/Door", mass=1.0)
    joint = UsdPhysics.Joint.Define(stage, "/World/Joint")
    joint.CreateBody1Rel().AddTarget("/World/Door")
    for axis, values in (("transX", (200.0, 3.0, 5.0)), ("rotZ", (400.0, 7.0, 90.0))):
        drive = UsdPhysics.DriveAPI.Apply(joint.GetPrim(), axis)
        drive.CreateStiffnessAttr(values[0])
        drive.CreateDampingAttr(values[1])
        drive.CreateTargetPositionAttr(values[2])
    motor = UsdPhysics.DriveAPI.Apply(joint.GetPrim(), "rotX")
    motor.CreateDampingAttr(1e9)
    motor.CreateTargetVelocityAttr(90.0)
    motor.CreateMaxForceAttr(5e4)
    limit = UsdPhysics.LimitAPI.Apply(joint.GetPrim(), "transY")
    limit.CreateLowAttr(1.0)
    limit.CreateHighAttr(-1.0)
    found = joint_of(saved(stage)[0])
    x, turn, driven = found.linear[0], found.angular[2], found.angular[0]
    assert (x.stiffness, x.damping, x.rest) == pytest.approx((200.0, 3.0, 0.05))
    assert (turn.stiffness, turn.damping, turn.rest) == pytest.approx((0.04 * 180 / math.pi, 7e-4 * 180 / math.pi, math.pi / 2))
    assert (driven.motor_velocity, driven.motor_force) == pytest.approx((math.pi / 2, 5.0))
    assert (found.linear[1], found.linear[2]) == (LOCKED, FREE_AXIS)


def test_a_force_that_breaks_is_an_impulse_in_a_step(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    cube(stage, "/World/Door", mass=1.0)
    joint = UsdPhysics.FixedJoint.Define(stage, "/World/Glue")
    joint.CreateBody1Rel().AddTarget("/World/Door")
    joint.CreateBreakForceAttr(480.0)
    joint.CreateBreakTorqueAttr(480.0)
    scene, _ = saved(stage)
    assert joint_of(scene).breaking_impulse == pytest.approx(480.0 / (24.0 * scene.settings.substeps))


@pytest.mark.parametrize("axis", "XYZ")
def test_a_cone_is_a_limit_across_its_axis(tmp_path, axis):
    stage = new_stage(tmp_path / "a.usda")
    cube(stage, "/World/Door", mass=1.0)
    joint = UsdPhysics.SphericalJoint.Define(stage, "/World/Ball")
    joint.CreateBody1Rel().AddTarget("/World/Door")
    joint.CreateAxisAttr(axis)
    joint.CreateConeAngle0LimitAttr(20.0)
    joint.CreateConeAngle1LimitAttr(40.0)
    found = joint_of(saved(stage)[0])
    about = "XYZ".index(axis)
    assert found.angular[about] == FREE_AXIS
    # from X towards Y is about Z, and so on around
    assert math.degrees(found.angular[(about + 2) % 3].upper) == pytest.approx(20.0)
    assert math.degrees(found.angular[(about + 1) % 3].upper) == pytest.approx(40.0)


def test_jointed_bodies_do_not_collide_unless_the_joint_says_so(tmp_path):
    for collides in (False, True):
        stage = new_stage(tmp_path / f"{collides}.usda")
        cube(stage, "/World/Door", mass=1.0)
        cube(stage, "/World/Frame", (1, 1, 1), (1, 0, 0))
        joint = UsdPhysics.SphericalJoint.Define(stage, "/World/Ball")
        joint.CreateBody0Rel().AddTarget("/World/Frame")
        joint.CreateBody1Rel().AddTarget("/World/Door")
        joint.CreateLocalPos0Attr(Gf.Vec3f(-1, 0, 0))
        joint.CreateCollisionEnabledAttr(collides)
        scene, _ = saved(stage)
        assert scene.spec.excluded == (() if collides else (("Door", "Frame"),))
        assert (joint_of(scene).body_a, joint_of(scene).body_b) == ("Frame", "Door")
        assert body_named(scene, "Frame").kind.value == "passive"
