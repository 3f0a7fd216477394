# SPDX-License-Identifier: GPL-3.0-or-later
"""A grid of bricks around a closed surface, and how much of each brick is inside.

Bricks need no mesh of tetrahedra, and bend better than such of the same size. The grid lies along the faces of the surface, and
has a plane in each large flat face across one of its axes: what is made of boards and posts then fills its bricks. Others are
cut; 4 x 4 x 4 samples say which part of them is inside, by winding numbers along columns of samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from ..geometry.mass_properties import principal_extents
from ..geometry.surfaces import Surface
from ..scene.words import distance
from .bricks import CORNERS

__all__ = [
    "SAMPLES_ALONG",
    "Grid",
    "ThinnerThanABrick",
    "TooThinForItsLength",
    "brick_grid",
    "grid_axes",
    "nodal_weights",
    "surface_edges",
]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Along each edge of a brick.
SAMPLES_ALONG = 4
# Bricks of a compact body: its first twenty frequencies are then within 3 % of those of a finer grid.
BRICKS = 3_000
# Beyond this preparation takes minutes.
MOST_BRICKS = 20_000
# Of a brick, across the thinnest part: at least so many.
ACROSS = 2
# Of the longest side: the stiffness of a thinner sheet is lost in the rounding of that of its bricks. The ratio of both falls
# with the fourth power; the first frequency of a square sheet is within 2 % here, and a quarter off at 1 / 5,000.
THINNEST = 1.0 / 2_500.0
# Lines along each axis that the thickness is measured by, each way.
MEASURED_LINES = 48
# Of the volume, measured along an axis, whatever is in shorter runs counts as edge or tip.
TIPS = 0.05
# A flat face with less of the whole area than this needs no plane of the grid.
SMALL_FACE = 1e-3
# Unit vectors whose product differs from 1 by less are along each other; modellers keep single precision.
ALONG = 1e-6
# Of the whole area: a surface is round if no direction and its opposite have more.
FACED = 0.1
# Of the directions of flat parts the largest so many are candidates for an axis.
CANDIDATES = 64
# Of a brick, by which samples are off its middles: no line of them then runs along an edge of a mesh made of round numbers.
OFF_MIDDLES = np.array([1.1e-6, 1.7e-6, 2.3e-6])
# The corners of the faces of a brick, around.
AROUND_FACES = ((0, 2, 6, 4), (1, 3, 7, 5), (0, 1, 5, 4), (2, 3, 7, 6), (0, 1, 3, 2), (4, 5, 7, 6))
# Of all that is inside, what may be left out where it hangs on by an edge or a corner of a brick only.
CRUMBS = 1e-3

# Bricks, of which the nearest is the one that a place is in.
NEIGHBOURS = 32


class ThinnerThanABrick(ValueError):
    """The body has less than one brick across its thinnest part."""


class TooThinForItsLength(ValueError):
    """The stiffness of the body would be lost in rounding."""


@dataclass(frozen=True)
class Grid:
    """axes: (3, 3) unit, one a row. lines: along each of them (n_k + 1,) m, where the planes are. widths: (n_k,) m between
    them, equal to the last bit where they are meant to be.

    cells: (e, 3) of each brick along the axes. inside: (e, 64) whether a sample is, the first axis fastest. nodes: (e, 8) the
    corners of a brick in the order of CORNERS. points: (v, 3) m where the nodes are, along the axes from the mesh's origin.
    """

    axes: Array
    lines: tuple[Array, Array, Array]
    widths: tuple[Array, Array, Array]
    cells: Indices
    inside: NDArray[np.bool_]
    nodes: Indices
    points: Array

    @property
    def sizes(self) -> Array:
        """(e, 3) m of the bricks along the axes."""
        return np.stack([width[self.cells[:, k]] for k, width in enumerate(self.widths)], axis=1)


def grid_axes(surface: Surface) -> Array:
    """(3, 3) axes, one a row, right-handed: the direction that most of the surface faces, most of what faces across it, and
    where nothing does the surface's own longest extent across it.

    A round surface faces no direction. Its axes are the principal axes of its vertices. A ball is symmetric about these; along
    one of its facets it would be askew in its bricks and would bounce sideways.
    """
    a, b, c = (surface.vertices[surface.triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=1)
    normals /= np.where(lengths > 0.0, lengths, 1.0)[:, None]
    parts = np.bincount(surface.patch, weights=lengths)
    largest = np.argsort(-parts, kind="stable")[:CANDIDATES]
    # the widest triangle of a flat part has the least rounding in its normal
    order = np.lexsort((-lengths, surface.patch))
    widest = order[np.searchsorted(surface.patch[order], largest)]
    candidates = normals[widest]
    facing = (lengths[:, None] * (np.abs(normals @ candidates.T) > 1.0 - ALONG)).sum(axis=0)
    if facing.max() < FACED * lengths.sum():
        axes = principal_extents(surface.vertices)[0]
        return axes * np.array([1.0, 1.0, np.linalg.det(axes)])[:, None]
    first = candidates[np.argmax(facing)]
    across = np.abs(candidates @ first) < math.sqrt(ALONG)
    if across.any():
        second = candidates[np.argmax(np.where(across, facing, -1.0))]
    else:
        flat = surface.vertices - np.outer(surface.vertices @ first, first)
        second = principal_extents(flat)[0][0]
    second = second - second @ first * first
    second /= np.linalg.norm(second)
    return np.stack([first, second, np.cross(first, second)])


def brick_grid(
    surface: Surface, resolution: int = 0, axes: Array | None = None, *, bricks: int = BRICKS, max_bricks: int = MOST_BRICKS
) -> Grid:
    """Return the grid around a solid surface.

    Parameters
    ----------
    surface : solid
    resolution : bricks along the longest side, or 0
    axes : (3, 3) of the grid, one a row; None for those of the surface's faces
    bricks : number of bricks of a compact body if the resolution is 0
    max_bricks : largest number of bricks of a thin body if the resolution is 0

    Raises ValueError if the surface is not solid or the bricks are not connected, ThinnerThanABrick if bricks are too large for
    the thinnest part of the body, and TooThinForItsLength if that is below THINNEST.
    """
    if not surface.solid:
        raise ValueError("the mesh has no inside: it is open, or its normals point inwards")
    axes = grid_axes(surface) if axes is None else axes
    points = surface.vertices @ axes.T
    thin = thickness(points, surface.triangles)
    extents = np.ptp(points, axis=0)
    edges = brick_edges(extents, thin, surface.volume, resolution, bricks, max_bricks)
    if thin.min() < THINNEST * extents.max():
        raise TooThinForItsLength(
            f"the body is {distance(thin.min())} thin and {distance(extents.max())} long: below a {1.0 / THINNEST:,.0f}th of "
            "the length rounding exceeds the stiffness; make it thicker (twice the thickness, with an eighth of the stiffness "
            "and half of the density, bends alike), or leave it rigid"
        )
    lines, widths = zip(*(_planes(points, surface.triangles, k, edges[k]) for k in range(3)), strict=True)
    inside = _insides(points, surface.triangles, lines, widths)
    cells = np.argwhere(inside.any(axis=3))
    inside = inside[tuple(cells.T)]
    kept = _body(cells, inside.sum(axis=1))
    cells, inside = cells[kept], inside[kept]
    counts = [len(line) for line in lines]
    keys = (cells[:, None] + CORNERS) @ np.array([counts[1] * counts[2], counts[2], 1])
    used, nodes = np.unique(keys, return_inverse=True)
    cell = np.unravel_index(used, counts)
    places = np.stack([line[cell[k]] for k, line in enumerate(lines)], axis=1)
    return Grid(axes, lines, widths, cells, inside, nodes.reshape(keys.shape).astype(np.int64), places)


def surface_edges(grid: Grid) -> Array:
    """(k, 2, 3) m, the ends of the edges of bricks on the outside of a grid, in the axes of the mesh."""
    faces = np.concatenate([grid.nodes[:, face] for face in AROUND_FACES])
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    outer = faces[first[count == 1]]
    edges = np.concatenate([outer[:, [k, (k + 1) % 4]] for k in range(4)])
    return grid.points[np.unique(np.sort(edges, axis=1), axis=0)] @ grid.axes


def nodal_weights(grid: Grid, points: Array) -> coo_array:
    """(n, v) sparse: the shares of the nodes in the displacement of points (n, 3), in the axes of the mesh.

    Trilinear in the brick that a point is in, and continued from the nearest one where it is in none: a displacement that is
    linear in space is met exactly in either case.
    """
    places = points @ grid.axes.T
    lowest = np.stack([line[:-1][grid.cells[:, k]] for k, line in enumerate(grid.lines)], axis=1)
    sizes = grid.sizes
    brick = _nearest_bricks(places, lowest, sizes)
    share = (places - lowest[brick]) / sizes[brick]
    weights = np.where(CORNERS == 1, share[:, None], 1.0 - share[:, None]).prod(axis=2)
    rows = np.repeat(np.arange(len(points)), 8)
    shape = (len(points), len(grid.points))
    return coo_array((weights.ravel(), (rows, grid.nodes[brick].ravel())), shape=shape)


def thickness(points: Array, triangles: Indices) -> Array:
    """(3,) m along each axis: how long the runs inside are, the shortest of which, with TIPS of the volume, do not count."""
    thin = np.empty(3)
    for k in range(3):
        across = [(k + 1) % 3, (k + 2) % 3]
        rasters = [_samples(points[:, j].min(), np.ptp(points[:, j]), MEASURED_LINES, OFF_MIDDLES[j]) for j in across]
        column, height, sign = _crossings(points[:, [*across, k]], triangles, *rasters)
        order = np.lexsort((height, column))
        column, height, sign = column[order], height[order], sign[order]
        # all columns end outside, so that one running sum serves them all
        inside = np.cumsum(sign)[:-1] > 0
        start = inside & ~np.concatenate([[False], inside[:-1]])
        end = np.concatenate([inside[1:], [False]]) < inside
        runs = np.sort(height[1:][end] - height[:-1][start])
        thin[k] = runs[np.searchsorted(np.cumsum(runs), TIPS * runs.sum())] if len(runs) else 0.0
    return thin


def brick_edges(extents: Array, thin: Array, volume: float, resolution: int, bricks: int, limit: int) -> Array:
    """Return (3,) m, how long bricks may be along each axis. Raises ThinnerThanABrick as `brick_grid` does."""
    if resolution:
        edges = np.full(3, extents.max() / resolution)
        if (edges > thin * (1.0 + ALONG)).any():
            enough = ACROSS * math.ceil(extents.max() / max(thin.min(), 1e-9 * extents.max()))
            are_few = volume * (enough / extents.max()) ** 3 <= limit
            advice = f"{enough} are fine enough; choose so many, or 0" if are_few else "choose 0, for bricks that are as flat"
            raise ThinnerThanABrick(
                f"the body is {distance(thin.min())} thin, and {resolution} bricks along {distance(extents.max())} are "
                f"thicker; {advice}"
            )
        return edges
    limits = np.sort(thin) / ACROSS
    room = volume / bricks
    edge = room ** (1.0 / 3.0)
    if edge > limits[0]:
        edge = math.sqrt(room / limits[0]) if limits[0] > 0.0 else math.inf
    if edge > limits[1]:
        edge = room / (limits[0] * limits[1]) if limits[0] > 0.0 else math.inf
    edges = np.minimum(edge, thin / ACROSS)
    wanted = volume / edges.prod() if edges.all() else math.inf
    if wanted > limit:
        edges *= (wanted / limit) ** (1.0 / 3.0)
        if (edges > thin).any():
            raise ThinnerThanABrick(
                f"the body is {distance(thin.min())} thin, and bricks as thin as that would be {wanted / ACROSS**3:.2g}; "
                f"{limit} can be computed with"
            )
    return edges


def _planes(points: Array, triangles: Indices, axis: int, edge: float) -> tuple[Array, Array]:
    """Lines (n + 1,) of the grid along an axis, and widths (n,) between them, none above `edge`."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    area = np.cross(b - a, c - a)
    size = np.linalg.norm(area, axis=1)
    facing = np.abs(area[:, axis]) > (1.0 - ALONG) * size
    place = ((a + b + c) / 3.0)[facing, axis]
    order = np.argsort(place, kind="stable")
    place, faced = place[order], size[facing][order]
    low, high = float(points[:, axis].min()), float(points[:, axis].max())
    group = np.cumsum(np.diff(place, prepend=low) > ALONG * (high - low))
    large = np.bincount(group, weights=faced) > SMALL_FACE * size.sum() if len(group) else np.zeros(0, dtype=bool)
    planes = [low]
    for number in np.flatnonzero(large):
        mean = float(place[group == number].mean())
        if min(mean - planes[-1], high - mean) > edge / 3.0:
            planes.append(mean)
    planes.append(high)
    gaps = np.diff(planes)
    counts = np.maximum(np.ceil(gaps / edge - ALONG), 1).astype(np.int64)
    lines = [start + gap * np.arange(count) / count for start, gap, count in zip(planes, gaps, counts, strict=False)]
    return np.concatenate([*lines, [high]]), np.repeat(gaps / counts, counts)


