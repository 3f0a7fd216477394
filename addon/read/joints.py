# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigid body constraints as joints, with the meaning that Blender's own simulation, Bullet, gives to their values.

The constraint's object defines the joint's frame. Along an axis, Bullet measures the displacement of the second object relative
to the first. About an axis, it measures the rotation of the first relative to the second, except for the piston. A joint here
always measures the second relative to the first, so limits about axes swap sides and signs. A motor drives the first object
along its axis. The "maximum impulse" of a motor is a force.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from bpy.types import Context, Object, RigidBodyConstraint, RigidBodyWorld

from ...solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointChange, JointSpec
from ...solver_core.scene.spec import SceneWarning
from ...solver_core.validation.findings import SceneProblem
from ..blender import actions, overflow, rotations
from ..blender.placement import PlacementError, placed
from ..blender.rigid_bodies import constraints_of
from .motion import unfollowed_values
from .shapes import is_compound_part

__all__ = ["Joints", "read_joints", "watched", "with_changes"]

Axes = tuple[AxisSpec, AxisSpec, AxisSpec]

ALL_FREE: Axes = (FREE_AXIS, FREE_AXIS, FREE_AXIS)
ALL_LOCKED: Axes = (LOCKED, LOCKED, LOCKED)
VALUES = "rigid_body_constraint."
# Properties whose value at the first frame applies.
UNFOLLOWED = (VALUES + "disable_collisions",)
# Damping of Blender 2.7 springs above which it has a noticeable effect in Bullet.
UNDAMPED = 0.5


@dataclass
class Joints:
    """The joints of a scene, the pairs of bodies that do not collide because of them, problems and warnings.

    keyed: objects of joints whose values may change between frames, by joint name.
    """

    joints: list[JointSpec] = field(default_factory=list)
    keyed: dict[str, Object] = field(default_factory=dict)
    excluded: set[tuple[str, str]] = field(default_factory=set)
    problems: list[SceneProblem] = field(default_factory=list)
    warnings: list[SceneWarning] = field(default_factory=list)


def read_joints(world: RigidBodyWorld, bodies: Collection[str], context: Context) -> Joints:
    """Read the constraints at the frame that is shown, the first. bodies: the names of those that could be read."""
    found = Joints()
    for ob in sorted(constraints_of(world), key=lambda ob: ob.name_full):
        constraint = ob.rigid_body_constraint
        ends = (constraint.object1, constraint.object2)
        is_keyed = may_change(ob)
        is_ever_on = constraint.enabled or is_keyed
        problems = [*end_problems(ob, ends, world)] if is_ever_on else []
        found.problems += problems
        names = tuple("" if end is None else end.name_full for end in ends)
        # Blender also disables collisions for a disabled constraint, and after one has broken.
        if constraint.disable_collisions and names[0] != names[1] and all(name in bodies for name in names):
            found.excluded.add((min(names), max(names)))
        # Problems of a body that could not be read are already reported.
        is_readable = not problems and any(names) and all(not name or name in bodies for name in names)
        if not is_ever_on:
            continue
        found.warnings += constraint_warnings(ob, names)
        if is_readable:
            read_joint(found, ob, names, context)
            if is_keyed:
                found.keyed[ob.name_full] = ob
    return found


def read_joint(found: Joints, ob: Object, names: tuple[str, ...], context: Context) -> None:
    try:
        world, rotation = placed(ob, context.evaluated_depsgraph_get())
    except PlacementError as error:
        found.problems.append(SceneProblem(ob.name_full, error.field, str(error)))
        return
    state = state_now(ob, 0, context)
    found.joints.append(
        JointSpec(
            name=ob.name_full,
            body_a=names[0],
            body_b=names[1],
            position=np.array(world[:3, 3]),
            orientation=rotations.quaternion_of_matrix(rotation),
            linear=state.linear,
            angular=state.angular,
            breaking_impulse=state.breaking_impulse,
            enabled=state.enabled,
            holds_where_enabled=ob.stiction.hold_bodies == "ENABLED" and may_change(ob),
        )
    )


def may_change(ob: Object) -> bool:
    """Return True if values of the object's constraint are keyed or driven."""
    data = ob.animation_data
    movers = () if data is None else (*(actions.curves(ob) or ()), *data.drivers)
    has_strips = data is not None and bool(data.nla_tracks)
    return has_strips or any(one.data_path.startswith(VALUES) for one in movers)


def state_now(ob: Object, frame: int, context: Context) -> JointChange:
    """Return the state of the object's constraint at the displayed frame. frame: its number, counted from the first frame."""
    constraint = ob.evaluated_get(context.evaluated_depsgraph_get()).rigid_body_constraint
    breaking = value_of(constraint, "breaking_threshold") if constraint.use_breaking else math.inf
    return JointChange(frame, *axes_of(constraint), breaking, constraint.enabled)


def watched(joints: Joints, context: Context, frames: Iterator[int], found: dict[str, list[JointChange]]) -> Iterator[int]:
    """Yield the frames, each while it is displayed, and append the states of keyed joints to `found`, by name."""
    for number, frame in enumerate(frames):
        for name, ob in joints.keyed.items():
            found.setdefault(name, []).append(state_now(ob, number, context))
        yield frame


def with_changes(joint: JointSpec, states: list[JointChange]) -> JointSpec:
    """Return the joint with those of its states, one per frame, that differ from the previous one."""
    changes = [now for before, now in pairwise(states) if replace(before, frame=now.frame) != now]
    return replace(joint, changes=tuple(changes))


