# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the cached poses as keyframes."""

from __future__ import annotations

import numpy as np
from bpy.types import Context, Object, Scene
from numpy.typing import NDArray

from ..solver_core.io.cache import CacheError, FrameCacheReader
from . import actions
from .placement import Channels, channels_of, place, world_matrices
from .playback import open_cache
from .restore import baked_objects, rest_world

__all__ = ["commit", "write_keyframes"]

Array = NDArray[np.float64]


def read_worlds(reader: FrameCacheReader, objects: list[Object]) -> dict[Object, Array]:
    """World matrices (frames, 4, 4) of the baked objects at all frames of the cache; objects it does not know are left out."""
    poses = np.array([frame.poses for frame in reader])
    index = {name: column for column, name in enumerate(reader.info.bodies)}
    return {
        ob: world_matrices(poses[:, column], poses[0, column], rest_world(ob))
        for ob in objects
        if (column := index.get(ob.stiction.backup.body)) is not None
    }


def commit(context: Context) -> range:
    """Turn the cached bake of the context's scene into keyframes; returns their frames.

    Raises OSError or CacheError, and then has changed nothing.
    """
    scene = context.scene
    reader, last = open_cache(scene), scene.stiction.bake.last_frame
    if last not in reader.frames:
        there = f"only frames {reader.frames[0]} to {reader.frames[-1]}" if reader.frames else "no frames"
        raise CacheError(f"{reader.path}: there are {there}, but frame {last} was baked; resume the bake")
    worlds = read_worlds(reader, baked_objects(scene))
    # From here on the playback keeps still.
    scene.stiction.bake.state = "KEYED"
    write_keyframes(context, reader.frames, worlds)
    scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
    return reader.frames


def write_keyframes(context: Context, frames: range, worlds: dict[Object, Array]) -> None:
    """Give each object a linear key at every frame, in its own rotation mode and in its parent's space.

    worlds: the objects' world matrices (frames, 4, 4).
    """
    # Only a parent can make the way from world to channels differ from frame to frame; then the scene has to be evaluated.
    if any(ob.parent is not None for ob in worlds):
        channels = placed_channels(context, context.scene, frames, worlds)
    else:
        channels = {ob: channels_of(ob, matrices) for ob, matrices in worlds.items()}
    times = np.array(frames, dtype=np.float64)
    for ob, values in channels.items():
        if ob.animation_data is None or ob.animation_data.action is None:
            actions.empty_action(ob, f"{ob.name} Baked")
        for path, array in (("location", values.location), (values.path, values.rotation)):
            for component in range(array.shape[1]):
                actions.write_curve(ob, path, component, times, array[:, component])


def placed_channels(context: Context, scene: Scene, frames: range, worlds: dict[Object, Array]) -> dict[Object, Channels]:
    current, subframe = scene.frame_current, scene.frame_subframe
    paths = {ob: channels_of(ob, matrices[:1]).path for ob, matrices in worlds.items()}
    rows: dict[Object, list[tuple[Array, Array]]] = {ob: [] for ob in worlds}
    for row, frame in enumerate(frames):
        scene.frame_set(frame)
        place({ob: matrices[row] for ob, matrices in worlds.items()}, context.evaluated_depsgraph_get())
        for ob, path in paths.items():
            rows[ob].append((np.array(ob.location), np.array(getattr(ob, path))))
    scene.frame_set(current, subframe=subframe)
    return {
        ob: Channels(np.array([location for location, _ in values]), paths[ob], np.array([rotation for _, rotation in values]))
        for ob, values in rows.items()
    }
