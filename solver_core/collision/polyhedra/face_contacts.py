# SPDX-License-Identifier: GPL-3.0-or-later
"""Face contacts: the faces of one body that look at a reference face of the other, clipped to it, with a gap per vertex.

Clipping is Sutherland and Hodgman's, along the reference face's normal. Each edge of the clipped polygon remembers on which
edge of either face it lies, and a vertex between two of them is thereby a vertex of one body or a crossing of two edges.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, kernel_part
from ...linalg.vec3 import advanced, cross, dot, norm, scaled, set_vec, sub, vec
from ..manifold import EDGE_EDGE, FACE_VERTEX, VERTEX_FACE, add_contact, feature_id
from .hull_pair import CLIP_TOLERANCE, MERGE_RATIO

__all__ = ["FACING", "face_contacts", "incident_face", "vertex_heights"]

# A face looks at the reference face if it leans from the vertical by this cosine: walls add no contacts that floors lack.
FACING = -0.0175


@inlined_kernel
def vertex_heights(body, axis, heights):
    """Writes the components of the body's vertices along an axis into heights and returns the lowest."""
    lowest = np.inf
    for i in range(len(body.vertices)):
        heights[i] = dot(axis, vec(body.vertices, i))
        lowest = min(lowest, heights[i])
    return lowest


@inlined_kernel
def lowest_of_face(body, face, heights):
    """The lowest of the heights of a face's vertices."""
    lowest = np.inf
    for slot in range(body.loop_start[face], body.loop_start[face + 1]):
        lowest = min(lowest, heights[body.loop_vertices[slot]])
    return lowest


@inlined_kernel
def incident_face(body, axis, heights, level):
    """Of the faces with a vertex up to the level along an axis the one that looks down most, -1 for a body without faces."""
    best = -1
    best_cosine = np.inf
    for f in range(len(body.planes)):
        cosine = dot(axis, vec(body.planes, f))
        if cosine < best_cosine and lowest_of_face(body, f, heights) <= level:
            best = f
            best_cosine = cosine
    return best


@inlined_kernel
def prism_sides(reference, face, tolerance, sides):
    """Writes the sides of the prism over a face, (., 5): outward normal, of any length, offset, and what counts as inside."""
    normal = vec(reference.planes, face)
    begin = reference.loop_start[face]
    size = reference.loop_start[face + 1] - begin
    for slot in range(size):
        p = reference.loop_vertices[begin + slot]
        q = reference.loop_vertices[begin + (slot + 1 if slot + 1 < size else 0)]
        corner = vec(reference.vertices, p)
        outward = cross(sub(vec(reference.vertices, q), corner), normal)
        set_vec(sides, slot, outward)
        sides[slot, 3] = dot(outward, corner)
        sides[slot, 4] = tolerance * norm(outward)
    return size


@inlined_kernel
def clip_face(body, incident, size, work):
    """Clips a face of body to a prism of so many sides, those in the work space: (count, polygon, tags).

    polygon: (., 3) vertices, counter-clockwise seen against the reference face's normal. tags: (.,) what the edge that follows
    the vertex lies on: slot >= 0 of the incident face's loop, or -1 - slot of the reference face's. incident -1 stands for
    the segment or point that a body without faces is. A vertex within the tolerance outside counts as inside.
    """
    polygon, tags, spare, spare_tags = work.polygon, work.tags, work.spare, work.spare_tags
    sides, levels = work.sides, work.levels
    first = body.loop_start[incident] if incident >= 0 else 0
    count = body.loop_start[incident + 1] - first if incident >= 0 else len(body.vertices)
    for i in range(count):
        # The faces look at each other, so the incident loop is walked backwards.
        slot = count - 1 - i
        vertex = body.loop_vertices[first + slot] if incident >= 0 else slot
        set_vec(polygon, i, vec(body.vertices, vertex))
        tags[i] = slot - 1 if slot > 0 else count - 1

    for slot in range(size):
        outward, offset, outside = vec(sides, slot), sides[slot, 3], sides[slot, 4]
        lowest = np.inf
        highest = -np.inf
        for i in range(count):
            levels[i] = dot(outward, vec(polygon, i)) - offset
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
            corner = vec(polygon, i)
            if level <= outside and written < len(spare):
                set_vec(spare, written, corner)
                spare_tags[written] = tags[i]
                written += 1
            # A convex polygon gains one vertex a plane; only a face merged from noise could fill the array, and loses a corner.
            if (level <= outside) != (next_level <= outside) and written < len(spare) - 1:
                fraction = min(max(level / (level - next_level), 0.0), 1.0)
                set_vec(spare, written, advanced(corner, fraction, sub(vec(polygon, j), corner)))
                spare_tags[written] = -1 - slot if level <= outside else tags[i]
                written += 1
        polygon, spare = spare, polygon
        tags, spare_tags = spare_tags, tags
        count = written
    return count, polygon, tags


@kernel_part
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


@kernel_part
def facing_faces(body, axis, level, merge, work):
    """Writes the body's faces that look down along an axis and have a vertex up to the level into the marks: how many.

    The one at the lowest vertex, up to merge, that looks down most is always among them; for a body without faces it is -1.
    """
    heights, found = work.heights, work.marks
    lowest = vertex_heights(body, axis, heights)
    count = 0
    best = -1
    best_cosine = np.inf
    best_found = False
    for f in range(len(body.planes)):
        bottom = lowest_of_face(body, f, heights)
        if bottom > max(level, lowest + merge):
            continue
        cosine = dot(axis, vec(body.planes, f))
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
def face_contacts(pair, face, reference_is_a):
    """Contacts with a face of a or of b, along that face's normal: (count, smallest gap found, even over the limit).

    Clipped are all faces of the other body that look at the reference face and reach below the limit, so that no support edge
    or vertex is missed however the faces around it lie.
    """
    reference = pair.a if reference_is_a else pair.b
    body = pair.b if reference_is_a else pair.a
    limit, merge, work = pair.limit, MERGE_RATIO * pair.scale, pair.work
    normal, offset = vec(reference.planes, face), reference.planes[face, 3]
    faces = facing_faces(body, normal, offset + limit, merge, work)
    size = prism_sides(reference, face, CLIP_TOLERANCE * pair.scale, work.sides)
    from_a = scaled(1.0 if reference_is_a else -1.0, normal)
    count = 0
    smallest = np.inf
    for slot in range(faces):
        incident = work.marks[slot]
        corners, clipped, clipped_tags = clip_face(body, incident, size, work)
        for i in range(corners):
            point = vec(clipped, i)
            gap = dot(normal, point) - offset
            smallest = min(smallest, gap)
            if gap > limit:
                continue
            before = clipped_tags[i - 1 if i > 0 else corners - 1]
            feature = clipped_feature(reference, face, body, incident, before, clipped_tags[i], reference_is_a)
            middle = advanced(point, -0.5 * gap, normal)
            count = add_contact(pair.manifold, count, limit, merge, middle, from_a, gap, feature)
    return count, smallest
