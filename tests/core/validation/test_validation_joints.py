# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints that cannot be simulated are named by joint and field; those that can do nothing are warned about."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

from solver_core.io.snapshot import read_snapshot, snapshot_digest, write_snapshot
from solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, BondStrength, JointChange, JointSpec
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec, SolverSettings
from solver_core.validation.findings import SceneError
from solver_core.validation.scene import scene_warnings, validate

CUBE = ShapeSpec(ShapeKind.HULL, np.array(list(itertools.product((-0.5, 0.5), repeat=3))))
BODY = BodySpec("Cube", BodyKind.ACTIVE, CUBE, mass=1.0)
FLOOR = BodySpec("Floor", BodyKind.PASSIVE, ShapeSpec(ShapeKind.PLANE))
SPEC = SceneSpec((BODY, FLOOR), frame_start=1, frame_end=3)
OTHER = dataclasses.replace(BODY, name="Other", position=np.array([0.0, 0.0, 3.0]))
WALL = dataclasses.replace(FLOOR, name="Wall")
JOINT = JointSpec("Hinge", "Cube", "Other")
nan, inf = math.nan, math.inf


def problems(spec: SceneSpec) -> set[tuple[str, str]]:
    """What validation objects to, (object, field)."""
    try:
        validate(spec, SolverSettings())
    except SceneError as error:
        return {(problem.object, problem.field) for problem in error.problems}
    return set()


def jointed(*joints: JointSpec):
    return dataclasses.replace(SPEC, bodies=(BODY, OTHER, FLOOR, WALL), joints=joints)


def with_axis(kind: str = "angular", **values: float) -> JointSpec:
    return dataclasses.replace(JOINT, **{kind: (FREE_AXIS, AxisSpec(**values), LOCKED)})


def warned(joint: JointSpec) -> list[tuple[tuple[str, ...], str]]:
    return [(warning.objects, warning.field) for warning in scene_warnings(jointed(joint))]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"body_a": "Nobody"}, "body_a"),
        ({"body_b": "Nobody"}, "body_b"),
        ({"body_b": "Cube"}, "body_b"),
        ({"position": np.array([0.0, nan, 0.0])}, "position"),
        ({"position": np.zeros(2)}, "position"),
        ({"orientation": np.array([1.0, 1.0, 0.0, 0.0])}, "orientation"),
        ({"orientation": np.array([nan, 0.0, 0.0, 0.0])}, "orientation"),
        ({"breaking_impulse": -1.0}, "breaking_impulse"),
        ({"breaking_impulse": nan}, "breaking_impulse"),
        ({"linear": (LOCKED, LOCKED)}, "linear"),
        ({"angular": ()}, "angular"),
        ({"name": None}, "name"),
        ({"body_a": 3}, "body_a"),
        ({"position": "here"}, "position"),
    ],
    ids=repr,
)
def test_each_wrong_value_of_a_joint_is_named_by_its_field(changes, field):
    found = problems(jointed(dataclasses.replace(JOINT, **changes)))
    assert {name for _, name in found} == {field}
    assert {owner for owner, _ in found} == {"Joint 0" if "name" in changes else "Hinge"}


@pytest.mark.parametrize("kind", ["linear", "angular"])
@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"lower": 1.0, "upper": -1.0}, "lower"),
        ({"lower": nan}, "lower"),
        ({"upper": nan}, "lower"),
        ({"lower": inf}, "lower"),
        ({"upper": -inf}, "lower"),
        ({"stiffness": -1.0}, "stiffness"),
        ({"stiffness": inf}, "stiffness"),
        ({"damping": -1e-9}, "damping"),
        ({"motor_force": -1.0}, "motor_force"),
        ({"motor_force": nan}, "motor_force"),
        ({"rest": inf}, "rest"),
        ({"motor_velocity": nan}, "motor_velocity"),
    ],
    ids=repr,
)
def test_each_wrong_value_of_an_axis_is_named_with_the_axis(kind, values, field):
    assert problems(jointed(with_axis(kind, **values))) == {("Hinge", f"{kind}.y.{field}")}


@pytest.mark.parametrize(
    "joint",
    [
        JOINT,
        with_axis(lower=-0.5, upper=0.5),
        with_axis(lower=0.0),
        with_axis(stiffness=1e12, damping=1e9, rest=0.3),
        with_axis(motor_velocity=-3.0, motor_force=1e6),
        dataclasses.replace(JOINT, body_b="", breaking_impulse=0.0),
        dataclasses.replace(JOINT, body_a="", body_b="Cube"),
        dataclasses.replace(JOINT, body_b="Floor"),
    ],
)
def test_a_sound_joint_passes_without_a_word(joint):
    assert problems(jointed(joint)) == set() and warned(joint) == []


