# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the cached poses as keyframes."""

from __future__ import annotations

import numpy as np
from bpy.types import Context, Object
from numpy.typing import NDArray

from ..solver_core.io.cache import CacheError, FrameCacheReader
from . import actions
from .placement import basis_at, channels_of, place, world_matrices
from .playback import open_cache
from .restore import baked_objects, rest_worlds

__all__ = ["commit", "write_keyframes"]

Array = NDArray[np.float64]


def read_worlds(reader: FrameCacheReader, objects: list[Object]) -> tuple[list[Object], Array]:
    """The baked objects that the cache knows, and their world matrices (frames, objects, 4, 4) at all of its frames."""
    index = {name: column for column, name in enumerate(reader.info.bodies)}
    known = [ob for ob in objects if ob.stiction.backup.body in index]
    columns = [index[ob.stiction.backup.body] for ob in known]
    poses = np.array([frame.poses[columns] for frame in reader])
    return known, world_matrices(poses, poses[0], rest_worlds(known))


def commit(context: Context) -> range:
    """Turn the cached bake of the context's scene into keyframes; returns their frames.

    Raises OSError or CacheError, and then has changed nothing.
    """
    scene = context.scene
    reader, last = open_cache(scene), scene.stiction.bake.last_frame
    if last not in reader.frames:
        there = f"only frames {reader.frames[0]} to {reader.frames[-1]}" if reader.frames else "no frames"
        raise CacheError(f"{reader.path}: there are {there}, but frame {last} was baked; resume the bake")
    objects, worlds = read_worlds(reader, baked_objects(scene))
    # From here on the playback keeps still.
    scene.stiction.bake.state = "KEYED"
    write_keyframes(context, reader.frames, objects, worlds)
    scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
    return reader.frames


def write_keyframes(context: Context, frames: range, objects: list[Object], worlds: Array) -> None:
    """Give each object a linear key at every frame, in its own rotation mode and in its parent's space.

    worlds: the objects' world matrices (frames, objects, 4, 4).
    """
    # Only a parent can make the way from world to channels differ from frame to frame; then the scene has to be evaluated.
    is_placed = any(ob.parent is not None for ob in objects)
    basis = placed_basis(context, frames, objects, worlds) if is_placed else worlds
    times = np.array(frames, dtype=np.float64)
    for ob, values in zip(objects, channels_of(objects, basis), strict=True):
        if ob.animation_data is None or ob.animation_data.action is None:
            actions.empty_action(ob, f"{ob.name} Baked")
        for path, array in (("location", values.location), (values.path, values.rotation)):
            for component in range(array.shape[1]):
                actions.write_curve(ob, path, component, times, array[:, component])


def placed_basis(context: Context, frames: range, objects: list[Object], worlds: Array) -> Array:
    """The objects' own matrices (frames, objects, 4, 4), past their parents, which are looked at frame by frame."""
    scene = context.scene
    current, subframe = scene.frame_current, scene.frame_subframe
    result = np.empty_like(worlds)
    for row, frame in enumerate(frames):
        scene.frame_set(frame)
        result[row] = basis_at(objects, worlds[row], context.evaluated_depsgraph_get())
        # a parent may follow one of them
        place(objects, result[row])
    scene.frame_set(current, subframe=subframe)
    return result
