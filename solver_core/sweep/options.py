# SPDX-License-Identifier: GPL-3.0-or-later
"""The command-line options of a sweep, shared by `python -m solver_core.sweep` and `stiction sweep`."""

from __future__ import annotations

import argparse
import math

from ..process.command_line import Parser, UsageError
from ..threads.count import MOST_ASKED

__all__ = ["add_sweep_options", "as_arguments", "refuse_options"]

# m/s; lifts no body by more than 5 micrometers
DEFAULT_NUDGE = 0.01


def add_sweep_options(parser: Parser) -> None:
    """Add the options for the axes and for the processes that bake."""
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="[OBJECT:]FIELD=VALUES",
        help="an axis; VALUES are A,B,C or FIRST:LAST:N or FIRST:LAST; can be given more than once",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, metavar="N", help="processes of this machine (default: one per processor)")
    where.add_argument("--scheduler", metavar="ADDRESS", help="a dask.distributed scheduler, such as tcp://10.0.0.2:8786")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of each bake (default: 1)")
    parser.add_argument(
        "--nudge",
        type=float,
        default=DEFAULT_NUDGE,
        metavar="SPEED",
        help="largest speed in m/s with which a seed pushes each active body at the start",
    )
    parser.add_argument(
        "--stands-within",
        type=float,
        nargs=2,
        metavar=("MM", "DEGREES"),
        help="how far a standing body may move and turn (default: a tenth of its size, and 10 degrees)",
    )


def as_arguments(arguments: argparse.Namespace) -> list[str]:
    """Return the options as command-line arguments for another process."""
    options = [f"--vary={axis}" for axis in arguments.vary]
    for name in ("workers", "scheduler", "threads", "nudge"):
        value = getattr(arguments, name)
        options += [] if value is None else [f"--{name}={value}"]
    if arguments.stands_within is not None:
        options += ["--stands-within", *map(str, arguments.stands_within)]
    return options


def refuse_options(arguments: argparse.Namespace) -> None:
    """Raise UsageError for numbers that make no sense."""
    if arguments.workers is not None and arguments.workers < 1:
        raise UsageError(f"--workers: {arguments.workers} is less than 1")
    if not 0 <= arguments.threads <= MOST_ASKED:
        raise UsageError(f"--threads: {arguments.threads} is not between 0, for one per processor, and {MOST_ASKED}")
    if not 0.0 <= arguments.nudge < math.inf:
        raise UsageError(f"--nudge: {arguments.nudge:g} must be 0 or more and finite")
    if arguments.stands_within is not None:
        millimetres, degrees = arguments.stands_within
        if not (0.0 <= millimetres < math.inf and 0.0 <= degrees < math.inf):
            raise UsageError(f"--stands-within: {millimetres:g} mm and {degrees:g} degrees must be 0 or more and finite")
