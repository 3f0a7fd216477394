# SPDX-License-Identifier: GPL-3.0-or-later
"""Face contacts: the faces of one body that look at a reference face of the other, clipped to it, with a gap per vertex.

Clipping is Sutherland and Hodgman's, along the reference face's normal. Each edge of the clipped polygon remembers on which
edge of either face it lies, and a vertex between two of them is thereby a vertex of one body or a crossing of two edges.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel
from ..manifold import EDGE_EDGE, FACE_VERTEX, VERTEX_FACE, add_contact, feature_id

__all__ = ["face_contacts", "incident_face", "vertex_heights"]

# A face looks at the reference face if it leans from the vertical by this cosine: walls add no contacts that floors lack.
FACING = -0.0175


@inlined_kernel
def vertex_heights(body, x, y, z, heights):
    """Writes the components of the body's vertices along (x, y, z) into heights and returns the lowest."""
    lowest = np.inf
    for i in range(len(body.vertices)):
        heights[i] = x * body.vertices[i, 0] + y * body.vertices[i, 1] + z * body.vertices[i, 2]
        lowest = min(lowest, heights[i])
    return lowest


@inlined_kernel
def lowest_of_face(body, face, heights):
    lowest = np.inf
    for slot in range(body.loop_start[face], body.loop_start[face + 1]):
        lowest = min(lowest, heights[body.loop_vertices[slot]])
    return lowest


@inlined_kernel
def incident_face(body, x, y, z, heights, level):
    """Of the faces with a vertex up to the level along (x, y, z) the one that looks down most, -1 for a body without faces."""
    best = -1
    best_cosine = np.inf
    for f in range(len(body.planes)):
        cosine = x * body.planes[f, 0] + y * body.planes[f, 1] + z * body.planes[f, 2]
        if cosine < best_cosine and lowest_of_face(body, f, heights) <= level:
            best = f
            best_cosine = cosine
    return best


@inlined_kernel
def prism_sides(reference, face, tolerance, sides):
    """Writes the sides of the prism over a face, (., 5): outward normal, of any length, offset, and what counts as inside."""
    nx, ny, nz = reference.planes[face, 0], reference.planes[face, 1], reference.planes[face, 2]
    begin = reference.loop_start[face]
    size = reference.loop_start[face + 1] - begin
    for slot in range(size):
        p = reference.loop_vertices[begin + slot]
        q = reference.loop_vertices[begin + (slot + 1 if slot + 1 < size else 0)]
        px, py, pz = reference.vertices[p, 0], reference.vertices[p, 1], reference.vertices[p, 2]
        dx, dy, dz = reference.vertices[q, 0] - px, reference.vertices[q, 1] - py, reference.vertices[q, 2] - pz
        mx, my, mz = dy * nz - dz * ny, dz * nx - dx * nz, dx * ny - dy * nx
        sides[slot, 0], sides[slot, 1], sides[slot, 2] = mx, my, mz
        sides[slot, 3] = mx * px + my * py + mz * pz
        sides[slot, 4] = tolerance * np.sqrt(mx * mx + my * my + mz * mz)
    return size


@inlined_kernel
def clip_face(body, incident, sides, size, polygon, tags, spare, spare_tags, levels):
    """Clips a face of body to a prism of so many sides: (count, polygon, tags), in the given or in the spare arrays.

    polygon: (., 3) vertices, counter-clockwise seen against the reference face's normal. tags: (.,) what the edge that follows
    the vertex lies on: slot >= 0 of the incident face's loop, or -1 - slot of the reference face's. incident -1 stands for
    the segment or point that a body without faces is. A vertex within the tolerance outside counts as inside. levels: (.,) of
    the vertices over one side.
    """
    first = body.loop_start[incident] if incident >= 0 else 0
    count = body.loop_start[incident + 1] - first if incident >= 0 else len(body.vertices)
    for i in range(count):
        # The faces look at each other, so the incident loop is walked backwards.
        slot = count - 1 - i
        vertex = body.loop_vertices[first + slot] if incident >= 0 else slot
        for k in range(3):
            polygon[i, k] = body.vertices[vertex, k]
        tags[i] = slot - 1 if slot > 0 else count - 1

    for slot in range(size):
        mx, my, mz, offset, outside = sides[slot, 0], sides[slot, 1], sides[slot, 2], sides[slot, 3], sides[slot, 4]
        lowest = np.inf
        highest = -np.inf
        for i in range(count):
            levels[i] = mx * polygon[i, 0] + my * polygon[i, 1] + mz * polygon[i, 2] - offset
            lowest = min(lowest, levels[i])
            highest = max(highest, levels[i])
        if highest <= outside:
            continue
        if lowest > outside:
            return 0, polygon, tags
        written = 0
        for i in range(count):
            j = i + 1 if i + 1 < count else 0
            level = levels[i]
            next_level = levels[j]
            if level <= outside and written < len(spare):
                for k in range(3):
                    spare[written, k] = polygon[i, k]
                spare_tags[written] = tags[i]
                written += 1
            # A convex polygon gains one vertex a plane; only a face merged from noise could fill the array, and loses a corner.
            if (level <= outside) != (next_level <= outside) and written < len(spare) - 1:
                fraction = min(max(level / (level - next_level), 0.0), 1.0)
                for k in range(3):
                    spare[written, k] = polygon[i, k] + fraction * (polygon[j, k] - polygon[i, k])
                spare_tags[written] = -1 - slot if level <= outside else tags[i]
                written += 1
        polygon, spare = spare, polygon
        tags, spare_tags = spare_tags, tags
        count = written
    return count, polygon, tags


