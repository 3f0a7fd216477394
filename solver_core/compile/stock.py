# SPDX-License-Identifier: GPL-3.0-or-later
"""How many of the kernels that the sources define a folder has: what is compiled, and how much is left at most."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from .ahead import INDEX
from .kernel_cache import imported_sources, kernel_folder

__all__ = ["Stock", "called_by_python"]

# Kernels that are compiled by themselves; numba keeps an index for each.
KERNEL = re.compile(rb"^@(?:kernel|inner_kernel|leaf_kernel|inlined_kernel)$", re.MULTILINE)
CALLED = re.compile(r"^@kernel\ndef (\w+)", re.MULTILINE)
ALL_KERNELS = Path(__file__).parents[1] / "compile_all" / "rehearsal.py"


def called_by_python(source: Path) -> frozenset[str]:
    """The names of the kernels of a source file that Python calls, the only ones that a bake loads: the machine code of each
    has all that it calls."""
    return frozenset(CALLED.findall(source.read_text(encoding="utf-8")))


class Stock:
    """The kernels in a folder, of all that a bake may call; the sources are looked at when it is first asked."""

    def __init__(self, folder: Path):
        self._folder = folder

    @cached_property
    def _kernels(self) -> dict[Path, int]:
        """How many kernels there are to be in each folder of a source file."""
        counts = {source: len(KERNEL.findall(source.read_bytes())) for source in imported_sources(ALL_KERNELS)}
        return {kernel_folder(self._folder, source): count for source, count in counts.items() if count}

    @property
    def whole(self) -> int:
        """How many the sources define; a few of them are called by no bake."""
        return sum(self._kernels.values())

    @property
    def there(self) -> int:
        """How many are there now."""
        return sum(1 for folder in self._kernels for _ in folder.glob(f"*{INDEX}"))
