# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of a cylinder or a cone with a mesh, exact: triangle by triangle, without those that only inner edges would make.

Over a triangle the round body has the contacts that it has with the triangle's plane. With an edge or a corner it has those
that it has with a flat polygon, if the mesh holds their direction there: if the triangles beside lead away from it. An inner
edge of a flat part holds none, so what rolls or slides over it does not see it.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import kernel, leaf_kernel
from ..manifold import feature_id
from ..mesh.features import add, buffer, in_edge_normal_cone, in_vertex_normal_cone
from ..mesh.queries import closest_on_surface, is_inside, surface_view
from ..polyhedra.polyhedron import Polyhedron
from .candidates import NEAR, ON_EDGE, ON_FACE, ON_VERTEX, ROUND_FEATURE, spots
from .on_hull import edges_along_side, edges_under_cap, in_face, round_hull_contacts
from .solid import centre_of, round_at, side_normal

__all__ = ["round_surface_contacts"]

# Of a triangle's size: what is lower by no more is as far along a direction.
LEVEL = 1e-6
# A sine by which a direction may leave those that a feature holds.
NORMAL_CONE = 1e-4
# Of a work array of nodes.
STACK = 64
# Of the round body's size: in deeper overlaps single triangles no longer tell which way is out.
DEEP = 0.1
# Lines through the round body that a thin mesh may pass through with no vertex of either in the other: axis and diameters.
LINES = 5


@kernel
def flat_triangle():
    """A `Polyhedron` of one triangle, to be filled in: edge 0 joins vertices 0 and 1, edge 1 0 and 2, edge 2 1 and 2."""
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


@leaf_kernel
def fill_triangle(surface, f, triangle):
    """The triangle f of a surface; its normal is that of face 0."""
    n = surface.normals[f]
    for k in range(3):
        for i in range(3):
            triangle.vertices[i, k] = surface.vertices[surface.triangles[f, i], k]
        p, q, r = triangle.vertices[0, k], triangle.vertices[1, k], triangle.vertices[2, k]
        triangle.lower[k], triangle.upper[k], triangle.centre[k] = min(p, q, r), max(p, q, r), (p + q + r) / 3.0
    p = triangle.vertices[0]
    offset = n[0] * p[0] + n[1] * p[1] + n[2] * p[2]
    for k in range(3):
        triangle.planes[0, k], triangle.planes[1, k] = n[k], -n[k]
    triangle.planes[0, 3], triangle.planes[1, 3] = offset, -offset


@leaf_kernel
def round_bounds(r, box):
    """Bounds of a round body, into box (6,)."""
    for k in range(3):
        base = r.x if k == 0 else (r.y if k == 1 else r.z)
        axis = r.u if k == 0 else (r.v if k == 1 else r.w)
        across = r.radius * np.sqrt(max(1.0 - axis * axis, 0.0))
        other = 0.0 if r.is_cone else across
        top = base + r.height * axis
        box[k], box[3 + k] = min(base - across, top - other), max(base + across, top + other)


@leaf_kernel
def side_of(edge):
    """The side of a triangle that is the edge of a `flat_triangle`."""
    return 0 if edge == 0 else (2 if edge == 1 else 1)


@leaf_kernel
def has_border(surface, f):
    """Whether a triangle has more than inner edges of a flat part."""
    for side in range(3):
        e = surface.triangle_edges[f, side]
        if surface.corner[surface.triangles[f, side]] or (e >= 0 and surface.sharp[e]):
            return True
    return False


@leaf_kernel
def edge_is_held(surface, f, side, x, y, z):
    e = surface.triangle_edges[f, side]
    return e >= 0 and surface.sharp[e] and in_edge_normal_cone(surface, surface.vertices, e, x, y, z, NORMAL_CONE)


@leaf_kernel
def vertex_is_held(surface, f, corner, x, y, z):
    v = surface.triangles[f, corner]
    return surface.corner[v] and in_vertex_normal_cone(surface, surface.vertices, v, x, y, z, NORMAL_CONE)


