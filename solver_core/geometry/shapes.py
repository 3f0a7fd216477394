# SPDX-License-Identifier: GPL-3.0-or-later
"""The collision shapes of all bodies as one structure of arrays, which the collision kernels take as it is.

A collider is a simple shape at its place in a body: a body with a simple shape has one, a compound one for each of its parts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..linalg.in_order import product
from ..scene.spec import ShapeKind, ShapeSpec
from .compounds import Part, parts
from .hulls import Hull, convex_hull, segment
from .solids_of_revolution import ROUND, farthest_point, round_bounds
from .surfaces import Surface, hull_surface, mesh_surface, round_surface

if TYPE_CHECKING:
    from .surface_table import SurfaceTable

__all__ = ["CONE", "CYLINDER", "HULL", "MESH", "PLANE", "ShapeTable", "build_shapes"]

HULL = 0
PLANE = 1
CYLINDER = 2
CONE = 3
MESH = 4

CODES = {
    ShapeKind.HULL: HULL,
    ShapeKind.PLANE: PLANE,
    ShapeKind.CYLINDER: CYLINDER,
    ShapeKind.CONE: CONE,
    ShapeKind.MESH: MESH,
}

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class ShapeTable(NamedTuple):
    """c colliders of n bodies, in the order of the bodies; a tuple, so that it goes into a compiled kernel whole.

    first_collider: (n + 1,) body i has the colliders from first_collider[i] up to first_collider[i + 1]. radius: (n,) m, from
    the body's origin to its farthest surface point, margin included, inf with a plane.

    body: (c,). position: (c, 3) m and rotation: (c, 3, 3), the place of the collider's axes in its body's; placed: (c,) whether
    they differ from those at all. All that follows is in the collider's axes. kind: (c,) HULL, PLANE (the half-space z <= 0),
    CYLINDER, CONE or MESH. box: (c,) whether a HULL is a box along the axes (see `is_box`). round_radius: (c,) m, of a cylinder
    or of a cone's base, its vertices being the ends of the axis, else 0. margin: (c,) m, the core is thickened by it all
    around. lower, upper: (c, 3) m, bounds of the core. centre: (c, 3) m, a point inside the core, and core_radius: (c,) m, from
    there to the farthest vertex.

    first_*, *_count: (c,) where a collider's rows are in the tables that follow; equal shapes share their rows. vertices:
    (., 3). planes: (., 4) outward normal and offset. loop_start: (., 1) for each face its first slot in loop_vertices and
    loop_edges, one row more than faces for each shape, so that the end of the last face is there too. edges: (., 2) vertices
    and edge_faces: (., 2) the faces left and right of them. The vertices, edges and faces named in these rows are counted from
    the shape's first; edge_faces are -1 where there is no face (see `Hull`).

    surface: (c,) where a collider's triangles are in surfaces, -1 for none: meshes have them, and hulls as well where there is
    a mesh to collide with; surfaces is None where there is none. A mesh has its vertices in the other tables, and no faces or
    edges there.
    """

    first_collider: Indices
    radius: Array
    body: Indices
    position: Array
    rotation: Array
    placed: NDArray[np.bool_]
    kind: Indices
    box: NDArray[np.bool_]
    margin: Array
    round_radius: Array
    lower: Array
    upper: Array
    centre: Array
    core_radius: Array
    first_vertex: Indices
    vertex_count: Indices
    first_face: Indices
    face_count: Indices
    first_loop: Indices
    first_edge: Indices
    edge_count: Indices
    vertices: Array
    planes: Array
    loop_start: Indices
    loop_vertices: Indices
    loop_edges: Indices
    edges: Indices
    edge_faces: Indices
    surface: Indices
    surfaces: SurfaceTable | None


@dataclass(frozen=True)
class _Distinct:
    """The shapes of colliders, each once: hulls, and bounds of the cores, with surfaces by their numbers; of: (c,) numbers."""

    hulls: list[Hull]
    bounds: list[tuple[Array, Array]]
    surfaces: dict[int, Surface]
    of: Indices


def build_shapes(specs: Sequence[ShapeSpec], deforming: Collection[int] = ()) -> ShapeTable:
    """Table of the shapes of bodies 0, 1, ..., n - 1. The bodies that deform share no rows with others.

    ValueError names the body and what is wrong with its vertices, its radius or its margin.
    """
    # its numbers are those of a hull that is computed on import, by a kernel
    from .boxes import is_box

    bodies_parts = [list(parts(spec)) for spec in specs]
    colliders = [part for own in bodies_parts for part in own]
    body = np.repeat(np.arange(len(specs)), [len(own) for own in bodies_parts])
    shapes = _distinct(colliders, body, deforming)
    hulls, hull_of = shapes.hulls, shapes.of
    surface_table = None
    if shapes.surfaces:
        # Not above: it loads a compiler, which who only reads a scene has no use for.
        from .surface_table import build_surfaces

        surface_table = build_surfaces(list(shapes.surfaces.values()))
    surface_of = {number: row for row, number in enumerate(shapes.surfaces)}
    margin = np.array([part.shape.margin for part in colliders], dtype=np.float64)
    position = np.array([part.position for part in colliders], dtype=np.float64).reshape(-1, 3)
    rotation = np.array([part.rotation for part in colliders], dtype=np.float64).reshape(-1, 3, 3)
    radius = np.zeros(len(specs))
    farthest = np.array([_farthest(part, hulls[number]) for part, number in zip(colliders, hull_of, strict=True)])
    np.maximum.at(radius, body, farthest + margin)
    lower = np.array([low for low, _ in shapes.bounds]).reshape(-1, 3)
    upper = np.array([high for _, high in shapes.bounds]).reshape(-1, 3)
    round_radius = np.array([part.shape.radius if part.shape.kind in ROUND else 0.0 for part in colliders], dtype=np.float64)
    centre = np.array([hull.vertices.mean(axis=0) for hull in hulls]).reshape(-1, 3)
    core_radius = np.array([np.linalg.norm(hull.vertices - hull.vertices.mean(axis=0), axis=1).max() for hull in hulls])
    vertex_count = np.array([len(hull.vertices) for hull in hulls], dtype=np.int64)
    face_count = np.array([hull.face_count for hull in hulls], dtype=np.int64)
    edge_count = np.array([len(hull.edges) for hull in hulls], dtype=np.int64)
    loop_count = np.array([len(hull.face_vertices) for hull in hulls], dtype=np.int64)
    first_slot = _firsts(loop_count)
    return ShapeTable(
        first_collider=np.searchsorted(body, np.arange(len(specs) + 1)).astype(np.int64),
        radius=radius,
        body=body.astype(np.int64),
        position=position,
        rotation=rotation,
        placed=(position != 0.0).any(axis=1) | (rotation != np.eye(3)).any(axis=(1, 2)),
        kind=np.array([CODES[part.shape.kind] for part in colliders], dtype=np.int64),
        box=np.array([is_box(hull) for hull in hulls], dtype=bool)[hull_of],
        margin=margin,
        round_radius=round_radius,
        lower=lower[hull_of],
        upper=upper[hull_of],
        centre=centre[hull_of],
        core_radius=core_radius[hull_of],
        first_vertex=_firsts(vertex_count)[hull_of],
        vertex_count=vertex_count[hull_of],
        first_face=_firsts(face_count)[hull_of],
        face_count=face_count[hull_of],
        first_loop=_firsts(face_count + 1)[hull_of],
        first_edge=_firsts(edge_count)[hull_of],
        edge_count=edge_count[hull_of],
        vertices=_rows([hull.vertices for hull in hulls], 3),
        planes=_rows([hull.planes for hull in hulls], 4),
        loop_start=_indices([hull.face_start + first for hull, first in zip(hulls, first_slot, strict=True)]),
        loop_vertices=_indices([hull.face_vertices for hull in hulls]),
        loop_edges=_indices([hull.face_edges for hull in hulls]),
        edges=_indices([hull.edges for hull in hulls]).reshape(-1, 2),
        edge_faces=_indices([hull.edge_faces for hull in hulls]).reshape(-1, 2),
        surface=np.array([surface_of.get(number, -1) for number in hull_of], dtype=np.int64),
        surfaces=surface_table,
    )


def _distinct(colliders: list[Part], body: Indices, deforming: Collection[int]) -> _Distinct:
    """The shapes of colliders of the bodies (c,), and surfaces of all of them where one is a mesh."""
    numbers: dict[tuple[ShapeKind, float, bytes, bytes, int], int] = {}
    hulls: list[Hull] = []
    bounds: list[tuple[Array, Array]] = []
    surfaces: dict[int, Surface] = {}
    hull_of = np.zeros(len(colliders), dtype=np.int64)
    for collider, part in enumerate(colliders):
        shape = part.shape
        if not (np.isfinite(float(shape.margin)) and shape.margin >= 0.0):
            raise ValueError(f"body {body[collider]}: margin must be finite and not negative, it is {shape.margin}")
        vertices = np.zeros((1, 3)) if shape.kind is ShapeKind.PLANE else np.ascontiguousarray(shape.vertices, dtype=np.float64)
        triangles = np.asarray(shape.triangles).tobytes() if shape.kind is ShapeKind.MESH else b""
        own = int(body[collider]) if body[collider] in deforming else -1
        key = (shape.kind, shape.radius, vertices.tobytes(), triangles, own)
        if key not in numbers:
            try:
                if shape.kind is ShapeKind.MESH:
                    surfaces[len(hulls)] = _surface_of_mesh(vertices, shape, own >= 0)
                    hulls.append(_vertices_alone(surfaces[len(hulls)].vertices))
                else:
                    hulls.append(segment(vertices) if shape.kind in ROUND else convex_hull(vertices))
            except ValueError as error:
                raise ValueError(f"body {body[collider]}: {error}") from error
            numbers[key] = len(numbers)
            corners = hulls[-1].vertices
            bounds.append(round_bounds(shape) if shape.kind in ROUND else (corners.min(axis=0), corners.max(axis=0)))
        hull_of[collider] = numbers[key]
    if surfaces:
        for number, shape in {number: colliders[i].shape for i, number in enumerate(hull_of)}.items():
            if shape.kind in ROUND:
                surfaces[number] = round_surface(shape)
            elif shape.kind is ShapeKind.HULL:
                surfaces[number] = hull_surface(hulls[number])
    return _Distinct(hulls, bounds, surfaces, hull_of)


def _surface_of_mesh(vertices: Array, shape: ShapeSpec, deforms: bool) -> Surface:
    """That of a mesh; where it deforms, what is flat now may be bent later."""
    surface = mesh_surface(vertices, shape.triangles)
    return replace(surface, patch=np.arange(len(surface.triangles))) if deforms else surface


def _farthest(part: Part, hull: Hull) -> float:
    """m from the body's origin to the farthest point of a collider's core; inf for a plane."""
    if part.shape.kind is ShapeKind.PLANE:
        return np.inf
    corners = product(hull.vertices, part.rotation.T) + part.position
    if part.shape.kind in ROUND:
        return farthest_point(replace(part.shape, vertices=corners))
    return float(np.linalg.norm(corners, axis=1).max())


def _vertices_alone(vertices: Array) -> Hull:
    """The vertices alone, for bounds."""
    none = np.zeros(0, dtype=np.int64)
    return Hull(vertices, np.zeros(1, dtype=np.int64), none, none, np.zeros((0, 4)), none.reshape(0, 2), none.reshape(0, 2))


def _firsts(counts: Indices) -> Indices:
    return np.cumsum(counts) - counts


def _rows(arrays: list[Array], width: int) -> Array:
    return np.ascontiguousarray(np.concatenate([np.zeros((0, width)), *arrays]))


def _indices(arrays: list[Indices]) -> Indices:
    return np.concatenate([np.zeros(0, dtype=np.int64), *[array.reshape(-1) for array in arrays]]).astype(np.int64)
