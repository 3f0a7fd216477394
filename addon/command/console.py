# SPDX-License-Identifier: GPL-3.0-or-later
"""The console script `stiction`: loads Blender as a Python module and this add-on, and runs the same command as inside Blender.

Blender is loaded only for commands that open a scene. Help, usage errors and `solve` need no bpy.
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
    # argparse exits after --help and --version.
    if command == "solve":
        sys.exit(solve_file.run(argv[1:]))
    main_in_blender(argv)


def main_in_blender(argv: Sequence[str]) -> NoReturn:
    """Run a command in Blender, and end this process with the exit status."""
    try:
        import bpy

        from . import cli

        extension = importlib.import_module(__name__.rpartition(".addon.")[0])
        # An installed extension may already have registered the same properties and operators.
        is_there = hasattr(bpy.types.Scene, "stiction")
        if not is_there:
            extension.register()
    except BaseException as error:
        tell(f"{PROGRAM}: error: Blender cannot be loaded: {type(error).__name__}: {error}\n{WITHOUT_BLENDER}", sys.stderr)
        # As a module, Blender's own exit would wait forever.
        os._exit(ExitStatus.FAILED)
    try:
        status = cli.run(argv)
    except Exception as error:
        tell(f"{PROGRAM}: error: {type(error).__name__}: {error}", sys.stderr)
        status = ExitStatus.FAILED
    finally:
        # Blender 4.2 crashes at exit if classes are still registered.
        if not is_there:
            extension.unregister()
    end_at_once(status, bpy.app.tempdir)


def end_at_once(status: int, temporary: str) -> NoReturn:
    """Exit without Blender's own shutdown. Blender 4.2 may crash there after a stopped bake, and the status would be lost.
    Blender 4.5 waits forever after opening a file, for a thread that is never notified.

    temporary: Blender's folder of temporary files.
    """
    for stream in (sys.stdout, sys.stderr):
        # The reader of the output may have exited.
        with suppress(OSError, ValueError):
            stream.flush()
    shutil.rmtree(temporary, ignore_errors=True)
    os._exit(status)


if __name__ == "__main__":
    main()
