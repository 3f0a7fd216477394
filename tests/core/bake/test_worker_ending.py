# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker ends within seconds when it is asked to or its parent is gone, wherever it is; what it leaves goes on to the same
bits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from solver_core.io.cache import FrameCacheReader
from solver_core.io.snapshot import write_snapshot
from solver_core.process.command_line import ExitStatus
from solver_core.process.ending import GRACE_SECONDS
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec, SolverSettings
from solver_core.worker import main

from ..worker_runs import DOUBLE, SECONDS_TO_END, poses

ROOT = Path(__file__).resolve().parents[3]
POSIX_ONLY = pytest.mark.skipif(sys.platform == "win32", reason="Windows ends processes without a signal that they could see")
# s: a time for the bake to end by itself that nobody waits for here, if it does end by itself, or need not
LONG_GRACE = 600.0

SPHERE = ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=0.1)
BALL = BodySpec("Ball", BodyKind.ACTIVE, SPHERE, position=np.array([0.0, 0.0, 1.0]), mass=1.0)
SPEC = SceneSpec((BodySpec("Floor", BodyKind.PASSIVE, ShapeSpec(ShapeKind.PLANE)), BALL), frame_start=1, frame_end=12)
SETTINGS = SolverSettings(substeps=4)

# What starts a worker, and holds its standard input. Both share our end of standard output: it ends when both are gone.
PARENT = """
import subprocess, sys
subprocess.Popen([sys.executable, *sys.argv[1:], "--parent-pipe"], stdin=subprocess.PIPE).wait()
"""


def worker(place, folder, *arguments, frames=SPEC.frame_end, grace=0.5):
    """The command of a worker that takes half an hour at a place: in the third step of the fifth frame, compiling, or nowhere.

    grace: s, in which the bake may end by itself; None is the usual. Half a second keeps the tests short.
    """
    snapshot = folder / "scene.snapshot"
    write_snapshot(snapshot, SceneSpec(SPEC.bodies, frame_start=1, frame_end=frames), SETTINGS)
    program = ["-m", "solver_core.worker"] if grace is None else ["-c", DOUBLE, place, str(grace)]
    return [*program, str(snapshot), str(folder / "cache"), *map(str, arguments)]


