# SPDX-License-Identifier: GPL-3.0-or-later
"""How far the corners of polygons extend beyond the lines through their edges, which shows whether the polygons are convex."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from ..linalg.in_order import product

__all__ = ["MOST_COMPARED", "along", "beyond_edges", "principal_axes"]

Array = NDArray[np.float64]

# Largest number of corners of a polygon for which each corner is compared with each edge.
MOST_COMPARED = 256
# Number of such comparisons in one numpy operation.
MOST_AT_ONCE = 2**19


def principal_axes(centred: Array) -> Array:
    """Return the right-handed principal axes (3, 3) of centered points (n, 3), in rows, the direction of largest spread
    first.
    """
    # Imported here because validation reads the types of hulls and must not load the compiler.
    from ..linalg.mat3 import principal_axes_of_points

    axes: Array = principal_axes_of_points(centred)
    return axes


def along(vectors: Array, direction: Array) -> Array:
    """Return the scalar products (...,) of vectors (..., 3), summed in one order on every computer."""
    result: Array = (
        vectors[..., 0] * direction[..., 0] + vectors[..., 1] * direction[..., 1] + vectors[..., 2] * direction[..., 2]
    )
    return result


def beyond_edges(corners: Array, normals: Array) -> float:
    """Return how far corners extend beyond the lines through the edges of their polygon.

    Parameters
    ----------
    corners : (m, k, 3) [m]
        Corners of m polygons.
    normals : (m, 1, 3)
        Unit normals of their planes.

    Returns
    -------
    float
        The largest distance [m], NaN if an edge has no length.
    """
    outward = np.cross(np.roll(corners, -1, axis=1) - corners, normals)
    with np.errstate(invalid="ignore", divide="ignore"):
        outward /= np.linalg.norm(outward, axis=2, keepdims=True)
    return _outside(corners, outward)


def _outside(corners: Array, outward: Array) -> float:
    """Return how far corners (m, k, 3) of m polygons extend beyond the lines through their edges, with outward normals (m, k,
    3).

    The result is NaN if an edge has no length.
    """
    heights = along(corners, outward)
    if corners.shape[1] <= MOST_COMPARED:
        at_once = max(1, MOST_AT_ONCE // corners.shape[1] ** 2)
        parts = [slice(first, first + at_once) for first in range(0, len(corners), at_once)]
        return max(float((along(corners[part, None], outward[part, :, None]) - heights[part, :, None]).max()) for part in parts)
    # Only corners of the convex hull can be farthest, which saves time for many corners.
    return max(
        float((_supports(one, directions) - begin).max())
        for one, directions, begin in zip(corners, outward, heights, strict=True)
    )


def _supports(polygon: Array, directions: Array) -> Array:
    """Return the largest scalar product (k,) of points (n, 3) in a plane with each direction (k, 3) in the plane."""
    axes = principal_axes(polygon - polygon.mean(axis=0))[:2]
    flat, turned = product(polygon, axes.T), product(directions, axes.T)
    around = flat[ConvexHull(flat).vertices]
    sides = np.roll(around, -1, axis=0) - around
    # The corner after an edge supports all directions from the normal of that edge to the normal of the next one.
    angles = _pseudoangles(sides[:, 1], -sides[:, 0])
    first = int(np.argmin(angles))
    rising = np.maximum.accumulate(np.roll(angles, -first))
    place = np.searchsorted(rising, _pseudoangles(turned[:, 0], turned[:, 1]), side="right") + first
    candidates = around[(place[:, None] + np.arange(-1, 2)) % len(around)]
    result: Array = (candidates * turned[:, None]).sum(axis=2).max(axis=1)
    # The products so far are relative to the origin of the plane's axes.
    return result + along(directions, (polygon[0] - product(axes.T, flat[0]))[None])


def _pseudoangles(x: Array, y: Array) -> Array:
    """Return numbers (k,) from -2 to 2 that increase with the angle of vectors (k,) in a plane, with the same bits on every
    computer.
    """
    return np.copysign(1.0 - x / (np.abs(x) + np.abs(y)), y)
