# SPDX-License-Identifier: GPL-3.0-or-later
"""A pair of convex cores in the narrow phase: its work arrays and the tolerances that several files share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, kernel_part
from ..contact_set import ContactSet
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

# Cosine of one degree. A closest direction this near the normal of a face is replaced by that normal.
NEAR_FACE_COSINE = 0.99984769515639
# Relative to the size of the smaller body. Up to this distance, typical of resting bodies, the face manifold is used alone;
# beyond it the closest points are added.
RESTING_GAP_RATIO = 3e-4
# Relative to the size of the smaller body: for ties between reference faces, for points at the border of a face, and for two
# contacts that count as one.
TIE_RATIO = 1e-8
CLIP_TOLERANCE = 1e-8
MERGE_RATIO = 1e-6
# Relative to the depth of an overlap: an edge axis must be better than a face axis by this much.
FACE_PREFERENCE = 0.05

# Most axes that separate touching bodies about equally. Only needles with many faces have more.
MAX_AXES = 12

# Rows of an edge in `HullWork.edges`: its first vertex, the vector to its second vertex, the normals of its two faces, and a
# row with its index, its depth, and 1.0 if it has faces.
EDGE_START, EDGE_VECTOR, LEFT_NORMAL, RIGHT_NORMAL, EDGE_DATA = map(np.int64, range(5))


class HullWork(NamedTuple):
    """Work arrays of the narrow phase, large enough for all bodies of a shape table.

    polygon (., 3), tags (.,): a face while it is clipped. spare, spare_tags: output of the clipping.
    levels: (.,) heights of its vertices over one side. sides: (., 5) of the prism over the reference face.
    heights: (v,) of the vertices of a body [m]. marks: (f,) of its faces. edges: (., 5, 3) a selection of its edges.
    axes: (MAX_AXES, 4) see `several_axes`. moved: arrays for the vertices, planes and bounds of a translated body.
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

    limit: largest gap of a contact [m]. scale: size of the smaller body, to which tolerances are relative [m].
    noise: distance below which the closest direction is lost to rounding, so that the cores count as touching [m].
    manifold: output for the contacts. work: work arrays.
    """

    a: Polyhedron
    b: Polyhedron
    limit: float
    scale: float
    noise: float
    manifold: ContactSet
    work: HullWork


@kernel_part
def hull_work(longest_loop, most_edges, most_faces, most_vertices):
    """Allocate `HullWork`.

    The arguments are the largest numbers of vertices of a face, and of edges, faces and vertices of a body.
    """
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
    """Return the same pair with the other core first."""
    return HullPair(pair.b, pair.a, pair.limit, pair.scale, pair.noise, pair.manifold, pair.work)
