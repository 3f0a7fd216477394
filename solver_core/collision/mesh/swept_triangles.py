# SPDX-License-Identifier: GPL-3.0-or-later
"""Triangles of meshes that may meet something in a step, and the two colliders that stand for a pair of them.

A triangle is a flat hull, so all that is known of two convex colliders in motion holds for it as well. It takes one of two
slots, rows behind the colliders of a scene, for the time that it is looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, kernel, kernel_part, leaf_kernel
from ...geometry.hulls import convex_hull
from ...geometry.shapes import HULL, MESH, PLANE, ShapeTable
from ...geometry.surface_depth import triangle_depths
from ...geometry.surface_table import LEAF, SurfaceTable
from ...linalg.vec3 import cross, distance2, divided, dot, negative, norm, set_vec, sub, vec
from ..half_space import HalfSpace, height_of_box, plane_of
from .queries import box_extent

__all__ = ["SCRATCH", "Sweep", "Triangles", "all_triangles", "bind_scratch", "load_triangle", "swept_triangles", "with_scratch"]

SCRATCH = 2
Vector = tuple[float, float, float]
NONE_YET = np.int64(0)
# Numbers on the stack as a walk of two trees begins.
ROOTS = np.int64(2)


class Triangles(NamedTuple):
    """The triangles of all surfaces, numbered through.

    corners: (t, 3) rows of vertices (v, 3) m and of drift (v, 3) m/s, how fast these move within their bodies, or (0, 3) where
    nothing deforms. normals: (t, 3) unit, or zero. thickness: (t,) m of the solid behind a triangle, infinite for a sheet.
    thinnest: (n,) the least thickness of the triangles of each node of the trees.
    """

    corners: NDArray[np.int64]
    vertices: NDArray[np.float64]
    drift: NDArray[np.float64]
    normals: NDArray[np.float64]
    thickness: NDArray[np.float64]
    thinnest: NDArray[np.float64]


class Sweep(NamedTuple):
    """A mesh, and another collider that moves and turns against it for a while; vectors are in the mesh's axes.

    mesh, other: their numbers. turn (3, 3), shift (3,): from the other's axes to the mesh's. way: (3,) m, of the other's centre
    of mass against the mesh's. grown: m, how near they are looked for beside it. spin, other_spin: (3,) rad, by which each
    turns about its centre of mass, at centre, other_centre (3,) m. bent: m, by which turning at most bends the ways of points.
    thick: m, a thickness with which triangles cannot pass each other. other_thickness: m, of a collider that is no mesh.
    """

    mesh: int
    other: int
    turn: NDArray[np.float64]
    shift: NDArray[np.float64]
    displacement: Vector
    search_margin: float
    rotation_vector: Vector
    other_rotation_vector: Vector
    centre: Vector
    other_centre: Vector
    max_arc_deviation: float
    safe_thickness: float
    other_thickness: float


class SweepWork(NamedTuple):
    """Work arrays: pairs of nodes, and bounds (6,) of a triangle or a node of either."""

    stack: NDArray[np.int64]
    own: NDArray[np.float64]
    others: NDArray[np.float64]


def all_triangles(table: SurfaceTable) -> Triangles:
    """The triangles of a table; vertices and normals are the table's own."""
    counts = np.diff(table.first_triangle)
    corners = table.triangles + np.repeat(table.first_vertex[:-1], counts)[:, None]
    thickness = np.concatenate([triangle_depths(table, s) for s in range(len(counts))])
    before = np.repeat(table.first_triangle[:-1], np.diff(table.first_node))
    in_order = np.append(thickness[table.order + np.repeat(table.first_triangle[:-1], counts)], np.inf)
    begin_and_end = np.stack([table.node_begin + before, table.node_end + before], axis=1)
    thinnest = np.minimum.reduceat(in_order, begin_and_end.ravel())[::2]
    return Triangles(corners, table.vertices, np.zeros((0, 3)), table.normals, thickness, np.ascontiguousarray(thinnest))


