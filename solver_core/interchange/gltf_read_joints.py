# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints of KHR_physics_rigid_bodies as joints of a scene, with coordinates that are zero at the start of the scene."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from .described import shortened
from .frames import joint_between, nearest_rotation, quaternion_of, with_motor
from .gltf_file import is_index, is_number
from .gltf_nodes import Nodes

__all__ = ["read_joints"]

Json = dict[str, Any]


def read_joints(nodes: Nodes, descriptions: list[Json], bodies: dict[int, str]) -> tuple[list[JointSpec], set[tuple[str, str]]]:
    """Return the joints, and the pairs of bodies joined by them that do not collide.

    descriptions: the document's list of joints. bodies: names of the bodies, by node.
    """
    joints: list[JointSpec] = []
    excluded: set[tuple[str, str]] = set()
    taken: set[str] = set()
    for number in nodes.above:
        entry = (nodes.physics(number) or {}).get("joint")
        if entry is None:
            continue
        name = nodes.free_name(number, taken)
        joint = read_joint(nodes, number, entry, descriptions, bodies, name)
        if joint is None:
            continue
        taken.add(name)
        joints.append(joint)
        if joint.body_a and joint.body_b and not entry.get("enableCollision", False):
            excluded.add((min(joint.body_a, joint.body_b), max(joint.body_a, joint.body_b)))
    return joints, excluded


def read_joint(
    nodes: Nodes, number: int, entry: Json, descriptions: list[Json], bodies: dict[int, str], name: str
) -> JointSpec | None:
    """Return a joint, or None if a problem or a warning was added. entry: the joint of node `number`."""
    found, path, connected, index = nodes.found, nodes.path(number), entry.get("connectedNode"), entry.get("joint")
    if not is_index(connected, len(nodes.all)) or connected not in nodes.above:
        found.wrong(path, "connectedNode", f"there is no node {connected!r} in the scene; name another, or remove the joint")
        return None
    if not is_index(index, len(descriptions)):
        found.wrong(path, "joint", f"there is no joint {index!r}; name another, or remove the joint")
        return None
    ends = [body_at(nodes, one, bodies) for one in (number, connected)]
    if ends[0] == ends[1]:
        reason = f"both of its nodes are part of {ends[0]}" if ends[0] else "neither of its nodes is part of a body"
        found.odd(path, "connectedNode", f"{reason}, so it joins nothing and is left out")
        return None
    frames = []
    for one in (number, connected):
        frame = np.eye(4)
        try:
            frame[:3, :3] = nearest_rotation(nodes.worlds[one][:3, :3])
        except ValueError as error:
            found.wrong(nodes.path(one), "scale", str(error))
            return None
        frame[:3, 3] = nodes.worlds[one][:3, 3]
        frames.append(frame)
    axes = axes_of(nodes, path, descriptions[index])
    position, turn, linear, angular, warning = joint_between(frames[0], frames[1], axes)
    if warning:
        found.odd(path, "joint", warning)
    return JointSpec(name, ends[0], ends[1], position, quaternion_of(turn), linear, angular)


def body_at(nodes: Nodes, number: int, bodies: dict[int, str]) -> str:
    """Return the name of the body to which a node belongs, "" for the world."""
    ancestor: int | None = number
    while ancestor is not None:
        if ancestor in bodies:
            return bodies[ancestor]
        ancestor = nodes.above[ancestor]
    return ""


def axes_of(nodes: Nodes, path: str, description: Json) -> list[AxisSpec]:
    """Return the six axes of a joint: along X, Y and Z, then about X, Y and Z."""
    axes, found = [FREE_AXIS] * 6, nodes.found
    for limit in description.get("limits", []):
        low, high = limit.get("min", -math.inf), limit.get("max", math.inf)
        if not all(is_number(value) and not math.isnan(value) for value in (low, high)):
            found.wrong(path, "limits", f"{shortened(low)} to {shortened(high)} is not a range; correct it in the file")
            continue
        numbers = limited_axes(nodes, path, limit)
        is_soft = limit.get("stiffness") is not None
        if is_soft and low == high == 0.0:
            stiffness, damping = limit["stiffness"], limit.get("damping", 0.0)
            if not all(is_number(value) and 0.0 <= value < math.inf for value in (stiffness, damping)):
                found.wrong(path, "limits", "stiffness and damping must be finite numbers of 0 or more; correct them")
                continue
            for number in numbers:
                axes[number] = replace(axes[number], stiffness=float(stiffness), damping=float(damping))
            continue
        if is_soft:
            found.odd(path, "limits", "a soft limit is a hard limit here; its stiffness is left out")
        if len(numbers) > 1 and not low == high == 0.0:
            found.odd(path, "limits", "a limit of the distance or the cone of several axes becomes a limit of each axis")
            low = -high if math.isfinite(high) else low
        for number in numbers:
            axes[number] = LOCKED if low >= high else replace(axes[number], lower=float(low), upper=float(high))
    for drive in description.get("drives", []):
        if not is_index(drive.get("axis"), 3) or drive.get("type") not in ("linear", "angular"):
            kind = f"{drive.get('type')!r} {drive.get('axis')!r}"
            found.wrong(path, "drives", f"there is no axis {kind}; name linear or angular, and 0, 1 or 2")
            continue
        number = drive["axis"] + (3 if drive["type"] == "angular" else 0)
        if axes[number] != LOCKED:
            axes[number] = driven(nodes, path, axes[number], drive, number)
    return axes


def limited_axes(nodes: Nodes, path: str, limit: Json) -> list[int]:
    """Return the axes of a limit, 0 to 5. Adds a problem for others."""
    numbers = []
    for name, first in (("linearAxes", 0), ("angularAxes", 3)):
        for axis in limit.get(name, []):
            if is_index(axis, 3):
                numbers.append(first + axis)
            else:
                nodes.found.wrong(path, name, f"there is no axis {axis!r}; name 0, 1 or 2")
    return numbers


def driven(nodes: Nodes, path: str, axis: AxisSpec, drive: Json, number: int) -> AxisSpec:
    """Return the axis with a drive: a spring, or a motor. number: of the axis, 0 to 5."""
    found, name = nodes.found, f"{drive['type']} {'XYZ'[number % 3]}"
    stiffness, damping = drive.get("stiffness", 0.0), drive.get("damping", 0.0)
    speed, max_force, rest = drive.get("velocityTarget", 0.0), drive.get("maxForce", math.inf), drive.get("positionTarget", 0.0)
    are_finite = all(is_number(value) and math.isfinite(value) for value in (stiffness, damping, speed, rest))
    if not are_finite or not is_number(max_force) or not min(stiffness, damping, max_force) >= 0.0:
        found.wrong(path, "drives", "a drive needs finite numbers, of stiffness, damping and maxForce 0 or more; correct it")
        return axis
    stiffness, damping, speed, max_force = map(float, (stiffness, damping, speed, max_force))
    if drive.get("mode", "force") != "force":
        found.odd(path, "drives", "drives by acceleration are left out; give the drive the mode force")
        return axis
    if stiffness == 0.0 and speed != 0.0:
        return with_motor(found, path, name, axis, damping, speed, max_force)
    if math.isfinite(max_force):
        found.odd(path, "drives", "the force of a spring here has no limit; maxForce is left out")
    if speed != 0.0:
        found.odd(path, "drives", "a spring here has no target velocity; it is left out")
    return replace(axis, stiffness=stiffness, damping=damping, rest=float(rest) if stiffness > 0.0 else 0.0)
