# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bake sees of its compiling: how many kernels so far; and a second process that helps, from the first kernel on.

A bake compiles its kernels in the order in which it calls them, each when it is called: what finds contacts first, what solves
them then. The second process begins with the latter, and goes on to what the bake may call later, as for the first step that is
missed: kernels that it has put into the cache are loaded from there.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from numba.core import event

from .process import start

__all__ = ["Watch"]

SECONDS_BETWEEN_REPORTS = 1.0


class Watch(event.Listener, AbstractContextManager):
    """While it is entered, calls `tell` with the number of kernels compiled so far, and has help in a folder of kernels."""

    def __init__(self, folder: Path, tell: Callable[[int], object]):
        self._folder, self._tell = folder, tell
        self._compiled, self._told, self._began = 0, 0.0, False
        self._helper: subprocess.Popen | None = None

    def __enter__(self) -> Watch:
        event.register("numba:compile", self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        event.unregister("numba:compile", self)
        if self._helper is not None and self._helper.stdin is not None:
            # it ends when its standard input does; what it has compiled stays
            self._helper.stdin.close()

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002, numba's
        """A kernel begins to be compiled; at the first one, so does the second process."""
        if self._began:
            return
        self._began = True
        self._tell(0)
        if (os.cpu_count() or 1) > 1:
            self._helper = start(self._folder, "--processes", "1", "--background", stderr=subprocess.DEVNULL)

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002, numba's
        """A kernel has been compiled; says so about once a second."""
        self._compiled += 1
        if time.monotonic() - self._told > SECONDS_BETWEEN_REPORTS:
            self._told = time.monotonic()
            self._tell(self._compiled)
