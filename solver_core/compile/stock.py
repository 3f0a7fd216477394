# SPDX-License-Identifier: GPL-3.0-or-later
"""The number of compiled kernels in a folder, and the number that the sources define.

The names of a kernel's files contain its key (`kernel_key.py`), which is known only to a process that has loaded the kernel.
The process that compiles all kernels therefore first writes a list of the keys to the folder. Without a list for the present
sources, a kernel counts as compiled with any key. This module does not load numba.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from .ahead import INDEX, put
from .folders import kernel_folder
from .sources import imported_sources, sources_digest
from .trust import written_by_us_alone

__all__ = ["KeyList", "Stock", "read_keys", "sources_of_all", "write_keys"]

# Decorators of kernels that are compiled separately, for which numba stores an index each.
KERNEL = re.compile(rb"^@(?:kernel|inner_kernel|leaf_kernel|inlined_kernel)$", re.MULTILINE)
ALL_KERNELS = Path(__file__).parents[1] / "compile_all" / "rehearsal.py"

# By folder, the names and keys of its kernels: "called" by Python, "inner" for calls from kernels.
KeyList = dict[str, dict[str, list[str]]]


def sources_of_all() -> str:
    """Return a digest of the texts of all sources of kernels."""
    return sources_digest(imported_sources(ALL_KERNELS))


def key_file(folder: Path) -> Path:
    """Return the path of the list of keys in a folder of kernels, for this Python version."""
    return folder / f"keys-py{sys.version_info.major}{sys.version_info.minor}.json"


def write_keys(folder: Path, keys: KeyList) -> None:
    """Write the keys of all kernels of the present sources to a folder of kernels."""
    text = json.dumps({"sources": sources_of_all(), "keys": keys}, indent=1)
    with written_by_us_alone():
        put(key_file(folder), text.encode())


def read_keys(folder: Path) -> KeyList | None:
    """Return the list of keys in a folder of kernels; None if there is none for the present sources."""
    try:
        found = json.loads(key_file(folder).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found["keys"] if found.get("sources") == sources_of_all() else None


class Stock:
    """The kernels in a folder, and all that a bake may call. The sources are read at the first access."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._keys: KeyList | None = None

    @cached_property
    def _kernels(self) -> dict[Path, int]:
        """Return the expected number of kernels in the folder of each source file."""
        counts = {source: len(KERNEL.findall(source.read_bytes())) for source in imported_sources(ALL_KERNELS)}
        return {kernel_folder(self._folder, source): count for source, count in counts.items() if count}

    @property
    def whole(self) -> int:
        """Return the number of kernels in the sources; no bake calls all of them."""
        return sum(self._kernels.values())

    @property
    def there(self) -> int:
        """Return the number of existing kernels. A kernel compiled both for Python and for other kernels counts once."""
        if self._keys is None:
            self._keys = read_keys(self._folder)
        return sum(self._count(folder, most) for folder, most in self._kernels.items())

    def _count(self, folder: Path, most: int) -> int:
        """Return the number of kernels in one folder."""
        found: Iterable[str] = (file.name.split(".")[1] for file in folder.glob(f"*{INDEX}"))
        if self._keys is not None:
            lists = self._keys.get(folder.name, {}).values()
            found = set(found) & {name for names in lists for name in names}
        return min(most, len({name.rpartition("-")[0] for name in found}))
