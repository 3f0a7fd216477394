# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of the .blend file that created a bake, and of the files that show it.

File names contain the first. The second is stored in notes beside the cache, one file each, NAME.KEY.shown. Several projects
may share a cache folder, with equal names of files and scenes, and a file knows only which bakes it needs itself.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Collection
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import bpy

from ...solver_core.io.atomic import write_atomically

__all__ = ["KEY", "key_of", "note_shown", "notes_on", "open_file"]

KEY_BYTES = 4
KEY = rf"[0-9a-f]{{{2 * KEY_BYTES}}}"
NOTE = ".shown"


def open_file() -> Path:
    """Return the path of the open .blend file; for an unsaved file, a path that is unique to the session."""
    return Path(bpy.data.filepath or Path(bpy.app.tempdir, "untitled.blend"))


def key_of(blend: Path, folder: Path) -> str:
    """Return a key that distinguishes a .blend file from all others with bakes in a folder. It stays the same after both are
    moved together.

    On one file system the path relative to the folder identifies the file on every machine. On different file systems, such as
    a local disk and a server, the key also includes the machine.
    """
    blend, folder = blend.resolve(), folder.resolve()
    where = f"{socket.gethostname()} {blend}"
    with suppress(OSError, ValueError):
        if device(blend.parent) == device(folder):
            where = os.path.relpath(blend, folder)
    return blake2b(os.fsencode(os.path.normcase(where)), digest_size=KEY_BYTES).hexdigest()


def device(folder: Path) -> int:
    """Return the file system on which a folder is or will be."""
    return next(one for one in (folder, *folder.parents) if one.exists()).stat().st_dev


def note_shown(blend: Path, caches: Collection[Path], folders: Collection[Path]) -> None:
    """Record that a .blend file, as it is saved now, shows these caches, and no others in their folders and in these."""
    for folder in {*(cache.parent for cache in caches), *folders}:
        note = re.compile(rf"(.*)\.{key_of(blend, folder)}{re.escape(NOTE)}")
        shown = {cache.stem for cache in caches if cache.parent == folder}
        # A folder that is not writable contains nothing that this file could remove.
        with suppress(OSError):
            for path in list(folder.iterdir()):
                if (found := note.fullmatch(path.name)) and found[1] not in shown:
                    path.unlink()
    for cache in caches:
        with suppress(OSError):
            # A .blend file may contain any path.
            if cache.suffix == ".cache" and cache.is_file():
                name = f"{cache.stem}.{key_of(blend, cache.parent)}{NOTE}"
                write_atomically(cache.with_name(name), os.fsencode(f"{blend}\n"))


def notes_on(cache: Path) -> list[Path]:
    """Return the notes on a cache by all .blend files that show it."""
    note = re.compile(rf"{re.escape(cache.stem)}\.{KEY}{re.escape(NOTE)}")
    return [path for path in cache.parent.iterdir() if note.fullmatch(path.name)]
