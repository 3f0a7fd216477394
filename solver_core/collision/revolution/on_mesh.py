# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of a cylinder or a cone with a mesh, exact, triangle by triangle, and free of contacts with inner edges.

Over a triangle, the round shape has the contacts that it has with the plane of the triangle. With an edge or a vertex, it has
those that it has with a flat polygon, if their direction is in the normal cone of the edge or the vertex. An edge inside a flat
patch has no normal cone of its own, so a body that rolls or slides over it does not feel it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, TRUE, inlined_kernel, kernel, kernel_part, leaf_kernel
from ...linalg.elementary import sine_and_cosine
from ...linalg.vec3 import add, advanced, dot, negative, norm, scaled, set_vec, sub, vec
from ..contact_buffer import ContactBuffer, append_contact, capacity_of, min_gap, new_buffer
from ..manifold import NONE_FOUND
from ..mesh.normal_cones import in_edge_normal_cone, in_vertex_normal_cone
from ..mesh.queries import SurfaceView, closest_on_surface, is_inside, own_view, triangle_corners
from ..polyhedra.polyhedron import Polyhedron
from .candidates import ON_EDGE, ON_FACE, ON_VERTEX, ContactSink, candidate_points, round_feature
from .on_hull import append_edge_contacts, in_face, round_hull_contacts
from .solid import RoundShape, inner_point, rim_axes

__all__ = ["round_surface_contacts"]

# Relative to the size of a triangle: corners that differ by no more along a direction are equally far.
LEVEL_RATIO = 1e-6
# Sine by which a direction may leave the normal cone of a feature.
NORMAL_CONE = 1e-4
# Length of a stack of nodes.
STACK = 64
# Relative to the size of the round shape: in deeper overlaps single triangles do not define the exit direction.
DEEP_RATIO = 0.1
# Number of lines, the axis and diameters, that are tested for triangles through the round shape. A thin mesh may pass through
# it although neither shape has a vertex inside the other.
LINES = 5
# Faces and corners of a flat triangle.
FRONT, BACK = np.int64(0), np.int64(1)
ALL_CORNERS = (0, 1, 2)


class RoundMeshWork(NamedTuple):
    """Work arrays. box: (6,) bounds of the round shape. stack: (2 STACK,) nodes; the second half is for queries of the surface.
    out: output.
    """

    box: NDArray[np.float64]
    stack: NDArray[np.int64]
    out: ContactBuffer


class RoundMeshQuery(NamedTuple):
    """A round shape and a surface in the frame of the surface.

    triangle: the current triangle as a flat polyhedron. found: sink for its contacts. stack, out: as in `RoundMeshWork`.
    """

    round: RoundShape
    surface: SurfaceView
    triangle: Polyhedron
    found: ContactSink
    stack: NDArray[np.int64]
    out: ContactBuffer


@kernel_part
def flat_triangle():
    """Allocate a `Polyhedron` for a triangle.

    Edge 0 joins vertices 0 and 1, edge 1 vertices 0 and 2, edge 2 vertices 1 and 2.
    """
    return Polyhedron(
        np.zeros((3, 3)),
        np.zeros((2, 4)),
        np.array([0, 3, 6]),
        np.array([0, 1, 2, 0, 2, 1]),
        np.array([0, 2, 1, 1, 2, 0]),
        np.array([[0, 1], [0, 2], [1, 2]]),
        np.array([[0, 1], [1, 0], [0, 1]]),
        np.zeros(3),
        np.zeros(3),
        np.zeros(3),
    )


@kernel_part
def fill_triangle(surface, f, triangle):
    """Write triangle f of a surface to a flat triangle. Its normal is that of face 0."""
    for k in range(3):
        for i in range(3):
            triangle.vertices[i, k] = surface.vertices[surface.triangles[f, i], k]
        p, q, r = triangle.vertices[0, k], triangle.vertices[1, k], triangle.vertices[2, k]
        triangle.lower[k], triangle.upper[k], triangle.centre[k] = min(p, q, r), max(p, q, r), (p + q + r) / 3.0
    normal = vec(surface.normals, f)
    offset = dot(normal, vec(triangle.vertices, FRONT))
    set_vec(triangle.planes, FRONT, normal)
    set_vec(triangle.planes, BACK, negative(normal))
    triangle.planes[0, 3], triangle.planes[1, 3] = offset, -offset


