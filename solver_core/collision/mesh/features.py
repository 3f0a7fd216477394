# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of two features of triangle surfaces: vertex and face, edge and edge, vertex and edge, vertex and vertex.

Two features touch where the distance between the surfaces has a local minimum: the direction between their closest points is
one of the directions that each holds, those in which no neighbouring feature of its own is nearer. An inner edge of a flat part
holds no direction but the part's normal, which the faces have already, so what slides over it does not see it.

Features tell of what is apart. Where surfaces overlap they cross, and `intersection_curves` has the contacts; only the cores of
round bodies, a point or a segment, cross nothing and meet what they have sunk into here. Then which side is out is told by
normals where a surface is solid. A sheet has two sides; there it is told by where the other body has its inside. All vectors
are in the first surface's axes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel, leaf_kernel
from ..manifold import EDGE_EDGE, EDGE_VERTEX, FACE_VERTEX, VERTEX_EDGE, VERTEX_FACE, VERTEX_VERTEX, feature_id
from ..polyhedra.closest_edges import segment_parameters
from .queries import SurfaceView, is_inside, is_nearer, surface_view

__all__ = [
    "Buffer",
    "Meeting",
    "Pair",
    "add",
    "buffer",
    "edge_edge",
    "pair_of",
    "turned",
    "turned_back",
    "vertex_edge",
    "vertex_face",
    "vertex_vertex",
]

# Sines by which a direction may leave those that a feature holds: closest directions are exact, crossings of edges that lie
# on each other's ends are kept so that support polygons keep their corners.
EXACT = 1e-6
LOOSE = 0.02
# A vertex meets a face if its normal leans towards it by this sine.
LEANING = 0.02
# Squared sine up to which edges count as parallel: their ends serve then.
PARALLEL_EDGES = 1e-8
# The faces beside two edges that cross inside each other are no farther from them than this part of the depth.
BESIDE = 0.3


class Pair(NamedTuple):
    """Two surfaces in one frame, as leaf kernels see them.

    first, second: each in its own axes; vertices: (v, 3) the second's in those of the first. turn (3, 3), shift (3,): from the
    second's axes to the first's. limit: m, the largest gap of a contact. noise: m, what is nearer touches. swapped: whether
    contacts are to be told from the second to the first. stack: work array.
    """

    first: SurfaceView
    second: SurfaceView
    vertices: NDArray[np.float64]
    turn: NDArray[np.float64]
    shift: NDArray[np.float64]
    limit: float
    noise: float
    swapped: bool
    stack: NDArray[np.int64]


class Meeting(NamedTuple):
    """The same without views: the numbers of the two surfaces in their table."""

    first: int
    second: int
    vertices: NDArray[np.float64]
    turn: NDArray[np.float64]
    shift: NDArray[np.float64]
    limit: float
    noise: float
    swapped: bool
    stack: NDArray[np.int64]


@leaf_kernel
def pair_of(table, m):
    return Pair(
        surface_view(table, m.first),
        surface_view(table, m.second),
        m.vertices,
        m.turn,
        m.shift,
        m.limit,
        m.noise,
        m.swapped,
        m.stack,
    )


class Buffer(NamedTuple):
    """Contacts as in a `ContactSet`, with room for len(gap).

    used: (1,) how many were found, those that there was no room for included.
    """

    point: NDArray[np.float64]
    normal: NDArray[np.float64]
    gap: NDArray[np.float64]
    feature: NDArray[np.uint64]
    used: NDArray[np.int64]


@inner_kernel
def buffer(capacity):
    return Buffer(
        np.empty((capacity, 3)),
        np.empty((capacity, 3)),
        np.empty(capacity),
        np.empty(capacity, np.uint64),
        np.zeros(1, np.int64),
    )


