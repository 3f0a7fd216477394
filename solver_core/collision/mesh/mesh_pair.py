# SPDX-License-Identifier: GPL-3.0-or-later
"""Two triangle surfaces in one frame. All vectors are in the first surface's axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, leaf_kernel
from ...linalg.vec3 import add, rotated, rotated_back, scaled, sub, vec
from ..manifold import feature_id
from .buffer import append_contact
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
    """Two surfaces in a frame by their numbers in a table, as what makes arrays knows them.

    own: (u, 3) the first's vertices, vertices: (v, 3) the second's in the axes of the first; whole_own, whole: the same before
    they were set in (`set_in`). turn (3, 3), shift (3,): from the second's axes to the first's.
    limit: m, the largest gap of a contact. noise: m, what is nearer touches. scale: m, the size of the smaller body. swapped:
    whether contacts are to be reported with the normal from the second to the first. stack: work array.
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
    """The same with the surfaces, each in its own axes, as leaf kernels see them: numba would count references to all these
    views elsewhere."""

    first: SurfaceView
    second: SurfaceView
    query: MeshQuery


class PairSurface(NamedTuple):
    """One of the two surfaces, with its vertices in the pair's axes, and these before they were set in."""

    surface: SurfaceView
    vertices: NDArray[np.float64]
    original: NDArray[np.float64]
    is_first: bool


@leaf_kernel
def pair_of(table, query):
    """The `MeshPair` of two surfaces of a table."""
    return MeshPair(surface_view(table, query.first, query.vertices_first), own_view(table, query.second), query)


@inlined_kernel
def surface_of(pair, is_first):
    """The first surface or the second one."""
    vertices = pair.first.vertices if is_first else pair.query.vertices_second
    whole = pair.query.original_first if is_first else pair.query.original_second
    return PairSurface(pair.first if is_first else pair.second, vertices, whole, is_first)


@inlined_kernel
def inset_correction(side, v):
    """From where a vertex is to where it was before it was set in."""
    return sub(vec(side.original, v), vec(side.vertices, v))


@inlined_kernel
def direction_to_pair(pair, is_first, vector):
    """A vector in the axes of one of the surfaces, in those of the pair."""
    return (vector[0], vector[1], vector[2]) if is_first else rotated(pair.query.turn, vector)


@inlined_kernel
def point_to_surface(pair, is_first, point):
    """A point in the pair's frame, in that of one of the surfaces."""
    return point if is_first else rotated_back(pair.query.turn, sub(point, pair.query.shift))


@inlined_kernel
def point_to_pair(pair, is_first, point):
    """A point in the frame of one of the surfaces, in the pair's."""
    return point if is_first else add(rotated(pair.query.turn, point), pair.query.shift)


@inlined_kernel
def surface_is_nearer(pair, side, point, distance):
    """Whether a surface, if it has faces, is nearer to a point than the distance."""
    if len(side.surface.triangles) <= 1:
        return False
    return has_point_within(side.surface, point_to_surface(pair, side.is_first, point), distance, pair.query.stack)


@inlined_kernel
def surface_contains(pair, side, point):
    """Whether a solid contains a point."""
    return is_inside(side.surface, point_to_surface(pair, side.is_first, point), pair.query.stack)


@leaf_kernel
def has_single_triangle(pair):
    """Whether one of the surfaces is a point or a segment, which crosses nothing however deep it is."""
    return len(pair.first.triangles) == 1 or len(pair.second.triangles) == 1


@inlined_kernel
def pair_feature(pair, kind, other_kind, is_first, own, other):
    """Feature id of a feature of one of the surfaces and one of the other: `kind` if the former is of the first body."""
    return feature_id(kind, own, other) if is_first != pair.query.swapped else feature_id(other_kind, other, own)


@inlined_kernel
def add_mesh_contact(pair, out, point, normal, gap, feature):
    """Adds a contact whose normal leads from the first surface to the second."""
    append_contact(out, point, scaled(-1.0 if pair.query.swapped else 1.0, normal), gap, feature)