def _samples(start: ArrayLike, width: ArrayLike, count: int, off: float) -> Array:
    """Where the middles of `count` equal parts are of each interval, one after the other."""
    places = (np.arange(count) + 0.5) / count + off
    return (np.atleast_1d(start)[:, None] + np.atleast_1d(width)[:, None] * places).ravel()


def _insides(points: Array, triangles: Indices, lines: tuple[Array, ...], widths: tuple[Array, ...]) -> NDArray[np.bool_]:
    """(n_0, n_1, n_2, 64) whether each sample of each brick is inside: its winding number is above a half."""
    x, y, z = (
        _samples(line[:-1], width, SAMPLES_ALONG, off) for line, width, off in zip(lines, widths, OFF_MIDDLES, strict=True)
    )
    column, height, sign = _crossings(points, triangles, x, y)
    winding = np.zeros((len(x) * len(y), len(z) + 1), dtype=np.int16)
    np.add.at(winding, (column, np.searchsorted(z, height)), sign)
    np.cumsum(winding, axis=1, out=winding)
    counts = [len(width) for width in widths]
    blocks = (winding[:, :-1] > 0).reshape(counts[0], SAMPLES_ALONG, counts[1], SAMPLES_ALONG, counts[2], SAMPLES_ALONG)
    return blocks.transpose(0, 2, 4, 5, 3, 1).reshape(*counts, SAMPLES_ALONG**3)


