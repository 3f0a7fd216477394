# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps a bake with its .blend file: relative to it where the cache folder is, moved along when an unsaved file gets its name,
and found again from a copy that is saved elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import bpy
from bpy.app.handlers import persistent
from bpy.types import Scene

from .bake_files import cache_path, relative_if_asked, snapshot_of

__all__ = ["register", "unregister"]


@persistent
def before_saving(file: str) -> None:
    """Let what is about to be saved find its frames from where it will be."""
    if not file or bpy.context.window_manager.stiction.is_baking:
        return
    folder = Path(file).resolve().parent
    for scene in bpy.data.scenes:
        bake = scene.stiction.bake
        if bake.state != "CACHED":
            continue
        cache = Path(cache_path(scene))
        if is_temporary(cache) and scene.stiction.cache_directory.startswith("//"):
            move_along(scene, cache, folder)
        elif bake.cache.startswith("//") and (not bpy.data.filepath or Path(bpy.data.filepath).resolve().parent != folder):
            bake.cache = str(cache)


@persistent
def after_saving(file: str) -> None:
    """Be relative again, for the file that is open now."""
    for scene in bpy.data.scenes if file else ():
        bake = scene.stiction.bake
        if bake.state == "CACHED" and not bake.cache.startswith("//"):
            relative = relative_if_asked(scene, Path(bake.cache))
            if relative != bake.cache:
                bake.cache = relative


def is_temporary(cache: Path) -> bool:
    return Path(bpy.app.tempdir).resolve() in cache.resolve().parents


def move_along(scene: Scene, cache: Path, folder: Path) -> None:
    """Copy the files of a bake out of the session's folder, which goes with it, to where the .blend file is going to be."""
    target = folder / scene.stiction.cache_directory.removeprefix("//")
    try:
        target.mkdir(parents=True, exist_ok=True)
        for file in (cache, snapshot_of(cache)):
            shutil.copy2(file, target / file.name)
    except OSError as error:
        print(f"Stiction: the frames of {scene.name} stay in {cache.parent}, and go with this session: {error}")
        return
    scene.stiction.bake.cache = str(target / cache.name)


def register() -> None:
    """Go along with every save."""
    bpy.app.handlers.save_pre.append(before_saving)
    bpy.app.handlers.save_post.append(after_saving)


def unregister() -> None:
    """Do it no more."""
    bpy.app.handlers.save_post.remove(after_saving)
    bpy.app.handlers.save_pre.remove(before_saving)
