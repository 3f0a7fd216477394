# SPDX-License-Identifier: GPL-3.0-or-later
"""Cuts a solid into the parts that lie in convex cells, with the Boolean operations of manifold3d."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import manifold3d
import numpy as np
from numpy.typing import NDArray

from .cells import Cell
from .solid import FractureError, Solid

__all__ = ["Part", "cut"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Of the volume of the solid: smaller parts are rounding.
LEAST_PART = 1e-9
# Of the volume of the solid: the parts may differ from it by as much.
VOLUME_ERROR = 1e-6


@dataclass(frozen=True)
class Part:
    """A connected part of a solid within one cell.

    vertices: (n, 3) m. triangles: (t, 3). outer: (t,) the triangle of the solid of which each is a part, -1 for inner ones.
    inner: (t,) the face of the cell of which each is a part, -1 for outer ones. cell: its number. volume: m3.
    """

    vertices: Array
    triangles: Indices
    outer: Indices
    inner: Indices
    cell: int
    volume: float


def as_manifold(vertices: Array, triangles: Indices, face: Indices, number: int) -> manifold3d.Manifold:
    """A closed mesh for manifold3d, by which its triangles are known afterwards: by a reserved number, and face (t,)."""
    return manifold3d.Manifold(
        manifold3d.Mesh64(
            np.ascontiguousarray(vertices, dtype=np.float64),
            np.ascontiguousarray(triangles, dtype=np.uint64),
            run_index=np.array([0, 3 * len(triangles)], dtype=np.uint64),
            run_original_id=np.array([number], dtype=np.uint32),
            face_id=np.ascontiguousarray(face, dtype=np.uint64),
        )
    )


def solid_as_manifold(solid: Solid, number: int) -> manifold3d.Manifold:
    """The solid for manifold3d, with a reserved number. Raises FractureError where it refuses the mesh."""
    body = as_manifold(solid.vertices, solid.triangles, np.arange(len(solid.triangles)), number)
    if body.status() != manifold3d.Error.NoError or body.is_empty():
        raise FractureError(f"is not a solid ({body.status().name}): remesh it by voxels")
    return body


def cut(solid: Solid, cells: Sequence[Cell]) -> list[Part]:
    """Cut a solid.

    Returns the parts in the order of their cells; a cell may have several or none.

    Raises FractureError if the parts do not fill the solid.
    """
    body_id, cell_id = (manifold3d.Manifold.reserve_ids(1) for _ in range(2))
    body = solid_as_manifold(solid, body_id)
    whole = solid.volume
    parts, total = [], 0.0
    for number, cell in enumerate(cells):
        for part in (as_manifold(cell.vertices, cell.triangles, cell.face, cell_id) ^ body).decompose():
            volume = part.volume()
            total += volume
            if volume > LEAST_PART * whole:
                parts.append(part_of(part, body_id, number, volume))
    if not abs(total - whole) <= VOLUME_ERROR * whole:
        raise FractureError(
            f"cannot be cut: the pieces have {total:.6g} m3 in all and the mesh has {whole:.6g}, so it probably "
            "intersects itself; remesh it by voxels"
        )
    return parts


def part_of(part: manifold3d.Manifold, body_id: int, cell: int, volume: float) -> Part:
    """Read what manifold3d has made. body_id: the number of the solid."""
    mesh = part.to_mesh64()
    vertices = np.array(mesh.vert_properties, dtype=np.float64)[:, :3]
    triangles = np.array(mesh.tri_verts, dtype=np.int64)
    if len(mesh.merge_from_vert):
        same = np.arange(len(vertices))
        same[np.array(mesh.merge_from_vert, dtype=np.int64)] = np.array(mesh.merge_to_vert, dtype=np.int64)
        triangles = same[triangles]
    face = np.array(mesh.face_id, dtype=np.int64)
    ends = np.array(mesh.run_index, dtype=np.int64) // 3
    outer = np.repeat(np.array(mesh.run_original_id, dtype=np.int64) == body_id, np.diff(ends))
    used, numbers = np.unique(triangles, return_inverse=True)
    return Part(vertices[used], numbers.reshape(-1, 3), np.where(outer, face, -1), np.where(outer, -1, face), cell, volume)
