# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress reports while a process compiles kernels, and a second process that helps.

The count is the number of kernels on disk, whichever process compiled them. While this process waits for a kernel that another
one compiles, the count still grows. A thread updates it on a timer, because one kernel may take a minute.

A bake compiles its kernels in the order of their first calls. The second process starts with the contact solvers and continues
with kernels that the bake may call later, such as for the first unconverged step. The bake then loads these kernels from the
cache.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from numba.core import event

from .kernel_lock import WAIT_EVENT
from .process import start
from .stock import Stock

__all__ = ["Compiling", "Count", "Watch"]

SECONDS_BETWEEN_REPORTS = 1.0
FEW_KERNELS = 10  # kernels; the pace of fewer is not representative, because some take a minute and most take a moment
COMPILE, LOCK = "numba:compile", "numba:compiler_lock"
EVENTS = (COMPILE, LOCK, WAIT_EVENT)


@dataclass(frozen=True)
class Count:
    """The number of kernels on disk.

    kernels: compiled since the watch began.
    there: number of existing kernels.
    whole: number of kernels in the sources, more than one bake calls.
    left: time for the remaining kernels at the present pace [s], or None before ten kernels.
    """

    kernels: int
    there: int
    whole: int
    left: float | None


class Compiling(event.Listener, AbstractContextManager):
    """Context in which `now` tells whether this process compiles a kernel in any thread."""

    def __init__(self) -> None:
        self._compiles = 0

    def __enter__(self) -> Compiling:
        event.register(COMPILE, self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        event.unregister(COMPILE, self)

    @property
    def now(self) -> bool:
        """Return True while a kernel is being compiled."""
        return self._compiles > 0

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002, numba's
        """Handle the start of a compilation."""
        self._compiles += 1

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002, numba's
        """Handle the end of a compilation."""
        self._compiles -= 1


class Watch(event.Listener, AbstractContextManager):
    """Context that reports the count about once per second while this process compiles kernels or waits for them."""

    def __init__(self, folder: Path, tell: Callable[[Count], bool]):
        """Watch a folder of kernels. tell: called on another thread with the count; returns False to end the reports."""
        self._folder, self._tell = folder, tell
        self._stock = Stock(folder)
        # Number of threads that hold the compiler lock or wait for it. numba takes it to compile or load a kernel.
        self._depth, self._compiles, self._has_compiled = 0, 0, False
        # Number of threads that wait for a kernel that another process compiles.
        self._waits = 0
        self._is_over = threading.Event()
        self._helper: subprocess.Popen | None = None

    def __enter__(self) -> Watch:
        for kind in EVENTS:
            event.register(kind, self)
        threading.Thread(target=self._count, name="kernels", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._is_over.set()
        for registered in EVENTS:
            event.unregister(registered, self)
        if self._helper is not None and self._helper.stdin is not None:
            # It ends at the end of its standard input. Its compiled kernels remain.
            self._helper.stdin.close()

    def on_start(self, event: event.Event) -> None:
        """Handle the start of a search or compilation. The first compilation starts the second process."""
        if event.kind == LOCK:
            self._depth += 1
            return
        if event.kind == WAIT_EVENT:
            self._waits += 1
            return
        self._compiles += 1
        if not self._has_compiled:
            self._has_compiled = True
            if (os.cpu_count() or 1) > 1:
                self._helper = start(self._folder, "--processes", "1", "--background", stderr=subprocess.DEVNULL)

    def on_end(self, event: event.Event) -> None:
        """Handle the end of a search or compilation."""
        if event.kind == LOCK:
            self._depth -= 1
        elif event.kind == WAIT_EVENT:
            self._waits -= 1
        else:
            self._compiles -= 1

    def _count(self) -> None:
        """Report the count repeatedly."""
        begin, first = time.monotonic(), None
        while not self._is_over.wait(SECONDS_BETWEEN_REPORTS):
            if self._depth == 0:
                continue
            there, whole = self._stock.there, self._stock.whole
            if first is None:
                begin, first = time.monotonic(), there
            made, elapsed = there - first, time.monotonic() - begin
            # If the count does not grow, a kernel may be loading.
            if made > 0 or self._compiles > 0 or self._waits > 0:
                left = (whole - there) * elapsed / made if made >= FEW_KERNELS else None
                if not self._tell(Count(made, there, whole, left)):
                    return
