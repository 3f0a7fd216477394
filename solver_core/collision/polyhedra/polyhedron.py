# SPDX-License-Identifier: GPL-3.0-or-later
"""The core of a body in the narrow phase, in the frame of its pair, which is the frame of the first body.

Relative coordinates keep full precision far from the world's origin, and the arrays of the first body need no copy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, leaf_kernel
from ...linalg.vec3 import add, dot, set_vec, vec

__all__ = ["Polyhedron", "core_of", "transformed", "translated"]


class Polyhedron(NamedTuple):
    """Views of the rows of one body in a `ShapeTable`. lower, upper, centre: (3,) [m]."""

    vertices: NDArray[np.float64]
    planes: NDArray[np.float64]
    loop_start: NDArray[np.int64]
    loop_vertices: NDArray[np.int64]
    loop_edges: NDArray[np.int64]
    edges: NDArray[np.int64]
    edge_faces: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    centre: NDArray[np.float64]


@inlined_kernel
def core_of(shapes, i):
    """Return the core of collider i in its own frame, without copies."""
    vertex = shapes.first_vertex[i]
    face = shapes.first_face[i]
    loop = shapes.first_loop[i]
    edge = shapes.first_edge[i]
    return Polyhedron(
        shapes.vertices[vertex : vertex + shapes.vertex_count[i]],
        shapes.planes[face : face + shapes.face_count[i]],
        shapes.loop_start[loop : loop + shapes.face_count[i] + 1],
        shapes.loop_vertices,
        shapes.loop_edges,
        shapes.edges[edge : edge + shapes.edge_count[i]],
        shapes.edge_faces[edge : edge + shapes.edge_count[i]],
        shapes.lower[i],
        shapes.upper[i],
        shapes.centre[i],
    )


@inlined_kernel
def transformed(core, rotation, translation, vertices, planes, bounds):
    """Return the core after a rotation (3, 3) and a translation (3,) [m], written to the given arrays.

    vertices: (>= v, 3). planes: (>= f, 4). bounds: (3, 3) for the lower corner, the upper corner and the center.
    """
    r00, r01, r02 = rotation[0, 0], rotation[0, 1], rotation[0, 2]
    r10, r11, r12 = rotation[1, 0], rotation[1, 1], rotation[1, 2]
    r20, r21, r22 = rotation[2, 0], rotation[2, 1], rotation[2, 2]
    tx, ty, tz = translation[0], translation[1], translation[2]
    low_x = low_y = low_z = np.inf
    high_x = high_y = high_z = -np.inf
    for i in range(len(core.vertices)):
        x, y, z = core.vertices[i, 0], core.vertices[i, 1], core.vertices[i, 2]
        u = r00 * x + r01 * y + r02 * z + tx
        v = r10 * x + r11 * y + r12 * z + ty
        w = r20 * x + r21 * y + r22 * z + tz
        vertices[i, 0] = u
        vertices[i, 1] = v
        vertices[i, 2] = w
        low_x, high_x = min(low_x, u), max(high_x, u)
        low_y, high_y = min(low_y, v), max(high_y, v)
        low_z, high_z = min(low_z, w), max(high_z, w)
    bounds[0, 0], bounds[0, 1], bounds[0, 2] = low_x, low_y, low_z
    bounds[1, 0], bounds[1, 1], bounds[1, 2] = high_x, high_y, high_z
    x, y, z = core.centre[0], core.centre[1], core.centre[2]
    bounds[2, 0] = r00 * x + r01 * y + r02 * z + tx
    bounds[2, 1] = r10 * x + r11 * y + r12 * z + ty
    bounds[2, 2] = r20 * x + r21 * y + r22 * z + tz
    for i in range(len(core.planes)):
        x, y, z = core.planes[i, 0], core.planes[i, 1], core.planes[i, 2]
        u = r00 * x + r01 * y + r02 * z
        v = r10 * x + r11 * y + r12 * z
        w = r20 * x + r21 * y + r22 * z
        planes[i, 0] = u
        planes[i, 1] = v
        planes[i, 2] = w
        planes[i, 3] = core.planes[i, 3] + u * tx + v * ty + w * tz
    return Polyhedron(
        vertices[: len(core.vertices)],
        planes[: len(core.planes)],
        core.loop_start,
        core.loop_vertices,
        core.loop_edges,
        core.edges,
        core.edge_faces,
        bounds[0],
        bounds[1],
        bounds[2],
    )


@leaf_kernel
def translated(core, vector, buffers):
    """Return the core after a translation by a vector [m], written to `buffers`: vertices, planes and bounds as in
    `transformed`.
    """
    vertices, planes, bounds = buffers
    for i in range(len(core.vertices)):
        set_vec(vertices, i, add(vec(core.vertices, i), vector))
    for i in range(len(core.planes)):
        normal = vec(core.planes, i)
        set_vec(planes, i, normal)
        planes[i, 3] = core.planes[i, 3] + dot(normal, vector)
    for k in range(3):
        bounds[0, k], bounds[1, k], bounds[2, k] = (
            core.lower[k] + vector[k],
            core.upper[k] + vector[k],
            core.centre[k] + vector[k],
        )
    return Polyhedron(
        vertices[: len(core.vertices)],
        planes[: len(core.planes)],
        core.loop_start,
        core.loop_vertices,
        core.loop_edges,
        core.edges,
        core.edge_faces,
        bounds[0],
        bounds[1],
        bounds[2],
    )
