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
from ...solver_core.scene.words import duration
from ..bake.job import Event, WorkerEnded
from ..bake.process import Events, MadeOf, Process
from ..bake.worker import program, worker_environment

__all__ = ["MODULE", "TAKES", "SweepProcess", "handed_over"]

MODULE = "solver_core.sweep"
TAKES = "--take-snapshot"
# s by the clock. A sweep says how far it is at least every 20 s once its bakes have begun.
LONGEST_SILENCE = 900.0


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
        """What has happened since the last call; wait: for everything until the end. A sweep that is silent for LONGEST_SILENCE
        is ended, and says so."""
        while True:
            try:
                event = self._events.get(block=wait, timeout=LONGEST_SILENCE)
            except Empty:
                if not wait:
                    return
                self._process.kill()
                self._temporary.close()
                message = (
                    f"the sweep said nothing for {duration(LONGEST_SILENCE)} and was ended; run it again with the same folder, "
                    "and it goes on after the frames so far"
                )
                yield WorkerEnded(1, message)
                return
            if isinstance(event, WorkerEnded):
                self._temporary.close()
                wait = False
            yield event

    def stop(self) -> None:
        """Ask for the end, which comes within seconds; the same sweep goes on after the frames so far."""
        self._process.close()
