# SPDX-License-Identifier: GPL-3.0-or-later
"""Mesh queries of force fields: the point of a mesh nearest to a body, and boxes that block a ray.

Meshes of fields may be open, flat or in pieces, and few bodies use them. Triangles are therefore tested one after the other;
those whose bounding box is too far away are skipped.
"""

from __future__ import annotations

import numpy as np

from ...collision.mesh.queries import closest_on_triangle, triangle_corners
from ...compile.kernel import kernel_part

__all__ = ["is_in_the_way", "nearest_triangle", "triangle_boxes"]


def triangle_boxes(vertices: np.ndarray, triangles: np.ndarray, margin: float = 0.0) -> np.ndarray:
    """Return (t, 6) the lowest and highest corners of the boxes of triangles (t, 3) with vertices (n, 3). margin: m."""
    corners = np.asarray(vertices)[np.asarray(triangles)]
    return np.concatenate([corners.min(axis=1) - margin, corners.max(axis=1) + margin], axis=1)


@kernel_part
def nearest_triangle(vertices, triangles, boxes, begin, end, x, y, z):
    """Return the triangle nearest to a point among those from begin to end, -1 for none, and the nearest point on it."""
    best, chosen, place = np.inf, -1, (x, y, z)
    for t in range(begin, end):
        away = 0.0
        for k, coordinate in enumerate((x, y, z)):
            gap = max(boxes[t, k] - coordinate, coordinate - boxes[t, 3 + k], 0.0)
            away += gap * gap
        if away >= best:
            continue
        p, q, r = triangle_corners(vertices, triangles[t])
        square, closest = closest_on_triangle(p, q, r, (x, y, z))
        if square < best:
            best, chosen, place = square, t, closest
    return chosen, place


@kernel_part
def is_in_the_way(boxes, begin, end, start, way):
    """Return whether the segment from `start` along `way` hits one of the boxes (t, 6) from begin to end."""
    for t in range(begin, end):
        enter, leave = 0.0, 1.0
        for k in range(3):
            if way[k] == 0.0:
                if start[k] < boxes[t, k] or start[k] > boxes[t, 3 + k]:
                    enter = np.inf
                continue
            a, b = (boxes[t, k] - start[k]) / way[k], (boxes[t, 3 + k] - start[k]) / way[k]
            enter, leave = max(enter, min(a, b)), min(leave, max(a, b))
        if enter <= leave:
            return True
    return False
