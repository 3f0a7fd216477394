"""Separating axes of two convex polyhedra: the best face normal and the best pair of edges.

The separation along a unit axis n from a to b is min over b of n . x less max over a of n . x. Every separation is a lower
bound of the distance, and the largest one over all axes is the distance itself when a face or two crossing edges are closest,
and minus the depth of penetration when the bodies overlap. Only face normals of either body and cross products of edges whose
arcs on the Gauss map intersect (those that make a face of the Minkowski difference) can be the largest.
"""

from __future__ import annotations

import numpy as np

from .kernel import leaf_kernel

__all__ = ["edge_separation", "face_separation"]

# Squared sine below which two edges count as parallel and give no axis: their cross product has lost ten digits.
PARALLEL = 1e-12


@leaf_kernel
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


@leaf_kernel
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


@leaf_kernel
def faces_away(core, edge, centre, bound):
    """Whether no axis between the normals of the edge's faces can separate the centre by more than the bound <= 0.

    An axis n in the cone of the unit normals l and r is alpha l + beta r with alpha + beta >= 1, so n . w <= bound follows from
    l . w <= bound and r . w <= bound.
    """
    left = core.edge_faces[edge, 0]
    right = core.edge_faces[edge, 1]
    if left < 0:
        return False
    for face in (left, right):
        height = -core.planes[face, 3]
        for k in range(3):
            height += core.planes[face, k] * centre[k]
        if height > bound:
            return False
    return True


@leaf_kernel
def edge_separation(a, b, floor, radius, work):
    """Largest separation over the floor along cross products of edges: (separation, edge of a, edge of b, x, y, z).

    (x, y, z) is the axis from a to b; edge of a is -1 when no pair beats the floor. Edges farther than the radius from the
    other body are left out: an axis that decides has its two edges no farther apart than max(reach, -floor). work: (>= edges of
    b, 13).
    """
    bound = min(floor, 0.0)
    count = 0
    for j in range(len(b.edges)):
        if not is_near_box(b, j, a.lower, a.upper, radius) or faces_away(b, j, a.centre, bound):
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
    for i in range(len(a.edges)):
        if not is_near_box(a, i, b.lower, b.upper, radius) or faces_away(a, i, b.centre, bound):
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
            if along > separation:
                separation = along
                best_a = i
                best_b = j
                best_x, best_y, best_z = scale * x, scale * y, scale * z
    return separation, best_a, best_b, best_x, best_y, best_z