@leaf_kernel
def border_holds(surface, f, triangle, x, y, z, size):
    """Whether an edge or a corner of triangle f is farthest along the unit vector (x, y, z), and the mesh holds it there."""
    a = x * triangle.vertices[0, 0] + y * triangle.vertices[0, 1] + z * triangle.vertices[0, 2]
    b = x * triangle.vertices[1, 0] + y * triangle.vertices[1, 1] + z * triangle.vertices[1, 2]
    c = x * triangle.vertices[2, 0] + y * triangle.vertices[2, 1] + z * triangle.vertices[2, 2]
    level = max(a, b, c) - LEVEL * size
    first, second, third = a >= level, b >= level, c >= level
    if first and second and third:
        return False
    if (first and second) or (second and third) or (first and third):
        side = 0 if first and second else (1 if second and third else 2)
        return edge_is_held(surface, f, side, x, y, z)
    return vertex_is_held(surface, f, 0 if first else (1 if second else 2), x, y, z)


@leaf_kernel
def add_held(surface, f, manifold, slot, round_is_a, x, y, z, of_edges, out):
    """Adds a contact with triangle f, in a row of the manifold, under the names of the mesh's features, (x, y, z) being its
    direction from the mesh. of_edges: only if it is one of an edge or a corner that the mesh holds in that direction."""
    ids = (1 << 30) - 1
    name = np.int64(manifold.feature[slot])
    of_a, of_b = (name >> 30) & ids, name & ids
    of_round, of_other = (of_a, of_b) if round_is_a else (of_b, of_a)
    part, kind = of_other // 4, of_other % 4
    if kind == ON_EDGE:
        side = side_of(part)
        if of_edges and not edge_is_held(surface, f, side, x, y, z):
            return
        of_mesh = 4 * surface.triangle_edges[f, side] + ON_EDGE
    elif kind == ON_VERTEX:
        if of_edges and not vertex_is_held(surface, f, part, x, y, z):
            return
        of_mesh = 4 * surface.triangles[f, part] + ON_VERTEX
    else:
        if of_edges:
            return
        of_mesh = 4 * surface.patch[f] + ON_FACE
    feature = feature_id(ROUND_FEATURE, of_round, of_mesh) if round_is_a else feature_id(ROUND_FEATURE, of_mesh, of_round)
    p, n = manifold.point[slot], manifold.normal[slot]
    add(out, p[0], p[1], p[2], n[0], n[1], n[2], manifold.gap[slot], feature, False)


@leaf_kernel
def leaves_elsewhere(r, surface, px, py, pz, depth, stack):
    """Whether a point inside of a solid is less deep below another triangle that the body's middle is over.

    The apex of a cone that lies on a table is below the top by next to nothing and behind the table's side by a hand: it leaves
    through the top. Below a thin plate's other side it came from, and leaves to, where its body is.
    """
    nearer = depth * (1.0 - 1e-6) - surface.tolerance
    if nearer <= 0.0:
        return False
    _, f, _, _, _ = closest_on_surface(surface, px, py, pz, nearer, 0.0, stack)
    if f < 0:
        return False
    cx, cy, cz = centre_of(r)
    n, p = surface.normals[f], surface.vertices[surface.triangles[f, 0]]
    return n[0] * (cx - p[0]) + n[1] * (cy - p[1]) + n[2] * (cz - p[2]) > 0.0


@leaf_kernel
def is_over_face(r, surface, triangle, face, px, py, pz, gap, tolerance, stack):
    """Whether a point of the round body's surface with a gap over the plane of a face is over the face.

    One below the plane has to be inside of a solid and nowhere nearer to its outside, or behind the face as seen from the
    body's middle, lest what reaches below an overhang counts as sunk into it from above.
    """
    x, y, z = triangle.planes[face, 0], triangle.planes[face, 1], triangle.planes[face, 2]
    if gap >= 0.0 or surface.solid:
        if not in_face(triangle, face, px - gap * x, py - gap * y, pz - gap * z, tolerance):
            return False
        if gap > -tolerance:
            return True
        return not leaves_elsewhere(r, surface, px, py, pz, -gap, stack) and is_inside(surface, px, py, pz, stack)
    cx, cy, cz = centre_of(r)
    height = x * cx + y * cy + z * cz - triangle.planes[face, 3]
    t = gap / (gap - height)
    return in_face(triangle, face, px + t * (cx - px), py + t * (cy - py), pz + t * (cz - pz), tolerance)


