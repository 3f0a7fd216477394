# SPDX-License-Identifier: GPL-3.0-or-later
"""What is drawn into Blender's editors beside what Blender draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy

__all__ = ["DrawHandler"]


class DrawHandler:
    """Has Blender call a function whenever it draws an editor; where there is no window nothing is ever drawn."""

    def __init__(self, space: str, stage: str) -> None:
        """space: the type of the editor, as SpaceView3D. stage: POST_VIEW for places in the scene, POST_PIXEL for pixels."""
        self._space, self._stage, self._handle = space, stage, None

    @property
    def is_added(self) -> bool:
        """Whether Blender calls a function."""
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
