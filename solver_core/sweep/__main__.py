# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake variations of a scene snapshot and write a sheet that compares them: python -m solver_core.sweep SNAPSHOT FOLDER --vary
...

FOLDER then contains sheet.html, sheet.csv and poses.csv, and in `bakes` a snapshot and a cache for each variation. A second run
with the same folder bakes only what is missing.

Exit status: 0 all variations baked, 2 bad usage or input, 3 all baked and some step is unconverged, 1 any other error, such as
a failed variation, which the sheet names. Ctrl+C and SIGTERM stop the sweep, as does the end of standard input with
--parent-pipe.

With --events, the output is JSON objects on standard output, one per line: {"event": "progress", "share", "text"} during the
sweep, "said" and "error" with a "text", and "sheet" with the "path" of the page when it is written.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from ..bake.events import ListenerGone, emit
from ..io.container import ContainerError
from ..io.outputs import PAGE, TABLE, refuse_output
from ..io.snapshot import file_digest, read_snapshot, write_snapshot
from ..process.command_line import ExitStatus, Parser, UsageError, status_of
from ..process.console import flush_output, prepare_streams, tell
from ..process.ending import Ending, StopAsked, hear_parent, hear_signals
from ..process.file_lock import FileLock, LockHeld
from .apply import refuse_axes, refuse_values
from .axes import parse_axes, variations
from .cluster import cluster_pool, refuse_missing_library
from .folder import POSES_TABLE, SCENE_FILE, SHEET_PAGE, SHEET_TABLE, make_folders
from .local import local_pool
from .options import add_sweep_options, refuse_options
from .outcome import Standing, State
from .pool import PoolLost
from .results import Results
from .run import Progress, Sweep, bake_all
from .sheet import write_sheet

__all__ = ["main"]

PROGRAM = "stiction"


class Stop(Ending):
    """The stop request of a sweep. A second request ends this process, and with it all processes that it started."""

    def hasten(self) -> None:
        """Do not wait for the current steps."""
        os._exit(ExitStatus.FAILED)


def make_parser() -> Parser:
    parser = Parser(prog="python -m solver_core.sweep", description="Bakes variations of a scene snapshot.")
    parser.add_argument("snapshot", metavar="SNAPSHOT", help="the scene and the solver settings")
    parser.add_argument("folder", metavar="FOLDER", help="where the bakes and the sheet go; existing bakes in it are continued")
    add_sweep_options(parser)
    parser.add_argument("--take-snapshot", action="store_true", help="remove SNAPSHOT, a temporary file, once it is read")
    parser.add_argument("--parent-pipe", action="store_true", help="stop when standard input ends")
    parser.add_argument("--events", action="store_true", help="report everything as JSON, one object per line")
    return parser


class Voice:
    """Reports progress and results, as text or as events.

    If the reader of the output exits, it also closes standard input, which ends the sweep.
    """

    def __init__(self, as_events: bool = False):
        self._as_events = as_events

    def say(self, text: str) -> None:
        """Report a result."""
        self._tell("said", f"{PROGRAM}: {text}", text=text)

    def progress(self, text: str, share: float) -> None:
        """Report the progress. share: fraction of all frames."""
        self._tell("progress", f"{PROGRAM}: {text}", text=text, share=share)

    def failed(self, status: ExitStatus, message: str) -> ExitStatus:
        """Report an error. Returns the exit status."""
        self._tell("error", f"{PROGRAM}: error: {message}", text=message)
        return status

    def sheet(self, page: Path) -> None:
        """Report that the page is written."""
        self._tell("sheet", "", path=str(page))

    def _tell(self, event: str, line: str, **values: str | float) -> None:
        if self._as_events:
            with suppress(ListenerGone):
                emit(event, **values)
        elif line:
            tell(line, sys.stderr if event == "error" else sys.stdout)


