# SPDX-License-Identifier: GPL-3.0-or-later
"""The cache of compiled kernels, and its keys.

numba recompiles a kernel after any change of its own file, but not after a change of a called kernel in another file. Here the
cache files of a kernel are named after a digest of everything that determines its machine code (`kernel_key.py`). So a stale
kernel is never found, and a change recompiles only the kernels that contain it. Kernels of several source versions can share a
folder. There is one folder for each source file.
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

# The stamp in numba's index files. File names contain the key, so this changes only with the layout of an index.
STAMP = "stiction-1"


class KernelLocator:
    """Tells numba where the kernels of a file of this package are stored."""

    def __init__(self, folder: Path, py_file: str):
        # numba uses this attribute in its warning about a kernel that cannot be cached.
        self._folder, self._py_file = folder, py_file

    def get_cache_path(self) -> str:
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        return STAMP


class KernelResults(CompileResultCacheImpl):
    """The part of a compiled kernel of this package that numba stores. `KernelCache` names the files."""

    def __init__(self, py_func: Any):
        py_file = py_func.__code__.co_filename
        folder = _folder_below(folder_of_kernels(), py_file)
        assert folder is not None, f"{py_file} has no folder of kernels"
        self._locator = KernelLocator(folder, py_file)
        self._lineno, self._filename_base = py_func.__code__.co_firstlineno, ""


class KernelCache(FunctionCache):
    """numba's cache for one kernel of this package, with files named after the kernel's key."""

    _impl_class = KernelResults

    def __init__(self, dispatcher: Any):
        super().__init__(dispatcher.py_func)
        self.name = name_with_key(dispatcher)
        base = f"{Path(dispatcher.py_func.__code__.co_filename).stem}.{self.name}.{python_tag()}"
        self._cache_file = IndexDataCacheFile(cache_path=self._cache_path, filename_base=base, source_stamp=STAMP)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        """Return numba's key of a specialization, and the fields of the named tuples among its arguments."""
        return (*super()._index_key(sig, codegen), fields_of(sig))


def name_with_key(dispatcher: Any) -> str:
    """Return a kernel's name and key as they occur in file names. Raises UnknownConstant."""
    return f"{dispatcher.py_func.__qualname__}-{kernel_key(dispatcher)}"


def python_tag() -> str:
    """Return the part of the file names that identifies the Python version."""
    return f"py{sys.version_info.major}{sys.version_info.minor}"


def keep_under_key(dispatcher: Any) -> KernelCache | None:
    """Store a kernel of this package under its key. Return its cache, or None for a kernel that is not stored.

    The key covers everything that a kernel calls, so it is computed at the first call and not at the definition. Until then,
    numba stores nothing for the kernel. A kernel with a constant without a key is compiled in each process, with a warning. A
    kernel in a file outside this package is also compiled in each process, without a warning.
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
    """Make numba treat an index with missing types as empty. A second call has no effect.

    The index of a kernel contains the types of its arguments. A named tuple among them may have been renamed in a file that the
    kernel's file does not import.
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
    """Return the folder for the kernels of a file, or None for files outside this package or if no folder is writable.

    The result is cached for each file: a bake compiles hundreds of kernels, and resolving a path takes a dozen system calls.
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
