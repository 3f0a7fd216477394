# SPDX-License-Identifier: GPL-3.0-or-later
"""Text in panels as labels of several rows, for Blender would cut the middle out of one that is too long."""

from __future__ import annotations

import re
import textwrap

from bpy.types import Context, UILayout

__all__ = ["characters_in_row", "draw_wrapped", "shortened", "wrapped"]

# Of the panel's frame and icons, and of an average character, at the usual size of the interface.
MARGIN_PIXELS = 62
CHARACTER_PIXELS = 5.9
# The space between a number and its unit: both stay in one row.
BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:mm|m|s|min|h|kg|N|kB|MB|GB|%)(?!\w))")
NO_BREAK = "\N{NO-BREAK SPACE}"


def draw_wrapped(layout: UILayout, text: str, icon: str, width: int) -> None:
    """A label of several rows where one of so many characters is too short."""
    for line in wrapped(text, width):
        layout.label(text=line, icon=icon)
        icon = "BLANK1"


def wrapped(text: str, width: int) -> list[str]:
    """A text as rows of so many characters."""
    return textwrap.wrap(BEFORE_UNIT.sub(NO_BREAK, text), width)


def shortened(text: str, width: int) -> str:
    """A text as one row of so many characters at most."""
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def characters_in_row(context: Context) -> int:
    """About how many characters a label with an icon can show."""
    scale = context.preferences.system.ui_scale
    return max(16, int((context.region.width / scale - MARGIN_PIXELS) / CHARACTER_PIXELS))
