# SPDX-License-Identifier: GPL-3.0-or-later
"""What all tests share: kernels are compiled once for each state of the sources, and kept in the build folder."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parent.parent / "build" / "numba"))

STATUS = pytest.StashKey[int]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with many slow tests come first, so that of several processes none has one left when the others are done."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Keep the status for the end of this process."""
    session.config.stash[STATUS] = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End a process that has Blender in it without Blender's own end, in which 4.5 waits for ever once it has opened a file."""
    if "bpy" in sys.modules and STATUS in config.stash and not hasattr(config, "workerinput"):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(config.stash[STATUS])
