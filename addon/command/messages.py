# SPDX-License-Identifier: GPL-3.0-or-later
"""Output of the command line: messages by level, warnings, and the progress of a bake."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from ...solver_core.process.console import one_line, tell
from ...solver_core.scene.spec import SceneWarning
from ...solver_core.scene.words import duration
from ...solver_core.validation.findings import first_few
from ..bake.job import Job
from .options import PROGRAM

__all__ = ["progress_since", "say", "say_warnings"]


def say(level: str, text: str) -> None:
    """Print a message: errors to the error stream, all else to the output. level: INFO, WARNING or ERROR."""
    prefix = {"WARNING": "warning: ", "ERROR": "error: "}.get(level, "")
    tell(f"{PROGRAM}: {prefix}{text}", sys.stderr if level == "ERROR" else sys.stdout)


def say_warnings(warnings: Sequence[SceneWarning]) -> None:
    """Print warnings, those of the same words together."""
    from ...solver_core.interchange.described import together

    for warning in together(warnings):
        say("WARNING", one_line(f"{first_few(warning.objects)}: {warning.field}: {warning.message}"))


def progress_since(begin: float) -> Callable[[Job], None]:
    """Return a function that prints the progress of a job that started at this time, with the elapsed and remaining time."""

    def tell_progress(job: Job) -> None:
        if not job.is_over:
            pace, last = job.progress.seconds_a_frame, job.last_frame
            time_left = "" if pace is None or last is None else f", about {duration(pace * (job.frame_end - last))} left"
            so_far = duration(time.monotonic() - begin)
            tell(f"{PROGRAM}: {100.0 * job.factor:3.0f} %  {job.status}, {so_far}{time_left}", sys.stdout)

    return tell_progress
