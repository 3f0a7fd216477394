# SPDX-License-Identifier: GPL-3.0-or-later
"""The worker process: found a Python for, started, listened to, ended. Knows nothing of scenes."""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import bpy

from ..solver_core.compile.trust import written_by_us_alone
from .job import Event, WorkerEnded, WorkerMessage

__all__ = ["Worker", "WorkerError", "find_python", "lasting_folder", "worker_environment"]

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = __name__.rpartition(".addon.")[0]
LIBRARIES = ("numpy", "scipy", "numba", "llvmlite")
LAST_LINES = 20
# More than the worker itself gives a step before it ends by force: only for one that hangs altogether.
SECONDS_TO_END = 8.0
SECONDS_BETWEEN_LOOKS = 0.25


class WorkerError(RuntimeError):
    """The worker process cannot be started."""


class Worker:
    """A running `python -m solver_core.worker SNAPSHOT CACHE`; its lines arrive as events, in order, its end as the last.

    It ends when its standard input does, the other end of which only this object holds: at `stop`, and when this process
    ends in whatever way. What is written there lets it pause and go on.
    """

    def __init__(
        self,
        snapshot: Path,
        cache: Path,
        *,
        resume: bool = False,
        contacts: bool = False,
        threads: int = 0,
        report: Path | None = None,
    ):
        command = [find_python(), "-s", "-P", "-m", "solver_core.worker", str(snapshot), str(cache), "--parent-pipe"]
        if resume:
            command.append("--resume")
        if contacts:
            command.append("--contacts")
        if threads > 0:
            command += ["--threads", str(threads)]
        if report is not None:
            command += ["--report", str(report)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=worker_environment(),
            encoding="utf-8",
            errors="replace",
            creationflags=subprocess.CREATE_NO_WINDOW if sys.platform == "win32" else 0,
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._trouble: deque[str] = deque(maxlen=LAST_LINES)
        self._errors = threading.Thread(target=self._collect, args=(self._process.stderr,), daemon=True)
        self._errors.start()
        # The threads only move lines from a pipe to a queue; everything that touches Blender happens on the main thread.
        threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True).start()

    def new_events(self) -> Iterator[Event]:
        """What has happened since the last call; does not wait."""
        while True:
            try:
                yield self._events.get_nowait()
            except queue.Empty:
                return

    def all_events(self, check: Callable[[], None] = lambda: None) -> Iterator[Event]:
        """Everything that happens until the worker has ended; waits for it, and calls `check` every now and then."""
        while True:
            check()
            try:
                # Windows would hold back Ctrl+C for as long as this waits.
                event = self._events.get(timeout=SECONDS_BETWEEN_LOOKS)
            except queue.Empty:
                continue
            yield event
            if isinstance(event, WorkerEnded):
                return

    def stop(self) -> None:
        """Ask the process to end, which it does within seconds; the frames written so far stay readable."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        deadline = threading.Timer(SECONDS_TO_END, self._process.kill)
        deadline.daemon = True
        deadline.start()

    def pause(self, pause: bool) -> None:
        """Ask the process to wait before its next step, or to go on; one that has just ended does neither."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write("pause\n" if pause else "continue\n")
            self._process.stdin.flush()

    def end(self) -> None:
        """Ask the process to end, and wait until it has."""
        self.stop()
        self._process.wait()

    def _collect(self, pipe: IO[str]) -> None:
        self._trouble.extend(line.rstrip() for line in pipe)

    def _listen(self, pipe: IO[str]) -> None:
        for line in pipe:
            try:
                self._events.put(WorkerMessage(json.loads(line)))
            except json.JSONDecodeError:
                # A library that prints to standard output; worth keeping in case of trouble, and no event.
                self._trouble.append(line.rstrip())
        self._errors.join()
        self._events.put(WorkerEnded(self._process.wait(), "\n".join(self._trouble)))


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
    raise WorkerError(f"the Python program that belongs to this Blender was not found; tried\n{tried}")


def worker_environment() -> dict[str, str]:
    """The environment in which the worker finds this solver_core and the libraries that Blender found. Raises WorkerError."""
    folders = [str(ROOT)]
    for library in LIBRARIES:
        spec = importlib.util.find_spec(library)
        if spec is None or not spec.submodule_search_locations:
            raise WorkerError(
                f"the Python library {library} is missing; install the extension from its zip for this platform, "
                "which brings it along"
            )
        folders.append(str(Path(next(iter(spec.submodule_search_locations))).parent))
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(folders))
    environment["PYTHONIOENCODING"] = "utf-8"
    # the matrices of a step are small: threads for them wait for each other most of the time
    for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        environment.setdefault(threads, "1")
    # Compiling takes minutes, loading what was compiled a fraction of a second.
    environment.setdefault("NUMBA_CACHE_DIR", str(lasting_folder("compiled")))
    return environment


def lasting_folder(name: str) -> Path:
    """A folder of ours that outlives this session, to which nobody else may write; made when it is not there."""
    with written_by_us_alone():
        if PACKAGE.startswith("bl_ext."):
            return Path(bpy.utils.extension_path_user(PACKAGE, path=name, create=True))
        return Path(bpy.utils.user_resource("DATAFILES", path=os.path.join("stiction", name), create=True))
