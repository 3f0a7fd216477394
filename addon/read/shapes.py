# SPDX-License-Identifier: GPL-3.0-or-later
"""Collision shapes from Blender's mesh and shape enum, as `ShapeSpec` in the body frame.

The body frame is the object's world matrix without its scale. The vertices include the scale, which may be negative or
nonuniform.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from bpy.types import Context, Depsgraph, Mesh, Object
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from ...solver_core.geometry.surfaces import mesh_surface
from ...solver_core.scene.parts import BOX_TRIANGLES, box_shape
from ...solver_core.scene.spec import ChildSpec, ShapeKind, ShapeSpec
from ...solver_core.validation.shapes import why_no_inside
from ..blender import rotations
from ..blender.overflow import places
from ..blender.placement import placed

__all__ = [
    "RawMesh",
    "ShapeError",
    "compound_parts",
    "deforms",
    "is_compound_part",
    "loose_parts",
    "read_mesh",
    "read_shape",
]

Array = NDArray[np.float64]

# Tolerance relative to the size of the mesh. Coordinates are in single precision, so flat faces are flat to about 1e-7.
FLATNESS = 1e-5
# Vertices; a convex mesh with more of them is treated as a mesh.
LARGEST_HULL = 500

# Modifiers that only move vertices. The mesh source Deform evaluates these at the start of the stack.
DEFORMING = frozenset(
    [
        "ARMATURE",
        "CAST",
        "CURVE",
        "DISPLACE",
        "HOOK",
        "LAPLACIANDEFORM",
        "LATTICE",
        "MESH_DEFORM",
        "SHRINKWRAP",
        "SIMPLE_DEFORM",
        "SMOOTH",
        "CORRECTIVE_SMOOTH",
        "LAPLACIANSMOOTH",
        "SURFACE_DEFORM",
        "WARP",
        "WAVE",
        "VOLUME_DISPLACE",
        "CLOTH",
        "SOFT_BODY",
        "MESH_CACHE",
    ]
)


class ShapeError(ValueError):
    """A shape cannot be simulated. `field` names the setting, `object` the part of a compound, if any."""

    def __init__(self, field: str, message: str, part: str | None = None):
        super().__init__(message)
        self.field = field
        self.object = part


@dataclass(frozen=True)
class RawMesh:
    """A mesh in object axes: vertices (n, 3), triangles (t, 3) indices."""

    vertices: Array
    triangles: NDArray[np.int32]


def is_compound_part(ob: Object) -> bool:
    """Return True if the object's shape is part of its parent's shape, so it is not a separate body."""
    parent = ob.parent
    return parent is not None and parent.rigid_body is not None and parent.rigid_body.collision_shape == "COMPOUND"


def compound_parts(ob: Object, context: Context) -> list[Object]:
    """Return the objects whose shapes form the compound, by name: its direct children in the rigid body world."""
    members = context.scene.rigidbody_world.collection.all_objects
    return sorted((m for m in members if m.parent == ob and m.rigid_body is not None), key=lambda part: part.name_full)


def read_compound(ob: Object, context: Context, active: bool) -> ShapeSpec:
    """Return the shapes of all parts with a collider, including hidden ones. The compound's own mesh is not used.

    Raises ShapeError.
    """
    depsgraph = context.evaluated_depsgraph_get()
    world, rotation = placed(ob, depsgraph)
    children = []
    for part in (one for one in compound_parts(ob, context) if one.stiction.use_collider):
        part_world, part_rotation = placed(part, depsgraph)
        try:
            if deforms(part):
                raise ShapeError("use_deform", "a part of a compound cannot deform; disable Deforming")
            if part.stiction.use_flexible:
                raise ShapeError("deformable", "a part of a compound cannot bend; disable Flexible")
            shape = read_shape(part, part_rotation.T @ part_world[:3, :3], context, active)
        except ShapeError as error:
            raise ShapeError(error.field, str(error), error.object or part.name_full) from error
        place = rotation.T @ (part_world[:3, 3] - world[:3, 3])
        children.append(ChildSpec(shape, place, rotations.quaternion_of_matrix(rotation.T @ part_rotation)))
    if not children:
        raise ShapeError(
            "collision_shape",
            "the compound has no children with a collider; parent objects with rigid bodies to it, or choose another shape",
        )
    return ShapeSpec(ShapeKind.COMPOUND, children=tuple(children))


def read_shape(ob: Object, to_body: Array, context: Context, active: bool) -> ShapeSpec:
    """Return the collision shape of a rigid body, which the solver moves if it is active.

    to_body: (3, 3) from scaled object axes to body axes. Raises ShapeError.
    """
    body = ob.rigid_body
    if body.collision_shape == "COMPOUND":
        return read_compound(ob, context, active)
    if body.collision_shape not in ("CONVEX_HULL", "MESH"):
        surface = read_mesh(ob, "FINAL", context)
        return primitive(body.collision_shape, surface.vertices, to_body, active)
    if deforms(ob) and active:
        raise ShapeError("use_deform", "an active body cannot deform; disable Deforming, or make the body Passive or Animated")
    surface = read_mesh(ob, body.mesh_source, context)
    vertices = surface.vertices @ to_body.T
    triangles = surface.triangles
    if np.linalg.det(to_body) < 0.0:
        triangles = np.ascontiguousarray(triangles[:, ::-1])
    margin = body.collision_margin if body.use_margin else 0.0
    shape = ShapeSpec(ShapeKind.HULL, vertices, triangles, margin)
    if body.collision_shape == "MESH":
        shape = replace(shape, kind=ShapeKind.MESH) if deforms(ob) else mesh_shape(shape, active, ob.stiction.use_flexible)
    if shape.kind is ShapeKind.HULL and margin == 0.0 and active and flat_normal(vertices) is not None:
        raise ShapeError(
            "collision_shape",
            "the mesh is flat, so the body has no thickness; enable Collision Margin, or give the mesh a thickness "
            "(with a Solidify modifier, choose the source Final)",
        )
    if shape.kind is ShapeKind.HULL and signed_volume(vertices, triangles) < 0.0:
        shape = replace(shape, triangles=np.ascontiguousarray(triangles[:, ::-1]))
    return shape


def deforms(ob: Object) -> bool:
    """Return True if the object's collision shape follows its modifiers from frame to frame."""
    body = ob.rigid_body
    return body.use_deform and body.collision_shape == "MESH" and body.mesh_source != "BASE"


