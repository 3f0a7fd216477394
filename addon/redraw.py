# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows anew what our panels say, where no event of the user's would."""

from __future__ import annotations

import bpy

__all__ = ["redraw"]

EDITORS = ("PROPERTIES", "DOPESHEET_EDITOR")


def redraw() -> None:
    """Draw the editors that show something of ours."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type in EDITORS:
                area.tag_redraw()
