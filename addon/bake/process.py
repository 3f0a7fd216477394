# SPDX-License-Identifier: GPL-3.0-or-later
"""Worker processes, and the process that the last bake leaves for the next one. Does not depend on scenes or Blender."""

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

__all__ = ["Events", "Idle", "Process", "ProcessInputs", "stamps"]

LAST_LINES = 20
# s; more than the worker's own grace period, only for a process that hangs.
SECONDS_TO_END = 8.0
# s; wait for the rest of its error output after its end
SECONDS_FOR_LAST_WORDS = 5.0
# s; an idle process is not used if it would exit within this time, because it might exit at that moment
SECONDS_BEFORE_ITS_END = 60.0


class ProcessInputs(NamedTuple):
    """The inputs of a process. A process with other inputs than a new one would have is not used for another bake.

    command: the program and its arguments.
    environment: all environment variables.
    files: path, modification time and size of the loaded files.
    doubt: why its folder of kernels is not trusted.
    """

    command: tuple[str, ...]
    environment: dict[str, str]
    files: tuple[tuple[str, int, int], ...] = ()
    doubt: str | None = None


Events = queue.SimpleQueue[Event]


class Process:
    """A running worker. It puts the events of each bake into a queue of that bake in order, the end of the bake last.

    The process ends at the end of its standard input, whose other end only this object holds: at `close`, and when this process
    ends for any reason. Lines written there start, pause, continue and stop bakes.
    """

    def __init__(self, inputs: ProcessInputs, events: Events, arguments: Sequence[str] = (), idle: Idle | None = None):
        """Start a process on a bake. Raises OSError.

        events: queue for the events of the bake. arguments: of the bake, if the command does not contain them. idle: keeps the
        process for the next bake; None if it ends with its bake.
        """
        self._inputs, self._idle = inputs, idle
        # Queue of the present bake, None between bakes. A request with the queue of an earlier bake is ignored.
        self._events: Events | None = events
        self._lock = threading.Lock()
        self._idle_since = monotonic()
        self._other_output: deque[str] = deque(maxlen=LAST_LINES)
        self._process = subprocess.Popen(
            inputs.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=inputs.environment,
            encoding="utf-8",
            errors="replace",
            creationflags=subprocess.CREATE_NO_WINDOW if sys.platform == "win32" else 0,
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        self._errors = threading.Thread(target=self._collect_errors, args=(self._process.stderr,), daemon=True)
        self._errors.start()
        # The threads only move lines from a pipe to a queue. All access to Blender happens on the main thread.
        threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True).start()
        if arguments:
            # If it has already ended, that is the end of the bake.
            with suppress(OSError):
                self._write(json.dumps(arguments))

    def is_fit(self, inputs: ProcessInputs) -> bool:
        """Return True if it can be used for a bake for which a new process would have these inputs."""
        stays = monotonic() - self._idle_since < SECONDS_TO_STAY - SECONDS_BEFORE_ITS_END
        return stays and inputs == self._inputs and self._process.poll() is None

    def bake(self, arguments: Sequence[str], events: Events) -> None:
        """Request another bake, with its events in `events`. Raises OSError if the process has ended, without an event."""
        with self._lock:
            self._other_output.clear()
            self._write(json.dumps(arguments))
            self._events = events

    def pause(self, events: Events, pause: bool) -> None:
        """Request a pause before the next step of this bake, or its end."""
        self.say(events, "pause" if pause else "continue")

    def say(self, events: Events, line: str) -> None:
        """Write a line to it, if it is still at this bake."""
        with self._lock, suppress(OSError, ValueError):
            if self._events is events:
                self._write(line)

    def stop(self, events: Events) -> None:
        """Request the end of this bake, which takes seconds. The finished frames remain readable."""
        with self._lock, suppress(OSError, ValueError):
            if self._events is events:
                self._write("stop")
        later(partial(self._kill, events))

    def close(self) -> None:
        """Request the end of the process, which takes seconds."""
        assert self._process.stdin is not None
        with self._lock, suppress(OSError):
            self._process.stdin.close()
        later(self._process.kill)

    def kill(self) -> None:
        """Kill the process, which loses nothing between two bakes, and wait for its end."""
        kill_child(self._process)

    def wait(self) -> None:
        """Wait until it has ended, after `close`; it is killed if it does not."""
        await_end(self._process, SECONDS_TO_END)

    def _kill(self, events: Events) -> None:
        with self._lock:
            if self._events is events:
                self._process.kill()

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _collect_errors(self, pipe: IO[str]) -> None:
        """Keep the last lines of the error output. It runs in a thread."""
        self._other_output.extend(line.rstrip() for line in pipe)

    def _listen(self, pipe: IO[str]) -> None:
        """Move the events of the process to the queue of the bake, until the process ends. It runs in a thread."""
        for line in pipe:
            record = event_in(line)
            if record is None:
                # Output of a library, not an event. It is kept for error messages.
                self._other_output.append(line.rstrip())
                continue
            if record["event"] == "ended":
                self._announce_end(WorkerEnded(record["status"]), is_idle=True)
                continue
            with self._lock:
                if self._events is not None:
                    self._events.put(WorkerMessage(record))
        status = await_end(self._process, SECONDS_TO_CLOSE)
        # A child process may hold the pipe open.
        self._errors.join(SECONDS_FOR_LAST_WORDS)
        self._announce_end(WorkerEnded(status, "\n".join(self._other_output)))

    def _announce_end(self, end: WorkerEnded, *, is_idle: bool = False) -> None:
        """Put the end of a bake into its queue. is_idle: the process waits for the next bake."""
        with self._lock:
            events, self._events, self._idle_since = self._events, None, monotonic()
        # Before the end is announced, so that the next bake can be requested.
        if is_idle and self._idle is not None:
            self._idle.keep(self)
        if events is not None:
            events.put(end)


def later(kill: Callable[[], None]) -> None:
    """Call `kill` after SECONDS_TO_END, unless this process ends before."""
    deadline = threading.Timer(SECONDS_TO_END, kill)
    deadline.daemon = True
    deadline.start()


class Idle:
    """The processes of one Blender that wait for their next bake; usually one."""

    def __init__(self) -> None:
        self._processes: queue.SimpleQueue[Process] = queue.SimpleQueue()
        self._is_over = False

    def keep(self, process: Process) -> None:
        """Keep a process that has just ended its bake; called on the thread that listens to it."""
        self._processes.put(process)
        if self._is_over:
            self.end()

    def take(self, inputs: ProcessInputs, arguments: Sequence[str], events: Events) -> Process | None:
        """Return a process that was asked for a bake. Processes that can no longer be used are ended."""
        while True:
            try:
                process = self._processes.get_nowait()
            except queue.Empty:
                return None
            if process.is_fit(inputs):
                with suppress(OSError):
                    process.bake(arguments, events)
                    return process
            process.close()

    def end(self) -> None:
        """End all processes and keep none from now on.

        This waits for their end, because Windows does not remove loaded libraries.
        """
        self._is_over = True
        with suppress(queue.Empty):
            while True:
                self._processes.get_nowait().kill()


def stamps(files: Sequence[Path]) -> tuple[tuple[str, int, int], ...]:
    """Return values that change when a file is replaced: path, modification time in ns and size of each existing file."""
    found = []
    for file in sorted(files):
        with suppress(OSError):
            status = os.stat(file)
            found.append((str(file), status.st_mtime_ns, status.st_size))
    return tuple(found)
