# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of a convex core with a half-space."""

from __future__ import annotations

from ...compile.kernel import leaf_kernel
from ...linalg.vec3 import advanced, dot, scaled, vec
from ..half_space import height_over
from ..manifold import FACE_VERTEX, VERTEX_FACE, add_contact, feature_id
from .face_contacts import FACING, incident_face, vertex_heights

__all__ = ["plane_contacts"]


@leaf_kernel
def plane_contacts(body, plane, limit, merge, manifold, heights):
    """Find the contacts at the vertices of the faces that face a half-space, and return their number.

    limit: largest gap [m]. merge: merge distance [m]. heights: (>= vertices,) work array.
    """
    normal = plane.normal
    from_a = scaled(1.0 if plane.is_a else -1.0, normal)
    lowest = vertex_heights(body, normal, heights)
    if lowest - plane.offset > limit:
        return 0
    primary = incident_face(body, normal, heights, lowest + merge)
    count = 0
    for f in range(-1 if primary < 0 else 0, len(body.planes)):
        if f != primary and dot(normal, vec(body.planes, f)) >= FACING:
            continue
        first = body.loop_start[f] if f >= 0 else 0
        size = body.loop_start[f + 1] - first if f >= 0 else len(body.vertices)
        for slot in range(first, first + size):
            v = body.loop_vertices[slot] if f >= 0 else slot
            point = vec(body.vertices, v)
            gap = height_over(plane, point)
            feature = feature_id(FACE_VERTEX, 0, v) if plane.is_a else feature_id(VERTEX_FACE, v, 0)
            count = add_contact(manifold, count, limit, merge, advanced(point, -0.5 * gap, normal), from_a, gap, feature)
    return count