def with_scratch(shapes: ShapeTable) -> ShapeTable:
    """The table with `SCRATCH` colliders more, each a triangle; it shares what is per body, and no longer follows the rest."""
    hull = convex_hull(np.eye(3))
    more = np.arange(SCRATCH)
    corners, faces, loops, edges = len(hull.vertices), hull.face_count, len(hull.face_vertices), len(hull.edges)
    same = {"kind": HULL, "surface": -1, "vertex_count": corners, "face_count": faces, "edge_count": edges}
    firsts = {
        "first_vertex": len(shapes.vertices) + corners * more,
        "first_face": len(shapes.planes) + faces * more,
        "first_loop": len(shapes.loop_start) + (faces + 1) * more,
        "first_edge": len(shapes.edges) + edges * more,
    }
    starts = hull.face_start + len(shapes.loop_vertices) + loops * more[:, None]
    rows: dict[str, np.ndarray] = {
        **{name: np.full(SCRATCH, value) for name, value in same.items()},
        **firsts,
        "loop_start": starts.ravel(),
        **{name: np.zeros(SCRATCH) for name in ("body", "box", "placed", "margin", "round_radius", "core_radius")},
        **{name: np.zeros((SCRATCH, 3)) for name in ("position", "lower", "upper", "centre")},
        "rotation": np.zeros((SCRATCH, 3, 3)),
        "vertices": np.zeros((SCRATCH * corners, 3)),
        "planes": np.zeros((SCRATCH * faces, 4)),
        "loop_vertices": np.tile(hull.face_vertices, SCRATCH),
        "loop_edges": np.tile(hull.face_edges, SCRATCH),
        "edges": np.tile(hull.edges, (SCRATCH, 1)),
        "edge_faces": np.tile(hull.edge_faces, (SCRATCH, 1)),
    }
    grown = {name: np.concatenate([getattr(shapes, name), row]) for name, row in rows.items()}
    return shapes._replace(**{name: array.astype(getattr(shapes, name).dtype) for name, array in grown.items()})


@leaf_kernel
def bind_scratch(shapes, slot, mesh):
    """Gives a slot the body, the place in it and the margin of a mesh."""
    shapes.body[slot] = shapes.body[mesh]
    shapes.placed[slot] = shapes.placed[mesh]
    shapes.margin[slot] = shapes.margin[mesh]
    for i in range(3):
        shapes.position[slot, i] = shapes.position[mesh, i]
        for j in range(3):
            shapes.rotation[slot, i, j] = shapes.rotation[mesh, i, j]


@kernel_part
def load_triangle(shapes, triangles, slot, f, time):
    """Puts triangle f into a slot, where it is after some time in s."""
    vertex, face = shapes.first_vertex[slot], shapes.first_face[slot]
    drifts = len(triangles.drift) > 0
    for i in range(3):
        row = triangles.corners[f, i]
        for k in range(3):
            shapes.vertices[vertex + i, k] = triangles.vertices[row, k] + (time * triangles.drift[row, k] if drifts else 0.0)
    p, q, r = vec(shapes.vertices, vertex), vec(shapes.vertices, vertex + 1), vec(shapes.vertices, vertex + 2)
    normal = vec(triangles.normals, f)
    if drifts:
        across = cross(sub(q, p), sub(r, p))
        length = norm(across)
        if length > 0.0:
            normal = divided(across, length)
    offset = dot(normal, p)
    set_vec(shapes.planes, face, normal)
    set_vec(shapes.planes, face + 1, negative(normal))
    shapes.planes[face, 3], shapes.planes[face + 1, 3] = offset, -offset
    for k in range(3):
        shapes.lower[slot, k] = min(p[k], q[k], r[k])
        shapes.upper[slot, k] = max(p[k], q[k], r[k])
        shapes.centre[slot, k] = (p[k] + q[k] + r[k]) / 3.0
    centre = vec(shapes.centre, slot)
    shapes.core_radius[slot] = np.sqrt(max(distance2(p, centre), distance2(q, centre), distance2(r, centre)))


@leaf_kernel
def swept_boxes_miss(box, other, turn, shift, displacement, grown):
    """Whether a box (6,) surely stays farther than `grown` from another one that moves along a straight way (3,).

    other: (6,) the one that moves, in its own axes, from which turn (3, 3) and shift (3,) lead to those of the first.
    """
    enter, leave = 0.0, 1.0
    for i in range(3):
        middle = shift[i] - 0.5 * (box[i] + box[3 + i])
        half = 0.5 * (box[3 + i] - box[i]) + grown
        for k in range(3):
            middle += 0.5 * turn[i, k] * (other[k] + other[3 + k])
            half += 0.5 * abs(turn[i, k]) * (other[3 + k] - other[k])
        # along one axis, which most pairs of boxes are apart along, before there is a division
        if middle + max(displacement[i], 0.0) < -half or middle + min(displacement[i], 0.0) > half:
            return True
        if displacement[i] == 0.0:
            continue
        one, two = (-half - middle) / displacement[i], (half - middle) / displacement[i]
        enter, leave = max(enter, min(one, two)), min(leave, max(one, two))
    return enter > leave