@leaf_kernel
def round_bounds(r, box):
    """Write the bounds of a round shape to box (6,) [m]."""
    for k in range(3):
        base, axis = r.base[k], r.axis[k]
        across = r.radius * np.sqrt(max(1.0 - axis * axis, 0.0))
        other = 0.0 if r.is_cone else across
        top = base + r.height * axis
        box[k], box[3 + k] = min(base - across, top - other), max(base + across, top + other)


@kernel_part
def triangle_side(edge):
    """Return the side of a triangle that is the given edge of a `flat_triangle`."""
    return 0 if edge == 0 else (2 if edge == 1 else 1)


@leaf_kernel
def has_border(surface, f):
    """Return True if a triangle has a feature edge or a feature vertex."""
    for side in range(3):
        e = surface.triangle_edges[f, side]
        if surface.corner[surface.triangles[f, side]] or (e >= 0 and surface.sharp[e]):
            return True
    return False


@leaf_kernel
def in_cone_of_side(surface, f, side, direction):
    """Return True if a direction is in the normal cone of the mesh edge at a side of triangle f."""
    e = surface.triangle_edges[f, side]
    return e >= 0 and surface.sharp[e] and in_edge_normal_cone(surface, surface.vertices, e, direction, NORMAL_CONE)


@leaf_kernel
def in_cone_of_corner(surface, f, corner, direction):
    """Return True if a direction is in the normal cone of the mesh vertex at a corner of triangle f."""
    v = surface.triangles[f, corner]
    return surface.corner[v] and in_vertex_normal_cone(surface, surface.vertices, v, direction, NORMAL_CONE)


@kernel_part
def in_cone_of_border(query, f, direction, size):
    """Return True if the feature of triangle f that is farthest along a direction is an edge or a corner with that normal.

    size: of the triangle [m].
    """
    p, q, r = triangle_corners(query.triangle.vertices, ALL_CORNERS)
    a, b, c = dot(direction, p), dot(direction, q), dot(direction, r)
    level = max(a, b, c) - LEVEL_RATIO * size
    first, second, third = a >= level, b >= level, c >= level
    if first and second and third:
        return False
    if (first and second) or (second and third) or (first and third):
        side = 0 if first and second else (1 if second and third else 2)
        return in_cone_of_side(query.surface, f, side, direction)
    return in_cone_of_corner(query.surface, f, 0 if first else (1 if second else 2), direction)


@leaf_kernel
def append_with_mesh_feature(query, f, slot, direction, of_edges):
    """Append a contact with triangle f, from a row of the manifold, with the features of the mesh.

    direction: unit normal from the mesh. of_edges: True to append only contacts of edges and vertices whose normal cone has it.
    """
    surface, manifold, round_is_a = query.surface, query.found.manifold, query.found.round_is_a
    ids = (1 << 30) - 1
    packed = np.int64(manifold.feature[slot])
    of_a, of_b = (packed >> 30) & ids, packed & ids
    of_round, of_other = (of_a, of_b) if round_is_a else (of_b, of_a)
    part, kind = of_other // 4, of_other % 4
    if kind == ON_EDGE:
        side = triangle_side(part)
        if of_edges and not in_cone_of_side(surface, f, side, direction):
            return
        of_mesh = 4 * surface.triangle_edges[f, side] + ON_EDGE
    elif kind == ON_VERTEX:
        if of_edges and not in_cone_of_corner(surface, f, part, direction):
            return
        of_mesh = 4 * surface.triangles[f, part] + ON_VERTEX
    else:
        if of_edges:
            return
        of_mesh = 4 * surface.patch[f] + ON_FACE
    feature = round_feature(round_is_a, of_round, of_mesh)
    append_contact(query.out, vec(manifold.point, slot), vec(manifold.normal, slot), manifold.gap[slot], feature)


