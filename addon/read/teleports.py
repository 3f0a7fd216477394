# SPDX-License-Identifier: GPL-3.0-or-later
"""Jumps of animated bodies: bodies that do not move until just before a frame, as seen between frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from bpy.types import Context, Object
from numpy.typing import NDArray

from ...solver_core.scene.spec import BodySpec, SceneWarning, spans_of
from ...solver_core.scene.teleports import possible_teleports, teleports_of
from ...solver_core.validation.paths import followed_frames
from ..blender import rotations
from ..blender.cooperative import Step, Steps
from ..blender.placement import matrices_now

__all__ = ["reading_teleports", "teleport_warnings"]

Array = NDArray[np.float64]

# Positions between two frames at which motion is checked.
MOMENTS = 0.5, 0.96
# Motion, relative to that up to the next frame, below which a body counts as still.
STILL = 1e-3
# accuracy of matrices in single precision
ROUNDING = 1e-5
MOST_NAMED = 6


def reading_teleports(
    context: Context, bodies: Iterable[BodySpec], objects: Mapping[str, Object], start: int, times: int
) -> Steps[list[BodySpec]]:
    """Return the bodies, those with paths with the frames at which they appear.

    Parameters
    ----------
    context : its scene is displayed at times between frames
    bodies : with their paths
    objects : by body name, for bodies with paths
    start : the first frame
    times : number of evaluations after which a frame is complete
    """
    all_bodies = list(bodies)
    paths = {body.name: np.asarray(body.path)[: followed_frames(body.path)] for body in all_bodies if body.path is not None}
    names_by_frame: dict[int, list[str]] = {}
    for body in all_bodies:
        for frame in possible_teleports(paths[body.name], body.shape) if body.name in objects and body.name in paths else ():
            names_by_frame.setdefault(frame, []).append(body.name)
    stands: dict[str, set[int]] = {name: set() for name in paths}
    for done, (frame, names) in enumerate(sorted(names_by_frame.items())):
        yield Step(f"Reading jumps, frame {start + frame}", done / len(names_by_frame))
        still = dict.fromkeys(names, True)
        for moment in MOMENTS:
            for _ in range(times):
                context.scene.frame_set(start + frame - 1, subframe=moment)
            worlds = matrices_now((objects[name] for name in names), context.evaluated_depsgraph_get())
            for name, world in zip(names, worlds, strict=True):
                still[name] &= is_still(world, paths[name][frame - 1], paths[name][frame])
        for name in names:
            if still[name]:
                stands[name].add(frame)
    return [with_teleports(body, paths[body.name], stands[body.name]) if body.name in paths else body for body in all_bodies]


def is_still(world: Array, before: Array, after: Array) -> bool:
    """Return True if an object with the world matrix (4, 4) is at the pose (7,) of the previous frame, and not on its way to
    the next."""
    turned_before, turned_after = (rotations.matrix_of_quaternion(pose[3:]) for pose in (before, after))
    turned = np.abs(rotations.nearest_rotation(world[:3, :3]) - turned_before).max()
    moved = np.linalg.norm(world[:3, 3] - before[:3])
    most_moved = STILL * np.linalg.norm(after[:3] - before[:3]) + ROUNDING * (1.0 + np.abs(before[:3]).max())
    most_turned = STILL * np.abs(turned_after - turned_before).max() + ROUNDING
    return bool(moved <= most_moved and turned <= most_turned)


def with_teleports(body: BodySpec, path: Array, stands: set[int]) -> BodySpec:
    """Return the body with its teleports, which are frames in its spans."""
    led = {frame for first, last in spans_of(body) for frame in range(first + 1, last + 1)}
    found = tuple(frame for frame in teleports_of(path, body.shape, stands) if frame in led)
    return replace(body, teleports=found) if found else body


def teleport_warnings(bodies: Iterable[BodySpec], start: int) -> Iterator[SceneWarning]:
    """Yield notes about teleports. start: the first frame."""
    for body in bodies:
        if body.teleports:
            frames = [str(start + frame) for frame in body.teleports]
            more = f" and {len(frames) - MOST_NAMED} more" if len(frames) > MOST_NAMED else ""
            which = f"frame {frames[0]}" if len(frames) == 1 else f"frames {', '.join(frames[:MOST_NAMED])}{more}"
            message = (
                f"it teleports at {which}: it appears at its new location and touches nothing on the way; a motion needs keys"
            )
            yield SceneWarning((body.name,), "teleports", f"{message} over several frames")
