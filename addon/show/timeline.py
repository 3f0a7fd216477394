# SPDX-License-Identifier: GPL-3.0-or-later
"""A strip in the timeline that shows existing, outdated and missing frames of the bake."""

from __future__ import annotations

from typing import Any, NamedTuple

import bpy
import gpu
import numpy as np
from bpy.types import Context, Menu, Scene
from gpu_extras.batch import batch_for_shader

from ..bake.fingerprint import ONLY_THE_END
from .draw_handler import DrawHandler

__all__ = ["Strip", "register", "strips_of", "unregister"]

# Pixels at an interface scale of 1, as for Blender's own strips of point caches.
HEIGHT = 4.0
CACHED = (0.34, 0.71, 0.91, 0.9)
OUTDATED = (0.90, 0.62, 0.0, 0.9)
LOST = (0.84, 0.37, 0.0, 0.9)
MISSING = (0.34, 0.71, 0.91, 0.25)


class Strip(NamedTuple):
    """Frames of one kind: the first and the last."""

    first: int
    last: int
    colour: tuple[float, float, float, float]


def strips_of(scene: Scene, changes: list[str], is_lost: bool) -> list[Strip]:
    """Return the strips of a scene's bake. changes: known changes since the bake. is_lost: the frames are not on disk."""
    bake = scene.stiction.bake
    # A new scene of Copy Settings has the record of another scene's bake, but no rigid body world.
    if bake.state != "CACHED" or scene.rigidbody_world is None:
        return []
    # If the scene is longer, only baked frames are shown.
    is_outdated = bool(changes) and changes != [ONLY_THE_END]
    strips = [Strip(bake.frame_start, bake.last_frame, LOST if is_lost else OUTDATED if is_outdated else CACHED)]
    if bake.last_frame < bake.frame_end:
        strips.append(Strip(bake.last_frame + 1, bake.frame_end, MISSING))
    return strips


class Timeline:
    """Draws the strips when Blender calls it."""

    handler = DrawHandler("SpaceDopeSheetEditor", "POST_PIXEL")


def draw() -> None:
    """Draw the strips into the editor that Blender draws."""
    context = bpy.context
    scene = context.scene
    if scene is None or not scene.stiction_display.show_frames or context.space_data.mode != "TIMELINE":
        return
    found = [one for one in context.window_manager.stiction.changes if one.scene == scene.name_full]
    strips = strips_of(scene, [one.name for one in found], any(one.is_lost for one in found))
    if strips:
        draw_strips(context, strips)


def draw_strips(context: Context, strips: list[Strip]) -> None:
    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    height = HEIGHT * context.preferences.system.ui_scale
    gpu.state.blend_set("ALPHA")
    for strip in strips:
        left, right = (context.region.view2d.view_to_region(x, 0.0, clip=False)[0] for x in (strip.first, strip.last + 1))
        corners = np.array([(left, 0.0), (right, 0.0), (right, height), (left, height)], dtype=np.float32)
        batch = batch_for_shader(shader, "TRIS", {"pos": corners}, indices=((0, 1, 2), (0, 2, 3)))
        shader.uniform_float("color", strip.colour)
        batch.draw(shader)
    gpu.state.blend_set("NONE")


def draw_option(self: Menu, context: Context) -> None:
    """Draw the option beside those of Blender's own caches."""
    self.layout.separator()
    self.layout.prop(context.scene.stiction_display, "show_frames", text="Stiction Bake")


def menu_of_caches() -> Any:
    """Return Blender's menu of the caches in the timeline, which has another name from 5.0 on."""
    return bpy.types.DOPESHEET_MT_cache if hasattr(bpy.types, "DOPESHEET_MT_cache") else bpy.types.TIME_MT_cache


def register() -> None:
    """Draw where there is a window to draw in."""
    menu_of_caches().append(draw_option)
    Timeline.handler.add(draw)


def unregister() -> None:
    """Draw no more."""
    Timeline.handler.remove()
    menu_of_caches().remove(draw_option)
