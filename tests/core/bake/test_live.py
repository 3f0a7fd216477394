# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene at the pace of the clock: frames come, a hand pulls, contact stays whole, the process ends with its parent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from solver_core.io.cache import FrameCacheReader
from solver_core.live import LATE, SECONDS_OF_RATE, Clock, Hand, play, settings_of_play
from solver_core.process.ending import Ending, StopAsked
from solver_core.scene.parts import ground
from solver_core.scene.spec import SolverSettings
from solver_core.scenes import card_house

from ..bodies import body, material, scene
from ..worker_runs import ROOT, snapshot

ROUGH = material(0.6)
PILE = scene(ground(ROUGH), *(body(f"Box {i}", position=(0.0, 0.0, 0.1 + 0.2 * i), material=ROUGH) for i in range(3)))


def started(path, *arguments):
    command = [sys.executable, "-m", "solver_core.live", path, *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1)


def events(process, kind):
    """The events of a kind, as they come."""
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == kind:
            yield event


def poses(event):
    return np.array(event["poses"]).reshape(-1, 7)


@pytest.mark.slow
def test_a_body_is_pulled_out_of_a_pile_and_the_others_come_down_without_overlap(tmp_path):
    process = started(snapshot(tmp_path, PILE, SolverSettings()))
    ready = next(events(process, "ready"))
    assert ready["bodies"] == ["Ground", "Box 0", "Box 1", "Box 2"] and ready["frame_rate"] == PILE.fps
    frames = events(process, "frame")
    still = poses(next(frames))
    process.stdin.write(json.dumps({"body": 2, "point": [0.0, 0.0, 0.0], "to": [0.6, 0.0, 0.3]}) + "\n")
    for event in frames:
        if event["frame"] == PILE.frame_start + 48:
            break
    then = poses(event)
    assert np.linalg.norm(still[2, :3] - [0.0, 0.0, 0.3]) < 1e-3
    assert then[2, 0] > 0.4
    # the upper one came down, onto or beside the lower one, whose friction it had
    assert then[3, 2] < 0.4 and then[3, 2] > 0.0999
    process.stdin.write('{"body": null}\n')
    for event in frames:
        if event["frame"] == PILE.frame_start + 96:
            break
    assert poses(event)[2, 2] == pytest.approx(0.1, abs=2e-3)
    process.stdin.close()
    assert process.wait(timeout=60) == 0


@pytest.mark.slow
def test_frames_come_no_faster_than_the_clock(tmp_path):
    process = started(snapshot(tmp_path, replace(PILE, fps=10.0), SolverSettings(substeps=2)))
    next(events(process, "ready"))
    import time

    frames = events(process, "frame")
    next(frames)
    begin = time.monotonic()
    for event in frames:
        if event["frame"] == PILE.frame_start + 5:
            break
    assert time.monotonic() - begin > 0.45
    process.stdin.write("stop\n")
    assert process.wait(timeout=60) == 0


@pytest.mark.slow
def test_a_scene_that_cannot_be_simulated_says_why(tmp_path):
    spec = replace(PILE, bodies=(PILE.bodies[0], replace(PILE.bodies[1], mass=-1.0)))
    process = started(snapshot(tmp_path, spec, SolverSettings()))
    (over,) = events(process, "over")
    assert "Box 0" in over["why"] and "mass" in over["why"]
    assert process.wait(timeout=60) == 2


def test_only_the_newest_place_of_the_hand_counts():
    hand = Hand(Ending())
    for x in range(3):
        hand.take(json.dumps({"body": 1, "point": [0, 0, 0], "to": [x, 0, 0]}).encode())
    assert hand.newest()["to"] == [2, 0, 0]
    assert hand.newest() is None


@pytest.mark.parametrize("line", [b"", b"{", b"[1, 2]", b'"body"', b"null", b"\xff\xfe", b"3"])
def test_what_is_no_order_is_left_alone(line):
    hand = Hand(Ending())
    hand.take(line)
    assert hand.newest() is None


def test_stop_is_obeyed():
    ending = Ending()
    Hand(ending).take(b"stop")
    with pytest.raises(StopAsked):
        ending.check()


@pytest.fixture
def now(monkeypatch):
    """A clock that stands, until a test sets it."""
    seconds = [100.0]
    monkeypatch.setattr("solver_core.live.time", SimpleNamespace(monotonic=lambda: seconds[0]))
    return seconds


def test_frames_keep_the_pace_and_one_that_is_far_behind_is_not_made_up_for(now):
    clock = Clock(1.0)
    clock.tick()
    now[0] += 1.5
    clock.tick()
    assert clock.left() == pytest.approx(0.5)
    now[0] += 10.0
    clock.tick()
    assert clock.left() == pytest.approx(-LATE)


