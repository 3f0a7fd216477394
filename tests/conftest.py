# SPDX-License-Identifier: GPL-3.0-or-later
"""What all tests share: kernels are compiled once for each state of the sources, and kept in the build folder."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from solver_core.compile.kernel_cache import use_kernel_cache

os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parent.parent / "build" / "numba"))
use_kernel_cache()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with many slow tests come first, so that of several processes none has one left when the others are done."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])
