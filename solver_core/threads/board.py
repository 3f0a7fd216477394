# SPDX-License-Identifier: GPL-3.0-or-later
"""A board on which one thread writes what is to be done, and from which all of them take it piece by piece.

One thread, the leader, goes through a computation. Where the next stage falls into pieces that do not depend on each other, it
writes the stage on the board; whoever is free takes pieces, first those that it took the last time, whose numbers its processor
still has at hand; the leader takes pieces like all others, and goes on when the last one is done. Which thread does a piece
changes nothing, for a piece is the same sums in the same order: results have the same bits with any number of threads. A helper
that never comes, since the processors are busy with something else, is not waited for, and those that leave in the middle of a
piece, time and again, are asked no more.

Stages are counted, and the count of a piece is that of the last stage in which it was taken: to take a piece is to replace the
count before by the stage's, which one thread can do, and who comes too late cannot. Helpers look at the board all the time;
they return after a while in which there was nothing to do, to be sent back after a pause.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, kernel, leaf_kernel
from .atomics import atomic_add, atomic_load, atomic_replace, atomic_store

__all__ = [
    "AT_WORK",
    "HELPERS",
    "MOST_PIECES",
    "NO_STAGE",
    "STAGE_MASK",
    "STOP",
    "Board",
    "is_alone",
    "new_board",
    "piece_done",
    "post",
    "take",
    "wait_for_all",
    "wait_for_work",
]

Board = NDArray[np.int64]

# entries of a board, each in a cache line of its own
AT_WORK, FINISHED, HELPERS, LATE, PIECES, LINE = 0, 8, 16, 17, 24, 8
MOST_PIECES = 8  # of a stage
COUNT_BIT, STAGE_MASK = 8, 0xFF  # of what is at work: how many stages there were, and which one it is
STOP = 255  # a stage
NO_STAGE = -1
PATIENT_GLANCES = 1_000_000  # looks at the board: some tenths of a millisecond
# Looks at the board that a piece takes at most, and how often it may be more: then the processors are busy with something else,
# and who waits for a helper waits for that.
LONG, OFTEN = 2_000_000, 3


@kernel
def new_board(helpers):
    """A board with nothing on it, for a leader with so many helpers."""
    board = np.zeros(PIECES + LINE * MOST_PIECES, np.int64)
    board[HELPERS] = helpers
    return board


@inlined_kernel
def is_alone(board):
    """Whether the leader has no helpers, and may do all pieces without a look at the board."""
    return board[HELPERS] == 0


@inlined_kernel
def post(board, stage):
    """Write what is to be done next; returns what is at work. All pieces of the stage before are done."""
    work = (((board[AT_WORK] >> COUNT_BIT) + 1) << COUNT_BIT) | stage
    atomic_store(board, FINISHED, 0)
    atomic_store(board, AT_WORK, work)
    return work


@inlined_kernel
def take(board, work, piece):
    """Whether the caller is to do a piece of what is at work."""
    count, place = work >> COUNT_BIT, PIECES + LINE * piece
    # a look first: to replace takes the cache line away from all others
    return atomic_load(board, place) == count - 1 and atomic_replace(board, place, count - 1, count)


@inlined_kernel
def piece_done(board):
    """To be called after each piece that was taken."""
    atomic_add(board, FINISHED, 1)


@leaf_kernel
def wait_for_all(board, pieces):
    """Return when so many pieces are done. Helpers that were long in coming back, time and again, are asked no more."""
    looks = 0
    while atomic_load(board, FINISHED) < pieces:
        looks += 1
    if looks > LONG:
        board[LATE] += 1
        if board[LATE] == OFTEN:
            board[HELPERS] = 0


@leaf_kernel
def wait_for_work(board, before):
    """What is at work when it is no longer what it was before; NO_STAGE where it stays that for a while."""
    for _ in range(PATIENT_GLANCES):
        work = atomic_load(board, AT_WORK)
        if work != before:
            return work
    return NO_STAGE