def _crossings(points: Array, triangles: Indices, x: Array, y: Array) -> tuple[Indices, Array, NDArray[np.int16]]:
    """Where lines along the third axis, through all (x_i, y_j), go through triangles.

    For each crossing the line's number i len(y) + j, the place along it, and by how much the winding number grows there.
    """
    corners = points[triangles]
    low, high = corners.min(axis=1), corners.max(axis=1)
    first_x, first_y = np.searchsorted(x, low[:, 0]), np.searchsorted(y, low[:, 1])
    count_x, count_y = np.searchsorted(x, high[:, 0]) - first_x, np.searchsorted(y, high[:, 1]) - first_y
    count = count_x * count_y
    owner = np.repeat(np.arange(len(triangles)), count)
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    i, j = first_x[owner] + within // count_y[owner], first_y[owner] + within % count_y[owner]
    place = np.stack([x[i], y[j]], axis=1)
    turns = []
    for k in range(3):
        start, end = corners[owner, k, :2], corners[owner, (k + 1) % 3, :2]
        way, to = end - start, place - start
        turns.append(way[:, 0] * to[:, 1] - way[:, 1] * to[:, 0])
    turn = np.stack(turns, axis=1)
    hit = np.flatnonzero((turn > 0.0).all(axis=1) | (turn < 0.0).all(axis=1))
    owner, turn = owner[hit], turn[hit]
    # the turn about an edge is the weight of the corner across
    weight = turn[:, [1, 2, 0]] / turn.sum(axis=1, keepdims=True)
    height = (weight * corners[owner, :, 2]).sum(axis=1)
    column = i[hit] * len(y) + j[hit]
    sign = np.where(turn[:, 0] > 0.0, -1, 1).astype(np.int16)
    # a line along an edge or through a vertex may have met one of its triangles only
    whole = np.bincount(column, weights=sign, minlength=len(x) * len(y))[column] == 0
    return column[whole], height[whole], sign[whole]


