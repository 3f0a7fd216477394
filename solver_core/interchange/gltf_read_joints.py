# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints of KHR_physics_rigid_bodies as those of a scene, counted from where the scene begins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from .frames import begun, motored, nearest_rotation, quaternion_of
from .gltf_nodes import Nodes

__all__ = ["read_joints"]

Json = dict[str, Any]


def read_joints(nodes: Nodes, given: list[Json], bodies: dict[int, str]) -> tuple[list[JointSpec], set[tuple[str, str]]]:
    """The joints of bodies, by the numbers of their nodes, and the pairs of these that do not collide."""
    joints: list[JointSpec] = []
    excluded: set[tuple[str, str]] = set()
    taken: set[str] = set()
    for number in nodes.above:
        own = (nodes.physics(number) or {}).get("joint")
        if own is None:
            continue
        name = nodes.free_name(number, taken)
        joint = read_joint(nodes, number, own, given, bodies, name)
        if joint is None:
            continue
        taken.add(name)
        joints.append(joint)
        if joint.body_a and joint.body_b and not own.get("enableCollision", False):
            excluded.add((min(joint.body_a, joint.body_b), max(joint.body_a, joint.body_b)))
    return joints, excluded


def read_joint(nodes: Nodes, number: int, own: Json, given: list[Json], bodies: dict[int, str], name: str) -> JointSpec | None:
    """One joint; None with what was found."""
    found, path, other, index = nodes.found, nodes.path(number), own.get("connectedNode"), own.get("joint")
    if other not in nodes.above:
        found.wrong(path, "connectedNode", f"there is no node {other} in the scene; name another, or remove the joint")
        return None
    if not isinstance(index, int) or not 0 <= index < len(given):
        found.wrong(path, "joint", f"there is no joint {index}; name another, or remove the joint")
        return None
    ends = [body_at(nodes, one, bodies) for one in (number, other)]
    if ends[0] == ends[1]:
        what = f"both of its nodes are of {ends[0]}" if ends[0] else "neither of its nodes moves"
        found.odd(path, "connectedNode", f"{what}, so it joins nothing, and is left out")
        return None
    frames = []
    for one in (number, other):
        frame = np.eye(4)
        try:
            frame[:3, :3] = nearest_rotation(nodes.worlds[one][:3, :3])
        except ValueError as error:
            found.wrong(nodes.path(one), "scale", str(error))
            return None
        frame[:3, 3] = nodes.worlds[one][:3, 3]
        frames.append(frame)
    axes = axes_of(nodes, path, given[index])
    position, turn, linear, angular, said = begun(frames[0], frames[1], axes)
    if said:
        found.odd(path, "joint", said)
    return JointSpec(name, ends[0], ends[1], position, quaternion_of(turn), linear, angular)


def body_at(nodes: Nodes, number: int, bodies: dict[int, str]) -> str:
    """The body that a node belongs to, "" for the world."""
    now: int | None = number
    while now is not None:
        if now in bodies:
            return bodies[now]
        now = nodes.above[now]
    return ""


def axes_of(nodes: Nodes, path: str, given: Json) -> list[AxisSpec]:
    """What a joint does along and about X, Y and Z."""
    axes, found = [FREE_AXIS] * 6, nodes.found
    for limit in given.get("limits", []):
        low, high = limit.get("min", -math.inf), limit.get("max", math.inf)
        if not all(isinstance(value, (int, float)) and not math.isnan(value) for value in (low, high)):
            found.wrong(path, "limits", f"{low} to {high} is no range; correct it in the file")
            continue
        numbers = [*limited_axes(limit)]
        is_soft = limit.get("stiffness") is not None
        if is_soft and low == high == 0.0:
            for number in numbers:
                axes[number] = replace(
                    axes[number], stiffness=float(limit["stiffness"]), damping=float(limit.get("damping", 0.0))
                )
            continue
        if is_soft:
            found.odd(path, "limits", "a limit that gives way is a stop here; its stiffness is left out")
        if len(numbers) > 1 and not low == high == 0.0:
            found.odd(path, "limits", "a distance or a cone of several axes is taken as a limit of each")
            low = -high if math.isfinite(high) else low
        for number in numbers:
            axes[number] = LOCKED if low >= high else replace(axes[number], lower=float(low), upper=float(high))
    for drive in given.get("drives", []):
        number = int(drive["axis"]) + (3 if drive["type"] == "angular" else 0)
        if axes[number] != LOCKED:
            axes[number] = driven(nodes, path, axes[number], drive, number)
    return axes


def limited_axes(limit: Json) -> Iterator[int]:
    yield from (int(number) for number in limit.get("linearAxes", []))
    yield from (3 + int(number) for number in limit.get("angularAxes", []))


def driven(nodes: Nodes, path: str, axis: AxisSpec, drive: Json, number: int) -> AxisSpec:
    """The axis with a drive: a spring, or a motor."""
    found, name = nodes.found, f"{drive['type']} {'XYZ'[number % 3]}"
    stiffness, damping = float(drive.get("stiffness", 0.0)), float(drive.get("damping", 0.0))
    speed, strongest = float(drive.get("velocityTarget", 0.0)), float(drive.get("maxForce", math.inf))
    if not all(map(math.isfinite, (stiffness, damping, speed))) or min(stiffness, damping, strongest) < 0.0:
        found.wrong(path, "drives", "a drive needs finite numbers, of stiffness, damping and maxForce 0 or more; correct it")
        return axis
    if drive.get("mode", "force") != "force":
        found.odd(path, "drives", "drives by acceleration are left out; give the drive the mode force")
        return axis
    if stiffness == 0.0 and speed != 0.0:
        return motored(found, path, name, axis, damping, speed, strongest)
    if math.isfinite(strongest):
        found.odd(path, "drives", "a spring here has no largest force; it is left out")
    if speed != 0.0:
        found.odd(path, "drives", "a spring here has no speed of its own; it is left out")
    rest = float(drive.get("positionTarget", 0.0)) if stiffness > 0.0 else 0.0
    return replace(axis, stiffness=stiffness, damping=damping, rest=rest)
