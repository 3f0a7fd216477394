# SPDX-License-Identifier: GPL-3.0-or-later
"""The source files that a file of this package imports, found in its text, and a digest of them. Does not load numba."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from .folders import PACKAGE

__all__ = ["imported_sources", "sources_digest"]

# A regular expression, because parsing all files takes a second at the start of each process.
RELATIVE_IMPORT = re.compile(r"^[ \t]*from[ \t]+(\.+)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)


def sources_digest(files: Iterable[Path]) -> str:
    """Return a digest of the names and texts of some files of this package."""
    digest = hashlib.blake2b(digest_size=10)
    for source in sorted(files):
        text = source.relative_to(PACKAGE).as_posix().encode() + b"\0" + source.read_bytes()
        digest.update(hashlib.blake2b(text).digest())
    return digest.hexdigest()


def imported_sources(source: Path) -> set[Path]:
    """Return the source file and all files of this package that it imports, directly or indirectly."""
    found, left = {source}, [source]
    while left:
        new = _imports(left.pop()) - found
        found |= new
        left.extend(new)
    return found


@cache
def _imports(source: Path) -> frozenset[Path]:
    """Yield the files of this package that a file names in its relative imports."""
    files = set()
    for dots, module, names in RELATIVE_IMPORT.findall(source.read_text(encoding="utf-8")):
        folder = source.parents[len(dots) - 1].joinpath(*filter(None, module.split(".")))
        # A name imported from a folder may be a file in it; a name imported from a file is not.
        places = [folder, *(folder / name for name in re.findall(r"\w+", names))]
        files |= {place.with_suffix(".py") for place in places} | {folder / "__init__.py"}
    return frozenset(file for file in files if file.is_relative_to(PACKAGE) and file.is_file())
