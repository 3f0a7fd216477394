# SPDX-License-Identifier: GPL-3.0-or-later
"""Export of the open scene to a file of another tool, and import."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import bpy
from bpy.types import Collection, Context

from ...solver_core.interchange.described import Found
from ...solver_core.interchange.files import read, write
from ...solver_core.validation.findings import SceneError, SceneProblem
from ..bake.worker import WorkerError, find_python
from .build import build
from .describe import describe

__all__ = ["export_scene", "import_scene"]


def export_scene(context: Context, file: Path, *, instances: bool = False) -> Found:
    """Write the scene to a file and return the warnings about it. Raises SceneError and OSError; the file is then as before."""
    find_usd()
    found = Found()
    write(describe(context, found), file, found, instances=instances)
    return found


def import_scene(context: Context, file: Path, *, with_settings: bool = True) -> tuple[Collection, Found]:
    """Add the bodies and joints of a file. Returns their collection, and the warnings about them.

    Raises SceneError and OSError. Nothing is added then.
    """
    find_usd()
    found = Found()
    scene = read(file, found, script_command())
    try:
        return build(context, scene, file.stem, found, with_settings=with_settings), found
    except SceneError:
        raise
    except (OverflowError, ValueError) as error:
        message = f"a value is outside of Blender's range ({error}); correct it in the file"
        raise SceneError((SceneProblem(str(file), "file", message),)) from error


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
