# SPDX-License-Identifier: GPL-3.0-or-later
"""Two triangle surfaces in one frame. All vectors are in the first surface's axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, leaf_kernel
from ...linalg.vec3 import add, rotated, rotated_back, scaled, sub, vec
from ..manifold import feature_id
from .buffer import add_to
from .queries import SurfaceView, is_inside, is_nearer, own_view, surface_view

__all__ = [
    "Meeting",
    "MeshPair",
    "Side",
    "add_mesh_contact",
    "in_pair_axes",
    "may_penetrate",
    "pair_feature",
    "pair_of",
    "point_in_axes_of",
    "point_in_pair",
    "side_contains",
    "side_is_nearer",
    "side_of",
    "way_back",
]


class Meeting(NamedTuple):
    """Two surfaces in a frame by their numbers in a table, as what makes arrays knows them.

    own: (u, 3) the first's vertices, vertices: (v, 3) the second's in the axes of the first; whole_own, whole: the same before
    they were set in (`set_in`). turn (3, 3), shift (3,): from the second's axes to the first's.
    limit: m, the largest gap of a contact. noise: m, what is nearer touches. scale: m, the size of the smaller body. swapped:
    whether contacts are to be reported with the normal from the second to the first. stack: work array.
    """

    first: int
    second: int
    own: NDArray[np.float64]
    vertices: NDArray[np.float64]
    whole_own: NDArray[np.float64]
    whole: NDArray[np.float64]
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
    at: Meeting


class Side(NamedTuple):
    """One of the two surfaces, with its vertices in the pair's axes, and these before they were set in."""

    surface: SurfaceView
    vertices: NDArray[np.float64]
    whole: NDArray[np.float64]
    is_first: bool


@leaf_kernel
def pair_of(table, meeting):
    """The `MeshPair` of two surfaces of a table."""
    return MeshPair(surface_view(table, meeting.first, meeting.own), own_view(table, meeting.second), meeting)


@inlined_kernel
def side_of(pair, is_first):
    """The first surface or the second one."""
    vertices = pair.first.vertices if is_first else pair.at.vertices
    whole = pair.at.whole_own if is_first else pair.at.whole
    return Side(pair.first if is_first else pair.second, vertices, whole, is_first)


@inlined_kernel
def way_back(side, v):
    """From where a vertex is to where it was before it was set in."""
    return sub(vec(side.whole, v), vec(side.vertices, v))


@inlined_kernel
def in_pair_axes(pair, is_first, vector):
    """A vector in the axes of one of the surfaces, in those of the pair."""
    return (vector[0], vector[1], vector[2]) if is_first else rotated(pair.at.turn, vector)


@inlined_kernel
def point_in_axes_of(pair, is_first, point):
    """A point in the pair's frame, in that of one of the surfaces."""
    return point if is_first else rotated_back(pair.at.turn, sub(point, pair.at.shift))


@inlined_kernel
def point_in_pair(pair, is_first, point):
    """A point in the frame of one of the surfaces, in the pair's."""
    return point if is_first else add(rotated(pair.at.turn, point), pair.at.shift)


@inlined_kernel
def side_is_nearer(pair, side, point, distance):
    """Whether a surface, if it has faces, is nearer to a point than the distance."""
    if len(side.surface.triangles) <= 1:
        return False
    return is_nearer(side.surface, point_in_axes_of(pair, side.is_first, point), distance, pair.at.stack)


@inlined_kernel
def side_contains(pair, side, point):
    """Whether a solid contains a point."""
    return is_inside(side.surface, point_in_axes_of(pair, side.is_first, point), pair.at.stack)


@leaf_kernel
def may_penetrate(pair):
    """Whether one of the surfaces is a point or a segment, which crosses nothing however deep it is."""
    return len(pair.first.triangles) == 1 or len(pair.second.triangles) == 1


@inlined_kernel
def pair_feature(pair, kind, other_kind, is_first, own, other):
    """Feature id of a feature of one of the surfaces and one of the other: `kind` if the former is of the first body."""
    return feature_id(kind, own, other) if is_first != pair.at.swapped else feature_id(other_kind, other, own)


@inlined_kernel
def add_mesh_contact(pair, out, point, normal, gap, feature):
    """Adds a contact whose normal leads from the first surface to the second."""
    add_to(out, point, scaled(-1.0 if pair.at.swapped else 1.0, normal), gap, feature)
