# SPDX-License-Identifier: GPL-3.0-or-later
"""`stiction bake`: bakes the open file to keyframes and writes it, with a report."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy

from ...solver_core.io.outputs import REPORT, write_output
from ...solver_core.process.command_line import ExitStatus, UsageError, status_of
from ..bake.job import Phase
from .messages import progress_since, say
from .options import capture_wanted, keys_wanted
from .outputs import refuse_blend, why_not_saved
from .processes import ended_by_signals

if TYPE_CHECKING:
    from ..bake.runner import Bake

__all__ = ["bake"]


def bake(arguments: argparse.Namespace) -> int:
    """Bake the open file to keyframes and write the output; returns the exit status."""
    # Imported only for a bake, because they load scipy and Blender starts faster without it.
    from ...solver_core.io.cache import CacheError
    from ..output.keyframes import commit

    report = None if arguments.report is None else Path(arguments.report).resolve()
    with ended_by_signals() as check:
        work = begun(arguments, report)
        if isinstance(work, ExitStatus):
            return work
        try:
            job = work.run(progress_since(time.monotonic()), check)
        except KeyboardInterrupt:
            say("ERROR", f"stopped{in_the_cache(work.kept)}")
            return ExitStatus.FAILED
    if job.phase not in (Phase.BAKED, Phase.MISSED):
        ends = {Phase.REFUSED: ExitStatus.BAD_INPUT, Phase.LOST: ExitStatus.CACHE_LOST}
        return ends.get(job.phase, ExitStatus.FAILED)
    output = Path(arguments.output).resolve()
    try:
        written = commit(bpy.context, keys_wanted(arguments))
        # The bake may have taken hours.
        refuse_blend(arguments.output)
        bpy.ops.wm.save_as_mainfile(filepath=str(output), check_existing=False)
    except (OSError, CacheError, RuntimeError, UsageError) as error:
        say("ERROR", f"{arguments.output} cannot be written: {why_not_saved(output, error)}{in_the_cache(work.kept)}")
        return ExitStatus.FAILED
    say("INFO", f"{written}, to {arguments.output}")
    try:
        add_warnings(report, work.extraction_warnings)
    except OSError as error:
        say("ERROR", f"the report could not be written: {error}")
        return ExitStatus.FAILED
    is_accepted = arguments.accept_unconverged or job.phase is Phase.BAKED
    return ExitStatus.DONE if is_accepted else ExitStatus.MISSED_TOLERANCE


def begun(arguments: argparse.Namespace, report: Path | None) -> Bake | ExitStatus:
    """Start the bake of the open file and return it. If it cannot start, report why and return the exit status."""
    from ...solver_core.io.cache import CacheError
    from ...solver_core.validation.findings import SceneError
    from ..bake.runner import begin, describe
    from ..bake.worker import WorkerError
    from ..blender.cooperative import at_once

    try:
        how = {"resume": arguments.resume, "keep_to": arguments.keep_to, "capture": capture_wanted(arguments)}
        return at_once(begin(bpy.context, say, report=report, **how))
    except SceneError as error:
        say("ERROR", describe(error.problems))
        write_refusal(report, describe(error.problems), error.problems)
        return ExitStatus.BAD_INPUT
    except (WorkerError, CacheError, OSError) as error:
        say("ERROR", f"the bake cannot start: {error}")
        write_refusal(report, str(error), ())
        if isinstance(error, OSError):
            return status_of(error)
        return ExitStatus.BAD_INPUT if isinstance(error, CacheError) else ExitStatus.FAILED


def in_the_cache(kept: int | None) -> str:
    return "" if kept is None else f"; frames up to {kept} are in the cache, --resume continues after them"


def write_refusal(report: Path | None, message: str, problems: Sequence[Any]) -> None:
    if report is None:
        return
    from ...solver_core.bake.report import error_report, report_bytes

    try:
        write_output(report, REPORT, report_bytes(error_report(message, problems)))
    except OSError as error:
        say("ERROR", f"the report could not be written: {error}")


def add_warnings(report: Path | None, warnings: Sequence[Any]) -> None:
    """Insert the warnings about the Blender scene before those of the worker. Raises OSError."""
    if report is None or not warnings:
        return
    from ...solver_core.bake.report import report_bytes

    content = json.loads(report.read_text(encoding="utf-8"))
    mine = [{"objects": list(w.objects), "field": w.field, "message": w.message} for w in warnings]
    write_output(report, REPORT, report_bytes({**content, "warnings": mine + content["warnings"]}))
