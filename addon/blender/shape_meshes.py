# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes for shapes of the solver, and Blender's names of these shapes: the inverse of reading shapes."""
# pyright: reportMissingImports=false

from __future__ import annotations

import math

import bmesh
import bpy
import numpy as np
from bpy.types import Mesh
from mathutils import Matrix

from ...solver_core.interchange.solids import Named, Solid, solid_of
from ...solver_core.scene.spec import ShapeSpec

__all__ = ["FORMS", "finish_mesh", "form_of", "is_upright", "shape_mesh", "slab"]

COPLANAR = math.radians(0.05)
# Segments of a ball or a cylinder; multiples of four, so that the mesh of a ball has its full width along every axis.
SEGMENTS = 32
# Tolerance of a unit axis.
ROUNDING = 1e-6
# Blender's names of shapes. A half-space becomes a slab.
FORMS = {
    Named.BOX: "BOX",
    Named.SPHERE: "SPHERE",
    Named.CAPSULE: "CAPSULE",
    Named.CYLINDER: "CYLINDER",
    Named.CONE: "CONE",
    Named.HULL: "CONVEX_HULL",
    Named.MESH: "MESH",
    Named.PLANE: "BOX",
}


def form_of(shape: ShapeSpec) -> str:
    """Return Blender's name of a shape that is not a compound."""
    return FORMS[solid_of(shape).kind]


def is_upright(solid: Solid) -> bool:
    """Return True if Blender can represent the shape in object axes: boxes along all of them, other shapes along z."""
    if solid.kind is Named.BOX:
        return bool(np.allclose(np.abs(solid.rotation).max(axis=0), 1.0, atol=ROUNDING))
    if solid.kind in (Named.CAPSULE, Named.CYLINDER):
        return bool(abs(solid.rotation[2, 2]) > 1.0 - ROUNDING)
    return solid.kind is not Named.CONE or bool(solid.rotation[2, 2] > 1.0 - ROUNDING)


def shape_mesh(name: str, shape: ShapeSpec, *, bends: bool = False) -> Mesh:
    """Return the mesh of a shape.

    Coplanar faces are merged to one polygon. A flexible body keeps all vertices, so its faces are merged to quadrilaterals
    only. `slab` creates the mesh of a half-space.
    """
    solid = solid_of(shape)
    sheet = bmesh.new()
    place = Matrix.LocRotScale(solid.position, Matrix(solid.rotation.tolist()), None)
    match solid.kind:
        case Named.SPHERE | Named.CAPSULE:
            bmesh.ops.create_uvsphere(sheet, u_segments=SEGMENTS, v_segments=SEGMENTS // 2, radius=solid.radius)
            if solid.kind is Named.CAPSULE:
                stretch(sheet, solid.height)
            for face in sheet.faces:
                face.smooth = True
        case Named.CYLINDER | Named.CONE:
            top = solid.radius if solid.kind is Named.CYLINDER else 0.0
            bmesh.ops.create_cone(
                sheet, cap_ends=True, segments=2 * SEGMENTS, radius1=solid.radius, radius2=top, depth=solid.height
            )
        case Named.PLANE:
            raise ValueError(f"{name}: a half-space has no mesh")
        case _:
            place = Matrix.Identity(4)
            polyhedron(sheet, shape, solid, bends)
    bmesh.ops.transform(sheet, matrix=place, verts=sheet.verts)
    return finish_mesh(sheet, name)


def polyhedron(sheet: bmesh.types.BMesh, shape: ShapeSpec, solid: Solid, bends: bool) -> None:
    corners = [sheet.verts.new(vertex) for vertex in shape.vertices]
    if solid.kind is Named.MESH:
        for triangle in shape.triangles:
            sheet.faces.new([corners[i] for i in triangle])
    else:
        bmesh.ops.convex_hull(sheet, input=corners)
    if bends:
        bmesh.ops.join_triangles(sheet, faces=sheet.faces, angle_face_threshold=COPLANAR, angle_shape_threshold=math.pi)
        return
    bmesh.ops.dissolve_limit(sheet, angle_limit=COPLANAR, verts=sheet.verts, edges=sheet.edges)


def stretch(sheet: bmesh.types.BMesh, height: float) -> None:
    """Make a ball a capsule: its equator becomes a band."""
    equator = [edge for edge in sheet.edges if len({face.calc_center_median().z > 0.0 for face in edge.link_faces}) > 1]
    rims = bmesh.ops.split_edges(sheet, edges=equator)["edges"]
    above = {vertex for face in sheet.faces if face.calc_center_median().z > 0.0 for vertex in face.verts}
    for vertex in sheet.verts:
        vertex.co.z += 0.5 * height if vertex in above else -0.5 * height
    bmesh.ops.bridge_loops(sheet, edges=rims)


def slab(name: str, width: float, thickness: float) -> Mesh:
    """Return a flat box around its own center."""
    sheet = bmesh.new()
    bmesh.ops.create_cube(sheet, size=1.0)
    bmesh.ops.scale(sheet, vec=(width, width, thickness), verts=sheet.verts)
    return finish_mesh(sheet, name)


def finish_mesh(sheet: bmesh.types.BMesh, name: str) -> Mesh:
    """Return the mesh of a BMesh, which is freed."""
    mesh = bpy.data.meshes.new(name)
    sheet.to_mesh(mesh)
    sheet.free()
    return mesh