def mesh_shape(shape: ShapeSpec, active: bool, bends: bool = False) -> ShapeSpec:
    """Return the shape Mesh of a surface.

    A convex one becomes a hull, which is equivalent and faster unless it bends. Raises ShapeError.
    """
    try:
        volume = mesh_surface(shape.vertices, shape.triangles).volume
    except ValueError as error:
        raise ShapeError("mesh", f"{error}; scale the mesh up, or remove the object from the rigid body world") from error
    may_be_hull = (volume > 0.0 or active or flat_normal(shape.vertices) is not None) and not (bends and volume != 0.0)
    if may_be_hull and is_convex(shape.vertices, shape.triangles, volume):
        return shape
    if active and volume == 0.0:
        raise ShapeError("collision_shape", why_no_inside(shape.vertices, shape.triangles, bends=bends))
    outward = active and volume < 0.0
    triangles = np.ascontiguousarray(shape.triangles[:, ::-1]) if outward else shape.triangles
    return replace(shape, kind=ShapeKind.MESH, triangles=triangles)


def primitive(name: str, vertices: Array, to_body: Array, active: bool = True) -> ShapeSpec:
    """Return a box, sphere, capsule, cylinder or cone around the mesh, upright along the object's z axis as in Blender, without
    margin.

    The box of a flat mesh is a two-sided rectangle, which an active body cannot have. Raises ShapeError.
    """
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    half, centre = (high - low) / 2.0, (high + low) / 2.0
    if name == "BOX":
        thick = half > 0.0
        if np.count_nonzero(thick) < (3 if active else 2):
            raise ShapeError("collision_shape", "the mesh is flat, so its box has no thickness; give the mesh a thickness")
        if not thick.all():
            return ShapeSpec(ShapeKind.HULL, rectangle(low, high) @ to_body.T)
        corners = (centre + box_shape(high - low).vertices) @ to_body.T
        mirrored = np.linalg.det(to_body) < 0.0
        return ShapeSpec(ShapeKind.HULL, corners, np.ascontiguousarray(BOX_TRIANGLES[:, ::-1]) if mirrored else BOX_TRIANGLES)
    scales = np.linalg.norm(to_body, axis=0)
    half = half * scales
    centre = to_body @ centre
    no_triangles = np.zeros((0, 3), dtype=np.int32)
    if name == "SPHERE":
        return ShapeSpec(ShapeKind.HULL, centre[None, :], no_triangles, positive_radius(half.max()))
    radius = positive_radius(max(half[0], half[1]))
    if name in ("CYLINDER", "CONE"):
        if not half[2] > 0.0:
            raise ShapeError("collision_shape", f"the mesh is flat along Z, so its {name.lower()} has no height; give it one")
        half_axis = half[2] * to_body[:, 2] / scales[2]
        return ShapeSpec(ShapeKind[name], np.array([centre - half_axis, centre + half_axis]), no_triangles, radius=radius)
    half_axis = max(half[2] - radius, 0.0) * to_body[:, 2] / scales[2]
    ends = np.array([centre]) if not half_axis.any() else np.array([centre - half_axis, centre + half_axis])
    return ShapeSpec(ShapeKind.HULL, ends, no_triangles, radius)


def rectangle(low: Array, high: Array) -> Array:
    """Return the four corners (4, 3) between two corners (3,) that share one coordinate."""
    flat = int(np.argmin(high - low))
    first, second = (axis for axis in range(3) if axis != flat)
    corners = np.tile(low, (4, 1))
    corners[[1, 2], first] = high[first]
    corners[[2, 3], second] = high[second]
    return corners


