# SPDX-License-Identifier: GPL-3.0-or-later
"""Boxes among convex hulls: which hulls are axis-aligned boxes, and the numbering of their corners, edges and faces.

A hull numbers its features by the order of its corners alone, so all boxes have the numbering of the cube. Corner 4 x + 2 y +
z, with digits 0 or 1, is at the upper bound of the axes whose digit is 1.
"""

from __future__ import annotations

import itertools

import numpy as np

from .hulls import Hull, convex_hull

__all__ = ["EDGE", "FACE", "is_box"]

CUBE = convex_hull(np.array(list(itertools.product((-1.0, 1.0), repeat=3))))

# (3, 2) face perpendicular to an axis, at its lower and its upper bound.
FACE = np.array([[np.argmin(CUBE.planes[:, k]), np.argmax(CUBE.planes[:, k])] for k in range(3)])

# (3, 2, 2) edge parallel to an axis, at the lower or upper bound of the next axis and of the one after it, cyclically.
EDGE = np.zeros((3, 2, 2), dtype=np.int64)
for number, ends in enumerate(CUBE.edges):
    middle = CUBE.vertices[ends].mean(axis=0)
    along = int(np.argmin(np.abs(middle)))
    EDGE[along, int(middle[(along + 1) % 3] > 0.0), int(middle[(along + 2) % 3] > 0.0)] = number


def is_box(hull: Hull) -> bool:
    """Return True if the vertices are exactly the corners of the hull's bounds, and its faces and edges are those of a box."""
    if len(hull.vertices) != 8 or not np.array_equal(hull.face_vertices, CUBE.face_vertices):
        return False
    bounds = zip(hull.vertices.min(axis=0), hull.vertices.max(axis=0), strict=True)
    return np.array_equal(hull.vertices, list(itertools.product(*bounds))) and np.array_equal(hull.face_start, CUBE.face_start)
