# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate a snapshot interactively in real time, with a mouse spring: python -m solver_core.live SNAPSHOT [CACHE].

Events on standard output, one JSON object per line:

    warning     as of `worker`
    compiled    as of `worker`
    ready       bodies (their names), frame_rate
    frame       frame, poses (7 numbers per body), rate (simulated seconds per real second, at most 1), missed (unconverged
                steps of the frame), force (3 numbers, N, of the mouse spring in the last step, null without a pull), pulls
                (the number of pulls so far), strongest (N, the largest force of a pull so far)
    unkept      why (the frames cannot be written to CACHE; the simulation continues)
    over        why (the scene cannot continue, or cannot be simulated)

Lines on standard input: "pause", "continue" and "stop" as for `worker`; {"body": index, "point": [x, y, z], "to": [x, y, z]},
in m, in the body frame and in the world frame, to pull a body; and {"body": null} to release it. The process ends at the end of
standard input.

An interactive simulation takes about 120 steps per second if a bake takes more. Steps have no time limit, so the stability of a
scene does not depend on the computer. If the simulation is slower than real time, it runs in slow motion and skips no frame.
Every frame is written to CACHE, so that it can be kept. Compiled kernels are loaded before the first frame.
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

STEP_OF_A_PLAY = 1.0 / 120.0  # s, approximate; bakes may use shorter steps
LATE = 2.0  # frames; if the simulation is later than this, the clock restarts instead of catching up
SECONDS_OF_RATE = 1.0  # the rate is a mean over frames of this duration, and over at least two frames


class Clock:
    """The schedule of frames, the first one being due now, and their rate. seconds: between two frames."""

    def __init__(self, seconds: float):
        self._seconds, self._due = seconds, time.monotonic()
        self._shown: deque[float] = deque()

    def left(self) -> float:
        """Return the seconds until the next frame is due; negative if it is late."""
        return self._due - time.monotonic()

    def tick(self) -> None:
        """Count a frame that is shown now, and schedule the next one."""
        now = time.monotonic()
        self._shown.append(now)
        while len(self._shown) > 2 and now - self._shown[1] >= SECONDS_OF_RATE:
            self._shown.popleft()
        self._due = max(self._due + self._seconds, now - LATE * self._seconds)

    def skip(self, seconds: float) -> None:
        """Shift the schedule by a pause of so many seconds."""
        self._due += seconds
        self._shown = deque(then + seconds for then in self._shown)

    @property
    def rate(self) -> float:
        """Return simulated seconds per real second over the last frames; 1 before there are two frames."""
        elapsed = self._shown[-1] - self._shown[0] if self._shown else 0.0
        return min(1.0, (len(self._shown) - 1) * self._seconds / elapsed) if elapsed > 0.0 else 1.0


class Hand:
    """The latest pull request from standard input, read on a separate thread."""

    def __init__(self, ending: Ending):
        self._ending = ending
        self._asked: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def hear(self) -> None:
        """Start to read standard input. Its end requests a stop."""
        threading.Thread(target=self._listen, name="hand", daemon=True).start()

    def take(self, line: bytes) -> None:
        """Handle a command, or store a pull request. Other lines are ignored."""
        if obey(line, self._ending):
            return
        try:
            request = json.loads(line)
        except ValueError:
            return
        if isinstance(request, dict) and "body" in request:
            self._asked.put(request)

    def newest(self) -> dict[str, Any] | None:
        """Return the latest pull request since the previous call; None if there was none."""
        found = None
        while not self._asked.empty():
            found = self._asked.get()
        return found

    def _listen(self) -> None:
        for line in lines_heard():
            self.take(line)
        self._ending.ask(PARENT_GONE)


class Recorder:
    """Writes frames to a cache, if there is one. A full disk ends the recording but not the simulation."""

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
        """Close the cache."""
        if self._writer is not None:
            self._writer.close()
        self._writer = None


