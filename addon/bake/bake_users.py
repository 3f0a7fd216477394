# SPDX-License-Identifier: GPL-3.0-or-later
"""Which .blend file a bake was made from, and which ones show it as they were last saved.

The first is in the names of its files, the second in notes beside its cache, a file each, NAME.KEY.shown: several projects may
have one cache folder, with .blend files and scenes of the same names, and only of its own bakes a file can know what it needs.
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
    """The .blend file that is open; of one that was never saved, a path that no other session has."""
    return Path(bpy.data.filepath or Path(bpy.app.tempdir, "untitled.blend"))


def key_of(blend: Path, folder: Path) -> str:
    """What distinguishes a .blend file from all others that have bakes in a folder; the same after both were moved together.

    On one file system its place relative to the folder says which it is, on every machine. Of two, as a local disk beside a
    server's, the machine has to be named too.
    """
    blend, folder = blend.resolve(), folder.resolve()
    where = f"{socket.gethostname()} {blend}"
    with suppress(OSError, ValueError):
        if device(blend.parent) == device(folder):
            where = os.path.relpath(blend, folder)
    return blake2b(os.fsencode(os.path.normcase(where)), digest_size=KEY_BYTES).hexdigest()


def device(folder: Path) -> int:
    """The file system on which a folder is, or will be."""
    return next(one for one in (folder, *folder.parents) if one.exists()).stat().st_dev


def note_shown(blend: Path, caches: Collection[Path], folders: Collection[Path]) -> None:
    """Note that a .blend file, as it is saved now, shows these caches, and no others in their folders and in these."""
    for folder in {*(cache.parent for cache in caches), *folders}:
        note = re.compile(rf"(.*)\.{key_of(blend, folder)}{re.escape(NOTE)}")
        shown = {cache.stem for cache in caches if cache.parent == folder}
        # a folder that only others may write to has nothing that this file could have removed
        with suppress(OSError):
            for path in list(folder.iterdir()):
                if (found := note.fullmatch(path.name)) and found[1] not in shown:
                    path.unlink()
    for cache in caches:
        with suppress(OSError):
            # a .blend file may name any file
            if cache.suffix == ".cache" and cache.is_file():
                name = f"{cache.stem}.{key_of(blend, cache.parent)}{NOTE}"
                write_atomically(cache.with_name(name), os.fsencode(f"{blend}\n"))


def notes_on(cache: Path) -> list[Path]:
    """The notes on a cache, of all .blend files that show it."""
    note = re.compile(rf"{re.escape(cache.stem)}\.{KEY}{re.escape(NOTE)}")
    return [path for path in cache.parent.iterdir() if note.fullmatch(path.name)]