@leaf_kernel
def add(out, px, py, pz, nx, ny, nz, gap, feature, swapped):
    """Adds a contact with the normal from the first to the second, if there is room, and counts it."""
    count = out.used[0]
    out.used[0] += 1
    if count < len(out.gap):
        sign = -1.0 if swapped else 1.0
        out.point[count, 0], out.point[count, 1], out.point[count, 2] = px, py, pz
        out.normal[count, 0], out.normal[count, 1], out.normal[count, 2] = sign * nx, sign * ny, sign * nz
        out.gap[count] = gap
        out.feature[count] = feature


@leaf_kernel
def turned(pair, vector):
    """A vector of the second surface in the axes of the first."""
    t = pair.turn
    x, y, z = vector[0], vector[1], vector[2]
    return (
        t[0, 0] * x + t[0, 1] * y + t[0, 2] * z,
        t[1, 0] * x + t[1, 1] * y + t[1, 2] * z,
        t[2, 0] * x + t[2, 1] * y + t[2, 2] * z,
    )


@leaf_kernel
def turned_back(pair, x, y, z):
    """A vector of the first surface in the axes of the second."""
    t = pair.turn
    return (
        t[0, 0] * x + t[1, 0] * y + t[2, 0] * z,
        t[0, 1] * x + t[1, 1] * y + t[2, 1] * z,
        t[0, 2] * x + t[1, 2] * y + t[2, 2] * z,
    )


@leaf_kernel
def first_is_nearer(pair, x, y, z, distance):
    """Whether the first surface, if it has faces, is nearer to a point than the distance."""
    return len(pair.first.triangles) > 1 and is_nearer(pair.first, x, y, z, distance, pair.stack)


@leaf_kernel
def second_is_nearer(pair, x, y, z, distance):
    """Likewise the second surface, to a point in the first one's axes."""
    if len(pair.second.triangles) <= 1:
        return False
    x, y, z = turned_back(pair, x - pair.shift[0], y - pair.shift[1], z - pair.shift[2])
    return is_nearer(pair.second, x, y, z, distance, pair.stack)


@leaf_kernel
def may_penetrate(pair):
    """Whether one of the surfaces is a point or a segment, which crosses nothing however far it has sunk in."""
    return len(pair.first.triangles) == 1 or len(pair.second.triangles) == 1


@leaf_kernel
def in_vertex_normal_cone(surface, vertices, v, x, y, z, tolerance):
    """Whether all edges of a vertex lead away from the direction, so that no neighbour lies farther along it."""
    px, py, pz = vertices[v, 0], vertices[v, 1], vertices[v, 2]
    for row in range(surface.fan_start[v], surface.fan_start[v + 1]):
        w = surface.fan[row]
        ex, ey, ez = vertices[w, 0] - px, vertices[w, 1] - py, vertices[w, 2] - pz
        along = x * ex + y * ey + z * ez
        if along > 0.0 and along * along > tolerance * tolerance * (ex * ex + ey * ey + ez * ez):
            return False
    return True


@leaf_kernel
def in_edge_normal_cone(surface, vertices, e, x, y, z, tolerance):
    """Whether the triangles beside an edge lead away from the direction, which makes a right angle with it."""
    i, j = surface.edges[e, 0], surface.edges[e, 1]
    px, py, pz = vertices[i, 0], vertices[i, 1], vertices[i, 2]
    ex, ey, ez = vertices[j, 0] - px, vertices[j, 1] - py, vertices[j, 2] - pz
    square = ex * ex + ey * ey + ez * ez
    for row in range(surface.sides_start[e], surface.sides_start[e + 1]):
        o = surface.sides[row, 1]
        tx, ty, tz = vertices[o, 0] - px, vertices[o, 1] - py, vertices[o, 2] - pz
        along = (tx * ex + ty * ey + tz * ez) / square
        tx, ty, tz = tx - along * ex, ty - along * ey, tz - along * ez
        into = x * tx + y * ty + z * tz
        if into > 0.0 and into * into > tolerance * tolerance * (tx * tx + ty * ty + tz * tz):
            return False
    return True


