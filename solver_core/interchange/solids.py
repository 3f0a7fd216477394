# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion between the shapes of a scene and the named shapes of other tools: boxes, spheres, capsules, cylinders, cones.

Blender loads this module at its start, so modules that load scipy are imported where they are used.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ..scene.parts import BOX_TRIANGLES, box_shape
from ..scene.spec import ShapeKind, ShapeSpec
from .described import Found, Look
from .frames import axis_frame, matrix_of, nearest_rotation

__all__ = ["Named", "Solid", "bare", "box_around", "hull_if_open", "leaves", "placed", "solid_of", "tapered"]

Array = NDArray[np.float64]

# Relative to the size of a shape: rounding of right angles and equal lengths in single precision.
SOLID_ROUNDING = 1e-5
# Number of points around a tapered shape.
AROUND = 24


class Named(Enum):
    """The kinds of solid."""

    BOX = "box"
    SPHERE = "sphere"
    CAPSULE = "capsule"
    CYLINDER = "cylinder"
    CONE = "cone"
    HULL = "convex hull"
    MESH = "mesh"
    PLANE = "plane"


@dataclass(frozen=True)
class Solid:
    """One shape, in a frame.

    position, rotation: (3,) [m] and (3, 3), of its center and its axes in the frame; a round shape is along z.
    size: (3,) edges of a box [m].
    radius, height: [m]. The height of a capsule is the distance of the centers of its ends.
    points, triangles: (n, 3) [m] and (t, 3), of a hull or a mesh, in the frame. margin: around them [m].
    """

    kind: Named
    position: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3))
    size: Array = field(default_factory=lambda: np.ones(3))
    radius: float = 0.0
    height: float = 0.0
    points: Array = field(default_factory=lambda: np.zeros((0, 3)))
    triangles: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int32))
    margin: float = 0.0


def leaves(
    shape: ShapeSpec, position: Array | None = None, rotation: Array | None = None
) -> Iterator[tuple[ShapeSpec, Array, Array]]:
    """Yield the shapes of which a shape consists, with the positions (3,) [m] and rotations (3, 3) of their frames.

    A body without a collider has none. position, rotation: of the frame of the shape itself.
    """
    origin = np.zeros(3) if position is None else position
    turn = np.eye(3) if rotation is None else rotation
    if shape.kind not in (ShapeKind.COMPOUND, ShapeKind.NONE):
        yield shape, origin, turn
    for child in shape.children:
        yield from leaves(child.shape, origin + turn @ child.position, turn @ matrix_of(child.orientation))


def solid_of(shape: ShapeSpec) -> Solid:
    """Return the solid of a shape, which must not be a compound."""
    points = shape.vertices
    if shape.kind is ShapeKind.PLANE:
        return Solid(Named.PLANE)
    if shape.kind in (ShapeKind.CYLINDER, ShapeKind.CONE) or (len(points) == 2 and shape.margin > 0.0):
        along = points[1] - points[0]
        height = float(np.linalg.norm(along))
        kind = {ShapeKind.CYLINDER: Named.CYLINDER, ShapeKind.CONE: Named.CONE}.get(shape.kind, Named.CAPSULE)
        radius = shape.margin if kind is Named.CAPSULE else shape.radius
        rotation = axis_frame(along / height) if height > 0.0 else np.eye(3)
        return Solid(kind, points.mean(axis=0), rotation, radius=radius, height=height)
    if shape.kind is ShapeKind.HULL and len(points) == 1 and shape.margin > 0.0:
        return Solid(Named.SPHERE, points[0].copy(), radius=shape.margin)
    if shape.kind is ShapeKind.HULL and shape.margin == 0.0 and (box := box_around(points)) is not None:
        return box
    kind = Named.MESH if shape.kind is ShapeKind.MESH else Named.HULL
    return Solid(kind, points=points, triangles=shape.triangles, margin=shape.margin)


def box_around(points: Array) -> Solid | None:
    """Return the box whose corners are the points (n, 3), in any order, or None."""
    if len(points) != 8:
        return None
    low, high = points.min(axis=0), points.max(axis=0)
    sizes = high - low
    rounding = SOLID_ROUNDING * float(sizes.max())
    if not sizes.min() > 0.0:
        return None
    if are_corners(points, (low + high) / 2.0, np.diag(sizes), rounding):
        return Solid(Named.BOX, (low + high) / 2.0, size=sizes)
    from_first = points[1:] - points[0]
    for chosen in itertools.combinations(range(7), 3):
        edges = from_first[list(chosen)].T
        lengths = np.linalg.norm(edges, axis=0)
        off = edges.T @ edges - np.diag(lengths**2)
        if np.abs(off).max() > rounding * lengths.max() or not lengths.min() > rounding:
            continue
        middle = points[0] + edges.sum(axis=1) / 2.0
        if are_corners(points, middle, edges, rounding):
            rotation = edges / lengths
            if np.linalg.det(rotation) < 0.0:
                rotation = rotation * np.array([1.0, 1.0, -1.0])
            return Solid(Named.BOX, middle, nearest_rotation(rotation), lengths)
    return None


