# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes that bake the variations of a sweep: `warm_worker` processes, which end with the process that started them.

Each bake has its own process, because a process that runs out of memory must not take others with it, and because a worker of a
cluster must answer its scheduler while kernels are compiled.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from ..bake.events import event_in
from ..process.children import SECONDS_TO_CLOSE, await_end
from ..process.command_line import ExitStatus
from ..process.ending import GRACE_SECONDS, STOPPED, WRITING_SECONDS
from ..process.numeric_libraries import with_fixed_kernels

__all__ = ["Baker", "Bakers"]

PACKAGES = Path(__file__).resolve().parents[2]
LINES_OF_TROUBLE = 20
WORKER = "solver_core.warm_worker"
# A worker ends within its grace period and the time to write a record (`process/ending.py`). The rest is for a busy machine.
# After that, the worker is killed.
SECONDS_FOR_ITS_END = GRACE_SECONDS + WRITING_SECONDS + 1.0


class Baker:
    """One process that bakes variations in sequence."""

    def __init__(self) -> None:
        # The process ignores Ctrl+C. The sweep handles it and requests the end through the pipe.
        alone: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            alone = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        folders = [str(PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**with_fixed_kernels(os.environ), "PYTHONPATH": os.pathsep.join(folders), "PYTHONIOENCODING": "utf-8"}
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = [sys.executable, "-s", "-P", "-m", WORKER]
        self._process = subprocess.Popen(command, **pipes, **alone, env=environment, text=True, encoding="utf-8")
        self._trouble: deque[str] = deque(maxlen=LINES_OF_TROUBLE)
        self._has_spoken = False
        assert self._process.stderr is not None
        threading.Thread(target=self._collect, args=(self._process.stderr,), daemon=True).start()

    @property
    def is_alive(self) -> bool:
        """True if the process can bake another variation."""
        return self._process.poll() is None

    @property
    def trouble(self) -> str:
        """The end of its error output."""
        return "\n".join(self._trouble)

    def bake(self, arguments: Sequence[str], on_record: Callable[[Mapping[str, Any]], None]) -> int:
        """Bake with arguments of `worker`, and call `on_record` with each event.

        Returns the exit status, or the negative number of the signal that ended the process.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        # A process that has just ended, or was stopped by another thread, reports it by its status.
        with suppress(OSError, ValueError):
            self._process.stdin.write(json.dumps(list(arguments)) + "\n")
            self._process.stdin.flush()
        for line in self._process.stdout:
            self._has_spoken = True
            record = event_in(line)
            if record is None:
                self._trouble.append(line.rstrip())
                continue
            if record["event"] == "ended":
                return int(record["status"])
            on_record(record)
        return await_end(self._process, SECONDS_TO_CLOSE)

    def ask_to_end(self) -> None:
        """Request the end of the process, which keeps the finished frames.

        A process without any output yet has no frames and is killed, because it may be loading libraries and would not respond
        for long.
        """
        assert self._process.stdin is not None
        if not self._has_spoken:
            self._process.kill()
        with suppress(OSError):
            self._process.stdin.close()

    def wait(self, until: float) -> None:
        """Wait until it has ended, and kill it at the time `until` of the monotonic clock."""
        await_end(self._process, max(until - time.monotonic(), 0.0))

    def _collect(self, pipe: IO[str]) -> None:
        self._trouble.extend(line.rstrip() for line in pipe)


class Bakers:
    """The processes for bakes that run at the same time. Any thread may request a bake."""

    def __init__(self) -> None:
        self._all: list[Baker] = []
        self._idle: list[Baker] = []
        self._lock = threading.Lock()
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """True if the processes were ended."""
        return self._is_over

    def end(self) -> None:
        """End all processes within `SECONDS_FOR_ITS_END`, keep their finished frames, and accept no more bakes."""
        with self._lock:
            self._is_over = True
            bakers = list(self._all)
        for baker in bakers:
            baker.ask_to_end()
        until = time.monotonic() + SECONDS_FOR_ITS_END
        for baker in bakers:
            baker.wait(until)

    def bake(self, arguments: Sequence[str], on_record: Callable[[Mapping[str, Any]], None]) -> tuple[int, str]:
        """Bake in a process that is idle, or in a new one; returns its status and the end of its error output."""
        with self._lock:
            if self._is_over:
                return ExitStatus.FAILED, STOPPED
            baker = next((one for one in self._idle if one.is_alive), None) or Baker()
            self._idle = [one for one in self._idle if one is not baker and one.is_alive]
            self._all = [*(one for one in self._all if one.is_alive and one is not baker), baker]
        status = baker.bake(arguments, on_record)
        with self._lock:
            if baker.is_alive:
                self._idle.append(baker)
        return status, baker.trouble
