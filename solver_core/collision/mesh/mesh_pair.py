# SPDX-License-Identifier: GPL-3.0-or-later
"""Two triangle surfaces in one frame. All vectors are in the frame of the first surface."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, leaf_kernel
from ...linalg.vec3 import add, rotated, rotated_back, scaled, sub, vec
from ..contact_buffer import append_contact
from ..manifold import feature_id
from .queries import SurfaceView, has_point_within, is_inside, own_view, surface_view

__all__ = [
    "MeshPair",
    "MeshQuery",
    "PairSurface",
    "add_mesh_contact",
    "direction_to_pair",
    "has_single_triangle",
    "inset_correction",
    "pair_feature",
    "pair_of",
    "point_to_pair",
    "point_to_surface",
    "surface_contains",
    "surface_is_nearer",
    "surface_of",
]


class MeshQuery(NamedTuple):
    """A query for the contacts of two surfaces of a table.

    first, second: indices of the surfaces.
    vertices_first, vertices_second: (u, 3) and (v, 3) vertices in the frame of the first surface [m].
    original_first, original_second: the same vertices before they were inset (`set_in`).
    turn, shift: (3, 3) rotation and (3,) translation [m] from the frame of the second surface to that of the first.
    limit: largest gap of a contact [m].
    noise: distance below which surfaces touch [m].
    scale: size of the smaller body [m].
    swapped: True to report normals from the second surface to the first.
    stack: work array.
    """

    first: int
    second: int
    vertices_first: NDArray[np.float64]
    vertices_second: NDArray[np.float64]
    original_first: NDArray[np.float64]
    original_second: NDArray[np.float64]
    turn: NDArray[np.float64]
    shift: NDArray[np.float64]
    limit: float
    noise: float
    scale: float
    swapped: bool
    stack: NDArray[np.int64]


class MeshPair(NamedTuple):
    """The views of both surfaces, each in its own frame, and the `MeshQuery`.

    Only leaf kernels use it, because numba would update the reference counts of all views in other kernels.
    """

    first: SurfaceView
    second: SurfaceView
    query: MeshQuery


class PairSurface(NamedTuple):
    """One of the two surfaces, with its vertices in the frame of the pair. original: vertices before they were inset."""

    surface: SurfaceView
    vertices: NDArray[np.float64]
    original: NDArray[np.float64]
    is_first: bool


@leaf_kernel
def pair_of(table, query):
    """Return the `MeshPair` of a query."""
    return MeshPair(surface_view(table, query.first, query.vertices_first), own_view(table, query.second), query)


@inlined_kernel
def surface_of(pair, is_first):
    """Return the `PairSurface` of the first or of the second surface."""
    vertices = pair.first.vertices if is_first else pair.query.vertices_second
    whole = pair.query.original_first if is_first else pair.query.original_second
    return PairSurface(pair.first if is_first else pair.second, vertices, whole, is_first)


@inlined_kernel
def inset_correction(side, v):
    """Return the vector from an inset vertex to the original vertex [m]."""
    return sub(vec(side.original, v), vec(side.vertices, v))


@inlined_kernel
def direction_to_pair(pair, is_first, vector):
    """Rotate a vector from the frame of one of the surfaces to that of the pair."""
    return (vector[0], vector[1], vector[2]) if is_first else rotated(pair.query.turn, vector)


@inlined_kernel
def point_to_surface(pair, is_first, point):
    """Transform a point from the frame of the pair to that of one of the surfaces [m]."""
    return point if is_first else rotated_back(pair.query.turn, sub(point, pair.query.shift))


@inlined_kernel
def point_to_pair(pair, is_first, point):
    """Transform a point from the frame of one of the surfaces to that of the pair [m]."""
    return point if is_first else add(rotated(pair.query.turn, point), pair.query.shift)


@inlined_kernel
def surface_is_nearer(pair, side, point, distance):
    """Return True if a surface with more than one triangle is nearer to a point than a distance [m]."""
    if len(side.surface.triangles) <= 1:
        return False
    return has_point_within(side.surface, point_to_surface(pair, side.is_first, point), distance, pair.query.stack)


@inlined_kernel
def surface_contains(pair, side, point):
    """Return True if a solid contains a point."""
    return is_inside(side.surface, point_to_surface(pair, side.is_first, point), pair.query.stack)


@leaf_kernel
def has_single_triangle(pair):
    """Return True if one of the surfaces has one triangle only, as the cores of spheres and capsules (a point or a segment)
    have.

    Such a surface never has a vertex inside the other one that an intersection would show.
    """
    return len(pair.first.triangles) == 1 or len(pair.second.triangles) == 1


@inlined_kernel
def pair_feature(pair, kind, other_kind, is_first, own, other):
    """Return the id of a feature of one surface and a feature of the other.

    kind: kind of contact if the first feature belongs to body a. other_kind: kind if it belongs to body b. own, other: the
        features.
    """
    return feature_id(kind, own, other) if is_first != pair.query.swapped else feature_id(other_kind, other, own)


@inlined_kernel
def add_mesh_contact(pair, out, point, normal, gap, feature):
    """Append a contact. normal: unit vector from the first surface to the second one."""
    append_contact(out, point, scaled(-1.0 if pair.query.swapped else 1.0, normal), gap, feature)
