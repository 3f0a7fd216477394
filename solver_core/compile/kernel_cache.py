# SPDX-License-Identifier: GPL-3.0-or-later
"""Where compiled kernels are kept from one run to the next: one folder for each state of the sources that a kernel is made of.

numba compiles a kernel again when its own file has changed, but not when a kernel that it calls, in another file, has. So the
folder of a file's kernels is named after the file and all files of this package that it imports, directly or not: no stale
kernel is found there, and a change recompiles what depends on it. Files that have no part in the machine code are left out.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterable
from functools import cache, wraps
from pathlib import Path
from typing import Any

from .ahead import named_folder
from .kernel_lock import compile_in_turn
from .processor import WITHOUT_VECTORS, use_level
from .trust import doubt, written_by_us_alone

__all__ = [
    "KernelLocator",
    "folder_of_kernels",
    "imported_sources",
    "kernel_folder",
    "sources_digest",
    "use_kernel_cache",
]

PACKAGE = Path(__file__).resolve().parents[1]
# a parser takes a second for all files, at the start of each process
RELATIVE_IMPORT = re.compile(r"^[ \t]*from[ \t]+(\.+)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)
# Files that every kernel's file imports and that leave its machine code alone: locks, folders, and messages about them. The one
# that they import and that has a part is hashed with every file.
WITHOUT_CODE = ("compile/kernel_cache.py", "compile/kernel_lock.py", "compile/ahead.py", "compile/trust.py")
PROCESSOR = "compile/processor.py"
# numba's own, for kernels of others in the same process
OTHER_LOCATORS = (
    "UserProvidedCacheLocator",
    "InTreeCacheLocator",
    "UserWideCacheLocator",
    "IPythonCacheLocator",
    "ZipCacheLocator",
)


class KernelLocator:
    """Tells numba where the kernels of a file of this package are kept (numba's setting CACHE_LOCATOR_CLASSES)."""

    def __init__(self, folder: Path, line: int):
        self._folder, self._line = folder, line

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> KernelLocator | None:
        """The locator of a function in a file; None for files of others, and where nothing can be written."""
        source = Path(py_file).resolve()
        if not source.is_relative_to(PACKAGE):
            return None
        folder = kernel_folder(folder_of_kernels(), source)
        try:
            with written_by_us_alone():
                folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return None
        return cls(folder, py_func.__code__.co_firstlineno) if os.access(folder, os.W_OK) else None

    def get_cache_path(self) -> str:
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        """The folder's name says it all."""
        return self._folder.name

    def get_disambiguator(self) -> str:
        return str(self._line)


@cache
def kernel_folder(base: Path, source: Path) -> Path:
    """The folder below `base` for the kernels of a source file, as it and what it imports are at the first look."""
    plain = "-plain" if os.environ.get("STICTION_PLAIN_KERNELS") == "1" else ""
    return base / f"{source.stem}-{sources_digest(imported_sources(source))}{plain}"


def sources_digest(files: Iterable[Path]) -> str:
    """A digest of some files of this package and of how they are compiled."""
    digest = hashlib.blake2b(f"{__name__} {WITHOUT_VECTORS}".encode(), digest_size=10)
    for file in sorted({str(PACKAGE / PROCESSOR), *map(str, files)}):
        digest.update(_digest_of(file))
    return digest.hexdigest()


@cache
def _digest_of(file: str) -> bytes:
    """A digest of the name and the text of one file of this package."""
    source = Path(file)
    return hashlib.blake2b(source.relative_to(PACKAGE).as_posix().encode() + b"\0" + source.read_bytes()).digest()


def imported_sources(source: Path) -> set[Path]:
    """The source file and all files of this package that it imports, directly or not, except those without a part in the
    machine code and what only they import."""
    found, left, no_part = {source}, [source], {PACKAGE / name for name in WITHOUT_CODE}
    while left:
        new = _imports(left.pop()) - found - no_part
        found |= new
        left.extend(new)
    return found


@cache
def _imports(source: Path) -> frozenset[Path]:
    """The files of this package that a file names in its relative imports."""
    files = set()
    for dots, module, names in RELATIVE_IMPORT.findall(source.read_text(encoding="utf-8")):
        folder = source.parents[len(dots) - 1].joinpath(*filter(None, module.split(".")))
        # what is imported from a folder may be a file in it, from a file only what it holds
        places = [folder, *(folder / name for name in re.findall(r"\w+", names))]
        files |= {place.with_suffix(".py") for place in places} | {folder / "__init__.py"}
    return frozenset(file for file in files if file.is_relative_to(PACKAGE) and file.is_file())


def folder_of_kernels() -> Path:
    """The folder that this process keeps its kernels below: that which is named (`ahead.named_folder`), or the user's cache
    folder if there is none, it cannot be written to, or could have been by others (`compile/trust.py`)."""
    named = named_folder()
    if named is not None and doubt(named) is None and _can_be_written(named):
        return named
    return _user_cache_folder() / "stiction"


def use_kernel_cache() -> None:
    """Keep this process's kernels below `folder_of_kernels`, for the level of this processor (`compile/processor.py`); from
    then on one process at a time compiles a kernel. Kernels of other packages are kept where they were, and compiled as they
    were but for that level.

    Called where the kinds of kernel are defined (`compile/kernel.py`), so before there is any.
    """
    from numba.core import config

    use_level()
    others = vars(config)["CACHE_LOCATOR_CLASSES"] or ",".join(OTHER_LOCATORS)
    # numba makes its settings at run time
    setattr(config, "CACHE_LOCATOR_CLASSES", f"{__name__}.{KernelLocator.__name__},{others}")  # noqa: B010
    survive_lost_types()
    compile_in_turn()


def survive_lost_types() -> None:
    """Have numba take an index that names types which are gone for an empty one; a second call does nothing.

    The index of a kernel holds the types of its arguments. A named tuple among them may have been renamed since, in a file that
    the kernel's file does not import.
    """
    from numba.core.caching import IndexDataCacheFile

    load = IndexDataCacheFile._load_index
    if hasattr(load, "__wrapped__"):
        return

    @wraps(load)
    def load_index(self: Any) -> dict[Any, str]:
        try:
            return load(self)
        except (AttributeError, ImportError):
            return {}

    setattr(IndexDataCacheFile, "_load_index", load_index)  # noqa: B010, numba has no hook for it


@cache
def _can_be_written(folder: Path) -> bool:
    try:
        with written_by_us_alone():
            folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _user_cache_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
