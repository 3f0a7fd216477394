"""Bakes a scene snapshot into a frame cache in a process of its own: python -m solver_core.worker SNAPSHOT CACHE.

The one path by which every bake runs, with or without Blender. It says what it does in JSON objects, one a line, on standard
output; "event" tells them apart:

    compiling   kernels may have to be compiled first, which takes a while on the first run
    started     frame_start, frame_end, resumed_from (the last frame that was there already, or null), bodies
    warning     objects, field, message
    frame       frame, contacts, iterations, worst_error, missed, deepest_overlap, seconds
    finished    frames, missed_steps (of the whole cache), seconds (of this run)
    stopped     frame (the last one in the cache, null when it has none): a signal asked for it; --resume goes on after it
    error       message, problems: [{object, field, message}]

Exit status: 0 baked, 2 bad usage or input, 3 baked and at least one step missed its tolerance, 1 anything else. It ends by
itself when nobody reads its output any more. Ctrl+C and SIGTERM stop it after the frame that it is at, which takes as long as
that frame or the compiling before it; a second signal ends it at once, which the cache survives.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Sequence
from contextlib import closing
from enum import IntEnum
from typing import Any, NoReturn

from .io.atomic import write_atomically
from .io.cache import CacheError, FrameCacheReader, FrameCacheWriter, cache_has_begun
from .io.container import ContainerError
from .io.snapshot import read_snapshot, snapshot_digest
from .kernel_cache import use_kernel_cache
from .report import RESIDUALS, build_report, error_report, frame_summary, report_bytes, worst
from .scene import SceneSpec, SceneWarning, SolverSettings
from .validation import SceneError, SceneProblem, validate

__all__ = ["ExitStatus", "main"]


class ExitStatus(IntEnum):
    """What the process ends with."""

    BAKED = 0
    FAILED = 1
    BAD_INPUT = 2
    MISSED_TOLERANCE = 3


class UsageError(Exception):
    """The command line is wrong."""


class ListenerGone(Exception):
    """Standard output cannot be written to: whoever started the bake is no longer there."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()}")


def main(argv: Sequence[str], stop: threading.Event | None = None) -> int:
    """Bake as the command line `argv` (without the program's name) says; returns the exit status.

    stop: once it is set, the bake ends before its next frame.
    """
    parser = Parser(prog="python -m solver_core.worker", description="Bakes a scene snapshot into a frame cache.")
    parser.add_argument("snapshot", metavar="SNAPSHOT", help="the scene and the solver settings")
    parser.add_argument("cache", metavar="CACHE", help="the frame cache to write; one that exists is started anew")
    parser.add_argument("--resume", action="store_true", help="go on after the last good frame of the cache, if it has any")
    parser.add_argument("--report", metavar="FILE", help="write a JSON report of the whole bake, or of what was wrong")
    try:
        try:
            arguments = parser.parse_args(argv)
        except UsageError as error:
            return fail(ExitStatus.BAD_INPUT, str(error), None)
        return run(arguments, threading.Event() if stop is None else stop)
    except ListenerGone as error:
        print(f"nobody reads the output of the bake any more ({error}); it ends here", file=sys.stderr)
        return ExitStatus.FAILED


def run(arguments: argparse.Namespace, stop: threading.Event) -> int:
    """Bake, and turn whatever goes wrong into a message, an entry in the report and an exit status."""
    try:
        spec, settings = read_snapshot(arguments.snapshot)
        validate(spec, settings)
        writer = open_cache(arguments.cache, spec, settings, resume=arguments.resume)
    except SceneError as error:
        return fail(ExitStatus.BAD_INPUT, f"the scene cannot be simulated:\n{error}", arguments.report, error.problems)
    except (OSError, ContainerError, CacheError) as error:
        return fail(ExitStatus.BAD_INPUT, str(error), arguments.report)
    with closing(writer):
        try:
            return bake(spec, settings, writer, arguments, stop)
        except ListenerGone:
            raise
        except Exception as error:
            traceback.print_exc()
            return fail(ExitStatus.FAILED, f"{type(error).__name__}: {error}", arguments.report)


def open_cache(path: str, spec: SceneSpec, settings: SolverSettings, *, resume: bool) -> FrameCacheWriter:
    if resume and cache_has_begun(path):
        return FrameCacheWriter.resume(path, snapshot_digest(spec, settings))
    return FrameCacheWriter.create(path, spec, settings)


