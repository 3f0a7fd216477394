"""Shows the cached frames while the bake grows and until it has keyframes, whenever the frame changes."""

from __future__ import annotations

from collections.abc import Callable

import bpy
from bpy.app.handlers import persistent
from bpy.types import Depsgraph, Scene

from ..solver_core.io.cache import CacheError, FrameCacheReader
from .placement import place, world_matrices
from .restore import baked_objects, rest_world

__all__ = ["cache_path", "register", "show", "unregister"]


def cache_path(scene: Scene) -> str:
    """Where the frames of the scene's bake are."""
    return bpy.path.abspath(scene.stiction.bake.cache)


def show(scene: Scene, depsgraph: Depsgraph, reader: FrameCacheReader) -> None:
    """Move the baked objects to the scene's frame, or to the nearest one in the cache."""
    frames = reader.frames
    if not frames:
        return
    poses = reader.read(min(max(scene.frame_current, frames[0]), frames[-1])).poses
    first = reader.read(frames[0]).poses
    index = {name: column for column, name in enumerate(reader.info.bodies)}
    worlds = {}
    for ob in baked_objects(scene):
        column = index.get(ob.stiction.backup.body)
        if column is not None:
            worlds[ob] = world_matrices(poses[column : column + 1], first[column], rest_world(ob))[0]
    place(worlds, depsgraph)


def make_handler() -> Callable[..., None]:
    # The one reader in use. It lives as long as the handler does, and unregister drops both.
    readers: dict[str, FrameCacheReader] = {}

    @persistent
    def show_cached_frame(scene: Scene, depsgraph: Depsgraph | None = None) -> None:
        if scene.stiction.bake.state != "CACHED":
            return
        path = cache_path(scene)
        try:
            if path in readers:
                readers[path].refresh()
            else:
                readers.clear()
                readers[path] = FrameCacheReader(path)
            show(scene, depsgraph or bpy.context.evaluated_depsgraph_get(), readers[path])
        except (OSError, CacheError) as error:
            readers.clear()
            print(f"Stiction: the frames of {scene.name} cannot be shown: {error}")

    return show_cached_frame


def register() -> None:
    bpy.app.handlers.frame_change_post.append(make_handler())


def unregister() -> None:
    handlers = bpy.app.handlers.frame_change_post
    for handler in [handler for handler in handlers if getattr(handler, "__module__", None) == __name__]:
        handlers.remove(handler)
