# SPDX-License-Identifier: GPL-3.0-or-later
"""How active bodies move when the simulation begins, or when it takes them: as the user says, or as their animation does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from bpy.types import Context, Object
from numpy.typing import NDArray

from ...solver_core.scene.spec import BodySpec
from ...solver_core.validation.findings import SceneProblem
from ..blender import actions, rotations
from ..blender.overflow import numbers
from ..blender.placement import PlacementError, placed

__all__ = [
    "ANIMATED",
    "follows_animation",
    "frames_held",
    "in_motion",
    "is_animated_throughout",
    "is_caught_again",
    "set_in_motion",
]

Array = NDArray[np.float64]


ANIMATED = "rigid_body.kinematic"
# Blender's rule: a key of a switch is on from here.
ON = 1.0 - 1.2e-7


def frames_held(ob: Object, start: int, end: int) -> int:
    """For how many frames from the first an active body follows its animation before keyframes switch *Animated* off; 0 where
    they do not, or it was off.

    A frame's key counts on the way to it, as in Blender: the frame before is the last one that is followed.
    """
    curve = curve_of_animated(ob)
    if curve is None or ob.rigid_body.type != "ACTIVE" or curve.evaluate(start) < ON:
        return 0
    return next((frame - start for frame in range(start + 1, end + 1) if curve.evaluate(frame) < ON), 0)


def is_animated_throughout(ob: Object, start: int, end: int) -> bool:
    """Whether keyframes of *Animated* leave it on at every frame, so that there is nothing of them to follow."""
    curve = curve_of_animated(ob)
    return curve is not None and all(curve.evaluate(frame) >= ON for frame in range(start, end + 1))


def is_caught_again(ob: Object, frame: int, end: int) -> bool:
    """Whether keyframes switch *Animated* on after a frame."""
    curve = curve_of_animated(ob)
    return curve is not None and any(curve.evaluate(later) >= ON for later in range(frame + 1, end + 1))


def curve_of_animated(ob: Object) -> Any:
    return next((curve for curve in actions.curves(ob) or () if curve.data_path == ANIMATED and not curve.mute), None)


def follows_animation(ob: Object) -> bool:
    """Whether the object is to begin with the motion of its animation."""
    return ob.stiction.initial_motion == "ANIMATION"


def set_in_motion(body: BodySpec, ob: Object) -> BodySpec:
    """The body with the velocities that the user gave its object."""
    own = ob.stiction
    if own.initial_motion != "VALUES":
        return body
    return replace(body, velocity=numbers(own.velocity), angular_velocity=numbers(own.angular_velocity))


def in_motion(
    bodies: list[BodySpec], followed: dict[str, Object], context: Context, show_second: Callable[[], None], seconds: float
) -> tuple[list[BodySpec], list[SceneProblem]]:
    """The bodies, those followed with the mean velocities of the way to the second frame, which lasts so many seconds.

    followed: objects by the names of their bodies. show_second: shows that frame. A body that cannot be followed there is a
    problem.
    """
    if not followed:
        return bodies, []
    show_second()
    result, problems = [], []
    for body in bodies:
        ob = followed.get(body.name)
        if ob is not None:
            try:
                world, rotation = placed(ob, context.evaluated_depsgraph_get())
            except PlacementError as error:
                problems.append(SceneProblem(body.name, error.field, f"at the second frame: {error}"))
                continue
            turn = rotation @ rotations.matrix_of_quaternion(body.orientation).T
            body = replace(
                body,
                velocity=(world[:3, 3] - body.position) / seconds,
                angular_velocity=rotations.rotation_vector(turn) / seconds,
            )
        result.append(body)
    return result, problems
