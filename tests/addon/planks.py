# SPDX-License-Identifier: GPL-3.0-or-later
"""Boards that bend, for tests, and where Blender shows their vertices."""

from __future__ import annotations

import bpy
import numpy as np

from .objects import world_matrix


def plank_mesh(name: str = "Plank", cells: int = 6, half=(0.5, 0.15, 0.1)) -> bpy.types.Mesh:
    """A board whose long sides are divided, so that it can be seen to bend."""
    ring = [(y * half[1], z * half[2]) for y, z in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    vertices = [(half[0] * (2.0 * i / cells - 1.0), *corner) for i in range(cells + 1) for corner in ring]
    faces = [(3, 2, 1, 0), tuple(4 * cells + k for k in range(4))]
    for i in range(cells):
        faces += [(4 * i + k, 4 * i + (k + 1) % 4, 4 * i + 4 + (k + 1) % 4, 4 * i + 4 + k) for k in range(4)]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(vertices, [], faces)
    mesh.validate()
    return mesh


def make_flexible(ob: bpy.types.Object) -> None:
    """Soft, with three modes and few bricks."""
    own = ob.stiction
    own.use_flexible, own.young, own.modes, own.resolution = True, 10.0, 3, 20
    own.mass_source, own.density = "DENSITY", 1000.0


def in_world(ob: bpy.types.Object) -> np.ndarray:
    """Where the vertices are that Blender shows."""
    evaluated = ob.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", points)
    evaluated.to_mesh_clear()
    return np.column_stack([points.reshape(-1, 3), np.ones(len(points) // 3)]) @ world_matrix(ob)[:3].T
