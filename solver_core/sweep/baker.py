# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes in which a worker of the cluster bakes: `warm_worker`s, which end with it, however it ends.

Not in the cluster's own process: that has to answer its scheduler while kernels are compiled, and a bake that dies of its
memory must not take the others with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from distributed import WorkerPlugin

from ..process.numeric_libraries import with_fixed_kernels

__all__ = ["PLUGIN", "Baker", "Bakers"]

PLUGIN = "stiction-bakers"
PACKAGES = Path(__file__).resolve().parents[2]
LINES_OF_TROUBLE = 20
# Longer than a worker takes to end.
SECONDS_FOR_ITS_END = 8.0


class Baker:
    """One such process, which bakes one thing after another."""

    def __init__(self) -> None:
        # nobody's Ctrl+C but the sweep's own, which asks for the end through the pipe
        alone: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            alone = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        folders = [str(PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**with_fixed_kernels(os.environ), "PYTHONPATH": os.pathsep.join(folders), "PYTHONIOENCODING": "utf-8"}
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = [sys.executable, "-s", "-P", "-m", "solver_core.warm_worker"]
        self._process = subprocess.Popen(command, **pipes, **alone, env=environment, text=True, encoding="utf-8")
        self._trouble: deque[str] = deque(maxlen=LINES_OF_TROUBLE)
        assert self._process.stderr is not None
        threading.Thread(target=self._collect, args=(self._process.stderr,), daemon=True).start()

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked for another bake."""
        return self._process.poll() is None

    @property
    def trouble(self) -> str:
        """The end of what it wrote to its error output."""
        return "\n".join(self._trouble)

    def bake(self, arguments: Sequence[str], heard: Callable[[Mapping[str, Any]], None]) -> int:
        """Bake as the arguments of `worker` say, and call `heard` with each event; returns the exit status, a negative one for
        the signal that ended the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        # one that has just ended says so by its status
        with suppress(OSError):
            self._process.stdin.write(json.dumps(list(arguments)) + "\n")
            self._process.stdin.flush()
        for line in self._process.stdout:
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                self._trouble.append(line.rstrip())
                continue
            if record.get("event") == "ended":
                return int(record["status"])
            heard(record)
        return self._process.wait()

    def ask_to_end(self) -> None:
        """Ask it to end, which keeps the frames so far."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def wait(self) -> None:
        """Wait until it has ended."""
        try:
            self._process.wait(SECONDS_FOR_ITS_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _collect(self, pipe: IO[str]) -> None:
        self._trouble.extend(line.rstrip() for line in pipe)


class Bakers(WorkerPlugin):
    """Those of one worker of the cluster: as many as it bakes at once. Installed in it for as long as the sweep lasts."""

    name = PLUGIN

    def setup(self, worker: Any) -> None:
        """Called by the cluster in the worker."""
        self._all: list[Baker] = []
        self._idle: deque[Baker] = deque()

    def teardown(self, worker: Any) -> None:
        """Called when the worker, or the sweep, ends."""
        for baker in self._all:
            baker.ask_to_end()
        for baker in self._all:
            baker.wait()

    def bake(self, arguments: Sequence[str], heard: Callable[[Mapping[str, Any]], None]) -> tuple[int, str]:
        """Bake in a process that is idle, or in a new one; returns its status and the end of its error output."""
        baker = None
        with suppress(IndexError):
            while baker is None or not baker.is_alive:
                baker = self._idle.popleft()
        if baker is None or not baker.is_alive:
            baker = Baker()
            self._all = [*(one for one in self._all if one.is_alive), baker]
        status = baker.bake(arguments, heard)
        if baker.is_alive:
            self._idle.append(baker)
        return status, baker.trouble
