# SPDX-License-Identifier: GPL-3.0-or-later
"""The bricks of the active flexible object in the 3D viewport."""

from __future__ import annotations

from typing import Any

import bpy
import gpu
import numpy as np
from bpy.types import Mesh, Object
from gpu_extras.batch import batch_for_shader
from numpy.typing import NDArray

from ..blender.rotations import nearest_rotation
from ..settings.object_properties import may_bend
from .draw_handler import DrawHandler

__all__ = ["edges_of", "register", "unregister"]

NO_EDGES = np.zeros((0, 2, 3))
COLOUR = (1.0, 0.55, 0.1, 0.8)
LINE_PIXELS = 1.0


class Overlay:
    """The drawing, cached until its inputs change."""

    handler = DrawHandler("SpaceView3D", "POST_VIEW")
    drawn: tuple[Any, Any] | None = None


def edges_of(ob: Object) -> NDArray[np.float64]:
    """Return the outer edges of the bricks of a flexible object in the world (k, 2, 3); none if it cannot bend."""
    # Imported here because scipy takes a second to load.
    from ...solver_core.deformable.voxels import brick_grid, surface_edges
    from ...solver_core.geometry.surfaces import mesh_surface
    from ..read.shapes import ShapeError, raw_mesh, signed_volume

    world = np.array(ob.matrix_world)
    rotation = nearest_rotation(world[:3, :3])
    try:
        raw = raw_mesh(ob.data)
    except ShapeError:
        return NO_EDGES
    vertices = raw.vertices @ (rotation.T @ world[:3, :3]).T
    # Inside-out meshes are flipped, as for the bake.
    inside_out = signed_volume(vertices, raw.triangles) < 0.0
    surface = mesh_surface(vertices, raw.triangles[:, ::-1] if inside_out else raw.triangles)
    try:
        edges = surface_edges(brick_grid(surface, ob.stiction.resolution))
    except ValueError:
        # Check Scene reports the problem.
        return NO_EDGES
    return edges @ rotation.T + world[:3, 3]


def draw() -> None:
    """Draw the bricks into the viewport that Blender draws."""
    context = bpy.context
    scene, ob = context.scene, context.active_object
    if not scene.stiction_display.show_grid or not context.space_data.overlay.show_overlays:
        return
    if ob is None or ob.mode == "EDIT" or not isinstance(ob.data, Mesh) or not may_bend(ob) or not ob.stiction.use_flexible:
        return
    key = look_of(ob)
    shader = gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR")
    if Overlay.drawn is None or Overlay.drawn[0] != key:
        edges = edges_of(ob).reshape(-1, 3).astype(np.float32)
        Overlay.drawn = key, batch_for_shader(shader, "LINES", {"pos": edges}) if len(edges) else None
    lines = Overlay.drawn[1]
    if lines is None:
        return
    depth_test = gpu.state.depth_test_get()
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_test_set("LESS_EQUAL")
    shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
    shader.uniform_float("lineWidth", LINE_PIXELS * context.preferences.system.ui_scale)
    shader.uniform_float("color", COLOUR)
    lines.draw(shader)
    gpu.state.depth_test_set(depth_test)
    gpu.state.blend_set("NONE")


def look_of(ob: Object) -> tuple[Any, ...]:
    """Return all inputs of the bricks."""
    places = np.empty(3 * len(ob.data.vertices), dtype=np.float32)
    ob.data.vertices.foreach_get("co", places)
    matrix = tuple(value for row in ob.matrix_world for value in row)
    return ob.session_uid, ob.stiction.resolution, matrix, len(ob.data.polygons), hash(places.tobytes())


def register() -> None:
    """Draw where there is a window to draw in."""
    Overlay.handler.add(draw)


def unregister() -> None:
    """Draw no more."""
    Overlay.handler.remove()
    Overlay.drawn = None
