# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake a scene snapshot into a frame cache, in a separate process: python -m solver_core.worker SNAPSHOT CACHE.

Every bake, with or without Blender, runs through this command. It reports progress on standard output, one JSON object per
line; "event" is the kind of the object:

    compiling   kernels are being loaded or compiled; unfit: why the precompiled kernels of the package, or of a named folder,
                cannot be used; null if they can, or if there are none
    preparing   the modes of a flexible body are being computed; body, number, of (the number of different flexible bodies)
    prepared    bodies: the report's entry for each flexible body
    compiled    kernels: compiled since the bake started; there, whole: kernels on disk, and all that any bake may need, which
                is more than one bake needs; left: s for the others at the present pace, or null. At any time, about once per
                second while kernels are compiled
    started     frame_start, frame_end, resumed_from (the last frame already in the cache, or null), bodies
    warning     objects, field, message
    kept        one event per frame already in the cache when a bake resumes; the fields of `frame` without size
    repeated    the same for a frame that was simulated again, after the newest checkpoint; last: the last such frame
    frame       frame, contacts, iterations, found, worst_error, missed, violations (of each kind), moving, deepest_overlap,
                overlap_ratio, deepest_pair, seconds, size (of the whole cache, in bytes)
    paused      the bake waits; no event follows until it continues
    finished    frames, missed_steps (of the whole cache), seconds (of this run)
    stopped     frame (the last one in the cache, or null), reason; --resume continues after it
    error       message, problems: [{object, field, message}]

Exit status: 0 success, 2 bad usage or input, 3 success with at least one unconverged step, 4 the cache was removed, truncated
or replaced during the bake, 1 any other error.

With --parent-pipe, the line "pause" on standard input makes the bake wait before its next time step, "continue" resumes it, and
"stop" ends it there. `warm_worker` does the same for several bakes in sequence.

SIGINT (Ctrl+C), SIGTERM, SIGHUP, CTRL_BREAK and, with --parent-pipe, the end of standard input stop the bake before its next
time step. If that takes more than a few seconds, because of a long step or compilation, or at a second signal, the process
exits immediately, with the same message, report and status. The unfinished frame is then lost; all frames before it are in the
cache.
The bake also stops if its output is no longer read.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from .bake.bends import bend_warnings, bending_entries
from .bake.capture_steps import CAPTURE_FORMATS, steps_named
from .bake.events import ListenerGone, emit, emit_count, emit_warnings
from .bake.failures import fail, stop_report, stopped, write_error_report
from .bake.joints import breaking_warnings, broken_joints, contradiction_warnings
from .bake.report import (
    RESIDUALS,
    build_report,
    deepest_overlap,
    frame_summary,
    overlap_warnings,
    report_bytes,
    spin_warnings,
    worst,
)
from .bake.resuming import came_out_otherwise, go_on, is_same_motion, told_so_far
from .bake.violations import violation_warnings
from .compile.ahead import brought, misfit, named_folder
from .compile.folders import folder_of_kernels
from .compile.trust import doubt
from .dynamics.model.frame import Frame
from .io.cache import CacheError, CacheLost, FrameCacheReader, cache_digest, cache_has_begun, refuse_other_scene
from .io.cache_writer import CacheHeld, FrameCacheWriter
from .io.container import ContainerError
from .io.kept_modes import NOTHING_BENDS, SceneModes, scene_modes
from .io.outputs import REPORT, STANDARD_OUTPUT, refuse_one_for_another, refuse_output, write_output
from .io.snapshot import file_digest, read_snapshot
from .process.command_line import ExitStatus, Parser, UsageError, status_of
from .process.console import flush_output, prepare_streams
from .process.ending import Ending, StopAsked, end_by_force, hear_parent, hear_signals
from .process.memory import keep_freed_memory
from .scene.spec import SceneSpec, SceneWarning, SolverSettings
from .threads.count import MOST_ASKED
from .validation.findings import SceneError
from .validation.scene import validate

__all__ = ["main"]

# Longer than a worker takes to exit, because a bake may be resumed as soon as the last one was stopped.
SECONDS_FOR_LOCK = 6.0


