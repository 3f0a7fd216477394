# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a scene's bakes: a snapshot and a frame cache each, named after the scene, its file, and the inputs.

Different scenes, files or settings give different names, so no bake overwrites one that is in use, and undo finds the frames of
earlier bakes. Unused files are removed except for the newest few. Files that another .blend file created or shows are never
removed.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import bpy
from bpy.types import Scene

from ...solver_core.io.cache import (
    CacheError,
    EarlierFrames,
    FrameCacheReader,
    cache_digest,
    cache_has_begun,
    refuse_other_scene,
)
from ...solver_core.io.container import ContainerError
from ...solver_core.io.continuation import continue_from, earlier_frames, frames_that_hold
from ...solver_core.io.snapshot import read_snapshot, snapshot_digest
from ...solver_core.process.console import one_line
from ...solver_core.process.file_lock import FileLock, LockHeld
from ...solver_core.process.plain_files import PathRefused
from ...solver_core.scene.spec import SceneSpec, SolverSettings
from .bake_users import KEY, key_of, notes_on, open_file
from .fingerprint import changes_since, made_from

__all__ = [
    "BakeFiles",
    "bake_files",
    "cache_folder",
    "cache_path",
    "caches_in_use",
    "files_to_go_on",
    "files_to_resume",
    "relative_if_asked",
    "remove_old_bakes",
    "snapshot_of",
    "sound_of",
    "told_parts",
]

DIGITS = 12
# Number of stored bakes, to which undo can return, or which a copy of the file under another name can play.
BAKES_KEPT = 8


@dataclass(frozen=True)
class BakeFiles:
    """The files of one bake. digest: digest of its scene and settings."""

    digest: str
    snapshot: Path
    cache: Path


def cache_folder(scene: Scene) -> Path:
    """Return the user's folder for the frames of bakes."""
    folder = scene.stiction.cache_directory
    if folder.startswith("//") and not bpy.data.filepath:
        # An unsaved file has no folder; its cache is removed at the end of the session.
        return Path(bpy.app.tempdir) / folder.removeprefix("//")
    return Path(bpy.path.abspath(folder))


def bake_files(scene: Scene, digest: str) -> BakeFiles:
    """Return the files of a new bake, in the user's folder. Raises PathRefused if that is not a folder."""
    directory = cache_folder(scene)
    if directory.exists() and not directory.is_dir():
        raise PathRefused(directory, "is a file; choose a folder")
    stem = bpy.path.clean_name(f"{Path(bpy.data.filepath).stem or 'untitled'}-{scene.name}")
    name = f"{stem}-{key_of(open_file(), directory)}-{digest[:DIGITS]}"
    return BakeFiles(digest, directory / f"{name}.snapshot", directory / f"{name}.cache")


def files_to_resume(scene: Scene, content: tuple[SceneSpec, SolverSettings]) -> BakeFiles:
    """Return the files of the scene's bake; or new files that begin with the still valid frames of an earlier bake; or new
    empty files.

    Raises OSError, and CacheError if the scene has a bake without valid frames.
    """
    bake, snapshot = scene.stiction.bake, snapshot_digest(*content)
    shown = Path(cache_path(scene)) if bake.state == "CACHED" else None
    parts = parts_of_cache(shown)
    digest = cache_digest(snapshot, parts)
    if shown is not None and bake.digest == digest and shown.exists() and cache_has_begun(shown):
        refuse_stranger(shown, digest, content)
        return BakeFiles(digest, snapshot_of(shown), shown)
    files = bake_files(scene, digest)
    if cache_has_begun(files.cache):
        return files
    others = () if parts else bakes_beside(files)
    candidates = {*others, *([] if shown is None else [shown])}
    found = ((last_that_holds(cache, content, parts), cache) for cache in candidates)
    last, source = max(found, default=(None, None), key=by_frame)
    if last is not None and source is not None:
        files.cache.parent.mkdir(parents=True, exist_ok=True)
        continue_from(source, files.cache, content, last, parts)
    elif shown is not None and bake.digest != digest:
        changed = "; ".join(changes_since(bake.made_from, made_from(scene))) or "its snapshot"
        raise CacheError(f"the scene has changed since the bake ({changed}); no frame is still valid, bake again")
    return files


def refuse_stranger(cache: Path, digest: str, content: tuple[SceneSpec, SolverSettings]) -> None:
    """Raise CacheError where the files that a .blend file names are not those of its bake: it may name anybody's, and they
    would be written to."""
    refuse_other_scene(str(cache), FrameCacheReader(cache, digest).info, content[0])
    snapshot = snapshot_of(cache)
    # A missing or damaged one is written again.
    with suppress(FileNotFoundError, ContainerError):
        if snapshot_digest(*read_snapshot(snapshot)) != snapshot_digest(*content):
            raise CacheError(f"{snapshot}: belongs to another scene or other settings, and was not changed; bake again")


def files_to_go_on(scene: Scene, content: tuple[SceneSpec, SolverSettings], frame: int) -> BakeFiles:
    """Return new files that begin with the frames up to `frame` of the scene's bake, although the scene has changed since.

    Raises OSError, and CacheError if there is no such bake, or its frames cannot be used for the scene.
    """
    bake = scene.stiction.bake
    if bake.state == "NONE":
        raise CacheError("the scene has no bake whose frames could be kept")
    shown = Path(cache_path(scene))
    reader = FrameCacheReader(shown, bake.digest)
    try:
        before = read_snapshot(snapshot_of(shown))
    except ContainerError as error:
        raise CacheError(f"the snapshot of the bake cannot be read: {error}; bake again") from error
    parts = earlier_frames(reader, before, content, frame)
    files = bake_files(scene, cache_digest(snapshot_digest(*content), parts))
    if not cache_has_begun(files.cache) or frame not in FrameCacheReader(files.cache).frames:
        files.cache.parent.mkdir(parents=True, exist_ok=True)
        continue_from(shown, files.cache, content, frame, parts)
    return files