@kernel_part
def exits_elsewhere(query, point, depth):
    """Return True if a point inside a solid is less deep under another triangle that has the center of the round shape in
    front.

    For example, the apex of a cone that lies on a table is barely below the top, and deep behind the side of the table: it
    exits through the top. A point behind the far side of a thin plate exits to the side where the center is.

    depth: of the point under the current triangle [m].
    """
    surface = query.surface
    nearer = depth * (1.0 - 1e-6) - surface.tolerance
    if nearer <= 0.0:
        return False
    _, f, _ = closest_on_surface(surface, point, nearer, 0.0, query.stack[STACK:])
    if f < 0:
        return False
    corner = vec(surface.vertices, surface.triangles[f, 0])
    return dot(vec(surface.normals, f), sub(inner_point(query.round), corner)) > 0.0


@kernel_part
def is_over_face(query, face, point, gap):
    """Return True if a point of the round shape, with a gap over the plane of a face [m], is over the face.

    A point below the plane must be inside the solid and not nearer to the outside elsewhere. For a sheet, it must be behind the
    face as seen from the center of the round shape. Otherwise points below an overhang would count as deep below it.
    """
    triangle, tolerance = query.triangle, 0.01 * query.found.merge
    normal = vec(triangle.planes, face)
    if gap >= 0.0 or query.surface.solid:
        if not in_face(triangle, face, advanced(point, -gap, normal), tolerance):
            return False
        if gap > -tolerance:
            return True
        return not exits_elsewhere(query, point, -gap) and is_inside(query.surface, point, query.stack[STACK:])
    centre = inner_point(query.round)
    height = dot(normal, centre) - triangle.planes[face, 3]
    return in_face(triangle, face, advanced(point, gap / (gap - height), sub(centre, point)), tolerance)


@leaf_kernel
def face_contacts(query, f, face):
    """Append the candidate points of the round shape over triangle f, and the mesh edges there below its cap or lateral
    surface.
    """
    r, surface, triangle, found = query.round, query.surface, query.triangle, query.found
    normal, offset = vec(triangle.planes, face), triangle.planes[face, 3]
    deepest = -2.0 * DEEP_RATIO * (r.radius + r.height)
    sign = -1.0 if found.round_is_a else 1.0
    of_mesh = 4 * surface.patch[f] + ON_FACE
    for row in range(candidate_points(r, negative(normal), found.work)):
        point = vec(found.work.candidates, row)
        gap = dot(normal, point) - offset
        if not deepest <= gap <= found.limit or not is_over_face(query, face, point, gap):
            continue
        feature = round_feature(found.round_is_a, np.int64(found.work.candidate_ids[row]), of_mesh)
        append_contact(query.out, advanced(point, -0.5 * gap, normal), scaled(sign, normal), gap, feature)
    if has_border(surface, f):
        for slot in range(append_edge_contacts(found, r, triangle, negative(normal), NONE_FOUND)):
            if found.manifold.gap[slot] >= deepest:
                append_with_mesh_feature(query, f, slot, scaled(sign, vec(found.manifold.normal, slot)), TRUE)


@leaf_kernel
def triangle_contacts(query, f):
    """Append the contacts of a round shape with triangle f of the mesh.

    Returns the smallest gap of the round shape and the triangle alone [m], or 0 if it is positive or was not computed.
    """
    surface, triangle, found = query.surface, query.triangle, query.found
    over = dot(vec(triangle.planes, FRONT), inner_point(query.round)) - triangle.planes[0, 3]
    if over > 0.0 or not surface.solid:
        face_contacts(query, f, FRONT if over > 0.0 else BACK)
    min_triangle_gap = 0.0
    if not has_border(surface, f):
        return min_triangle_gap
    size = 0.0
    for k in range(3):
        size += triangle.upper[k] - triangle.lower[k]
    sign = -1.0 if found.round_is_a else 1.0
    for slot in range(round_hull_contacts(found, query.round, triangle)):
        direction = scaled(sign, vec(found.manifold.normal, slot))
        min_triangle_gap = min(min_triangle_gap, found.manifold.gap[slot])
        if in_cone_of_border(query, f, direction, size):
            append_with_mesh_feature(query, f, slot, direction, FALSE)
    return min_triangle_gap


