# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulates a snapshot at the pace of the clock, and lets somebody pull at it: python -m solver_core.live SNAPSHOT.

Events on standard output, one JSON object a line:

    warning     as of `worker`
    ready       bodies (their names), frame_rate
    frame       frame, poses (7 numbers a body), behind (s, of the clock), missed (steps of the frame beyond the tolerance)
    over        why (the scene cannot go on, or cannot be simulated)

Lines of standard input: "pause", "continue" and "stop" as of `worker`, and {"body": index, "point": [x, y, z], "to": [x, y, z]}
in m, in the body's frame and in the world's, to pull at a body, or {"body": null} to let go. The process ends when standard
input does.

A play has no more steps than it needs, about 120 a second where a bake has more. Those of a frame share the time until the next
is due, what is left of it each time: when a step's is over, contact is whole and friction as near as there was time for. What
takes longer still is late, in slow motion; no frame is left out. Kernels that are compiled are loaded before the first frame.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .bake.events import ListenerGone, emit, emit_warnings
from .compile_all.complete import are_all_in
from .io.snapshot import read_snapshot
from .process.command_line import ExitStatus
from .process.console import flush_output, prepare_streams
from .process.ending import PARENT_GONE, Ending, StopAsked, end_by_force, hear_signals, lines_heard, obey
from .scene.spec import SceneSpec, SolverSettings
from .validation.findings import SceneError

__all__ = ["Hand", "main", "play"]

STEP_OF_A_PLAY = 1.0 / 120.0  # s, about: bakes have shorter ones
LATE = 2.0  # frames: a play that is behind by more does not hurry, but counts time from now on
LEAST_SHARE = 0.25  # of an even share of a frame's time: what a step may take that is late already


class Clock:
    """When frames are due, from the first on, which is due now. seconds: between two. steps: of each."""

    def __init__(self, seconds: float, steps: int):
        self._seconds, self._steps, self._due, self._done = seconds, steps, time.monotonic(), 0

    def left(self) -> float:
        """s until the frame is due, less than 0 when it is late."""
        return self._due - time.monotonic()

    def tick(self) -> None:
        """Look forward to the frame after it."""
        self._due, self._done = max(self._due + self._seconds, time.monotonic() - LATE * self._seconds), 0

    def share(self) -> float:
        """s that the next step of the frame may take, which has the time until the frame after it is due."""
        even = (self.left() + self._seconds) / (self._steps - self._done)
        self._done += 1
        return max(even, LEAST_SHARE * self._seconds / self._steps)


class Hand:
    """What was last asked of a body by lines of standard input, heard by a thread of its own."""

    def __init__(self, ending: Ending):
        self._ending = ending
        self._asked: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def hear(self) -> None:
        """Listen as long as there is somebody who speaks; who has gone has asked for the end."""
        threading.Thread(target=self._listen, name="hand", daemon=True).start()

    def take(self, line: bytes) -> None:
        """Obey a word, or remember where the hand is. Lines that are neither are left alone."""
        if obey(line, self._ending):
            return
        try:
            asked = json.loads(line)
        except ValueError:
            return
        if isinstance(asked, dict) and "body" in asked:
            self._asked.put(asked)

    def newest(self) -> dict[str, Any] | None:
        """The last line since the call before; None where there was none."""
        found = None
        while not self._asked.empty():
            found = self._asked.get()
        return found

    def _listen(self) -> None:
        for line in lines_heard():
            self.take(line)
        self._ending.ask(PARENT_GONE)


def play(spec: SceneSpec, settings: SolverSettings, hand: Hand, ending: Ending) -> None:
    """Simulate until the end is asked for. Raises SceneError where the scene cannot be simulated or cannot go on, StopAsked and
    ListenerGone."""
    # only now, for numba takes a while to load
    import numpy as np

    from .compile.kernel_cache import folder_of_kernels
    from .compile_all.rehearsal import load_kernels_of
    from .dynamics.fields.pull import Pull
    from .dynamics.simulation import Simulation
    from .scene.spec import BodyKind

    seconds, substeps = 1.0 / spec.fps, steps_of_a_frame(spec, settings)
    simulation = Simulation(spec, replace(settings, substeps=substeps))
    # those that this scene never calls are not worth to be waited for
    if are_all_in(folder_of_kernels()):
        load_kernels_of(spec)
    emit_warnings(simulation.warnings)
    emit("ready", bodies=[body.name for body in spec.bodies], frame_rate=spec.fps)
    pulled = {i for i, body in enumerate(spec.bodies) if body.kind is BodyKind.ACTIVE}
    frame, clock = simulation.first_frame(), Clock(seconds, substeps)

    def before_step() -> None:
        ending.check()
        simulation.allow(clock.share())
        asked = hand.newest()
        if asked is None:
            return
        simulation.pull = None
        if asked["body"] in pulled:
            point, to = (np.array(asked[name], dtype=float) for name in ("point", "to"))
            if point.shape == to.shape == (3,) and np.isfinite([point, to]).all():
                simulation.pull = Pull(asked["body"], point, to)

    while True:
        behind = max(0.0, -clock.left())
        missed = int(np.count_nonzero(frame.statistics.status))
        emit("frame", frame=frame.frame, poses=frame.poses.round(7).ravel().tolist(), behind=behind, missed=missed)
        clock.tick()
        while (left := clock.left()) > 0.0:
            ending.check()
            time.sleep(min(left, seconds / substeps))
        frame = simulation.advance(before_step)


def steps_of_a_frame(spec: SceneSpec, settings: SolverSettings) -> int:
    """As many as in a bake, or fewer."""
    return max(1, min(settings.substeps, round(spec.time_scale / (spec.fps * STEP_OF_A_PLAY))))


def main(argv: Sequence[str], ending: Ending) -> int:
    """Play a snapshot; returns the exit status."""
    if len(argv) != 1:
        print("usage: python -m solver_core.live SNAPSHOT", file=sys.stderr)
        return ExitStatus.BAD_INPUT
    hand = Hand(ending)
    hand.hear()
    try:
        play(*read_snapshot(argv[0]), hand, ending)
    except SceneError as error:
        emit("over", why=str(error))
        return ExitStatus.BAD_INPUT
    except (StopAsked, ListenerGone):
        return ExitStatus.BAKED
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return ExitStatus.BAD_INPUT
    return ExitStatus.BAKED


if __name__ == "__main__":
    prepare_streams()
    ending = Ending()
    hear_signals(ending)
    end_by_force(ending, ExitStatus.BAKED)
    status = main(sys.argv[1:], ending)
    ending.done()
    flush_output()
    sys.exit(status)
