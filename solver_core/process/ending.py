# SPDX-License-Identifier: GPL-3.0-or-later
"""Early shutdown of a worker: between two time steps, or forced if a step takes too long.

Threads listen for signals and for the end of the parent process. Python itself calls signal handlers between two of its own
instructions, which may be minutes apart while a kernel runs or is compiled. Kernels run without Python's global lock, so
threads do not wait for them.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Protocol

__all__ = [
    "PARENT_GONE",
    "SECONDS_TO_STAY",
    "STOPPED",
    "Ending",
    "StopAsked",
    "end_by_force",
    "hear_parent",
    "hear_signals",
    "lines_heard",
    "obey",
]

# From a stop request to the forced exit: longer than a usual step, and short enough for a user who waits.
GRACE_SECONDS = 3.0
# Time limit for a record that is being written, and for the last message, because a disk or a reader may not respond.
WRITING_SECONDS = 1.0
SECONDS_BETWEEN_LOOKS = 0.25
# Idle time of a process without a bake: longer than a user looks at one bake before the next. After that its memory is freed.
SECONDS_TO_STAY = 600.0
PARENT_GONE = "the process that started it has ended, or wants it to end"
STOPPED = "the process that started it wants it to end"


class StopAsked(Exception):
    """The bake has to stop here. The message says who requested it."""


class Askable(Protocol):
    """The receiver of stop requests."""

    def ask(self, reason: str) -> None:
        """Ask for the end; `reason` says who does."""

    def hasten(self) -> None:
        """Do not wait for the step that is in work."""


class Ending:
    """A request that a bake stops early, or pauses.

    `ask`, `pause` and `go_on` may be called on any thread; `check` and `writing` belong to the thread that bakes.

    writing: a lock, held while a file is written, so that a forced exit does not interrupt it. last_words: called before a
    forced exit.
    """

    def __init__(self) -> None:
        self.writing = threading.Lock()
        self.last_words: Callable[[], object] = lambda: None
        self.reason = ""
        self._asked = threading.Event()
        self._at_once = threading.Event()
        self._going = threading.Event()
        self._going.set()
        self._done = False

    def ask(self, reason: str) -> None:
        """Ask for the end; `reason` says who does."""
        if not self._asked.is_set():
            self.reason = reason
            self._asked.set()
            self._going.set()

    def hasten(self) -> None:
        """Do not wait for the step that is in work."""
        self._at_once.set()

    def pause(self) -> None:
        """Pause the bake before its next time step."""
        if not self._asked.is_set():
            self._going.clear()

    def go_on(self) -> None:
        """Continue a paused bake."""
        self._going.set()

    @property
    def pauses(self) -> bool:
        """Return whether `check` would wait."""
        return not self._going.is_set()

    def check(self) -> None:
        """Wait while the bake is paused, and raise StopAsked if a stop is requested."""
        self._going.wait()
        if self._asked.is_set():
            raise StopAsked(self.reason)

    def done(self) -> None:
        """Mark the bake as finished, so that no forced exit follows, and release all waiting threads."""
        with self.writing:
            self._done = True
        self._at_once.set()
        self._asked.set()

    def wait(self) -> bool:
        """Wait for a request, and then for the end of the bake within its deadline. Returns whether the bake has ended."""
        self._asked.wait()
        self._at_once.wait(GRACE_SECONDS)
        self.writing.acquire(timeout=WRITING_SECONDS)
        return self._done


def end_by_force(ending: Ending, status: int) -> None:
    """Exit this process with `status` if a requested stop does not happen in time."""

    def force() -> None:
        if ending.wait():
            ending.writing.release()
            return
        words = threading.Thread(target=ending.last_words, daemon=True)
        words.start()
        words.join(WRITING_SECONDS)
        os._exit(status)

    threading.Thread(target=force, name="end by force", daemon=True).start()


def hear_signals(ending: Askable) -> None:
    """Install handlers: the first termination signal requests a stop, a second one forces it. Call on the main thread.

    No exception is raised, unlike Python's handler for Ctrl+C. It could occur anywhere, also in a callback of the compiler,
    which would convert it to another exception or drop it.
    """
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    # Written to by Python's handler in C, at once and whatever runs; sockets, which do not block, there are on all systems.
    signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    for name in ("SIGINT", "SIGTERM", "SIGBREAK", "SIGHUP"):
        number = getattr(signal, name, None)
        # nohup has SIGHUP ignored from the start
        if number is not None and not (name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN):
            signal.signal(number, lambda _number, _frame: None)

    def listen() -> None:
        with theirs:  # which has to stay open
            heard = 0
            while data := ours.recv(1):
                heard += 1
                ending.ask(signal.Signals(data[0]).name)
                if heard > 1:
                    ending.hasten()

    threading.Thread(target=listen, name="signals", daemon=True).start()


def hear_parent(ending: Ending) -> None:
    """Request a stop at the end of standard input, and handle the commands of `obey`.

    Standard input is a pipe that the parent process holds open. It closes if the parent ends for any reason.
    """

    def listen() -> None:
        for line in lines_heard():
            obey(line, ending)
        ending.ask(PARENT_GONE)

    threading.Thread(target=listen, name="parent", daemon=True).start()


def obey(line: bytes, ending: Ending) -> bool:
    """Handle a line that is "pause", "continue" or "stop". Returns whether it is one of them."""
    match line.strip():
        case b"pause":
            ending.pause()
        case b"continue":
            ending.go_on()
        case b"stop":
            ending.ask(STOPPED)
        case _:
            return False
    return True


def lines_heard() -> Iterator[bytes]:
    """Yield the lines of standard input, each as soon as it is complete."""
    rest = b""
    for data in read_on_windows() if sys.platform == "win32" else read_input():
        *lines, rest = (rest + data).split(b"\n")
        yield from lines


def read_input() -> Iterator[bytes]:
    """Yield the data of standard input until it ends."""
    try:
        while data := os.read(0, 4096):
            yield data
    except OSError:
        return  # what cannot be read has ended


def read_on_windows() -> Iterator[bytes]:
    """Yield the data of standard input on Windows, by polling.

    While a thread waits for standard input, Windows blocks every library that accesses it during loading, as numpy's does
    (numpy issue 24290).
    """
    import _winapi
    import msvcrt

    try:
        handle = msvcrt.get_osfhandle(0)
        while True:
            available = int(_winapi.PeekNamedPipe(handle, 0)[0])
            if available:
                yield os.read(0, available)
            else:
                time.sleep(SECONDS_BETWEEN_LOOKS)
    except OSError:
        return  # a broken pipe
