# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake several snapshots in sequence in one process with loaded kernels: python -m solver_core.warm_worker.

A line on standard input that is a JSON list contains the arguments of a bake, as for `worker`. The events, and the commands on
standard input during a bake, are those of `worker`. After a bake that finished, or that "stop" ended, one more event follows,
and the process waits for the next line, with no file open:

    ended       status (the exit status that the worker would have had)

After any other bake, the process exits with its status, as the worker does, so that no state of a failed bake remains. It also
exits with the status of a bake that used much memory. It exits with 1 at the end of standard input, at a signal, and if it has
been idle for some time.
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

# Bytes, twice the memory of a process with loaded kernels. A bake that uses more does not return all of it to the system, and
# takes so long that the time to start a process does not matter.
MOST_MEMORY = 1 << 29


class Orders:
    """The requests to this process, from standard input and signals. ending: the stop request of the last requested bake."""

    def __init__(self) -> None:
        self.ending = Ending()
        self._bakes: queue.SimpleQueue[tuple[bytes, Ending] | None] = queue.SimpleQueue()

    def hear(self) -> None:
        """Start to read standard input, until it ends."""
        threading.Thread(target=self._listen, name="parent", daemon=True).start()

    def next(self) -> tuple[bytes, Ending] | None:
        """Wait for the next bake. Returns its line and its stop request; None if no bake will come."""
        try:
            return self._bakes.get(timeout=SECONDS_TO_STAY)
        except queue.Empty:
            return None

    def ask(self, reason: str) -> None:
        """Request that the process ends. reason: who requests it."""
        self._bakes.put(None)
        self.ending.ask(reason)

    def hasten(self) -> None:
        """Do not wait for the current step."""
        self.ending.hasten()

    def _listen(self) -> None:
        for line in lines_heard():
            if not obey(line, self.ending):
                self._take(line)
        self.ask(PARENT_GONE)

    def _take(self, line: bytes) -> None:
        # A command after this line belongs to this bake.
        self.ending = Ending()
        self._bakes.put((line, self.ending))


def main(orders: Orders) -> int:
    """Run the requested bakes until the process has to end. Returns the exit status."""
    while (order := orders.next()) is not None:
        line, ending = order
        end_by_force(ending, ExitStatus.FAILED)
        status = bake(json.loads(line), ending)
        ending.done()
        is_sound = status in (ExitStatus.DONE, ExitStatus.MISSED_TOLERANCE) or ending.reason == STOPPED
        if not is_sound or most_memory() > MOST_MEMORY:
            return status
        try:
            emit("ended", status=status)
        except ListenerGone:
            return status
    # Not the status of a bake, because a requested bake may not have run.
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
