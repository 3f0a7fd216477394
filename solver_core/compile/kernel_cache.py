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

from numba.core.caching import FunctionCache, IndexDataCacheFile

from .folders import PACKAGE, folder_of_kernels, kernel_folder
from .kernel_key import UnknownConstant, fields_of, kernel_key
from .processor import use_level
from .trust import written_by_us_alone

__all__ = ["KernelCache", "KernelLocator", "keep_under_key", "name_with_key", "python_tag", "use_kernel_cache"]

# The stamp in numba's index files. A file's name has the key, so this changes only with what an index holds.
STAMP = "stiction-1"
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

    def __init__(self, folder: Path, py_file: str):
        # numba names the file by this attribute when it warns that a kernel cannot be cached
        self._folder, self._py_file = folder, py_file

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> KernelLocator | None:  # noqa: ARG003, numba's
        """The locator of a function in a file; None for files of others, and where nothing can be written."""
        folder = _folder_below(folder_of_kernels(), py_file)
        return None if folder is None else cls(folder, py_file)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        return STAMP

    def get_disambiguator(self) -> str:
        """Nothing: `KernelCache` names the files."""
        return ""


class KernelCache(FunctionCache):
    """numba's cache of one kernel of this package, with files named after the kernel's key."""

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

    The key needs everything that a kernel calls, so it is made at the first call and not where the kernel is defined. A kernel
    with a constant that no key can be made of is compiled in each process, with a warning.
    """
    kept = dispatcher._cache
    if isinstance(kept, KernelCache):
        return kept
    if not isinstance(kept, FunctionCache) or not isinstance(kept._impl.locator, KernelLocator):
        return None
    try:
        dispatcher._cache = KernelCache(dispatcher)
    except UnknownConstant as unknown:
        name = f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}"
        warnings.warn(f"the kernel {name} is compiled anew in each process: it uses {unknown}", RuntimeWarning, stacklevel=2)
        kept.disable()
        return None
    return dispatcher._cache


def use_kernel_cache() -> None:
    """Keep this process's kernels below `folder_of_kernels`, for the level of this processor (`processor.py`). Kernels of other
    packages are kept where they were, and compiled as they were but for that level.

    Called where the kinds of kernel are defined (`kernel.py`), so before there is any.
    """
    from numba.core import config

    use_level()
    others = vars(config)["CACHE_LOCATOR_CLASSES"] or ",".join(OTHER_LOCATORS)
    # numba makes its settings at run time
    setattr(config, "CACHE_LOCATOR_CLASSES", f"{__name__}.{KernelLocator.__name__},{others}")  # noqa: B010
    survive_lost_types()


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

    It is found once for each file: a process defines a thousand kernels, and to resolve a path takes a dozen system calls.
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
