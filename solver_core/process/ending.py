# SPDX-License-Identifier: GPL-3.0-or-later
"""How a worker's process ends before its bake is done: between two time steps, or by force where a step takes too long.

Signals and the end of the process that started the bake are heard by threads. Python itself calls its handlers of signals
between two of its own instructions, which may be minutes apart while a kernel runs or is compiled; kernels run without Python's
lock, so threads do not wait for them.
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

# From the wish to the end by force: longer than usual steps take, short enough for whoever waits.
GRACE_SECONDS = 3.0
# For a record that is just being written, and for the last words; a disk or a reader that does not answer must not keep us.
WRITING_SECONDS = 1.0
SECONDS_BETWEEN_LOOKS = 0.25
# Of a process without a bake: longer than somebody looks at one before the next. Who has turned to something else gets the
# memory back.
SECONDS_TO_STAY = 600.0
PARENT_GONE = "the process that started it has ended, or wants it to end"
STOPPED = "the process that started it wants it to end"


class StopAsked(Exception):
    """The bake has to end here; says who asked for it."""


class Askable(Protocol):
    """What signals speak to."""

    def ask(self, reason: str) -> None:
        """Ask for the end; `reason` says who does."""

    def hasten(self) -> None:
        """Do not wait for the step that is in work."""


class Ending:
    """The wish that a bake ends early, or waits. `ask`, `pause` and `go_on` may be called on any thread, `check` and `writing`
    belong to the one that bakes.

    writing: held while a file is written, so that no force comes between. last_words: called before the process is ended by
    force.
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
        """Let the bake wait before its next time step."""
        if not self._asked.is_set():
            self._going.clear()

    def go_on(self) -> None:
        """Wait no more."""
        self._going.set()

    @property
    def pauses(self) -> bool:
        """Whether `check` would wait."""
        return not self._going.is_set()

    def check(self) -> None:
        """Wait as long as there is a pause, and raise StopAsked if the end was asked for."""
        self._going.wait()
        if self._asked.is_set():
            raise StopAsked(self.reason)

    def done(self) -> None:
        """The bake has ended by itself, and force has nothing to do any more: whoever waits goes."""
        with self.writing:
            self._done = True
        self._at_once.set()
        self._asked.set()

    def wait(self) -> bool:
        """Wait for the wish, and then until the bake should have ended; whether it has."""
        self._asked.wait()
        self._at_once.wait(GRACE_SECONDS)
        self.writing.acquire(timeout=WRITING_SECONDS)
        return self._done


def end_by_force(ending: Ending, status: int) -> None:
    """End this process with `status`, once the end was asked for and the bake has not come to it in time."""

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
    """Let signals that end processes ask for the end, and a second one not wait; to be called on the main thread.

    No exception is raised, as Python does for Ctrl+C: it would come up wherever the process happens to be, in a callback of the
    compiler as well, which turns it into another one or drops it.
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
    """Let the end of standard input ask for the end: a pipe whose other end whoever started the bake holds, and loses when it
    ends, in whatever way. What `obey` knows is done as well."""

    def listen() -> None:
        for line in lines_heard():
            obey(line, ending)
        ending.ask(PARENT_GONE)

    threading.Thread(target=listen, name="parent", daemon=True).start()


def obey(line: bytes, ending: Ending) -> bool:
    """Do what a line says that is "pause", "continue" or "stop"; whether it is one of them."""
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
    """The lines of standard input, each as soon as it is whole, until it ends."""
    rest = b""
    for data in read_on_windows() if sys.platform == "win32" else read_input():
        *lines, rest = (rest + data).split(b"\n")
        yield from lines


def read_input() -> Iterator[bytes]:
    """What is written to standard input, until it ends."""
    try:
        while data := os.read(0, 4096):
            yield data
    except OSError:
        return  # what cannot be read has ended


def read_on_windows() -> Iterator[bytes]:
    """The same by looking first: as long as a thread waits for standard input, Windows holds up every library that looks at it
    while it is loaded, as numpy's does (numpy issue 24290)."""
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