def main(argv: Sequence[str]) -> int:
    """Run the command. argv: the command line without the program name. Returns the exit status."""
    stop, voice = Stop(), Voice()
    try:
        arguments = make_parser().parse_args(argv)
        voice = Voice(arguments.events)
        if arguments.parent_pipe:
            hear_parent(stop)
        return sweep(arguments, stop, voice)
    except (UsageError, ContainerError) as error:
        return voice.failed(ExitStatus.BAD_INPUT, str(error))
    except OSError as error:
        return voice.failed(status_of(error), str(error))
    except PoolLost as error:
        return voice.failed(ExitStatus.FAILED, f"{error}\nfinished frames are in caches; the same command goes on after them")
    except LockHeld as holder:
        return voice.failed(ExitStatus.FAILED, f"another sweep is at work in this folder: {holder}")
    except StopAsked as reason:
        return voice.failed(ExitStatus.FAILED, f"stopped ({reason}); the same command goes on after the frames so far")
    except SystemExit:
        # argparse exits after --help.
        return ExitStatus.DONE


def sweep(arguments: argparse.Namespace, stop: Stop, voice: Voice) -> ExitStatus:
    """Bake all variations, write the sheet. Raises UsageError, ContainerError, OSError, PoolLost, LockHeld or StopAsked."""
    refuse_options(arguments)
    within = arguments.stands_within
    bound = Standing() if within is None else Standing(1e-3 * within[0], math.radians(within[1]))
    if arguments.scheduler:
        refuse_missing_library()
    axes = parse_axes(arguments.vary)
    wanted = variations(axes)
    try:
        spec, settings = read_snapshot(arguments.snapshot)
    finally:
        if arguments.take_snapshot:
            Path(arguments.snapshot).unlink(missing_ok=True)
    refuse_axes(spec, axes)
    refuse_values(spec, settings, axes, arguments.nudge)
    folder = Path(arguments.folder).resolve()
    make_folders(folder)
    for name, kind in ((SHEET_PAGE, PAGE), (SHEET_TABLE, TABLE), (POSES_TABLE, TABLE)):
        refuse_output(folder / name, kind)
    lock = FileLock.acquire(folder / "sweep")
    try:
        write_snapshot(folder / SCENE_FILE, spec, settings)
        hear_signals(stop)
        scene = file_digest(folder / SCENE_FILE)
        processes = min(arguments.workers or os.cpu_count() or 1, len(wanted))
        records: SimpleQueue[Mapping[str, Any]] = SimpleQueue()
        cluster = arguments.scheduler
        workers = cluster_pool(cluster, str(folder), scene, records.put) if cluster else local_pool(processes, records.put)
        with workers as pool:
            progress = Progress(len(wanted), spec.frame_end - spec.frame_start + 1)
            work = Sweep(folder, scene, wanted, arguments.nudge, arguments.threads)
            outcomes = bake_all(pool, work, progress, records, stop, voice.progress)
        results = Results(spec, axes, wanted, outcomes, bound)
        try:
            write_sheet(folder, results)
        except OSError as error:
            advice = "finished frames are in their caches; make room, and the same command goes on"
            return voice.failed(ExitStatus.FAILED, f"the sheet could not be written: {error}\n{advice}")
    finally:
        lock.release()
    voice.sheet(folder / SHEET_PAGE)
    return told(results, folder, voice)


def told(results: Results, folder: Path, voice: Voice) -> ExitStatus:
    """Report the results. Returns the exit status."""
    outcomes, missed = results.outcomes, results.count(State.MISSED)
    bad = [outcome for outcome in outcomes if outcome.state is State.FAILED]
    before = sum(outcome.state is not State.FAILED and not outcome.baked for outcome in outcomes)
    notes = [f"{before} of them by an earlier run"] if before else []
    notes += [f"{missed} with unconverged steps"] if missed else []
    summary = f"{len(outcomes) - len(bad)} of {len(outcomes)} variations are baked"
    voice.say(f"{', '.join([summary, *notes])}; {folder / SHEET_PAGE}")
    if bad:
        more = f"\nand {len(bad) - 1} more, see the sheet" if len(bad) > 1 else ""
        return voice.failed(
            ExitStatus.FAILED, f"{len(bad)} variations failed; the same command tries them again:\n{bad[0].said}{more}"
        )
    return ExitStatus.MISSED_TOLERANCE if missed else ExitStatus.DONE


if __name__ == "__main__":
    prepare_streams()
    status = main(sys.argv[1:])
    flush_output()
    sys.exit(status)
