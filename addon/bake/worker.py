# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake in a worker process, and what such a process is made of: Python, libraries and folders. Knows nothing of scenes."""

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
from .process import Events, Idle, MadeOf, Process, stamps

__all__ = ["Worker", "WorkerError", "find_python", "lasting_folder", "started", "worker_environment"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = __name__.rpartition(".addon.")[0]
LIBRARIES = ("numpy", "scipy", "numba", "llvmlite")
SECONDS_BETWEEN_LOOKS = 0.25


class WorkerError(RuntimeError):
    """The worker process cannot be started."""


class Worker:
    """A bake in a process of its own, or in one that an earlier bake left; what that says arrives as events, in order, the end
    of the bake as the last. No process outlives this one."""

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
        """capture: arguments of the worker that ask for contact problems. idle: what has a process left, and keeps this one;
        None for a process that ends with the bake. Raises WorkerError and OSError."""
        # whole, for a process that is there already may be in another folder
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
            made_of = made_of_today(program("solver_core.warm_worker"))
            process = idle.asked(made_of, arguments, self._events)
            self._process = process or Process(made_of, self._events, arguments, idle)

    def new_events(self) -> Iterator[Event]:
        """What has happened since the last call; does not wait."""
        while True:
            try:
                yield self._events.get_nowait()
            except Empty:
                return

    def all_events(self, check: Callable[[], None] = lambda: None) -> Iterator[Event]:
        """Everything that happens until the bake has ended; waits for it, and calls `check` every now and then."""
        while True:
            check()
            try:
                # Windows would hold back Ctrl+C for as long as this waits.
                event = self._events.get(timeout=SECONDS_BETWEEN_LOOKS)
            except Empty:
                continue
            yield event
            if isinstance(event, WorkerEnded):
                return

    def stop(self) -> None:
        """Ask for the end of the bake, which comes within seconds; the frames written so far stay readable."""
        self._process.stop(self._events)

    def pause(self, pause: bool) -> None:
        """Ask the bake to wait before its next step, or to go on; one that has just ended does neither."""
        self._process.pause(self._events, pause)

    def end(self) -> None:
        """Ask the process to end, and wait until it has."""
        self._process.close()
        self._process.wait()


def started(module: str, events: Events, *arguments: str) -> Process:
    """A process of its own for a module of solver_core, which ends with this one. Raises WorkerError and OSError."""
    return Process(MadeOf(program(module, *arguments), worker_environment()), events)


def program(module: str, *arguments: str) -> tuple[str, ...]:
    """The command that runs a module of solver_core on Blender's Python. Raises WorkerError."""
    return (find_python(), "-s", "-P", "-m", module, *arguments)


def find_python() -> str:
    """The Python that Blender runs on, as a program. Raises WorkerError that says where it was looked for."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    names = ("python.exe",) if sys.platform == "win32" else (f"python{version}", "python3", "python")
    folders = [Path(prefix) / "bin" for prefix in (sys.prefix, sys.exec_prefix, sys.base_prefix)] + [Path(sys.prefix)]
    # sys.executable is Blender's bundled Python, but Blender itself in some packages that Linux distributions make.
    candidates = [Path(sys.executable), *(folder / name for folder in folders for name in names)]
    for candidate in candidates:
        if candidate.name.lower().startswith("python") and os.access(candidate, os.X_OK) and candidate.is_file():
            return str(candidate)
    tried = "\n".join(f"  {candidate}" for candidate in dict.fromkeys(candidates))
    raise WorkerError(f"Blender's Python program was not found; tried\n{tried}")


def worker_environment() -> dict[str, str]:
    """The environment in which the worker finds this solver_core and the libraries that Blender found. Raises WorkerError."""
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
    # Compiling takes minutes, loading what was compiled a fraction of a second.
    environment.setdefault("NUMBA_CACHE_DIR", str(lasting_folder("compiled")))
    return environment


def made_of_today(command: tuple[str, ...]) -> MadeOf:
    """What a process with this command would be made of now. Raises WorkerError."""
    environment = worker_environment()
    libraries = [spec.origin for library in LIBRARIES if (spec := importlib.util.find_spec(library)) and spec.origin]
    files = stamps([*(ROOT / "solver_core").rglob("*.py"), *map(Path, libraries)])
    # looked at anew each time: rights may have changed
    return MadeOf(command, environment, files, doubt.__wrapped__(Path(environment["NUMBA_CACHE_DIR"])))


def lasting_folder(name: str) -> Path:
    """A folder of ours that outlives this session, to which nobody else may write; made when it is not there."""
    with written_by_us_alone():
        if PACKAGE.startswith("bl_ext."):
            return Path(bpy.utils.extension_path_user(PACKAGE, path=name, create=True))
        return Path(bpy.utils.user_resource("DATAFILES", path=os.path.join("stiction", name), create=True))