def positive_radius(radius: float) -> float:
    if not radius > 0.0:
        raise ShapeError("collision_shape", "the mesh has no width, so the shape has no radius; give the mesh a size")
    return float(radius)


def read_mesh(ob: Object, source: str, context: Context) -> RawMesh:
    """Return the mesh that Blender's rigid bodies use for the mesh source: BASE, DEFORM or FINAL. Raises ShapeError."""
    if source == "BASE" and ob.type == "MESH":
        if ob.mode == "EDIT":
            ob.update_from_editmode()
        return raw_mesh(ob.data)
    with only_deformed(ob, source == "DEFORM"):
        depsgraph: Depsgraph = context.evaluated_depsgraph_get()
        evaluated = ob.evaluated_get(depsgraph)
        try:
            mesh = evaluated.to_mesh()
        except RuntimeError as error:
            raise ShapeError("collision_shape", f"the object of type {ob.type} has no mesh; convert it to one") from error
        try:
            return raw_mesh(mesh)
        finally:
            evaluated.to_mesh_clear()


@contextmanager
def only_deformed(ob: Object, wanted: bool) -> Iterator[None]:
    """Context with all modifiers disabled from the first that creates geometry on, which gives Blender's deformed mesh."""
    active = [modifier for modifier in ob.modifiers if modifier.show_viewport] if wanted else []
    first = next((index for index, modifier in enumerate(active) if modifier.type not in DEFORMING), len(active))
    muted = active[first:]
    try:
        for modifier in muted:
            modifier.show_viewport = False
        yield
    finally:
        for modifier in muted:
            modifier.show_viewport = True


def raw_mesh(mesh: Mesh | None) -> RawMesh:
    if mesh is None or len(mesh.vertices) == 0:
        raise ShapeError("mesh", "the mesh has no vertices; give it some, or remove the object from the rigid body world")
    if len(mesh.polygons) == 0:
        raise ShapeError("mesh", "the mesh has no faces; give it some, or remove the object from the rigid body world")
    vertices = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", vertices)
    mesh.calc_loop_triangles()
    triangles = np.empty(3 * len(mesh.loop_triangles), dtype=np.int32)
    mesh.loop_triangles.foreach_get("vertices", triangles)
    vertices = vertices.astype(np.float64).reshape(-1, 3)
    if not (is_there := np.isfinite(places(vertices)).all(axis=1)).all():
        index = int(np.argmin(is_there))
        raise ShapeError("mesh", f"vertex {index} is at {tuple(vertices[index].tolist())}, not finite; repair the mesh")
    return RawMesh(vertices, triangles.reshape(-1, 3))


def signed_volume(vertices: Array, triangles: NDArray[np.int32]) -> float:
    a, b, c = (vertices[triangles[:, corner]] - vertices.mean(axis=0) for corner in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def flat_normal(vertices: Array) -> Array | None:
    """Return the unit normal (3,) of the plane that contains all vertices, or None."""
    _, extents, axes = np.linalg.svd(vertices - vertices.mean(axis=0), full_matrices=False)
    # Fewer than three vertices have no third direction.
    if len(extents) < 3:
        return axes[-1]
    return axes[2] if extents[2] <= FLATNESS * extents[0] else None


def is_convex(vertices: Array, triangles: NDArray[np.int32], volume: float) -> bool:
    """Return True if the mesh is the whole boundary of a convex solid with this volume [m^3], or a convex flat polygon."""
    size = float(np.ptp(vertices, axis=0).max())
    normal = flat_normal(vertices)
    corners = vertices[triangles]
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(areas, axis=1)
    if normal is not None:
        axis = np.linalg.svd(normal[None, :])[2][1:]
        return abs(hull_area(vertices @ axis.T) - lengths.sum() / 2.0) <= 1e-4 * size * size
    if volume == 0.0 or len(vertices) > LARGEST_HULL:
        return False
    solid = lengths > FLATNESS * size * size * 1e-3
    normals = areas[solid] / (lengths[solid, None] * np.sign(volume))
    offsets = np.einsum("ij,ij->i", normals, corners[solid, 0])
    return float((vertices @ normals.T - offsets).max()) <= 10.0 * FLATNESS * size


def loose_parts(ob: Object) -> tuple[int, int]:
    """Return the number of edges without a face and of vertices without an edge."""
    if ob.type != "MESH":
        return 0, 0
    mesh = ob.data
    of_faces = np.empty(len(mesh.loops), dtype=np.int32)
    mesh.loops.foreach_get("edge_index", of_faces)
    ends = np.empty(2 * len(mesh.edges), dtype=np.int32)
    mesh.edges.foreach_get("vertices", ends)
    return len(mesh.edges) - len(np.unique(of_faces)), len(mesh.vertices) - len(np.unique(ends))


def hull_area(points: Array) -> float:
    """Return the area of the convex hull of points (n, 2)."""
    try:
        return float(ConvexHull(points).volume)
    except QhullError:
        return 0.0  # They are collinear.