@leaf_kernel
def is_over(vertices, triangle, nx, ny, nz, x, y, z, tolerance, open_side):
    """Whether a point lies in the prism over a triangle with the normal given, up to the tolerance in m.

    open_side: 0 to 2, on which the prism has no end, or -1.
    """
    for side in range(3):
        if side == open_side:
            continue
        p, q = triangle[side], triangle[side + 1 if side < 2 else 0]
        px, py, pz = vertices[p, 0], vertices[p, 1], vertices[p, 2]
        ex, ey, ez = vertices[q, 0] - px, vertices[q, 1] - py, vertices[q, 2] - pz
        out = (ey * nz - ez * ny) * (x - px) + (ez * nx - ex * nz) * (y - py) + (ex * ny - ey * nx) * (z - pz)
        if out > 0.0 and out * out > tolerance * tolerance * (ex * ex + ey * ey + ez * ez):
            return False
    return True


@leaf_kernel
def is_across_valley(pair, of_first, f, nx, ny, nz, x, y, z):
    """Whether a point is over a neighbour of triangle f that rises from it: a valley, in which both of their planes bound it.

    Without this the plane ahead would be met only after the vertex has crossed the valley's edge, in the middle of a step. The
    point has left the prism over f across that edge and nowhere else, as a round body bends over the planes of other triangles;
    and it is where f is seen from the neighbour, not behind a leg that stands on f.
    (nx, ny, nz): the normal of f on the point's side. of_first: whether f is of the second surface.
    """
    owner = pair.second if of_first else pair.first
    faces = pair.vertices if of_first else pair.first.vertices
    o = owner.triangles[f, 0]
    base = nx * faces[o, 0] + ny * faces[o, 1] + nz * faces[o, 2]
    for side in range(3):
        e = owner.triangle_edges[f, side]
        if e < 0 or not owner.sharp[e]:
            continue
        for row in range(owner.sides_start[e], owner.sides_start[e + 1]):
            g, off = owner.sides[row, 0], owner.sides[row, 1]
            if g == f or nx * faces[off, 0] + ny * faces[off, 1] + nz * faces[off, 2] - base <= owner.tolerance:
                continue
            m = owner.normals[g]
            mx, my, mz = turned(pair, m) if of_first else (m[0], m[1], m[2])
            i, k = owner.triangles[g, 0], owner.triangles[f, side - 1 if side > 0 else 2]
            inner = mx * (faces[k, 0] - faces[i, 0]) + my * (faces[k, 1] - faces[i, 1]) + mz * (faces[k, 2] - faces[i, 2])
            over = mx * (x - faces[i, 0]) + my * (y - faces[i, 1]) + mz * (z - faces[i, 2])
            if (over if inner > 0.0 else -over) < -owner.tolerance:
                continue
            if is_over(faces, owner.triangles[g], mx, my, mz, x, y, z, owner.tolerance, -1) and is_over(
                faces, owner.triangles[f], nx, ny, nz, x, y, z, owner.tolerance, side
            ):
                return True
    return False


@leaf_kernel
def leans(owner, vertices, v, vx, vy, vz, x, y, z):
    """Whether a vertex with the normal v looks along (x, y, z); both ways if its surface is a sheet."""
    along = vx * x + vy * y + vz * z
    if along > LEANING or (not owner.solid and -along > LEANING):
        return True
    return in_vertex_normal_cone(owner, vertices, v, x, y, z, LOOSE)


