# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects for pieces, with the normals, UV maps and materials of the original surface."""

from __future__ import annotations

import bpy
import numpy as np
from bpy.types import Collection, Material, Mesh, Object
from mathutils import Matrix
from numpy.typing import NDArray

from ...solver_core.fracture.order import Pieces
from ..blender.rotations import quaternion_of_matrix
from .surface import Surface

__all__ = ["build_pieces"]

Array = NDArray[np.float64]

NEW_MAP = "UVMap"


def build_pieces(ob: Object, surface: Surface, pieces: Pieces, inside: Material, collection: Collection) -> list[Object]:
    """Make an object for each piece, at its place in the world with its origin at its center of mass, in a collection.

    inside: the material of inner faces.
    """
    slots, inner_slot = surface.slots or [None], len(surface.slots or [None])
    if inside in slots:
        inner_slot = slots.index(inside)
    else:
        slots = [*slots, inside]
    corner_ends = np.concatenate([[0], np.cumsum(pieces.counts)])
    first_vertex = np.concatenate([[0], pieces.vertex_ends])
    first_polygon = np.concatenate([[0], pieces.polygon_ends])
    uvs, normals = corner_values(surface, pieces)
    objects = []
    for number in range(len(pieces.volumes)):
        p = slice(first_polygon[number], first_polygon[number + 1])
        c = slice(corner_ends[p.start], corner_ends[p.stop])
        vertices = pieces.vertices[first_vertex[number] : first_vertex[number + 1]]
        corners = pieces.corners[c] - first_vertex[number]
        middle = center_of_mass(vertices, corners, pieces.counts[p])
        mesh = bpy.data.meshes.new(f"{ob.data.name} Piece {number:04d}")
        fill(mesh, vertices - middle, corners, pieces.counts[p])
        for slot in slots:
            mesh.materials.append(slot)
        polygon = pieces.polygon[p]
        is_outer = polygon >= 0
        mesh.polygons.foreach_set("material_index", np.where(is_outer, surface.material[polygon], inner_slot).astype(np.int32))
        is_smooth = is_outer & surface.is_smooth[polygon]
        mesh.polygons.foreach_set("use_smooth", is_smooth)
        mark_sharp(mesh, surface, polygon)
        for name, values in uvs.items():
            layer = mesh.uv_layers.new(name=name, do_init=False)
            layer.data.foreach_set("uv", values[c].astype(np.float32).ravel())
        if is_smooth.any():
            set_normals(mesh, normals[c], np.repeat(is_outer, pieces.counts[p]))
        piece = bpy.data.objects.new(f"{ob.name} Piece {number:04d}", mesh)
        piece.rotation_mode = "QUATERNION"
        piece.location = surface.place + surface.rotation @ middle
        piece.rotation_quaternion = quaternion_of_matrix(surface.rotation)
        if ob.rigid_body is not None and ob.rigid_body.kinematic:
            piece.parent, piece.matrix_parent_inverse = ob, Matrix(np.linalg.inv(surface.world).tolist())
        collection.objects.link(piece)
        objects.append(piece)
    return objects


def corner_values(surface: Surface, pieces: Pieces) -> tuple[dict[str, Array], Array]:
    """Return the coordinates in each UV map (c, 2), by name, and the normals (c, 3), at all corners; normals only of outer
    polygons.

    Inner faces are mapped along the axis closest to their normal, with 1 m per unit.
    """
    original = pieces.triangle
    loops, weights = surface.loops[original], pieces.weights
    polygon_of_corner = np.repeat(np.arange(len(pieces.counts)), pieces.counts)
    is_inner = pieces.polygon[polygon_of_corner] < 0
    first = np.cumsum(pieces.counts) - pieces.counts
    a, b, c = (pieces.vertices[pieces.corners[first + one]] for one in range(3))
    axis = np.abs(np.cross(b - a, c - a)).argmax(axis=1)[polygon_of_corner]
    place = pieces.vertices[pieces.corners]
    across = np.take_along_axis(place, np.column_stack([(axis + 1) % 3, (axis + 2) % 3]), axis=1)
    maps = surface.uvs or {NEW_MAP: np.zeros((len(surface.normals), 2))}
    uvs = {
        name: np.where(is_inner[:, None], across, np.einsum("ci,cij->cj", weights, values[loops]))
        for name, values in maps.items()
    }
    normals = np.einsum("ci,cij->cj", weights, surface.normals[loops])
    return uvs, normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), np.finfo(float).tiny)


def center_of_mass(vertices: Array, corners: NDArray[np.int64], counts: NDArray[np.int64]) -> Array:
    """Return the center of mass (3,) of a closed mesh of polygons [m]."""
    first = np.cumsum(counts) - counts
    polygon = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(corners)) - first[polygon]
    fan = np.flatnonzero((within > 0) & (within < counts[polygon] - 1))
    origin = vertices.mean(axis=0)
    a, b, c = (vertices[corners[each]] - origin for each in (first[polygon[fan]], fan, fan + 1))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c))
    return origin + (volume @ (a + b + c)) / (4.0 * volume.sum())


def fill(mesh: Mesh, vertices: Array, corners: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Write vertices and polygons to an empty mesh."""
    mesh.vertices.add(len(vertices))
    mesh.vertices.foreach_set("co", vertices.astype(np.float32).ravel())
    mesh.loops.add(len(corners))
    mesh.loops.foreach_set("vertex_index", corners.astype(np.int32))
    mesh.polygons.add(len(counts))
    mesh.polygons.foreach_set("loop_start", (np.cumsum(counts) - counts).astype(np.int32))
    mesh.update(calc_edges=True)


def mark_sharp(mesh: Mesh, surface: Surface, polygon: NDArray[np.int64]) -> None:
    """Mark the edges of inner faces as sharp, and those that were sharp on the surface.

    polygon: (p,) polygon of the surface, or -1.
    """
    totals = np.empty(len(mesh.polygons), dtype=np.int32)
    mesh.polygons.foreach_get("loop_total", totals)
    edge = np.empty(len(mesh.loops), dtype=np.int32)
    mesh.loops.foreach_get("edge_index", edge)
    polygon_of_edge = np.repeat(polygon, totals)
    low, high = np.full(len(mesh.edges), np.iinfo(np.int64).max), np.full(len(mesh.edges), -1, dtype=np.int64)
    np.minimum.at(low, edge, polygon_of_edge)
    np.maximum.at(high, edge, polygon_of_edge)
    stride = len(surface.material) + 1
    is_sharp = (low < 0) | np.isin(low * stride + high, surface.sharp[:, 0].astype(np.int64) * stride + surface.sharp[:, 1])
    mesh.edges.foreach_set("use_edge_sharp", is_sharp)


def set_normals(mesh: Mesh, normals: Array, is_outer: NDArray[np.bool_]) -> None:
    """Set the normals (c, 3) at the corners of outer polygons; inner ones are flat."""
    flat = np.empty(3 * len(mesh.loops), dtype=np.float32)
    mesh.corner_normals.foreach_get("vector", flat)
    mesh.normals_split_custom_set(np.where(is_outer[:, None], normals, flat.reshape(-1, 3)).astype(np.float32))
