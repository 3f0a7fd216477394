# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep in a process beside Blender, the one of `stiction sweep`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import mkstemp

from ...solver_core.io.snapshot import write_snapshot
from ...solver_core.scene.spec import SceneSpec, SolverSettings
from ..bake.job import Event, WorkerEnded
from ..bake.process import Events, MadeOf, Process
from ..bake.worker import program, worker_environment

__all__ = ["MODULE", "TAKES", "SweepProcess", "handed_over"]

MODULE = "solver_core.sweep"
TAKES = "--take-snapshot"


@contextmanager
def handed_over(spec: SceneSpec, settings: SolverSettings) -> Iterator[str]:
    """A snapshot in a temporary file, for a process with the option TAKES.

    That process removes the file once it has read it, so that nothing is left of a sweep that is killed. The end of the block
    removes it where no process has read it. Raises OSError.
    """
    handle, name = mkstemp(prefix="stiction-", suffix=".snapshot")
    os.close(handle)
    file = Path(name)
    try:
        write_snapshot(file, spec, settings)
        yield name
    finally:
        file.unlink(missing_ok=True)


class SweepProcess:
    """A sweep that runs, and ends with this process; what it says arrives as events, its end as the last."""

    def __init__(self, spec: SceneSpec, settings: SolverSettings, folder: Path, arguments: Sequence[str]):
        """folder: for bakes and sheet; arguments: as `python -m solver_core.sweep` has them. Raises WorkerError and OSError."""
        self._temporary = ExitStack()
        snapshot = self._temporary.enter_context(handed_over(spec, settings))
        command = program(MODULE, snapshot, str(folder), *arguments, TAKES, "--parent-pipe", "--events")
        self._events: Events = SimpleQueue()
        self._process = Process(MadeOf(command, worker_environment()), self._events)

    def new_events(self, wait: bool = False) -> Iterator[Event]:
        """What has happened since the last call; wait: for everything until the end."""
        while True:
            try:
                event = self._events.get(block=wait)
            except Empty:
                return
            if isinstance(event, WorkerEnded):
                self._temporary.close()
                wait = False
            yield event

    def stop(self) -> None:
        """Ask for the end, which comes within seconds; the same sweep goes on after the frames so far."""
        self._process.close()
