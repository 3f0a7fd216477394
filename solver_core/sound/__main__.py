# SPDX-License-Identifier: GPL-3.0-or-later
"""The sound of a bake: python -m solver_core.sound SNAPSHOT CACHE FILE

FILE.csv is a table of the hits and scrapes, FILE.wav what they sound like. The bake must have kept its contacts.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence

import numpy as np

from ..io.bake_command import bake_parser, run_on_bake
from ..process.command_line import UsageError
from ..process.console import prepare_streams, tell
from .synthesis import SoundOrder
from .write import write_sound

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Write what the command line `argv` (without the program's name) asks for; returns the exit status."""
    output = "FILE", "the sound to write, a name that ends with .wav, or the table, with .csv"
    parser = bake_parser("solver_core.sound", "Writes the sound of a bake, or its contact events.", output)
    parser.add_argument("--material", action="append", default=[], metavar="BODY=NAME", help="what a body sounds like")
    parser.add_argument("--volume", action="append", default=[], metavar="BODY=FACTOR", help="how loud a body is, 1 by default")
    parser.add_argument(
        "--listener", type=float, nargs=3, metavar=("X", "Y", "Z"), help="in m; by default 1 m from all contacts"
    )
    default = SoundOrder()
    parser.add_argument("--scraping", type=float, default=default.scraping, help="share of the sliding power (%(default)s)")
    parser.add_argument(
        "--support-loss", type=float, default=default.support_loss, help="loss of supports and air (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=default.seed, help="of the random profiles of surfaces (%(default)s)")
    return run_on_bake(parser, argv, work)


def work(arguments: Namespace) -> None:
    """Write the file. Raises as `write_sound` does."""
    volumes = {}
    for body, value in (assigned("--volume", one) for one in arguments.volume):
        try:
            volumes[body] = float(value)
        except ValueError as error:
            raise UsageError(f"--volume: {value} is no number") from error
    listener = None if arguments.listener is None else np.array([arguments.listener])
    materials = dict(assigned("--material", one) for one in arguments.material)
    order = SoundOrder(materials, volumes, listener, arguments.scraping, arguments.support_loss, arguments.seed)
    written = write_sound(arguments.snapshot, arguments.cache, arguments.file, order)
    for body, why in written.without_modes.items():
        tell(f"{body} does not ring, it only clicks: {why}", sys.stderr)


def assigned(option: str, text: str) -> tuple[str, str]:
    """Return what stands before and after the last equals sign. Raises UsageError."""
    body, equals, value = text.rpartition("=")
    if not equals:
        raise UsageError(f"{option}: {text} is not of the form BODY=VALUE")
    return body, value


if __name__ == "__main__":
    prepare_streams()
    sys.exit(main(sys.argv[1:]))