def parts_of_cache(cache: Path | None) -> tuple[EarlierFrames, ...]:
    """Return the segments of a cache from other bakes; none if it cannot be read."""
    if cache is None:
        return ()
    try:
        return FrameCacheReader(cache).info.earlier
    except (OSError, CacheError):
        return ()


def told_parts(cache: Path) -> str:
    """Return a sentence for each segment of a cache from another bake, one per line."""
    begin, lines = FrameCacheReader(cache).info.frame_start, []
    for part in parts_of_cache(cache):
        lines.append(one_line(f"Frames {begin} to {part.last_frame} are from another bake: {', '.join(part.differences)}"))
        begin = part.last_frame + 1
    return "\n".join(lines)


def by_frame(found: tuple[int | None, Path]) -> float:
    return -math.inf if found[0] is None else found[0]


def last_that_holds(cache: Path, content: tuple[SceneSpec, SolverSettings], parts: tuple[EarlierFrames, ...]) -> int | None:
    """Return the last frame of another bake that is valid for this scene, or None.

    parts: required segments from bakes of other scenes.
    """
    try:
        last = frames_that_hold(read_snapshot(snapshot_of(cache)), content)
        reader = FrameCacheReader(cache)
    except (OSError, CacheError, ContainerError):
        return None
    if last is None or not reader.frames or reader.info.earlier != parts:
        return None
    last = min(last, reader.frames[-1])
    return None if parts and last < parts[-1].last_frame else last


def cache_path(scene: Scene) -> str:
    """Return the path of the frames of the scene's bake."""
    return bpy.path.abspath(scene.stiction.bake.cache)


def snapshot_of(cache: Path) -> Path:
    """Return the path of the snapshot of a cache, which is beside it. The path need not exist."""
    return cache.parent / f"{cache.stem}.snapshot"


def sound_of(cache: Path) -> Path:
    """Return where the sound of a bake is: beside its cache."""
    return cache.with_suffix(".wav")


def relative_if_asked(scene: Scene, cache: Path, file: str = "") -> str:
    """Return the path of the frames as stored in a scene: relative to its .blend file if the user's folder is relative.

    file: present or future path of the .blend file; "" for the open one.
    """
    file = file or bpy.data.filepath
    if not scene.stiction.cache_directory.startswith("//") or not file:
        return str(cache)
    folder = Path(os.path.abspath(file)).parent
    try:
        relative = Path(os.path.relpath(cache, folder))
        # There is no relative path to another drive, and a link may change it.
        leads_there = (folder / relative).resolve() == cache.resolve()
    except ValueError:
        return str(cache)
    return f"//{relative.as_posix()}" if leads_there else str(cache)


def caches_in_use() -> set[Path]:
    """Return the caches that scenes of the open file show or used for their keyframes."""
    baked = [scene for scene in bpy.data.scenes if scene.stiction.bake.state != "NONE" and scene.stiction.bake.cache]
    return {Path(cache_path(scene)) for scene in baked}


def remove_old_bakes(files: BakeFiles, in_use: Collection[Path]) -> None:
    """Remove what earlier bakes of the scene in its file left beside these files, except the newest ones, those in use, those
    that a .blend file shows as it was saved, and those that some process is writing."""
    ages = bakes_beside(files, of_its_file=True)
    for cache in sorted(ages, key=ages.__getitem__, reverse=True)[BAKES_KEPT:]:
        if cache != files.cache and cache not in in_use and not notes_on(cache):
            remove_bake(cache)


def bakes_beside(files: BakeFiles, *, of_its_file: bool = False) -> dict[Path, float]:
    """Return the caches in the folder of these files with the names of the scene and its file, or of this file, with the times
    of their last use."""
    end = re.compile(rf"({KEY}-)[0-9a-f]{{{DIGITS}}}$").search(files.cache.stem)
    if end is None:
        return {}
    stem, key = re.escape(files.cache.stem[: end.start()]), end[1] if of_its_file else f"(?:{KEY}-)?"
    ours = re.compile(rf"{stem}{key}[0-9a-f]{{{DIGITS}}}\.(cache|snapshot)")
    ages: dict[Path, float] = {}
    for path in files.cache.parent.iterdir() if files.cache.parent.is_dir() else ():
        # Another process may also remove them.
        with suppress(FileNotFoundError):
            if ours.fullmatch(path.name):
                cache = path.with_suffix(".cache")
                ages[cache] = max(ages.get(cache, 0.0), path.stat().st_mtime)
    return ages


def remove_bake(cache: Path) -> None:
    try:
        lock = FileLock.acquire(cache)
    except (LockHeld, OSError):
        return  # Another process writes it, or it must not be removed.
    try:
        # On Windows an open file cannot be removed; the next bake tries again.
        with suppress(OSError):
            if lock.holds:
                cache.unlink(missing_ok=True)
                snapshot_of(cache).unlink(missing_ok=True)
                sound_of(cache).unlink(missing_ok=True)
    finally:
        lock.release()
