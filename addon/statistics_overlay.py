# SPDX-License-Identifier: GPL-3.0-or-later
"""Plots in the corner of the 3D viewport: residual, iterations, overlap and time over the frames, with the one that is shown.

A panel of Blender's cannot draw; a viewport can, crisply at any scale.
"""

from __future__ import annotations

from typing import Any

import blf
import bpy
import gpu
import numpy as np
from bpy.types import Context
from gpu_extras.batch import batch_for_shader

from .figures import MEASURES, BakeFigures, FrameFigures
from .plots import Axis, Box, axis_of, lines_of

__all__ = ["Plots", "register", "unregister"]

# In pixels of an interface that is not scaled.
WIDTH, HEIGHT, GAP, PAD, TEXT = 300.0, 44.0, 20.0, 12.0, 11.0
LINE_PIXELS = 1.5
# So much of a redraw may go into reading frames that were not read yet.
SECONDS_A_REDRAW = 0.01

BACKGROUND = (0.08, 0.08, 0.08, 0.75)
FRAME = (0.45, 0.45, 0.45, 0.6)
LINE = (0.34, 0.71, 0.91, 1.0)
LIMIT = (0.84, 0.37, 0.0, 0.9)
NOW = (1.0, 1.0, 1.0, 0.8)
WORDS = (0.9, 0.9, 0.9, 1.0)


class Plots:
    """What has been read, and the handle that Blender wants back."""

    handle: Any = None
    figures = BakeFigures()


def draw() -> None:
    """Draw the plots into the viewport that Blender draws."""
    context = bpy.context
    scene = context.scene
    if not scene.stiction_display.show_statistics or scene.stiction.bake.state == "NONE":
        return
    if not Plots.figures.read(scene, SECONDS_A_REDRAW):
        context.region.tag_redraw()
    # no step led to the first frame
    frames = Plots.figures.frames[1:]
    if not frames:
        return
    scale = context.preferences.system.ui_scale
    left = left_of_plots(context, scale)
    bottom = PAD * scale + visible_bottom(context)
    whole = Box(left, bottom, WIDTH * scale, (HEIGHT + GAP) * scale * len(MEASURES))
    gpu.state.blend_set("ALPHA")
    fill(Box(whole.x - PAD * scale / 2, whole.y - PAD * scale / 2, whole.width + PAD * scale, whole.height + PAD * scale))
    for row, (measure, title) in enumerate(MEASURES.items()):
        y = whole.y + (len(MEASURES) - 1 - row) * (HEIGHT + GAP) * scale
        draw_plot(Box(left, y, WIDTH * scale, HEIGHT * scale), measure, title, frames, scale)
    gpu.state.blend_set("NONE")


def left_of_plots(context: Context, scale: float) -> float:
    """The left edge of the plots, clear of the toolbar and the sidebar, which lie over the region."""
    spans = {region.type: region.width for region in context.area.regions if region.alignment in ("LEFT", "RIGHT")}
    if not context.preferences.system.use_region_overlap:
        spans = {}
    if context.scene.stiction_display.statistics_corner == "LEFT":
        return spans.get("TOOLS", 0) + 2.0 * PAD * scale
    return context.region.width - spans.get("UI", 0) - (WIDTH + 2.0 * PAD) * scale


def visible_bottom(context: Context) -> float:
    """The height of what lies over the region at its lower edge."""
    over = [r.height for r in context.area.regions if r.type in ("ASSET_SHELF", "ASSET_SHELF_HEADER") and r.height > 1]
    return float(sum(over))


def draw_plot(box: Box, measure: str, title: str, frames: list[FrameFigures], scale: float) -> None:
    scene = bpy.context.scene
    factor = 1e3 if measure == "overlap" else 1.0
    numbers = [one.frame for one in frames]
    values = [factor * getattr(one, measure) for one in frames]
    # that of the bake, unless it was changed since, which the panel says
    limit = scene.stiction.tolerance if measure == "residual" else None
    axis = axis_of(values, measure == "residual", limit)
    strokes(outline(box), FRAME, 1.0)
    if limit is not None:
        y = box.y + box.height * float(axis.share(np.array([limit]))[0])
        strokes([(box.x, y), (box.x + box.width, y)], LIMIT, 1.0)
    missed = [point for one in frames if one.missed for point in mark(box, one.frame, numbers)]
    if measure == "residual" and missed:
        strokes(missed, LIMIT, LINE_PIXELS * scale)
    strokes(lines_of(numbers, values, box, axis), LINE, LINE_PIXELS * scale)
    now = scene.frame_current
    if numbers[0] <= now <= numbers[-1]:
        x = box.at(now, numbers[0], numbers[-1])
        strokes([(x, box.y), (x, box.y + box.height)], NOW, 1.0)
    shown = next((value for number, value in zip(numbers, values, strict=True) if number == now), None)
    said = title if shown is None else f"{title}: {shown:.3g}"
    write(said, box.x, box.y + box.height + 4.0 * scale, scale)
    write(top_of(axis), box.x + box.width, box.y + box.height + 4.0 * scale, scale, right=True)


def outline(box: Box) -> list[tuple[float, float]]:
    right, top = box.x + box.width, box.y + box.height
    return [
        (box.x, box.y),
        (right, box.y),
        (right, box.y),
        (right, top),
        (right, top),
        (box.x, top),
        (box.x, top),
        (box.x, box.y),
    ]


def mark(box: Box, frame: int, numbers: list[int]) -> list[tuple[float, float]]:
    x = box.at(frame, numbers[0], numbers[-1])
    return [(x, box.y), (x, box.y + 0.15 * box.height)]


def top_of(axis: Axis) -> str:
    return f"{axis.top:.3g}"


def strokes(points: Any, colour: tuple[float, float, float, float], width: float) -> None:
    """Lines between each two points, in pixels."""
    shader = gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR")
    flat = np.asarray(points, dtype=np.float32).reshape(-1, 2)
    batch = batch_for_shader(shader, "LINES", {"pos": np.column_stack([flat, np.zeros(len(flat), np.float32)])})
    shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
    shader.uniform_float("lineWidth", width)
    shader.uniform_float("color", colour)
    batch.draw(shader)


def fill(box: Box) -> None:
    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    right, top = box.x + box.width, box.y + box.height
    corners = np.array([(box.x, box.y), (right, box.y), (right, top), (box.x, top)], dtype=np.float32)
    batch = batch_for_shader(shader, "TRIS", {"pos": corners}, indices=((0, 1, 2), (0, 2, 3)))
    shader.uniform_float("color", BACKGROUND)
    batch.draw(shader)


def write(text: str, x: float, y: float, scale: float, right: bool = False) -> None:
    blf.size(0, TEXT * scale)
    blf.color(0, *WORDS)
    blf.position(0, x - (blf.dimensions(0, text)[0] if right else 0.0), y, 0.0)
    blf.draw(0, text)


def register() -> None:
    """Draw where there is a window to draw in."""
    if not bpy.app.background:
        Plots.handle = bpy.types.SpaceView3D.draw_handler_add(draw, (), "WINDOW", "POST_PIXEL")


def unregister() -> None:
    """Draw no more."""
    if Plots.handle is not None:
        bpy.types.SpaceView3D.draw_handler_remove(Plots.handle, "WINDOW")
        Plots.handle = None
    Plots.figures.forget()
