# SPDX-License-Identifier: GPL-3.0-or-later
"""Initial motion of active bodies, at the first frame or at their release, from the user's values or from animation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from bpy.types import Context, Object
from numpy.typing import NDArray

from ...solver_core.scene.spec import BodyKind, BodySpec, spans_of
from ...solver_core.scene.teleports import possible_teleports
from ...solver_core.validation.findings import SceneProblem
from ..blender import actions, rotations
from ..blender.overflow import numbers
from ..blender.placement import PlacementError, placed

__all__ = [
    "ANIMATED",
    "follows_animation",
    "in_motion",
    "is_animated_throughout",
    "launched_where_it_appears",
    "set_in_motion",
    "spans_followed",
]

Array = NDArray[np.float64]


ANIMATED = "rigid_body.kinematic"
# Blender's rule: a keyed switch is on from this value.
ON = 1.0 - 1.2e-7


def spans_followed(ob: Object, start: int, end: int) -> tuple[tuple[int, int], ...] | None:
    """Return the spans of frames, (first, last) counted from `start`, in which an active body follows its animation.

    Returns None if no keyframes of *Animated* switch between the animation and the solver. A key of *Animated* acts before its
    frame, as in Blender. A body that is animated only at the first frame starts at rest, as in Blender.
    """
    curve = curve_of_animated(ob)
    if curve is None or ob.rigid_body.type != "ACTIVE":
        return None
    is_on = [curve.evaluate(frame) >= ON for frame in range(start, end + 1)]
    if all(is_on):
        return None
    # With a simulated frame added at both ends, every span has an edge on each side.
    edges = [k for k, (before, now) in enumerate(pairwise([False, *is_on, False])) if before != now]
    return tuple((first, after - 1) for first, after in zip(edges[::2], edges[1::2], strict=True) if (first, after) != (0, 1))


def is_animated_throughout(ob: Object, start: int, end: int) -> bool:
    """Return True if *Animated* is on at every frame in spite of keyframes."""
    curve = curve_of_animated(ob)
    return curve is not None and all(curve.evaluate(frame) >= ON for frame in range(start, end + 1))


def curve_of_animated(ob: Object) -> Any:
    return next((curve for curve in actions.curves(ob) or () if curve.data_path == ANIMATED and not curve.mute), None)


def follows_animation(ob: Object) -> bool:
    """Return True if the object starts with the motion of its animation."""
    return ob.stiction.initial_motion == "ANIMATION"


def set_in_motion(body: BodySpec, ob: Object) -> BodySpec:
    """Return the body with the user's initial velocities."""
    settings = ob.stiction
    if settings.initial_motion != "VALUES":
        return body
    return replace(body, velocity=numbers(settings.velocity), angular_velocity=numbers(settings.angular_velocity))


def in_motion(
    bodies: list[BodySpec], followed: dict[str, Object], context: Context, show_second: Callable[[], float]
) -> tuple[list[BodySpec], list[SceneProblem]]:
    """Return the bodies, with initial velocities for those that follow their animation: mean velocities up to the second frame.

    followed: objects by body name. show_second: displays that frame, and returns the time to it [s]. A body that cannot be read
        there is a problem.
    """
    if not followed:
        return bodies, []
    seconds = show_second()
    result, problems = [], []
    for body in bodies:
        ob = followed.get(body.name)
        if ob is not None:
            try:
                world, rotation = placed(ob, context.evaluated_depsgraph_get())
            except PlacementError as error:
                problems.append(SceneProblem(body.name, error.field, f"at the second frame: {error}"))
                continue
            if not seconds > 0.0:
                message = "at the second frame the speed of the simulation is 0, so its animation has no velocity; start later"
                problems.append(SceneProblem(body.name, "initial_motion", message))
                continue
            turn = rotation @ rotations.matrix_of_quaternion(body.orientation).T
            body = replace(
                body,
                velocity=(world[:3, 3] - body.position) / seconds,
                angular_velocity=rotations.rotation_vector(turn) / seconds,
            )
        result.append(body)
    return result, problems


def launched_where_it_appears(body: BodySpec, paths: Mapping[str, Array], speeds: Sequence[float], fps: float) -> BodySpec:
    """Return the body. If it is released where it appears, it gets the velocity of its later keyframes, unless it has one.

    Parameters
    ----------
    body : with its path and the frames at which it appears
    paths : (frames, 7) of all frames, by body name
    speeds : of the simulation on the way to each frame, if they change
    fps : frames per second
    """
    last = spans_of(body)[-1][1] if spans_of(body) else 0
    is_at_rest = not (np.any(body.velocity) or np.any(body.angular_velocity))
    if body.kind is not BodyKind.ACTIVE or last not in (body.teleports or ()) or not is_at_rest:
        return body
    whole = paths[body.name]
    seconds = (speeds[min(last + 1, len(speeds) - 1)]) / fps
    goes_on = last + 1 < len(whole) and np.isfinite(whole[: last + 2]).all() and seconds > 0.0
    if not goes_on or last + 1 in possible_teleports(whole[: last + 2], body.shape):
        return body
    before, after = (rotations.matrix_of_quaternion(whole[frame, 3:]) for frame in (last, last + 1))
    return replace(
        body,
        velocity=(whole[last + 1, :3] - whole[last, :3]) / seconds,
        angular_velocity=rotations.rotation_vector(after @ before.T) / seconds,
    )
