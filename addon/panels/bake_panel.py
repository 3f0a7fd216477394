# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a bake in panels and the timeline: progress, result, changes since the bake, and problems."""

from __future__ import annotations

import bpy
from bpy.types import Context, UILayout

from ..bake.fingerprint import ONLY_THE_END
from ..blender.label_wrapping import characters_in_row, draw_wrapped, shortened, wrapped
from ..blender.libraries import baked_elsewhere

__all__ = ["draw_bake", "draw_in_timeline"]

MOST_MESSAGES = 12
ROWS_OF_DETAILS = 4
# shown in unused rows during a bake
HINTS = ("Blender stays usable", "Esc stops the bake", "Frames so far are kept", "They play meanwhile")
HINTS_WHILE_READING = (
    "The scene is being read",
    "Esc cancels the bake",
    "Nothing has changed yet",
    "Baking runs in background",
)
MOST_CHANGES = 5


def draw_bake(layout: UILayout, context: Context, *, has_findings: bool = False) -> None:
    """Draw the buttons and the state of a bake. has_findings: True if the findings of a check are shown below."""
    session, bake = context.window_manager.stiction, context.scene.stiction.bake
    if session.is_baking:
        row = layout.row(align=True)
        # the current activity; details are below
        text, _, more = session.status.partition(", ")
        row.progress(factor=session.factor, text=text)
        if not session.is_reading:
            row.operator("stiction.pause", text="", icon="PLAY" if session.is_paused else "PAUSE")
            row.operator("stiction.cancel", text="", icon="CANCEL")
        hints = HINTS_WHILE_READING if session.is_reading else HINTS
        draw_details(layout, session.details.splitlines() or [more], hints, characters_in_row(context))
    else:
        column = layout.column(align=True)
        row = column.row(align=True)
        is_longer = [change.name for change in changes_shown(context)] == [ONLY_THE_END]
        is_partial = bake.state == "CACHED" and (bake.last_frame < bake.frame_end or is_longer)
        row.operator("stiction.bake", text="Bake Again" if bake.state != "NONE" else "Bake", icon="PHYSICS").resume = False
        if has_findings:
            # Three buttons in a row would be cut at the default width.
            row.operator("stiction.check_scene")
        row = column.row(align=True)
        if is_partial:
            row.operator("stiction.bake", text="Resume").resume = True
        row.operator("stiction.free_bake")
        draw_from_here(column, context)
        column.operator("stiction.bake_to_keyframes", icon="KEYFRAME")
        draw_play(column, context)
        width = characters_in_row(context)
        draw_result(layout, context, width)
        if session.compiling:
            row = layout.row(align=True)
            row.progress(factor=session.compiling_factor, text="Compiling (first run only)")
            row.operator("stiction.stop_compiling", text="", icon="CANCEL")
            draw_compiling(layout.column(align=True), session.compiling, width)
    draw_messages(layout, context)


def draw_play(column: UILayout, context: Context) -> None:
    """Draw the button of the live simulation, and the last one of this scene."""
    session = context.window_manager.stiction
    column.operator("stiction.play", icon="PLAY")
    if session.take and session.take_scene == str(context.scene.session_uid):
        row = column.row(align=True)
        row.operator("stiction.keep_play", text=f"Keep {session.take.partition(',')[0].capitalize()}", icon="FILE_TICK")


def draw_details(layout: UILayout, lines: list[str], hints: tuple[str, ...], width: int) -> None:
    """Draw the progress of a bake in a constant number of rows, so that the layout below does not move."""
    column = layout.column(align=True)
    # Several lines have one row each; a single line may take several rows.
    rows = [shortened(line, width) for line in lines] if len(lines) > 1 else wrapped(" ".join(lines), width)
    for row in (*rows, *(shortened(hint, width) for hint in hints))[:ROWS_OF_DETAILS]:
        column.label(text=row, icon="BLANK1")


def draw_compiling(column: UILayout, text: str, width: int) -> None:
    """Draw the progress of compiling in two rows at any count, so that the layout below does not move."""
    progress, _, part = text.partition("; now ")
    for row in (progress, part[:1].upper() + part[1:] or HINTS[0]):
        column.label(text=shortened(row, width), icon="BLANK1")


