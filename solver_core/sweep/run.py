# SPDX-License-Identifier: GPL-3.0-or-later
"""All variations of a sweep, handed to a pool of workers and waited for."""

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
# Where nothing has changed but the time.
SECONDS_BETWEEN_SAME = 20.0


@dataclass
class Progress:
    """How far a sweep is, in frames: of all variations with so many each.

    done and baked: by variation, how many frames it has, and how many of those are of this run. kernels: how many had to be
    compiled. pace_from: by the clock, and in frames of this run, where steps were taken everywhere, with kernels loaded.
    """

    variations: int
    frames: int
    begin: float = field(default_factory=time.monotonic)
    finished: int = 0
    kernels: int = 0
    done: dict[int, int] = field(default_factory=dict)
    baked: dict[int, int] = field(default_factory=dict)
    pace_from: tuple[float, int] | None = None

    def heard(self, said: Mapping[str, Any]) -> None:
        """Take in what a worker said of a variation that it bakes."""
        if "kernels" in said:
            self.kernels = max(self.kernels, said["kernels"])
            return
        self.done[said["key"]], self.baked[said["key"]] = said["frames"], said["baked"]
        # the first frame needs no step, and with the second kernels are loaded, or compiled
        if self.pace_from is None and said["baked"] > 1:
            self.pace_from = time.monotonic(), sum(self.baked.values())

    def ended(self, key: int, outcome: Outcome) -> None:
        """Take in the end of one; of one that failed there is nothing more to do either."""
        self.finished += 1
        self.done[key], self.baked[key] = self.frames, outcome.baked

    def share(self) -> float:
        """Of all frames."""
        return sum(self.done.values()) / (self.variations * self.frames)

    def percent(self) -> int:
        """Of all frames."""
        return 100 * sum(self.done.values()) // (self.variations * self.frames)

    def line(self, now: float) -> str:
        """One line on it, by the clock; the time left is that at the pace of this run."""
        rest = self.variations * self.frames - sum(self.done.values())
        left = ""
        if self.pace_from is not None and rest:
            since, before = self.pace_from
            frames = sum(self.baked.values()) - before
            left = f", about {duration(rest * (now - since) / frames)} left" if frames > 0 else ""
        compiling = f", compiling once, {self.kernels} kernels so far" if self.kernels and self.pace_from is None else ""
        so_far = duration(now - self.begin)
        return f"{self.percent():3} %  {self.finished} of {self.variations} variations, {so_far}{left}{compiling}"


@dataclass(frozen=True)
class Sweep:
    """What is to be baked: the folder, the digest of the scene's snapshot in it, the variations, how fast a seed pushes in m/s,
    and how many threads each bake gets."""

    folder: Path
    scene: str
    variations: Sequence[Variation]
    nudge: float
    threads: int


def bake_all(
    pool: Pool,
    sweep: Sweep,
    progress: Progress,
    heard: SimpleQueue[Mapping[str, Any]],
    ending: Ending,
    say: Callable[[str, float], None],
) -> list[Outcome]:
    """Bake all variations.

    Parameters: `pool` bakes. `heard` gets what the bakes say, for `progress`, of which `say` takes a line and the share of all
    frames.

    Returns what came out of each variation, in their order.

    Raises StopAsked once `ending` asks for it, and PoolLost where the workers are lost; the caches then hold what was baked.
    """
    futures = [
        pool.submit(Order(str(sweep.folder), sweep.scene, variation, key, sweep.nudge, sweep.threads))
        for key, variation in enumerate(sweep.variations)
    ]
    outcomes: dict[int, Outcome] = {}
    said, said_at = (0, 0), -SECONDS_BETWEEN_SAME
    while len(outcomes) < len(futures):
        try:
            ending.check()
        except BaseException:
            pool.cancel()
            raise
        pool.refuse_lost()
        while not heard.empty():
            progress.heard(heard.get())
        for key, future in enumerate(futures):
            if key not in outcomes and future.done():
                outcomes[key] = end_of(future, pool)
                progress.ended(key, outcomes[key])
        now, stands_at = time.monotonic(), (progress.percent(), progress.finished)
        if now - said_at >= (SECONDS_BETWEEN_LINES if stands_at != said else SECONDS_BETWEEN_SAME):
            said, said_at = stands_at, now
            say(progress.line(now), progress.share())
        time.sleep(SECONDS_BETWEEN_ROUNDS)
    return [outcomes[key] for key in sorted(outcomes)]


def end_of(future: Baked, pool: Pool) -> Outcome:
    """What a bake that has ended came to. Raises PoolLost for one that was given up."""
    if future.cancelled():
        raise PoolLost("the bakes were given up, or the scheduler no longer answers")
    error = future.exception()
    return future.result() if error is None else Outcome(State.FAILED, "", 0, pool.why(error))
