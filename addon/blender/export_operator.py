# SPDX-License-Identifier: GPL-3.0-or-later
"""What operators have in common that write something of a bake to a file whose name a dialog asks for."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from pathlib import Path

import bpy
from bpy.props import StringProperty
from bpy.types import Context, Event, Operator, Scene

from ...solver_core.io.cache import CacheError
from ...solver_core.io.container import ContainerError
from ...solver_core.process.command_line import UsageError

__all__ = ["ExportOperator"]


class ExportOperator:
    """Asks for the file, beside the .blend file and named after it at first, and writes it."""

    filepath: StringProperty(name="File", description="File to write", subtype="FILE_PATH", options={"SKIP_SAVE"})

    def ending(self) -> str:
        """How the proposed name ends, after that of the .blend file."""
        raise NotImplementedError

    def write(self, scene: Scene, file: Path) -> str:
        """Write the file, and return what to say of it. Raises UsageError, OSError, CacheError or ContainerError."""
        raise NotImplementedError

    def invoke(self, context: Context, event: Event) -> set[str]:
        """Ask for the file."""
        stem = Path(bpy.data.filepath).stem or "untitled"
        self.filepath = str(Path(bpy.data.filepath).parent / f"{stem}-{self.ending()}")
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self: Operator, context: Context) -> set[str]:
        """Write it."""
        file = Path(bpy.path.abspath(self.filepath))
        try:
            said = self.write(context.scene, file)
        except (UsageError, OSError, CacheError, ContainerError) as error:
            self.report({"ERROR"}, f"{file} cannot be written: {error}")
            return {"CANCELLED"}
        self.report({"INFO"}, said)
        return {"FINISHED"}
