# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells how many kernels are compiled while a process compiles, and has a second process help.

The count is that of the kernels on disk, whichever process compiled them: while this one waits for a kernel that another one
compiles, the count goes on. A thread takes it on a timer, since a kernel may take a minute.

A bake compiles its kernels in the order in which it calls them. The second process begins with what solves contacts, and goes
on to what the bake may call later, as for the first step that is missed: kernels that it has put into the cache are loaded from
there.
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

from .process import start
from .stock import Stock

__all__ = ["Compiling", "Count", "Watch"]

SECONDS_BETWEEN_REPORTS = 1.0
FEW_KERNELS = 10  # kernels: the pace of fewer says nothing, for some take a minute and most a moment
COMPILE, LOCK = "numba:compile", "numba:compiler_lock"


@dataclass(frozen=True)
class Count:
    """Kernels on disk. No named tuple, for a new one of those has all kernels compiled anew (`kernel_cache.argument_types`).

    kernels: how many came since the watch began. there: how many there are. whole: how many the sources define, more than one
    bake calls. left: s that the others would take at the pace so far, None before ten were compiled.
    """

    kernels: int
    there: int
    whole: int
    left: float | None


class Compiling(event.Listener, AbstractContextManager):
    """While it is entered, knows whether this process compiles a kernel, in any of its threads."""

    def __init__(self) -> None:
        self._compiles = 0

    def __enter__(self) -> Compiling:
        event.register(COMPILE, self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        event.unregister(COMPILE, self)

    @property
    def now(self) -> bool:
        """Whether a kernel is being compiled."""
        return self._compiles > 0

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002, numba's
        """A kernel begins to be compiled."""
        self._compiles += 1

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002, numba's
        """A kernel is there."""
        self._compiles -= 1


class Watch(event.Listener, AbstractContextManager):
    """While it is entered, tells the count about once a second as long as this process compiles kernels or waits for them."""

    def __init__(self, folder: Path, tell: Callable[[Count], bool]):
        """Watch a folder of kernels. tell: is called on another thread, and returns False to be called no more."""
        self._folder, self._tell = folder, tell
        self._stock = Stock(folder)
        # how many times the compiler's lock is held or waited for; numba takes it for each kernel, also to load one
        self._depth, self._compiles, self._has_compiled = 0, 0, False
        self._is_over = threading.Event()
        self._helper: subprocess.Popen | None = None

    def __enter__(self) -> Watch:
        for kind in (COMPILE, LOCK):
            event.register(kind, self)
        threading.Thread(target=self._count, name="kernels", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._is_over.set()
        for registered in (COMPILE, LOCK):
            event.unregister(registered, self)
        if self._helper is not None and self._helper.stdin is not None:
            # it ends when its standard input does; what it has compiled stays
            self._helper.stdin.close()

    def on_start(self, event: event.Event) -> None:
        """A kernel begins to be looked for or compiled; with the first one that is compiled the second process begins."""
        if event.kind == LOCK:
            self._depth += 1
            return
        self._compiles += 1
        if not self._has_compiled:
            self._has_compiled = True
            if (os.cpu_count() or 1) > 1:
                self._helper = start(self._folder, "--processes", "1", "--background", stderr=subprocess.DEVNULL)

    def on_end(self, event: event.Event) -> None:
        """A kernel is there."""
        if event.kind == LOCK:
            self._depth -= 1
        else:
            self._compiles -= 1

    def _count(self) -> None:
        """Tell the count, again and again."""
        begin, first = time.monotonic(), None
        while not self._is_over.wait(SECONDS_BETWEEN_REPORTS):
            if self._depth == 0:
                continue
            there, whole = self._stock.there, self._stock.whole
            if first is None:
                begin, first = time.monotonic(), there
            made, elapsed = there - first, time.monotonic() - begin
            # where nothing comes, it may be a kernel that is loaded
            if made > 0 or self._compiles > 0:
                left = (whole - there) * elapsed / made if made >= FEW_KERNELS else None
                if not self._tell(Count(made, there, whole, left)):
                    return