def start(*command, **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([sys.executable, *command], cwd=ROOT, **pipes)


def heard_until(process, **wanted):
    """Wait for an event with these values."""
    for line in process.stdout:
        if wanted.items() <= json.loads(line).items():
            return
    raise AssertionError(f"the worker ended before {wanted}: {process.stderr.read()}")


def reach(place, process):
    heard_until(process, **({"event": "compiling"} if place == "compiling" else {"event": "frame", "frame": 4}))
    # so that it is in that step, most likely; it ends in time in any case
    time.sleep(0.2)


def rest_of(process):
    """The events it still tells, its errors, and the seconds until everybody who could tell any is gone."""
    begin = time.monotonic()
    said, errors = process.stdout.read(), process.stderr.read()
    seconds = time.monotonic() - begin
    process.wait(timeout=60)
    return [json.loads(line) for line in said.splitlines()], errors, seconds


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The frames of a bake that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    assert main(worker("nowhere", folder, grace=None)[2:]) == ExitStatus.DONE
    return poses(folder / "cache")


def assert_goes_on(folder, whole):
    """The cache has nothing but sound frames, and resuming it gives the bits of a bake in one go."""
    reader = FrameCacheReader(folder / "cache")
    assert reader.damage is None
    assert poses(folder / "cache") == whole[: len(reader.frames)]
    assert main([str(folder / "scene.snapshot"), str(folder / "cache"), "--resume"]) == ExitStatus.DONE
    assert poses(folder / "cache") == whole


@pytest.mark.slow
@POSIX_ONLY
@pytest.mark.parametrize("place", ["step", "compiling"])
def test_one_signal_ends_a_step_of_half_an_hour_with_report_status_and_whole_files(place, tmp_path, whole):
    process = start(*worker(place, tmp_path, "--report", tmp_path / "report.json"))
    reach(place, process)
    process.send_signal(signal.SIGTERM)
    events, errors, seconds = rest_of(process)
    assert process.returncode == ExitStatus.FAILED and errors == "" and seconds < SECONDS_TO_END
    last = 4 if place == "step" else None
    assert events[-1] == {"event": "stopped", "frame": last, "reason": "SIGTERM"}
    assert "SIGTERM" in json.loads((tmp_path / "report.json").read_text())["error"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "report.json", "scene.snapshot"]
    assert_goes_on(tmp_path, whole)


@pytest.mark.slow
@POSIX_ONLY
def test_a_second_signal_does_not_wait(tmp_path):
    process = start(*worker("step", tmp_path, grace=LONG_GRACE))
    reach("step", process)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
    events, errors, seconds = rest_of(process)
    assert process.returncode == ExitStatus.FAILED and errors == "" and seconds < SECONDS_TO_END
    assert events[-1] == {"event": "stopped", "frame": 4, "reason": "SIGINT"}


@pytest.mark.parametrize(
    ("place", "grace"),
    [
        ("step", 0.5),
        pytest.param("step", GRACE_SECONDS, marks=pytest.mark.slow),
        pytest.param("compiling", GRACE_SECONDS, marks=pytest.mark.slow),
    ],
)
def test_a_worker_ends_with_its_parent_wherever_it_is(place, grace, tmp_path, whole):
    command = worker(place, tmp_path, "--report", tmp_path / "report.json", grace=grace)
    parent = start("-c", PARENT, *command)
    reach(place, parent)
    parent.kill()  # SIGKILL, which it does not hear
    _, errors, seconds = rest_of(parent)
    assert seconds < SECONDS_TO_END and errors == ""
    assert "resume" in json.loads((tmp_path / "report.json").read_text())["error"]
    assert_goes_on(tmp_path, whole)


@pytest.mark.slow
@pytest.mark.parametrize("delay", np.random.default_rng(7).uniform(0.0, 1.5, 4))
def test_a_worker_ends_with_its_parent_at_any_moment(delay, tmp_path, whole):
    """Also before it has read its arguments, and between frames."""
    command = worker("nowhere", tmp_path, frames=1_000_000, grace=None)
    parent = start("-c", PARENT, *command)
    time.sleep(delay)
    parent.kill()
    assert rest_of(parent)[2] < SECONDS_TO_END
    if (tmp_path / "cache").exists():
        assert FrameCacheReader(tmp_path / "cache").damage is None


@pytest.mark.long
def test_who_holds_the_pipe_can_end_the_bake_by_closing_it(tmp_path):
    process = start(*worker("nowhere", tmp_path, "--parent-pipe", frames=1_000_000, grace=LONG_GRACE), stdin=subprocess.PIPE)
    heard_until(process, event="frame", frame=3)
    process.stdin.close()
    events, errors, seconds = rest_of(process)
    assert process.returncode == ExitStatus.FAILED and errors == "" and seconds < SECONDS_TO_END
    assert events[-1]["event"] == "stopped" and events[-1]["frame"] == FrameCacheReader(tmp_path / "cache").frames[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "closed", [pytest.param(False, marks=pytest.mark.long, id="/dev/null"), pytest.param(True, id="closed")]
)
def test_without_the_option_standard_input_means_nothing(closed, tmp_path, whole):
    if closed and sys.platform == "win32":
        pytest.skip("a process has a standard input there")
    close = (lambda: os.close(0)) if closed else None
    process = start(*worker("nowhere", tmp_path, grace=None), stdin=subprocess.DEVNULL, preexec_fn=close)
    assert rest_of(process)[0][-1]["event"] == "finished" and process.returncode == ExitStatus.DONE
    assert poses(tmp_path / "cache") == whole


@pytest.mark.slow
def test_a_bake_waits_between_two_steps_for_as_long_as_it_is_told_to_and_has_the_same_bits(tmp_path, whole):
    process = start(*worker("nowhere", tmp_path, "--parent-pipe", grace=None), stdin=subprocess.PIPE)
    process.stdin.write("pause\n")
    process.stdin.flush()
    heard_until(process, event="paused")
    frames = len(FrameCacheReader(tmp_path / "cache").frames)
    # On a busy machine the thread that counts kernels may still be at it when the bake pauses.
    assert any(seconds_used_in_half_a_second(process) < 0.05 for _ in range(4))
    assert len(FrameCacheReader(tmp_path / "cache").frames) == frames < SPEC.frame_end
    process.stdin.write("continue\n")
    process.stdin.flush()
    events, _, _ = rest_of(process)
    assert events[-1]["event"] == "finished" and poses(tmp_path / "cache") == whole


def seconds_used_in_half_a_second(process):
    before = seconds_used_by(process)
    time.sleep(0.5)
    return seconds_used_by(process) - before


def seconds_used_by(process):
    """Of processor time, where the system tells."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
def test_a_bake_that_waits_ends_with_whoever_started_it(tmp_path, whole):
    process = start(*worker("nowhere", tmp_path, "--parent-pipe", frames=400, grace=None), stdin=subprocess.PIPE)
    process.stdin.write("pause\n")
    process.stdin.flush()
    heard_until(process, event="paused")
    process.stdin.close()
    events, _, seconds = rest_of(process)
    assert events[-1]["event"] == "stopped" and seconds < SECONDS_TO_END
