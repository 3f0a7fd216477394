# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of triangles that may collide during a step, and the two scratch colliders that represent them.

A triangle is a flat convex hull, so all kernels for two moving convex colliders apply to it. While a pair of triangles is
tested, it occupies two additional rows behind the colliders of the scene.
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
# Length of the stack at the start of a traversal: the two roots.
ROOTS = np.int64(2)


class Triangles(NamedTuple):
    """The triangles of all surfaces.

    corners: (t, 3) rows of `vertices`. vertices: (v, 3) [m].
    drift: (v, 3) velocity of the vertices within their bodies [m/s], or (0, 3) without deformation.
    normals: (t, 3) unit vectors, or zero. thickness: (t,) of the solid behind a triangle [m], inf for a sheet.
    thinnest: (n,) smallest thickness of the triangles of each node [m].
    """

    corners: NDArray[np.int64]
    vertices: NDArray[np.float64]
    drift: NDArray[np.float64]
    normals: NDArray[np.float64]
    thickness: NDArray[np.float64]
    thinnest: NDArray[np.float64]


class Sweep(NamedTuple):
    """The relative motion of a mesh and another collider during a step. Vectors are in the frame of the mesh at the start.

    mesh, other: indices of the colliders.
    turn, shift: (3, 3) rotation and (3,) translation [m] from the frame of the other collider to that of the mesh.
    displacement: (3,) of the other body's center of mass relative to that of the mesh [m].
    search_margin: distance within which triangles are reported [m].
    rotation_vector, other_rotation_vector: (3,) rotation of each body about its center of mass [rad].
    centre, other_centre: (3,) centers of mass [m].
    max_arc_deviation: bound of the deviation of points from straight lines by rotation [m].
    safe_thickness: triangles this thick cannot pass through each other in the step [m].
    other_thickness: thickness of the other collider if it is not a mesh [m].
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
    """Work arrays: pairs of nodes, and the bounds (6,) of a triangle or a node of either collider."""

    stack: NDArray[np.int64]
    own: NDArray[np.float64]
    others: NDArray[np.float64]


def all_triangles(table: SurfaceTable) -> Triangles:
    """Return the `Triangles` of a table. Vertices and normals are views of the table."""
    counts = np.diff(table.first_triangle)
    corners = table.triangles + np.repeat(table.first_vertex[:-1], counts)[:, None]
    thickness = np.concatenate([triangle_depths(table, s) for s in range(len(counts))])
    before = np.repeat(table.first_triangle[:-1], np.diff(table.first_node))
    in_order = np.append(thickness[table.order + np.repeat(table.first_triangle[:-1], counts)], np.inf)
    begin_and_end = np.stack([table.node_begin + before, table.node_end + before], axis=1)
    thinnest = np.minimum.reduceat(in_order, begin_and_end.ravel())[::2]
    return Triangles(corners, table.vertices, np.zeros((0, 3)), table.normals, thickness, np.ascontiguousarray(thinnest))


def with_scratch(shapes: ShapeTable) -> ShapeTable:
    """Return a shape table with SCRATCH additional colliders, each a triangle.

    It shares the arrays per body with the given table. The other arrays are copies, so later changes of the given table do not
    reach it.
    """
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
    """Give a scratch collider the body, the pose in the body, and the margin of a mesh."""
    shapes.body[slot] = shapes.body[mesh]
    shapes.placed[slot] = shapes.placed[mesh]
    shapes.margin[slot] = shapes.margin[mesh]
    for i in range(3):
        shapes.position[slot, i] = shapes.position[mesh, i]
        for j in range(3):
            shapes.rotation[slot, i, j] = shapes.rotation[mesh, i, j]


@kernel_part
def load_triangle(shapes, triangles, slot, f, time):
    """Write triangle f to a scratch collider, as deformation places it after a time [s]."""
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
    """Return True if a box surely stays farther than `grown` [m] from another box that moves along a straight line.

    box: (6,) [m]. other: (6,) the moving box in its own frame [m]. turn, shift: (3, 3) and (3,) [m], from that frame to the
        frame of the first. displacement: (3,) of the moving box [m].
    """
    enter, leave = 0.0, 1.0
    for i in range(3):
        middle = shift[i] - 0.5 * (box[i] + box[3 + i])
        half = 0.5 * (box[3 + i] - box[i]) + grown
        for k in range(3):
            middle += 0.5 * turn[i, k] * (other[k] + other[3 + k])
            half += 0.5 * abs(turn[i, k]) * (other[3 + k] - other[k])
        # Most boxes are separated along this one axis, so test it before the divisions.
        if middle + max(displacement[i], 0.0) < -half or middle + min(displacement[i], 0.0) > half:
            return True
        if displacement[i] == 0.0:
            continue
        one, two = (-half - middle) / displacement[i], (half - middle) / displacement[i]
        enter, leave = max(enter, min(one, two)), min(leave, max(one, two))
    return enter > leave


@leaf_kernel
def write_bounds(vertices, triangle, box):
    """Write the bounds of a triangle to box (6,)."""
    for k in range(3):
        p, q, r = vertices[triangle[0], k], vertices[triangle[1], k], vertices[triangle[2], k]
        box[k], box[3 + k] = min(p, q, r), max(p, q, r)


@leaf_kernel
def box_is_missed(box, other, plane, sweep):
    """Return True if a box (6,) of the mesh surely stays farther than the search margin from the other box or the half-space.

    other: (6,) in the frame of the other collider [m]. plane: its `is_a` is True if the other collider is a half-space.
    """
    if plane.is_a:
        return height_of_box(plane, box) > sweep.search_margin
    return swept_boxes_miss(box, other, sweep.turn, sweep.shift, sweep.displacement, sweep.search_margin)


@leaf_kernel
def traverse_swept(shapes, surfaces, triangles, sweep, work, size, rows, count):
    """Continue the traversal of `swept_triangles` from the pairs of nodes on the stack.

    size: length of the stack. rows: (m, 2) output, filled from row `count` on. It stops if `rows` may be too small for two more
        leaves.

    Returns the new length of the stack and the new count.
    """
    mesh, other, stack, own, others = sweep.mesh, sweep.other, work.stack, work.own, work.others
    s, t = shapes.surface[mesh], shapes.surface[other]
    node_a, node_b = surfaces.first_node[s], 0
    triangle_a, triangle_b = surfaces.first_triangle[s], 0
    is_mesh = shapes.kind[other] == MESH
    normal, offset, _ = plane_of(sweep.turn, sweep.shift, FALSE)
    # The highest position of the half-space during the step.
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
    """Return the pairs (k, 2) of triangles that may come within the search margin of each other during a `Sweep`.

    The second entry is -1 if the other collider is not a mesh. Pairs that are too thick to pass through each other are left
    out.
    """
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
