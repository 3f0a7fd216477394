# SPDX-License-Identifier: GPL-3.0-or-later
"""Report entries and warnings about joints: reactions, breaking, and conflicts."""

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
    """Return the report's entry for each joint.

    An entry contains the two bodies ("" for the world), whether the reaction is unique at the start of the scene, the frame in
    which the joint broke or null, its largest constraint error in m, and for each frame the mean force in N and torque in N m
    on the second body, about the joint, in world axes.
    """
    if not spec.joints:
        return []
    # Imported here because it loads scipy, which programs that only read frames do not need.
    from ..validation.self_stress import has_unique_reaction

    of_all = {"broke": None, "gave_way": 0.0}
    unique = has_unique_reaction(spec).tolist()
    return [
        {"joint": joint.name, "bodies": [joint.body_a, joint.body_b], "unique": is_unique, **of_all, "force": [], "torque": []}
        for joint, is_unique in zip(spec.joints, unique, strict=True)
    ]


def add_reactions(frame: Frame, joints: list[dict[str, Any]]) -> None:
    """Add the reactions and the constraint errors of joints in a frame to their entries."""
    for entry, reaction, off in zip(joints, frame.reactions, frame.giving_way, strict=True):
        entry["gave_way"] = max(entry["gave_way"], float(off))
        entry["force"].append(reaction[:3].tolist())
        entry["torque"].append(reaction[3:].tolist())


def note_breaking(frame: Frame, joints: list[dict[str, Any]]) -> None:
    """Record the joints that broke in a frame in their entries."""
    for entry, broken in zip(joints, frame.broken, strict=True):
        if broken and entry["broke"] is None:
            entry["broke"] = frame.frame


def breaking_warnings(frame: Frame, spec: SceneSpec, known: Collection[str]) -> Iterator[SceneWarning]:
    """Yield one warning for all joints that are broken at the end of a frame, except for known ones."""
    broken = tuple(name for name in broken_joints(frame, spec) if name not in known)
    if broken:
        yield SceneWarning(broken, "joints", f"broke at frame {frame.frame}")


def broken_joints(frame: Frame, spec: SceneSpec) -> tuple[str, ...]:
    """Return the names of the joints that are broken at the end of a frame."""
    return tuple(spec.joints[k].name for k in np.flatnonzero(frame.broken))


def contradiction_warnings(frame: Frame, spec: SceneSpec, known: Collection[str]) -> Iterator[SceneWarning]:
    """Yield a warning for each joint with a constraint error at the end of a frame, except for known ones.

    The warning names the conflicting joints. These are the joints that transmit its forces further through active bodies, at
    about the same magnitude.
    """
    gives_way = np.flatnonzero(frame.giving_way)
    reported = set(known)
    for joint in gives_way[np.argsort(-frame.giving_way[gives_way], kind="stable")]:
        if spec.joints[joint].name in reported:
            continue
        members = borne_with(frame, spec, int(joint))
        names = [spec.joints[member].name for member in members]
        reported.update(names)
        error, moment = distance(float(frame.giving_way[joint])), f"at frame {frame.frame}"
        if len(members) == 1:
            cause, advice = why_off(spec.joints[joint], frame, spec)
            statement = f"the joint {names[0]} is off by {error} {moment}: {cause}"
        else:
            statement = f"the joints {listed(names)} contradict each other: {names[0]} is off by {error} {moment}"
            advice = "change their limits or the motion of their ends, or let them break"
        advice = f"the bake goes on with the least error; {advice}"
        yield SceneWarning(tuple(names), "contradiction", f"{statement}; {advice}")


def why_off(joint: JointSpec, frame: Frame, spec: SceneSpec) -> tuple[str, str]:
    """Return the cause of a joint's constraint error at the end of a frame if no other joint is involved, and the remedy."""
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
        return cause, "disable it there, or change the motion of its ends"
    others = (
        other
        for other, broken in zip(spec.joints, frame.broken, strict=True)
        if other.name != joint.name and not broken and other.is_enabled_at(row)
    )
    if any(active & {other.body_a, other.body_b} for other in others):
        return "other constraints on its bodies contradict it", "change its limits or the motion of its ends, or let it break"
    return "what its bodies touch, or how they are locked, keeps them from it", "make room for them, or let it break"


def borne_with(frame: Frame, spec: SceneSpec, joint: int) -> list[int]:
    """Return a joint and the joints that carry its load: connected through active bodies, with at least half of its force or
    torque."""
    active = {body.name for body in spec.bodies if body.kind is BodyKind.ACTIVE}
    force, torque = (np.linalg.norm(frame.reactions[:, part], axis=1) for part in (slice(0, 3), slice(3, 6)))
    bears = ((force >= 0.5 * force[joint]) & (force > 0.0)) | ((torque >= 0.5 * torque[joint]) & (torque > 0.0))
    rows_at: dict[str, list[int]] = {}
    for k in np.flatnonzero(bears & ~frame.broken):
        for name in active.intersection((spec.joints[k].body_a, spec.joints[k].body_b)):
            rows_at.setdefault(name, []).append(int(k))
    found = [joint]
    for k in found:
        for name in (spec.joints[k].body_a, spec.joints[k].body_b):
            found += [other for other in rows_at.pop(name, ()) if other not in found]
    return found
