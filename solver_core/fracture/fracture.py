# SPDX-License-Identifier: GPL-3.0-or-later
"""Fracture of a mesh: from its triangles and a pattern to the meshes of its pieces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from .cells import MOST_CELLS, Cell, brick_cells, voronoi_cells
from .columns import check_overlap, intervals_inside
from .cut import Part, cut
from .faces import joined
from .order import FractureOrder, Pattern, Pieces, Spread
from .sites import SITE_CANDIDATES, sites
from .solid import FractureError, Solid, closed_solid

__all__ = ["fracture"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Lines through the solid, on which sites lie and overlaps are seen: at least so many, and for each candidate so many.
FEWEST_LINES = 10_000
LINES_A_CANDIDATE = 2
# Of the size: vertices of a flat face are off its plane by less.
PLANAR = 1e-6
# How much thinner than wide slabs are, and splinters.
ASPECT = 6.0


def fracture(order: FractureOrder) -> Pieces:
    """Cut a mesh into pieces. Raises FractureError, with one sentence that tells what is wrong with the mesh."""
    if not 1 <= order.count <= MOST_CELLS:
        raise FractureError(f"cannot be cut into {order.count} pieces: ask for 1 to {MOST_CELLS}")
    solid = closed_solid(order.vertices, order.triangles)
    random = np.random.default_rng(order.seed)
    intervals = intervals_inside(solid, max(FEWEST_LINES, LINES_A_CANDIDATE * SITE_CANDIDATES * order.count), random)
    check_overlap(solid, intervals)
    low, high = solid.vertices.min(axis=0), solid.vertices.max(axis=0)
    cells: list[Cell]
    if order.pattern is Pattern.BRICKS:
        cells = brick_cells(low, high, order.brick)
    else:
        stretch = np.ones(3)
        stretch[order.axis] = {Pattern.VORONOI: 1.0, Pattern.SLABS: ASPECT, Pattern.SPLINTERS: 1.0 / ASPECT}[order.pattern]
        spread = spread_on(solid, order)
        cells = voronoi_cells(sites(solid, intervals, order.count, spread, random), low, high, stretch)
    return pieces_of(cut(solid, cells), solid, order)


def spread_on(solid: Solid, order: FractureOrder) -> Spread:
    """The spread with weights of the vertices of the solid."""
    spread = order.spread
    if not len(spread.weights):
        return spread
    weights = np.zeros(len(solid.vertices))
    originals = order.triangles[solid.source[:, None], solid.corners]
    weights[solid.triangles.ravel()] = spread.weights[originals.ravel()]
    return Spread(spread.near, spread.radius, weights)


def pieces_of(parts: list[Part], solid: Solid, order: FractureOrder) -> Pieces:
    """Join the triangles of parts into polygons, and find where their corners lie on the given mesh."""
    vertex_ends = np.cumsum([len(part.vertices) for part in parts])
    vertices = np.concatenate([part.vertices for part in parts])
    begins = vertex_ends - [len(part.vertices) for part in parts]
    triangles = np.concatenate([part.triangles + begin for part, begin in zip(parts, begins, strict=True)])
    outer, inner = (np.concatenate([getattr(part, name) for part in parts]) for name in ("outer", "inner"))
    original = np.where(outer >= 0, solid.source[outer], -1)
    polygon = np.where(outer >= 0, order.polygon[original], -1)
    # one number for a face of one piece: a polygon of the mesh, or a face of the cell
    piece = np.repeat(np.arange(len(parts)), [len(part.triangles) for part in parts])
    stride = int(max(order.polygon.max(), inner.max(initial=0))) + 1
    group = (2 * piece + (outer < 0)) * stride + np.where(outer >= 0, polygon, inner)
    polygons = joined(triangles, group, may_join(polygon, solid, order))
    triangle = polygons.triangle
    corner_original = np.where(outer[triangle] >= 0, original[triangle], -1)
    piece_of_polygon = polygons.group // stride // 2
    sorting = np.argsort(piece_of_polygon, kind="stable")
    first = np.cumsum(polygons.counts) - polygons.counts
    counts = polygons.counts[sorting]
    corner = np.repeat(first[sorting] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    corners, corner_original = polygons.corners[corner], corner_original[corner]
    return Pieces(
        vertices=vertices,
        corners=corners,
        counts=counts,
        vertex_ends=vertex_ends,
        polygon_ends=np.searchsorted(piece_of_polygon[sorting], np.arange(len(parts)), side="right"),
        polygon=polygon[triangle[first[sorting]]],
        triangle=corner_original,
        weights=barycentric(order.vertices, order.triangles, corner_original, vertices[corners]),
        volumes=np.array([part.volume for part in parts]),
        hull_volumes=np.array([hull_volume(part.vertices) for part in parts]),
    )


def hull_volume(points: Array) -> float:
    """The volume of the convex hull of points (n, 3) m, in m3; infinite where Qhull takes them for flat."""
    try:
        return float(ConvexHull(points).volume)
    except QhullError:
        return np.inf


def may_join(polygon: Indices, solid: Solid, order: FractureOrder) -> NDArray[np.bool_]:
    """Whether triangles are parts of flat faces, (t,). polygon: (t,) of the given mesh, or -1 for faces of cells."""
    corners = order.vertices[order.triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    count = int(order.polygon.max()) + 1
    mean = np.stack([np.bincount(order.polygon, normal[:, axis], count) for axis in range(3)], axis=1)
    mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), np.finfo(float).tiny)
    height = np.einsum("tci,ti->tc", corners, mean[order.polygon])
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, order.polygon, height.min(axis=1))
    np.maximum.at(high, order.polygon, height.max(axis=1))
    flat = high - low < PLANAR * solid.size
    return (polygon < 0) | flat[polygon]


def barycentric(vertices: Array, triangles: Indices, original: Indices, points: Array) -> Array:
    """The barycentric coordinates (c, 3) of points (c, 3) m in the triangles at (c,); zero where that is -1."""
    weights = np.zeros((len(points), 3))
    known = np.flatnonzero(original >= 0)
    a, b, c = np.moveaxis(vertices[triangles[original[known]]], 1, 0)
    p = points[known]
    normal = np.cross(b - a, c - a)
    square = np.maximum(np.einsum("ij,ij->i", normal, normal), np.finfo(float).tiny)
    weights[known, 0] = np.einsum("ij,ij->i", np.cross(c - b, p - b), normal) / square
    weights[known, 1] = np.einsum("ij,ij->i", np.cross(a - c, p - c), normal) / square
    weights[known, 2] = 1.0 - weights[known, 0] - weights[known, 1]
    return weights
