# SPDX-License-Identifier: GPL-3.0-or-later
"""Plots in a corner of the 3D viewport: residual, iterations, overlap and time over the frames, with a mark at the current one.

Blender's panels cannot draw plots; a viewport can, sharply at any scale.
"""

from __future__ import annotations

from typing import Any

import blf
import bpy
import gpu
import numpy as np
from bpy.types import Context
from gpu_extras.batch import batch_for_shader

from ...solver_core.scene.words import figure
from ..blender.redraw import redraw_views
from ..output.bake_statistics import MEASURES, BakeFigures, FrameFigures
from .draw_handler import DrawHandler
from .plots import Axis, Box, axis_of, lines_of

__all__ = ["Plots", "register", "unregister"]

# Pixels at an interface scale of 1.
WIDTH, HEIGHT, GAP, PAD, TEXT = 300.0, 44.0, 20.0, 12.0, 11.0
LINE_PIXELS = 1.5
# s; time per redraw for reading new frames
SECONDS_A_REDRAW = 0.01

BACKGROUND = (0.08, 0.08, 0.08, 0.75)
FRAME = (0.45, 0.45, 0.45, 0.6)
LINE = (0.34, 0.71, 0.91, 1.0)
LIMIT = (0.84, 0.37, 0.0, 0.9)
NOW = (1.0, 1.0, 1.0, 0.8)
WORDS = (0.9, 0.9, 0.9, 1.0)

# Factors from the statistics to the units in the titles.
FACTORS = {"overlap": 1e3}
# Height of the marks of frames with an unconverged step, relative to the plot.
MARK = 0.15


class Plots:
    """The data read so far, the last lines, and their inputs."""

    handler = DrawHandler("SpaceView3D", "POST_PIXEL")
    figures = BakeFigures()
    drawn: tuple[Any, Any] | None = None


def draw() -> None:
    """Draw the plots into the viewport that Blender draws."""
    context = bpy.context
    scene = context.scene
    if not scene.stiction_display.show_statistics or scene.stiction.bake.state == "NONE":
        return
    if not Plots.figures.read(scene, SECONDS_A_REDRAW) and not bpy.app.timers.is_registered(redraw_views):
        # A redraw requested during drawing is ignored.
        bpy.app.timers.register(redraw_views, first_interval=SECONDS_A_REDRAW)
    # The first frame has no step.
    frames = Plots.figures.frames[1:]
    if not frames:
        return
    scale = context.preferences.system.ui_scale
    boxes = boxes_of_plots(left_of_plots(context, scale), PAD * scale + visible_bottom(context), scale)
    gpu.state.blend_set("ALPHA")
    fill(background_of(list(boxes.values()), PAD * scale / 2))
    # the tolerance of the bake, unless it was changed since, which the panel reports
    tolerance = scene.stiction.tolerance
    key = (tuple(frames[-1]), len(frames), tuple(boxes.values()), scale, tolerance)
    if Plots.drawn is None or Plots.drawn[0] != key:
        Plots.drawn = key, batch_of(*lines_of_plots(boxes, frames, tolerance))
    draw_lines(Plots.drawn[1], LINE_PIXELS * scale)
    now = scene.frame_current
    first, last = frames[0].frame, frames[-1].frame
    shown = frames[now - first] if first <= now <= last else None
    if shown is not None:
        marks = [(box.at(now, first, last), y) for box in boxes.values() for y in (box.y, box.y + box.height)]
        draw_lines(batch_of(marks, [NOW] * len(marks)), 1.0)
    for measure, box in boxes.items():
        factor = FACTORS.get(measure, 1.0)
        title = MEASURES[measure] if shown is None else f"{MEASURES[measure]}: {figure(factor * getattr(shown, measure))}"
        top = axis_of_measure(measure, frames, tolerance).top
        write(title, box.x, box.y + box.height + 4.0 * scale, scale)
        write(figure(top), box.x + box.width, box.y + box.height + 4.0 * scale, scale, right=True)
    gpu.state.blend_set("NONE")


