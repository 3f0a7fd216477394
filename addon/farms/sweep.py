# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep in a process beside Blender, the one of `stiction sweep`, and where it finds dask.distributed."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory

from ...solver_core.io.snapshot import write_snapshot
from ...solver_core.scene.spec import SceneSpec, SolverSettings
from ..bake.job import Event, WorkerEnded
from ..bake.process import Events, MadeOf, Process
from ..bake.worker import find_python, lasting_folder, program, worker_environment

__all__ = ["MODULE", "LibraryMissing", "SweepProcess", "refuse_missing_library", "sweep_environment"]

MODULE = "solver_core.sweep"
LIBRARY = "distributed"


class LibraryMissing(RuntimeError):
    """There is no dask.distributed; `command` installs it where sweeps find it."""

    def __init__(self, command: str):
        super().__init__(
            "a sweep needs the Python library dask.distributed, which the extension does not bring; install it by this "
            f"command in a terminal:\n{command}"
        )
        self.command = command


def libraries_folder() -> Path:
    """Where a user installs it: Blender's own folder needs an administrator, and is another one with each version."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return lasting_folder(os.path.join("libraries", f"python{version}"))


def refuse_missing_library() -> None:
    """Raise LibraryMissing where neither Blender's Python nor that folder has it. Raises WorkerError as well."""
    folder = libraries_folder()
    if importlib.util.find_spec(LIBRARY) is None and not (folder / LIBRARY).is_dir():
        parts = [find_python(), "-m", "pip", "install", "--target", str(folder), LIBRARY]
        command = subprocess.list2cmdline(parts) if sys.platform == "win32" else shlex.join(parts)
        raise LibraryMissing(command)


def sweep_environment() -> dict[str, str]:
    """The worker's, with the folder of the library after all others. Raises WorkerError."""
    environment = worker_environment()
    environment["PYTHONPATH"] = os.pathsep.join([environment["PYTHONPATH"], str(libraries_folder())])
    return environment


class SweepProcess:
    """A sweep that runs, and ends with this process; what it says arrives as events, its end as the last."""

    def __init__(self, spec: SceneSpec, settings: SolverSettings, folder: Path, arguments: Sequence[str]):
        """folder: for bakes and sheet; arguments: as `python -m solver_core.sweep` has them. Raises WorkerError and OSError."""
        self._folder = TemporaryDirectory(prefix="stiction-")
        snapshot = Path(self._folder.name, "scene.snapshot")
        write_snapshot(snapshot, spec, settings)
        command = program(MODULE, str(snapshot), str(folder), *arguments, "--parent-pipe", "--events")
        self._events: Events = SimpleQueue()
        self._process = Process(MadeOf(command, sweep_environment()), self._events)

    def new_events(self, wait: bool = False) -> Iterator[Event]:
        """What has happened since the last call; wait: for everything until the end."""
        while True:
            try:
                event = self._events.get(block=wait)
            except Empty:
                return
            if isinstance(event, WorkerEnded):
                self._folder.cleanup()
                wait = False
            yield event

    def stop(self) -> None:
        """Ask for the end, which comes within seconds; the same sweep goes on after the frames so far."""
        self._process.close()
