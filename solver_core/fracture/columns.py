# SPDX-License-Identifier: GPL-3.0-or-later
"""The inside of a closed mesh along many parallel lines: for points within it, and for overlaps of the mesh with itself.

Each cell of a grid in the xy plane has one line along z at a random place. The crossings of a line with the mesh, in order of
z, give the winding number of each interval between them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .solid import FractureError, Solid

__all__ = ["Intervals", "check_overlap", "intervals_inside", "points_within"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Of the size: shorter intervals of a wrong winding number are rounding.
SHORTEST = 1e-6
# Of lines: fewer with a wrong winding number are rounding.
FEWEST = 1e-4


@dataclass(frozen=True)
class Intervals:
    """Intervals of lines along z. place: (k, 2) x and y in m. low, high: (k,) z in m. winding: (k,) the winding number of the
    mesh, 1 in a solid and 0 outside. lines: how many lines there are."""

    place: Array
    low: Array
    high: Array
    winding: Indices
    lines: int


def intervals_inside(solid: Solid, lines: int, random: np.random.Generator) -> Intervals:
    """The intervals of about so many lines whose winding number is not zero."""
    corners = solid.vertices[solid.triangles]
    low, high = corners.min(axis=(0, 1))[:2], corners.max(axis=(0, 1))[:2]
    wide = high - low
    side = np.sqrt(wide.prod() / lines)
    shape = np.maximum(np.ceil(wide / side), 1.0).astype(np.int64)
    step = wide / shape
    places = np.stack(np.meshgrid(np.arange(shape[0]), np.arange(shape[1]), indexing="ij"), axis=-1).reshape(-1, 2)
    places = low + (places + random.uniform(0.02, 0.98, places.shape)) * step
    first = np.clip(np.floor((corners[:, :, :2].min(axis=1) - low) / step), 0, shape - 1).astype(np.int64)
    last = np.clip(np.floor((corners[:, :, :2].max(axis=1) - low) / step), 0, shape - 1).astype(np.int64)
    triangle, line = pairs_of(first, last, int(shape[1]))
    hits, height, turn = crossings(corners[triangle], places[line])
    line = line[hits]
    order = np.lexsort((height, line))
    line, height, turn = line[order], height[order], turn[order]
    total = np.bincount(line, turn, len(places))
    fits = total[line] == 0  # a line through an edge may miss one of its faces
    line, height, turn = line[fits], height[fits], turn[fits]
    winding = np.cumsum(turn)[:-1]
    kept = np.flatnonzero((line[1:] == line[:-1]) & (winding != 0))
    return Intervals(places[line[kept]], height[kept], height[kept + 1], winding[kept], len(places))


def pairs_of(first: Indices, last: Indices, columns: int) -> tuple[Indices, Indices]:
    """The pairs of triangle and line for rectangles of grid cells, from first (t, 2) to last (t, 2)."""
    wide = last - first + 1
    count = wide.prod(axis=1)
    triangle = np.repeat(np.arange(len(first)), count)
    within = np.arange(len(triangle)) - np.repeat(np.cumsum(count) - count, count)
    across = wide[triangle, 1]
    line = (first[triangle, 0] + within // across) * columns + first[triangle, 1] + within % across
    return triangle, line


def crossings(corners: Array, places: Array) -> tuple[Indices, Array, Indices]:
    """Where lines (p, 2) cross triangles (p, 3, 3): which do, z in m, and 1 where the line enters or -1 where it leaves."""
    relative = corners[:, :, :2] - places[:, None]
    x, y = relative[..., 0], relative[..., 1]
    area = np.stack([x[:, (i + 1) % 3] * y[:, (i + 2) % 3] - x[:, (i + 2) % 3] * y[:, (i + 1) % 3] for i in range(3)], axis=1)
    hits = np.flatnonzero((area > 0.0).all(axis=1) | (area < 0.0).all(axis=1))
    total = area[hits].sum(axis=1)
    height = np.einsum("pi,pi->p", area[hits], corners[hits, :, 2]) / total
    return hits, height, np.where(total < 0.0, 1, -1)


def check_overlap(solid: Solid, intervals: Intervals) -> None:
    """Raise FractureError where the mesh overlaps itself."""
    wrong = np.flatnonzero((intervals.winding != 1) & (intervals.high - intervals.low > SHORTEST * solid.size))
    if len(wrong) > FEWEST * intervals.lines:
        longest = wrong[np.argmax((intervals.high - intervals.low)[wrong])]
        x, y = intervals.place[longest]
        z = 0.5 * (intervals.low[longest] + intervals.high[longest])
        raise FractureError(
            f"intersects itself near ({x:.4g}, {y:.4g}, {z:.4g}): space there is inside of it "
            f"{intervals.winding[longest]} times; remesh it by voxels, or unite its parts"
        )


def points_within(intervals: Intervals, count: int, random: np.random.Generator) -> Array:
    """Random points within a solid, with the same density everywhere. Returns (count, 3) m."""
    length = np.where(intervals.winding > 0, intervals.high - intervals.low, 0.0)
    ends = np.cumsum(length)
    chosen = np.searchsorted(ends, random.uniform(0.0, ends[-1], count), side="right").clip(max=len(ends) - 1)
    height = random.uniform(intervals.low[chosen], intervals.high[chosen])
    return np.column_stack([intervals.place[chosen], height])
