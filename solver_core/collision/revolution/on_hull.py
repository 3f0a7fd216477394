# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of a cylinder or a cone with a polyhedron.

Points of a cap's rim, of which eight are fixed in the body and one is the lowest; the lowest points of both rims of a side, or
the apex; vertices of the polyhedron under a cap; and crossings of its edges with the rim or with the line of the side.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import TRUE, leaf_kernel
from ..manifold import NONE_FOUND
from ..polyhedra.face_contacts import FACING
from .candidates import (
    CROSSING,
    END,
    LOWEST,
    NEAR,
    ON_EDGE,
    ON_FACE,
    ON_VERTEX,
    PARALLEL_TO_SIDE,
    SIDE_INNER,
    put,
    put_closest,
    spots,
)
from .closest_revolution import generator
from .contact_axis import contact_axis
from .solid import SIDE, side_normal, signed_distance

__all__ = ["edges_along_side", "edges_under_cap", "in_face", "round_hull_contacts"]

# Cosine of ten degrees: so near, a face is looked at for points.
NEAR_FACES = 0.985


@leaf_kernel
def in_face(hull, face, x, y, z, tolerance):
    """Whether a point of a face's plane lies in the face."""
    nx, ny, nz = hull.planes[face, 0], hull.planes[face, 1], hull.planes[face, 2]
    begin, end = hull.loop_start[face], hull.loop_start[face + 1]
    for slot in range(begin, end):
        p = hull.loop_vertices[slot]
        q = hull.loop_vertices[slot + 1 if slot + 1 < end else begin]
        ex = hull.vertices[q, 0] - hull.vertices[p, 0]
        ey = hull.vertices[q, 1] - hull.vertices[p, 1]
        ez = hull.vertices[q, 2] - hull.vertices[p, 2]
        fx, fy, fz = x - hull.vertices[p, 0], y - hull.vertices[p, 1], z - hull.vertices[p, 2]
        inward = nx * (ey * fz - ez * fy) + ny * (ez * fx - ex * fz) + nz * (ex * fy - ey * fx)
        if inward < -tolerance * np.sqrt(ex * ex + ey * ey + ez * ez):
            return False
    return True


@leaf_kernel
def spots_on_faces(r, hull, nx, ny, nz, round_is_a, limit, merge, manifold, count, work):
    """Adds the points of the round body that lie over faces near the normal: the count."""
    total = spots(r, nx, ny, nz, work)
    for face in range(len(hull.planes)):
        x, y, z, offset = hull.planes[face, 0], hull.planes[face, 1], hull.planes[face, 2], hull.planes[face, 3]
        cosine = x * nx + y * ny + z * nz
        if cosine > -NEAR_FACES:
            continue
        for spot in range(total):
            px, py, pz = work.spots[spot, 0], work.spots[spot, 1], work.spots[spot, 2]
            gap = (offset - x * px - y * py - z * pz) / cosine
            if gap <= limit and in_face(hull, face, px + gap * nx, py + gap * ny, pz + gap * nz, 0.01 * merge):
                of_other = 4 * face + ON_FACE
                spot_id = int(work.spot_ids[spot])
                count = put(manifold, count, limit, merge, px, py, pz, nx, ny, nz, gap, round_is_a, spot_id, of_other)
    return count


@leaf_kernel
def edge_looks(hull, edge, nx, ny, nz):
    """Whether a face beside the edge looks against the normal; an edge without faces looks everywhere."""
    for side in range(2):
        face = hull.edge_faces[edge, side]
        if face < 0:
            return True
        if hull.planes[face, 0] * nx + hull.planes[face, 1] * ny + hull.planes[face, 2] * nz < FACING:
            return True
    return False


