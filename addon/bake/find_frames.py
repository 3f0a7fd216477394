# SPDX-License-Identifier: GPL-3.0-or-later
"""Find Frames: searches for the missing cache of a bake nearby, and otherwise asks for its location."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PureWindowsPath

import bpy
from bpy.props import StringProperty
from bpy.types import Context, Event, Operator, Scene

from ...solver_core.io.cache import CacheError, FrameCacheReader
from ..blender.poll import is_idle
from .bake_files import cache_path, relative_if_asked

__all__ = ["register", "unregister"]

# Number of parent folders of the .blend file that are searched, for other shots of a project.
LEVELS = 2


def has_frames(scene: Scene, cache: Path) -> bool:
    """Return True if a file contains the frames of the scene's bake."""
    try:
        return cache.is_file() and bool(FrameCacheReader(cache, scene.stiction.bake.digest).frames)
    except (OSError, CacheError):
        return False


def name_of_cache(scene: Scene) -> str:
    """Return the file name of the scene's cache, from a path of any operating system."""
    return PureWindowsPath(scene.stiction.bake.cache).name


def places_nearby(scene: Scene) -> Iterator[Path]:
    """Yield possible locations: the present cache folder, beside the .blend file, and the cache folders of other shots around
    it."""
    name, folder = name_of_cache(scene), Path(bpy.path.abspath(scene.stiction.cache_directory))
    yield folder / name
    if not bpy.data.filepath:
        return
    beside = Path(bpy.data.filepath).resolve().parent
    yield beside / name
    for above in (beside, *list(beside.parents)[:LEVELS]):
        yield from sorted(above.glob(f"{folder.name}/{name}"))
        yield from sorted(above.glob(f"*/{folder.name}/{name}"))


def places_below(scene: Scene, chosen: Path) -> Iterator[Path]:
    """Yield the chosen cache, or those with the scene's name in the chosen folder."""
    yield chosen
    if chosen.is_dir():
        yield from sorted(chosen.rglob(name_of_cache(scene)))


class STICTION_OT_find_frames(Operator):
    """Search for the frames of this bake around the .blend file, and otherwise ask for their folder"""

    bl_idname = "stiction.find_frames"
    bl_label = "Find Frames"
    bl_options = {"REGISTER", "UNDO"}  # noqa: RUF012 (Blender wants a plain set)

    filepath: StringProperty(name="Cache", description="The cache, or a folder that contains it", subtype="FILE_PATH")
    filter_glob: StringProperty(default="*.cache", options={"HIDDEN"})

    @classmethod
    def poll(cls, context: Context) -> bool:
        if context.scene.stiction.bake.state != "CACHED":
            cls.poll_message_set("The scene has no cached frames")
            return False
        return is_idle(cls, context)

    def invoke(self, context: Context, event: Event) -> set[str]:
        scene = context.scene
        if any(has_frames(scene, place) for place in places_nearby(scene)):
            return self.execute(context)
        self.filepath = str(Path(cache_path(scene)).with_name(name_of_cache(scene)))
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context: Context) -> set[str]:
        scene = context.scene
        is_chosen = bool(self.filepath)
        places = places_below(scene, Path(bpy.path.abspath(self.filepath))) if is_chosen else places_nearby(scene)
        found = next((place for place in places if has_frames(scene, place)), None)
        if found is None:
            where = f"in {self.filepath}" if is_chosen else "around the .blend file"
            self.report({"ERROR"}, f"The frames of this bake, {name_of_cache(scene)}, are not {where}")
            return {"CANCELLED"}
        scene.stiction.bake.cache = relative_if_asked(scene, found)
        scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
        self.report({"INFO"}, f"The frames are read from {found}")
        return {"FINISHED"}


register, unregister = bpy.utils.register_classes_factory((STICTION_OT_find_frames,))
