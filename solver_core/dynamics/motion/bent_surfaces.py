# SPDX-License-Identifier: GPL-3.0-or-later
"""Surfaces of flexible bodies, for kernels: vertex positions and velocities from modes, and mode shapes at contacts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.mesh.queries import closest_weights
from ...compile.kernel import kernel, leaf_kernel
from ...geometry.shapes import ShapeTable
from ...geometry.surface_table import refresh

__all__ = [
    "FlexibleSurfaces",
    "flexible_surfaces",
    "modal_surface_velocity",
    "modes_at",
    "place_surfaces",
    "vertex_velocities",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class FlexibleSurfaces(NamedTuple):
    """The surfaces of b flexible bodies.

    body, collider, surface: (b,) their indices. row: (b + 1,) the first mode of each in `modal` of a state. vertex: (b + 1,)
    the first row of each in `at_rest`. start: (b + 1,) the first entry of each in `modes`. at_rest: (v, 3) m, the undeformed
    vertices in body frames. modes: 1/sqrt(kg), the mode shapes, three numbers per vertex, ordered by body, mode and vertex.
    """

    body: Ints
    collider: Ints
    surface: Ints
    row: Ints
    vertex: Ints
    start: Ints
    at_rest: Floats
    modes: Floats


def flexible_surfaces(shapes: ShapeTable, modes: Mapping[int, Floats]) -> FlexibleSurfaces:
    """Collect the surfaces of flexible bodies.

    Parameters
    ----------
    shapes : of all bodies
    modes : (n, 3, r) of all vertices of a shape, by body index

    Returns
    -------
    FlexibleSurfaces
    """
    table, body = shapes.surfaces, np.array(list(modes), dtype=np.int64)
    at_rest, shape_values = [np.zeros((0, 3))], []
    surface = np.zeros(len(body), dtype=np.int64)
    for k, i in enumerate(body):
        assert table is not None
        surface[k] = shapes.surface[shapes.first_collider[i]]
        rows = slice(int(table.first_vertex[surface[k]]), int(table.first_vertex[surface[k] + 1]))
        at_rest.append(table.vertices[rows].copy())
        shape_values.append(np.ascontiguousarray(modes[int(i)][table.source[rows]].transpose(2, 0, 1)))
    counts = [
        [0, *(one.shape[0] for one in shape_values)],
        [0, *(one.shape[1] for one in shape_values)],
        [0, *(one.size for one in shape_values)],
    ]
    row, vertex, start = np.cumsum(counts, axis=1)
    flat = np.concatenate([one.ravel() for one in shape_values]) if shape_values else np.zeros(0)
    return FlexibleSurfaces(body, shapes.first_collider[body], surface, row, vertex, start, np.concatenate(at_rest), flat)


@leaf_kernel
def _add_modes(bent, k, q, out):
    """Add the displacements of the vertices of surface k by modal coordinates q to `out`, three numbers per vertex."""
    size = 3 * (bent.vertex[k + 1] - bent.vertex[k])
    for i in range(bent.row[k], bent.row[k + 1]):
        shape = bent.modes[bent.start[k] + (i - bent.row[k]) * size :]
        for j in range(size):
            out[j] += q[i] * shape[j]


@kernel
def place_surfaces(bent, table, modal, lower, upper, radius, margin):
    """Deform the surfaces of flexible bodies.

    Parameters
    ----------
    bent : `FlexibleSurfaces`
    table : `SurfaceTable`; vertices and the data derived from them are updated
    modal : of the state
    lower, upper : (c, 3) m, bounds of colliders, updated
    radius : (n,) m, of bodies, updated
    margin : (c,) m, of colliders
    """
    for k in range(len(bent.body)):
        s, c = bent.surface[k], bent.collider[k]
        vertices = table.vertices[table.first_vertex[s] : table.first_vertex[s + 1]]
        vertices[:] = bent.at_rest[bent.vertex[k] : bent.vertex[k + 1]]
        _add_modes(bent, k, modal, vertices.reshape(3 * len(vertices)))
        refresh(table, s)
        lower[c], upper[c] = np.inf, -np.inf
        farthest = 0.0
        for i in range(len(vertices)):
            square = 0.0
            for j in range(3):
                lower[c, j], upper[c, j] = min(lower[c, j], vertices[i, j]), max(upper[c, j], vertices[i, j])
                square += vertices[i, j] ** 2
            farthest = max(farthest, square)
        radius[bent.body[k]] = np.sqrt(farthest) + margin[c]


@kernel
def vertex_velocities(bent, first_vertex, modal_velocity, velocity, speed):
    """Compute the velocities of the vertices of flexible bodies relative to their frames.

    Parameters
    ----------
    bent : `FlexibleSurfaces`
    first_vertex : (s + 1,) of the surfaces in the table
    modal_velocity : of the state
    velocity : (v, 3) m/s, written in the rows of flexible bodies
    speed : (n,) m/s, of the fastest vertex of each flexible body, written
    """
    for k in range(len(bent.body)):
        s = bent.surface[k]
        of_surface = velocity[first_vertex[s] : first_vertex[s + 1]]
        of_surface[:] = 0.0
        _add_modes(bent, k, modal_velocity, of_surface.reshape(3 * len(of_surface)))
        fastest = 0.0
        for i in range(len(of_surface)):
            fastest = max(fastest, of_surface[i, 0] ** 2 + of_surface[i, 1] ** 2 + of_surface[i, 2] ** 2)
        speed[bent.body[k]] = np.sqrt(fastest)


@leaf_kernel
def _write_modes(bent, k, table, local, turn, stack, out):
    """Write the mode shapes of surface k at its point nearest to a given one to `out` (3, r), in world axes.

    local: the point in body axes. turn: (3, 3) the rotation of the body. stack: work array.
    """
    f, second, third = closest_weights(table, bent.surface[k], local, stack)
    triangle = table.triangles[table.first_triangle[bent.surface[k]] + f]
    size = 3 * (bent.vertex[k + 1] - bent.vertex[k])
    for i in range(bent.row[k + 1] - bent.row[k]):
        shape = bent.modes[bent.start[k] + i * size :]
        for j in range(3):
            displacement = (1.0 - second - third) * shape[3 * triangle[0] + j]
            displacement += second * shape[3 * triangle[1] + j] + third * shape[3 * triangle[2] + j]
            for axis in range(3):
                out[axis, i] += turn[axis, j] * displacement


@kernel
def modes_at(bent, table, bodies, point, position, rotation, widest):
    """Return the mode shapes of both bodies at contacts.

    Parameters
    ----------
    bent : `FlexibleSurfaces`
    table : `SurfaceTable`
    bodies, point : (2, m) and (m, 3) m, of the contacts
    position, rotation : (n, 3) m and (n, 3, 3), of the bodies
    widest : the largest number of modes of a body

    Returns
    -------
    (2, m, 3, widest) 1/sqrt(kg), world; and whether a body of any contact is flexible
    """
    which, stack = np.full(len(position), -1), np.empty(64, np.int64)
    for k in range(len(bent.body)):
        which[bent.body[k]] = k
    out, bends = np.zeros((2, len(point), 3, widest)), False
    for i in range(len(point)):
        for side in range(2):
            body = bodies[side, i]
            if which[body] < 0:
                continue
            bends = True
            turn = rotation[body]
            x, y, z = point[i, 0] - position[body, 0], point[i, 1] - position[body, 1], point[i, 2] - position[body, 2]
            local = (
                turn[0, 0] * x + turn[1, 0] * y + turn[2, 0] * z,
                turn[0, 1] * x + turn[1, 1] * y + turn[2, 1] * z,
                turn[0, 2] * x + turn[1, 2] * y + turn[2, 2] * z,
            )
            _write_modes(bent, which[body], table, local, turn, stack, out[side, i])
    return out, bends


@kernel
def modal_surface_velocity(bent, bodies, modes, velocity, count):
    """Return (m, 3) m/s, world, the part of the velocity of B relative to A at contacts that comes from modes.

    Parameters
    ----------
    bent : `FlexibleSurfaces`
    bodies : (2, m) of the contacts
    modes : (2, m, 3, r) world, the mode shapes at the contacts
    velocity : modal velocities of the state
    count : the number n of bodies
    """
    which = np.full(count, -1)
    for k in range(len(bent.body)):
        which[bent.body[k]] = k
    drift = np.zeros((bodies.shape[1], 3))
    for i in range(len(drift)):
        for side in range(2):
            k = which[bodies[side, i]]
            if k < 0:
                continue
            for j in range(bent.row[k], bent.row[k + 1]):
                for axis in range(3):
                    part = modes[side, i, axis, j - bent.row[k]] * velocity[j]
                    drift[i, axis] += part if side == 1 else -part
    return drift
