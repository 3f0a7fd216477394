# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages and reports of a bake that does not finish."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ..io.outputs import REPORT, write_output
from ..process.command_line import ExitStatus
from ..validation.findings import SceneProblem
from .events import emit
from .report import error_report, report_bytes

__all__ = ["fail", "stop_report", "stopped", "write_error_report"]


def stopped(last: int | None, reason: str, report: str | None) -> ExitStatus:
    """Print the event "stopped", and write the report if requested. Returns the exit status.

    last: the last frame; None before there is any. reason: why the bake stopped.
    """
    write_error_report(report, stop_report(last, reason))
    emit("stopped", frame=last, reason=reason)
    return ExitStatus.FAILED


def stop_report(last: int | None, reason: str) -> dict[str, Any]:
    """Return the report of a bake that was stopped after the frame `last`; None before there is any."""
    moment = "at its start" if last is None else f"after frame {last}"
    return error_report(f"stopped {moment} ({reason}); resume the bake to go on")


def fail(status: ExitStatus, message: str, report: str | None, problems: Iterable[SceneProblem] = ()) -> ExitStatus:
    """Print the event "error", and write the report if requested. Returns the exit status."""
    entry = error_report(message, problems)
    emit("error", message=message, problems=entry["problems"])
    write_error_report(report, entry)
    return status


def write_error_report(path: str | None, report: dict[str, Any]) -> None:
    """Write the report of an error if requested. A failure to write must not hide that error."""
    if path is None:
        return
    try:
        write_output(path, REPORT, report_bytes(report))
    except OSError as error:
        print(f"the report could not be written: {error}", file=sys.stderr)
