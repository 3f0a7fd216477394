# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a scene's bakes are on disk: a snapshot and a frame cache each, named after the scene and what they were made from.

Another scene, another setting, another name: no bake overwrites what another one reads, and undo finds the frames of the bake
that it goes back to. What is not used any more is removed, but for the newest few.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import bpy
from bpy.types import Scene

from ..solver_core.file_lock import FileLock, LockHeld
from ..solver_core.io.cache import CacheError

__all__ = ["BakeFiles", "bake_files", "cache_path", "caches_in_use", "files_to_resume", "remove_old_bakes"]

DIGITS = 12
# So many bakes can undo go back, and so many can this file be baked again while a copy under another name plays the first.
BAKES_KEPT = 8


@dataclass(frozen=True)
class BakeFiles:
    """The files of one bake. digest: of the scene and the settings that it was made from."""

    digest: str
    snapshot: Path
    cache: Path


def bake_files(scene: Scene, digest: str) -> BakeFiles:
    """The files of a new bake, in the folder that the user chose."""
    folder = scene.stiction.cache_directory
    if folder.startswith("//") and not bpy.data.filepath:
        # A file that was never saved has no folder of its own; its cache lives as long as the session.
        directory = Path(bpy.app.tempdir) / folder.removeprefix("//")
    else:
        directory = Path(bpy.path.abspath(folder))
    stem = bpy.path.clean_name(f"{Path(bpy.data.filepath).stem or 'untitled'}-{scene.name}")
    name = f"{stem}-{digest[:DIGITS]}"
    return BakeFiles(digest, directory / f"{name}.snapshot", directory / f"{name}.cache")


def files_to_resume(scene: Scene, digest: str) -> BakeFiles:
    """The files of the bake that the scene has, wherever they are, or else those of a new one. Raises CacheError when the scene
    or its settings are not those of its bake any more."""
    own = scene.stiction.bake
    if own.state == "CACHED":
        if own.digest != digest:
            raise CacheError(
                f"the scene or its settings have changed since the bake that is to be resumed (snapshot {own.digest[:8]}, this "
                f"one is {digest[:8]}); change them back, or bake without resuming"
            )
        cache = Path(cache_path(scene))
        if cache.exists():
            return BakeFiles(digest, cache.with_suffix(".snapshot"), cache)
    return bake_files(scene, digest)


def cache_path(scene: Scene) -> str:
    """Where the frames of the scene's bake are."""
    return bpy.path.abspath(scene.stiction.bake.cache)


def caches_in_use() -> set[Path]:
    """The caches that scenes of the open file show."""
    return {Path(cache_path(scene)) for scene in bpy.data.scenes if scene.stiction.bake.state == "CACHED"}


def remove_old_bakes(files: BakeFiles, in_use: Collection[Path]) -> None:
    """Remove what earlier bakes of the scene left beside these files, except the newest ones, those in use, and those that some
    process is writing."""
    stem = files.cache.stem.removesuffix(files.digest[:DIGITS])
    ours = re.compile(rf"{re.escape(stem)}[0-9a-f]{{{DIGITS}}}\.(cache|snapshot)")
    ages: dict[Path, float] = {}
    for path in files.cache.parent.iterdir():
        # Another process may remove them, too.
        with suppress(FileNotFoundError):
            if ours.fullmatch(path.name):
                cache = path.with_suffix(".cache")
                ages[cache] = max(ages.get(cache, 0.0), path.stat().st_mtime)
    for cache in sorted(ages, key=ages.__getitem__, reverse=True)[BAKES_KEPT:]:
        if cache != files.cache and cache not in in_use:
            remove_bake(cache)


def remove_bake(cache: Path) -> None:
    try:
        lock = FileLock.acquire(cache)
    except (LockHeld, OSError):
        return  # somebody writes it, or it is not ours to remove
    try:
        # On Windows a file that somebody reads stays; the next bake tries again.
        with suppress(OSError):
            if lock.holds:
                cache.unlink(missing_ok=True)
                cache.with_suffix(".snapshot").unlink(missing_ok=True)
    finally:
        lock.release()