def axes_of(constraint: RigidBodyConstraint) -> tuple[Axes, Axes]:
    """Return the joint's axes along and about X, Y and Z."""
    match constraint.type:
        case "FIXED":
            return ALL_LOCKED, ALL_LOCKED
        case "POINT":
            return ALL_LOCKED, ALL_FREE
        case "HINGE":
            return ALL_LOCKED, (LOCKED, LOCKED, turned(limited(constraint, "ang_z")))
        case "SLIDER":
            return (limited(constraint, "lin_x"), LOCKED, LOCKED), ALL_LOCKED
        case "PISTON":
            return (limited(constraint, "lin_x"), LOCKED, LOCKED), (limited(constraint, "ang_x"), LOCKED, LOCKED)
        case "GENERIC" | "GENERIC_SPRING":
            x, y, z = (limited(constraint, f"lin_{axis}") for axis in "xyz")
            a, b, c = (turned(limited(constraint, f"ang_{axis}")) for axis in "xyz")
            if constraint.type == "GENERIC":
                return (x, y, z), (a, b, c)
            return (
                (sprung(x, constraint, "x"), sprung(y, constraint, "y"), sprung(z, constraint, "z")),
                (sprung(a, constraint, "ang_x"), sprung(b, constraint, "ang_y"), sprung(c, constraint, "ang_z")),
            )
        case "MOTOR":
            return (driven(constraint, "lin"), FREE_AXIS, FREE_AXIS), (driven(constraint, "ang"), FREE_AXIS, FREE_AXIS)
    raise ValueError(f"unknown type of rigid body constraint {constraint.type}")


def value_of(constraint: RigidBodyConstraint, name: str) -> float:
    return overflow.number(getattr(constraint, name))


def limited(constraint: RigidBodyConstraint, axis: str) -> AxisSpec:
    if not getattr(constraint, f"use_limit_{axis}"):
        return FREE_AXIS
    return AxisSpec(value_of(constraint, f"limit_{axis}_lower"), value_of(constraint, f"limit_{axis}_upper"))


def turned(axis: AxisSpec) -> AxisSpec:
    """Return the limits of an angle with the opposite sign."""
    return replace(axis, lower=-axis.upper, upper=-axis.lower)


def sprung(axis: AxisSpec, constraint: RigidBodyConstraint, name: str) -> AxisSpec:
    if not getattr(constraint, f"use_spring_{name}"):
        return axis
    damping = value_of(constraint, f"spring_damping_{name}") if constraint.spring_type == "SPRING2" else 0.0
    return replace(axis, stiffness=value_of(constraint, f"spring_stiffness_{name}"), damping=damping)


def driven(constraint: RigidBodyConstraint, name: str) -> AxisSpec:
    if not getattr(constraint, f"use_motor_{name}"):
        return FREE_AXIS
    velocity, force = (value_of(constraint, f"motor_{name}_{value}") for value in ("target_velocity", "max_impulse"))
    return AxisSpec(motor_velocity=-velocity, motor_force=force)


def end_problems(ob: Object, ends: tuple[Object | None, ...], world: RigidBodyWorld) -> Iterator[SceneProblem]:
    """Yield problems of the two objects that a constraint connects."""
    members = {member.session_uid for member in world.collection.all_objects}
    for name, end in zip(("object1", "object2"), ends, strict=True):
        if end is None:
            continue
        if end.rigid_body is None:
            message = f"{end.name_full} has no rigid body, so nothing can be connected to it; add one, or choose another object"
        elif is_compound_part(end):
            message = f"{end.name_full} is part of a compound and not a separate body; choose {end.parent.name_full}"
        elif end.session_uid not in members:
            message = f"{end.name_full} is not in the collection of the rigid body world, so it is not simulated; add it"
        else:
            continue
        yield SceneProblem(ob.name_full, name, message)
    if ends[0] is not None and ends[0] == ends[1]:
        message = f"both of its objects are {ends[0].name_full}; choose two different ones, or none for the world"
        yield SceneProblem(ob.name_full, "object2", message)


def constraint_warnings(ob: Object, names: tuple[str, ...]) -> Iterator[SceneWarning]:
    """Yield warnings about an enabled constraint without effect, or with an effect different from Blender's own simulation."""
    constraint = ob.rigid_body_constraint

    def warn(name: str, message: str) -> SceneWarning:
        return SceneWarning((ob.name_full,), name, message)

    yield from unfollowed_values(ob, UNFOLLOWED)
    if not any(names):
        yield warn("object1", "it names no objects, so it connects nothing")
    elif not all(names):
        one = names[0] or names[1]
        yield warn(
            "object1" if names[1] else "object2",
            f"one of its objects is not set, so {one} is connected to the world; in Blender's own simulation it does nothing",
        )
    if constraint.use_override_solver_iterations:
        message = "Override Iterations has no effect: every step is solved to the tolerance of the scene"
        yield warn("solver_iterations", message)
    if constraint.type == "MOTOR" and not (constraint.use_motor_lin or constraint.use_motor_ang):
        yield warn("use_motor_lin", "neither of its motors is enabled, so it does nothing")
    if constraint.type == "GENERIC_SPRING" and constraint.spring_type == "SPRING1":
        springs = [name for name in ("x", "y", "z", "ang_x", "ang_y", "ang_z") if getattr(constraint, f"use_spring_{name}")]
        if any(getattr(constraint, f"spring_damping_{name}") > UNDAMPED for name in springs):
            yield warn(
                "spring_type",
                "the damping of a Blender 2.7 spring is ignored, because it depends on Bullet's iterations; the type Blender "
                "2.8 has a damping in N s/m",
            )