def boxes_of_plots(left: float, bottom: float, scale: float) -> dict[str, Box]:
    """Return the areas of the plots, one above the other."""
    rows = enumerate(reversed(MEASURES))
    return {name: Box(left, bottom + row * (HEIGHT + GAP) * scale, WIDTH * scale, HEIGHT * scale) for row, name in rows}


def background_of(boxes: list[Box], pad: float) -> Box:
    left, bottom = min(box.x for box in boxes) - pad, min(box.y for box in boxes) - pad
    top = max(box.y + box.height for box in boxes) + GAP * boxes[0].height / HEIGHT
    return Box(left, bottom, boxes[0].width + 2.0 * pad, top - bottom)


def left_of_plots(context: Context, scale: float) -> float:
    """Return the left edge of the plots, beside the toolbar and the sidebar, which overlap the region."""
    spans = {region.type: region.width for region in context.area.regions if region.alignment in ("LEFT", "RIGHT")}
    if not context.preferences.system.use_region_overlap:
        spans = {}
    if context.scene.stiction_display.statistics_corner == "LEFT":
        return spans.get("TOOLS", 0) + 2.0 * PAD * scale
    return context.region.width - spans.get("UI", 0) - (WIDTH + 2.0 * PAD) * scale


def visible_bottom(context: Context) -> float:
    """Return the height of the overlapping areas at the lower edge of the region."""
    over = [r.height for r in context.area.regions if r.type in ("ASSET_SHELF", "ASSET_SHELF_HEADER") and r.height > 1]
    return float(sum(over))


def axis_of_measure(measure: str, frames: list[FrameFigures], tolerance: float) -> Axis:
    values = [FACTORS.get(measure, 1.0) * getattr(one, measure) for one in frames]
    return axis_of(values, measure == "residual", tolerance if measure == "residual" else None)


def lines_of_plots(boxes: dict[str, Box], frames: list[FrameFigures], tolerance: float) -> tuple[Any, Any]:
    """Return the ends of all lines except that of the current frame (2 n, 2) [pixels], and their colors (2 n, 4)."""
    numbers = [one.frame for one in frames]
    first, last = numbers[0], numbers[-1]
    points: list[Any] = []
    colours: list[tuple[float, float, float, float]] = []

    def add(ends: Any, colour: tuple[float, float, float, float]) -> None:
        points.extend(ends)
        colours.extend([colour] * len(ends))

    for measure, box in boxes.items():
        axis = axis_of_measure(measure, frames, tolerance)
        right, top = box.x + box.width, box.y + box.height
        corners = [(box.x, box.y), (right, box.y), (right, top), (box.x, top)]
        add([corner for k in range(4) for corner in (corners[k], corners[(k + 1) % 4])], FRAME)
        if measure == "residual":
            y = box.y + box.height * float(axis.share(np.array([tolerance]))[0])
            add([(box.x, y), (right, y)], LIMIT)
            missed = [box.at(one.frame, first, last) for one in frames if one.missed]
            add([(x, y) for x in missed for y in (box.y, box.y + MARK * box.height)], LIMIT)
        values = [FACTORS.get(measure, 1.0) * getattr(one, measure) for one in frames]
        add(lines_of(numbers, values, box, axis).tolist(), LINE)
    return points, colours


def batch_of(points: Any, colours: Any) -> Any:
    """Return a GPU batch of lines between pairs of points in pixels."""
    flat = np.asarray(points, dtype=np.float32)
    place = np.column_stack([flat, np.zeros(len(flat), np.float32)])
    shader = gpu.shader.from_builtin("POLYLINE_FLAT_COLOR")
    return batch_for_shader(shader, "LINES", {"pos": place, "color": np.asarray(colours, dtype=np.float32)})


def draw_lines(batch: Any, width: float) -> None:
    shader = gpu.shader.from_builtin("POLYLINE_FLAT_COLOR")
    shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
    shader.uniform_float("lineWidth", width)
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
    Plots.handler.add(draw)


def unregister() -> None:
    """Draw no more."""
    Plots.handler.remove()
    if bpy.app.timers.is_registered(redraw_views):
        bpy.app.timers.unregister(redraw_views)
    Plots.figures.forget()
    Plots.drawn = None
