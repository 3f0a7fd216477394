# SPDX-License-Identifier: GPL-3.0-or-later
"""The bricks that a body's modes were computed with, and how these move and turn what is fastened to the body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["CORNERS", "Bricks", "attached", "nodal_load"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# The corners of a brick, along its axes, the first axis fastest.
CORNERS = np.array([(corner & 1, corner >> 1 & 1, corner >> 2) for corner in range(8)])
# Of the longest side: what is as near as that to the place of a joint is held by it.
GRIP = 0.03


@dataclass(frozen=True)
class Bricks:
    """axes: (3, 3) unit, one a row, of the grid in the body's axes. lowest, sizes: (e, 3) m along them, of each brick. filled:
    (e,) which share of it is inside. nodes: (e, 8) its corners in the order of CORNERS. modes: (v, 3, r) 1/sqrt(kg), what each
    mode does to a node, in the body's axes."""

    axes: Array
    lowest: Array
    sizes: Array
    filled: Array
    nodes: Indices
    modes: Array

    def __len__(self) -> int:
        return len(self.nodes)


class Fastening(NamedTuple):
    """A point that is fastened to k nodes: node (k,), which; share (k,) of each, 1 in all; arm: (k, 3) m from their middle;
    ease: (3, 3) 1/m^2, the inverse of what resists turning; beyond: (3,) m from their middle to the point. In the body's
    axes."""

    node: Indices
    share: Array
    arm: Array
    ease: Array
    beyond: Array


def fastened(bricks: Bricks, point: Array) -> Fastening:
    """Of a point (3,) m in the body's axes: to the nearest brick and all that are farther by GRIP at most, by their volumes."""
    place = bricks.axes @ point
    highest = bricks.lowest + bricks.sizes
    distance = np.linalg.norm(np.maximum(np.maximum(bricks.lowest - place, place - highest), 0.0), axis=1)
    reach = GRIP * float((highest.max(axis=0) - bricks.lowest.min(axis=0)).max())
    chosen = np.flatnonzero(distance <= distance.min() + reach)
    corners = bricks.lowest[chosen, None] + CORNERS * bricks.sizes[chosen, None]
    volume = (bricks.filled * bricks.sizes.prod(axis=1))[chosen]
    share = np.repeat(volume, len(CORNERS)) / (len(CORNERS) * volume.sum())
    places = corners.reshape(-1, 3) @ bricks.axes
    middle = share @ places
    arm = places - middle
    spread = np.einsum("k,ka,kb->ab", share, arm, arm)
    ease = np.linalg.inv(np.trace(spread) * np.eye(3) - spread)
    return Fastening(bricks.nodes[chosen].ravel(), share, arm, ease, point - middle)


def attached(bricks: Bricks, point: Array) -> tuple[Array, Array]:
    """How modes move, (3, r) 1/sqrt(kg), and turn, (3, r) rad/(m sqrt(kg)), what is fastened to a body at a point (3,) m, all
    in the body's axes: as the nodes that it is fastened to do on average."""
    node, share, arm, ease, beyond = fastened(bricks, point)
    modes = bricks.modes[node]
    turns = ease @ np.einsum("k,kar->ar", share, np.cross(arm[:, :, None], modes, axis=1))
    return np.einsum("k,kar->ar", share, modes) + np.cross(turns, beyond[:, None], axis=0), turns


def nodal_load(bricks: Bricks, load: Array) -> Array:
    """(v, 3) N on nodes, in the body's axes, of what is fastened to a body: load (9,) of a point in m, a force in N, and a
    moment in N m; it does the same work."""
    point, force, moment = load.reshape(3, 3)
    node, share, arm, ease, beyond = fastened(bricks, point)
    about = ease @ (moment + np.cross(beyond, force))
    out = np.zeros((len(bricks.modes), 3))
    np.add.at(out, node, share[:, None] * (force + np.cross(about, arm)))
    return out
