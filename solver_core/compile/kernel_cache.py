# SPDX-License-Identifier: GPL-3.0-or-later
"""Where compiled kernels are kept from one run to the next, and under which key.

numba compiles a kernel again when its own file has changed in any way, but not when a kernel that it calls, in another file,
has. Here the files of a kernel are named after a digest of what its machine code is made of (`kernel_key.py`). So no stale
kernel is found, and a change recompiles only the kernels that contain it. Kernels of several versions of the sources are side
by side in one folder for each source file.
"""

from __future__ import annotations

import os
import sys
import warnings
from functools import cache, wraps
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

from .folders import PACKAGE, folder_of_kernels, kernel_folder
from .kernel_key import UnknownConstant, fields_of, kernel_key
from .trust import written_by_us_alone

__all__ = ["KernelCache", "KernelResults", "keep_under_key", "name_with_key", "python_tag", "survive_lost_types"]

# The stamp in numba's index files. A file's name has the key, so this changes only with what an index holds.
STAMP = "stiction-1"


class KernelLocator:
    """Tells numba where the kernels of a file of this package are kept."""

    def __init__(self, folder: Path, py_file: str):
        # numba names the file by this attribute when it warns that a kernel cannot be cached
        self._folder, self._py_file = folder, py_file

    def get_cache_path(self) -> str:
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        return STAMP


class KernelResults(CompileResultCacheImpl):
    """What numba keeps of a compiled kernel of this package. `KernelCache` names the files."""

    def __init__(self, py_func: Any):
        py_file = py_func.__code__.co_filename
        folder = _folder_below(folder_of_kernels(), py_file)
        assert folder is not None, f"{py_file} has no folder of kernels"
        self._locator = KernelLocator(folder, py_file)
        self._lineno, self._filename_base = py_func.__code__.co_firstlineno, ""


class KernelCache(FunctionCache):
    """numba's cache of one kernel of this package, with files named after the kernel's key."""

    _impl_class = KernelResults

    def __init__(self, dispatcher: Any):
        super().__init__(dispatcher.py_func)
        self.name = name_with_key(dispatcher)
        base = f"{Path(dispatcher.py_func.__code__.co_filename).stem}.{self.name}.{python_tag()}"
        self._cache_file = IndexDataCacheFile(cache_path=self._cache_path, filename_base=base, source_stamp=STAMP)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        """numba's key of one specialization, and the fields of the named tuples among its arguments."""
        return (*super()._index_key(sig, codegen), fields_of(sig))


def name_with_key(dispatcher: Any) -> str:
    """A kernel's name and key, as they are part of the names of its files. Raises UnknownConstant."""
    return f"{dispatcher.py_func.__qualname__}-{kernel_key(dispatcher)}"


def python_tag() -> str:
    """The part of the names of files that says for which Python they are."""
    return f"py{sys.version_info.major}{sys.version_info.minor}"


def keep_under_key(dispatcher: Any) -> KernelCache | None:
    """Have a kernel of this package kept under its key; returns None for a kernel that is not kept.

    The key needs everything that a kernel calls, so it is made at the first call and not where the kernel is defined. Until
    then numba keeps nothing of the kernel. A kernel with a constant that no key can be made of is compiled in each process,
    with a warning; so is a kernel in a file outside this package, without one.
    """
    if isinstance(dispatcher._cache, KernelCache):
        return dispatcher._cache
    if _folder_below(folder_of_kernels(), dispatcher.py_func.__code__.co_filename) is None:
        return None
    try:
        dispatcher._cache = KernelCache(dispatcher)
    except UnknownConstant as unknown:
        name = f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}"
        warnings.warn(f"the kernel {name} is compiled anew in each process: it uses {unknown}", RuntimeWarning, stacklevel=2)
        return None
    return dispatcher._cache


def survive_lost_types() -> None:
    """Have numba take an index that names types which are gone for an empty one; a second call does nothing.

    The index of a kernel holds the types of its arguments. A named tuple among them may have been renamed since, in a file that
    the kernel's file does not import.
    """
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
def _folder_below(base: Path, py_file: str) -> Path | None:
    """The folder for the kernels of a file; None for files of others, and where nothing can be written.

    It is found once for each file: a bake compiles hundreds of kernels, and to resolve a path takes a dozen system calls.
    """
    source = Path(py_file).resolve()
    if not source.is_relative_to(PACKAGE):
        return None
    folder = kernel_folder(base, source)
    return folder if _can_be_made(folder) else None


def _can_be_made(folder: Path) -> bool:
    try:
        with written_by_us_alone():
            folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
