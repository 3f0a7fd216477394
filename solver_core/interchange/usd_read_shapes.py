# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading of prims of UsdGeom as shapes and looks, in their own axes and units."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pxr import Usd, UsdGeom, UsdPhysics

from ..geometry.surfaces import mesh_surface
from .described import Look
from .solids import Named, Solid, tapered
from .usd_names import MARGIN_ATTRIBUTE
from .usd_stage import Opened

__all__ = ["look_of", "solid_at"]

Array = NDArray[np.float64]

# Rotations that take z to the axes X, Y and Z, cyclically.
AXES_OF_SHAPE = {
    "X": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "Y": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "Z": np.eye(3),
}
ROUND_PRIMS = {"Capsule": Named.CAPSULE, "Cylinder": Named.CYLINDER, "Cone": Named.CONE}
# Prims with two radii.
TAPERED = {"Capsule_1": Named.CAPSULE, "Cylinder_1": Named.CYLINDER}
AS_THEY_ARE = {"none", "convexDecomposition", "meshSimplification"}


def solid_at(opened: Opened, prim: Usd.Prim) -> Solid | None:
    """Return the shape of a collider, or None if a problem was added."""
    found, path, kind = opened.found, str(prim.GetPath()), prim.GetTypeName()
    if kind == "Mesh":
        return mesh_solid(opened, prim)

    def positive(name: str, default: float) -> float:
        value = opened.number(prim, prim.GetAttribute(name), default)
        if not (np.isfinite(value) and value > 0.0):
            found.wrong(path, name, f"{value:g} is not a length; give the {kind} one above 0")
            return 1.0
        return value

    axis = (
        AXES_OF_SHAPE.get(str(prim.GetAttribute("axis").Get() or "Z"), AXES_OF_SHAPE["Z"])
        if prim.HasAttribute("axis")
        else AXES_OF_SHAPE["Z"]
    )
    if kind == "Cube":
        return Solid(Named.BOX, size=np.full(3, positive("size", 2.0)))
    if kind == "Sphere":
        return Solid(Named.SPHERE, radius=positive("radius", 1.0))
    if kind in ROUND_PRIMS:
        return Solid(ROUND_PRIMS[kind], rotation=axis, radius=positive("radius", 1.0), height=positive("height", 2.0))
    if kind in TAPERED:
        ends = positive("radiusBottom", 1.0), positive("radiusTop", 1.0)
        height = positive("height", 2.0)
        if ends[0] == ends[1]:
            return Solid(TAPERED[kind], rotation=axis, radius=ends[0], height=height)
        found.odd(path, "radiusTop", f"a {kind} with two radii becomes the hull of points on its surface")
        return tapered(TAPERED[kind], ends, height, axis)
    if kind == "Plane":
        return Solid(Named.PLANE, rotation=axis)
    found.wrong(
        path,
        "CollisionAPI",
        f"a {kind or 'prim without a type'} is not supported as a shape; make it a Mesh, or remove its CollisionAPI",
    )
    return None


def mesh_solid(opened: Opened, prim: Usd.Prim) -> Solid | None:
    """Return the shape of a Mesh by its approximation, or None if a problem was added."""
    found, path = opened.found, str(prim.GetPath())
    look = look_of(opened, prim)
    if look is None:
        return None
    triangles = fan(look.counts, look.corners)
    if not len(triangles):
        found.wrong(path, "faceVertexCounts", "the mesh has no faces; add some, or remove its CollisionAPI")
        return None
    form = str(UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Get() or "none")
    if form == "boundingSphere":
        middle = (look.points.min(axis=0) + look.points.max(axis=0)) / 2.0
        return Solid(Named.SPHERE, middle, radius=float(np.linalg.norm(look.points - middle, axis=1).max()))
    if form == "boundingCube":
        low, high = look.points.min(axis=0), look.points.max(axis=0)
        return Solid(Named.BOX, (low + high) / 2.0, size=high - low)
    if form not in AS_THEY_ARE | {"convexHull"}:
        found.odd(path, "approximation", f"{form} is unknown; the mesh collides as it is")
    elif form in ("convexDecomposition", "meshSimplification"):
        found.odd(path, "approximation", f"{form} is not needed here; the mesh collides as it is")
    margin = prim.GetAttribute(MARGIN_ATTRIBUTE)
    extra = opened.number(prim, margin) if margin else 0.0
    if form != "convexHull":
        return Solid(Named.MESH, points=look.points, triangles=triangles, margin=extra)
    try:
        is_closed = mesh_surface(look.points, triangles).volume != 0.0
    except ValueError:
        is_closed = False
    # If the mesh encloses a volume, the mass of the hull is that of the mesh.
    return Solid(Named.HULL, points=look.points, triangles=triangles if is_closed else triangles[:0], margin=extra)


def fan(counts: NDArray[np.int32], corners: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return triangles (t, 3) of polygons. counts: (f,) corners of each. corners: indices of points, polygon by polygon."""
    starts = np.cumsum(counts) - counts
    rows = [
        np.stack([corners[starts[n]], corners[starts[n] + k], corners[starts[n] + k + 1]])
        for n, count in enumerate(counts)
        for k in range(1, count - 1)
    ]
    return np.array(rows, dtype=np.int32).reshape(-1, 3)


def look_of(opened: Opened, prim: Usd.Prim) -> Look | None:
    """Return the polygons of a Mesh, or None if a problem was added."""
    found, path, mesh = opened.found, str(prim.GetPath()), UsdGeom.Mesh(prim)
    points = np.array(mesh.GetPointsAttr().Get(opened.time) or [], dtype=np.float64).reshape(-1, 3)
    counts = np.array(mesh.GetFaceVertexCountsAttr().Get(opened.time) or [], dtype=np.int32)
    corners = np.array(mesh.GetFaceVertexIndicesAttr().Get(opened.time) or [], dtype=np.int32)
    if not len(points):
        found.wrong(path, "points", "the mesh has no points; add some, or remove its CollisionAPI")
        return None
    if not np.isfinite(points).all():
        index = int(np.argmin(np.isfinite(points).all(axis=1)))
        found.wrong(path, "points", f"point {index} is {tuple(points[index].tolist())}, not finite; repair the mesh")
        return None
    if (counts < 0).any() or counts.sum() != len(corners):
        found.wrong(
            path, "faceVertexCounts", f"they add up to {counts.sum()} corners and there are {len(corners)}; repair the mesh"
        )
        return None
    if len(corners) and (corners.min() < 0 or corners.max() >= len(points)):
        bad = corners.max() if corners.max() >= len(points) else corners.min()
        message = f"there is no point {bad} of {len(points)}; repair the mesh"
        found.wrong(path, "faceVertexIndices", message)
        return None
    if str(mesh.GetOrientationAttr().Get() or "rightHanded") == "leftHanded":
        starts = np.cumsum(counts) - counts
        corners = np.concatenate([corners[s : s + c][::-1] for s, c in zip(starts, counts, strict=True)] or [corners])
    colours = mesh.GetDisplayColorAttr().Get(opened.time)
    colour = (float(colours[0][0]), float(colours[0][1]), float(colours[0][2])) if colours else None
    return Look(points, counts, corners, colour)