@leaf_kernel
def vertex_face(pair, of_first, v, f, out):
    """Adds the contact of a vertex of the first surface (of_first), else of the second, with a triangle of the other one."""
    face_owner = pair.second if of_first else pair.first
    owner = pair.first if of_first else pair.second
    if not owner.corner[v]:
        return
    faces = pair.vertices if of_first else pair.first.vertices
    vertices = pair.first.vertices if of_first else pair.vertices
    normal = face_owner.normals[f]
    if normal[0] == 0.0 and normal[1] == 0.0 and normal[2] == 0.0:
        return
    nx, ny, nz = turned(pair, normal) if of_first else (normal[0], normal[1], normal[2])
    px, py, pz = vertices[v, 0], vertices[v, 1], vertices[v, 2]
    triangle = face_owner.triangles[f]
    o = triangle[0]
    height = nx * (px - faces[o, 0]) + ny * (py - faces[o, 1]) + nz * (pz - faces[o, 2])
    if abs(height) > pair.limit:
        return
    sinks = may_penetrate(pair)
    if face_owner.solid and height < -pair.noise and not sinks:
        return
    is_beside = not is_over(faces, triangle, nx, ny, nz, px, py, pz, face_owner.tolerance, -1)
    vx, vy, vz = (
        turned(pair, owner.vertex_normals[v])
        if not of_first
        else (
            owner.vertex_normals[v, 0],
            owner.vertex_normals[v, 1],
            owner.vertex_normals[v, 2],
        )
    )
    inner = height - owner.depth[v] * (nx * vx + ny * vy + nz * vz)
    if not face_owner.solid and inner < 0.0:
        if height > 0.0 and len(face_owner.triangles) > 1:
            # Where the way from the vertex to its inside passes the plane is a sheet, or else it goes around the border.
            way = height / (height - inner) * owner.depth[v]
            qx, qy, qz = px - way * vx, py - way * vy, pz - way * vz
            near = height + 2.0 * face_owner.tolerance
            if not (second_is_nearer(pair, qx, qy, qz, near) if of_first else first_is_nearer(pair, qx, qy, qz, near)):
                return
        nx, ny, nz, height = -nx, -ny, -nz, -height
    if height < -pair.noise and not sinks:
        return
    if is_beside and (height < 0.0 or not is_across_valley(pair, of_first, f, nx, ny, nz, px, py, pz)):
        return
    if not leans(owner, vertices, v, vx, vy, vz, -nx, -ny, -nz):
        return
    if height < -pair.noise:
        nearer = second_is_nearer(pair, px, py, pz, -height) if of_first else first_is_nearer(pair, px, py, pz, -height)
        if nearer:
            return
    half = 0.5 * height
    patch = face_owner.patch[f]
    vertex_is_a = of_first != pair.swapped
    feature = feature_id(VERTEX_FACE, v, patch) if vertex_is_a else feature_id(FACE_VERTEX, patch, v)
    sign = -1.0 if of_first else 1.0
    px, py, pz = px - half * nx, py - half * ny, pz - half * nz
    add(out, px, py, pz, sign * nx, sign * ny, sign * nz, height, feature, pair.swapped)


