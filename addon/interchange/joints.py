# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of joints of other tools to joints that Blender's constraints support: separate motors, limits on both sides."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...solver_core.interchange.described import Found
from ...solver_core.interchange.frames import matrix_of, quaternion_of
from ...solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec

__all__ = ["for_constraints", "kept_apart"]

# Limits that represent no limit at one side: m, and the largest angle in Blender [rad].
FAR, ROUND = 1e4, 2.0 * math.pi
FREE = (FREE_AXIS, FREE_AXIS, FREE_AXIS)


def for_constraints(joint: JointSpec, found: Found) -> Iterator[JointSpec]:
    """Return joints that together have the effect of one, each of which a Blender constraint can represent."""
    axes = [*joint.linear, *joint.angular]
    base = [fitted(joint.name, axis, is_angle=number > 2, found=found) for number, axis in enumerate(axes)]
    if any(axis != FREE_AXIS for axis in base) or not any(axis.motor_force > 0.0 for axis in axes):
        yield replace(joint, linear=tuple(base[:3]), angular=tuple(base[3:]))
    for number, axis in enumerate(axes):
        if axis.motor_force > 0.0:
            yield motor(joint, number, axis)


def fitted(name: str, axis: AxisSpec, *, is_angle: bool, found: Found) -> AxisSpec:
    """Return an axis without its motor, with limits on both sides or none, and with a spring that pulls to its initial
    position."""
    lower, upper = axis.lower, axis.upper
    if math.isfinite(lower) != math.isfinite(upper):
        far = ROUND if is_angle else FAR
        lower, upper = max(lower, -far), min(upper, far)
        found.odd(name, "limits", f"a limit at one side has its other one at {far:.4g} here")
    if is_angle and math.isfinite(lower) and (lower < -ROUND or upper > ROUND):
        found.odd(name, "limits", "an angle of more than a full turn has no limit in Blender; that limit is left out")
        lower, upper = -math.inf, math.inf
    if axis.stiffness > 0.0 and axis.rest != 0.0:
        found.odd(name, "rest", "a spring in Blender pulls to its initial position; its own target is left out")
    return AxisSpec(lower, upper, axis.stiffness, axis.damping)


def motor(joint: JointSpec, number: int, axis: AxisSpec) -> JointSpec:
    """Return the motor of an axis as a joint along or about the X axis of its own frame."""
    driven = (AxisSpec(motor_velocity=axis.motor_velocity, motor_force=axis.motor_force), FREE_AXIS, FREE_AXIS)
    way = number % 3
    # rotates X to the axis
    turn = matrix_of(joint.orientation) @ np.roll(np.eye(3), way, axis=1).T
    is_alone = axis == driven[0] and all(one == FREE_AXIS for one in (*joint.linear, *joint.angular) if one is not axis)
    name = joint.name if is_alone else f"{joint.name} Motor {'XYZ'[way]}"
    linear, angular = (driven, FREE) if number < len(FREE) else (FREE, driven)
    return replace(
        joint, name=name, orientation=quaternion_of(turn) if way else joint.orientation, linear=linear, angular=angular
    )


def kept_apart(pair: tuple[str, str]) -> JointSpec:
    """Return a disabled constraint, which only prevents two bodies from colliding."""
    locked = (LOCKED, LOCKED, LOCKED)
    return JointSpec(f"{pair[0]} | {pair[1]}", *pair, linear=locked, angular=locked, enabled=False)