def main(argv: Sequence[str], ending: Ending | None = None) -> int:
    """Run the command.

    argv: the command line without the program name. ending: the stop request; the bake ends before its next time step once it
    is set. Returns the exit status.
    """
    parser = Parser(prog="python -m solver_core.worker", description="Bakes a scene snapshot into a frame cache.")
    parser.add_argument("snapshot", metavar="SNAPSHOT", help="the scene and the solver settings")
    parser.add_argument("cache", metavar="CACHE", help="the frame cache to write; an existing one is replaced")
    parser.add_argument("--resume", action="store_true", help="continue after the last good frame of the cache, if it has any")
    parser.add_argument("--report", metavar="FILE", help="write a JSON report of the bake, or of its errors")
    parser.add_argument("--contacts", action="store_true", help="keep the contacts of every frame in the cache")
    parser.add_argument("--capture", metavar="DIR", type=Path, help="write the contact problems of some time steps as files")
    parser.add_argument(
        "--capture-steps", metavar="FIRST:LAST", default="0:9", help="time steps to capture, counted from 0 (%(default)s)"
    )
    parser.add_argument("--capture-format", choices=CAPTURE_FORMATS, default="npz", help="format of the files (%(default)s)")
    parser.add_argument(
        "--threads",
        type=int,
        default=0,
        metavar="N",
        help="threads for large piles, 0 (the default) for one per processor; the frames do not depend on it",
    )
    parser.add_argument(
        "--parent-pipe", action="store_true", help="stop when standard input ends, a pipe held open by the starting process"
    )
    ending = Ending() if ending is None else ending
    try:
        try:
            arguments = parser.parse_args(argv)
            refuse_outputs(arguments)
            arguments.capture_steps = steps_named(arguments.capture_steps)
            if not 0 <= arguments.threads <= MOST_ASKED:
                raise UsageError(f"--threads: {arguments.threads} is not between 0, for one per processor, and {MOST_ASKED}")
        except (UsageError, OSError) as error:
            return fail(ExitStatus.BAD_INPUT, str(error), None)
        if arguments.parent_pipe:
            if sys.stdin is None:
                return fail(ExitStatus.BAD_INPUT, "--parent-pipe: there is no standard input", arguments.report)
            hear_parent(ending)
        return run(arguments, ending)
    except ListenerGone as error:
        print(f"the output of the bake is no longer read ({error}); it ends here", file=sys.stderr)
        return ExitStatus.FAILED


def refuse_outputs(arguments: argparse.Namespace) -> None:
    """Check the output paths.

    Raises UsageError if two outputs name the same file, or if the report goes to standard output, which is used for events.
    Raises PathRefused if a report would overwrite another kind of file.
    """
    refuse_one_for_another((name, getattr(arguments, name)) for name in ("snapshot", "cache", "report"))
    if arguments.report == STANDARD_OUTPUT:
        raise UsageError("--report: standard output is used for the events of the bake; name a file")
    if arguments.report is not None:
        refuse_output(arguments.report, REPORT)


def run(arguments: argparse.Namespace, ending: Ending) -> int:
    """Bake, and convert any error to a message, a report entry and an exit status."""
    ending.last_words = lambda: stopped(None, ending.reason, arguments.report)
    try:
        spec, settings = read_snapshot(arguments.snapshot)
        validate(spec, settings)
        writer = open_cache(arguments.cache, spec, settings, file_digest(arguments.snapshot), resume=arguments.resume)
    except SceneError as error:
        return fail(ExitStatus.BAD_INPUT, f"the scene cannot be simulated:\n{error}", arguments.report, error.problems)
    except CacheHeld as error:
        return fail(ExitStatus.FAILED, str(error), arguments.report)
    except OSError as error:
        return fail(status_of(error), str(error), arguments.report)
    except (ContainerError, CacheError) as error:
        return fail(ExitStatus.BAD_INPUT, str(error), arguments.report)

    def last_words() -> None:
        try:
            writer.check()
        except CacheLost as error:
            fail(ExitStatus.CACHE_LOST, str(error), arguments.report)
            return
        stopped(writer.last_frame, ending.reason, arguments.report)
        keep_checkpoint(writer)
        writer.close()

    ending.last_words = last_words
    with closing(writer):
        try:
            return bake_or_say_why_not(spec, settings, writer, arguments, ending)
        except CacheLost as error:
            return fail(ExitStatus.CACHE_LOST, str(error), arguments.report)


