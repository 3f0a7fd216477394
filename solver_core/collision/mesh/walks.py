# SPDX-License-Identifier: GPL-3.0-or-later
"""Cache of the triangle pairs found by simultaneous traversals of two trees ("walks"), for the other poses of the same step.

A step queries contacts several times: at its start, after each cut, and at the end of each trial motion. Boxes within the limit
at one pose are, at another pose, within the limit plus the displacement between the poses. So one traversal serves all poses
that it covers (`still_near.cache_covers`). Pairs keep the order of the traversal, so the contacts are bitwise those of a new
traversal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel
from ...geometry.shapes import ShapeTable

__all__ = [
    "KeptWalks",
    "Walk",
    "Walks",
    "all_kept",
    "joined_walks",
    "kept_walks",
    "no_walk",
    "no_walks",
    "room_for_walks",
    "walk_of",
    "with_walk",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Most pairs that are cached, per triangle of the two surfaces. With more pairs, a new traversal for each pose is faster.
PAIRS_A_TRIANGLE = 32


class Walk(NamedTuple):
    """The triangle pairs of one traversal of two surfaces.

    turn, shift: (3, 3) rotation and (3,) translation [m] from the frame of the second surface to that of the first, at the
        traversal.
    reach: limit of the traversal [m].
    rows: (k, 2) triangles whose boxes were within the limit, in the order of the traversal.
    clear: (k,) limit up to which each pair had no contact at that pose [m] (`clearance`).
    """

    turn: Floats
    shift: Floats
    reach: float
    rows: Ints
    clear: Floats


class Walks(NamedTuple):
    """The walks of p pairs of colliders. They are concatenated, and walk i has the rows start[i] to start[i + 1].

    lasting: (n,) bodies that never deform, whose walks are kept. colliders: (p, 2). start: (p + 1,).
    turn: (p, 3, 3). shift: (p, 3) [m]. reach: (p,) [m]. rows: (k, 2). clear: (k,) [m]. used: (1,) number of pairs.
    """

    lasting: NDArray[np.bool_]
    colliders: Ints
    start: Ints
    turn: Floats
    shift: Floats
    reach: Floats
    rows: Ints
    clear: Floats
    used: Ints


@dataclass
class KeptWalks:
    """The walks of the last detection, for the next ones. walks: None for a scene without meshes."""

    walks: Walks | None


def no_walks(lasting: NDArray[np.bool_]) -> Walks:
    """Return `Walks` of no pairs. lasting: (n,) bodies that never deform."""
    none = np.zeros((0, 2), np.int64)
    poses = np.zeros((0, 3, 3)), np.zeros((0, 3)), np.zeros(0)
    return Walks(lasting, none, np.zeros(1, np.int64), *poses, none, np.zeros(0), np.zeros(1, np.int64))


def kept_walks(shapes: ShapeTable, lasting: NDArray[np.bool_]) -> KeptWalks:
    """Return a `KeptWalks` without walks. lasting: (n,) bodies that never deform."""
    return KeptWalks(None if shapes.surfaces is None else no_walks(lasting))


def joined_walks(parts: list[Walks]) -> Walks:
    """Concatenate the walks of several threads."""
    ends = np.cumsum([0, *(len(one.rows) for one in parts)])
    starts = [one.start[:-1] + before for one, before in zip(parts, ends, strict=False)]
    return Walks(
        parts[0].lasting,
        np.concatenate([one.colliders for one in parts]),
        np.concatenate([*starts, ends[-1:]]),
        np.concatenate([one.turn for one in parts]),
        np.concatenate([one.shift for one in parts]),
        np.concatenate([one.reach for one in parts]),
        np.concatenate([one.rows for one in parts]),
        np.concatenate([one.clear for one in parts]),
        np.array([sum(len(one.reach) for one in parts)]),
    )


@inner_kernel
def no_walk():
    """Return a `Walk` that covers no query."""
    return Walk(np.zeros((3, 3)), np.zeros(3), -np.inf, np.empty((0, 2), np.int64), np.empty(0))


@inner_kernel
def walk_of(walks, a, b):
    """Return the cached walk of colliders a and b, or `no_walk`."""
    for i in range(walks.used[0]):
        if walks.colliders[i, 0] == a and walks.colliders[i, 1] == b:
            first, last = walks.start[i], walks.start[i + 1]
            return Walk(walks.turn[i], walks.shift[i], walks.reach[i], walks.rows[first:last], walks.clear[first:last])
    return no_walk()


@inner_kernel
def room_for_walks(lasting, pairs):
    """Return `Walks` of no pairs with capacity for `pairs` pairs."""
    return Walks(
        lasting,
        np.empty((pairs, 2), np.int64),
        np.zeros(pairs + 1, np.int64),
        np.empty((pairs, 3, 3)),
        np.empty((pairs, 3)),
        np.empty(pairs),
        np.empty((256, 2), np.int64),
        np.empty(256),
        np.zeros(1, np.int64),
    )


@inner_kernel
def with_walk(walks, a, b, walk, triangles):
    """Add the walk of colliders a and b, unless it has too many pairs. triangles: number of triangles of both surfaces."""
    i, fresh = walks.used[0], len(walk.rows)
    if fresh > PAIRS_A_TRIANGLE * triangles:
        return walks
    walks.colliders[i, 0], walks.colliders[i, 1] = a, b
    walks.turn[i], walks.shift[i], walks.reach[i] = walk.turn, walk.shift, walk.reach
    first = walks.start[i]
    rows, clear = walks.rows, walks.clear
    if first + fresh > len(clear):
        room = max(first + fresh, 2 * len(clear))
        rows, clear = np.empty((room, 2), np.int64), np.empty(room)
        rows[:first], clear[:first] = walks.rows[:first], walks.clear[:first]
    rows[first : first + fresh], clear[first : first + fresh] = walk.rows, walk.clear
    walks.start[i + 1] = first + fresh
    walks.used[0] = i + 1
    start = walks.start
    return Walks(walks.lasting, walks.colliders, start, walks.turn, walks.shift, walks.reach, rows, clear, walks.used)


@inner_kernel
def all_kept(walks):
    """Return the walks without unused capacity."""
    i = walks.used[0]
    k = walks.start[i]
    return Walks(
        walks.lasting,
        walks.colliders[:i],
        walks.start[: i + 1],
        walks.turn[:i],
        walks.shift[:i],
        walks.reach[:i],
        walks.rows[:k],
        walks.clear[:k],
        walks.used,
    )