def are_corners(points: Array, middle: Array, edges: Array, rounding: float) -> bool:
    """Return True if the points (8, 3), in any order, are the corners of a block.

    middle: (3,) its center [m]. edges: (3, 3) its edges, in columns [m]. rounding: largest distance of equal points [m].
    """
    corners = middle + box_shape(np.ones(3)).vertices @ edges.T
    distances = np.linalg.norm(points[:, None] - corners[None], axis=2)
    return bool((distances.min(axis=0) <= rounding).all() and (distances.min(axis=1) <= rounding).all())


def placed(solid: Solid, affine: Array) -> ShapeSpec:
    """Return the shape of a solid after an affine map (4, 4) of its frame, which may scale.

    Raises ValueError if the result is not such a solid.
    """
    nearest_rotation(affine[:3, :3])  # raises ValueError if the map is singular
    inner = np.eye(4)
    inner[:3, :3], inner[:3, 3] = solid.rotation, solid.position
    if solid.kind in (Named.HULL, Named.MESH):
        points = solid.points @ affine[:3, :3].T + affine[:3, 3]
        kind = ShapeKind.HULL if solid.kind is Named.HULL else ShapeKind.MESH
        return ShapeSpec(kind, points, mirrored(solid.triangles, affine), solid.margin)
    whole = affine @ inner
    columns, middle = whole[:3, :3], whole[:3, 3]
    scales = np.linalg.norm(columns, axis=0)
    is_sheared = np.abs(columns.T @ columns - np.diag(scales**2)).max() > SOLID_ROUNDING * scales.max() ** 2
    if solid.kind is Named.BOX:
        corners = middle + box_shape(solid.size).vertices @ columns.T
        return ShapeSpec(ShapeKind.HULL, corners, mirrored(BOX_TRIANGLES, whole))
    name = solid.kind.value
    if is_sheared:
        raise ValueError(f"a sheared {name} is not a {name}; remove the shear of its parents, or make it a mesh")
    if abs(scales[0] - scales[1]) > SOLID_ROUNDING * scales.max() or (
        solid.kind in (Named.SPHERE, Named.CAPSULE) and np.ptp(scales) > SOLID_ROUNDING * scales.max()
    ):
        rounded = tuple(scales.round(6).tolist())
        raise ValueError(f"a {name} scaled by {rounded} is not a {name}; scale it evenly, or make it a mesh")
    radius = solid.radius * float(scales[0])
    if solid.kind is Named.SPHERE:
        return ShapeSpec(ShapeKind.HULL, middle[None, :], margin=radius)
    ends = np.array([middle - 0.5 * solid.height * columns[:, 2], middle + 0.5 * solid.height * columns[:, 2]])
    if solid.kind is Named.CAPSULE:
        return ShapeSpec(ShapeKind.HULL, ends if solid.height > 0.0 else middle[None, :], margin=radius)
    kind = ShapeKind.CYLINDER if solid.kind is Named.CYLINDER else ShapeKind.CONE
    return ShapeSpec(kind, ends, radius=radius)


def bare(solid: Solid) -> Look:
    """Return the triangles of a mesh, or the faces of a hull, as a look."""
    if len(solid.triangles):
        return Look(solid.points, np.full(len(solid.triangles), 3, dtype=np.int32), solid.triangles.ravel().astype(np.int32))
    from ..geometry.hulls import convex_hull

    hull = convex_hull(solid.points)
    return Look(hull.vertices, np.diff(hull.face_start).astype(np.int32), hull.face_vertices.astype(np.int32))


def hull_if_open(shape: ShapeSpec, path: str, found: Found) -> ShapeSpec:
    """Return the shape of an active body. An open mesh has no inside, so its hull replaces it, with a warning."""
    if shape.kind is not ShapeKind.MESH:
        return shape
    from ..geometry.surfaces import mesh_surface

    try:
        is_closed = mesh_surface(shape.vertices, shape.triangles).volume != 0.0
    except ValueError:
        is_closed = False
    if is_closed:
        return shape
    found.odd(path, "mesh", "the mesh is open, so the body has no inside; its convex hull collides")
    return replace(shape, kind=ShapeKind.HULL, triangles=shape.triangles[:0])


def tapered(kind: Named, radii: tuple[float, float], height: float, rotation: Array) -> Solid:
    """Return the hull of points on a capsule or a cylinder with two radii, at the lower and the upper end of z [m]."""
    around = 2.0 * np.pi * np.arange(AROUND) / AROUND
    circle = np.stack([np.cos(around), np.sin(around), np.zeros(AROUND)], axis=1)
    heights = np.sin(np.linspace(-0.5 * np.pi, 0.5 * np.pi, AROUND // 2 + 1)) if kind is Named.CAPSULE else np.zeros(1)
    points = []
    for radius, end in zip(radii, (-0.5 * height, 0.5 * height), strict=True):
        for z in heights if radius > 0.0 else np.zeros(1):
            points.append(radius * (circle * np.sqrt(1.0 - z * z) + [0.0, 0.0, z]) + [0.0, 0.0, end])
    from ..geometry.hulls import convex_hull

    hull = convex_hull(np.concatenate(points)).vertices
    return Solid(Named.HULL, points=hull @ rotation.T)


def mirrored(triangles: NDArray[np.int32], affine: Array) -> NDArray[np.int32]:
    """Return triangles (t, 3) that face outward after an affine map, which may mirror."""
    return np.ascontiguousarray(triangles[:, ::-1]) if np.linalg.det(affine[:3, :3]) < 0.0 else triangles
