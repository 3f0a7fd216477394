# SPDX-License-Identifier: GPL-3.0-or-later
"""One process bakes scene after scene as a fresh one would each, holds nothing between them, and ends with who started it."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from solver_core import warm_worker, worker
from solver_core.io.cache import FrameCacheReader
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.process.command_line import ExitStatus
from solver_core.process.memory import most_memory
from solver_core.scene.spec import ContactMethod, SolverSettings
from solver_core.warm_worker import Orders

from ..worker_runs import DOUBLE, LONG, ROOT, SECONDS_TO_END, SETTINGS, SPEC, bake, lines, poses, scene, snapshot

POSIX_ONLY = pytest.mark.skipif(sys.platform == "win32", reason="Windows ends processes without a signal that they could see")
BY_EACH_METHOD = (SETTINGS, SolverSettings(substeps=4, method=ContactMethod.PIVOT))
# What starts one, asks it for a bake, and holds its standard input.
PARENT = """
import json, subprocess, sys
process = subprocess.Popen([sys.executable, "-m", "solver_core.warm_worker"], stdin=subprocess.PIPE, text=True)
process.stdin.write(json.dumps(sys.argv[1:]) + "\\n")
process.stdin.flush()
process.wait()
"""


@pytest.fixture(scope="module", autouse=True)
def alone(tmp_path_factory):
    """The scene by each method, baked by the worker in this process: (snapshot, names of events, poses).

    So what the bakes here call has been compiled before: that takes so much memory that a process ends after it.
    """
    found = []
    for settings in BY_EACH_METHOD:
        folder = tmp_path_factory.mktemp("alone")
        written = snapshot(folder, settings=settings)
        with redirect_stdout(io.StringIO()) as said:
            assert worker.main([written, str(folder / "cache"), "--contacts"]) == ExitStatus.DONE
        found.append((written, [event["event"] for event in lines(said.getvalue())], poses(folder / "cache")))
    return found


@pytest.fixture
def start():
    """Starts a process; all of them have ended after the test."""
    started = []

    def begin(*command):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = command or ("-m", "solver_core.warm_worker")
        started.append(subprocess.Popen([sys.executable, *command], cwd=ROOT, text=True, **pipes))
        return started[-1]

    yield begin
    for process in started:
        with process:
            process.kill()


@pytest.fixture(scope="module")
def kept():
    """One process for the tests that leave it."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-m", "solver_core.warm_worker"], cwd=ROOT, text=True, **pipes) as process:
        yield process
        process.kill()


def say(process, line):
    process.stdin.write(line + "\n")
    process.stdin.flush()


def ask(process, *arguments):
    say(process, json.dumps([str(argument) for argument in arguments]))


def heard_until(process, **wanted):
    """The events up to the first with these values, without counts of kernels, which another process may compile."""
    events = []
    for line in process.stdout:
        events += lines(line)
        if events and wanted.items() <= events[-1].items():
            return events
    raise AssertionError(f"it ended before {wanted}, after {events}: {process.stderr.read()}")


def wait_for_end(process):
    """Its exit status; all that it has to say fits into the pipes, or is read."""
    return process.wait(timeout=SECONDS_TO_END)


@pytest.mark.slow
def test_every_bake_is_told_and_has_the_bits_as_in_a_process_of_its_own(kept, alone, tmp_path):
    process = kept
    for number, (written, said, motion) in enumerate((*alone, alone[0])):
        ask(process, written, tmp_path / f"{number}", "--contacts", "--report", tmp_path / f"{number}.json")
        *events, ended = heard_until(process, event="ended")
        assert ended["status"] == ExitStatus.DONE and events[-1]["event"] == "finished"
        assert [event["event"] for event in events] == said
        assert poses(tmp_path / f"{number}") == motion
        assert len(json.loads((tmp_path / f"{number}.json").read_text())["frames"]) == SPEC.frame_end
    assert alone[0][2] != alone[1][2]


def test_no_cache_is_open_and_locked_between_two_bakes(kept, tmp_path):
    process = kept
    for how in ([], ["--resume"]):
        ask(process, snapshot(tmp_path), tmp_path / "cache", *how)
        heard_until(process, event="ended")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "scene.snapshot"]
        FrameCacheWriter.resume(tmp_path / "cache", FrameCacheReader(tmp_path / "cache").info.digest).close()
        if sys.platform.startswith("linux"):
            handles = Path(f"/proc/{process.pid}/fd")
            assert not [file for file in map(os.readlink, handles.iterdir()) if file.startswith(str(tmp_path))]


@pytest.mark.slow
def test_a_bake_that_is_stopped_leaves_the_process_and_a_word_that_comes_late_means_nothing(kept, tmp_path):
    process = kept
    ask(process, snapshot(tmp_path, LONG), tmp_path / "long")
    heard_until(process, event="frame", frame=3)
    say(process, "stop")
    *_, stopped, ended = heard_until(process, event="ended")
    assert stopped["event"] == "stopped" and stopped["frame"] == FrameCacheReader(tmp_path / "long").frames[-1] < LONG.frame_end
    assert ended["status"] == ExitStatus.FAILED
    say(process, "stop")
    say(process, "pause")
    (tmp_path / "short").mkdir()
    ask(process, snapshot(tmp_path / "short"), tmp_path / "short" / "cache")
    assert heard_until(process, event="ended")[-1]["status"] == ExitStatus.DONE
    ask(process, snapshot(tmp_path, LONG), tmp_path / "long", "--resume")
    assert heard_until(process, event="started")[-1]["resumed_from"] == stopped["frame"]
    say(process, "stop")
    heard_until(process, event="ended")


