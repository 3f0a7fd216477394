# SPDX-License-Identifier: GPL-3.0-or-later
"""The collision shapes of all bodies as a structure of arrays for kernels.

A collider is a simple shape with a pose in a body. A body with a simple shape has one collider, a compound one per child shape.
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
from .solids_of_revolution import ROUND, max_distance_from_origin, round_bounds
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
    """c colliders of n bodies, in the order of the bodies. It is a tuple so that kernels can take it as one argument.

    first_collider: (n + 1,) body i has the colliders first_collider[i] to first_collider[i + 1].
    radius: (n,) from the body's origin to its farthest surface point with margin, inf with a plane [m].
    body: (c,) body of each collider. position, rotation: (c, 3) [m] and (c, 3, 3), pose of the collider in the body frame.
    placed: (c,) True if that pose is not the identity.

    The other fields are in the frame of the collider. Equal shapes share their rows.

    kind: (c,) HULL, PLANE (the half-space z <= 0), CYLINDER, CONE or MESH. box: (c,) True for an axis-aligned box (see
        `is_box`).
    margin: (c,) thickness added around the core [m].
    round_radius: (c,) radius of a cylinder or of the base of a cone, whose vertices are the ends of the axis; else 0 [m].
    lower, upper: (c, 3) bounds of the core [m]. centre: (c, 3) a point inside the core [m].
    core_radius: (c,) from `centre` to the farthest vertex [m].
    first_vertex, vertex_count, first_face, face_count, first_loop, first_edge, edge_count: (c,) rows of each collider in the
        tables that follow.
    vertices: (., 3) [m]. planes: (., 4) outward normal and offset.
    loop_start: (.,) first slot of each face in loop_vertices and loop_edges. Each shape has one more row than faces, for the
        end of its last face.
    loop_vertices, loop_edges: (.,). edges: (., 2) vertices. edge_faces: (., 2) faces to the left and to the right of each edge,
        -1 if there is none (see `Hull`). Vertices, edges and faces are counted from the first of the shape.
    surface: (c,) row in `surfaces`, or -1. Meshes have one; hulls, cylinders and cones have one if the scene has a mesh.
    surfaces: None without meshes. A mesh has only its vertices in the other tables, and no faces or edges.
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
    """The distinct shapes of all colliders.

    hulls: of each shape. bounds: of its core. surfaces: by the index of the shape. of: (c,) index of each collider's shape.
    """

    hulls: list[Hull]
    bounds: list[tuple[Array, Array]]
    surfaces: dict[int, Surface]
    of: Indices


def build_shapes(specs: Sequence[ShapeSpec], deforming: Collection[int] = ()) -> ShapeTable:
    """Return the table of the shapes of bodies 0 to n - 1. deforming: bodies that deform, which share no rows with others.

    Raises ValueError that names the body and what is wrong with its vertices, its radius or its margin.
    """
    # Imported here because it computes a hull on import, which loads the compiler.
    from .boxes import is_box

    bodies_parts = [list(parts(spec)) for spec in specs]
    colliders = [part for of_body in bodies_parts for part in of_body]
    body = np.repeat(np.arange(len(specs)), [len(of_body) for of_body in bodies_parts])
    shapes = _distinct(colliders, body, deforming)
    hulls, hull_of = shapes.hulls, shapes.of
    surface_table = None
    if shapes.surfaces:
        # Imported here because it loads the compiler, which a program that only reads scenes does not need.
        from .surface_table import build_surfaces

        surface_table = build_surfaces(list(shapes.surfaces.values()))
    surface_of = {number: row for row, number in enumerate(shapes.surfaces)}
    margin = np.array([part.shape.margin for part in colliders], dtype=np.float64)
    position = np.array([part.position for part in colliders], dtype=np.float64).reshape(-1, 3)
    rotation = np.array([part.rotation for part in colliders], dtype=np.float64).reshape(-1, 3, 3)
    radius = np.zeros(len(specs))
    farthest = np.array(
        [_max_distance_from_origin(part, hulls[number]) for part, number in zip(colliders, hull_of, strict=True)]
    )
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
    """Return the distinct shapes of colliders, with surfaces of all of them if one is a mesh.

    body: (c,) body of each collider.
    """
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
        deforming_body = int(body[collider]) if body[collider] in deforming else -1
        key = (shape.kind, shape.radius, vertices.tobytes(), triangles, deforming_body)
        if key not in numbers:
            try:
                if shape.kind is ShapeKind.MESH:
                    surfaces[len(hulls)] = _surface_of_mesh(vertices, shape, deforming_body >= 0)
                    hulls.append(_vertices_only(surfaces[len(hulls)].vertices))
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
    """Return the surface of a mesh. If it deforms, each triangle is its own patch, because flat parts may bend later."""
    surface = mesh_surface(vertices, shape.triangles)
    return replace(surface, patch=np.arange(len(surface.triangles))) if deforms else surface


def _max_distance_from_origin(part: Part, hull: Hull) -> float:
    """Return the distance from the body's origin to the farthest point of a collider's core, inf for a plane [m]."""
    if part.shape.kind is ShapeKind.PLANE:
        return np.inf
    corners = product(hull.vertices, part.rotation.T) + part.position
    if part.shape.kind in ROUND:
        return max_distance_from_origin(replace(part.shape, vertices=corners))
    return float(np.linalg.norm(corners, axis=1).max())


def _vertices_only(vertices: Array) -> Hull:
    """Return a hull with vertices only, for the bounds."""
    none = np.zeros(0, dtype=np.int64)
    return Hull(vertices, np.zeros(1, dtype=np.int64), none, none, np.zeros((0, 4)), none.reshape(0, 2), none.reshape(0, 2))


def _firsts(counts: Indices) -> Indices:
    return np.cumsum(counts) - counts


def _rows(arrays: list[Array], width: int) -> Array:
    return np.ascontiguousarray(np.concatenate([np.zeros((0, width)), *arrays]))


def _indices(arrays: list[Indices]) -> Indices:
    return np.concatenate([np.zeros(0, dtype=np.int64), *[array.reshape(-1) for array in arrays]]).astype(np.int64)