@leaf_kernel
def write_bounds(vertices, triangle, box):
    """The bounds of a triangle, into box (6,)."""
    for k in range(3):
        p, q, r = vertices[triangle[0], k], vertices[triangle[1], k], vertices[triangle[2], k]
        box[k], box[3 + k] = min(p, q, r), max(p, q, r)


@leaf_kernel
def box_is_missed(box, other, plane, sweep):
    """Whether a box (6,) of the mesh stays farther than `grown` from one of the other collider, or from that half-space."""
    if plane.is_a:
        return height_of_box(plane, box) > sweep.search_margin
    return swept_boxes_miss(box, other, sweep.turn, sweep.shift, sweep.displacement, sweep.search_margin)


@leaf_kernel
def traverse_swept(shapes, surfaces, triangles, sweep, work, size, rows, count):
    """Goes on with the walk of `swept_triangles` from the pairs of nodes on the stack, so many numbers deep, and writes into
    rows (., 2) from a count on, until there may be no room for those of two leaves: (size of the stack, count)."""
    mesh, other, stack, own, others = sweep.mesh, sweep.other, work.stack, work.own, work.others
    s, t = shapes.surface[mesh], shapes.surface[other]
    node_a, node_b = surfaces.first_node[s], 0
    triangle_a, triangle_b = surfaces.first_triangle[s], 0
    is_mesh = shapes.kind[other] == MESH
    normal, offset, _ = plane_of(sweep.turn, sweep.shift, FALSE)
    # as high as the half-space gets on its way
    plane = HalfSpace(normal, offset + max(0.0, dot(normal, sweep.displacement)), shapes.kind[other] == PLANE)
    if is_mesh:
        node_b, triangle_b = surfaces.first_node[t], surfaces.first_triangle[t]
    else:
        for k in range(3):
            others[k], others[3 + k] = shapes.lower[other, k], shapes.upper[other, k]
    while size > 0 and count + LEAF * LEAF <= len(rows):
        size -= 2
        node, other_node = stack[size], stack[size + 1]
        box = surfaces.boxes[node_a + node]
        second = surfaces.boxes[node_b + other_node] if is_mesh else others
        thin = triangles.thinnest[node_b + other_node] if is_mesh else sweep.other_thickness
        if min(thin, triangles.thinnest[node_a + node]) >= sweep.safe_thickness or box_is_missed(box, second, plane, sweep):
            continue
        right = surfaces.right[node_a + node]
        other_right = surfaces.right[node_b + other_node] if is_mesh else 0
        if right > 0 and (other_right == 0 or box_extent(box) >= box_extent(second)):
            stack[size], stack[size + 1] = right, other_node
            stack[size + 2], stack[size + 3] = node + 1, other_node
            size += 4
            continue
        if other_right > 0:
            stack[size], stack[size + 1] = node, other_right
            stack[size + 2], stack[size + 3] = node, other_node + 1
            size += 4
            continue
        first = surfaces.node_begin[node_b + other_node] if is_mesh else 0
        last = surfaces.node_end[node_b + other_node] if is_mesh else 1
        for place in range(surfaces.node_begin[node_a + node], surfaces.node_end[node_a + node]):
            f = triangle_a + surfaces.order[triangle_a + place]
            write_bounds(triangles.vertices, triangles.corners[f], own)
            if box_is_missed(own, second, plane, sweep):
                continue
            for slot in range(first, last):
                g = -1
                if is_mesh:
                    g = triangle_b + surfaces.order[triangle_b + slot]
                    write_bounds(triangles.vertices, triangles.corners[g], others)
                    if box_is_missed(own, others, plane, sweep):
                        continue
                rows[count, 0], rows[count, 1] = f, g
                count += 1
    return size, count


@kernel
def swept_triangles(shapes, surfaces, triangles, sweep):
    """(k, 2) the triangles of a mesh, and those of the other collider if it is a mesh, else -1, that may come nearer than
    `grown` to each other while the other collider moves along a straight way, a `Sweep`, but those that are too thick."""
    rows = np.empty((64, 2), np.int64)
    work = SweepWork(np.empty(512, np.int64), np.empty(6), np.empty(6))
    work.stack[0], work.stack[1] = 0, 0
    size, count = traverse_swept(shapes, surfaces, triangles, sweep, work, ROOTS, rows, NONE_YET)
    while size > 0:
        larger = np.empty((4 * len(rows), 2), np.int64)
        larger[:count] = rows[:count]
        rows = larger
        size, count = traverse_swept(shapes, surfaces, triangles, sweep, work, size, rows, count)
    return rows[:count]
