# SPDX-License-Identifier: GPL-3.0-or-later
"""A pair of convex cores in the narrow phase: what its contacts are worked out in, and the tolerances that its parts share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, kernel_part
from ..manifold import Manifold
from .polyhedron import Polyhedron

__all__ = [
    "CLIP_TOLERANCE",
    "EDGE_DATA",
    "EDGE_START",
    "EDGE_VECTOR",
    "FACE_PREFERENCE",
    "LEFT_NORMAL",
    "MAX_AXES",
    "MERGE_RATIO",
    "NEAR_FACE_COSINE",
    "RESTING_GAP_RATIO",
    "RIGHT_NORMAL",
    "TIE_RATIO",
    "HullPair",
    "HullWork",
    "hull_work",
    "swapped_pair",
]

# Cosine of one degree: a closest direction that is as near to the normal of a face counts as that.
NEAR_FACE_COSINE = 0.99984769515639
# Of the smaller body's size: up to this distance, as of bodies at rest, the face alone serves.
RESTING_GAP_RATIO = 3e-4
# In units of the smaller body's size: a choice between reference faces, the edge of a face, and one contact or two.
TIE_RATIO = 1e-8
CLIP_TOLERANCE = 1e-8
MERGE_RATIO = 1e-6
# An edge axis must be better than a face's by this fraction of the depth when bodies overlap.
FACE_PREFERENCE = 0.05

# Of those that separate touching bodies about equally: enough for all but needles of many faces.
MAX_AXES = 12

# What is kept of an edge in `HullWork.edges`: its first vertex, the way to its second one, the normals of the faces beside it,
# and its number, how deep it lies, and 1 if it has faces.
EDGE_START, EDGE_VECTOR, LEFT_NORMAL, RIGHT_NORMAL, EDGE_DATA = map(np.int64, range(5))


class HullWork(NamedTuple):
    """Work arrays of the narrow phase, large enough for every body of a shape table.

    polygon (., 3) and tags (.,), a face that is being clipped, and spare_*, where it is clipped to; levels: (.,) of its
    vertices over one side; sides: (., 5) of the prism over the reference face. heights: of all vertices, and marks: of all
    faces of a body. edges: (., 5, 3), a selection of a body's edges. axes: (MOST_AXES, 4), see `several_axes`; moved: room for
    the vertices, planes and bounds of a body that is moved.
    """

    polygon: NDArray[np.float64]
    tags: NDArray[np.int64]
    spare: NDArray[np.float64]
    spare_tags: NDArray[np.int64]
    edges: NDArray[np.float64]
    heights: NDArray[np.float64]
    marks: NDArray[np.int64]
    sides: NDArray[np.float64]
    levels: NDArray[np.float64]
    axes: NDArray[np.float64]
    moved: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


class HullPair(NamedTuple):
    """Cores a and b in one frame.

    limit: m, the largest gap of a contact. scale: size of the smaller body in m, against which ties are judged. noise: m, up to
    which the closest direction is lost to rounding, so that the cores count as touching. What is found is in the manifold.
    """

    a: Polyhedron
    b: Polyhedron
    limit: float
    scale: float
    noise: float
    manifold: Manifold
    work: HullWork


@kernel_part
def hull_work(longest_loop, most_edges, most_faces, most_vertices):
    """For bodies with so many edges, faces and vertices, and so many edges around a face."""
    rows = 4 * longest_loop + 16
    return HullWork(
        np.empty((rows, 3)),
        np.empty(rows, dtype=np.int64),
        np.empty((rows, 3)),
        np.empty(rows, dtype=np.int64),
        np.empty((most_edges, 5, 3)),
        np.empty(most_vertices),
        np.empty(most_faces, dtype=np.int64),
        np.empty((longest_loop, 5)),
        np.empty(rows),
        np.empty((MAX_AXES, 4)),
        (np.empty((most_vertices, 3)), np.empty((most_faces, 4)), np.empty((3, 3))),
    )


@inlined_kernel
def swapped_pair(pair):
    """The same pair with the other core first."""
    return HullPair(pair.b, pair.a, pair.limit, pair.scale, pair.noise, pair.manifold, pair.work)