@pytest.mark.slow
def test_the_second_bake_waits_and_goes_on_as_the_first_does(kept, tmp_path):
    process = kept
    for _ in range(2):
        ask(process, snapshot(tmp_path), tmp_path / "cache")
        say(process, "pause")
        heard_until(process, event="paused")
        say(process, "continue")
        assert heard_until(process, event="ended")[-1]["status"] == ExitStatus.DONE


@pytest.mark.slow
def test_a_step_of_half_an_hour_in_the_second_bake_is_ended_by_force_with_whole_files(start, tmp_path):
    process = start("-c", DOUBLE.replace("solver_core.worker", "solver_core.warm_worker"), "step", "0.5")
    (tmp_path / "before").mkdir()
    ask(process, snapshot(tmp_path / "before", scene(3)), tmp_path / "before" / "cache")
    heard_until(process, event="ended")
    ask(process, snapshot(tmp_path), tmp_path / "cache")
    heard_until(process, event="frame", frame=4)
    time.sleep(0.2)
    say(process, "stop")
    heard_until(process, event="stopped", frame=4)
    assert wait_for_end(process) == ExitStatus.FAILED
    assert FrameCacheReader(tmp_path / "cache").damage is None


@pytest.mark.slow
@pytest.mark.parametrize("moment", [pytest.param("idle", marks=pytest.mark.long), "busy"])
def test_it_ends_with_its_input(start, tmp_path, moment):
    process = start()
    ask(process, snapshot(tmp_path, LONG if moment == "busy" else SPEC), tmp_path / "cache")
    heard_until(process, **({"event": "ended"} if moment == "idle" else {"event": "frame", "frame": 2}))
    process.stdin.close()
    rest = process.stdout.read()
    assert wait_for_end(process) == ExitStatus.FAILED and process.stderr.read() == ""
    assert ('"stopped"' in rest) == (moment == "busy") and '"ended"' not in rest
    assert FrameCacheReader(tmp_path / "cache").damage is None


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["idle", pytest.param("busy", marks=pytest.mark.slow)])
def test_it_ends_when_its_parent_is_killed(start, tmp_path, moment):
    spec, until = (LONG, {"event": "frame", "frame": 2}) if moment == "busy" else (SPEC, {"event": "ended"})
    parent = start("-c", PARENT, snapshot(tmp_path, spec), str(tmp_path / "cache"))
    heard_until(parent, **until)
    begin = time.monotonic()
    parent.kill()
    # both have our end of standard output: it ends when both are gone
    parent.stdout.read()
    assert time.monotonic() - begin < SECONDS_TO_END
    assert FrameCacheReader(tmp_path / "cache").damage is None


@pytest.mark.slow
@POSIX_ONLY
@pytest.mark.parametrize(
    ("number", "busy"),
    [
        (signal.SIGTERM, False),
        pytest.param(signal.SIGINT, False, marks=pytest.mark.long),
        *(pytest.param(number, True, marks=pytest.mark.long) for number in (signal.SIGTERM, signal.SIGINT)),
    ],
)
def test_a_signal_ends_the_process_also_between_two_bakes_and_in_the_second(start, tmp_path, number, busy):
    process = start()
    ask(process, snapshot(tmp_path), tmp_path / "cache")
    heard_until(process, event="ended")
    if busy:
        ask(process, snapshot(tmp_path, LONG), tmp_path / "long")
        heard_until(process, event="frame", frame=2)
    process.send_signal(number)
    rest = process.stdout.read()
    assert wait_for_end(process) == ExitStatus.FAILED and process.stderr.read() == ""
    assert (signal.Signals(number).name in rest) == busy


def test_a_bake_that_is_refused_ends_the_process_with_the_status_that_it_has_alone(start, capsys, tmp_path):
    process = start()
    ask(process, tmp_path / "nothing", tmp_path / "cache")
    said = [json.loads(line) for line in process.stdout.read().splitlines()]
    status, alone = bake(capsys, tmp_path / "nothing", tmp_path / "cache")
    assert (wait_for_end(process), said) == (status, alone) and status == ExitStatus.BAD_INPUT


@pytest.mark.parametrize("line", ["nonsense", "[1", "3"])
def test_what_is_no_bake_ends_it_with_a_trace(start, line):
    process = start()
    say(process, line)
    assert wait_for_end(process) != ExitStatus.DONE and "Traceback" in process.stderr.read()


class Asked(Orders):
    """Orders of a test, in this process."""

    def __init__(self, *bakes):
        super().__init__()
        for arguments in bakes:
            self._take(json.dumps([str(argument) for argument in arguments]).encode())


def test_a_bake_that_took_much_memory_is_the_last(monkeypatch, tmp_path, capsys):
    job = snapshot(tmp_path), tmp_path / "cache"
    monkeypatch.setattr(warm_worker, "MOST_MEMORY", most_memory() - 1)
    assert warm_worker.main(Asked(job, job)) == ExitStatus.DONE
    said = capsys.readouterr().out
    assert said.count('"finished"') == 1 and '"ended"' not in said


def test_nobody_takes_the_end_of_one_that_waited_for_nothing_for_a_bake_that_went_well(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(warm_worker, "SECONDS_TO_STAY", 0.1)
    monkeypatch.setattr(warm_worker, "MOST_MEMORY", 1 << 60)
    assert warm_worker.main(Asked((snapshot(tmp_path), tmp_path / "cache"))) == ExitStatus.FAILED
    assert '"ended"' in capsys.readouterr().out


def test_memory_is_counted_at_its_most():
    before = most_memory()
    assert 1 << 24 < before < 1 << 36
    len(b"x" * (before + (1 << 25)))
    assert most_memory() > before + (1 << 24)
