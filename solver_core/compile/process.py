# SPDX-License-Identifier: GPL-3.0-or-later
"""A separate process that compiles kernels into a folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["start"]

# The folder from which this package can be imported under the name in its kernels' keys.
ROOT = Path(__file__).resolve().parents[2]


def start(folder: Path, *arguments: str, stdout: int = subprocess.DEVNULL, stderr: int | None = None) -> subprocess.Popen[str]:
    """Start `python -m solver_core.compile_all FOLDER ARGUMENTS`.

    The process ends soon after the end of its standard input, a pipe: when the pipe is closed, or when this process ends for
    any reason.
    """
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