def bake_or_say_why_not(
    spec: SceneSpec, settings: SolverSettings, writer: FrameCacheWriter, arguments: argparse.Namespace, ending: Ending
) -> int:
    """Bake, and convert errors to a message, a report entry and an exit status.

    Raises CacheLost before any of these claims that frames are complete. Raises ListenerGone.
    """
    try:
        return bake(spec, settings, writer, arguments, ending)
    except StopAsked as reason:
        with ending.writing:
            keep_checkpoint(writer)
        return stopped(writer.last_frame, str(reason), arguments.report)
    except SceneError as error:
        writer.check()
        moment = f"stopped after frame {writer.last_frame}, because the scene is invalid after it"
        return fail(ExitStatus.FAILED, f"{moment}:\n{error}", arguments.report, error.problems)
    except ListenerGone:
        keep_checkpoint(writer)
        write_error_report(arguments.report, stop_report(writer.last_frame, "its output is no longer read"))
        raise
    except (CacheError, UsageError) as error:
        writer.check()
        return fail(ExitStatus.BAD_INPUT, str(error), arguments.report)
    except OSError as error:
        # Usually a full disk; a traceback would not help.
        writer.check()
        return fail(ExitStatus.FAILED, f"{error}; the frames so far are complete, resume the bake later", arguments.report)
    except Exception as error:
        traceback.print_exc()
        return fail(ExitStatus.FAILED, f"{type(error).__name__}: {error}", arguments.report)


def keep_checkpoint(writer: FrameCacheWriter) -> None:
    """Write a checkpoint, which saves time when the bake is resumed. A failure must not hide why the bake ends.

    Raises CacheLost.
    """
    try:
        writer.keep_checkpoint()
    except OSError as error:
        print(f"the newest checkpoint could not be written, so Resume simulates some frames again: {error}", file=sys.stderr)


def open_cache(path: str, spec: SceneSpec, settings: SolverSettings, digest: str, *, resume: bool) -> FrameCacheWriter:
    if resume and cache_has_begun(path):
        info = FrameCacheReader(path).info
        if info.digest == cache_digest(digest, info.earlier):
            refuse_other_scene(path, info, spec)
        writer = FrameCacheWriter.resume(path, digest, patience=SECONDS_FOR_LOCK)
        earlier, last = writer.info.earlier, writer.last_frame
        if earlier and (last is None or last < earlier[-1].last_frame):
            writer.close()
            raise CacheError(
                f"{path}: its frames up to {earlier[-1].last_frame} are from another bake, and some are missing; "
                "bake from the start, or again from a frame of that bake"
            )
        return writer
    return FrameCacheWriter.create(path, spec, settings, digest=digest, patience=SECONDS_FOR_LOCK)


def bake(
    spec: SceneSpec, settings: SolverSettings, writer: FrameCacheWriter, arguments: argparse.Namespace, ending: Ending
) -> int:
    """Load the kernels, or compile them with the help of a second process, and bake. Raises StopAsked between two steps."""
    begin = time.perf_counter()
    folder, named = folder_of_kernels(), named_folder()
    installed = [misfit(place) for place in brought()]
    unfit = [*(installed if all(installed) else ()), None if named is None else doubt(named)]
    emit("compiling", unfit="; ".join(filter(None, unfit)) or None)
    # Imported here because numba takes a while to load.
    from .compile.watch import Watch

    with Watch(folder, emit_count):
        return simulate(spec, settings, writer, arguments, ending, begin)


