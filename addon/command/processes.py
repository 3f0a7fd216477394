# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that run in other processes: sweeps, compilation, and any module of the solver. Signals end them, and bakes."""

from __future__ import annotations

import argparse
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import bpy

from ...solver_core.process.children import end_child
from ...solver_core.process.command_line import ExitStatus
from ...solver_core.scene.words import in_words
from ...solver_core.validation.findings import first_few
from .messages import say

__all__ = ["compile_kernels", "ended_by_signals", "run_module", "sweep"]

SECONDS_BETWEEN_LOOKS = 0.25
# s; from Ctrl+C to the kill. Meanwhile a sweep ends its bakes and writes its tables.
SECONDS_TO_END = 30.0


def compile_kernels(arguments: argparse.Namespace) -> int:
    """Compile all kernels into a folder, in other processes. Returns the exit status."""
    more = [] if arguments.processes is None else ["--processes", str(arguments.processes)]
    return run_module("solver_core.compile_all", arguments.folder, *more)


def sweep(arguments: argparse.Namespace) -> int:
    """Read the open file, and bake variations of it in other processes; returns the exit status."""
    from ...solver_core.sweep.options import as_arguments
    from ...solver_core.validation.findings import SceneError
    from ..bake.runner import describe
    from ..bake.worker import WorkerError
    from ..blender.cooperative import at_once
    from ..farms.sweep import MODULE, TAKES, handed_over
    from ..read.extract import extracting

    try:
        extraction = at_once(extracting(bpy.context))
    except WorkerError as error:
        say("ERROR", str(error))
        return ExitStatus.FAILED
    except SceneError as error:
        say("ERROR", describe(error.problems))
        return ExitStatus.BAD_INPUT
    for warning in extraction.warnings:
        say("WARNING", f"{first_few(warning.objects)}: {in_words(warning.field)}: {warning.message}")
    with handed_over(extraction.spec, extraction.settings) as snapshot:
        return run_module(MODULE, snapshot, str(Path(arguments.output).resolve()), *as_arguments(arguments), TAKES)


def run_module(name: str, *arguments: str) -> int:
    """Run a module of the solver as a process that ends with this one; returns its exit status."""
    from ..bake.worker import WorkerError, find_python, worker_environment

    try:
        command = [find_python(), "-s", "-P", "-m", name, *arguments, "--parent-pipe"]
        found = worker_environment()
    except WorkerError as error:
        say("ERROR", str(error))
        return ExitStatus.FAILED
    with ended_by_signals() as check:
        # It receives signals of the terminal like this process, and other requests through its standard input.
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=found)
        while process.poll() is None:
            try:
                check()
                process.wait(SECONDS_BETWEEN_LOOKS)
            except subprocess.TimeoutExpired:
                continue
            except KeyboardInterrupt:
                end_child(process, SECONDS_TO_END)
    return process.returncode


@contextmanager
def ended_by_signals() -> Iterator[Callable[[], None]]:
    """Context in which SIGINT (Ctrl+C), SIGTERM and CTRL_BREAK end the bake: the yielded function raises KeyboardInterrupt
    after a signal.

    Blender has other handlers, or none. An exception from the handler itself could occur inside Blender, which has crashed it.
    """
    names = ("SIGINT", "SIGTERM", "SIGBREAK")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    end_requested = threading.Event()

    def check() -> None:
        if end_requested.is_set():
            raise KeyboardInterrupt

    before = {number: signal.signal(number, lambda *_: end_requested.set()) for number in numbers}
    try:
        yield check
    finally:
        for number, handler in before.items():
            # None is a handler that Python does not know and cannot restore.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
