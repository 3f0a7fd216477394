# SPDX-License-Identifier: GPL-3.0-or-later
"""Text in panels as labels of several rows, because Blender cuts out the middle of a long label."""

from __future__ import annotations

import re
import textwrap

from bpy.types import Context, UILayout

__all__ = ["characters_in_row", "draw_wrapped", "shortened", "wrapped"]

# Widths of the panel's frame and icons, and of an average character, at the default interface scale.
MARGIN_PIXELS = 62
CHARACTER_PIXELS = 5.9
# The space between a number and its unit, which stay in one row.
BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:mm|m|s|min|h|kg|N|kB|MB|GB|%)(?!\w))")
NO_BREAK = "\N{NO-BREAK SPACE}"


def draw_wrapped(layout: UILayout, text: str, icon: str, width: int) -> None:
    """Draw a text as labels with at most this number of characters each."""
    for line in wrapped(text, width):
        layout.label(text=line, icon=icon)
        icon = "BLANK1"


def wrapped(text: str, width: int) -> list[str]:
    """Return a text as rows with at most this number of characters."""
    return textwrap.wrap(BEFORE_UNIT.sub(NO_BREAK, text), width)


def shortened(text: str, width: int) -> str:
    """Return a text as one row with at most this number of characters."""
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def characters_in_row(context: Context) -> int:
    """Return the approximate number of characters in a label with an icon."""
    scale = context.preferences.system.ui_scale
    return max(16, int((context.region.width / scale - MARGIN_PIXELS) / CHARACTER_PIXELS))
