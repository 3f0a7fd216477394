"""The collision shapes of all bodies as one structure of arrays, which the collision kernels take as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..scene import ShapeKind, ShapeSpec
from .hulls import Hull, convex_hull

__all__ = ["HULL", "PLANE", "ShapeTable", "build_shapes"]

HULL = 0
PLANE = 1

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class ShapeTable(NamedTuple):
    """One shape a body, in body axes; a tuple, so that it goes into a compiled kernel whole.

    kind: (n,) HULL or PLANE (the half-space z <= 0). margin: (n,) m, the core is thickened by it all around. radius: (n,) m,
    from the body's origin to the farthest surface point, margin included, inf for a plane. lower, upper: (n, 3) m, bounds of
    the core. centre: (n, 3) m, a point inside the core.

    first_*, *_count: (n,) where a body's rows are in the tables that follow; bodies of equal shape share their rows.
    vertices: (., 3). planes: (., 4) outward normal and offset. loop_start: (., 1) for each face its first slot in
    loop_vertices and loop_edges, one row more than faces for each shape, so that the end of the last face is there too.
    edges: (., 2) vertices and edge_faces: (., 2) the faces left and right of them. The vertices, edges and faces named in these
    rows are counted from the body's first; edge_faces are -1 where there is no face (see `Hull`).
    """

    kind: Indices
    margin: Array
    radius: Array
    lower: Array
    upper: Array
    centre: Array
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


def build_shapes(specs: Sequence[ShapeSpec]) -> ShapeTable:
    """Table of the shapes of bodies 0, 1, ..., n - 1.

    ValueError names the body and what is wrong with its vertices or its margin.
    """
    numbers: dict[tuple[ShapeKind, bytes], int] = {}
    hulls: list[Hull] = []
    hull_of_body = np.zeros(len(specs), dtype=np.int64)
    for body, spec in enumerate(specs):
        if not (np.isfinite(spec.margin) and spec.margin >= 0.0):
            raise ValueError(f"body {body}: margin must be finite and not negative, it is {spec.margin}")
        vertices = np.ascontiguousarray(spec.vertices, dtype=np.float64) if spec.kind is ShapeKind.HULL else np.zeros((1, 3))
        key = (spec.kind, vertices.tobytes())
        if key not in numbers:
            try:
                hulls.append(convex_hull(vertices))
            except ValueError as error:
                raise ValueError(f"body {body}: {error}") from error
            numbers[key] = len(numbers)
        hull_of_body[body] = numbers[key]

    is_plane = np.array([spec.kind is ShapeKind.PLANE for spec in specs], dtype=bool)
    margin = np.array([spec.margin for spec in specs], dtype=np.float64)
    radius = np.array([np.linalg.norm(hull.vertices, axis=1).max() for hull in hulls], dtype=np.float64)[hull_of_body] + margin
    lower = np.array([hull.vertices.min(axis=0) for hull in hulls]).reshape(-1, 3)
    upper = np.array([hull.vertices.max(axis=0) for hull in hulls]).reshape(-1, 3)
    centre = np.array([hull.vertices.mean(axis=0) for hull in hulls]).reshape(-1, 3)
    vertex_count = np.array([len(hull.vertices) for hull in hulls], dtype=np.int64)
    face_count = np.array([hull.face_count for hull in hulls], dtype=np.int64)
    edge_count = np.array([len(hull.edges) for hull in hulls], dtype=np.int64)
    loop_count = np.array([len(hull.face_vertices) for hull in hulls], dtype=np.int64)
    first_slot = _firsts(loop_count)
    return ShapeTable(
        kind=np.where(is_plane, PLANE, HULL).astype(np.int64),
        margin=margin,
        radius=np.where(is_plane, np.inf, radius),
        lower=lower[hull_of_body],
        upper=upper[hull_of_body],
        centre=centre[hull_of_body],
        first_vertex=_firsts(vertex_count)[hull_of_body],
        vertex_count=vertex_count[hull_of_body],
        first_face=_firsts(face_count)[hull_of_body],
        face_count=face_count[hull_of_body],
        first_loop=_firsts(face_count + 1)[hull_of_body],
        first_edge=_firsts(edge_count)[hull_of_body],
        edge_count=edge_count[hull_of_body],
        vertices=_rows([hull.vertices for hull in hulls], 3),
        planes=_rows([hull.planes for hull in hulls], 4),
        loop_start=_indices([hull.face_start + first for hull, first in zip(hulls, first_slot, strict=True)]),
        loop_vertices=_indices([hull.face_vertices for hull in hulls]),
        loop_edges=_indices([hull.face_edges for hull in hulls]),
        edges=_indices([hull.edges for hull in hulls]).reshape(-1, 2),
        edge_faces=_indices([hull.edge_faces for hull in hulls]).reshape(-1, 2),
    )


def _firsts(counts: Indices) -> Indices:
    return np.cumsum(counts) - counts


def _rows(arrays: list[Array], width: int) -> Array:
    return np.ascontiguousarray(np.concatenate([np.zeros((0, width)), *arrays]))


def _indices(arrays: list[Indices]) -> Indices:
    return np.concatenate([np.zeros(0, dtype=np.int64), *[array.reshape(-1) for array in arrays]]).astype(np.int64)
