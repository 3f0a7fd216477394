# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulates a snapshot at the pace of the clock, pulled by a hand: python -m solver_core.live SNAPSHOT [CACHE].

Events on standard output, one JSON object a line:

    warning     as of `worker`
    compiled    as of `worker`
    ready       bodies (their names), frame_rate
    frame       frame, poses (7 numbers a body), rate (simulated seconds a second of the clock, at most 1), missed (steps of the
                frame beyond the tolerance), force (3 numbers, N, of the hand in the last step, null while it holds nothing),
                pulls (how often the hand took hold), strongest (N, the largest force of the hand so far)
    unkept      why (the frames cannot be written to CACHE; the play goes on)
    over        why (the scene cannot go on, or cannot be simulated)

Lines of standard input: "pause", "continue" and "stop" as of `worker`, and {"body": index, "point": [x, y, z], "to": [x, y, z]}
in m, in the body's frame and in the world's, to pull at a body, or {"body": null} to let go. The process ends when standard
input does.

A play has no more steps than it needs, about 120 a second where a bake has more. Each step takes the time that it needs: no
limit of time decides what stands. A play that is slower than the clock is in slow motion, and leaves out no frame. Every frame
is written to CACHE, so that a play can be kept. Compiled kernels are loaded before the first frame.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .bake.events import ListenerGone, emit, emit_count, emit_warnings
from .compile.folders import folder_of_kernels
from .compile_all.complete import are_all_in
from .io.cache import CacheError
from .io.cache_writer import FrameCacheWriter
from .io.snapshot import read_snapshot
from .process.command_line import ExitStatus, Parser, UsageError
from .process.console import flush_output, prepare_streams
from .process.ending import PARENT_GONE, Ending, StopAsked, end_by_force, hear_signals, lines_heard, obey
from .scene.spec import BodyKind, SceneSpec, SolverSettings
from .validation.findings import SceneError

if TYPE_CHECKING:
    from .dynamics.model.frame import Frame
    from .dynamics.simulation import Simulation

__all__ = ["Clock", "Hand", "Recorder", "main", "play", "settings_of_play"]

STEP_OF_A_PLAY = 1.0 / 120.0  # s, about: bakes have shorter ones
LATE = 2.0  # frames: a play that is behind by more does not hurry, but counts time from now on
SECONDS_OF_RATE = 1.0  # the rate is that of the frames of so long, and of two frames at least


class Clock:
    """When frames are due, the first one now, and how fast they come. seconds: between two frames."""

    def __init__(self, seconds: float):
        self._seconds, self._due = seconds, time.monotonic()
        self._shown: deque[float] = deque()

    def left(self) -> float:
        """Seconds until the next frame is due, negative when it is late."""
        return self._due - time.monotonic()

    def tick(self) -> None:
        """Count a frame that is shown now, and look forward to the next one."""
        now = time.monotonic()
        self._shown.append(now)
        while len(self._shown) > 2 and now - self._shown[1] >= SECONDS_OF_RATE:
            self._shown.popleft()
        self._due = max(self._due + self._seconds, now - LATE * self._seconds)

    def skip(self, seconds: float) -> None:
        """Leave out a pause of so many seconds."""
        self._due += seconds
        self._shown = deque(then + seconds for then in self._shown)

    @property
    def rate(self) -> float:
        """Simulated seconds a second of the clock, over the last frames; 1 before there are two."""
        elapsed = self._shown[-1] - self._shown[0] if self._shown else 0.0
        return min(1.0, (len(self._shown) - 1) * self._seconds / elapsed) if elapsed > 0.0 else 1.0


class Hand:
    """The last order for a pull among the lines of standard input, which a thread of its own reads."""

    def __init__(self, ending: Ending):
        self._ending = ending
        self._asked: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def hear(self) -> None:
        """Listen until standard input ends, which asks for the end of the play."""
        threading.Thread(target=self._listen, name="hand", daemon=True).start()

    def take(self, line: bytes) -> None:
        """Obey a word, or remember where the hand is. Other lines are ignored."""
        if obey(line, self._ending):
            return
        try:
            asked = json.loads(line)
        except ValueError:
            return
        if isinstance(asked, dict) and "body" in asked:
            self._asked.put(asked)

    def newest(self) -> dict[str, Any] | None:
        """The last order since the call before; None where there was none."""
        found = None
        while not self._asked.empty():
            found = self._asked.get()
        return found

    def _listen(self) -> None:
        for line in lines_heard():
            self.take(line)
        self._ending.ask(PARENT_GONE)


class Recorder:
    """Writes the frames of a play to a cache, if there is one. A disk that is full ends the recording, not the play."""

    def __init__(self, path: str | None, spec: SceneSpec, settings: SolverSettings, ending: Ending):
        self._ending = ending
        self._writer: FrameCacheWriter | None = None
        if path is not None:
            try:
                self._writer = FrameCacheWriter.create(path, spec, settings)
            except (OSError, CacheError) as error:
                emit("unkept", why=str(error))

    def add(self, frame: Frame, simulation: Simulation) -> None:
        """Write a frame."""
        if self._writer is None:
            return
        checkpoint = simulation.checkpoint()
        try:
            with self._ending.writing:
                self._writer.append(frame, checkpoint)
        except (OSError, CacheError) as error:
            self.close()
            emit("unkept", why=str(error))

    def close(self) -> None:
        """Write no more."""
        if self._writer is not None:
            self._writer.close()
        self._writer = None