def test_the_rate_is_that_of_the_last_second(now):
    clock = Clock(0.1)
    assert clock.rate == 1.0
    for _ in range(20):
        clock.tick()
        now[0] += 0.25
    assert clock.rate == pytest.approx(0.4)
    for _ in range(round(SECONDS_OF_RATE / 0.1) + 2):
        clock.tick()
        now[0] += 0.1
    assert clock.rate == pytest.approx(1.0)
    # one frame that takes longer than all that the rate looks at
    clock.tick()
    now[0] += 5.0
    clock.tick()
    assert clock.rate < 0.1


def test_a_pause_is_no_slow_motion(now):
    clock = Clock(0.1)
    for _ in range(5):
        clock.tick()
        now[0] += 0.1
    now[0] += 60.0
    clock.skip(60.0)
    clock.tick()
    assert clock.rate == pytest.approx(1.0) and clock.left() == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("fps", "time_scale", "substeps", "steps"), [(24, 1, 10, 5), (60, 1, 10, 2), (24, 1, 3, 3), (24, 0.1, 10, 1)]
)
def test_a_play_has_no_more_steps_than_about_120_a_second(fps, time_scale, substeps, steps):
    spec = replace(PILE, fps=float(fps), time_scale=float(time_scale))
    assert settings_of_play(spec, SolverSettings(substeps=substeps)).substeps == steps


class Dawdling(SimpleNamespace):
    """A clock of a machine on which every look at it takes ten seconds."""

    def __init__(self):
        self.seconds = 0.0
        super().__init__(monotonic=self.look, sleep=lambda _seconds: None)

    def look(self):
        self.seconds += 10.0
        return self.seconds


@pytest.mark.slow
def test_no_load_of_the_machine_decides_what_stands(monkeypatch):
    """The card house fell by itself in the window, because steps were cut short when the machine was busy."""
    frames, last = [], 12

    class Listener(Ending):
        def check(self):
            super().check()
            if frames and frames[-1]["frame"] >= last:
                self.ask("enough")

    def emit(event, **values):
        if event == "frame":
            frames.append(values)

    monkeypatch.setattr("solver_core.live.emit", emit)
    monkeypatch.setattr("solver_core.live.time", Dawdling())
    house, ending = card_house(levels=2), Listener()
    with pytest.raises(StopAsked):
        play(house, SolverSettings(step_time_limit=1e-9), Hand(ending), ending)
    assert frames[-1]["rate"] < 0.01 and not any(frame["missed"] for frame in frames)
    moved = poses(frames[-1])[:, :3] - poses(frames[0])[:, :3]
    assert np.abs(moved).max() < 1e-4


@pytest.mark.slow
def test_what_was_played_can_be_kept_with_the_pulls(tmp_path):
    cache = tmp_path / "play.cache"
    process = started(snapshot(tmp_path, PILE, SolverSettings()), str(cache), "--contacts")
    frames = events(process, "frame")
    process.stdin.write(json.dumps({"body": 3, "point": [0.0, 0.0, 0.0], "to": [0.0, 0.0, 0.9]}) + "\n")
    told = {}
    for event in frames:
        told[event["frame"]] = event
        if event["frame"] == PILE.frame_start + 36:
            break
    process.stdin.close()
    assert process.wait(timeout=60) == 0
    reader = FrameCacheReader(cache)
    assert reader.frames[0] == PILE.frame_start and set(told) <= set(reader.frames) and reader.has_contacts
    for number, event in told.items():
        np.testing.assert_allclose(reader.read(number).poses, poses(event), atol=1e-7)
    # it hangs from the hand: the force is its weight
    weight = 9.81 * PILE.bodies[3].mass
    assert event["pulls"] == 1 and event["strongest"] > weight
    np.testing.assert_allclose(event["force"], [0.0, 0.0, weight], atol=0.15 * weight)


# of a doll that falls, whose kernels are those of contacts, joints, rolling and impacts
LOADED = """
from numba.core.caching import Cache
from solver_core import Simulation
from solver_core.compile_all.small_scenes import load_kernels_of
from tests.core.bodies import material
from tests.core.dolls import doll, together
from solver_core.scene.parts import ground

scene = together(doll((0.0, 0.0, 0.95)), bodies=(ground(material(0.5)),))
load_kernels_of(scene)
simulation, loaded, load = Simulation(scene, substeps=5), [], Cache.load_overload
Cache.load_overload = lambda cache, *arguments: loaded.append(cache._name) or load(cache, *arguments)
simulation.run(36)
print(loaded)
"""


@pytest.mark.slow
def test_no_kernel_is_loaded_while_a_scene_plays():
    command, environment = [sys.executable, "-c", LOADED], os.environ | {"PYTHONPATH": str(ROOT)}
    told = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.split("\n")[0] == "[]"
