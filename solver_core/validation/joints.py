# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors in the joints of a scene, and warnings about joints without effect.

There is no warning about springs that are too stiff for the time step: each step solves for the spring forces, so all springs
are stable.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from ..scene.joints import LOCKED, AxisSpec, JointChange, JointSpec
from ..scene.spec import BodyKind, SceneSpec, SceneWarning
from .findings import UNIT, Findings, SceneProblem, describe, is_finite, is_not_negative

__all__ = ["joint_problems", "joint_warnings"]

NAMES = "xyz"


def joint_problems(spec: SceneSpec) -> Iterator[SceneProblem]:
    """Yield the problems of the joints of a scene."""
    bodies = {body.name for body in spec.bodies}
    bent = {body.name for body in spec.bodies if body.deformable is not None}
    for name, count in Counter(joint.name for joint in spec.joints).items():
        if count > 1:
            yield SceneProblem(name, "name", f"{count} joints have this name; give each its own")
    for joint in spec.joints:
        for field, message in (*end_findings(joint, bodies), *frame_findings(joint), *state_findings(joint)):
            yield SceneProblem(joint.name, field, message)
        if joint.holds_where_enabled and joint.changes and {joint.body_a, joint.body_b} <= bent:
            message = (
                "both of its bodies are flexible, and their shapes when it is enabled are not known; let it hold as set up"
            )
            yield SceneProblem(joint.name, "holds_where_enabled", message)
        for field, message in strength_findings(joint):
            yield SceneProblem(joint.name, field, message)
        for change in joint.changes:
            for field, message in state_findings(change):
                yield SceneProblem(joint.name, field, f"{message}, at frame {spec.frame_start + change.frame}")
        frames = [change.frame for change in joint.changes]
        if sorted(set(frames)) != frames or (frames and frames[0] < 0):
            yield SceneProblem(
                joint.name, "changes", f"its changes are at {frames}; give each a later frame than the one before"
            )


def end_findings(joint: JointSpec, bodies: set[str]) -> Findings:
    """Yield the errors in the bodies that a joint connects."""
    for field in ("body_a", "body_b"):
        name = getattr(joint, field)
        if name and name not in bodies:
            yield field, f"{name!r} is not a body of the scene; name one of its bodies, or none for the world"
    if joint.body_a and joint.body_a == joint.body_b:
        yield "body_b", f"both of its ends are {joint.body_a!r}; connect it to another body, or to none for the world"


def frame_findings(joint: JointSpec) -> Findings:
    """Yield the errors in the position and orientation of a joint."""
    for field, size in (("position", 3), ("orientation", 4)):
        value = getattr(joint, field)
        if not is_finite(value, (size,)):
            yield field, f"is {describe(value)}; it must be {size} finite numbers; check the object's transform and its parents"
    if is_finite(joint.orientation, (4,)) and abs(np.linalg.norm(joint.orientation) - 1.0) > UNIT:
        length = np.linalg.norm(joint.orientation)
        yield "orientation", f"is {describe(joint.orientation)}, of length {length:g}; a rotation has length 1"


def strength_findings(joint: JointSpec) -> Findings:
    """Yield the errors in the strength of a bond."""
    if joint.strength is None:
        return
    for name, value in asdict(joint.strength).items():
        if name == "area":
            if not (value >= 0.0 and math.isfinite(value)):
                yield "strength.area", f"is {value}; it must be finite, and 0 (not known) or more"
        elif not (value > 0.0 and math.isfinite(value)):
            yield f"strength.{name}", f"is {value}; it must be more than 0 and finite"
    if any(axis != LOCKED for axis in (*joint.linear, *joint.angular)):
        yield "strength", "is for bonds, which lock all six axes; lock them, or give the joint a breaking impulse instead"
    if any(each.breaking_impulse < math.inf for each in (joint, *joint.changes)):
        yield "strength", "cannot be combined with a breaking impulse; leave one of them out"
    if any(axis != LOCKED for change in joint.changes for axis in (*change.linear, *change.angular)):
        yield "changes", "release single axes of a bond; a change can only disable the whole bond"
    if any(change.enabled for change in joint.changes):
        yield "changes", "enable a bond; a change can only disable it"


def state_findings(joint: JointSpec | JointChange) -> Findings:
    """Yield the errors in the axes and the breaking impulse of a joint, at one frame."""
    if not joint.breaking_impulse >= 0.0:
        message = f"is {joint.breaking_impulse}; it must be 0 or more, and infinite for a joint that never breaks"
        yield "breaking_impulse", message
    for field, way in (("linear", "along"), ("angular", "about")):
        axes = getattr(joint, field)
        if len(axes) != len(NAMES):
            yield field, f"has {len(axes)} axes; a joint has three, X, Y and Z"
            continue
        for name, axis in zip(NAMES, axes, strict=True):
            for axis_field, message in axis_findings(axis, f"{way} {name.upper()}"):
                yield f"{field}.{name}.{axis_field}", message


def axis_findings(axis: AxisSpec, where: str) -> Findings:
    """Yield the errors in one coordinate of a joint. where: the coordinate in words, such as "about X"."""
    if math.isnan(axis.lower) or math.isnan(axis.upper):
        yield "lower", f"the limits {where} are {axis.lower} and {axis.upper}; give numbers, or infinite ones for no limit"
    elif axis.lower > axis.upper or math.inf in (axis.lower, -axis.upper):
        yield "lower", f"the lower limit {where} lies above the upper one ({axis.lower:g} and {axis.upper:g}); swap them"
    for field, name in (
        ("stiffness", "stiffness of the spring"),
        ("damping", "damping of the spring"),
        ("motor_force", "force of the motor"),
    ):
        value = getattr(axis, field)
        if not is_not_negative(value):
            yield field, f"the {name} {where} is {value}; it must be 0 or more and finite"
    for field, name in (("rest", "rest of the spring"), ("motor_velocity", "velocity of the motor")):
        value = getattr(axis, field)
        if not math.isfinite(value):
            yield field, f"the {name} {where} is {value}; it must be finite"


def joint_warnings(spec: SceneSpec) -> Iterator[SceneWarning]:
    """Yield warnings about joints of a valid scene that have no effect."""
    active = {body.name for body in spec.bodies if body.kind is BodyKind.ACTIVE}
    for joint in spec.joints:
        if joint.body_a not in active and joint.body_b not in active:
            ends = " and ".join(name or "the world" for name in (joint.body_a, joint.body_b))
            reason = "its motor has nothing to move" if has_motor(joint) else "it has nothing to hold"
            message = f"neither of its ends is active ({ends}), so {reason}"
            yield SceneWarning((joint.name,), "body_a", message)
        for way, axes in (("along", joint.linear), ("about", joint.angular)):
            for name, axis in zip(NAMES, axes, strict=True):
                if axis.lower == axis.upper and axis.motor_force > 0.0 and axis.motor_velocity != 0.0:
                    message = f"its motor drives it {way} {name.upper()}, where it is locked"
                    yield SceneWarning((joint.name,), "motor_force", message)


def has_motor(joint: JointSpec) -> bool:
    """Return True if any axis of the joint has a motor."""
    return any(axis.motor_force > 0.0 for axis in (*joint.linear, *joint.angular))