@inlined_kernel
def clipped_feature(reference, face, body, incident, before, after, reference_is_a):
    """Feature id of the clipped polygon's vertex between edges with the tags before and after."""
    begin = reference.loop_start[face]
    first = body.loop_start[incident] if incident >= 0 else 0
    count = body.loop_start[incident + 1] - first if incident >= 0 else len(body.vertices)
    if before >= 0 and after >= 0:
        slot = (after + 1) % count
        vertex = body.loop_vertices[first + slot] if incident >= 0 else slot
        return feature_id(FACE_VERTEX, face, vertex) if reference_is_a else feature_id(VERTEX_FACE, vertex, face)
    if before < 0 and after < 0:
        vertex = reference.loop_vertices[begin - 1 - after]
        other = max(incident, 0)
        return feature_id(VERTEX_FACE, vertex, other) if reference_is_a else feature_id(FACE_VERTEX, other, vertex)
    reference_edge = reference.loop_edges[begin - 1 - min(before, after)]
    edge = body.loop_edges[first + max(before, after)] if incident >= 0 else 0
    return feature_id(EDGE_EDGE, reference_edge, edge) if reference_is_a else feature_id(EDGE_EDGE, edge, reference_edge)


@inlined_kernel
def facing_faces(body, x, y, z, heights, merge, level, found):
    """Writes the body's faces that look down along (x, y, z) and have a vertex up to the level into found: how many.

    The one at the lowest vertex, up to merge, that looks down most is always among them; for a body without faces it is -1.
    """
    lowest = vertex_heights(body, x, y, z, heights)
    count = 0
    best = -1
    best_cosine = np.inf
    best_found = False
    for f in range(len(body.planes)):
        bottom = lowest_of_face(body, f, heights)
        if bottom > max(level, lowest + merge):
            continue
        cosine = x * body.planes[f, 0] + y * body.planes[f, 1] + z * body.planes[f, 2]
        is_found = cosine < FACING and bottom <= level
        if is_found:
            found[count] = f
            count += 1
        if cosine < best_cosine and bottom <= lowest + merge:
            best, best_cosine, best_found = f, cosine, is_found
    if not best_found:
        found[count] = best
        count += 1
    return count


@inlined_kernel
def face_contacts(reference, face, body, reference_is_a, limit, tolerance, merge, manifold, work):
    """Contacts of body with a face of reference, along that face's normal: (count, smallest gap found, even over the limit).

    Clipped are all faces of body that look at the reference face and reach below the limit, so that no support edge or vertex
    is missed however the faces around it lie.
    """
    nx, ny, nz, offset = (
        reference.planes[face, 0],
        reference.planes[face, 1],
        reference.planes[face, 2],
        reference.planes[face, 3],
    )
    faces = facing_faces(body, nx, ny, nz, work.heights, merge, offset + limit, work.marks)
    size = prism_sides(reference, face, tolerance, work.sides)
    sign = 1.0 if reference_is_a else -1.0
    count = 0
    smallest = np.inf
    for slot in range(faces):
        incident = work.marks[slot]
        corners, clipped, clipped_tags = clip_face(
            body, incident, work.sides, size, work.polygon, work.tags, work.spare, work.spare_tags, work.levels
        )
        for i in range(corners):
            x, y, z = clipped[i, 0], clipped[i, 1], clipped[i, 2]
            gap = nx * x + ny * y + nz * z - offset
            smallest = min(smallest, gap)
            if gap > limit:
                continue
            before = clipped_tags[i - 1 if i > 0 else corners - 1]
            feature = clipped_feature(reference, face, body, incident, before, clipped_tags[i], reference_is_a)
            half = 0.5 * gap
            count = add_contact(
                manifold,
                count,
                limit,
                merge,
                x - half * nx,
                y - half * ny,
                z - half * nz,
                sign * nx,
                sign * ny,
                sign * nz,
                gap,
                feature,
            )
    return count, smallest
