# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake in a worker process, and the inputs of such a process: Python, libraries and folders. Does not depend on scenes."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue

import bpy

from ...solver_core.compile.trust import doubt, written_by_us_alone
from ...solver_core.process.numeric_libraries import with_fixed_kernels
from .job import Event, WorkerEnded
from .process import Events, Idle, Process, ProcessInputs, stamps

__all__ = ["Worker", "WorkerError", "find_python", "lasting_folder", "started", "worker_environment"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = __name__.rpartition(".addon.")[0]
LIBRARIES = ("numpy", "scipy", "numba", "llvmlite")
SECONDS_BETWEEN_LOOKS = 0.25


class WorkerError(RuntimeError):
    """The worker process cannot be started."""


class Worker:
    """A bake in a new process, or in one that an earlier bake left.

    Its output arrives as events in order, the end of the bake last. No process outlives this one.
    """

    def __init__(
        self,
        snapshot: Path,
        cache: Path,
        *,
        resume: bool = False,
        contacts: bool = False,
        threads: int = 0,
        capture: Sequence[str] = (),
        report: Path | None = None,
        idle: Idle | None = None,
    ):
        """Start a bake.

        capture: arguments of the worker for contact problems. idle: provides and keeps the process; None for a process that
            ends with the bake. Raises WorkerError and OSError.
        """
        # Absolute, because an existing process may run in another folder.
        arguments = [os.path.abspath(snapshot), os.path.abspath(cache)]
        if resume:
            arguments.append("--resume")
        if contacts:
            arguments.append("--contacts")
        if threads > 0:
            arguments += ["--threads", str(threads)]
        arguments += capture
        if report is not None:
            arguments += ["--report", os.path.abspath(report)]
        self._events: Events = SimpleQueue()
        if idle is None:
            self._process = started("solver_core.worker", self._events, *arguments, "--parent-pipe")
        else:
            inputs = present_inputs(program("solver_core.warm_worker"))
            process = idle.take(inputs, arguments, self._events)
            self._process = process or Process(inputs, self._events, arguments, idle)

    def new_events(self) -> Iterator[Event]:
        """Return the events since the last call, without waiting."""
        while True:
            try:
                yield self._events.get_nowait()
            except Empty:
                return

    def all_events(self, check: Callable[[], None] = lambda: None) -> Iterator[Event]:
        """Yield all events until the end of the bake. Waits for it, and calls `check` regularly."""
        while True:
            check()
            try:
                # Windows delays Ctrl+C during a wait.
                event = self._events.get(timeout=SECONDS_BETWEEN_LOOKS)
            except Empty:
                continue
            yield event
            if isinstance(event, WorkerEnded):
                return

    def stop(self) -> None:
        """Request the end of the bake, which takes seconds. The finished frames remain readable."""
        self._process.stop(self._events)

    def pause(self, pause: bool) -> None:
        """Request a pause before the next step of the bake, or its end. This has no effect on a bake that has just ended."""
        self._process.pause(self._events, pause)

    def end(self) -> None:
        """Request the end of the process and wait for it."""
        self._process.close()
        self._process.wait()


def started(module: str, events: Events, *arguments: str) -> Process:
    """Start a process for a module of solver_core, which ends with this one. Raises WorkerError and OSError."""
    return Process(ProcessInputs(program(module, *arguments), worker_environment()), events)


def program(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a module of solver_core on Blender's Python. Raises WorkerError."""
    return (find_python(), "-s", "-P", "-m", module, *arguments)


def find_python() -> str:
    """Return Blender's Python program. Raises WorkerError that lists the searched locations."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    names = ("python.exe",) if sys.platform == "win32" else (f"python{version}", "python3", "python")
    folders = [Path(prefix) / "bin" for prefix in (sys.prefix, sys.exec_prefix, sys.base_prefix)] + [Path(sys.prefix)]
    # sys.executable is Blender's bundled Python, or Blender itself in some packages of Linux distributions.
    candidates = [Path(sys.executable), *(folder / name for folder in folders for name in names)]
    for candidate in candidates:
        if candidate.name.lower().startswith("python") and os.access(candidate, os.X_OK) and candidate.is_file():
            return str(candidate)
    tried = "\n".join(f"  {candidate}" for candidate in dict.fromkeys(candidates))
    raise WorkerError(f"Blender's Python program was not found; tried\n{tried}")


def worker_environment() -> dict[str, str]:
    """Return the environment in which the worker finds this solver_core and the libraries of Blender. Raises WorkerError."""
    folders = [str(ROOT)]
    for library in LIBRARIES:
        spec = importlib.util.find_spec(library)
        if spec is None or not spec.submodule_search_locations:
            raise WorkerError(
                f"the Python library {library} is missing; install the extension from its zip for this platform, "
                "which includes it"
            )
        folders.append(str(Path(next(iter(spec.submodule_search_locations))).parent))
    environment = with_fixed_kernels(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(folders))
    environment["PYTHONIOENCODING"] = "utf-8"
    # Compilation takes minutes, loading compiled kernels a fraction of a second.
    environment.setdefault("NUMBA_CACHE_DIR", str(lasting_folder("compiled")))
    return environment


def present_inputs(command: tuple[str, ...]) -> ProcessInputs:
    """Return the inputs that a process with this command would have now. Raises WorkerError."""
    environment = worker_environment()
    libraries = [spec.origin for library in LIBRARIES if (spec := importlib.util.find_spec(library)) and spec.origin]
    files = stamps([*(ROOT / "solver_core").rglob("*.py"), *map(Path, libraries)])
    # Checked again each time, because permissions may have changed.
    return ProcessInputs(command, environment, files, doubt.__wrapped__(Path(environment["NUMBA_CACHE_DIR"])))


def lasting_folder(name: str) -> Path:
    """Return a folder that outlives this session and is writable only for this user; created if missing."""
    with written_by_us_alone():
        if PACKAGE.startswith("bl_ext."):
            return Path(bpy.utils.extension_path_user(PACKAGE, path=name, create=True))
        return Path(bpy.utils.user_resource("DATAFILES", path=os.path.join("stiction", name), create=True))
