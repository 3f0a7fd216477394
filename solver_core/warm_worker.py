# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes one snapshot after another in one process, with kernels loaded: python -m solver_core.warm_worker.

A line of standard input that is a JSON list has the arguments of a bake, those of `worker`, and each bake is what it is there:
the same events, and the same words on standard input while it runs. After one that came to its end, or was ended by "stop",
there is an event more, and the process waits for the next line, with no file open:

    ended       status (what the worker would have ended with)

After any other bake the process ends with its status, as the worker does: nobody has to wonder what such a bake left behind. It
also ends with the status of a bake that took much memory, and otherwise with 1: when standard input ends, by a signal, and
when nothing has been asked of it for some time.
"""

from __future__ import annotations

import json
import queue
import sys
import threading

from .bake.events import ListenerGone, emit
from .process.command_line import ExitStatus
from .process.console import flush_output, prepare_streams
from .process.ending import PARENT_GONE, SECONDS_TO_STAY, STOPPED, Ending, end_by_force, hear_signals, lines_heard, obey
from .process.memory import keep_freed_memory, most_memory
from .worker import main as bake

__all__ = ["Orders", "main"]

# Bytes, twice what it has with its kernels loaded. What a bake takes beyond that is not all given back to the system, and what
# takes that much is not waited for because of its start.
MOST_MEMORY = 1 << 29


class Orders:
    """What is asked of this process, on standard input and by signals. ending: of the bake that was asked for last."""

    def __init__(self) -> None:
        self.ending = Ending()
        self._bakes: queue.SimpleQueue[tuple[bytes, Ending] | None] = queue.SimpleQueue()

    def hear(self) -> None:
        """Listen to standard input, as long as there is one."""
        threading.Thread(target=self._listen, name="parent", daemon=True).start()

    def next(self) -> tuple[bytes, Ending] | None:
        """The line of the bake to be done next, and what ends that; None when there is none to come. Waits for it."""
        try:
            return self._bakes.get(timeout=SECONDS_TO_STAY)
        except queue.Empty:
            return None

    def ask(self, reason: str) -> None:
        """Ask for the end of the process; `reason` says who does."""
        self._bakes.put(None)
        self.ending.ask(reason)

    def hasten(self) -> None:
        """Do not wait for the step that is in work."""
        self.ending.hasten()

    def _listen(self) -> None:
        for line in lines_heard():
            if not obey(line, self.ending):
                self._take(line)
        self.ask(PARENT_GONE)

    def _take(self, line: bytes) -> None:
        # a word that comes after this line is meant for this bake
        self.ending = Ending()
        self._bakes.put((line, self.ending))


def main(orders: Orders) -> int:
    """Bake what is asked for until something speaks against another bake here; returns the exit status."""
    while (order := orders.next()) is not None:
        line, ending = order
        end_by_force(ending, ExitStatus.FAILED)
        status = bake(json.loads(line), ending)
        ending.done()
        is_sound = status in (ExitStatus.BAKED, ExitStatus.MISSED_TOLERANCE) or ending.reason == STOPPED
        if not is_sound or most_memory() > MOST_MEMORY:
            return status
        try:
            emit("ended", status=status)
        except ListenerGone:
            return status
    # not the status of a bake: one may have been asked for that is not done
    return ExitStatus.FAILED


if __name__ == "__main__":
    prepare_streams()
    keep_freed_memory()
    orders = Orders()
    hear_signals(orders)
    orders.hear()
    status = main(orders)
    flush_output()
    sys.exit(status)
