# SPDX-License-Identifier: GPL-3.0-or-later
"""Count of contacts with an ambiguous normal: normals on both sides of it are about equally valid
(`polyhedra/several_axes.py`).

The test runs afterward on the shapes. Otherwise each contact buffer would have to carry a flag for a rare case. A normal n'
separates two touching bodies about as far as n if n' . d >= the separation along n, up to the margin of the narrow phase, for
all differences d of their vertices, b's minus a's. A tilt of the normal by a small angle violates this for a difference d with
a small component along n and a large one perpendicular to it. So the difference with the largest perpendicular component leaves
two opposite tilts, perpendicular to itself. The normal is ambiguous if both are valid.

Only convex polyhedra are tested, also as child shapes of compounds. Edges of meshes and rims are not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import kernel, kernel_part, leaf_kernel
from ..geometry.shapes import HULL, ShapeTable
from ..linalg.elementary import sine_and_cosine
from ..linalg.vec3 import add, advanced, cross, divided, dot, norm, scaled, sub, vec
from .contact_set import ContactSet
from .pair import core_size, place_collider
from .polyhedra.several_axes import MAX_GAP_RATIO, inset_margin, may_have_tied_axes

__all__ = ["NONE_CHOSEN", "ChosenNormals", "chosen_normals"]

Floats = NDArray[np.float64]

# A normal is ambiguous if it can be tilted by this angle to both sides. A face replaces closest directions within one degree.
TILT_SINE, TILT_COSINE = sine_and_cosine.py_func(0.5 * np.pi / 180.0)


class ChosenNormals(NamedTuple):
    """The number of contacts with an ambiguous normal, and the two bodies with most of them, (-1, -1) if there are none."""

    number: int
    pair: tuple[int, int]


class TiltWork(NamedTuple):
    """Work arrays of `is_ambiguous`.

    corners: (2, v, 4) vertices of two polyhedra, and their heights along the normal [m].
    position, rotation: (3,) [m] and (3, 3), pose of a collider in the world.
    """

    corners: Floats
    position: Floats
    rotation: Floats


NONE_CHOSEN = ChosenNormals(0, (-1, -1))


def chosen_normals(
    shapes: ShapeTable, position: Floats, rotation: Floats, contacts: ContactSet, bears: NDArray[np.bool_]
) -> ChosenNormals:
    """Count the loaded contacts with an ambiguous normal.

    position, rotation: (n, 3) [m] and (n, 3, 3), poses at which the contacts were found. bears: (m,) True for a loaded contact.
    """
    if not any_candidate(contacts, bears, shapes.radius):
        return NONE_CHOSEN
    count, a, b = count_ambiguous(shapes._replace(surfaces=None), position, rotation, contacts, bears)
    return ChosenNormals(count, (a, b))


@leaf_kernel
def is_candidate(gap, bears, radius_a, radius_b):
    """Return True for a loaded contact of bodies so near that several axes may separate them."""
    return bears and gap <= 2.0 * MAX_GAP_RATIO * min(radius_a, radius_b)


@kernel
def any_candidate(contacts, bears, radius):
    """Return True if any contact is a candidate. bears: (m,). radius: (n,) of the bodies [m]."""
    found = False
    for i in range(contacts.gap.size):
        found |= is_candidate(contacts.gap[i], bears[i], radius[contacts.body_a[i]], radius[contacts.body_b[i]])
    return found


@kernel
def count_ambiguous(shapes, position, rotation, contacts, bears):
    """Count the contacts with an ambiguous normal. The contacts are sorted by their bodies.

    Returns the number, and the two bodies with most of them, -1 if there are none.
    """
    most_vertices = 1
    for i in range(len(shapes.vertex_count)):
        most_vertices = max(most_vertices, shapes.vertex_count[i])
    work = TiltWork(np.empty((2, most_vertices, 4)), np.empty(3), np.empty((3, 3)))
    total, largest, a_of_most, b_of_most = 0, 0, -1, -1
    here, last_a, last_b = 0, -1, -1
    for i in range(contacts.gap.size):
        a, b = contacts.body_a[i], contacts.body_b[i]
        if a != last_a or b != last_b:
            here, last_a, last_b = 0, a, b
        if not is_candidate(contacts.gap[i], bears[i], shapes.radius[a], shapes.radius[b]):
            continue
        if is_ambiguous(shapes, position, rotation, a, b, vec(contacts.normal, i), work):
            total += 1
            here += 1
            if here > largest:
                largest, a_of_most, b_of_most = here, a, b
    return total, a_of_most, b_of_most


@leaf_kernel
def is_ambiguous(shapes, position, rotation, a, b, normal, work):
    """Return True if a normal of bodies a and b is ambiguous for two of their convex polyhedra that touch along it.

    work: a `TiltWork`.
    """
    corners, place, turn = work.corners, work.position, work.rotation
    for i in range(shapes.first_collider[a], shapes.first_collider[a + 1]):
        if shapes.kind[i] != HULL:
            continue
        for j in range(shapes.first_collider[b], shapes.first_collider[b + 1]):
            if shapes.kind[j] != HULL:
                continue
            scale = min(core_size(shapes, i), core_size(shapes, j))
            if scale == 0.0:
                continue
            place_collider(shapes, i, position[a], rotation[a], place, turn)
            highest = -write_corners(shapes, i, place, turn, vec(position, a), normal, -1.0, corners[0])
            place_collider(shapes, j, position[b], rotation[b], place, turn)
            lowest = write_corners(shapes, j, place, turn, vec(position, a), normal, 1.0, corners[1])
            separation = lowest - highest
            ends = shapes.vertex_count[i], shapes.vertex_count[j]
            if may_have_tied_axes(separation, scale) and can_tilt_both_ways(
                corners, ends, normal, separation, inset_margin(separation, scale)
            ):
                return True
    return False


@leaf_kernel
def write_corners(shapes, collider, place, turn, origin, normal, sign, out):
    """Write the vertices of a collider relative to `origin` and their heights to out (v, 4), and return the smallest height
    [m].

    place, turn: (3,) [m] and (3, 3), pose of the collider. The heights are along `normal`, times `sign`.
    """
    least = np.inf
    for k in range(shapes.vertex_count[collider]):
        vertex = vec(shapes.vertices, shapes.first_vertex[collider] + k)
        height = 0.0
        for i in range(3):
            out[k, i] = place[i] - origin[i] + turn[i, 0] * vertex[0] + turn[i, 1] * vertex[1] + turn[i, 2] * vertex[2]
            height += sign * normal[i] * out[k, i]
        out[k, 3] = height
        least = min(least, height)
    return least


@kernel_part
def can_tilt_both_ways(corners, ends, normal, separation, margin):
    """Return True if a normal can be tilted to two opposite sides and separates the bodies about as far.

    corners: (2, v, 4) from `write_corners`. ends: numbers of vertices of the two bodies. separation, margin: [m].
    """
    farthest, across = 0.0, normal
    for i in range(ends[0]):
        for j in range(ends[1]):
            height = corners[0, i, 3] + corners[1, j, 3]
            difference = sub(vec(corners[1], j), vec(corners[0], i))
            beside = advanced(difference, -height, normal)
            distance = norm(beside)
            if distance > farthest and (height - separation + margin) * TILT_COSINE < distance * TILT_SINE:
                farthest, across = distance, beside
    if farthest == 0.0:
        return True
    way = divided(cross(normal, across), farthest)
    for side in (-1.0, 1.0):
        turned = add(scaled(TILT_COSINE, normal), scaled(side * TILT_SINE, way))
        lowest, highest = np.inf, -np.inf
        for i in range(ends[0]):
            highest = max(highest, dot(turned, vec(corners[0], i)))
        for j in range(ends[1]):
            lowest = min(lowest, dot(turned, vec(corners[1], j)))
        if lowest - highest < separation - margin:
            return False
    return True
