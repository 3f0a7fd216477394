# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages on standard error while kernels are compiled, when a program would otherwise wait without explanation.

The first `sc.solve` on a machine compiles for some time. Bakes report their progress by events (`watch.py`) instead.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from functools import cache

from numba.core import event

from .folders import folder_of_kernels

__all__ = ["Announcer", "announcer"]

QUIET_SECONDS = 2.0
SECONDS_BETWEEN_SENTENCES = 10.0
SECONDS_BETWEEN_GLANCES = 0.1
IDLE_SECONDS = 2.0  # time without compilation after which the watch ends
COMPILE_EVENT = "numba:compile"


class Announcer(event.Listener):
    """Counts the kernels that this process compiles. Writes a line after two seconds and then every ten seconds.

    is_quiet: True if the process reports its progress in another way; then nothing is written.
    """

    def __init__(self) -> None:
        self.is_quiet = False
        # No lock is needed: numba holds its compiler lock while it calls `on_start` and `on_end`.
        self._depth, self._count, self._is_watched = 0, 0, False

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002, numba's
        """Handle the start of a compilation."""
        self._depth += 1
        if not self._is_watched and not self.is_quiet:
            self._is_watched, self._count = True, 0
            threading.Thread(target=self._watch, name="kernels", daemon=True).start()

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002, numba's
        """Handle the end of a compilation."""
        self._depth -= 1
        self._count += 1

    def _watch(self) -> None:
        """Write lines until no kernel has been compiled for some time."""
        begin = busy = time.monotonic()
        next_line = begin + QUIET_SECONDS
        while (now := time.monotonic()) - busy < IDLE_SECONDS:
            if self._depth > 0:
                busy = now
                if now >= next_line:
                    next_line = now + SECONDS_BETWEEN_SENTENCES
                    say(f"compiling kernels, once on this machine: {self._count} so far, {now - begin:.0f} s")
            time.sleep(SECONDS_BETWEEN_GLANCES)
        if busy >= begin + QUIET_SECONDS:
            say(f"{self._count} kernels compiled in {busy - begin:.0f} s, kept in {folder_of_kernels()}")
        self._is_watched = False


def say(line: str) -> None:
    """Write a line to standard error, which may be closed."""
    with suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(f"solver_core: {line}\n")
        sys.stderr.flush()


@cache
def announcer() -> Announcer:
    """Return the announcer of this process, which listens from the first call on."""
    listener = Announcer()
    event.register(COMPILE_EVENT, listener)
    return listener
