# SPDX-License-Identifier: GPL-3.0-or-later
"""The worker bakes, can be killed at any moment, and goes on with the same bits."""

from __future__ import annotations

import dataclasses
import json
import signal
import sys
import time

import numpy as np
import pytest

from solver_core.dynamics.simulation import Simulation
from solver_core.io.cache import FrameCacheReader
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.container import locate_chunk
from solver_core.process.command_line import ExitStatus
from solver_core.process.ending import Ending
from solver_core.worker import main

from ..worker_runs import FRAMES, LONG, SETTINGS, SPEC, bake, bake_until, lines, rest_of, scene, snapshot, start


def motion(path):
    """Every pose and velocity of a cache, and its last checkpoint, as bytes."""
    with FrameCacheWriter.resume(path, FrameCacheReader(path).info.digest) as writer:
        assert writer.last is not None and writer.last.checkpoint is not None
        assert writer.last.checkpoint.frame == writer.last.frame
        checkpoint = {name: array.tobytes() for name, array in writer.last.checkpoint.arrays.items()}
    return [(frame.frame, frame.poses.tobytes(), frame.velocities.tobytes()) for frame in FrameCacheReader(path)], checkpoint


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """A bake that nothing disturbed, in a process of its own: its folder, exit status and events."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    process = start(snapshot(folder), folder / "cache", "--report", folder / "report.json")
    out, err = process.communicate(timeout=900)
    assert process.returncode in (ExitStatus.DONE, ExitStatus.MISSED_TOLERANCE), err
    return folder, process.returncode, lines(out)


def test_a_bake_tells_its_story_in_order(uninterrupted):
    folder, status, events = uninterrupted
    assert status == ExitStatus.DONE
    assert [event["event"] for event in events] == ["compiling", "started", *["frame"] * len(FRAMES), "finished"]
    assert events[1] == {"event": "started", "frame_start": 1, "frame_end": 12, "resumed_from": None, "bodies": 6}
    frames = events[2:-1]
    assert [frame["frame"] for frame in frames] == list(FRAMES)
    assert max(frame["contacts"] for frame in frames) >= 8
    assert all(frame["worst_error"] <= SETTINGS.tolerance and frame["missed"] == 0 for frame in frames)
    assert events[-1]["frames"] == len(FRAMES) and events[-1]["missed_steps"] == 0
    assert FrameCacheReader(folder / "cache").frames == FRAMES


def test_the_report_has_every_frame_of_the_cache(uninterrupted):
    folder, _, events = uninterrupted
    report = json.loads((folder / "report.json").read_text())
    assert [row["frame"] for row in report["frames"]] == list(FRAMES)
    assert [row["contacts"] for row in report["frames"]] == [event["contacts"] for event in events if event["event"] == "frame"]
    assert report["missed"] == [] and report["warnings"] == []
    assert report["scene"]["bodies"] == {"active": 4, "passive": 1, "animated": 1}


def test_a_second_bake_in_another_process_gives_the_same_bits(uninterrupted, tmp_path, capsys):
    status, _ = bake(capsys, snapshot(tmp_path), tmp_path / "cache")
    assert status == ExitStatus.DONE
    assert motion(tmp_path / "cache") == motion(uninterrupted[0] / "cache")


@pytest.mark.slow
def test_a_killed_bake_loses_no_frame_that_it_told_of_and_goes_on_with_the_same_bits(tmp_path, capsys):
    source = snapshot(tmp_path, LONG)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = bake_until(4, source, killed)
    process.kill()
    process.communicate()
    done = FrameCacheReader(killed).frames[-1]
    assert 4 <= done < LONG.frame_end
    status, events = bake(capsys, source, killed, "--resume", "--report", tmp_path / "killed.json")
    assert next(event for event in events if event["event"] == "started")["resumed_from"] == done
    # all in its first minute, so there is no checkpoint yet
    assert [event["frame"] for event in events if event["event"] == "repeated"] == list(range(1, done + 1))
    assert [event["frame"] for event in events if event["event"] == "frame"] == list(range(done + 1, LONG.frame_end + 1))
    assert events[-1]["frames"] == LONG.frame_end
    assert status == bake(capsys, source, whole, "--report", tmp_path / "whole.json")[0] == ExitStatus.DONE
    assert motion(killed) == motion(whole)
    reports = [without_seconds(json.loads((tmp_path / name).read_text())) for name in ("killed.json", "whole.json")]
    assert reports[0] == reports[1]


def test_frames_behind_the_newest_checkpoint_are_simulated_once_more_and_stay(uninterrupted, tmp_path, capsys):
    cache = tmp_path / "cache"
    begun(cache, uninterrupted, 5)
    begin = cache.read_bytes()
    status, events = bake(capsys, snapshot(tmp_path), cache, "--resume")
    assert status == ExitStatus.DONE
    again = [(event["frame"], event["last"]) for event in events if event["event"] == "repeated"]
    assert again == [(number, 5) for number in range(1, 6)]
    assert [event["frame"] for event in events if event["event"] == "frame"] == list(range(6, SPEC.frame_end + 1))
    assert cache.read_bytes()[: len(begin)] == begin
    assert motion(cache) == motion(uninterrupted[0] / "cache")


def test_where_a_frame_comes_out_otherwise_it_is_said_and_the_bake_goes_on_from_there(uninterrupted, tmp_path, capsys):
    """So nothing jumps between the frames of one machine and those of another."""
    cache = tmp_path / "cache"
    begun(cache, uninterrupted, 6, spoil=4)
    status, events = bake(capsys, snapshot(tmp_path), cache, "--resume")
    assert status == ExitStatus.DONE
    assert [event["frame"] for event in events if event["event"] == "frame"] == list(range(4, SPEC.frame_end + 1))
    warning = next(event for event in events if event["event"] == "warning")
    assert "frame 4 came out different" in warning["message"]
    assert motion(cache) == motion(uninterrupted[0] / "cache")


def test_of_a_bake_that_goes_on_every_frame_is_told_as_in_one_go(uninterrupted, tmp_path, capsys):
    cache, simulation = tmp_path / "cache", Simulation(SPEC, SETTINGS)
    with FrameCacheWriter.create(cache, SPEC, SETTINGS) as writer:
        for number in range(1, 7):
            writer.append(simulation.first_frame() if number == 1 else simulation.advance(), simulation.checkpoint())
            if number == 3:
                writer.keep_checkpoint()
    status, events = bake(capsys, snapshot(tmp_path), cache, "--resume")
    assert status == ExitStatus.DONE
    told = [event for event in events if event["event"] in ("kept", "repeated", "frame")]
    assert [event["event"] for event in told] == ["kept"] * 3 + ["repeated"] * 3 + ["frame"] * 6
    in_one_go = [event for event in uninterrupted[2] if event["event"] == "frame"]
    of_the_run = ("event", "last", "seconds", "size")
    figures = [[{name: event[name] for name in event if name not in of_the_run} for event in run] for run in (told, in_one_go)]
    assert figures[0] == figures[1]


def begun(cache, uninterrupted, last, spoil=None):
    """The first frames of a bake, as they are found after it was killed in its first minute; one may be off by a bit."""
    frames = [frame for frame in FrameCacheReader(uninterrupted[0] / "cache") if frame.frame <= last]
    with FrameCacheWriter.create(cache, SPEC, SETTINGS) as writer:
        for frame in frames:
            if frame.frame == spoil:
                frame.poses[1, 0] = np.nextafter(frame.poses[1, 0], 9.0)
            writer.append(frame, {})


def last_of_kind(path, kind):
    places, end = [], 0
    with open(path, "rb") as file:
        while (place := locate_chunk(file, end)) is not None:
            places.append(place)
            end = place.end
    return [place for place in places if place.kind == kind][-1]


def without_seconds(value):
    if isinstance(value, dict):
        return {key: without_seconds(item) for key, item in value.items() if key != "seconds"}
    return [without_seconds(item) for item in value] if isinstance(value, list) else value


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends processes without a signal that they could see")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_bake_in_good_order(number, tmp_path):
    cache, report = tmp_path / "cache", tmp_path / "report.json"
    process = bake_until(2, snapshot(tmp_path, LONG), cache, "--report", report)
    process.send_signal(number)
    out, err = rest_of(process)
    assert process.returncode == ExitStatus.FAILED and err == ""
    stopped = lines(out)[-1]
    assert stopped["event"] == "stopped" and stopped["frame"] == FrameCacheReader(cache).frames[-1] >= 2
    assert "resume" in json.loads(report.read_text())["error"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends processes without a signal that they could see")
@pytest.mark.parametrize("delay", [0.0, 0.3])
def test_a_signal_is_heard_wherever_the_bake_is(delay, tmp_path):
    """While it starts, loads what was compiled, or steps."""
    source, cache = snapshot(tmp_path, LONG), tmp_path / "cache"
    process = start(source, cache)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["event"] == "compiling"
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    out, err = rest_of(process)
    assert process.returncode == ExitStatus.FAILED and err == ""
    frames = FrameCacheReader(cache).frames
    assert lines(out)[-1] == {"event": "stopped", "frame": frames[-1] if frames else None, "reason": "SIGINT"}


def test_a_bake_that_is_asked_to_stop_before_its_first_frame_can_be_resumed(uninterrupted, tmp_path, capsys):
    ending, cache = Ending(), tmp_path / "cache"
    ending.ask("no time")
    assert main([snapshot(tmp_path), str(cache)], ending) == ExitStatus.FAILED
    assert lines(capsys.readouterr().out)[-1] == {"event": "stopped", "frame": None, "reason": "no time"}
    status, _ = bake(capsys, snapshot(tmp_path), cache, "--resume")
    assert status == ExitStatus.DONE and motion(cache) == motion(uninterrupted[0] / "cache")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a broken pipe is told differently there")
def test_a_bake_ends_when_nobody_listens_any_more(tmp_path):
    process = bake_until(2, snapshot(tmp_path, LONG), tmp_path / "cache")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=60) == ExitStatus.FAILED
    assert "Traceback" not in process.stderr.read()
    assert FrameCacheReader(tmp_path / "cache").frames[-1] < LONG.frame_end


@pytest.mark.parametrize(
    ("kind", "cut", "baked"), [("chkp", -1, []), ("seam", -1, [12]), ("seam", 1, [12]), ("fram", 300, [12])], ids=str
)
def test_a_cache_that_was_cut_off_is_completed(uninterrupted, tmp_path, capsys, kind, cut, baked):
    """So many bytes into its last chunk of a kind, or before that chunk's end."""
    cache = tmp_path / "cache"
    place = last_of_kind(uninterrupted[0] / "cache", kind)
    end = place.end + cut if cut < 0 else place.offset + cut
    cache.write_bytes((uninterrupted[0] / "cache").read_bytes()[:end])
    status, events = bake(capsys, snapshot(tmp_path), cache, "--resume")
    assert status == ExitStatus.DONE
    assert [event["frame"] for event in events if event["event"] == "frame"] == baked
    assert motion(cache) == motion(uninterrupted[0] / "cache")


