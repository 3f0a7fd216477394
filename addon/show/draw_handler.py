# SPDX-License-Identifier: GPL-3.0-or-later
"""Drawing into Blender's editors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy

__all__ = ["DrawHandler"]


class DrawHandler:
    """Makes Blender call a function whenever it draws an editor; without a window, nothing is drawn."""

    def __init__(self, space: str, stage: str) -> None:
        """Create a handler.

        space: type of the editor, such as SpaceView3D. stage: POST_VIEW for world coordinates, POST_PIXEL for pixels.
        """
        self._space, self._stage, self._handle = space, stage, None

    @property
    def is_added(self) -> bool:
        """True while Blender calls the function."""
        return self._handle is not None

    def add(self, draw: Callable[[], None]) -> None:
        """Call a function from now on."""
        if not bpy.app.background:
            self._handle = self._type().draw_handler_add(draw, (), "WINDOW", self._stage)

    def remove(self) -> None:
        """Call it no more."""
        if self._handle is not None:
            self._type().draw_handler_remove(self._handle, "WINDOW")
            self._handle = None

    def _type(self) -> Any:
        return getattr(bpy.types, self._space)
