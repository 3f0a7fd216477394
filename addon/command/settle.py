# SPDX-License-Identifier: GPL-3.0-or-later
"""`stiction settle`: drops objects of the open file until they rest, and writes the file, with a report."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.types import Object

from ...solver_core.io.outputs import REPORT, write_output
from ...solver_core.process.command_line import ExitStatus, UsageError, status_of
from ...solver_core.process.console import tell
from ...solver_core.scene.words import duration
from ...solver_core.threads.count import MOST_ASKED
from ...solver_core.validation.findings import SceneProblem
from .messages import say
from .options import PROGRAM
from .outputs import refuse_blend, why_not_saved
from .processes import ended_by_signals

if TYPE_CHECKING:
    from ..settle.reading import Options

__all__ = ["settle"]


def settle(arguments: argparse.Namespace) -> int:
    """Settle objects of the open file and write the output; returns the exit status. Raises UsageError."""
    from ...solver_core.validation.findings import SceneError
    from ..bake.worker import WorkerError
    from ..blender.cooperative import at_once
    from ..settle.place import Bodies, place_settled
    from ..settle.reading import reading
    from ..settle.report import describe, report_bytes, summary, troubles
    from ..settle.work import Settling

    options, selected = options_of(arguments), objects_named(arguments.object)
    report = None if arguments.report is None else Path(arguments.report).resolve()
    context, begin = bpy.context, time.monotonic()
    with ended_by_signals() as check:
        try:
            drop = at_once(reading(context, selected, options))
            work = Settling(drop, options.max_seconds, arguments.threads)
            work.run(partial(tell_status, begin), check)
        except SceneError as error:
            return refused(report, describe(error.problems), error.problems)
        except (WorkerError, OSError) as error:
            say("ERROR", f"nothing settles: {error}")
            return status_of(error) if isinstance(error, OSError) else ExitStatus.FAILED
        except KeyboardInterrupt:
            say("ERROR", "stopped, and nothing was written")
            return ExitStatus.FAILED
    if work.outcome is None:
        say("ERROR", f"nothing settles: {work.error}")
        return ExitStatus.FAILED
    placed = place_settled(context, drop, work.outcome, Bodies(arguments.bodies), always=options.changes_start)
    for note in (*drop.notes, *placed.notes, *troubles(work.outcome, options.max_seconds)):
        say("WARNING", note)
    try:
        save(arguments.output)
        if report is not None:
            write_output(report, REPORT, report_bytes(drop, options, work.outcome, placed))
    except (OSError, RuntimeError, UsageError) as error:
        output = Path(arguments.output).resolve()
        say("ERROR", f"the output cannot be written: {why_not_saved(output, error)}")
        return ExitStatus.FAILED
    say("INFO", f"{summary(work.outcome, placed)}, to {arguments.output}")
    whole = len(work.outcome.resting) == len(work.outcome.poses) and not work.outcome.missed_steps
    return ExitStatus.DONE if whole or arguments.accept_unconverged else ExitStatus.MISSED_TOLERANCE


def tell_status(begin: float, status: str) -> None:
    """Print how far it is; `begin`, by the clock, it started."""
    tell(f"{PROGRAM}: {status}, {duration(time.monotonic() - begin)}", sys.stdout)


def options_of(arguments: argparse.Namespace) -> Options:
    """Return the requested options. Raises UsageError."""
    from ..settle.choice import LandOn
    from ..settle.reading import Options

    for option, value in (("--seconds", arguments.seconds), ("--distance", arguments.distance), ("--angle", arguments.angle)):
        if not (math.isfinite(value) and value >= 0.0):
            raise UsageError(f"{option}: {value} must be 0 or more and finite")
    if arguments.seconds == 0.0:
        raise UsageError("--seconds: 0 is too short")
    if arguments.seed < 0:
        raise UsageError(f"--seed: {arguments.seed} is below 0")
    if not 0 <= arguments.threads <= MOST_ASKED:
        raise UsageError(f"--threads: {arguments.threads} is not between 0, for one per processor, and {MOST_ASKED}")
    if arguments.gravity is not None and not all(map(math.isfinite, arguments.gravity)):
        raise UsageError("--gravity: all three numbers must be finite")
    return Options(
        land_on=LandOn(arguments.land_on),
        max_seconds=arguments.seconds,
        gravity=None if arguments.gravity is None else tuple(arguments.gravity),
        seed=arguments.seed,
        distance=arguments.distance,
        angle=math.radians(arguments.angle),
    )


def objects_named(names: Iterable[str]) -> list[Object]:
    """Return the objects of the open scene with these names. Raises UsageError."""
    objects = bpy.context.scene.objects
    missing = [name for name in names if name not in objects]
    if missing:
        raise UsageError(f"--object: the scene has no object {missing[0]!r}")
    return [objects[name] for name in names]


def refused(report: Path | None, message: str, problems: tuple[SceneProblem, ...]) -> int:
    """Report why nothing can settle. Returns the exit status."""
    from ..settle.report import refusal_bytes

    say("ERROR", message)
    if report is not None:
        try:
            write_output(report, REPORT, refusal_bytes(message, problems))
        except OSError as error:
            say("ERROR", f"the report could not be written: {error}")
    return ExitStatus.BAD_INPUT


def save(output: str) -> None:
    """Write the open file; raises OSError, RuntimeError and UsageError."""
    # The output may have changed since the first check.
    refuse_blend(output)
    bpy.ops.wm.save_as_mainfile(filepath=str(Path(output).resolve()), check_existing=False)