def _body(cells: Indices, filled: Indices) -> Indices:
    """The bricks of the one body that hangs together by faces of bricks; crumbs are left out. ValueError for several bodies."""
    span = cells.max(axis=0) + 2
    strides = np.array([span[1] * span[2], span[2], 1])
    keys = cells @ strides
    order = np.argsort(keys, kind="stable")
    one, other = [], []
    for stride in strides:
        found = np.searchsorted(keys[order], keys + stride)
        beside = np.minimum(found, len(keys) - 1)
        there = np.flatnonzero(keys[order][beside] == keys + stride)
        one.append(there)
        other.append(order[beside[there]])
    pair = np.concatenate(one), np.concatenate(other)
    graph = coo_array((np.ones(len(pair[0]), dtype=np.int8), pair), shape=(len(keys), len(keys)))
    count, part = connected_components(graph.tocsr(), directed=False)
    share = np.bincount(part, weights=filled, minlength=count) / filled.sum()
    if share.max() < 1.0 - CRUMBS:
        number = int((share > CRUMBS).sum())
        raise ValueError(
            f"the mesh is in {number} parts that hang on each other by nothing, or by an edge or a corner only; join them, or "
            "make each a body of its own"
        )
    return np.flatnonzero(part == np.argmax(share))


def _nearest_bricks(places: Array, lowest: Array, sizes: Array) -> Indices:
    """(n,) the brick that each place is in, or else the nearest one."""
    middles = lowest + 0.5 * sizes
    count = min(NEIGHBOURS, len(middles))
    # flat bricks are as near as cubes
    typical = np.median(sizes, axis=0)
    _, near = KDTree(middles / typical).query(places / typical, k=count)
    near = near.reshape(len(places), count)
    beyond = np.maximum(np.abs(places[:, None] - middles[near]) - 0.5 * sizes[near], 0.0)
    best = np.argmin((beyond**2).sum(axis=2), axis=1)
    return near[np.arange(len(places)), best]