@leaf_kernel
def vertex_edge(pair, of_first, v, e, out):
    """Adds the contact of a vertex of the first surface (of_first), else of the second, with an edge of the other one."""
    edge_owner = pair.second if of_first else pair.first
    owner = pair.first if of_first else pair.second
    if not edge_owner.sharp[e] or not owner.corner[v]:
        return
    edges = pair.vertices if of_first else pair.first.vertices
    vertices = pair.first.vertices if of_first else pair.vertices
    i, j = edge_owner.edges[e, 0], edge_owner.edges[e, 1]
    px, py, pz = vertices[v, 0], vertices[v, 1], vertices[v, 2]
    ex, ey, ez = edges[j, 0] - edges[i, 0], edges[j, 1] - edges[i, 1], edges[j, 2] - edges[i, 2]
    dx, dy, dz = px - edges[i, 0], py - edges[i, 1], pz - edges[i, 2]
    square = ex * ex + ey * ey + ez * ez
    along = dx * ex + dy * ey + dz * ez
    if not 0.0 < along < square:
        return
    along /= square
    dx, dy, dz = dx - along * ex, dy - along * ey, dz - along * ez
    distance = np.sqrt(dx * dx + dy * dy + dz * dz)
    if distance > pair.limit or distance <= pair.noise:
        return
    dx, dy, dz = dx / distance, dy / distance, dz / distance
    if not in_edge_normal_cone(edge_owner, edges, e, dx, dy, dz, EXACT):
        return
    sign = 1.0
    if edge_owner.solid:
        nx, ny, nz = (
            turned(pair, edge_owner.edge_normals[e])
            if of_first
            else (
                edge_owner.edge_normals[e, 0],
                edge_owner.edge_normals[e, 1],
                edge_owner.edge_normals[e, 2],
            )
        )
        if dx * nx + dy * ny + dz * nz < 0.0:
            sign = -1.0
    elif owner.solid and edge_owner.sides_start[e + 1] - edge_owner.sides_start[e] == 2:
        # Beside the border of a sheet there is no wrong side.
        vx, vy, vz = (
            turned(pair, owner.vertex_normals[v])
            if not of_first
            else (
                owner.vertex_normals[v, 0],
                owner.vertex_normals[v, 1],
                owner.vertex_normals[v, 2],
            )
        )
        if distance - owner.depth[v] * (dx * vx + dy * vy + dz * vz) < 0.0:
            sign = -1.0
    nx, ny, nz, gap = sign * dx, sign * dy, sign * dz, sign * distance
    if (gap < 0.0 and not may_penetrate(pair)) or not in_vertex_normal_cone(owner, vertices, v, -nx, -ny, -nz, LOOSE):
        return
    if gap < 0.0:
        nearer = second_is_nearer(pair, px, py, pz, distance) if of_first else first_is_nearer(pair, px, py, pz, distance)
        if nearer:
            return
    half = 0.5 * gap
    vertex_is_a = of_first != pair.swapped
    feature = feature_id(VERTEX_EDGE, v, e) if vertex_is_a else feature_id(EDGE_VERTEX, e, v)
    px, py, pz = px - half * nx, py - half * ny, pz - half * nz
    sign = -1.0 if of_first else 1.0
    add(out, px, py, pz, sign * nx, sign * ny, sign * nz, gap, feature, pair.swapped)


@leaf_kernel
def vertex_vertex(pair, v, w, out):
    """Adds the contact of vertex v of the first surface with vertex w of the second."""
    a, b = pair.first, pair.second
    if not a.corner[v] or not b.corner[w]:
        return
    px, py, pz = a.vertices[v, 0], a.vertices[v, 1], a.vertices[v, 2]
    dx, dy, dz = pair.vertices[w, 0] - px, pair.vertices[w, 1] - py, pair.vertices[w, 2] - pz
    distance = np.sqrt(dx * dx + dy * dy + dz * dz)
    if distance > pair.limit or distance <= pair.noise:
        return
    dx, dy, dz = dx / distance, dy / distance, dz / distance
    sign = 1.0
    if a.solid:
        n = a.vertex_normals[v]
        if dx * n[0] + dy * n[1] + dz * n[2] < 0.0:
            sign = -1.0
    elif b.solid:
        nx, ny, nz = turned(pair, b.vertex_normals[w])
        if dx * nx + dy * ny + dz * nz > 0.0:
            sign = -1.0
    if sign < 0.0 and not may_penetrate(pair):
        return
    # The solid that decides holds the closest direction; the other surface holds the normal.
    of_a, of_b = (1.0, sign) if a.solid else (sign, 1.0)
    if not in_vertex_normal_cone(a, a.vertices, v, of_a * dx, of_a * dy, of_a * dz, EXACT):
        return
    if not in_vertex_normal_cone(b, pair.vertices, w, -of_b * dx, -of_b * dy, -of_b * dz, EXACT):
        return
    if sign < 0.0:
        if a.solid and first_is_nearer(pair, px + distance * dx, py + distance * dy, pz + distance * dz, distance):
            return
        if not a.solid and second_is_nearer(pair, px, py, pz, distance):
            return
    half = 0.5 * distance
    feature = feature_id(VERTEX_VERTEX, w, v) if pair.swapped else feature_id(VERTEX_VERTEX, v, w)
    px, py, pz = px + half * dx, py + half * dy, pz + half * dz
    add(out, px, py, pz, sign * dx, sign * dy, sign * dz, sign * distance, feature, pair.swapped)


