# SPDX-License-Identifier: GPL-3.0-or-later
"""Joins triangles that are parts of one face into polygons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

__all__ = ["Polygons", "joined"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Polygons:
    """Polygons one after the other. corners: (c,) vertices. counts: (p,) corners of each. triangle: (c,) a triangle at each
    corner, of those that were joined. group: (p,) the face that each polygon is part of."""

    corners: Indices
    counts: Indices
    triangle: Indices
    group: Indices


def joined(triangles: Indices, group: Indices, may_join: NDArray[np.bool_]) -> Polygons:
    """Join triangles of one group that share edges.

    A connected set whose border passes through a vertex twice, as around a hole, remains triangles.

    Parameters: `triangles` (t, 3) vertices; `group` (t,) numbers of faces; `may_join` (t,), False for triangles that remain.
    """
    t = len(triangles)
    ends = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    owner = np.tile(np.arange(t), 3)
    edges, which = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
    # each edge of a closed mesh has two triangles
    order = np.argsort(which.reshape(-1), kind="stable").reshape(len(edges), 2)
    a, b = owner[order].T
    inside = (group[a] == group[b]) & may_join[a] & may_join[b]
    graph = coo_array((np.ones(int(inside.sum())), (a[inside], b[inside])), shape=(t, t))
    number, component = connected_components(graph, directed=False)
    is_border = np.ones(3 * t, dtype=bool)
    is_border[order[inside]] = False
    border = np.flatnonzero(is_border)
    part = component[owner[border]]
    sorting = np.lexsort((ends[border, 0], part))
    border, part = border[sorting], part[sorting]
    begin = np.searchsorted(part, np.arange(number + 1))
    starts, stops, tri = ends[border, 0], ends[border, 1], owner[border]
    # most triangles of a fine mesh share no edge with another of their face
    sizes = np.bincount(component, minlength=number)
    alone = np.flatnonzero(sizes[component] == 1)
    corners, counts = triangles[alone].ravel().tolist(), [3] * len(alone)
    at_triangle, groups = np.repeat(alone, 3).tolist(), group[alone].tolist()
    members = np.argsort(component, kind="stable")
    first_member = np.searchsorted(component[members], np.arange(number + 1))
    for one in np.flatnonzero(sizes > 1):
        low, high = begin[one], begin[one + 1]
        loop = loop_of(starts[low:high], stops[low:high])
        of_face = members[first_member[one] : first_member[one + 1]]
        if loop is None:
            corners += triangles[of_face].ravel().tolist()
            counts += [3] * len(of_face)
            at_triangle += np.repeat(of_face, 3).tolist()
            groups += group[of_face].tolist()
        else:
            corners += starts[low + loop].tolist()
            counts.append(len(loop))
            at_triangle += tri[low + loop].tolist()
            groups.append(int(group[of_face[0]]))
    return Polygons(*(np.array(each, dtype=np.int64) for each in (corners, counts, at_triangle, groups)))


def loop_of(starts: Indices, stops: Indices) -> Indices | None:
    """The order in which edges from starts (e,) to stops (e,) follow each other; None unless they form one simple loop."""
    following = {int(start): place for place, start in enumerate(starts)}
    if len(following) < len(starts):
        return None
    order, vertices = [0], stops.tolist()
    while (place := following[vertices[order[-1]]]) != 0:
        order.append(place)
    return np.array(order) if len(order) == len(starts) else None
