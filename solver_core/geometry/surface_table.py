# SPDX-License-Identifier: GPL-3.0-or-later
"""The triangle surfaces of all colliders as a structure of arrays, each with a bounding volume hierarchy over its triangles.

`refresh` computes all that depends on the positions of the vertices (normals, boxes), so a surface that deforms is updated
without being built again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import kernel, kernel_part, leaf_kernel
from ..linalg.elementary import arccosine
from ..linalg.vec3 import cross, distance2, norm, norm2, scaled, set_vec, sub, vec
from .surface_depth import fill_depth
from .surfaces import TOLERANCE, Surface

__all__ = ["LEAF", "SurfaceTable", "build_surfaces", "refresh"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Most triangles in a leaf of the tree.
LEAF = 4
# Sine between the normals of two neighboring triangles up to which their edge is flat; the second one is an upper limit for
# triangles so thin that the tolerance tilts their normals.
FLAT = 1e-6
SLIVER_FLAT = 1e-2


class SurfaceTable(NamedTuple):
    """s surfaces. It is a tuple so that kernels can take it as one argument.

    first_vertex, first_triangle, first_edge, first_node: (s + 1,) first row of each surface in the tables that follow. Indices
        in these tables are relative to it.
    solid: (s,) True if the surface is closed with outward normals. tolerance: (s,) distance below which vertices count as one
        [m].

    Topology, as in `Surface`: triangles, triangle_edges, patch, owned, edges, beside_start, beside, ring_start, ring, source.
    The entries of beside_start and ring_start are rows of the entire arrays beside and ring.

    Geometry:

    vertices: (., 3) [m]. normals: (., 3) unit normals of triangles.
    edge_normals, vertex_normals: (., 3) normalized sums of the normals of the adjacent triangles, weighted by angle at
        vertices; zero without faces.
    sharp: (.,) feature edges, which are not inside a flat patch. corner: (.,) feature vertices, which have a feature edge.
    depth: (.,) half the thickness of the solid behind each vertex [m].

    Tree, in preorder: the left child follows its parent.

    boxes: (., 6) lower and upper corner of each node [m]. right: (.,) right child, 0 for a leaf.
    node_begin, node_end, order: a leaf has the triangles order[node_begin:node_end].
    dipoles: (., 7) sum of area vectors, their center, and the radius around it, to approximate the winding number of distant
        points (Barill et al. 2018).
    """

    first_vertex: Indices
    first_triangle: Indices
    first_edge: Indices
    first_node: Indices
    solid: NDArray[np.bool_]
    tolerance: Array
    triangles: Indices
    triangle_edges: Indices
    patch: Indices
    owned: Indices
    edges: Indices
    beside_start: Indices
    beside: Indices
    ring_start: Indices
    ring: Indices
    vertices: Array
    normals: Array
    edge_normals: Array
    vertex_normals: Array
    sharp: NDArray[np.bool_]
    corner: NDArray[np.bool_]
    depth: Array
    boxes: Array
    dipoles: Array
    right: Indices
    node_begin: Indices
    node_end: Indices
    order: Indices
    source: Indices


def build_surfaces(surfaces: Sequence[Surface]) -> SurfaceTable:
    """Return the table of surfaces 0 to s - 1."""
    trees = [build_tree(surface.vertices, surface.triangles) for surface in surfaces]
    beside_before = _firsts([len(surface.beside) for surface in surfaces])
    rings_before = _firsts([len(surface.ring) for surface in surfaces])
    vertex_count = sum(len(surface.vertices) for surface in surfaces)
    triangle_count = sum(len(surface.triangles) for surface in surfaces)
    edge_count = sum(len(surface.edges) for surface in surfaces)
    node_count = sum(len(tree[0]) for tree in trees)
    table = SurfaceTable(
        first_vertex=_firsts([len(surface.vertices) for surface in surfaces]),
        first_triangle=_firsts([len(surface.triangles) for surface in surfaces]),
        first_edge=_firsts([len(surface.edges) for surface in surfaces]),
        first_node=_firsts([len(tree[0]) for tree in trees]),
        solid=np.array([surface.solid for surface in surfaces], dtype=np.bool_),
        tolerance=np.array([TOLERANCE * surface.size for surface in surfaces], dtype=np.float64),
        triangles=_rows([surface.triangles for surface in surfaces], 3),
        triangle_edges=_rows([surface.triangle_edges for surface in surfaces], 3),
        patch=_joined([surface.patch for surface in surfaces]),
        owned=_joined([surface.owned for surface in surfaces]),
        edges=_rows([surface.edges for surface in surfaces], 2),
        beside_start=_starts([surface.beside_start for surface in surfaces], beside_before),
        beside=_rows([surface.beside for surface in surfaces], 2),
        ring_start=_starts([surface.ring_start for surface in surfaces], rings_before),
        ring=_joined([surface.ring for surface in surfaces]),
        vertices=np.ascontiguousarray(np.concatenate([np.zeros((0, 3)), *[surface.vertices for surface in surfaces]])),
        normals=np.zeros((triangle_count, 3)),
        edge_normals=np.zeros((edge_count, 3)),
        vertex_normals=np.zeros((vertex_count, 3)),
        sharp=np.ones(edge_count, dtype=np.bool_),
        corner=np.ones(vertex_count, dtype=np.bool_),
        depth=np.zeros(vertex_count),
        boxes=np.zeros((node_count, 6)),
        dipoles=np.zeros((node_count, 7)),
        right=_joined([tree[0] for tree in trees]),
        node_begin=_joined([tree[1] for tree in trees]),
        node_end=_joined([tree[2] for tree in trees]),
        order=_joined([tree[3] for tree in trees]),
        source=_joined([surface.source for surface in surfaces]),
    )
    for number in range(len(surfaces)):
        refresh(table, number)
        if table.solid[number]:
            fill_depth(table, number)
    return table


def _firsts(counts: list[int]) -> Indices:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _starts(starts: list[Indices], before: Indices) -> Indices:
    # Each surface has one more row than features, for the end of the last one.
    return _joined([start + first for start, first in zip(starts, before, strict=False)])


def _rows(arrays: list[Indices], width: int) -> Indices:
    return np.ascontiguousarray(np.concatenate([np.zeros((0, width), dtype=np.int64), *arrays]))


def _joined(arrays: list[Indices]) -> Indices:
    return np.concatenate([np.zeros(0, dtype=np.int64), *arrays])


@kernel
def build_tree(vertices, triangles):
    """Build a tree over triangles by median splits of their centers along the widest axis.

    Returns right child, first and last triangle of each node, and the order of the triangles.
    """
    t = len(triangles)
    centres = np.empty((t, 3))
    for f in range(t):
        for k in range(3):
            a, b, c = vertices[triangles[f, 0], k], vertices[triangles[f, 1], k], vertices[triangles[f, 2], k]
            centres[f, k] = min(a, b, c) + max(a, b, c)
    order = np.arange(t)
    capacity = 2 * t
    right = np.zeros(capacity, np.int64)
    begin = np.zeros(capacity, np.int64)
    end = np.zeros(capacity, np.int64)
    stack = np.empty((128, 3), np.int64)  # first and last triangle, and the parent of a right child, else -1
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, t, -1
    size, count = 1, 0
    while size > 0:
        size -= 1
        low, high, parent = stack[size]
        node = count
        count += 1
        if parent >= 0:
            right[parent] = node
        begin[node], end[node] = low, high
        if high - low <= LEAF:
            continue
        axis = 0
        widest = -1.0
        for k in range(3):
            smallest, largest = np.inf, -np.inf
            for i in range(low, high):
                smallest = min(smallest, centres[order[i], k])
                largest = max(largest, centres[order[i], k])
            if largest - smallest > widest:
                widest = largest - smallest
                axis = k
        middle = (low + high) // 2
        select(order, centres, axis, low, high, middle)
        stack[size, 0], stack[size, 1], stack[size, 2] = middle, high, node
        stack[size + 1, 0], stack[size + 1, 1], stack[size + 1, 2] = low, middle, -1
        size += 2
    return right[:count].copy(), begin[:count].copy(), end[:count].copy(), order


@kernel_part
def select(order, keys, axis, low, high, nth):
    """Partially sort order[low:high] so that entry `nth` is in its sorted position (Hoare's selection)."""
    left, right = low, high - 1
    while left < right:
        pivot = keys[order[(left + right) // 2], axis]
        i, j = left, right
        while i <= j:
            while keys[order[i], axis] < pivot:
                i += 1
            while keys[order[j], axis] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if nth <= j:
            right = j
        elif nth >= i:
            left = i
        else:
            return


@kernel
def refresh(table, s):
    """Update normals, feature edges and boxes of surface s for the current vertices."""
    _refresh(table, s, np.empty(table.first_node[s + 1] - table.first_node[s]))


@leaf_kernel
def _refresh(table, s, area):
    """Do the work of `refresh`. area: (nodes,) work array for the area below each node."""
    vertices = table.vertices[table.first_vertex[s] : table.first_vertex[s + 1]]
    triangles = table.triangles[table.first_triangle[s] : table.first_triangle[s + 1]]
    normals = table.normals[table.first_triangle[s] : table.first_triangle[s + 1]]
    _refresh_normals(vertices, triangles, normals, table.tolerance[s])
    first, count = table.first_edge[s], table.first_edge[s + 1] - table.first_edge[s]
    edges = table.edges[first : first + count]
    beside_start = table.beside_start[first + s : first + s + count + 1]
    _refresh_slivers(
        table.triangle_edges[table.first_triangle[s] : table.first_triangle[s + 1]], beside_start, table.beside, normals
    )
    edge_normals = table.edge_normals[first : first + count]
    sharp = table.sharp[first : first + count]
    corner = table.corner[table.first_vertex[s] : table.first_vertex[s + 1]]
    corner[:] = count == 0
    for e in range(count):
        for k in range(3):
            edge_normals[e, k] = 0.0
            for row in range(beside_start[e], beside_start[e + 1]):
                edge_normals[e, k] += normals[table.beside[row, 0], k]
        _normalise(edge_normals[e])
        sharp[e] = True
        if beside_start[e + 1] - beside_start[e] == 2:
            f, g = table.beside[beside_start[e], 0], table.beside[beside_start[e] + 1, 0]
            cosine = 0.0
            for k in range(3):
                cosine += normals[f, k] * normals[g, k]
            sine_square = 1.0 - cosine * cosine
            if cosine > 0.0 and sine_square <= FLAT * FLAT:
                sharp[e] = False
            elif cosine > 0.0 and sine_square <= SLIVER_FLAT * SLIVER_FLAT:
                # The tolerance tilts the normal of a thin triangle.
                height = np.inf
                for row in range(beside_start[e], beside_start[e + 1]):
                    height = min(height, _height(vertices, edges[e, 0], edges[e, 1], table.beside[row, 1]))
                flat = table.tolerance[s] / max(height, 1e-300)
                sharp[e] = sine_square > flat * flat
        if sharp[e]:
            corner[edges[e, 0]] = True
            corner[edges[e, 1]] = True
    _refresh_vertex_normals(
        vertices, triangles, normals, table.vertex_normals[table.first_vertex[s] : table.first_vertex[s + 1]]
    )
    _refresh_boxes(table, s, vertices, triangles, area)


@leaf_kernel
def _normalise(vector):
    """Normalize a vector (3,) in place; a vanishing one becomes zero."""
    length = np.sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2])
    # Opposite normals, as at a fold, cancel up to rounding.
    scale = 1.0 / length if length > 1e-9 else 0.0
    for k in range(3):
        vector[k] *= scale


@kernel_part
def _height(vertices, i, j, off):
    """Return the distance of a vertex from the line through two other vertices [m]."""
    start = vec(vertices, i)
    edge = sub(vec(vertices, j), start)
    square = norm2(edge)
    return np.sqrt(norm2(cross(edge, sub(vec(vertices, off), start))) / square) if square > 0.0 else 0.0


@kernel_part
def _refresh_normals(vertices, triangles, normals, tolerance):
    """Write the unit normals of triangles, zero for those without area or width."""
    for f in range(len(triangles)):
        corner = vec(vertices, triangles[f, 0])
        e, o = sub(vec(vertices, triangles[f, 1]), corner), sub(vec(vertices, triangles[f, 2]), corner)
        across = cross(e, o)
        longest = max(norm2(e), norm2(o), distance2(o, e))
        length = norm(across)
        wide = length * length > 0.01 * tolerance * tolerance * longest and length > 0.0
        set_vec(normals, f, scaled(1.0 / length if wide else 0.0, across))


@kernel_part
def _refresh_slivers(triangle_edges, beside_start, beside, normals):
    """Give a triangle without width the normal of a neighbor, so that their edge is flat."""
    for _ in range(3):
        missing = False
        for f in range(len(normals)):
            if normals[f, 0] != 0.0 or normals[f, 1] != 0.0 or normals[f, 2] != 0.0:
                continue
            for k in range(3):
                e = triangle_edges[f, k]
                if e < 0:
                    continue
                for row in range(beside_start[e], beside_start[e + 1]):
                    g = beside[row, 0]
                    if g != f:
                        set_vec(normals, f, vec(normals, g))
            missing = missing or (normals[f, 0] == 0.0 and normals[f, 1] == 0.0 and normals[f, 2] == 0.0)
        if not missing:
            return


@kernel_part
def _refresh_vertex_normals(vertices, triangles, normals, vertex_normals):
    """Write the pseudonormals of vertices, the sums of triangle normals weighted by angle (Baerentzen and Aanaes 2005)."""
    vertex_normals[:] = 0.0
    for f in range(len(triangles)):
        for corner in range(3):
            i, j, k = triangles[f, corner], triangles[f, (corner + 1) % 3], triangles[f, (corner + 2) % 3]
            dot = one = other = 0.0
            for axis in range(3):
                a, b = vertices[j, axis] - vertices[i, axis], vertices[k, axis] - vertices[i, axis]
                dot += a * b
                one += a * a
                other += b * b
            size = np.sqrt(one * other)
            angle = arccosine(min(max(dot / size, -1.0), 1.0)) if size > 0.0 else 0.0
            for axis in range(3):
                vertex_normals[i, axis] += angle * normals[f, axis]
    for i in range(len(vertices)):
        _normalise(vertex_normals[i])


@kernel_part
def _refresh_boxes(table, s, vertices, triangles, area):
    """Write the boxes and dipoles of the tree, children before parents."""
    first = table.first_node[s]
    order = table.order[table.first_triangle[s] : table.first_triangle[s + 1]]
    for node in range(len(area) - 1, -1, -1):
        box, dipole = table.boxes[first + node], table.dipoles[first + node]
        box[:3], box[3:] = np.inf, -np.inf
        dipole[:] = 0.0
        right = table.right[first + node]
        if right > 0:
            area[node] = area[node + 1] + area[right]
            for child in (node + 1, right):
                share = area[child] / area[node] if area[node] > 0.0 else 0.5
                for k in range(3):
                    box[k] = min(box[k], table.boxes[first + child, k])
                    box[3 + k] = max(box[3 + k], table.boxes[first + child, 3 + k])
                    dipole[k] += table.dipoles[first + child, k]
                    dipole[3 + k] += share * table.dipoles[first + child, 3 + k]
        else:
            _leaf_dipole(vertices, triangles, order[table.node_begin[first + node] : table.node_end[first + node]], box, dipole)
            area[node] = dipole[6]
        square = 0.0
        for k in range(3):
            square += max(box[3 + k] - dipole[3 + k], dipole[3 + k] - box[k]) ** 2
        dipole[6] = np.sqrt(square)


@kernel_part
def _leaf_dipole(vertices, triangles, members, box, dipole):
    """Write the box and the dipole of a few triangles. dipole[6] is set to their area [m^2]."""
    for f in members:
        i, j, k = triangles[f]
        p, q, r = vertices[i], vertices[j], vertices[k]
        ex, ey, ez = q[0] - p[0], q[1] - p[1], q[2] - p[2]
        ox, oy, oz = r[0] - p[0], r[1] - p[1], r[2] - p[2]
        x, y, z = 0.5 * (ey * oz - ez * oy), 0.5 * (ez * ox - ex * oz), 0.5 * (ex * oy - ey * ox)
        length = np.sqrt(x * x + y * y + z * z)
        dipole[0] += x
        dipole[1] += y
        dipole[2] += z
        dipole[6] += length
        for axis in range(3):
            dipole[3 + axis] += length * (p[axis] + q[axis] + r[axis]) / 3.0
            box[axis] = min(box[axis], p[axis], q[axis], r[axis])
            box[3 + axis] = max(box[3 + axis], p[axis], q[axis], r[axis])
    for axis in range(3):
        dipole[3 + axis] = dipole[3 + axis] / dipole[6] if dipole[6] > 0.0 else 0.5 * (box[axis] + box[3 + axis])
