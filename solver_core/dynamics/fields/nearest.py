# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a mesh is nearest to a point, and whether boxes are in the way of a ray: what fields ask of meshes.

Meshes of fields come as they are, open, flat or in pieces, and few bodies ask: triangles are tried one after the other, those
with boxes that are too far off by their boxes alone.
"""

from __future__ import annotations

import numpy as np

from ...collision.mesh.queries import closest_on_triangle, triangle_corners
from ...compile.kernel import kernel_part

__all__ = ["is_in_the_way", "nearest_triangle", "triangle_boxes"]


def triangle_boxes(vertices: np.ndarray, triangles: np.ndarray, margin: float = 0.0) -> np.ndarray:
    """(t, 6) lowest and highest corners of the boxes around triangles (t, 3) of vertices (n, 3), with a margin in m."""
    corners = np.asarray(vertices)[np.asarray(triangles)]
    return np.concatenate([corners.min(axis=1) - margin, corners.max(axis=1) + margin], axis=1)


@kernel_part
def nearest_triangle(vertices, triangles, boxes, begin, end, x, y, z):
    """The triangle of those from begin to end that is nearest to a point, -1 for none, and the point of it that is."""
    best, chosen, place = np.inf, -1, (x, y, z)
    for t in range(begin, end):
        away = 0.0
        for k, own in enumerate((x, y, z)):
            gap = max(boxes[t, k] - own, own - boxes[t, 3 + k], 0.0)
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
    """Whether one of the boxes from begin to end (t, 6) has a point of the segment from `start` along `way`."""
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