@leaf_kernel
def edges_under_cap(r, top, hull, nx, ny, nz, round_is_a, limit, merge, manifold, count):
    """Adds the vertices within a cap, seen along the normal, and the crossings of edges with its rim: the count."""
    sign, lift = (1.0, r.height) if top else (-1.0, 0.0)
    mx, my, mz = r.x + lift * r.u, r.y + lift * r.v, r.z + lift * r.w
    x, y, z = sign * r.u, sign * r.v, sign * r.w
    cosine = x * nx + y * ny + z * nz
    for edge in range(len(hull.edges)):
        if not edge_looks(hull, edge, nx, ny, nz):
            continue
        i, j = hull.edges[edge, 0], hull.edges[edge, 1]
        ax, ay, az = hull.vertices[i, 0], hull.vertices[i, 1], hull.vertices[i, 2]
        bx, by, bz = hull.vertices[j, 0], hull.vertices[j, 1], hull.vertices[j, 2]
        gap_a = (x * (ax - mx) + y * (ay - my) + z * (az - mz)) / cosine
        gap_b = (x * (bx - mx) + y * (by - my) + z * (bz - mz)) / cosine
        if min(gap_a, gap_b) > limit:
            continue
        # Both ends along the normal onto the cap, as seen from its middle.
        ax, ay, az = ax - gap_a * nx - mx, ay - gap_a * ny - my, az - gap_a * nz - mz
        bx, by, bz = bx - gap_b * nx - mx, by - gap_b * ny - my, bz - gap_b * nz - mz
        square = r.radius * r.radius
        for end in range(2):
            vx, vy, vz, gap, vertex = (ax, ay, az, gap_a, i) if end == 0 else (bx, by, bz, gap_b, j)
            if vx * vx + vy * vy + vz * vz <= square * (1.0 + 1e-9):
                cap_id = LOWEST if not top else LOWEST + 1
                of_other = 4 * int(vertex) + ON_VERTEX
                count = put(
                    manifold, count, limit, merge, mx + vx, my + vy, mz + vz, nx, ny, nz, gap, round_is_a, cap_id, of_other
                )
        dx, dy, dz = bx - ax, by - ay, bz - az
        dd = dx * dx + dy * dy + dz * dz
        ad = ax * dx + ay * dy + az * dz
        root = ad * ad - dd * (ax * ax + ay * ay + az * az - square)
        if not root > 0.0:
            continue
        for which in range(2):
            t = (-ad + (2.0 * which - 1.0) * np.sqrt(root)) / dd
            if 0.0 < t < 1.0:
                of_round = CROSSING + (2 if top else 0) + which
                of_other = 4 * edge + ON_EDGE
                gap = gap_a + t * (gap_b - gap_a)
                px, py, pz = mx + ax + t * dx, my + ay + t * dy, mz + az + t * dz
                count = put(manifold, count, limit, merge, px, py, pz, nx, ny, nz, gap, round_is_a, of_round, of_other)
    return count


