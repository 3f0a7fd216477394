# SPDX-License-Identifier: GPL-3.0-or-later
"""A snapshot settles in a process: events, exit status, and the end of whoever asked for it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from solver_core.scene.parts import ground
from solver_core.scene.spec import SolverSettings

from ..bodies import body, material, scene
from ..worker_runs import ROOT, snapshot

ROUGH = material(0.6)
DROP = scene(ground(ROUGH), body("Box", position=(0.0, 0.0, 0.5), material=ROUGH))


def settled(*arguments, spec=DROP, folder=None):
    command = [sys.executable, "-m", "solver_core.settle_file", snapshot(folder, spec, SolverSettings()), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_poses_and_who_rests_are_told(tmp_path):
    status, events = settled(folder=tmp_path)
    last = events[-1]
    assert status == 0 and last["event"] == "settled"
    assert last["bodies"] == ["Ground", "Box"] and last["rests"] == [True, True] and last["moving"] == [False, True]
    assert np.array(last["poses"])[1, 2] == pytest.approx(0.1, abs=1e-4)
    progress = [event for event in events if event["event"] == "progress"]
    assert progress[-1]["resting"] == 1 and progress[0]["moving"] == 1


@pytest.mark.slow
def test_time_that_is_up_is_told_by_the_status(tmp_path):
    status, events = settled("--seconds", "0.1", folder=tmp_path)
    assert status == 3 and events[-1]["rests"] == [True, False]


@pytest.mark.slow
def test_a_scene_that_cannot_be_simulated_is_refused_by_name(tmp_path):
    bad = replace(DROP, bodies=(DROP.bodies[0], replace(DROP.bodies[1], mass=-1.0)))
    status, events = settled(spec=bad, folder=tmp_path)
    assert status == 2 and events[-1]["event"] == "error"
    assert [(one["object"], one["field"]) for one in events[-1]["problems"]] == [("Box", "mass")]


@pytest.mark.slow
def test_it_ends_with_whoever_started_it(tmp_path):
    path = snapshot(tmp_path, replace(DROP, gravity=np.array([0.0, 0.0, -1e-6])), SolverSettings())
    command = [sys.executable, "-m", "solver_core.settle_file", path, "--seconds", "100000", "--parent-pipe"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        while json.loads(process.stdout.readline())["event"] != "progress":
            pass
        process.stdin.close()
        assert process.wait(timeout=60) == 1
