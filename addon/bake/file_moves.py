# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps a bake with its .blend file: by a relative path if the cache folder is relative, by a move when an unsaved file gets
its name, and by a new path when a copy is saved elsewhere."""

from __future__ import annotations

from pathlib import Path

import bpy
from bpy.app.handlers import persistent
from bpy.types import Scene

from ...solver_core.io.atomic import copy_atomically
from ...solver_core.process.console import one_line
from .bake_files import cache_path, caches_in_use, relative_if_asked, snapshot_of
from .bake_users import note_shown

__all__ = ["register", "unregister"]


@persistent
def before_saving(file: str) -> None:
    """Store the path of the frames relative to the future location of the file."""
    if not file or bpy.context.window_manager.stiction.is_baking:
        return
    for scene in scenes_with_frames():
        cache = Path(cache_path(scene))
        if is_temporary(cache):
            cache = move_along(scene, cache, Path(file).resolve().parent)
        remember(scene, cache, file)


@persistent
def after_saving(file: str) -> None:
    """Find the frames from the file that is open now, which is another one where a copy was saved; note whose they are."""
    after_failing(file)
    if file:
        folders = {Path(bpy.path.abspath(scene.stiction.cache_directory)) for scene in bpy.data.scenes}
        note_shown(Path(file), caches_in_use(), folders)


@persistent
def after_failing(file: str) -> None:
    """Find the frames from the file that is open, where nothing was saved."""
    if not file or bpy.context.window_manager.stiction.is_baking:
        return
    for scene in scenes_with_frames():
        remember(scene, Path(bpy.path.abspath(scene.stiction.bake.cache, start=str(Path(file).parent))), bpy.data.filepath)


def scenes_with_frames() -> list[Scene]:
    return [scene for scene in bpy.data.scenes if scene.stiction.bake.state == "CACHED"]


def remember(scene: Scene, cache: Path, file: str) -> None:
    path = str(cache) if is_temporary(cache) else relative_if_asked(scene, cache, file)
    # Setting a value is a change for undo and for saving.
    if path != scene.stiction.bake.cache:
        scene.stiction.bake.cache = path


def is_temporary(cache: Path) -> bool:
    return Path(bpy.app.tempdir).resolve() in cache.resolve().parents


def move_along(scene: Scene, cache: Path, folder: Path) -> Path:
    """Copy the files of a bake out of the session's folder, which goes with it, to where the .blend file will be; returns
    where its cache is then."""
    if not scene.stiction.cache_directory.startswith("//"):
        return cache
    target = folder / scene.stiction.cache_directory.removeprefix("//")
    try:
        target.mkdir(parents=True, exist_ok=True)
        for file in (cache, snapshot_of(cache)):
            copy_atomically(file, target / file.name)
    except OSError as error:
        print(one_line(f"Stiction: the frames of {scene.name} stay in {cache.parent} until Blender quits: {error}"))
        return cache
    return target / cache.name


def register() -> None:
    """Handle every save."""
    bpy.app.handlers.save_pre.append(before_saving)
    bpy.app.handlers.save_post.append(after_saving)
    bpy.app.handlers.save_post_fail.append(after_failing)


def unregister() -> None:
    """Undo `register`."""
    bpy.app.handlers.save_post_fail.remove(after_failing)
    bpy.app.handlers.save_post.remove(after_saving)
    bpy.app.handlers.save_pre.remove(before_saving)