def draw_from_here(column: UILayout, context: Context) -> None:
    """Draw the button that bakes the rest from the current frame, if the scene has changed since the bake."""
    bake, frame, found = context.scene.stiction.bake, context.scene.frame_current, changes_shown(context)
    is_there = bake.state == "CACHED" and bake.frame_start <= frame <= bake.last_frame
    if is_there and found and not any(change.is_lost for change in found):
        column.operator("stiction.bake", text=f"Keep to {frame}, Bake the Rest").from_here = True


def draw_result(layout: UILayout, context: Context, width: int) -> None:
    bake = context.scene.stiction.bake
    if bake.state == "NONE":
        draw_bakes_of_other_files(layout, context, width)
        return
    found = changes_shown(context)
    where = "Keyframes at" if bake.state == "KEYED" else "Cached"
    column = layout.column(align=True)
    if any(change.is_lost for change in found):
        draw_wrapped(column, found[0].name, "ERROR", width)
        column.operator("stiction.find_frames", icon="VIEWZOOM")
        return
    column.label(text=f"{where} frames {bake.frame_start} to {bake.last_frame}", icon="ERROR" if found else "CHECKMARK")
    if found:
        draw_outdated(column, bake, [change.name for change in found], width)
    for line in bake.earlier.splitlines():
        draw_wrapped(column, line, "INFO", width)
    if bake.last_frame < bake.frame_end:
        column.label(text=f"Stopped before frame {bake.frame_end}", icon="INFO")
    if bake.missed_steps:
        steps = "1 step" if bake.missed_steps == 1 else f"{bake.missed_steps} steps"
        column.label(text=f"{steps} did not converge", icon="ERROR")
    else:
        column.label(text="Every step converged", icon="CHECKMARK")
    if bake.moving:
        draw_wrapped(column, f"Up to {bake.moving} bodies in large moving islands, within Moving Tolerance", "INFO", width)
    if bake.overlap:
        icon = "ERROR" if bake.overlap_is_visible else "CHECKMARK"
        draw_wrapped(column, f"Deepest overlap: {bake.overlap}", icon, width)


def draw_bakes_of_other_files(layout: UILayout, context: Context, width: int) -> None:
    there = baked_elsewhere(context.scene)
    if there:
        bodies = f"{there[0].name} has" if len(there) == 1 else f"{len(there)} bodies have"
        text = f"{bodies} a bake from another file. Bake uses the state before it, Free Bake restores that state"
        draw_wrapped(layout.column(align=True), text, "INFO", width)


def changes_shown(context: Context) -> list[bpy.types.PropertyGroup]:
    """Return the known changes in the scene since its bake."""
    if context.scene.stiction.bake.state == "NONE":
        return []
    return [change for change in context.window_manager.stiction.changes if change.scene == context.scene.name_full]


def draw_outdated(column: UILayout, bake: bpy.types.PropertyGroup, lines: list[str], width: int) -> None:
    draw_wrapped(column, "Outdated. Changed since the bake:", "BLANK1", width)
    for line in lines[:MOST_CHANGES]:
        draw_wrapped(column, line, "DOT", width)
    if len(lines) > MOST_CHANGES:
        column.label(text=f"and {len(lines) - MOST_CHANGES} more", icon="BLANK1")
    if lines == [ONLY_THE_END] and bake.state == "CACHED":
        draw_wrapped(column, f"Resume from frame {bake.last_frame}", "INFO", width)
    else:
        draw_wrapped(column, f"Bake again from frame {bake.frame_start}, or the rest from any frame", "INFO", width)


def draw_in_timeline(self: bpy.types.Header, context: Context) -> None:
    """Draw a notice in the timeline if the displayed frames of bodies are outdated."""
    found = changes_shown(context) if context.scene is not None else []
    if found and context.space_data.mode == "TIMELINE":
        self.layout.label(text="Bake lost" if any(change.is_lost for change in found) else "Bake outdated", icon="ERROR")


def draw_messages(layout: UILayout, context: Context) -> None:
    messages = context.window_manager.stiction.messages
    if not messages:
        return
    width = characters_in_row(context)
    box = layout.box().column(align=True)
    for message in list(messages)[:MOST_MESSAGES]:
        draw_wrapped(box, message.name, "CANCEL" if message.is_error else "ERROR", width)
    if len(messages) > MOST_MESSAGES:
        box.label(text=f"and {len(messages) - MOST_MESSAGES} more, see the Info editor", icon="BLANK1")
    box.operator("stiction.open_manual", text="Troubleshooting", icon="HELP").page = "docs/troubleshooting.html"
