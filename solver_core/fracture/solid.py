# SPDX-License-Identifier: GPL-3.0-or-later
"""Closed triangle meshes to be fractured, and what is wrong with meshes that cannot be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FractureError", "Solid", "closed_solid", "volume_of"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Of the cube of the size: a mesh with less volume is flat.
LEAST_VOLUME = 1e-12


class FractureError(ValueError):
    """A mesh cannot be fractured. The message is one sentence without a subject: what is wrong, where, what to do."""


@dataclass(frozen=True)
class Solid:
    """A closed mesh whose triangles are counterclockwise as seen from outside.

    vertices: (n, 3) m. triangles: (t, 3) vertices. source: (t,) the triangle of the given mesh. corners: (t, 3) the corner of
    that triangle which each corner is; (0, 1, 2), or (0, 2, 1) where the given mesh was inside out.
    """

    vertices: Array
    triangles: Indices
    source: Indices
    corners: Indices

    @property
    def size(self) -> float:
        """The largest side of its bounding box, m."""
        return float(np.ptp(self.vertices[self.triangles.ravel()], axis=0).max())

    @property
    def volume(self) -> float:
        """Its volume, m3."""
        return volume_of(self.vertices, self.triangles)


def volume_of(vertices: Array, triangles: Indices) -> float:
    """The signed volume of a closed mesh by the divergence theorem, m3. vertices: (n, 3) m. triangles: (t, 3)."""
    a, b, c = np.moveaxis(vertices[triangles] - vertices[triangles.ravel()].mean(axis=0), 1, 0)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def closed_solid(vertices: Array, triangles: Indices) -> Solid:
    """Check a mesh, and turn it right side out.

    Vertices with exactly the same position count as one, because exporters split them along seams.

    Parameters: `vertices` (n, 3) m; `triangles` (t, 3), all counterclockwise as seen from outside, or all clockwise.

    Raises FractureError if the mesh has no faces, is open or flat, or has faces that are turned against each other.
    """
    if len(triangles) == 0:
        raise FractureError("has no faces, so it encloses no volume")
    if not np.isfinite(vertices).all():
        number = int(np.flatnonzero(~np.isfinite(vertices).all(axis=1))[0])
        raise FractureError(f"has a vertex whose position is not a number (vertex {number})")
    places, same = np.unique(vertices, axis=0, return_inverse=True)
    welded = same.reshape(-1)[triangles]
    a, b, c = welded.T
    kept = np.flatnonzero((a != b) & (b != c) & (c != a))
    check_edges(places, welded[kept])
    volume, size = volume_of(places, welded[kept]), float(np.ptp(places[welded[kept].ravel()], axis=0).max())
    if abs(volume) <= LEAST_VOLUME * size**3:
        raise FractureError("is flat: it encloses no volume")
    order = np.array([0, 1, 2] if volume > 0.0 else [0, 2, 1])
    used, numbers = np.unique(welded[kept][:, order], return_inverse=True)
    corners = np.broadcast_to(order, (len(kept), 3))
    return Solid(places[used], numbers.reshape(-1, 3).astype(np.int64), kept.astype(np.int64), corners)


def check_edges(vertices: Array, triangles: Indices) -> None:
    """Raise FractureError unless as many faces go along each edge one way as the other way."""
    if len(triangles) == 0:
        raise FractureError("has only faces without area, so it encloses no volume")
    ends = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    edges, which = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
    which = which.reshape(-1)
    ways = np.where(ends[:, 0] < ends[:, 1], 1, -1)
    balance, count = np.bincount(which, ways), np.bincount(which)
    for wrong, defect, remedy in (
        (count == 1, "is open", "an edge with a single face; close it, with Merge by Distance or Fill Holes"),
        (count % 2 == 1, "is not a solid", "an edge with an odd number of faces; remove the faces inside"),
        (balance != 0, "has faces turned against each other", "two faces with opposite normals; use Recalculate Outside"),
    ):
        number = int(np.count_nonzero(wrong))
        if number:
            x, y, z = vertices[edges[np.flatnonzero(wrong)[0]]].mean(axis=0)
            edge = "edge" if number == 1 else "edges"
            raise FractureError(f"{defect} at {number} {edge}, one of them near ({x:.4g}, {y:.4g}, {z:.4g}): {remedy}")