@leaf_kernel
def face_contacts(r, surface, f, triangle, face, round_is_a, limit, merge, manifold, work, stack, out):
    """Adds the points of the round body that are over triangle f, and edges of the mesh there below its cap or its side."""
    x, y, z, offset = triangle.planes[face, 0], triangle.planes[face, 1], triangle.planes[face, 2], triangle.planes[face, 3]
    size = r.radius + r.height
    sign = -1.0 if round_is_a else 1.0
    of_mesh = 4 * surface.patch[f] + ON_FACE
    for spot in range(spots(r, -x, -y, -z, work)):
        px, py, pz = work.spots[spot, 0], work.spots[spot, 1], work.spots[spot, 2]
        gap = x * px + y * py + z * pz - offset
        if not -2.0 * DEEP * size <= gap <= limit:
            continue
        if not is_over_face(r, surface, triangle, face, px, py, pz, gap, 0.01 * merge, stack):
            continue
        spot_id = np.int64(work.spot_ids[spot])
        feature = feature_id(ROUND_FEATURE, spot_id, of_mesh) if round_is_a else feature_id(ROUND_FEATURE, of_mesh, spot_id)
        half = 0.5 * gap
        add(out, px - half * x, py - half * y, pz - half * z, sign * x, sign * y, sign * z, gap, feature, False)
    if not has_border(surface, f):
        return
    count = 0
    along = -(x * r.u + y * r.v + z * r.w)
    radial, rise = side_normal(r)
    if abs(along) > NEAR and (along < 0.0 or not r.is_cone):
        count = edges_under_cap(r, along > 0.0, triangle, -x, -y, -z, round_is_a, limit, merge, manifold, count)
    if radial * np.sqrt(max(1.0 - along * along, 0.0)) + rise * along > NEAR:
        count = edges_along_side(r, triangle, -x, -y, -z, round_is_a, limit, merge, manifold, count)
    for slot in range(count):
        if manifold.gap[slot] >= -2.0 * DEEP * size:
            n = manifold.normal[slot]
            add_held(surface, f, manifold, slot, round_is_a, sign * n[0], sign * n[1], sign * n[2], True, out)


@leaf_kernel
def triangle_contacts(r, surface, f, triangle, round_is_a, limit, merge, noise, manifold, work, stack, out):
    """Adds the contacts of a round body with triangle f that the mesh has; returns the least gap that it has with the triangle
    alone, 0 where that is no overlap or has not been looked for."""
    cx, cy, cz = centre_of(r)
    x, y, z = triangle.planes[0, 0], triangle.planes[0, 1], triangle.planes[0, 2]
    over = x * cx + y * cy + z * cz - triangle.planes[0, 3]
    if over > 0.0 or not surface.solid:
        face = 0 if over > 0.0 else 1
        face_contacts(r, surface, f, triangle, face, round_is_a, limit, merge, manifold, work, stack, out)
    alone = 0.0
    if not has_border(surface, f):
        return alone
    size = 0.0
    for k in range(3):
        size += triangle.upper[k] - triangle.lower[k]
    sign = -1.0 if round_is_a else 1.0
    for slot in range(round_hull_contacts(r, triangle, round_is_a, limit, merge, noise, manifold, work)):
        n = manifold.normal[slot]
        nx, ny, nz = sign * n[0], sign * n[1], sign * n[2]
        alone = min(alone, manifold.gap[slot])
        if border_holds(surface, f, triangle, nx, ny, nz, size):
            add_held(surface, f, manifold, slot, round_is_a, nx, ny, nz, False, out)
    return alone


