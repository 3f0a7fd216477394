# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a sweep, of `python -m solver_core.sweep` and of `stiction sweep` alike."""

from __future__ import annotations

import argparse
import math

from ..process.command_line import Parser, UsageError
from ..threads.count import MOST_ASKED

__all__ = ["add_sweep_options", "as_arguments", "refuse_options"]

# m/s: a push that lifts nothing by more than 5 micrometres.
DEFAULT_NUDGE = 0.01


def add_sweep_options(parser: Parser) -> None:
    """What is varied, and on what it is baked."""
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="[OBJECT:]FIELD=VALUES",
        help="an axis; VALUES are A,B,C or FIRST:LAST:N or FIRST:LAST; can be given more than once",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, metavar="N", help="processes of this machine; by default one a processor")
    where.add_argument("--scheduler", metavar="ADDRESS", help="of a dask.distributed cluster, such as tcp://10.0.0.2:8786")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of each bake; by default 1")
    parser.add_argument(
        "--nudge",
        type=float,
        default=DEFAULT_NUDGE,
        metavar="SPEED",
        help="m/s at most, by which a seed pushes each active body as the scene begins",
    )
    parser.add_argument(
        "--stands-within",
        type=float,
        nargs=2,
        metavar=("MM", "DEGREES"),
        help="how far from where it began a body may end and still stand; by default a tenth of its size, and 10 degrees",
    )


def as_arguments(arguments: argparse.Namespace) -> list[str]:
    """The options as they are given to another process."""
    given = [f"--vary={axis}" for axis in arguments.vary]
    for name in ("workers", "scheduler", "threads", "nudge"):
        value = getattr(arguments, name)
        given += [] if value is None else [f"--{name}={value}"]
    if arguments.stands_within is not None:
        given += ["--stands-within", *map(str, arguments.stands_within)]
    return given


def refuse_options(arguments: argparse.Namespace) -> None:
    """Raise UsageError for numbers that make no sense."""
    if arguments.workers is not None and arguments.workers < 1:
        raise UsageError(f"--workers: {arguments.workers} is less than 1")
    if not 0 <= arguments.threads <= MOST_ASKED:
        raise UsageError(f"--threads: {arguments.threads} is not between 0, for one a processor, and {MOST_ASKED}")
    if not 0.0 <= arguments.nudge < math.inf:
        raise UsageError(f"--nudge: {arguments.nudge:g} is not 0 or more, and finite")
    if arguments.stands_within is not None:
        millimetres, degrees = arguments.stands_within
        if not (0.0 <= millimetres < math.inf and 0.0 <= degrees < math.inf):
            raise UsageError(f"--stands-within: {millimetres:g} mm and {degrees:g} degrees have to be 0 or more, and finite")
