# SPDX-License-Identifier: GPL-3.0-or-later
"""What all tests share: kernels are compiled once for each state of the sources, and kept in the build folder; of several
processes each has one processor; and where all kernels were compiled ahead, those that tests compiled are named at the end."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

KERNELS = Path(os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parent.parent / "build" / "numba")))
if "PYTEST_XDIST_WORKER" in os.environ:
    # the threads of numpy's linear algebra wait for each other by counting: on a busy machine a third of the time of what bends
    os.environ.setdefault("OMP_NUM_THREADS", "1")

STATUS = pytest.StashKey[int]()
COMPILED = pytest.StashKey[set[str]]()


def compiled() -> set[str]:
    """The files of kernels in their folder, one for each set of types; none where not all were compiled ahead."""
    return {path.name for path in KERNELS.glob("*/*.nbc")} if (KERNELS / "compiled.json").is_file() else set()


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.stash[COMPILED] = compiled()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the kernels that were compiled during the tests: they are not rehearsed, or called with types that no bake has."""
    before = config.stash.get(COMPILED, set())
    if new := sorted(compiled() - before) if before else []:
        terminalreporter.write_line(f"{len(new)} kernels compiled by tests, not ahead: {', '.join(new[:20])}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with many slow tests come first, so that of several processes none has one left when the others are done."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow") or item.get_closest_marker("long"))
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
