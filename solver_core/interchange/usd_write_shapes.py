# SPDX-License-Identifier: GPL-3.0-or-later
"""Writing of shapes and looks as prims of UsdGeom."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, Vt

from .described import Look
from .frames import quaternion_of
from .solids import Named, Solid, bare

__all__ = ["write_look", "write_solid"]

Array = NDArray[np.float64]

ALONG_Z = UsdGeom.Tokens.z


def write_solid(
    stage: Usd.Stage, path: Sdf.Path, solid: Solid, position: Array, rotation: Array, look: Look | None
) -> Usd.Prim:
    """A prim for a shape, whose frame is placed by a position (3,) and a rotation (3, 3); of a look's polygons, if given."""
    shape: UsdGeom.Xformable
    match solid.kind:
        case Named.BOX:
            shape = UsdGeom.Cube.Define(stage, path)
            shape.CreateSizeAttr(1.0)
        case Named.SPHERE:
            shape = UsdGeom.Sphere.Define(stage, path)
            shape.CreateRadiusAttr(solid.radius)
        case Named.CAPSULE | Named.CYLINDER | Named.CONE:
            kind = {Named.CAPSULE: UsdGeom.Capsule, Named.CYLINDER: UsdGeom.Cylinder, Named.CONE: UsdGeom.Cone}[solid.kind]
            shape = kind.Define(stage, path)
            shape.CreateAxisAttr(ALONG_Z)
            shape.CreateRadiusAttr(solid.radius)
            shape.CreateHeightAttr(solid.height)
        case Named.PLANE:
            shape = UsdGeom.Plane.Define(stage, path)
            shape.CreateAxisAttr(ALONG_Z)
        case _:
            shape = write_look(stage, path, look or bare(solid))
    offset, turn = position + rotation @ solid.position, rotation @ solid.rotation
    if offset.any():
        shape.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*offset.tolist()))
    if not np.array_equal(turn, np.eye(3)):
        shape.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(*quaternion_of(turn).tolist()))
    if solid.kind is Named.BOX:
        shape.AddScaleOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*solid.size.tolist()))
    write_extent(shape)
    return shape.GetPrim()


def write_look(stage: Usd.Stage, path: Sdf.Path, look: Look) -> UsdGeom.Mesh:
    """Write a mesh of polygons."""
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(look.points, dtype=np.float32)))
    mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.ascontiguousarray(look.counts, dtype=np.int32)))
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(np.ascontiguousarray(look.corners, dtype=np.int32)))
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    if look.colour is not None:
        mesh.CreateDisplayColorAttr([Gf.Vec3f(*look.colour)])
    write_extent(mesh)
    return mesh


def write_extent(shape: UsdGeom.Xformable) -> None:
    extent = UsdGeom.Boundable.ComputeExtentFromPlugins(UsdGeom.Boundable(shape.GetPrim()), Usd.TimeCode.Default())
    if extent:
        UsdGeom.Boundable(shape.GetPrim()).CreateExtentAttr(extent)
