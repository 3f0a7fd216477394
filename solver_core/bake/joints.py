# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report says of joints, and a bake while it goes on: reactions, breaking, and which contradict each other."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from ..dynamics.model.frame import Frame
from ..scene.spec import BodyKind, SceneSpec, SceneWarning
from ..scene.words import distance
from ..validation.findings import listed

__all__ = [
    "add_reactions",
    "breaking_warnings",
    "broken_joints",
    "contradiction_warnings",
    "joint_entries",
    "note_breaking",
]


def joint_entries(spec: SceneSpec) -> list[dict[str, Any]]:
    """What the report says of each joint: its two bodies ("" is the world), whether its reaction is unique as the scene begins,
    the frame in which it broke or null, the most that it gave way, in m, and frame by frame the force in N and the torque in
    N m on the second body, about the joint, world axes, each the mean over the frame."""
    if not spec.joints:
        return []
    # not above: it loads scipy, which who only looks at frames has no use for
    from ..validation.self_stress import has_unique_reaction

    of_all = {"broke": None, "gave_way": 0.0}
    unique = has_unique_reaction(spec).tolist()
    return [
        {"joint": joint.name, "bodies": [joint.body_a, joint.body_b], "unique": own, **of_all, "force": [], "torque": []}
        for joint, own in zip(spec.joints, unique, strict=True)
    ]


def add_reactions(frame: Frame, joints: list[dict[str, Any]]) -> None:
    """Add what joints bear in a frame, and how far they give way, to their entries."""
    for entry, reaction, off in zip(joints, frame.reactions, frame.giving_way, strict=True):
        entry["gave_way"] = max(entry["gave_way"], float(off))
        entry["force"].append(reaction[:3].tolist())
        entry["torque"].append(reaction[3:].tolist())


def note_breaking(frame: Frame, joints: list[dict[str, Any]]) -> None:
    """Note in the entries of joints which of them broke in a frame."""
    for entry, broken in zip(joints, frame.broken, strict=True):
        if broken and entry["broke"] is None:
            entry["broke"] = frame.frame


def breaking_warnings(frame: Frame, spec: SceneSpec, known: Collection[str]) -> Iterator[SceneWarning]:
    """One for all joints that are broken at a frame's end, but for those that are known to be."""
    broken = tuple(name for name in broken_joints(frame, spec) if name not in known)
    if broken:
        yield SceneWarning(broken, "joints", f"broke at frame {frame.frame}")


def broken_joints(frame: Frame, spec: SceneSpec) -> tuple[str, ...]:
    """The names of the joints that are broken at a frame's end."""
    return tuple(spec.joints[k].name for k in np.flatnonzero(frame.broken))


def contradiction_warnings(frame: Frame, spec: SceneSpec, known: Collection[str]) -> Iterator[SceneWarning]:
    """One for each joint that gives way at a frame's end, with those that it contradicts, but for joints that are known to.

    These are the joints that its forces go on through: about as large in them, by way of active bodies.
    """
    gives_way = np.flatnonzero(frame.giving_way)
    told = set(known)
    for joint in gives_way[np.argsort(-frame.giving_way[gives_way], kind="stable")]:
        if spec.joints[joint].name in told:
            continue
        members = borne_with(frame, spec, int(joint))
        names = [spec.joints[member].name for member in members]
        told.update(names)
        off, at = distance(float(frame.giving_way[joint])), f"at frame {frame.frame}"
        if len(members) == 1:
            said = f"the joint {names[0]} is off by {off} {at}: other constraints on its bodies contradict it"
        else:
            said = f"the joints {listed(names)} contradict each other: {names[0]} is off by {off} {at}"
        advice = "the bake goes on with the least error; change their limits or the motion of their ends, or let them break"
        yield SceneWarning(tuple(names), "contradiction", f"{said}; {advice}")


def borne_with(frame: Frame, spec: SceneSpec, joint: int) -> list[int]:
    """A joint and after it those that bear what it bears: joined to it by active bodies, with half its force or torque."""
    active = {body.name for body in spec.bodies if body.kind is BodyKind.ACTIVE}
    force, torque = (np.linalg.norm(frame.reactions[:, part], axis=1) for part in (slice(0, 3), slice(3, 6)))
    bears = ((force >= 0.5 * force[joint]) & (force > 0.0)) | ((torque >= 0.5 * torque[joint]) & (torque > 0.0))
    at: dict[str, list[int]] = {}
    for k in np.flatnonzero(bears & ~frame.broken):
        for name in active.intersection((spec.joints[k].body_a, spec.joints[k].body_b)):
            at.setdefault(name, []).append(int(k))
    found = [joint]
    for k in found:
        for name in (spec.joints[k].body_a, spec.joints[k].body_b):
            found += [other for other in at.pop(name, ()) if other not in found]
    return found
