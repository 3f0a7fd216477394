# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of output paths: an output may be new, or replace an empty file or an output of the same kind.

A path that was mistyped, or given twice, may be that of the scene, of a bake, or of the device /dev/null. Every output file
that a user names is checked here twice: before the work, so that hours of work are not lost, and when it is written. `-` is
standard output, and the null device accepts every output.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..process.command_line import UsageError
from ..process.plain_files import PathRefused
from .atomic import write_atomically

__all__ = [
    "BLEND",
    "PAGE",
    "REPORT",
    "STANDARD_OUTPUT",
    "TABLE",
    "OutputKind",
    "is_null_device",
    "is_stream",
    "refuse_one_for_another",
    "refuse_output",
    "write_output",
]

STANDARD_OUTPUT = "-"
HEAD_BYTES = 256


@dataclass(frozen=True)
class OutputKind:
    """A kind of output file. name: with its article. begins: bytes with which all such files begin."""

    name: str
    begins: re.Pattern[bytes]


REPORT = OutputKind(
    "a report of Stiction",
    re.compile(rb'\{\s*("digest": "\w+",\s*)?("version": \d+,\s*"(scene|error)":|"(findings|warnings)": \[)'),
)
TABLE = OutputKind("a table of Stiction", re.compile(rb"frame(,bodies,|\r?\n)|time,frame,(impulse|kind|event),|variation,"))
PAGE = OutputKind("a page of Stiction", re.compile(rb"<!DOCTYPE html>\n<html [^\0]*<title>Stiction: "))
# plain, compressed by gzip, and compressed by zstd
BLEND = OutputKind("a .blend file", re.compile(rb"BLENDER|\x1f\x8b|\x28\xb5\x2f\xfd"))


def is_null_device(path: str | os.PathLike[str]) -> bool:
    """Return True for the null device: /dev/null, or NUL on Windows."""
    try:
        found, null = os.stat(path), os.stat(os.devnull)
    except OSError:
        return False
    return stat.S_ISCHR(found.st_mode) and stat.S_ISCHR(null.st_mode) and found.st_rdev == null.st_rdev


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Return True if the path names standard output or the null device."""
    return os.fspath(path) == STANDARD_OUTPUT or is_null_device(path)


def refuse_output(path: str | os.PathLike[str], kind: OutputKind) -> None:
    """Raise PathRefused where an output of this kind would destroy something else, or cannot be; and OSError."""
    if is_stream(path):
        return
    target = Path(os.path.realpath(path))
    try:
        found = os.stat(target)
    except FileNotFoundError:
        refuse_folder(path, target.parent)
        return
    if stat.S_ISDIR(found.st_mode):
        raise PathRefused(path, f"is a folder; name a file for {kind.name}")
    if not stat.S_ISREG(found.st_mode):
        raise PathRefused(path, f"is no file; name one, or - for standard output, for {kind.name}")
    with open(target, "rb") as file:
        head = file.read(HEAD_BYTES)
    if head and kind.begins.match(head) is None:
        raise PathRefused(path, f"exists and is not {kind.name}; it is left as it is, name another file or remove it")
    refuse_folder(path, target.parent)


def refuse_folder(path: str | os.PathLike[str], folder: Path) -> None:
    if not folder.is_dir():
        raise PathRefused(path, f"there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise PathRefused(path, f"the folder {folder} cannot be written to")


def write_output(path: str | os.PathLike[str], kind: OutputKind, data: bytes) -> None:
    """Write an output whole or not at all; raises PathRefused as `refuse_output` does, and OSError."""
    if os.fspath(path) == STANDARD_OUTPUT:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    refuse_output(path, kind)
    if not is_null_device(path):
        # A link that the user names is followed, as in other programs; its target was checked.
        write_atomically(os.path.realpath(path), data)


def refuse_one_for_another(named: Iterable[tuple[str, str | os.PathLike[str] | None]]) -> None:
    """Raise UsageError where one file is named as two, of which the second would be written over the first.

    named: what each file is for, and its path, None where there is none.
    """
    seen: dict[str, str] = {}
    for name, path in named:
        if path is None or is_stream(path):
            continue
        try:
            other = seen.setdefault(os.path.normcase(os.path.realpath(path)), name)
        except ValueError as error:
            raise UsageError(f"{name}: {os.fspath(path)!r} is no name of a file: {error}") from error
        if other != name:
            raise UsageError(f"{name} and {other} are the same file, {path}; name two")
