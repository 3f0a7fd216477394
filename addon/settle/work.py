# SPDX-License-Identifier: GPL-3.0-or-later
"""Settling in a separate process: progress and result. Does not access Blender's data."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...solver_core.io.snapshot import write_snapshot
from ...solver_core.scene.words import in_words
from ..bake.job import WorkerEnded, WorkerMessage, compiling
from ..bake.process import Events
from ..bake.worker import started
from .reading import Drop

__all__ = ["Outcome", "Settling"]

MODULE = "solver_core.settle_file"
SECONDS_BETWEEN_LOOKS = 0.25


@dataclass(frozen=True)
class Outcome:
    """The result for the moving bodies, by name.

    poses: (7,) final poses of the body frames.
    resting, lost: bodies at rest, and bodies that fell past everything.
    moved: bodies that have moved from their start.
    seconds: simulated time [s].
    missed_steps: unconverged steps, of `steps`.
    overlap: deepest overlap of the two named bodies [m].
    """

    poses: dict[str, NDArray[np.float64]]
    resting: frozenset[str]
    lost: frozenset[str]
    moved: frozenset[str]
    seconds: float
    steps: int
    missed_steps: int
    overlap: float
    overlapping: tuple[str, ...]

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Outcome:
        """Return the result in the event "settled"."""
        rows = [row for row, moves in enumerate(record["moving"]) if moves]
        names = record["bodies"]

        def those(field: str) -> frozenset[str]:
            return frozenset(names[row] for row in rows if record[field][row])

        return cls(
            poses={names[row]: np.array(record["poses"][row], dtype=np.float64) for row in rows},
            resting=those("rests"),
            lost=those("lost"),
            moved=those("moved"),
            seconds=record["seconds"],
            steps=record["steps"],
            missed_steps=record["missed_steps"],
            overlap=record["overlap"],
            overlapping=tuple(record["overlapping"]),
        )

    @property
    def restless(self) -> list[str]:
        """The names of bodies that are neither at rest nor lost, sorted."""
        return sorted(self.poses.keys() - self.resting - self.lost)


class Settling:
    """A running settling process.

    status: progress, for the user.
    share: fraction of the largest time.
    outcome: result, None until the end.
    error: error message; "" while it runs and after success.
    """

    def __init__(self, drop: Drop, max_seconds: float, threads: int = 0):
        """Start the process. Raises WorkerError and OSError."""
        self._max_seconds = max_seconds
        self._folder = tempfile.TemporaryDirectory(prefix="stiction-")
        self._events: Events = SimpleQueue()
        self.status, self.share, self.error, self.is_over = "Loading", 0.0, "", False
        self.outcome: Outcome | None = None
        snapshot = Path(self._folder.name) / "settle.snapshot"
        how = "--seconds", repr(max_seconds), "--threads", str(threads), "--parent-pipe"
        try:
            write_snapshot(snapshot, drop.spec, drop.settings)
            self._process = started(MODULE, self._events, str(snapshot), *how)
        except BaseException:
            self._folder.cleanup()
            raise

    def poll(self) -> bool:
        """Process new events. Return True after the end."""
        while not self.is_over:
            try:
                self._hear(self._events.get_nowait())
            except Empty:
                break
        return self.is_over

    def run(self, on_status: Callable[[str], object], check: Callable[[], object] = lambda: None) -> None:
        """Wait for the end of settling.

        on_status: called with each new status. check: called repeatedly; an exception that it raises ends the process.
        """
        reported = ""
        try:
            while not self.is_over:
                check()
                try:
                    self._hear(self._events.get(timeout=SECONDS_BETWEEN_LOOKS))
                except Empty:
                    continue
                if self.status != reported and not self.is_over:
                    reported = self.status
                    on_status(reported)
        except BaseException:
            self.cancel()
            raise

    def cancel(self) -> None:
        """End the process."""
        self._process.close()
        self._finish()

    def _finish(self) -> None:
        self.is_over = True
        with suppress(OSError):
            self._folder.cleanup()

    def _hear(self, event: object) -> None:
        if isinstance(event, WorkerEnded):
            if self.outcome is None and not self.error:
                self.error = f"the process ended with status {event.status}\n{event.trouble}".strip()
            self._finish()
        elif isinstance(event, WorkerMessage):
            self._take(event.record)

    def _take(self, record: Mapping[str, Any]) -> None:
        match record.get("event"):
            case "compiled":
                self.status = compiling(record)
            case "progress":
                self.share = record["seconds"] / self._max_seconds
                self.status = (
                    f"{record['seconds']:.1f} s of at most {self._max_seconds:g} s, {record['resting']} of "
                    f"{record['moving']} rest"
                )
            case "settled":
                self.outcome = Outcome.of(record)
            case "error":
                problems = [f"{one['object']}: {in_words(one['field'])}: {one['message']}" for one in record["problems"]]
                self.error = "\n".join(problems) or record["message"]
