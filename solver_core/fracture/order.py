# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of a fracture, and its result, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

__all__ = ["FractureOrder", "Pattern", "Pieces", "Spread"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Spread:
    """Where sites are dense.

    near: (k, 3) m, a point or the points of a curve, near which they are; empty for everywhere. radius: m, the distance at
    which the density has fallen to 1/e. weights: (n,) of the vertices of the given mesh, to which the density is proportional;
    empty for none.
    """

    near: Array
    radius: float
    weights: Array


class Pattern(StrEnum):
    """Shapes of pieces. SLABS are thin along the axis, SPLINTERS are long along it."""

    VORONOI = "VORONOI"
    SLABS = "SLABS"
    SPLINTERS = "SPLINTERS"
    BRICKS = "BRICKS"


@dataclass(frozen=True)
class FractureOrder:
    """A mesh and how to cut it.

    vertices: (n, 3) m. triangles: (t, 3). polygon: (t,) the polygon that each triangle is part of. pattern and axis, 0 to 2.
    count of pieces and seed of the random numbers, for all patterns but bricks. spread: where pieces are small; its weights are
    of the vertices. brick: (3,) m, the size of bricks.
    """

    vertices: Array
    triangles: Indices
    polygon: Indices
    pattern: Pattern = Pattern.VORONOI
    axis: int = 2
    count: int = 50
    seed: int = 0
    spread: Spread = field(default_factory=lambda: Spread(np.zeros((0, 3)), 1.0, np.zeros(0)))
    brick: Array = field(default_factory=lambda: np.array([0.25, 0.12, 0.08]))


@dataclass(frozen=True)
class Pieces:
    """The meshes of pieces, one after the other.

    vertices: (n, 3) m. corners: (c,) vertices, numbered in all pieces. counts: (p,) corners of each polygon. vertex_ends,
    polygon_ends: (m,) where each piece ends among vertices and polygons. polygon: (p,) the polygon of the mesh of which each is
    a part, -1 for inner ones. triangle: (c,) the triangle of the mesh in which a corner of an outer polygon lies, -1 for inner
    ones. weights: (c, 3) its barycentric coordinates there. volumes, hull_volumes: (m,) m3, of pieces and their convex hulls.
    """

    vertices: Array
    corners: Indices
    counts: Indices
    vertex_ends: Indices
    polygon_ends: Indices
    polygon: Indices
    triangle: Indices
    weights: Array
    volumes: Array
    hull_volumes: Array
