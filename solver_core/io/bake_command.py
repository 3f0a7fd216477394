# SPDX-License-Identifier: GPL-3.0-or-later
"""What commands have in common that write something of a bake: python -m MODULE SNAPSHOT CACHE FILE."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from ..process.command_line import ExitStatus, Parser, UsageError
from ..process.console import tell
from ..scene.spec import SceneSpec
from .cache import CacheError, FrameCacheReader
from .container import ContainerError
from .snapshot import file_digest, read_snapshot

__all__ = ["bake_of", "bake_parser", "run_on_bake"]


def bake_parser(module: str, description: str, file: tuple[str, str]) -> Parser:
    """Return the parser of a command, with the arguments `snapshot`, `cache` and `file`.

    Parameters
    ----------
    module : the name after python -m
    description : what the command does
    file : the name of its output in the help, and what it is
    """
    parser = Parser(prog=f"python -m {module}", description=description)
    parser.add_argument("snapshot", metavar="SNAPSHOT", type=Path, help="the snapshot of the bake")
    parser.add_argument("cache", metavar="CACHE", type=Path, help="its frame cache, with contacts")
    parser.add_argument("file", metavar=file[0], type=Path, help=file[1])
    return parser


def run_on_bake(parser: Parser, argv: Sequence[str], work: Callable[[Namespace], object]) -> int:
    """Parse a command line (without the program's name) and do the work; return the exit status and tell what is wrong."""
    try:
        work(parser.parse_args(argv))
    except (UsageError, OSError, CacheError, ContainerError) as error:
        tell(str(error), sys.stderr)
        return ExitStatus.BAD_INPUT
    return ExitStatus.DONE


def bake_of(snapshot: Path, cache: Path) -> tuple[SceneSpec, FrameCacheReader]:
    """Return a baked scene and the reader of its cache. Raises CacheError, ContainerError and OSError."""
    spec, _ = read_snapshot(snapshot)
    return spec, FrameCacheReader.of_snapshot(cache, spec, file_digest(snapshot))