class Player:
    """Runs a simulation in real time, with a mouse spring."""

    def __init__(self, simulation: Simulation, hand: Hand, ending: Ending):
        self._simulation, self._hand, self._ending = simulation, hand, ending
        self._clock = Clock(1.0 / simulation.spec.fps)
        self._can_be_pulled = {i for i, body in enumerate(simulation.spec.bodies) if body.kind is BodyKind.ACTIVE}
        self._pulls, self._strongest = 0, 0.0

    def run(self, recorder: Recorder) -> None:
        """Simulate until a stop is requested. Raises SceneError, StopAsked and ListenerGone."""
        frame = self._simulation.first_frame()
        while True:
            self._clock.tick()
            self._tell(frame)
            recorder.add(frame, self._simulation)
            while (time_left := self._clock.left()) > 0.0:
                self._wait()
                time.sleep(min(time_left, 0.01))
            frame = self._simulation.advance(self._before_step)

    def _before_step(self) -> None:
        self._note_force()
        self._wait()
        request = self._hand.newest()
        if request is not None:
            self._pull(request)

    def _wait(self) -> None:
        """Wait while the simulation is paused, and shift the schedule by that time. Raises StopAsked."""
        if not self._ending.pauses:
            self._ending.check()
            return
        begin = time.monotonic()
        self._ending.check()
        self._clock.skip(time.monotonic() - begin)

    def _pull(self, request: dict[str, Any]) -> None:
        import numpy as np

        from .dynamics.fields.pull import Pull

        before, self._simulation.pull = self._simulation.pull, None
        if request["body"] not in self._can_be_pulled:
            return
        try:
            point, to = (np.array(request[name], dtype=float) for name in ("point", "to"))
        except (KeyError, TypeError, ValueError):
            return
        if point.shape == to.shape == (3,) and np.isfinite([point, to]).all():
            self._simulation.pull = Pull(request["body"], point, to)
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
    """Simulate until a stop is requested.

    Parameters
    ----------
    spec : the scene
    settings : of its bakes; `settings_of_play` derives those of the interactive simulation
    hand : the pull requests
    ending : the stop request
    cache : a file for the frames; None to record none
    contacts : whether to record the contacts of each frame

    Raises
    ------
    SceneError : the scene cannot be simulated, or cannot continue
    StopAsked, ListenerGone
    """
    # Imported here because numba takes a while to load.
    from .compile.watch import Watch
    from .compile_all.small_scenes import load_kernels_of
    from .dynamics.simulation import Simulation

    settings, folder = settings_of_play(spec, settings), folder_of_kernels()
    with Watch(folder, emit_count):
        simulation = Simulation(spec, settings, keep_contacts=contacts)
        # If kernels are missing, do not wait for those that the scene may never call.
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
    """Return the settings of an interactive simulation: at most as many steps as in a bake, and no time limit for a step."""
    steps = max(1, min(settings.substeps, round(spec.time_scale / (spec.fps * STEP_OF_A_PLAY))))
    return replace(settings, substeps=steps, step_time_limit=0.0)


def main(argv: Sequence[str], ending: Ending) -> int:
    """Run the command. argv: the command line without the program name. Returns the exit status."""
    parser = Parser(prog="python -m solver_core.live", description="Plays a scene snapshot at the pace of the clock.")
    parser.add_argument("snapshot", metavar="SNAPSHOT", help="the scene and the solver settings")
    parser.add_argument("cache", metavar="CACHE", nargs="?", help="a frame cache for the simulated frames")
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
        return ExitStatus.DONE
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return ExitStatus.BAD_INPUT
    return ExitStatus.DONE


if __name__ == "__main__":
    prepare_streams()
    ending = Ending()
    hear_signals(ending)
    end_by_force(ending, ExitStatus.DONE)
    status = main(sys.argv[1:], ending)
    ending.done()
    flush_output()
    sys.exit(status)
