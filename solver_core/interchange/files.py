# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of other tools by the endings of their names, written whole or not at all."""

from __future__ import annotations

import os
import re
import tempfile
from importlib import import_module
from pathlib import Path
from types import ModuleType

from ..io.outputs import OutputKind, refuse_output
from ..validation.findings import SceneError, SceneProblem
from .described import Described, Found

__all__ = ["GLTF", "USD", "USD_PACKED", "read", "refuse_file", "write"]

USD = (".usd", ".usda", ".usdc")
# what is read beside
USD_PACKED = (".usdz",)
GLTF = (".gltf", ".glb")
STAGE = OutputKind("a USD file", re.compile(rb"PXR-USDC|#usda "))
DOCUMENT = OutputKind("a glTF file", re.compile(rb"glTF|\s*\{"))


def read(file: Path, found: Found) -> Described:
    """The scene of a .usd, .usda, .usdc, .usdz, .gltf or .glb file; what is left out of it is added to `found`.

    Raises SceneError with all that is wrong, each with the path of its prim or node.
    """
    ending = file.suffix.lower()
    if ending in (*USD, *USD_PACKED):
        return module("usd_read", file).read_stage(file, found)
    if ending in GLTF:
        return module("gltf_read", file).read_document(file, found)
    raise refusal(
        file, f"its name ends with {ending or 'nothing'}; it has to end with one of {', '.join((*USD, *USD_PACKED, *GLTF))}"
    )


def write(scene: Described, file: Path, found: Found, *, instances: bool = False) -> None:
    """Write the scene to a .usd, .usda, .usdc, .gltf or .glb file; what has no place in it is added to `found`.

    instances: in USD, bodies that are alike become point instancers. Raises SceneError, PathRefused or OSError, and then leaves
    what was there as it was.
    """
    refuse_file(file)
    ending = file.suffix.lower()
    # beside it, so that it can take its place at once; what is written keeps the ending, by which its kind is chosen
    with tempfile.TemporaryDirectory(prefix=".stiction-", dir=file.parent) as folder:
        temporary = Path(folder, file.name)
        if ending in USD:
            module("usd_write", file).write_stage(scene, temporary, found, instances=instances)
        else:
            module("gltf_write", file).write_document(scene, temporary, found)
        for written in sorted(Path(folder).iterdir(), key=lambda one: one == temporary):
            os.replace(written, file.parent / written.name)


def refuse_file(file: Path) -> None:
    """Raise SceneError for a name that ends otherwise, and PathRefused or OSError where writing would destroy another file."""
    ending = file.suffix.lower()
    if ending not in (*USD, *GLTF):
        raise refusal(file, f"its name ends with {ending or 'nothing'}; it has to end with one of {', '.join((*USD, *GLTF))}")
    refuse_output(file, STAGE if ending in USD else DOCUMENT)


def module(name: str, file: Path) -> ModuleType:
    """A module of this folder, loaded when it is needed: USD's own is large, and Blender has it, but Python alone may not."""
    try:
        return import_module(f".{name}", __package__)
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "pxr":
            raise
        message = "this Python has no OpenUSD; Blender's own has it, elsewhere install it with: pip install usd-core"
        raise refusal(file, message) from error


def refusal(file: Path, message: str) -> SceneError:
    return SceneError((SceneProblem(str(file), "file", message),))
