# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the cached frames whenever the frame changes, while the bake grows and until it has keyframes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import bpy
import numpy as np
from bpy.app.handlers import persistent
from bpy.types import Depsgraph, Object, Scene
from numpy.typing import NDArray

from ...solver_core.io.between_frames import state_at
from ...solver_core.io.cache import CacheError, FrameCacheReader
from ...solver_core.io.kept_modes import NOTHING_BENDS
from ...solver_core.process.console import one_line
from ..blender.bend_keys import show_bend, show_stress
from ..blender.placement import ancestors, basis_at, world_matrices
from ..blender.restore import baked_objects, is_moved_otherwise, place_bodies, rest_worlds, show_start
from .bake_files import cache_path
from .standing import Standing

__all__ = ["open_cache", "register", "unregister"]


def open_cache(scene: Scene) -> FrameCacheReader:
    """Return the reader of the scene's bake. Raises OSError and CacheError."""
    return FrameCacheReader(cache_path(scene), scene.stiction.bake.digest)


class Baked(NamedTuple):
    """The k objects that follow a cache.

    identity, row, column: (k,) session id, index among all objects, and index of the body in the cache.
    worlds, first: (k, 4, 4) and (k, 7) initial world matrices and poses.
    bending: the flexible ones, by row and column.
    """

    identity: NDArray[np.int32]
    row: NDArray[np.intp]
    column: NDArray[np.intp]
    worlds: NDArray[np.float64]
    first: NDArray[np.float64]
    bending: list[tuple[int, int]]

    @classmethod
    def found(cls, scene: Scene, standing: Standing, reader: FrameCacheReader) -> Baked:
        """Return the baked objects of a scene."""
        index = {name: column for column, name in enumerate(reader.info.bodies)}
        rows = {int(identity): row for row, identity in enumerate(standing.identity)}
        known = [(ob, ob.stiction.backup) for ob in baked_objects(scene) if ob.stiction.backup.body in index]
        row = np.array([rows[ob.session_uid] for ob, _ in known], dtype=np.intp)
        column = np.array([index[backup.body] for _, backup in known], dtype=np.intp)
        bends = [bool(backup.keys) for _, backup in known]
        bending = [(int(row[k]), int(column[k])) for k in np.flatnonzero(bends)]
        first = reader.read(reader.frames[0]).poses[column]
        return cls(standing.identity[row], row, column, rest_worlds(ob for ob, _ in known), first, bending)


class Playback:
    """Moves the baked objects of a scene to the frames of their cache.

    It remembers the last state: unchanged objects are not written. It stores no references to Blender objects, because undo may
    replace them.
    """

    def __init__(self, reader: FrameCacheReader):
        self.reader = reader
        self._all = np.zeros(0, np.int32)  # identities at the last search
        self._baked: Baked | None = None
        # (k, 7) displayed poses, NaN if unknown, and (k, .) channels of the objects
        self._poses, self._channels = np.zeros((0, 7)), np.zeros((0, 0), np.float32)

    def show(self, scene: Scene, depsgraph: Depsgraph) -> None:
        """Move the baked objects to the scene's time, between two frames too, or to the nearest one in the cache.

        The first frame shows where they begin: exactly where the user put them, also since the bake.
        """
        frames = self.reader.frames
        if not frames:
            return
        # With the fraction and Blender's time remapping, as for keyframes.
        time = scene.frame_current_final
        poses, modal = state_at(self.reader, time)
        standing = Standing()
        baked = self._found(scene, standing)
        self._bend([(standing.objects[row], column) for row, column in baked.bending], modal)
        # Objects shown as instances are hidden and not moved.
        hidden = [one.body.session_uid for one in scene.stiction_display.hidden_bodies if one.body is not None]
        is_start, shown = time <= frames[0], ~np.isin(baked.identity, hidden)
        poses, channels = poses[baked.column], standing.channels()[baked.row]
        stands = (poses == self._poses).all(axis=1) & (channels == self._channels).all(axis=1)
        to_place = np.flatnonzero(shown & (~stands | below_and_above([standing.objects[row] for row in baked.row])))
        if to_place.size:
            rows = baked.row[to_place]
            objects = [standing.objects[row] for row in rows]
            worlds = world_matrices(poses[to_place], baked.first[to_place], baked.worlds[to_place])
            basis = basis_at(objects, worlds, depsgraph)
            place_bodies(objects, basis, lambda indices, name: standing.values(rows[indices], name))
            for ob in objects if is_start else ():
                if not is_moved_otherwise(ob):
                    show_start(ob)
            channels = standing.channels()[baked.row]
        self._poses, self._channels = np.where(shown[:, None] & (not is_start), poses, np.nan), channels
        if shown.any() and scene.stiction.bake.shows_start != is_start:
            scene.stiction.bake.shows_start = is_start

    def _found(self, scene: Scene, standing: Standing) -> Baked:
        """Return the baked objects. They are searched again if any object of the file was added, removed or renamed."""
        if self._baked is None or not np.array_equal(self._all, standing.identity):
            self._all, self._baked = standing.identity, Baked.found(scene, standing, self.reader)
            self._poses = np.full((len(self._baked.row), 7), np.nan)
            self._channels = standing.channels()[self._baked.row]
        return self._baked

    def _bend(self, bending: list[tuple[Object, int]], modal: NDArray[np.float64]) -> None:
        """Show how far bodies bend, of objects and their columns; pieces share their meshes with what is hidden."""
        modes = self.reader.modes() if bending else NOTHING_BENDS
        rows, reduced = modes.rows, modes.by_body()
        for ob, column in bending:
            q = modal[rows.get(column, slice(0))]
            show_bend(ob, q)
            if column in rows:
                show_stress(ob, reduced[column].stresses(q))


def below_and_above(objects: list[Object]) -> NDArray[np.bool_]:
    """Return for each object (k,) whether it has parents, which may have moved, or is above an object that has."""
    has_parent = np.array([ob.parent is not None for ob in objects], dtype=bool)
    if not has_parent.any():
        return has_parent
    above = {one.session_uid for k in np.flatnonzero(has_parent) for one in ancestors(objects[k])}
    return has_parent | np.array([ob.session_uid in above for ob in objects])


def make_handler() -> Callable[..., None]:
    # The playback in use. `unregister` removes it with its handler.
    playbacks: dict[tuple[str, str], Playback] = {}

    @persistent
    def show_cached_frame(scene: Scene, depsgraph: Depsgraph | None = None) -> None:
        if scene.stiction.bake.state != "CACHED":
            playbacks.clear()
            return
        bake = cache_path(scene), scene.stiction.bake.digest
        try:
            if bake in playbacks:
                playbacks[bake].reader.refresh()
            else:
                playbacks.clear()
                playbacks[bake] = Playback(open_cache(scene))
            playbacks[bake].show(scene, depsgraph or bpy.context.evaluated_depsgraph_get())
        except (OSError, CacheError) as error:
            playbacks.clear()
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
