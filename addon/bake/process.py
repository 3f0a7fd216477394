# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of workers, and the one that the last bake left for the next. Knows nothing of scenes, and nothing of Blender."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import IO, NamedTuple

from ...solver_core.bake.events import event_in
from ...solver_core.process.children import SECONDS_TO_CLOSE, await_end, kill_child
from ...solver_core.process.ending import SECONDS_TO_STAY
from .job import Event, WorkerEnded, WorkerMessage

__all__ = ["Events", "Idle", "MadeOf", "Process", "stamps"]

LAST_LINES = 20
# More than the worker itself gives a step before it ends by force: only for one that hangs altogether.
SECONDS_TO_END = 8.0
# For the rest of its error output, after its end.
SECONDS_FOR_LAST_WORDS = 5.0
# So long before an idle process ends by itself it is asked for nothing any more: it might end at that moment.
SECONDS_BEFORE_ITS_END = 60.0


class MadeOf(NamedTuple):
    """What a process was made of. One that would be made of something else today is not asked for another bake.

    command: the program and its arguments. environment: all of it. files: path, time of change and size of what it loads.
    doubt: why its folder of kernels is not to be trusted.
    """

    command: tuple[str, ...]
    environment: dict[str, str]
    files: tuple[tuple[str, int, int], ...] = ()
    doubt: str | None = None


Events = queue.SimpleQueue[Event]


class Process:
    """A running worker, which puts the events of each bake in order into a queue of that bake, the end of the bake as the last.

    It ends when its standard input does, the other end of which only this object holds: at `close`, and when this process ends
    in whatever way. What is written there says what to bake, and lets it pause, go on and stop.
    """

    def __init__(self, made_of: MadeOf, events: Events, arguments: Sequence[str] = (), idle: Idle | None = None):
        """Start it on a bake, whose events it puts into `events`. Raises OSError.

        arguments: of the bake, where the command does not have them. idle: what keeps it between two bakes, None for one only.
        """
        self._made_of, self._idle = made_of, idle
        # of the bake that it is at, None between two: who speaks to another one is late, and not heard
        self._at: Events | None = events
        self._lock = threading.Lock()
        self._idle_since = monotonic()
        self._trouble: deque[str] = deque(maxlen=LAST_LINES)
        self._process = subprocess.Popen(
            made_of.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=made_of.environment,
            encoding="utf-8",
            errors="replace",
            creationflags=subprocess.CREATE_NO_WINDOW if sys.platform == "win32" else 0,
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        self._errors = threading.Thread(target=self._collect, args=(self._process.stderr,), daemon=True)
        self._errors.start()
        # The threads only move lines from a pipe to a queue; everything that touches Blender happens on the main thread.
        threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True).start()
        if arguments:
            # where it has ended already, that is the end of the bake
            with suppress(OSError):
                self._write(json.dumps(arguments))

    def is_fit(self, made_of: MadeOf) -> bool:
        """Whether it may be asked for a bake for which a new process would be made of this."""
        stays = monotonic() - self._idle_since < SECONDS_TO_STAY - SECONDS_BEFORE_ITS_END
        return stays and made_of == self._made_of and self._process.poll() is None

    def bake(self, arguments: Sequence[str], events: Events) -> None:
        """Ask for another bake, with its events into `events`; raises OSError where the process is gone, with no event."""
        with self._lock:
            self._trouble.clear()
            self._write(json.dumps(arguments))
            self._at = events

    def pause(self, events: Events, pause: bool) -> None:
        """Ask it to wait before the next step of this bake, or to go on."""
        self.say(events, "pause" if pause else "continue")

    def say(self, events: Events, line: str) -> None:
        """Write a line to it, if it is still at this bake."""
        with self._lock, suppress(OSError, ValueError):
            if self._at is events:
                self._write(line)

    def stop(self, events: Events) -> None:
        """Ask it to end this bake, which it does within seconds; the frames written so far stay readable."""
        with self._lock, suppress(OSError, ValueError):
            if self._at is events:
                self._write("stop")
        later(partial(self._kill, events))

    def close(self) -> None:
        """Ask it to end, which it does within seconds."""
        assert self._process.stdin is not None
        with self._lock, suppress(OSError):
            self._process.stdin.close()
        later(self._process.kill)

    def kill(self) -> None:
        """End it at once, which loses nothing between two bakes, and wait until it is gone."""
        kill_child(self._process)

    def wait(self) -> None:
        """Wait until it has ended, after `close`; it is killed if it does not."""
        await_end(self._process, SECONDS_TO_END)

    def _kill(self, events: Events) -> None:
        with self._lock:
            if self._at is events:
                self._process.kill()

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _collect(self, pipe: IO[str]) -> None:
        self._trouble.extend(line.rstrip() for line in pipe)

    def _listen(self, pipe: IO[str]) -> None:
        for line in pipe:
            record = event_in(line)
            if record is None:
                # A library that prints to standard output; worth keeping in case of trouble, and no event.
                self._trouble.append(line.rstrip())
                continue
            if record["event"] == "ended":
                self._tell_end(WorkerEnded(record["status"]), is_idle=True)
                continue
            with self._lock:
                if self._at is not None:
                    self._at.put(WorkerMessage(record))
        status = await_end(self._process, SECONDS_TO_CLOSE)
        # a process below it may hold the pipe open
        self._errors.join(SECONDS_FOR_LAST_WORDS)
        self._tell_end(WorkerEnded(status, "\n".join(self._trouble)))

    def _tell_end(self, end: WorkerEnded, *, is_idle: bool = False) -> None:
        with self._lock:
            events, self._at, self._idle_since = self._at, None, monotonic()
        # before anybody hears of the end, and asks for the next bake
        if is_idle and self._idle is not None:
            self._idle.keep(self)
        if events is not None:
            events.put(end)


def later(kill: Callable[[], None]) -> None:
    """Kill what has not ended in time."""
    deadline = threading.Timer(SECONDS_TO_END, kill)
    deadline.daemon = True
    deadline.start()


class Idle:
    """The processes of one Blender that wait for their next bake; one, unless several bakes ran at once."""

    def __init__(self) -> None:
        self._processes: queue.SimpleQueue[Process] = queue.SimpleQueue()
        self._is_over = False

    def keep(self, process: Process) -> None:
        """Have a process that has just ended its bake; called on the thread that listens to it."""
        self._processes.put(process)
        if self._is_over:
            self.end()

    def asked(self, made_of: MadeOf, arguments: Sequence[str], events: Events) -> Process | None:
        """One that has been asked for a bake; those that are not fit for it any more end."""
        while True:
            try:
                process = self._processes.get_nowait()
            except queue.Empty:
                return None
            if process.is_fit(made_of):
                with suppress(OSError):
                    process.bake(arguments, events)
                    return process
            process.close()

    def end(self) -> None:
        """End all of them, and keep none from now on. They are gone then: Windows removes no library that one has loaded."""
        self._is_over = True
        with suppress(queue.Empty):
            while True:
                self._processes.get_nowait().kill()


def stamps(files: Sequence[Path]) -> tuple[tuple[str, int, int], ...]:
    """What changes when a file is another one than before: path, time of change in ns and size of each that there is."""
    found = []
    for file in sorted(files):
        with suppress(OSError):
            status = os.stat(file)
            found.append((str(file), status.st_mtime_ns, status.st_size))
    return tuple(found)
