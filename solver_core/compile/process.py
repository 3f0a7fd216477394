# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that compiles kernels into a folder, started and ended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["start"]

# the folder in which this package is found by the name that its kernels go by
ROOT = Path(__file__).resolve().parents[2]


def start(folder: Path, *arguments: str, stdout: int = subprocess.DEVNULL, stderr: int | None = None) -> subprocess.Popen[str]:
    """A running `python -m solver_core.compile_all FOLDER ARGUMENTS`; it ends soon after its standard input, a pipe, does: when
    that is closed, and when this process ends in whatever way."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-s", "-P", "-m", "solver_core.compile_all", str(folder), *arguments, "--parent-pipe"],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        env=os.environ | {"PYTHONPATH": path},
        encoding="utf-8",
        creationflags=subprocess.CREATE_NO_WINDOW if sys.platform == "win32" else 0,
    )
