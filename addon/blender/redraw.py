# SPDX-License-Identifier: GPL-3.0-or-later
"""Redraws of our panels and drawings without a user event."""

from __future__ import annotations

import bpy

__all__ = ["redraw", "redraw_views"]

PANELS = ("PROPERTIES", "DOPESHEET_EDITOR")
VIEWS = ("VIEW_3D", "DOPESHEET_EDITOR")


def redraw() -> None:
    """Redraw the editors with panels or strips of the add-on."""
    redraw_areas(PANELS)


def redraw_views() -> None:
    """Redraw the editors in which the add-on draws its overlays."""
    redraw_areas(VIEWS)


def redraw_areas(editors: tuple[str, ...]) -> None:
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type in editors:
                area.tag_redraw()
