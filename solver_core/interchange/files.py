# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading and writing files of other tools, by the suffixes of their names. They are written completely or not at all."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType

from ..io.foreign import malformed_refused
from ..io.outputs import OutputKind, refuse_output
from ..validation.findings import SceneError, SceneProblem
from .described import Described, Found

__all__ = ["GLTF", "USD", "USD_PACKED", "read", "read_usd_here", "refuse_file", "write"]

USD = (".usd", ".usda", ".usdc")
# Only read.
USD_PACKED = (".usdz",)
GLTF = (".gltf", ".glb")
STAGE = OutputKind("a USD file", re.compile(rb"PXR-USDC|#usda "))
DOCUMENT = OutputKind("a glTF file", re.compile(rb"glTF|\s*\{"))


def read(file: Path, found: Found, python: Sequence[str] | None = None) -> Described:
    """Read a scene from a .usd, .usda, .usdc, .usdz, .gltf or .glb file.

    found: gets a warning for each feature that is left out. python: the command that runs a Python script, for the process that
    reads USD; by default the Python of this process.

    Returns the scene.

    Raises SceneError with all problems, each with the path of its prim or node, and OSError.
    """
    ending = file.suffix.lower()
    if ending not in (*USD, *USD_PACKED, *GLTF):
        wanted = ", ".join((*USD, *USD_PACKED, *GLTF))
        raise refusal(file, f"its name ends with {ending or 'nothing'}; it has to end with one of {wanted}")
    if not file.is_file():
        raise refusal(file, "there is no such file")
    if ending in GLTF:
        with malformed_refused("glTF file with rigid bodies", partial(refusal, file)):
            return module("gltf_read", file).read_document(file, found)
    from .usd_process import python_command, read_in_process

    return read_in_process(file, found, python_command() if python is None else python)


def read_usd_here(file: Path, found: Found) -> Described:
    """Read a USD file in this process, which a damaged file can end. Parameters and exceptions are those of `read`."""
    with malformed_refused("USD file with rigid bodies", partial(refusal, file)):
        return module("usd_read", file).read_stage(file, found)


def write(scene: Described, file: Path, found: Found, *, instances: bool = False) -> None:
    """Write a scene to a .usd, .usda, .usdc, .gltf or .glb file.

    found: gets a warning for each feature that the format lacks. instances: in USD, equal bodies become point instancers.

    Raises SceneError, PathRefused or OSError. An existing file is unchanged then.
    """
    refuse_file(file)
    ending = file.suffix.lower()
    # In the same folder, so that it can be renamed. It keeps the suffix, which determines the format.
    with tempfile.TemporaryDirectory(prefix=".stiction-", dir=file.parent) as folder:
        temporary = Path(folder, file.name)
        if ending in USD:
            module("usd_write", file).write_stage(scene, temporary, found, instances=instances)
        else:
            module("gltf_write", file).write_document(scene, temporary, found)
        for written in sorted(Path(folder).iterdir(), key=lambda one: one == temporary):
            os.replace(written, file.parent / written.name)


def refuse_file(file: Path) -> None:
    """Raise SceneError for an unknown suffix, and PathRefused or OSError if writing would destroy another file."""
    ending = file.suffix.lower()
    if ending not in (*USD, *GLTF):
        raise refusal(file, f"its name ends with {ending or 'nothing'}; it has to end with one of {', '.join((*USD, *GLTF))}")
    refuse_output(file, STAGE if ending in USD else DOCUMENT)


def module(name: str, file: Path) -> ModuleType:
    """Load a module of this package. Modules for USD need OpenUSD, which is large; Blender has it, but Python may not.

    Raises SceneError without OpenUSD. file: for its message.
    """
    try:
        return import_module(f".{name}", __package__)
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "pxr":
            raise
        message = "this Python has no OpenUSD; Blender's own has it, elsewhere install it with: pip install usd-core"
        raise refusal(file, message) from error


def refusal(file: Path, message: str) -> SceneError:
    return SceneError((SceneProblem(str(file), "file", message),))