@leaf_kernel
def edge_edge(pair, e, g, out):
    """Adds the contact of edge e of the first surface and edge g of the second where they cross."""
    a, b = pair.first, pair.second
    if not a.sharp[e] or not b.sharp[g]:
        return
    i, j = a.edges[e, 0], a.edges[e, 1]
    k, l = b.edges[g, 0], b.edges[g, 1]  # noqa: E741
    px, py, pz = a.vertices[i, 0], a.vertices[i, 1], a.vertices[i, 2]
    dx, dy, dz = a.vertices[j, 0] - px, a.vertices[j, 1] - py, a.vertices[j, 2] - pz
    qx, qy, qz = pair.vertices[k, 0], pair.vertices[k, 1], pair.vertices[k, 2]
    ex, ey, ez = pair.vertices[l, 0] - qx, pair.vertices[l, 1] - qy, pair.vertices[l, 2] - qz
    nx, ny, nz = dy * ez - dz * ey, dz * ex - dx * ez, dx * ey - dy * ex
    square = nx * nx + ny * ny + nz * nz
    if square <= PARALLEL_EDGES * (dx * dx + dy * dy + dz * dz) * (ex * ex + ey * ey + ez * ez):
        return
    s, t, squared = segment_parameters(px, py, pz, dx, dy, dz, qx, qy, qz, ex, ey, ez)
    if squared > pair.limit * pair.limit or not (0.0 < s < 1.0 and 0.0 < t < 1.0):
        return
    px, py, pz = px + s * dx, py + s * dy, pz + s * dz
    qx, qy, qz = qx + t * ex, qy + t * ey, qz + t * ez
    length = np.sqrt(square)
    nx, ny, nz = nx / length, ny / length, nz / length
    along = nx * (qx - px) + ny * (qy - py) + nz * (qz - pz)
    out_of = along
    if a.solid:
        n = a.edge_normals[e]
        out_of = n[0] * nx + n[1] * ny + n[2] * nz
    elif b.solid:
        mx, my, mz = turned(pair, b.edge_normals[g])
        out_of = -(mx * nx + my * ny + mz * nz)
    if out_of < 0.0:
        nx, ny, nz, along = -nx, -ny, -nz, -along
    if along < -pair.noise and not may_penetrate(pair):
        return
    if not in_edge_normal_cone(a, a.vertices, e, nx, ny, nz, LOOSE) or not in_edge_normal_cone(
        b, pair.vertices, g, -nx, -ny, -nz, LOOSE
    ):
        return
    if along < -pair.noise:
        # far from a surface its edges on the other side look the same way
        if a.solid and (first_is_nearer(pair, qx, qy, qz, -BESIDE * along) or not is_inside(a, qx, qy, qz, pair.stack)):
            return
        if b.solid:
            x, y, z = turned_back(pair, px - pair.shift[0], py - pair.shift[1], pz - pair.shift[2])
            if second_is_nearer(pair, px, py, pz, -BESIDE * along) or not is_inside(b, x, y, z, pair.stack):
                return
    feature = feature_id(EDGE_EDGE, g, e) if pair.swapped else feature_id(EDGE_EDGE, e, g)
    px, py, pz = 0.5 * (px + qx), 0.5 * (py + qy), 0.5 * (pz + qz)
    add(out, px, py, pz, nx, ny, nz, along, feature, pair.swapped)