@leaf_kernel
def is_cut(r, triangle):
    """Whether a triangle passes through the axis or a diameter of a round body, with a tenth of it on either side."""
    nx, ny, nz, offset = triangle.planes[0, 0], triangle.planes[0, 1], triangle.planes[0, 2], triangle.planes[0, 3]
    at, radius = (0.25 * r.height, 0.75 * r.radius) if r.is_cone else (0.5 * r.height, r.radius)
    for line in range(LINES):
        middle, dx, dy, dz = 0.5 * r.height, 0.5 * r.height * r.u, 0.5 * r.height * r.v, 0.5 * r.height * r.w
        if line > 0:
            angle = np.pi * (line - 1) / (LINES - 1)
            one, other = radius * np.cos(angle), radius * np.sin(angle)
            middle = at
            dx = one * r.e + other * (r.v * r.g - r.w * r.f)
            dy = one * r.f + other * (r.w * r.e - r.u * r.g)
            dz = one * r.g + other * (r.u * r.f - r.v * r.e)
        cx, cy, cz = r.x + middle * r.u, r.y + middle * r.v, r.z + middle * r.w
        height, along = nx * cx + ny * cy + nz * cz - offset, nx * dx + ny * dy + nz * dz
        least = 2.0 * DEEP * np.sqrt(dx * dx + dy * dy + dz * dz)
        if abs(along) - abs(height) >= least:
            t = -height / along
            if in_face(triangle, 0, cx + t * dx, cy + t * dy, cz + t * dz, 0.0):
                return True
    return False


@leaf_kernel
def fill_contacts(r, table, s, triangle, round_is_a, limit, merge, noise, manifold, work, box, stack, out):
    """Contacts with all triangles of surface s; returns whether these cut the body, or its middle is inside of them, and the
    least gap with a triangle alone."""
    surface = surface_view(table, s)
    out.used[0] = 0
    cut, alone = False, 0.0
    stack[0] = 0
    size = 1
    while size > 0:
        size -= 1
        node = stack[size]
        bounds = surface.boxes[node]
        apart = False
        for k in range(3):
            apart = apart or bounds[k] > box[3 + k] + limit or bounds[3 + k] < box[k] - limit
        if apart:
            continue
        right = surface.right[node]
        if right > 0:
            stack[size], stack[size + 1] = right, node + 1
            size += 2
            continue
        for row in range(surface.node_begin[node], surface.node_end[node]):
            f = surface.order[row]
            n = surface.normals[f]
            if n[0] == 0.0 and n[1] == 0.0 and n[2] == 0.0:
                continue
            fill_triangle(surface, f, triangle)
            apart = False
            for k in range(3):
                apart = apart or triangle.lower[k] > box[3 + k] + limit or triangle.upper[k] < box[k] - limit
            if not apart:
                gap = triangle_contacts(
                    r, surface, f, triangle, round_is_a, limit, merge, noise, manifold, work, stack[STACK:], out
                )
                alone = min(alone, gap)
                cut = cut or is_cut(r, triangle)
    cx, cy, cz = centre_of(r)
    return cut or (surface.solid and is_inside(surface, cx, cy, cz, stack)), alone


@kernel
def round_surface_contacts(shapes, table, s, body, turn, shift, round_is_a, limit, merge, noise, manifold, work):
    """Contacts of the cylinder or cone `body` with surface s, in whose axes turn (3, 3) and shift (3,) place it: a `Buffer`,
    not sorted; and whether they overlap so far that the triangles no longer tell which way is out.

    What frees the body of the mesh frees it of every triangle. So where one triangle alone is deeper in it than the deepest
    contact, its way out is one that the mesh does not hold, and the contact that counts is missing.
    """
    r = round_at(shapes, body, turn, shift)
    box, stack, triangle = np.empty(6), np.empty(2 * STACK, np.int64), flat_triangle()
    round_bounds(r, box)
    out = buffer(64)
    inside, alone = fill_contacts(r, table, s, triangle, round_is_a, limit, merge, noise, manifold, work, box, stack, out)
    if out.used[0] > len(out.gap):
        out = buffer(out.used[0])
        fill_contacts(r, table, s, triangle, round_is_a, limit, merge, noise, manifold, work, box, stack, out)
    deepest = min(out.gap[: out.used[0]].min(), 0.0) if out.used[0] > 0 else 0.0
    return out, inside or deepest < -DEEP * (r.radius + r.height) or alone < deepest - noise