def test_two_joints_of_one_name_are_named():
    assert problems(jointed(JOINT, dataclasses.replace(JOINT, body_b=""))) == {("Hinge", "name")}


@pytest.mark.parametrize("ends", [("", ""), ("Floor", ""), ("", "Floor"), ("Floor", "Wall")])
def test_a_joint_with_nothing_to_hold_and_a_motor_with_nothing_to_move_are_warned_about(ends):
    idle = dataclasses.replace(JOINT, body_a=ends[0], body_b=ends[1])
    assert problems(jointed(idle)) == set() and warned(idle) == [(("Hinge",), "body_a")]
    driven = dataclasses.replace(with_axis(motor_velocity=1.0, motor_force=1.0), body_a=ends[0], body_b=ends[1])
    assert "its motor has nothing to move" in scene_warnings(jointed(driven))[0].message


def test_a_motor_that_drives_where_it_is_locked_is_warned_about():
    locked = with_axis(lower=0.0, upper=0.0, motor_velocity=1.0, motor_force=2.0)
    assert warned(locked) == [(("Hinge",), "motor_force")]


def test_joints_go_through_a_snapshot_bit_by_bit(tmp_path):
    joint = dataclasses.replace(with_axis("linear", lower=-0.1, stiffness=7.0), breaking_impulse=0.1, position=np.ones(3) / 3)
    spec, settings = jointed(joint), SolverSettings()
    write_snapshot(tmp_path / "scene", spec, settings)
    again, _ = read_snapshot(tmp_path / "scene")
    assert snapshot_digest(again, settings) == snapshot_digest(spec, settings)
    assert again.joints[0].linear == joint.linear and again.joints[0].breaking_impulse == 0.1
    changed = jointed(dataclasses.replace(joint, angular=(LOCKED, LOCKED, FREE_AXIS)))
    assert snapshot_digest(changed, settings) != snapshot_digest(spec, settings)


def test_animated_bodies_are_ends_like_others():
    path = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (3, 1))
    carrier = dataclasses.replace(WALL, name="Carrier", kind=BodyKind.ANIMATED, path=path, shape=BODY.shape)
    spec = dataclasses.replace(SPEC, bodies=(BODY, carrier), joints=(JointSpec("Hinge", "Carrier", "Cube"),))
    assert problems(spec) == set() and not scene_warnings(spec)


BOND = dataclasses.replace(JOINT, name="Bond", strength=BondStrength(1.0, 2.0, 3.0, 4.0, 5.0))
GONE = JointChange(2, (LOCKED, LOCKED, LOCKED), (LOCKED, LOCKED, LOCKED), enabled=False)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"strength": dataclasses.replace(BOND.strength, tension=0.0)}, "strength.tension"),
        ({"strength": dataclasses.replace(BOND.strength, area=-1.0)}, "strength.area"),
        ({"strength": dataclasses.replace(BOND.strength, torsion=nan)}, "strength.torsion"),
        ({"angular": (FREE_AXIS, LOCKED, LOCKED)}, "strength"),
        ({"breaking_impulse": 1.0}, "strength"),
        ({"changes": (dataclasses.replace(GONE, breaking_impulse=1.0),)}, "strength"),
        ({"changes": (dataclasses.replace(GONE, enabled=True),)}, "changes"),
        ({"changes": (dataclasses.replace(GONE, angular=(FREE_AXIS, LOCKED, LOCKED)),)}, "changes"),
    ],
)
def test_a_bond_that_cannot_be_is_named(changes, field):
    assert problems(jointed(dataclasses.replace(BOND, **changes))) == {("Bond", field)}


def test_a_bond_may_be_released():
    assert problems(jointed(dataclasses.replace(BOND, changes=(GONE,)))) == set()


def test_a_bond_travels_in_a_snapshot_and_joints_without_strength_are_as_they_were(tmp_path):
    write_snapshot(tmp_path / "scene", jointed(BOND, JOINT), SolverSettings())
    bond, joint = read_snapshot(tmp_path / "scene")[0].joints
    assert (bond.strength, joint.strength) == (BOND.strength, None)
