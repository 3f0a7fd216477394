# SPDX-License-Identifier: GPL-3.0-or-later
"""The console script `stiction`: Blender as a Python module, this add-on in it, and the same command as inside Blender."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from contextlib import suppress
from typing import NoReturn

import bpy

from ...solver_core.process.command_line import ExitStatus
from ...solver_core.process.console import prepare_streams, tell
from . import cli

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line of this process, and end it with the exit status."""
    prepare_streams()
    extension = importlib.import_module(__name__.rpartition(".addon.")[0])
    # An installed extension may have registered the same properties and operators already.
    is_there = hasattr(bpy.types.Scene, "stiction")
    if not is_there:
        extension.register()
    try:
        status = cli.run(sys.argv[1:])
    except Exception as error:
        tell(f"stiction: error: {type(error).__name__}: {error}", sys.stderr)
        status = ExitStatus.FAILED
    finally:
        # Blender 4.2 crashes at the end of the process when classes are still registered then.
        if not is_there:
            extension.unregister()
    end_at_once(status)


def end_at_once(status: int) -> NoReturn:
    """End the process without Blender's own end: 4.2 may crash there after a bake was stopped, and the status would be lost;
    4.5 waits there for ever once it has opened a file, for a thread that is never notified."""
    for stream in (sys.stdout, sys.stderr):
        # nobody may read them any more
        with suppress(OSError, ValueError):
            stream.flush()
    shutil.rmtree(bpy.app.tempdir, ignore_errors=True)
    os._exit(status)


if __name__ == "__main__":
    main()
