# SPDX-License-Identifier: GPL-3.0-or-later
"""Export of the open scene to a file of another tool, and import."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import bpy
from bpy.types import Collection, Context

from ...solver_core.interchange.described import Found
from ...solver_core.interchange.files import read, write
from ..bake.worker import WorkerError, find_python
from .build import build
from .describe import describe

__all__ = ["give_out", "take_in"]


def give_out(context: Context, file: Path, *, instances: bool = False) -> Found:
    """Write the scene; returns what of it is left out. Raises SceneError and OSError, and leaves what was there then."""
    find_usd()
    found = Found()
    write(describe(context, found), file, found, instances=instances)
    return found


def take_in(context: Context, file: Path, *, with_settings: bool = True) -> tuple[Collection, Found]:
    """Add what the file has; returns it in its collection, and what is left out. Raises SceneError and OSError.

    Nothing is added when something is raised.
    """
    find_usd()
    found = Found()
    made = build(context, read(file, found, script_command()), file.stem, found, with_settings=with_settings)
    return made, found


def script_command() -> list[str]:
    """Return the command that runs a script with this Blender's OpenUSD: Blender itself without a window, because its Python
    alone does not find its libraries, or Python if Blender is a module of it.

    Raises OSError.
    """
    if bpy.app.binary_path:
        return [bpy.app.binary_path, "--background", "--factory-startup", "--python"]
    try:
        return [find_python(), "-s", "-P"]
    except WorkerError as error:
        raise FileNotFoundError(str(error)) from error


def find_usd() -> None:
    """Make Python find Blender's USD, which is needed only if Blender is a Python module."""
    expose = getattr(bpy.utils, "expose_bundled_modules", None)
    if expose is not None and importlib.util.find_spec("pxr") is None:
        expose()
