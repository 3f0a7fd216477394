# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors in prescribed paths, and the number of frames for which they are valid.

A path that becomes non-finite during a shot is accepted if it has at least two valid frames, because all frames before can be
simulated.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..scene.spec import BodyKind, BodySpec, SceneSpec, SceneWarning
from .findings import UNIT, Array, Findings, SceneProblem

__all__ = ["followed_frames", "lost_motion", "lost_warnings", "path_findings"]

# Smallest number of valid frames of a path.
LEAST_FOLLOWED = 2


def path_findings(body: BodySpec, spec: SceneSpec) -> Findings:
    """Yield the errors in the path of a body, or an error if a required path is missing."""
    frames = spec.frame_end - spec.frame_start + 1
    yield from span_findings(body, frames)
    if body.kind is BodyKind.ACTIVE and body.path is not None:
        held = len(np.atleast_1d(body.path))
        if not 2 <= held <= frames:
            message = f"has {held} poses; an active body can follow 2 to {frames} of them before its release"
            yield "path", message
            return
        frames = held
    elif body.kind is not BodyKind.ANIMATED:
        return
    if body.path is None:
        yield "path", "is missing; an animated body needs its pose at every frame"
    elif np.shape(body.path) != (max(frames, 0), 7):
        yield "path", f"has the shape {np.shape(body.path)}; {frames} frames need ({frames}, 7)"
    elif (followed := followed_frames(body.path)) < min(frames, LEAST_FOLLOWED):
        yield "path", lost_at(spec.frame_start + followed)
    else:
        lengths = np.linalg.norm(np.asarray(body.path)[:followed, 3:], axis=1)
        worst = int(np.argmax(np.abs(lengths - 1.0)))
        if abs(lengths[worst] - 1.0) > UNIT:
            frame = spec.frame_start + worst
            yield "path", f"the rotation at frame {frame} has length {lengths[worst]:g} instead of 1; check the scale there"


def span_findings(body: BodySpec, frames: int) -> Findings:
    """Yield the errors in the spans and the teleports of a body."""
    frame_count = 0 if body.path is None else len(np.atleast_1d(body.path))
    spans, jumps = body.spans or (), body.teleports or ()
    if body.spans is not None and (body.kind is not BodyKind.ACTIVE or body.path is None):
        yield "spans", "only an active body with a path can follow it at some frames; leave them out"
    elif not all(len(span) == 2 and 0 <= span[0] <= span[1] < frame_count for span in spans):
        yield "spans", f"{spans}: a span needs a first and a last frame of its path, 0 to {frame_count - 1}"
    elif any(after[0] < before[1] + 2 for before, after in pairwise(spans)):
        yield "spans", f"{spans}: a released body is simulated for at least one frame; order the spans and leave gaps"
    elif spans and spans[0][0] == 0 and spans[0][1] == 0:
        yield "spans", "the first span has no motion; let it end at frame 1 or later, or leave it out"
    if not 0 <= body.blend_frames <= frames:
        yield "blend_frames", f"is {body.blend_frames}; choose 0 to {frames} frames"
    if any(not 0 < jump < frame_count for jump in jumps) or list(jumps) != sorted(set(jumps)):
        yield "teleports", f"{jumps}: give frames of its path after the first, 1 to {frame_count - 1}, each once and in order"


def lost_motion(spec: SceneSpec) -> tuple[int, tuple[SceneProblem, ...]] | None:
    """Return the first frame at which paths of a valid scene are not finite, and a problem for each such body; None if there is
    none."""
    paths = [(body.name, body.path) for body in spec.bodies if body.kind is not BodyKind.PASSIVE]
    followed = [(name, followed_frames(path), len(path)) for name, path in paths if path is not None]
    lost = [(spec.frame_start + frames, name) for name, frames, whole in followed if frames < whole]
    if not lost:
        return None
    first = min(frame for frame, _ in lost)
    return first, tuple(SceneProblem(name, "path", lost_at(first)) for frame, name in lost if frame == first)


def lost_warnings(spec: SceneSpec) -> tuple[SceneWarning, ...]:
    """Return a warning for each body whose path ends the bake early."""
    frame, problems = lost_motion(spec) or (0, ())
    return tuple(
        SceneWarning((one.object,), one.field, f"{one.message}, or the bake stops after frame {frame - 1}") for one in problems
    )


def followed_frames(path: Array) -> int:
    """Return the number of frames for which a path (frames, 7) is finite."""
    lost = ~np.isfinite(np.asarray(path, dtype=np.float64)).all(axis=1)
    return int(np.argmax(lost)) if lost.any() else len(lost)


def lost_at(frame: int) -> str:
    """Return the message about a pose that is not finite."""
    return f"the pose at frame {frame} is not finite; check the object's animation and constraints there"
