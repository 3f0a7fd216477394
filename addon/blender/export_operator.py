# SPDX-License-Identifier: GPL-3.0-or-later
"""Base of operators that write something about a bake to a file chosen in a dialog."""
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
    """Asks for a file, by default beside the .blend file and named after it, and writes it."""

    filepath: StringProperty(name="File", description="File to write", subtype="FILE_PATH", options={"SKIP_SAVE"})

    def ending(self) -> str:
        """The end of the proposed file name, after that of the .blend file."""
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
            message = self.write(context.scene, file)
        except (UsageError, OSError, CacheError, ContainerError) as error:
            self.report({"ERROR"}, f"{file} cannot be written: {error}")
            return {"CANCELLED"}
        self.report({"INFO"}, message)
        return {"FINISHED"}