def test_damage_in_the_middle_costs_what_lies_behind_it(uninterrupted, tmp_path, capsys):
    cache = tmp_path / "cache"
    content = bytearray((uninterrupted[0] / "cache").read_bytes())
    content[len(content) // 2] ^= 1
    cache.write_bytes(content)
    status, events = bake(capsys, snapshot(tmp_path), cache, "--resume")
    assert status == ExitStatus.DONE
    assert 1 < sum(event["event"] == "frame" for event in events) < len(FRAMES)
    assert motion(cache) == motion(uninterrupted[0] / "cache")


def test_without_resume_a_cache_is_started_anew(uninterrupted, tmp_path, capsys):
    cache = tmp_path / "cache"
    cache.write_bytes((uninterrupted[0] / "cache").read_bytes())
    status, events = bake(capsys, snapshot(tmp_path, scene(2)), cache)
    assert status == ExitStatus.DONE
    assert [event["frame"] for event in events if event["event"] == "frame"] == [1, 2]
    assert FrameCacheReader(cache).frames == range(1, 3)


@pytest.mark.parametrize("content", [None, b"", b"\x93STI"], ids=["no cache", "empty", "cut in its head"])
def test_resuming_what_has_not_begun_begins(tmp_path, capsys, content):
    cache = tmp_path / "cache"
    if content is not None:
        cache.write_bytes(content)
    status, events = bake(capsys, snapshot(tmp_path, scene(1)), cache, "--resume")
    assert status == ExitStatus.DONE
    assert [event["event"] for event in events] == ["compiling", "started", "frame", "finished"]
    assert events[1]["resumed_from"] is None


def test_resuming_a_complete_bake_adds_nothing(uninterrupted, tmp_path, capsys):
    cache = tmp_path / "cache"
    before = (uninterrupted[0] / "cache").read_bytes()
    cache.write_bytes(before)
    status, events = bake(capsys, snapshot(tmp_path), cache, "--resume")
    assert status == ExitStatus.DONE
    assert [event["event"] for event in events] == ["compiling", "started", *["kept"] * len(FRAMES), "finished"]
    assert events[1]["resumed_from"] == SPEC.frame_end
    assert cache.read_bytes() == before


def test_a_missed_tolerance_has_its_own_status_and_the_bake_is_whole(tmp_path, capsys):
    strict = dataclasses.replace(SETTINGS, tolerance=1e-300, max_iterations=1)
    source, cache, report = snapshot(tmp_path, SPEC, strict), tmp_path / "cache", tmp_path / "report.json"
    status, events = bake(capsys, source, cache, "--report", report)
    assert status == ExitStatus.MISSED_TOLERANCE
    assert FrameCacheReader(cache).frames == FRAMES
    missed = sum(event["missed"] for event in events if event["event"] == "frame")
    written = json.loads(report.read_text())
    assert events[-1]["missed_steps"] == missed == len(written["missed"]) > 0
    assert all(set(step["bodies"]) <= {body.name for body in SPEC.bodies} for step in written["missed"])
    assert any(len(step["bodies"]) == 2 and step["above_tolerance"] for step in written["missed"])
    # Also when the run that missed it was an earlier one.
    assert bake(capsys, source, cache, "--resume")[0] == ExitStatus.MISSED_TOLERANCE
