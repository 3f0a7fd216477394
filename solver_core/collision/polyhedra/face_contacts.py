# SPDX-License-Identifier: GPL-3.0-or-later
"""Face contacts: the faces of one body that face a reference face of the other, clipped to it, with one gap per vertex.

The clipping is that of Sutherland and Hodgman, along the normal of the reference face. Each edge of the clipped polygon has a
tag, the edge of either face on which it lies. So a vertex between two edges is known to be a vertex of one body or a crossing
of two edges.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, kernel_part
from ...linalg.vec3 import advanced, cross, dot, norm, scaled, set_vec, sub, vec
from ..manifold import EDGE_EDGE, FACE_VERTEX, VERTEX_FACE, add_contact, feature_id
from .hull_pair import CLIP_TOLERANCE, MERGE_RATIO

__all__ = ["FACING", "face_contacts", "incident_face", "vertex_heights"]

# Largest cosine between the normals of the reference face and of a face that faces it, one degree beyond perpendicular. Steeper
# faces add no contacts.
FACING = -0.0175


@inlined_kernel
def vertex_heights(body, axis, heights):
    """Write the components of the vertices of a body along an axis to `heights`, and return the smallest [m]."""
    lowest = np.inf
    for i in range(len(body.vertices)):
        heights[i] = dot(axis, vec(body.vertices, i))
        lowest = min(lowest, heights[i])
    return lowest


@inlined_kernel
def lowest_of_face(body, face, heights):
    """Return the smallest height of the vertices of a face [m]."""
    lowest = np.inf
    for slot in range(body.loop_start[face], body.loop_start[face + 1]):
        lowest = min(lowest, heights[body.loop_vertices[slot]])
    return lowest


@inlined_kernel
def incident_face(body, axis, heights, level):
    """Return the face that points most against an axis, among the faces with a vertex up to a level [m]; -1 for a body without
    faces.
    """
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
    """Write the sides of the prism over a face, and return their number.

    tolerance: points outside by no more count as inside [m].
    sides: (s, 5) output: outward normal of any length, offset, and the tolerance times that length.
    """
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
    """Clip a face of a body to a prism with `size` sides in the work arrays.

    A vertex within the tolerance outside counts as inside. incident: the face, or -1 for the segment or point of a body without
    faces.

    Returns the number of vertices, the polygon (n, 3), counterclockwise seen against the normal of the reference face, and tags
    (n,) of the edge after each vertex: the slot in the loop of the incident face, or -1 - slot for the reference face.
    """
    polygon, tags, spare, spare_tags = work.polygon, work.tags, work.spare, work.spare_tags
    sides, levels = work.sides, work.levels
    first = body.loop_start[incident] if incident >= 0 else 0
    count = body.loop_start[incident + 1] - first if incident >= 0 else len(body.vertices)
    for i in range(count):
        # The faces face each other, so the incident loop is traversed backward.
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
            # A convex polygon gains one vertex per plane. Only a face that is not quite convex could fill the array.
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
    """Return the id of a clipped polygon's vertex between edges with the tags `before` and `after`."""
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
    """Write the faces of a body that point against an axis and have a vertex up to a level [m] to `work.marks`.

    Among the faces at the lowest vertex, up to the merge distance [m], the one that points most against the axis is always
    included. It is -1 for a body without faces.

    Returns their number.
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
    """Find the contacts with a face of a or of b along its normal.

    All faces of the other body that face the reference face and reach below the limit are clipped, so no supporting edge or
    vertex is missed.

    Returns the number of contacts, and the smallest gap [m], which may exceed the limit.
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