def bake(
    spec: SceneSpec,
    settings: SolverSettings,
    writer: FrameCacheWriter,
    arguments: argparse.Namespace,
    stop: threading.Event,
) -> int:
    """Simulate every frame that the cache does not have yet, and append it; until `stop` is set."""
    begin = time.perf_counter()
    emit("compiling")
    # Only now, for this is what loads the compiled kernels.
    use_kernel_cache()
    from .dynamics.simulation import Simulation

    simulation = Simulation.from_settings(spec, settings)
    resumed = writer.last
    emit(
        "started",
        frame_start=spec.frame_start,
        frame_end=spec.frame_end,
        resumed_from=None if resumed is None else resumed.frame,
        bodies=len(spec.bodies),
    )
    emit_warnings(simulation.warnings)
    missed = 0
    first = spec.frame_start
    if resumed is not None:
        simulation.restore(resumed.frame, resumed.checkpoint)
        missed = sum(frame_summary(frame.statistics)["missed_steps"] for frame in FrameCacheReader(arguments.cache))
        first = resumed.frame + 1
    for number in range(first, spec.frame_end + 1):
        if stop.is_set():
            return stopped(None if number == spec.frame_start else number - 1, arguments.report)
        frame = simulation.first_frame() if number == spec.frame_start else simulation.advance()
        writer.append(frame, simulation.checkpoint())
        summary = frame_summary(frame.statistics)
        missed += summary["missed_steps"]
        emit(
            "frame",
            frame=frame.frame,
            contacts=summary["contacts"],
            iterations=summary["iterations"],
            worst_error=worst(summary[name] for name in RESIDUALS),
            missed=summary["missed_steps"],
            deepest_overlap=summary["deepest_overlap"],
            seconds=summary["seconds"],
        )
    if arguments.report:
        report = build_report(spec, settings, FrameCacheReader(arguments.cache), simulation.warnings)
        write_atomically(arguments.report, report_bytes(report))
    frames = spec.frame_end - spec.frame_start + 1
    emit("finished", frames=frames, missed_steps=missed, seconds=time.perf_counter() - begin)
    return ExitStatus.MISSED_TOLERANCE if missed else ExitStatus.BAKED


def stopped(last: int | None, report: str | None) -> ExitStatus:
    """Say that the bake ends after the frame `last`, or before the first one; returns the status."""
    at = "before the first frame" if last is None else f"after frame {last}"
    write_error_report(report, error_report(f"stopped {at}; resume the bake to go on"))
    emit("stopped", frame=last)
    return ExitStatus.FAILED


def fail(status: ExitStatus, message: str, report: str | None, problems: Iterable[SceneProblem] = ()) -> ExitStatus:
    """Say what is wrong on standard output and in the report; returns the status."""
    entry = error_report(message, problems)
    emit("error", message=message, problems=entry["problems"])
    write_error_report(report, entry)
    return status


def write_error_report(path: str | None, report: dict[str, Any]) -> None:
    """Write it if it was asked for; that this fails must not hide the error which it is about."""
    if path is None:
        return
    try:
        write_atomically(path, report_bytes(report))
    except OSError as error:
        print(f"the report could not be written: {error}", file=sys.stderr)


def emit_warnings(warnings: Iterable[SceneWarning]) -> None:
    for warning in warnings:
        emit("warning", **dataclasses.asdict(warning))


def emit(event: str, **values: Any) -> None:
    """Print one event; raises ListenerGone when it cannot be delivered."""
    line = json.dumps({"event": event, **values}, allow_nan=False) + "\n"
    try:
        sys.stdout.write(line)
        sys.stdout.flush()
    except OSError as error:
        raise ListenerGone(str(error)) from error


def stop_at_signals(stop: threading.Event) -> None:
    """Let a signal that asks the process to end set `stop`, and the same signal once more end it at once.

    No exception is raised, as Python does for Ctrl+C: it would come up wherever the process happens to be, in a callback of the
    compiler as well, which turns it into another one or drops it.
    """

    def ask(number: int, _: object) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)

    for name in ("SIGINT", "SIGTERM", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), ask)


if __name__ == "__main__":
    asked_to_stop = threading.Event()
    stop_at_signals(asked_to_stop)
    status = main(sys.argv[1:], asked_to_stop)
    try:
        sys.stdout.flush()
    except OSError:
        # Python would flush once more on its way out and complain about a pipe that `main` has reported already.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)
