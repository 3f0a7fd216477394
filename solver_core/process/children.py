# SPDX-License-Identifier: GPL-3.0-or-later
"""Ends child processes within a limit of time, so that nobody waits for one that hangs."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import Any

__all__ = ["SECONDS_TO_CLOSE", "await_end", "end_child", "kill_child"]

# From the end of a child's output to its own end, s by the clock: it frees its memory and unloads its libraries.
SECONDS_TO_CLOSE = 30.0
# From the kill to the end of the process, s by the clock. A process that waits for a network drive ends when the drive answers.
SECONDS_TO_VANISH = 10.0


def end_child(process: subprocess.Popen[Any], seconds: float) -> None:
    """Close the standard input of a child, which asks it to end, and kill it after a while.

    Parameters
    ----------
    process : has a pipe as its standard input.
    seconds : how long it may take to end by itself, by the clock.
    """
    assert process.stdin is not None
    # lines that it has not read are lost with a child that has ended
    with suppress(OSError):
        process.stdin.close()
    await_end(process, seconds)


def await_end(process: subprocess.Popen[Any], seconds: float) -> int:
    """Wait for the end of a child that has nothing left to do, and kill it after a while.

    Parameters
    ----------
    process : any child of this process.
    seconds : how long it may take to end by itself, by the clock.

    Returns
    -------
    Its exit status, negative for the signal that ended it.
    """
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return kill_child(process)


def kill_child(process: subprocess.Popen[Any]) -> int:
    """Kill a child and wait until it has gone, unless the system keeps it.

    Returns
    -------
    Its exit status. -9, that of the kill, where the system keeps the process, for example for a drive that does not answer.
    """
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        return process.wait(SECONDS_TO_VANISH)
    return -9