@leaf_kernel
def edges_along_side(r, hull, nx, ny, nz, round_is_a, limit, merge, manifold, count):
    """Adds contacts of edges with the line of the side that lies farthest along the normal: the count.

    An edge along the line touches at the ends of their overlap, each with its own closest direction; one that crosses it while
    a face near the normal lies beside it touches at the crossing.
    """
    gx, gy, gz, hx, hy, hz = generator(r, nx, ny, nz)
    gx, gy, gz, hx, hy, hz = gx, gy, gz, hx - gx, hy - gy, hz - gz
    length2 = hx * hx + hy * hy + hz * hz
    for edge in range(len(hull.edges)):
        if not edge_looks(hull, edge, nx, ny, nz):
            continue
        i, j = hull.edges[edge, 0], hull.edges[edge, 1]
        px, py, pz = hull.vertices[i, 0], hull.vertices[i, 1], hull.vertices[i, 2]
        ex, ey, ez = hull.vertices[j, 0] - px, hull.vertices[j, 1] - py, hull.vertices[j, 2] - pz
        square = ex * ex + ey * ey + ez * ez
        if square == 0.0:
            continue
        dot = ex * hx + ey * hy + ez * hz
        if square * length2 - dot * dot <= PARALLEL_TO_SIDE * PARALLEL_TO_SIDE * square * length2:
            start = ((px - gx) * hx + (py - gy) * hy + (pz - gz) * hz) / dot
            for end in range(4):
                # The ends of the edge, then the points of it beside the ends of the line.
                t = float(end) if end < 2 else (end - 2) * length2 / dot - start
                if not 0.0 <= t <= 1.0:
                    continue
                x, y, z = px + t * ex, py + t * ey, pz + t * ez
                s = ((x - gx) * hx + (y - gy) * hy + (z - gz) * hz) / length2
                if s < -1e-9 or s > 1.0 + 1e-9:
                    continue
                gap, kx, ky, kz, part = signed_distance(r, x, y, z)
                if gap > limit or part != SIDE or kx * nx + ky * ny + kz * nz < 0.9:
                    continue
                of_other = 4 * edge + ON_EDGE
                of_round = END + end if end >= 2 else END
                if end < 2:
                    of_other = 4 * int(i if end == 0 else j) + ON_VERTEX
                else:
                    of_round = END + end - 2
                count = put(
                    manifold,
                    count,
                    limit,
                    merge,
                    x - gap * kx,
                    y - gap * ky,
                    z - gap * kz,
                    kx,
                    ky,
                    kz,
                    gap,
                    round_is_a,
                    of_round,
                    of_other,
                )
            continue
        beside = False
        for side in range(2):
            face = hull.edge_faces[edge, side]
            if face >= 0 and hull.planes[face, 0] * nx + hull.planes[face, 1] * ny + hull.planes[face, 2] * nz < -NEAR:
                beside = True
        if not beside:
            continue
        # Where the line crosses the edge, seen along the normal: t = [r, h, n] / [e, h, n] and s from the same.
        cx, cy, cz = hy * nz - hz * ny, hz * nx - hx * nz, hx * ny - hy * nx
        bottom = ex * cx + ey * cy + ez * cz
        if bottom == 0.0:
            continue
        t = ((gx - px) * cx + (gy - py) * cy + (gz - pz) * cz) / bottom
        x, y, z = px + t * ex, py + t * ey, pz + t * ez
        ox, oy, oz = x - gx, y - gy, z - gz
        on = ox * nx + oy * ny + oz * nz
        hn = hx * nx + hy * ny + hz * nz
        flat2 = length2 - hn * hn
        s = (ox * hx + oy * hy + oz * hz - on * hn) / flat2 if flat2 > 0.0 else -1.0
        if 0.0 <= t <= 1.0 and 0.0 <= s <= 1.0:
            gap = on - s * hn
            gap_x, gap_y, gap_z = gx + s * hx, gy + s * hy, gz + s * hz
            of_other = 4 * edge + ON_EDGE
            count = put(manifold, count, limit, merge, gap_x, gap_y, gap_z, nx, ny, nz, gap, round_is_a, SIDE_INNER, of_other)
    return count


@leaf_kernel
def hull_feature(hull, i, j, k):
    """Feature of the part of a polyhedron that up to three of its vertices span."""
    if j < 0:
        return 4 * i + ON_VERTEX
    for edge in range(len(hull.edges)):
        p, q = hull.edges[edge, 0], hull.edges[edge, 1]
        if (p == i and q == j) or (p == j and q == i):
            return 4 * edge + ON_EDGE
    return 4 * min(i, j) + ON_FACE


@leaf_kernel
def round_hull_contacts(r, hull, round_is_a, limit, merge, noise, manifold, work):
    """Contacts of a round body with a polyhedron in its frame, with gaps up to the limit: the count.

    r: `Round` in the frame of the hull. hull: `Polyhedron`; flat polygons, single triangles, segments and points too, of which
    vertices, planes, loops and edges are used, and `centre` as any point inside. round_is_a tells which way the normals are to
    point. merge: m, closer contacts are one. noise: m, up to this distance the bodies count as touching. work: `round_work()`.
    Contacts are added from the manifold's first row on.
    """
    touches, distance, nx, ny, nz, qx, qy, qz, i, j, k = contact_axis(r, hull, r, TRUE, limit, noise, work)
    if not touches:
        return 0
    count = spots_on_faces(r, hull, nx, ny, nz, round_is_a, limit, merge, manifold, NONE_FOUND, work)
    along = nx * r.u + ny * r.v + nz * r.w
    radial, rise = side_normal(r)
    if len(hull.vertices) > 1:
        if abs(along) > NEAR and (along < 0.0 or not r.is_cone):
            count = edges_under_cap(r, along > 0.0, hull, nx, ny, nz, round_is_a, limit, merge, manifold, count)
        if radial * np.sqrt(max(1.0 - along * along, 0.0)) + rise * along > NEAR:
            count = edges_along_side(r, hull, nx, ny, nz, round_is_a, limit, merge, manifold, count)
    of_other = hull_feature(hull, i, j, k)
    return put_closest(manifold, count, limit, merge, qx, qy, qz, nx, ny, nz, distance, round_is_a, of_other)
