# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep in a process beside Blender, the same as `stiction sweep`."""

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
from ..bake.process import Events, Process, ProcessInputs
from ..bake.worker import program, worker_environment

__all__ = ["MODULE", "TAKES", "SweepProcess", "handed_over"]

MODULE = "solver_core.sweep"
TAKES = "--take-snapshot"
# s; wall time. After its bakes have started, a sweep reports its progress at least every 20 s.
LONGEST_SILENCE = 900.0


@contextmanager
def handed_over(spec: SceneSpec, settings: SolverSettings) -> Iterator[str]:
    """Context with a snapshot in a temporary file, for a process with the option TAKES.

    That process removes the file after reading it, so that a killed sweep leaves nothing. The end of the block removes it if no
    process has read it. Raises OSError.
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
    """A running sweep, which ends with this process. Its output arrives as events, its end as the last event."""

    def __init__(self, spec: SceneSpec, settings: SolverSettings, folder: Path, arguments: Sequence[str]):
        """Start a sweep.

        folder: for bakes and sheet. arguments: as for `python -m solver_core.sweep`. Raises WorkerError and OSError.
        """
        self._temporary = ExitStack()
        snapshot = self._temporary.enter_context(handed_over(spec, settings))
        command = program(MODULE, snapshot, str(folder), *arguments, TAKES, "--parent-pipe", "--events")
        self._events: Events = SimpleQueue()
        self._process = Process(ProcessInputs(command, worker_environment()), self._events)

    def new_events(self, wait: bool = False) -> Iterator[Event]:
        """Return the events since the last call.

        wait: wait for all events until the end. A sweep that is silent for LONGEST_SILENCE is ended, with a message.
        """
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
        """Request the end, which takes seconds. The same sweep continues after the finished frames."""
        self._process.close()
