# SPDX-License-Identifier: GPL-3.0-or-later
"""A snapshot settles in a process: events, exit status, and the end of whoever asked for it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from solver_core import settle_file
from solver_core.process.ending import Ending
from solver_core.scene.parts import ground
from solver_core.scene.spec import SolverSettings

from ..bodies import body, material, scene
from ..worker_runs import ROOT, snapshot

ROUGH = material(0.6)
DROP = scene(ground(ROUGH), body("Box", position=(0.0, 0.0, 0.5), material=ROUGH))


@pytest.fixture
def settled(tmp_path, capsys):
    """Settles a scene in this process: exit status and events."""

    def run(*arguments, spec=DROP):
        status = settle_file.main([snapshot(tmp_path, spec, SolverSettings()), *arguments], Ending())
        return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


@pytest.mark.slow
def test_poses_and_who_rests_are_told(settled):
    status, events = settled()
    last = events[-1]
    assert status == 0 and last["event"] == "settled"
    assert last["bodies"] == ["Ground", "Box"] and last["rests"] == [True, True] and last["moving"] == [False, True]
    assert np.array(last["poses"])[1, 2] == pytest.approx(0.1, abs=1e-4)
    progress = [event for event in events if event["event"] == "progress"]
    assert progress[-1]["resting"] == 1 and progress[0]["moving"] == 1


@pytest.mark.slow
def test_time_that_is_up_is_told_by_the_status(settled):
    status, events = settled("--seconds", "0.1")
    assert status == 3 and events[-1]["rests"] == [True, False]


@pytest.mark.slow
def test_a_scene_that_cannot_be_simulated_is_refused_by_name(settled):
    bad = replace(DROP, bodies=(DROP.bodies[0], replace(DROP.bodies[1], mass=-1.0)))
    status, events = settled(spec=bad)
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