def simulate(
    spec: SceneSpec,
    settings: SolverSettings,
    writer: FrameCacheWriter,
    arguments: argparse.Namespace,
    ending: Ending,
    begin: float,
) -> int:
    """Simulate every frame that the cache does not contain yet, and append it.

    Frames after the newest checkpoint are simulated again, and must be identical bit for bit. begin: the clock time at which
    the bake started.
    """
    from .dynamics.joints.links import links_of, swing_warnings
    from .dynamics.simulation import Simulation

    modes = modes_of(spec, settings, writer, arguments.cache, ending)
    see = None
    if arguments.capture is not None:
        from .bake.capture import Capture

        capture = Capture(arguments.capture, arguments.capture_steps, arguments.capture_format, Path(arguments.cache).stem)
        see = capture.see
    how = {"keep_contacts": arguments.contacts, "threads": arguments.threads}
    simulation = Simulation(spec, settings, see=see, modes=modes.by_body(), **how)
    if settings.step_time_limit:
        # Steps that end at a time limit are not reproducible.
        writer.seconds_between_checkpoints = 0.0
    emit(
        "started",
        frame_start=spec.frame_start,
        frame_end=spec.frame_end,
        resumed_from=writer.last_frame,
        bodies=len(spec.bodies),
    )
    warnings = (*simulation.warnings, *lock_warnings(writer, arguments.cache))
    emit_warnings(warnings)
    warned = {warning.objects for warning in warnings if warning.field in ("overlap", "substeps")}
    warned_bends: set[tuple[str, ...]] = set()
    warned_violations: set[tuple[str, tuple[str, ...]]] = set()
    contradicting = {name for warning in warnings if warning.field == "contradiction" for name in warning.objects}
    there = FrameCacheReader(arguments.cache)
    first, odd = go_on(simulation, writer, there)
    emit_warnings(odd)
    missed, broken, gave_way = told_so_far(there, there.frames, spec)
    for number in range(spec.frame_start, first):
        emit("kept", **figures(there.read(number), spec))
    links = links_of(spec, settings)
    swing = swing_warnings(map(there.read, there.frames), spec, settings, links)

    def before_step() -> None:
        if ending.pauses:
            emit("paused")
        ending.check()

    for number in range(first, spec.frame_end + 1):
        before_step()
        frame = simulation.first_frame() if number == spec.frame_start else simulation.advance(before_step)
        if writer.last_frame is not None and number <= writer.last_frame:
            if is_same_motion(frame, there.read(number)):
                emit("repeated", last=writer.last_frame, **figures(frame, spec))
                writer.remember(number, simulation.checkpoint())
                continue
            emit_warnings([came_out_otherwise(number, arguments.cache)])
            missed, broken, gave_way = told_so_far(there, range(spec.frame_start, number), spec)
            with ending.writing:
                writer.cut(number)
        checkpoint = simulation.checkpoint()
        with ending.writing:
            writer.append(frame, checkpoint)
        seen = (*overlap_warnings(frame, spec, warned), *spin_warnings(frame, spec, settings, warned))
        warned.update(warning.objects for warning in seen)
        contradictions = tuple(contradiction_warnings(frame, spec, contradicting | gave_way))
        contradicting.update(name for warning in contradictions for name in warning.objects)
        bends = tuple(bend_warnings(frame, spec, modes, warned_bends))
        warned_bends.update(warning.objects for warning in bends)
        against = violation_warnings(frame, spec, warned_violations)
        emit_warnings((*seen, *against, *bends, *breaking_warnings(frame, spec, broken), *contradictions))
        if not swing:
            swing = swing_warnings((frame,), spec, settings, links)
            emit_warnings(swing)
        broken = broken_joints(frame, spec)
        values = figures(frame, spec)
        missed += values["missed"]
        emit("frame", **values, size=writer.size)
    with ending.writing:
        keep_checkpoint(writer)
    if arguments.report:
        all_warnings = *warnings, *swing
        report = build_report(spec, settings, FrameCacheReader(arguments.cache), all_warnings, writer.info.earlier, modes)
        try:
            write_output(arguments.report, REPORT, report_bytes(report))
        except OSError as error:
            return fail(ExitStatus.FAILED, f"every frame is in the cache, but the report could not be written: {error}", None)
    frames = spec.frame_end - spec.frame_start + 1
    emit("finished", frames=frames, missed_steps=missed, seconds=time.perf_counter() - begin)
    return ExitStatus.MISSED_TOLERANCE if missed else ExitStatus.DONE


def modes_of(spec: SceneSpec, settings: SolverSettings, writer: FrameCacheWriter, cache: str, ending: Ending) -> SceneModes:
    """Return the modes of flexible bodies: those of the frames in the cache, those stored beside it, or new ones.

    Raises StopAsked before the modes of a body are computed.
    """

    def say(body: str, number: int, count: int) -> None:
        ending.check()
        emit("preparing", body=body, number=number, of=count)

    there = FrameCacheReader(cache)
    known = there.modes() if there.frames else NOTHING_BENDS
    writer.modes = scene_modes(spec, Path(cache).parent, known, say)
    if writer.modes.bodies:
        emit("prepared", bodies=bending_entries(spec, settings, writer.modes))
    return writer.modes


def figures(frame: Frame, spec: SceneSpec) -> dict[str, Any]:
    """Return the statistics of a frame for its event."""
    summary = frame_summary(frame.statistics)
    return {
        "frame": frame.frame,
        "contacts": summary["contacts"],
        "iterations": summary["iterations"],
        "found": summary["found"],
        "worst_error": worst(summary[name] for name in RESIDUALS),
        "missed": summary["missed_steps"],
        "violations": summary["violations"],
        "moving": summary["moving"],
        **deepest_overlap(frame, spec),
        "seconds": summary["seconds"],
    }


def lock_warnings(writer: FrameCacheWriter, path: str) -> Iterator[SceneWarning]:
    if not writer.is_locked:
        message = "this file system has no file locks; make sure that no two bakes write to the same cache at once"
        yield SceneWarning((path,), "cache", message)


if __name__ == "__main__":
    prepare_streams()
    keep_freed_memory()
    asked_to_end = Ending()
    hear_signals(asked_to_end)
    end_by_force(asked_to_end, ExitStatus.FAILED)
    status = main(sys.argv[1:], asked_to_end)
    asked_to_end.done()
    flush_output()
    sys.exit(status)
