# SPDX-License-Identifier: GPL-3.0-or-later
"""Separating axes of two convex polyhedra: the best face normal and the best pair of edges.

The separation along a unit axis n from a to b is min over b of n . x less max over a of n . x. Every separation is a lower
bound of the distance, and the largest one over all axes is the distance itself when a face or two crossing edges are closest,
and minus the depth of penetration when the bodies overlap. Only face normals of either body and cross products of edges whose
arcs on the Gauss map intersect (those that make a face of the Minkowski difference) can be the largest.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, leaf_kernel

__all__ = ["axis_separation", "edge_separation", "face_separation"]

# Squared sine below which two edges count as parallel and give no axis: their cross product has lost ten digits.
PARALLEL = 1e-12


@inlined_kernel
def lowest_vertex(vertices, x, y, z):
    """The vertex with the smallest component along (x, y, z), and that component."""
    best = 0
    lowest = np.inf
    for i in range(len(vertices)):
        height = x * vertices[i, 0] + y * vertices[i, 1] + z * vertices[i, 2]
        if height < lowest:
            lowest = height
            best = i
    return best, lowest


@leaf_kernel
def axis_separation(a, b, x, y, z):
    """The separation along a unit axis from a to b, by all vertices."""
    highest = -np.inf
    for i in range(len(a.vertices)):
        highest = max(highest, x * a.vertices[i, 0] + y * a.vertices[i, 1] + z * a.vertices[i, 2])
    return lowest_vertex(b.vertices, x, y, z)[1] - highest


@inlined_kernel
def face_separation(a, b, limit):
    """Largest separation along a's face normals: (separation, face, lowest vertex of b over it).

    Stops early at a separation over the limit. (-inf, -1, 0) when a has no faces.
    """
    planes = a.planes
    vertices = b.vertices
    cx, cy, cz = b.centre[0], b.centre[1], b.centre[2]
    first = -1
    highest = -np.inf
    for f in range(len(planes)):
        height = planes[f, 0] * cx + planes[f, 1] * cy + planes[f, 2] * cz - planes[f, 3]
        if height > highest:
            highest = height
            first = f
    if first < 0:
        return -np.inf, -1, 0
    vertex, lowest = lowest_vertex(vertices, planes[first, 0], planes[first, 1], planes[first, 2])
    best = first
    separation = lowest - planes[first, 3]
    for f in range(len(planes)):
        if separation > limit:
            break
        x, y, z, offset = planes[f, 0], planes[f, 1], planes[f, 2], planes[f, 3]
        # Any vertex bounds the separation from above, and the one found last mostly settles it.
        if f == first or x * vertices[vertex, 0] + y * vertices[vertex, 1] + z * vertices[vertex, 2] - offset <= separation:
            continue
        candidate, lowest = lowest_vertex(vertices, x, y, z)
        if lowest - offset > separation:
            separation = lowest - offset
            best = f
            vertex = candidate
    return separation, best, vertex


@inlined_kernel
def is_near_box(core, edge, lower, upper, radius):
    """Whether the bounding box of an edge comes within the radius of a box along every axis."""
    i = core.edges[edge, 0]
    j = core.edges[edge, 1]
    for k in range(3):
        p = core.vertices[i, k]
        q = core.vertices[j, k]
        if max(p, q) < lower[k] - radius or min(p, q) > upper[k] + radius:
            return False
    return True


@inlined_kernel
def mark_faces(core, vertices, vertex, centre, bound, marks):
    """For each face of the core: 1 where a vertex of the other core is no higher over it than the bound, plus 2 where its
    centre is not, into marks (>= faces,)."""
    x, y, z = vertices[vertex, 0], vertices[vertex, 1], vertices[vertex, 2]
    cx, cy, cz = centre[0], centre[1], centre[2]
    for f in range(len(core.planes)):
        nx, ny, nz, offset = core.planes[f, 0], core.planes[f, 1], core.planes[f, 2], core.planes[f, 3]
        mark = 1 if nx * x + ny * y + nz * z - offset <= bound else 0
        marks[f] = mark + (2 if nx * cx + ny * cy + nz * cz - offset <= bound else 0)


@inlined_kernel
def may_separate(core, edge, marks, lower, upper, plane_of, face, radius):
    """Whether an edge may be one of the two whose axis decides.

    An axis n in the cone of the unit normals l and r of the edge's faces is alpha l + beta r with alpha + beta >= 1: it
    separates a point w of the other core by n . w, over the edge, and n . w <= bound <= 0 follows from l . w <= bound and
    r . w <= bound, that is from marks that both faces bear. Nor does an edge decide that is farther than the radius from the
    other core's bounds or from its best face.
    """
    left = core.edge_faces[edge, 0]
    right = core.edge_faces[edge, 1]
    if left >= 0 and (marks[left] & marks[right]) != 0:
        return False
    if not is_near_box(core, edge, lower, upper, radius):
        return False
    if face < 0:
        return True
    x, y, z = plane_of.planes[face, 0], plane_of.planes[face, 1], plane_of.planes[face, 2]
    p = core.edges[edge, 0]
    q = core.edges[edge, 1]
    height_p = x * core.vertices[p, 0] + y * core.vertices[p, 1] + z * core.vertices[p, 2]
    height_q = x * core.vertices[q, 0] + y * core.vertices[q, 1] + z * core.vertices[q, 2]
    return min(height_p, height_q) <= plane_of.planes[face, 3] + radius


@inlined_kernel
def edge_separation(a, b, face_a, vertex_b, face_b, vertex_a, floor, radius, noise, work, marks):
    """Largest separation over the floor along cross products of edges: (separation, edge of a, edge of b, x, y, z).

    face_a and vertex_b, face_b and vertex_a: what `face_separation` found. (x, y, z) is the axis from a to b; edge of a is -1
    when no pair beats the floor. Edges farther than the radius from the other body are left out: an axis that decides has its
    two edges no farther apart than max(reach, -floor). noise: m, up to which the edges' own separation stands for that of
    the bodies. work: (>= edges of b, 13); marks: (>= faces of either,) int64.
    """
    bound = min(floor, 0.0)
    mark_faces(b, a.vertices, vertex_a, a.centre, bound, marks)
    count = 0
    for j in range(len(b.edges)):
        if not may_separate(b, j, marks, a.lower, a.upper, a, face_a, radius):
            continue
        p = b.edges[j, 0]
        q = b.edges[j, 1]
        left = b.edge_faces[j, 0]
        right = b.edge_faces[j, 1]
        for k in range(3):
            work[count, k] = b.vertices[p, k]
            work[count, 3 + k] = b.vertices[q, k] - b.vertices[p, k]
            work[count, 6 + k] = b.planes[left, k] if left >= 0 else 0.0
            work[count, 9 + k] = b.planes[right, k] if right >= 0 else 0.0
        work[count, 12] = j
        count += 1

    separation = floor
    best_a = -1
    best_b = -1
    best_x = best_y = best_z = 0.0
    if count > 0:
        mark_faces(a, b.vertices, vertex_b, b.centre, bound, marks)
    for i in range(len(a.edges) if count > 0 else 0):
        if not may_separate(a, i, marks, b.lower, b.upper, b, face_b, radius):
            continue
        p = a.edges[i, 0]
        q = a.edges[i, 1]
        px, py, pz = a.vertices[p, 0], a.vertices[p, 1], a.vertices[p, 2]
        dx, dy, dz = a.vertices[q, 0] - px, a.vertices[q, 1] - py, a.vertices[q, 2] - pz
        length2 = dx * dx + dy * dy + dz * dz
        left = a.edge_faces[i, 0]
        right = a.edge_faces[i, 1]
        lx = ly = lz = rx = ry = rz = 0.0
        if left >= 0:
            lx, ly, lz = a.planes[left, 0], a.planes[left, 1], a.planes[left, 2]
            rx, ry, rz = a.planes[right, 0], a.planes[right, 1], a.planes[right, 2]
        for row in range(count):
            ex, ey, ez = work[row, 3], work[row, 4], work[row, 5]
            # The arcs of a's edge and of b's mirrored edge cross at sign * (d x e); an edge without faces has a full circle.
            sign_a = lx * ex + ly * ey + lz * ez
            if left >= 0 and sign_a * (rx * ex + ry * ey + rz * ez) >= 0.0:
                continue
            sign_b = work[row, 6] * dx + work[row, 7] * dy + work[row, 8] * dz
            j = int(work[row, 12])
            if b.edge_faces[j, 0] < 0:
                if left < 0:
                    continue
                sign_b = sign_a
            elif sign_b * (work[row, 9] * dx + work[row, 10] * dy + work[row, 11] * dz) >= 0.0:
                continue
            elif left < 0:
                sign_a = sign_b
            if sign_a * sign_b <= 0.0:
                continue
            x = dy * ez - dz * ey
            y = dz * ex - dx * ez
            z = dx * ey - dy * ex
            norm2 = x * x + y * y + z * z
            if norm2 <= PARALLEL * length2 * (ex * ex + ey * ey + ez * ez):
                continue
            scale = 1.0 / np.sqrt(norm2) if sign_a > 0.0 else -1.0 / np.sqrt(norm2)
            along = scale * (x * (work[row, 0] - px) + y * (work[row, 1] - py) + z * (work[row, 2] - pz))
            if along <= separation:
                continue
            # Normals of slivers, and of faces that are flat to a tolerance only, lead to edges that do not support the bodies.
            supported = axis_separation(a, b, scale * x, scale * y, scale * z)
            if supported < along - noise:
                along = supported
            if along > separation:
                separation = along
                best_a = i
                best_b = j
                best_x, best_y, best_z = scale * x, scale * y, scale * z
    return separation, best_a, best_b, best_x, best_y, best_z
