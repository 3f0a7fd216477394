# SPDX-License-Identifier: GPL-3.0-or-later
"""Where animated bodies jump: whether they stand until just before a frame is seen between frames, as Blender animates it."""

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

# Of the way to the next frame, where it is looked whether a body has moved.
MOMENTS = 0.5, 0.96
# Of the way to the next frame: what is nearer has not moved.
STILL = 1e-3
# Of single precision, in matrices.
ROUNDING = 1e-5
MOST_NAMED = 6


def reading_teleports(
    context: Context, bodies: Iterable[BodySpec], objects: Mapping[str, Object], start: int, times: int
) -> Steps[list[BodySpec]]:
    """The bodies, those with paths with the frames at which they appear.

    Parameters
    ----------
    context : whose scene is shown at moments between frames.
    bodies : with their paths.
    objects : those whose motion the paths are, by the names of the bodies.
    start : the first frame.
    times : how often a frame has to be shown until all of it is up to date.
    """
    given = list(bodies)
    paths = {body.name: np.asarray(body.path)[: followed_frames(body.path)] for body in given if body.path is not None}
    asked: dict[int, list[str]] = {}
    for body in given:
        for frame in possible_teleports(paths[body.name], body.shape) if body.name in objects and body.name in paths else ():
            asked.setdefault(frame, []).append(body.name)
    stands: dict[str, set[int]] = {name: set() for name in paths}
    for done, (frame, names) in enumerate(sorted(asked.items())):
        yield Step(f"Reading jumps, frame {start + frame}", done / len(asked))
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
    return [with_teleports(body, paths[body.name], stands[body.name]) if body.name in paths else body for body in given]


def is_still(world: Array, before: Array, after: Array) -> bool:
    """Whether an object with the world matrix (4, 4) is where a body was at the frame before, pose (7,), and not on its way to
    the one after."""
    turned_before, turned_after = (rotations.matrix_of_quaternion(pose[3:]) for pose in (before, after))
    turned = np.abs(rotations.nearest_rotation(world[:3, :3]) - turned_before).max()
    moved = np.linalg.norm(world[:3, 3] - before[:3])
    most_moved = STILL * np.linalg.norm(after[:3] - before[:3]) + ROUNDING * (1.0 + np.abs(before[:3]).max())
    most_turned = STILL * np.abs(turned_after - turned_before).max() + ROUNDING
    return bool(moved <= most_moved and turned <= most_turned)


def with_teleports(body: BodySpec, path: Array, stands: set[int]) -> BodySpec:
    """The body with its teleports, which are frames of its spans."""
    led = {frame for first, last in spans_of(body) for frame in range(first + 1, last + 1)}
    found = tuple(frame for frame in teleports_of(path, body.shape, stands) if frame in led)
    return replace(body, teleports=found) if found else body


def teleport_warnings(bodies: Iterable[BodySpec], start: int) -> Iterator[SceneWarning]:
    """What is said of those that appear; start: the first frame."""
    for body in bodies:
        if body.teleports:
            frames = [str(start + frame) for frame in body.teleports]
            more = f" and {len(frames) - MOST_NAMED} more" if len(frames) > MOST_NAMED else ""
            which = f"frame {frames[0]}" if len(frames) == 1 else f"frames {', '.join(frames[:MOST_NAMED])}{more}"
            message = (
                f"it teleports at {which}: it appears at its new location and touches nothing on the way; a motion needs keys"
            )
            yield SceneWarning((body.name,), "teleports", f"{message} over several frames")
