# SPDX-License-Identifier: GPL-3.0-or-later
"""The console script `stiction`: Blender as a Python module, this add-on in it, and the same command as inside Blender.

Blender is loaded for the commands that open a scene. Help, what is refused at once and `solve` need none, and may run where
there is no bpy.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from ...solver_core import solve_file
from ...solver_core.process.command_line import ExitStatus, UsageError
from ...solver_core.process.console import prepare_streams, tell
from .options import PROGRAM, make_parser

__all__ = ["main"]

WITHOUT_BLENDER = "commands that open a scene need the Python module bpy, or run in Blender: blender -b FILE --command stiction"


def main() -> NoReturn:
    """Run the command line of this process, and end it with the exit status."""
    prepare_streams()
    argv = sys.argv[1:]
    try:
        command = make_parser().parse_args(argv).command
    except UsageError as error:
        tell(f"{PROGRAM}: {error}", sys.stderr)
        sys.exit(ExitStatus.BAD_INPUT)
    # argparse ends the process by itself after --help and --version
    if command == "solve":
        sys.exit(solve_file.run(argv[1:]))
    main_in_blender(argv)


def main_in_blender(argv: Sequence[str]) -> NoReturn:
    """Run a command in Blender, and end this process with the exit status."""
    try:
        import bpy

        from . import cli

        extension = importlib.import_module(__name__.rpartition(".addon.")[0])
        # An installed extension may have registered the same properties and operators already.
        is_there = hasattr(bpy.types.Scene, "stiction")
        if not is_there:
            extension.register()
    except BaseException as error:
        tell(f"{PROGRAM}: error: Blender cannot be loaded: {type(error).__name__}: {error}\n{WITHOUT_BLENDER}", sys.stderr)
        # Blender's own end, as a module, would wait for ever
        os._exit(ExitStatus.FAILED)
    try:
        status = cli.run(argv)
    except Exception as error:
        tell(f"{PROGRAM}: error: {type(error).__name__}: {error}", sys.stderr)
        status = ExitStatus.FAILED
    finally:
        # Blender 4.2 crashes at the end of the process when classes are still registered then.
        if not is_there:
            extension.unregister()
    end_at_once(status, bpy.app.tempdir)


def end_at_once(status: int, temporary: str) -> NoReturn:
    """End the process without Blender's own end: 4.2 may crash there after a bake was stopped, and the status would be lost;
    4.5 waits there for ever once it has opened a file, for a thread that is never notified. temporary: Blender's folder of
    temporary files."""
    for stream in (sys.stdout, sys.stderr):
        # nobody may read them any more
        with suppress(OSError, ValueError):
            stream.flush()
    shutil.rmtree(temporary, ignore_errors=True)
    os._exit(status)


if __name__ == "__main__":
    main()
