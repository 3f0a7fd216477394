# SPDX-License-Identifier: GPL-3.0-or-later
"""What a walk of two trees found, kept for the poses that the two surfaces take within a step.

A step looks for contacts several times: where it begins, once more for each part that it is cut into, and where each motion
that is tried ends. Boxes within the limit at one of these poses are within the limit and the way between the two at another, so
one walk serves them all, as far as it reached (`still_near.covers`). Pairs stay in the walk's order, so contacts are those of a
walk of their own, to the last bit.
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

# What is kept of a walk, for each triangle of the two surfaces: where far more come near, a walk for each pose is quicker.
PAIRS_A_TRIANGLE = 32


class Walk(NamedTuple):
    """A walk of two surfaces.

    turn (3, 3), shift (3,): from the second's axes to the first's, where it was. reach: m, its limit. rows (k, 2): triangles
    whose boxes came so near, in the order of the walk. clear (k,): m, up to which limit the two have no contact there
    (`clearance`).
    """

    turn: Floats
    shift: Floats
    reach: float
    rows: Ints
    clear: Floats


class Walks(NamedTuple):
    """Walks of pairs of colliders (p, 2): turn (p, 3, 3), shift (p, 3), reach (p,); rows (k, 2) and clear (k,) of the i-th are
    those from start[i] to start[i + 1]. lasting: (n,) bodies whose surfaces never deform, of which walks are kept. used: (1,)
    how many pairs there are.
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
    """The walks of the last look at a scene's contacts, for those that follow; None of a scene without meshes."""

    walks: Walks | None


def no_walks(lasting: NDArray[np.bool_]) -> Walks:
    """None of bodies of which some last (n,)."""
    none = np.zeros((0, 2), np.int64)
    poses = np.zeros((0, 3, 3)), np.zeros((0, 3)), np.zeros(0)
    return Walks(lasting, none, np.zeros(1, np.int64), *poses, none, np.zeros(0), np.zeros(1, np.int64))


def kept_walks(shapes: ShapeTable, lasting: NDArray[np.bool_]) -> KeptWalks:
    """None yet, of a scene's bodies, of which some last (n,)."""
    return KeptWalks(None if shapes.surfaces is None else no_walks(lasting))


def joined_walks(parts: list[Walks]) -> Walks:
    """Walks of several runs of pairs in one."""
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
    """One that reaches nowhere."""
    return Walk(np.zeros((3, 3)), np.zeros(3), -np.inf, np.empty((0, 2), np.int64), np.empty(0))


@inner_kernel
def walk_of(walks, a, b):
    """The walk of two colliders, `no_walk` where there is none."""
    for i in range(walks.used[0]):
        if walks.colliders[i, 0] == a and walks.colliders[i, 1] == b:
            first, last = walks.start[i], walks.start[i + 1]
            return Walk(walks.turn[i], walks.shift[i], walks.reach[i], walks.rows[first:last], walks.clear[first:last])
    return no_walk()


@inner_kernel
def room_for_walks(lasting, pairs):
    """`Walks`, none yet, with room for so many pairs."""
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
    """Walks with one of two colliders, which have so many triangles, unless more come near than are worth keeping."""
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
    """Walks without the room that is left."""
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
