# SPDX-License-Identifier: GPL-3.0-or-later
"""The work space of sweeps and the alternating direction method: a problem in the order of its parts, and what is written to.

A part of the elimination tree has its bodies in one piece of memory, and its contacts, so that two threads that do two parts do
not wait for each other's cache lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel, kernel
from ...linalg.block_cholesky import eliminate, lay_out, room_of_factor
from ...linalg.elimination_parts import Parts, parts_of, reorder
from ...problem.subsystem import in_order
from ...problem.system import System, apply_mass
from ...threads.board import HELPERS, MOST_PIECES, Board, new_board
from ..block_operator import Blocks, find_places
from .gauss_seidel import DelassusBlocks, allocate_delassus_blocks

__all__ = ["Workspace", "workspace", "workspace_in_parts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Order(NamedTuple):
    """How a system is laid out for its parts; fields as in a `Workspace`."""

    parts: Parts
    triple: Ints
    contact: Ints
    body: Ints


class Workspace(NamedTuple):
    """A problem and all arrays that its methods of first order write to.

    turn: (threads, parts) the order in which a thread looks for parts to do. triple: (2, 2 parts + 3) where, of contacts and of
    joints, the triples of each part begin that have no body in the top, and those that have one; the top's come last, without
    any of the second kind. contact: (m,), body: (bodies,) which ones of the problem as it was given they are.
    kappa: (m,) effective masses. rho, offset: (m,), x, z: (m, 3) as in `admm`. impulse: (m, 3), v: (n,) its velocities.
    momentum: (n,) M v_hat. right, solution: (parts + 1, n) of every part, in the rows of its own bodies and those of the top.
    enough: (1,) m/s. error, far: (parts + 1,) natural map, and how many are beyond `enough`. positive: (parts + 1,) whether a
    part could be factorised.
    """

    board: Board
    turn: Ints
    system: System
    blocks: Blocks
    parts: Parts
    values: Floats
    triple: Ints
    contact: Ints
    body: Ints
    delassus: DelassusBlocks
    kappa: Floats
    rho: Floats
    offset: Floats
    x: Floats
    z: Floats
    impulse: Floats
    v: Floats
    momentum: Floats
    right: Floats
    solution: Floats
    enough: Floats
    error: Floats
    far: Ints
    positive: Ints


@inner_kernel
def _turns(threads, work):
    """`turn` of a `Workspace`: what is about an equal share for each thread first, then what others have."""
    parts = work.size
    owner, load = np.empty(parts, np.int64), np.zeros(threads)
    for part in np.argsort(-work, kind="mergesort"):
        owner[part] = np.argmin(load)
        load[owner[part]] += work[part]
    turn = np.empty((threads, parts), np.int64)
    for thread in range(threads):
        filled = 0
        for later in range(threads):
            for part in range(parts):
                if owner[part] == (thread + later) % threads:
                    turn[thread, filled] = part
                    filled += 1
    return turn


@inner_kernel
def _room(board, system, blocks, values, order, impulse, v):
    """A `Workspace` for a system whose bodies and contacts come in the order of its parts, but for what is to be computed."""
    m, n, parts = impulse.shape[0], v.size, order.parts
    momentum = np.empty(n)
    apply_mass(system, system.velocity, momentum)
    return Workspace(
        board,
        _turns(board[HELPERS] + 1, parts.work[: parts.number]),
        system,
        blocks,
        parts,
        values,
        order.triple,
        order.contact,
        order.body,
        allocate_delassus_blocks(m, system.jacobian_a.shape[2]),
        np.empty(m),
        np.empty(m),
        np.empty(m),
        np.empty((m, 3)),
        np.empty((m, 3)),
        impulse,
        v,
        momentum,
        np.empty((parts.number + 1, n)),
        np.empty((parts.number + 1, n)),
        np.full(1, np.inf),
        np.empty(parts.number + 1),
        np.zeros(parts.number + 1, np.int64),
        np.ones(parts.number + 1, np.int64),
    )


@inner_kernel
def workspace(system, blocks, values, impulse, v):
    """A `Workspace` of one part, for a leader without helpers. values: work array of the factor. impulse: (m, 3) warm start and
    answer, v: (n,) that of the answer."""
    bodies, m, contacts = blocks.structure.order.size, impulse.shape[0], system.mu.size
    parts = parts_of(blocks.structure, np.array([0, bodies, bodies]), np.ones(2))
    triple = np.empty((2, 5), np.int64)
    triple[0, 0], triple[0, 1:], triple[1, 0], triple[1, 1:] = 0, contacts, contacts, m
    order = Order(parts, triple, np.arange(m), np.arange(bodies))
    return _room(new_board(0), system, blocks, values, order, impulse, v)


@inner_kernel
def _triples(system, rank, start):
    """The triples in the order of parts, and `triple` of a `Workspace`; rank: (bodies,) their columns."""
    m, contacts, parts = system.body_a.size, system.mu.size, start.size - 2
    place, triple = np.empty(m, np.int64), np.zeros((2, 2 * parts + 3), np.int64)
    for k in range(m):
        # what moves nothing is the top's
        low, high = rank.size, -1
        for body in (system.body_a[k], system.body_b[k]):
            if body >= 0:
                low, high = min(low, rank[body]), max(high, rank[body])
        part = parts if high < 0 else np.searchsorted(start[1:], low, side="right")
        place[k] = 2 * part + (1 if part < parts and high >= start[parts] else 0)
        triple[1 if k >= contacts else 0, place[k] + 1] += 1
    triple[0] = np.cumsum(triple[0])
    triple[1] = np.cumsum(triple[1]) + contacts
    order = np.empty(m, np.int64)
    order[:contacts] = np.argsort(place[:contacts], kind="mergesort")
    order[contacts:] = contacts + np.argsort(place[contacts:], kind="mergesort")
    return order, triple


@kernel
def workspace_in_parts(board, system, impulse):
    """A `Workspace` for a large system, with sweeps, of impulses like (m, 3)."""
    bodies, m = system.offset.size - 1, system.body_a.size
    order, column_start, row = eliminate(bodies, system.body_a, system.body_b)
    eliminated, start, work = reorder(order, column_start, row, system.body_a, system.body_b, MOST_PIECES)
    order, column_start, row = eliminated
    rank = np.empty(bodies, np.int64)
    for j in range(bodies):
        rank[order[j]] = j
    chosen, triple = _triples(system, rank, start)
    body_a, body_b = np.full(m, -1, np.int64), np.full(m, -1, np.int64)
    for i in range(m):
        a, b = system.body_a[chosen[i]], system.body_b[chosen[i]]
        body_a[i], body_b[i] = rank[a] if a >= 0 else -1, rank[b] if b >= 0 else -1
    ordered = in_order(system, chosen, order, body_a, body_b)
    structure = lay_out(ordered.offset, np.arange(bodies), column_start, rank[row])
    blocks, values, v = find_places(ordered, structure), room_of_factor(structure), np.empty(system.velocity.size)
    laid_out = Order(parts_of(structure, start, work), triple, chosen, order)
    return _room(board, ordered, blocks, values, laid_out, impulse[chosen], v)
