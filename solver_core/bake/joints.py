# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report says of joints, and a bake while it goes on: reactions, breaking, and which contradict each other."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from ..dynamics.model.frame import Frame
from ..scene.joints import JointSpec
from ..scene.spec import BodyKind, SceneSpec, SceneWarning, spans_of
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
            cause, advice = why_off(spec.joints[joint], frame, spec)
            said = f"the joint {names[0]} is off by {off} {at}: {cause}"
        else:
            said = f"the joints {listed(names)} contradict each other: {names[0]} is off by {off} {at}"
            advice = "change their limits or the motion of their ends, or let them break"
        advice = f"the bake goes on with the least error; {advice}"
        yield SceneWarning(tuple(names), "contradiction", f"{said}; {advice}")


def why_off(joint: JointSpec, frame: Frame, spec: SceneSpec) -> tuple[str, str]:
    """What keeps a joint from where it has to be at a frame's end, alone of all joints, and what to do."""
    enabled = [change.frame for change in joint.changes if joint.becomes_enabled_at(change.frame)]
    earlier = [number for number in enabled if spec.frame_start + number <= frame.frame]
    if earlier and not joint.holds_where_enabled:
        cause = (
            f"it is enabled at frame {spec.frame_start + earlier[-1]} with its bodies out of place, and something is in the way"
        )
        return cause, "let it hold its bodies where they are when it is enabled, or bring them into place first"
    row = frame.frame - spec.frame_start
    active = {
        body.name
        for body in spec.bodies
        if body.kind is BodyKind.ACTIVE
        and body.name in (joint.body_a, joint.body_b)
        and not any(first <= row <= last for first, last in spans_of(body))
    }
    if not active:
        cause = "none of its bodies is moved by the solver there: they follow keyframes, or stand still"
        return cause, "switch it off there, or change the motion of its ends"
    others = (
        other
        for other, broken in zip(spec.joints, frame.broken, strict=True)
        if other.name != joint.name and not broken and other.is_enabled_at(row)
    )
    if any(active & {other.body_a, other.body_b} for other in others):
        return "other constraints on its bodies contradict it", "change its limits or the motion of its ends, or let it break"
    return "what its bodies touch, or how they are locked, keeps them from it", "make room for them, or let it break"


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
