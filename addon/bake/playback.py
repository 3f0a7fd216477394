# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the cached frames while the bake grows and until it has keyframes, whenever the frame changes."""

from __future__ import annotations

from collections.abc import Callable

import bpy
from bpy.app.handlers import persistent
from bpy.types import Depsgraph, Scene

from ...solver_core.io.between_frames import state_at
from ...solver_core.io.cache import CacheError, FrameCacheReader
from ...solver_core.io.kept_modes import NOTHING_BENDS
from ...solver_core.process.console import one_line
from ..blender.bend_keys import show_bend, show_stress
from ..blender.placement import basis_at, place, world_matrices
from ..blender.restore import baked_objects, is_moved_otherwise, rest_worlds, show_start
from .bake_files import cache_path

__all__ = ["open_cache", "register", "show", "unregister"]


def open_cache(scene: Scene) -> FrameCacheReader:
    """The frames of the scene's bake and of no other; raises OSError or CacheError."""
    return FrameCacheReader(cache_path(scene), scene.stiction.bake.digest)


def show(scene: Scene, depsgraph: Depsgraph, reader: FrameCacheReader) -> None:
    """Move the baked objects to the scene's time, between two frames too, or to the nearest one in the cache.

    The first frame shows where they begin: exactly where the user put them, also since the bake.
    """
    frames = reader.frames
    if not frames:
        return
    index = {name: column for column, name in enumerate(reader.info.bodies)}
    # what is shown as a piece of one object is hidden, and waits
    hidden = {one.body for one in scene.stiction_display.hidden_bodies}
    backups = [(ob, ob.stiction.backup) for ob in baked_objects(scene)]
    baked = [(ob, backup, body) for ob, backup in backups if (body := backup.body) in index]
    shown = [(ob, body) for ob, _, body in baked if ob not in hidden]
    # with the fraction, and Blender's time remapping, as keyframes are evaluated
    time = scene.frame_current_final
    poses, modal = state_at(reader, time)
    # pieces share their meshes with what is hidden
    bending = [(ob, body) for ob, backup, body in baked if backup.keys]
    modes = reader.modes() if bending else NOTHING_BENDS
    rows, reduced = modes.rows, modes.by_body()
    for ob, body in bending:
        q = modal[rows.get(index[body], slice(0))]
        show_bend(ob, q)
        if index[body] in rows:
            show_stress(ob, reduced[index[body]].stresses(q))
    if not shown:
        return
    objects, columns = [ob for ob, _ in shown], [index[body] for _, body in shown]
    poses, first = poses[columns], reader.read(frames[0]).poses[columns]
    place(objects, basis_at(objects, world_matrices(poses, first, rest_worlds(objects)), depsgraph))
    is_start = time <= frames[0]
    for ob in objects if is_start else ():
        if not is_moved_otherwise(ob):
            show_start(ob)
    if scene.stiction.bake.shows_start != is_start:
        scene.stiction.bake.shows_start = is_start


def make_handler() -> Callable[..., None]:
    # The one reader in use. It lives as long as the handler does, and unregister drops both.
    readers: dict[tuple[str, str], FrameCacheReader] = {}

    @persistent
    def show_cached_frame(scene: Scene, depsgraph: Depsgraph | None = None) -> None:
        if scene.stiction.bake.state != "CACHED":
            return
        bake = cache_path(scene), scene.stiction.bake.digest
        try:
            if bake in readers:
                readers[bake].refresh()
            else:
                readers.clear()
                readers[bake] = open_cache(scene)
            show(scene, depsgraph or bpy.context.evaluated_depsgraph_get(), readers[bake])
        except (OSError, CacheError) as error:
            readers.clear()
            print(one_line(f"Stiction: the frames of {scene.name} cannot be shown: {error}"))

    return show_cached_frame


def register() -> None:
    """Show cached frames as the frame changes."""
    bpy.app.handlers.frame_change_post.append(make_handler())


def unregister() -> None:
    """Show them no more."""
    handlers = bpy.app.handlers.frame_change_post
    for handler in [handler for handler in handlers if getattr(handler, "__module__", None) == __name__]:
        handlers.remove(handler)