class Player:
    """Runs a simulation at the pace of the clock, pulled by a hand."""

    def __init__(self, simulation: Simulation, hand: Hand, ending: Ending):
        self._simulation, self._hand, self._ending = simulation, hand, ending
        self._clock = Clock(1.0 / simulation.spec.fps)
        self._can_be_pulled = {i for i, body in enumerate(simulation.spec.bodies) if body.kind is BodyKind.ACTIVE}
        self._pulls, self._strongest = 0, 0.0

    def run(self, recorder: Recorder) -> None:
        """Play until the end is asked for. Raises SceneError, StopAsked and ListenerGone."""
        frame = self._simulation.first_frame()
        while True:
            self._clock.tick()
            self._tell(frame)
            recorder.add(frame, self._simulation)
            while (left := self._clock.left()) > 0.0:
                self._wait()
                time.sleep(min(left, 0.01))
            frame = self._simulation.advance(self._before_step)

    def _before_step(self) -> None:
        self._note_force()
        self._wait()
        asked = self._hand.newest()
        if asked is not None:
            self._pull(asked)

    def _wait(self) -> None:
        """Wait while there is a pause, which the clock leaves out. Raises StopAsked."""
        if not self._ending.pauses:
            self._ending.check()
            return
        begin = time.monotonic()
        self._ending.check()
        self._clock.skip(time.monotonic() - begin)

    def _pull(self, asked: dict[str, Any]) -> None:
        import numpy as np

        from .dynamics.fields.pull import Pull

        before, self._simulation.pull = self._simulation.pull, None
        if asked["body"] not in self._can_be_pulled:
            return
        try:
            point, to = (np.array(asked[name], dtype=float) for name in ("point", "to"))
        except (KeyError, TypeError, ValueError):
            return
        if point.shape == to.shape == (3,) and np.isfinite([point, to]).all():
            self._simulation.pull = Pull(asked["body"], point, to)
            self._pulls += before is None

    def _note_force(self) -> None:
        self._strongest = max(self._strongest, sum(x * x for x in self._simulation.pull_force.tolist()) ** 0.5)

    def _tell(self, frame: Frame) -> None:
        self._note_force()
        emit(
            "frame",
            frame=frame.frame,
            poses=frame.poses.round(7).ravel().tolist(),
            rate=self._clock.rate,
            missed=int((frame.statistics.status != 0).sum()),
            force=None if self._simulation.pull is None else self._simulation.pull_force.tolist(),
            pulls=self._pulls,
            strongest=self._strongest,
        )


def play(
    spec: SceneSpec, settings: SolverSettings, hand: Hand, ending: Ending, cache: str | None = None, *, contacts: bool = False
) -> None:
    """Simulate until the end is asked for.

    Parameters
    ----------
    spec, settings : the scene, and the settings of its bakes; `settings_of_play` has those of the play.
    hand, ending : what pulls, and what asks for the end.
    cache : a file for the frames; None to keep none.
    contacts : whether the cache has the contacts of each frame.

    Raises SceneError where the scene cannot be simulated or cannot go on, StopAsked and ListenerGone.
    """
    # only now, for numba takes a while to load
    from .compile.watch import Watch
    from .compile_all.small_scenes import load_kernels_of
    from .dynamics.simulation import Simulation

    settings, folder = settings_of_play(spec, settings), folder_of_kernels()
    with Watch(folder, emit_count):
        simulation = Simulation(spec, settings, keep_contacts=contacts)
        # where some are missing, a play does not wait for kernels that its scene may never call
        if are_all_in(folder):
            load_kernels_of(spec)
        emit_warnings(simulation.warnings)
        emit("ready", bodies=[body.name for body in spec.bodies], frame_rate=spec.fps)
        recorder = Recorder(cache, spec, settings, ending)
        try:
            Player(simulation, hand, ending).run(recorder)
        finally:
            recorder.close()


def settings_of_play(spec: SceneSpec, settings: SolverSettings) -> SolverSettings:
    """The settings of a play: as many steps as in a bake or fewer, and no limit of time for a step."""
    steps = max(1, min(settings.substeps, round(spec.time_scale / (spec.fps * STEP_OF_A_PLAY))))
    return replace(settings, substeps=steps, step_time_limit=0.0)


def main(argv: Sequence[str], ending: Ending) -> int:
    """Play as the command line `argv` (without the program's name) says; returns the exit status."""
    parser = Parser(prog="python -m solver_core.live", description="Plays a scene snapshot at the pace of the clock.")
    parser.add_argument("snapshot", metavar="SNAPSHOT", help="the scene and the solver settings")
    parser.add_argument("cache", metavar="CACHE", nargs="?", help="a frame cache for what is played")
    parser.add_argument("--contacts", action="store_true", help="keep the contacts of every frame in the cache")
    try:
        arguments = parser.parse_args(argv)
    except UsageError as error:
        print(error, file=sys.stderr)
        return ExitStatus.BAD_INPUT
    hand = Hand(ending)
    hand.hear()
    try:
        play(*read_snapshot(arguments.snapshot), hand, ending, arguments.cache, contacts=arguments.contacts)
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
