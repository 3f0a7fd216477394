# SPDX-License-Identifier: GPL-3.0-or-later
"""The folders in which this process stores compiled kernels, one for each source file. Does not load numba."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from pathlib import Path

from .ahead import named_folder
from .trust import doubt, written_by_us_alone

__all__ = ["PACKAGE", "can_be_written", "folder_of_kernels", "kernel_folder"]

PACKAGE = Path(__file__).resolve().parents[1]


def folder_of_kernels() -> Path:
    """Return the base folder of this process's compiled kernels.

    This is the named folder (`ahead.named_folder`). It is the user's cache folder if no folder is named, if the named one is
    not writable, or if other users could have written to it (`trust.py`).
    """
    named = named_folder()
    if named is not None and doubt(named) is None and can_be_written(named):
        return named
    return user_cache_folder() / "stiction"


def kernel_folder(base: Path, source: Path) -> Path:
    """Return the folder below `base` for the kernels of a source file of this package, such as `solvers.criteria` for
    solvers/criteria.py."""
    return base / ".".join(source.relative_to(PACKAGE).with_suffix("").parts)


@cache
def can_be_written(folder: Path) -> bool:
    """Return whether a folder exists or can be created, and files can be created in it."""
    try:
        with written_by_us_alone():
            folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def user_cache_folder() -> Path:
    """Return the cache folder of this user."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
