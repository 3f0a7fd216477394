# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads that help a leader in a kernel, for as long as that takes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep
from typing import Any

from .board import AT_WORK, STOP, Board, new_board

__all__ = ["helped"]

PAUSE = 1e-4  # s, of a helper that had nothing to do for a while


@contextmanager
def helped(threads: int, assist: Callable[..., bool], work: Callable[[Board], Any]) -> Iterator[Any]:
    """The work for a board, and all threads but this one, the leader, assisting until the block ends.

    assist(work, i): a kernel that does, as the i-th helper, what is on the board, and returns False when STOP is on it, or True
    where there was nothing to do for a while. Raises what it raises in a helper.
    """
    board = new_board(threads - 1)
    shared, failures = work(board), []

    def help_out(number: int) -> None:
        try:
            while assist(shared, number):
                sleep(PAUSE)
        except BaseException as failure:
            failures.append(failure)

    helpers = [threading.Thread(target=help_out, args=(i,), name=f"helper {i}", daemon=True) for i in range(1, threads)]
    for helper in helpers:
        helper.start()
    try:
        yield shared
    finally:
        board[AT_WORK] |= STOP
        for helper in helpers:
            helper.join()
    if failures:
        raise failures[0]
