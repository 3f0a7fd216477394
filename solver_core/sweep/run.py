# SPDX-License-Identifier: GPL-3.0-or-later
"""Execution of all variations of a sweep on a pool of workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from ..process.ending import Ending
from ..scene.words import duration
from .axes import Variation
from .outcome import Outcome, State
from .pool import Baked, Order, Pool, PoolLost

__all__ = ["Progress", "Sweep", "bake_all"]

SECONDS_BETWEEN_ROUNDS = 0.25
SECONDS_BETWEEN_LINES = 1.0
# s; time between reports in which only the time has changed
SECONDS_BETWEEN_SAME = 20.0


@dataclass
class Progress:
    """The progress of a sweep in frames.

    frames: number of frames of each variation.
    done, baked: by variation, the number of its frames, and of its frames from this run.
    kernels: number of compiled kernels.
    pace_from: clock time [s] and number of frames of this run when all variations had taken steps with loaded kernels.
    """

    variations: int
    frames: int
    begin: float = field(default_factory=time.monotonic)
    finished: int = 0
    kernels: int = 0
    done: dict[int, int] = field(default_factory=dict)
    baked: dict[int, int] = field(default_factory=dict)
    pace_from: tuple[float, int] | None = None

    def heard(self, record: Mapping[str, Any]) -> None:
        """Process an event of the worker of a variation."""
        if "kernels" in record:
            self.kernels = max(self.kernels, record["kernels"])
            return
        self.done[record["key"]], self.baked[record["key"]] = record["frames"], record["baked"]
        # The first frame needs no step; before the second, kernels are loaded or compiled.
        if self.pace_from is None and record["baked"] > 1:
            self.pace_from = time.monotonic(), sum(self.baked.values())

    def ended(self, key: int, outcome: Outcome) -> None:
        """Process the end of a variation. After a failure, nothing more is to be done for it."""
        self.finished += 1
        self.done[key], self.baked[key] = self.frames, outcome.baked

    def share(self) -> float:
        """The completed fraction of all frames."""
        return sum(self.done.values()) / (self.variations * self.frames)

    def percent(self) -> int:
        """The completed percentage of all frames."""
        return 100 * sum(self.done.values()) // (self.variations * self.frames)

    def line(self, now: float) -> str:
        """Return a line about the progress. The remaining time assumes the pace of this run."""
        rest = self.variations * self.frames - sum(self.done.values())
        time_left = ""
        if self.pace_from is not None and rest:
            since, before = self.pace_from
            frames = sum(self.baked.values()) - before
            time_left = f", about {duration(rest * (now - since) / frames)} left" if frames > 0 else ""
        compiling = f", compiling once, {self.kernels} kernels so far" if self.kernels and self.pace_from is None else ""
        so_far = duration(now - self.begin)
        return f"{self.percent():3} %  {self.finished} of {self.variations} variations, {so_far}{time_left}{compiling}"


@dataclass(frozen=True)
class Sweep:
    """The task: the folder, the digest of the scene's snapshot in it, the variations, the largest speed of random pushes [m/s],
    and the number of threads of each bake."""

    folder: Path
    scene: str
    variations: Sequence[Variation]
    nudge: float
    threads: int


def bake_all(
    pool: Pool,
    sweep: Sweep,
    progress: Progress,
    records: SimpleQueue[Mapping[str, Any]],
    ending: Ending,
    say: Callable[[str, float], None],
) -> list[Outcome]:
    """Bake all variations.

    pool: the workers. records: events of the bakes, which the pool puts into it.
    progress: updated with the events. say: called with a line about the progress and the finished fraction of all frames.

    Returns the outcome of each variation, in their order.

    Raises StopAsked if `ending` requests it, and PoolLost if the workers are lost. The caches then contain the frames so far.
    """
    futures = [
        pool.submit(Order(str(sweep.folder), sweep.scene, variation, key, sweep.nudge, sweep.threads))
        for key, variation in enumerate(sweep.variations)
    ]
    outcomes: dict[int, Outcome] = {}
    reported, reported_at = (0, 0), -SECONDS_BETWEEN_SAME
    while len(outcomes) < len(futures):
        try:
            ending.check()
        except BaseException:
            pool.cancel()
            raise
        pool.refuse_lost()
        while not records.empty():
            progress.heard(records.get())
        for key, future in enumerate(futures):
            if key not in outcomes and future.done():
                outcomes[key] = end_of(future, pool)
                progress.ended(key, outcomes[key])
        now, stands_at = time.monotonic(), (progress.percent(), progress.finished)
        if now - reported_at >= (SECONDS_BETWEEN_LINES if stands_at != reported else SECONDS_BETWEEN_SAME):
            reported, reported_at = stands_at, now
            say(progress.line(now), progress.share())
        time.sleep(SECONDS_BETWEEN_ROUNDS)
    return [outcomes[key] for key in sorted(outcomes)]


def end_of(future: Baked, pool: Pool) -> Outcome:
    """Return the outcome of a finished bake. Raises PoolLost for a canceled one."""
    if future.cancelled():
        raise PoolLost("the bakes were canceled, or the scheduler no longer answers")
    error = future.exception()
    return future.result() if error is None else Outcome(State.FAILED, "", 0, pool.why(error))