@kernel_part
def is_pierced(r, triangle):
    """Return True if a triangle passes through the axis or a diameter of a round shape, with a tenth of the line on either
    side.
    """
    normal, offset = vec(triangle.planes, FRONT), triangle.planes[0, 3]
    section_height, radius = (0.25 * r.height, 0.75 * r.radius) if r.is_cone else (0.5 * r.height, r.radius)
    e, h = rim_axes(r)
    for line in range(LINES):
        middle, half = 0.5 * r.height, scaled(0.5 * r.height, r.axis)
        if line > 0:
            sine, cosine = sine_and_cosine(np.pi * (line - 1) / (LINES - 1))
            middle, half = section_height, add(scaled(radius * cosine, e), scaled(radius * sine, h))
        centre = advanced(r.base, middle, r.axis)
        height, along = dot(normal, centre) - offset, dot(normal, half)
        passes = abs(along) - abs(height) >= 2.0 * DEEP_RATIO * norm(half)
        if passes and in_face(triangle, FRONT, advanced(centre, -height / along, half), 0.0):
            return True
    return False


@inlined_kernel
def boxes_apart(lower, upper, box, limit):
    """Return True if bounds, (3,) each, are farther apart along an axis from a box (6,) than a limit [m]."""
    apart = False
    for k in range(3):
        apart = apart or lower[k] > box[3 + k] + limit or upper[k] < box[k] - limit
    return apart


@leaf_kernel
def collect_contacts(r, table, s, triangle, found, work):
    """Write the contacts with all triangles of surface s to work.out.

    Returns whether triangles pierce the round shape or its center is inside the surface, and the smallest gap to a triangle
    alone [m].
    """
    surface, box, stack = own_view(table, s), work.box, work.stack
    query = RoundMeshQuery(r, surface, triangle, found, stack, work.out)
    work.out.used[0] = 0
    pierced, min_triangle_gap = False, 0.0
    stack[0] = 0
    size = 1
    while size > 0:
        size -= 1
        node = stack[size]
        bounds = surface.boxes[node]
        if boxes_apart(bounds, bounds[3:], box, found.limit):
            continue
        right = surface.right[node]
        if right > 0:
            stack[size], stack[size + 1] = right, node + 1
            size += 2
            continue
        for place in range(surface.node_begin[node], surface.node_end[node]):
            f = surface.order[place]
            n = surface.normals[f]
            if n[0] == 0.0 and n[1] == 0.0 and n[2] == 0.0:
                continue
            fill_triangle(surface, f, triangle)
            if not boxes_apart(triangle.lower, triangle.upper, box, found.limit):
                min_triangle_gap = min(min_triangle_gap, triangle_contacts(query, f))
                pierced = pierced or is_pierced(r, triangle)
    return pierced or (surface.solid and is_inside(surface, inner_point(r), stack)), min_triangle_gap


@kernel
def round_surface_contacts(r, table, s, found):
    """Find the contacts of a cylinder or a cone with surface s, in the frame of the surface.

    A translation that separates the round shape from the mesh separates it from each triangle. So if one triangle alone
    overlaps more deeply than the deepest contact, its exit direction is in no normal cone of the mesh, and the decisive contact
    is missing.

    Returns an unsorted `ContactBuffer`, and True if the overlap is so deep that triangles do not define the exit direction.
    """
    box, stack, triangle = np.empty(6), np.empty(2 * STACK, np.int64), flat_triangle()
    round_bounds(r, box)
    out = new_buffer(64)
    inside, min_triangle_gap = collect_contacts(r, table, s, triangle, found, RoundMeshWork(box, stack, out))
    if out.used[0] > capacity_of(out):
        out = new_buffer(out.used[0])
        collect_contacts(r, table, s, triangle, found, RoundMeshWork(box, stack, out))
    deepest = min(min_gap(out), 0.0)
    return out, inside or deepest < -DEEP_RATIO * (r.radius + r.height) or min_triangle_gap < deepest - found.noise
