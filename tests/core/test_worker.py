# SPDX-License-Identifier: GPL-3.0-or-later
"""The worker bakes, can be killed at any moment and goes on with the same bits, and says what is wrong with its input."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from solver_core.command_line import ExitStatus
from solver_core.ending import Ending
from solver_core.io.cache import FrameCacheReader, FrameCacheWriter
from solver_core.io.container import locate_chunk
from solver_core.io.snapshot import snapshot_digest, write_snapshot
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec, SolverSettings
from solver_core.worker import main

ROOT = Path(__file__).resolve().parents[2]

CUBE = ShapeSpec(ShapeKind.HULL, np.array(list(itertools.product((-0.1, 0.1), repeat=3))))
ROUGH = MaterialSpec(0.8, 0.6, 0.1)


def cube(name, x, z, **changes):
    return BodySpec(name, BodyKind.ACTIVE, CUBE, position=np.array([x, 0.0, z]), mass=1.0, material=ROUGH, **changes)


def scene(frame_end):
    """Two cubes stand on each other, one is thrown at them, one is pushed by an animated one: contacts come, slide and go."""
    time = np.arange(frame_end) / 24.0
    path = np.tile([0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0], (frame_end, 1))
    path[:, 0] = 2.0 - 0.1 * np.sin(3.0 * time)
    bodies = (
        BodySpec("Floor", BodyKind.PASSIVE, ShapeSpec(ShapeKind.PLANE), material=ROUGH),
        cube("Lower", 0.0, 0.1),
        cube("Upper", 0.02, 0.3),
        cube("Thrown", -0.5, 0.25, velocity=np.array([3.0, 0.2, 0.0]), angular_velocity=np.array([0.0, 4.0, 1.0])),
        cube("Pushed", 1.77, 0.1),
        BodySpec("Pusher", BodyKind.ANIMATED, CUBE, position=path[0, :3], material=ROUGH, path=path),
    )
    return SceneSpec(bodies, frame_start=1, frame_end=frame_end)


SPEC = scene(12)
SETTINGS = SolverSettings(substeps=4)
FRAMES = range(SPEC.frame_start, SPEC.frame_end + 1)

# Its events do not fit into a pipe, so a worker whose events nobody reads cannot be done before it is killed.
LONG = scene(420)


def snapshot(folder, spec=SPEC, settings=SETTINGS):
    path = folder / "scene.snapshot"
    write_snapshot(path, spec, settings)
    return str(path)


def lines(text):
    """The events of a bake, as they are where all kernels have been compiled."""
    events = [json.loads(line) for line in text.splitlines()]
    return [event for event in events if event["event"] != "compiled"]


def bake(capsys, *arguments):
    """Run the worker in this process; its exit status and its events."""
    capsys.readouterr()
    status = main([str(argument) for argument in arguments])
    return status, lines(capsys.readouterr().out)


def start(*arguments):
    command = [sys.executable, "-m", "solver_core.worker", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def bake_until(frame, *arguments):
    """Start the worker in a process of its own and return when it has said that it is done with `frame`."""
    process = start(*arguments)
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line).get("frame") == frame:
            return process
    raise AssertionError(f"the worker ended before frame {frame}: {process.communicate()[1]}")


def rest_of(process):
    """What it still says, on both outputs, until it has ended."""
    assert process.stdout is not None and process.stderr is not None
    # not by communicate(), which does not know of what has been read ahead
    said = process.stdout.read(), process.stderr.read()
    process.wait(timeout=60)
    return said


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
    assert process.returncode in (ExitStatus.BAKED, ExitStatus.MISSED_TOLERANCE), err
    return folder, process.returncode, lines(out)


def test_a_bake_tells_its_story_in_order(uninterrupted):
    folder, status, events = uninterrupted
    assert status == ExitStatus.BAKED
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
    assert status == ExitStatus.BAKED
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
    assert status == bake(capsys, source, whole, "--report", tmp_path / "whole.json")[0] == ExitStatus.BAKED
    assert motion(killed) == motion(whole)
    reports = [without_seconds(json.loads((tmp_path / name).read_text())) for name in ("killed.json", "whole.json")]
    assert reports[0] == reports[1]


def test_frames_behind_the_newest_checkpoint_are_simulated_once_more_and_stay(uninterrupted, tmp_path, capsys):
    cache = tmp_path / "cache"
    begun(cache, uninterrupted, 5)
    begin = cache.read_bytes()
    status, events = bake(capsys, snapshot(tmp_path), cache, "--resume")
    assert status == ExitStatus.BAKED
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
    assert status == ExitStatus.BAKED
    assert [event["frame"] for event in events if event["event"] == "frame"] == list(range(4, SPEC.frame_end + 1))
    warning = next(event for event in events if event["event"] == "warning")
    assert "frame 4 came out otherwise" in warning["message"]
    assert motion(cache) == motion(uninterrupted[0] / "cache")


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


@pytest.mark.slow
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
@pytest.mark.parametrize("delay", np.linspace(0.0, 0.4, 5))
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
    assert status == ExitStatus.BAKED and motion(cache) == motion(uninterrupted[0] / "cache")


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
    assert status == ExitStatus.BAKED
    assert [event["frame"] for event in events if event["event"] == "frame"] == baked
    assert motion(cache) == motion(uninterrupted[0] / "cache")


def test_damage_in_the_middle_costs_what_lies_behind_it(uninterrupted, tmp_path, capsys):
    cache = tmp_path / "cache"
    content = bytearray((uninterrupted[0] / "cache").read_bytes())
    content[len(content) // 2] ^= 1
    cache.write_bytes(content)
    status, events = bake(capsys, snapshot(tmp_path), cache, "--resume")
    assert status == ExitStatus.BAKED
    assert 1 < sum(event["event"] == "frame" for event in events) < len(FRAMES)
    assert motion(cache) == motion(uninterrupted[0] / "cache")


def test_without_resume_a_cache_is_started_anew(uninterrupted, tmp_path, capsys):
    cache = tmp_path / "cache"
    cache.write_bytes((uninterrupted[0] / "cache").read_bytes())
    status, events = bake(capsys, snapshot(tmp_path, scene(2)), cache)
    assert status == ExitStatus.BAKED
    assert [event["frame"] for event in events if event["event"] == "frame"] == [1, 2]
    assert FrameCacheReader(cache).frames == range(1, 3)


@pytest.mark.parametrize("content", [None, b"", b"\x93STI"], ids=["no cache", "empty", "cut in its head"])
def test_resuming_what_has_not_begun_begins(tmp_path, capsys, content):
    cache = tmp_path / "cache"
    if content is not None:
        cache.write_bytes(content)
    status, events = bake(capsys, snapshot(tmp_path, scene(1)), cache, "--resume")
    assert status == ExitStatus.BAKED
    assert [event["event"] for event in events] == ["compiling", "started", "frame", "finished"]
    assert events[1]["resumed_from"] is None


def test_resuming_a_complete_bake_adds_nothing(uninterrupted, tmp_path, capsys):
    cache = tmp_path / "cache"
    before = (uninterrupted[0] / "cache").read_bytes()
    cache.write_bytes(before)
    status, events = bake(capsys, snapshot(tmp_path), cache, "--resume")
    assert status == ExitStatus.BAKED
    assert [event["event"] for event in events] == ["compiling", "started", "finished"]
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


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_path_that_is_lost_in_mid_shot_stops_there_and_the_frames_before_are_those_of_a_path_that_ends_there(
    tmp_path, capsys, value
):
    """Who is lost, and where, is said before the first step as well."""
    lost = scene(12)
    lost.bodies[-1].path[7:, 1] = value
    source, cache = snapshot(tmp_path, lost), tmp_path / "cache"
    status, events = bake(capsys, source, cache, "--report", tmp_path / "report.json")
    assert status == ExitStatus.FAILED
    (warning,) = (event for event in events if event["event"] == "warning")
    assert warning["objects"] == ["Pusher"] and "frame 8 is not finite" in warning["message"]
    assert "stops after frame 7" in warning["message"]
    assert [event["frame"] for event in events if event["event"] == "frame"] == list(range(1, 8))
    assert events[-1]["event"] == "error" and "stopped after frame 7" in events[-1]["message"]
    (problem,) = events[-1]["problems"]
    assert (problem["object"], problem["field"]) == ("Pusher", "path") and "frame 8" in problem["message"]
    assert json.loads((tmp_path / "report.json").read_text())["problems"] == [problem]
    # as if that had been the last frame of the scene
    (tmp_path / "short").mkdir()
    assert bake(capsys, snapshot(tmp_path / "short", shortened(lost, 7)), tmp_path / "other")[0] == ExitStatus.BAKED
    for frame, other in zip(FrameCacheReader(cache), FrameCacheReader(tmp_path / "other"), strict=True):
        assert frame.poses.tobytes() == other.poses.tobytes()
    # asked to go on without being mended it says the same again
    status, events = bake(capsys, source, cache, "--resume")
    assert status == ExitStatus.FAILED and events[-1]["problems"] == [problem]


def shortened(spec, last):
    """The scene up to a frame, its paths too."""
    bodies = (body if body.path is None else dataclasses.replace(body, path=body.path[:last]) for body in spec.bodies)
    return dataclasses.replace(spec, bodies=tuple(bodies), frame_end=last)


def test_warnings_are_told_and_reported(tmp_path, capsys):
    odd = dataclasses.replace(SPEC.bodies[1], material=MaterialSpec(0.2, 0.4))
    sunk = cube("Sunk", 1.0, 0.09)
    spec = dataclasses.replace(SPEC, bodies=(SPEC.bodies[0], odd, sunk), frame_end=1)
    status, events = bake(capsys, snapshot(tmp_path, spec), tmp_path / "cache", "--report", tmp_path / "report.json")
    assert status == ExitStatus.BAKED
    warnings = [event for event in events if event["event"] == "warning"]
    assert {(*sorted(warning["objects"]), warning["field"]) for warning in warnings} == {
        ("Lower", "mu_dynamic"),
        ("Floor", "Sunk", "overlap"),
    }
    reported = json.loads((tmp_path / "report.json").read_text())["warnings"]
    assert reported == [{key: warning[key] for key in ("objects", "field", "message")} for warning in warnings]


def assert_refused(status, events, *words):
    assert status == ExitStatus.BAD_INPUT
    assert [event["event"] for event in events] == ["error"]
    assert all(word in events[0]["message"] for word in words), events[0]["message"]


def test_a_bad_scene_is_refused_by_name_before_the_old_cache_is_touched(tmp_path, capsys):
    bodies = (SPEC.bodies[0], cube("Würfel.001", 0, 0.1), cube("Card", 1, 0.1))
    bodies = (
        bodies[0],
        dataclasses.replace(bodies[1], mass=float("nan")),
        dataclasses.replace(bodies[2], shape=ShapeSpec(ShapeKind.HULL)),
    )
    cache, report = tmp_path / "cache", tmp_path / "report.json"
    FrameCacheWriter.create(cache, SPEC, SETTINGS).close()
    before = cache.read_bytes()
    status, events = bake(capsys, snapshot(tmp_path, dataclasses.replace(SPEC, bodies=bodies)), cache, "--report", report)
    assert_refused(status, events, "Würfel.001: mass", "Card: vertices")
    assert {(p["object"], p["field"]) for p in events[0]["problems"]} == {("Würfel.001", "mass"), ("Card", "vertices")}
    written = json.loads(report.read_text())
    assert written["problems"] == events[0]["problems"] and written["error"] == events[0]["message"]
    assert cache.read_bytes() == before


def test_a_cache_of_another_scene_is_refused(tmp_path, capsys):
    cache = tmp_path / "cache"
    FrameCacheWriter.create(cache, scene(99), SETTINGS).close()
    before = cache.read_bytes()
    status, events = bake(capsys, snapshot(tmp_path), cache, "--resume")
    assert_refused(status, events, "another scene", snapshot_digest(SPEC, SETTINGS)[:8])
    assert cache.read_bytes() == before


def test_files_that_are_missing_damaged_or_of_another_kind_are_refused_with_their_names(tmp_path, capsys):
    source, cache = snapshot(tmp_path), tmp_path / "cache"
    assert_refused(*bake(capsys, tmp_path / "nowhere", cache), "nowhere")
    damaged = tmp_path / "damaged"
    damaged.write_bytes(Path(source).read_bytes()[:-1])
    assert_refused(*bake(capsys, damaged, cache), "damaged", "byte 0")
    film = tmp_path / "film.blend"
    film.write_bytes(b"BLENDER-v402")
    assert_refused(*bake(capsys, source, film), "film.blend", "not a frame cache")
    assert_refused(*bake(capsys, source, film, "--resume"), "film.blend", "not a frame cache")
    assert film.read_bytes() == b"BLENDER-v402" and not cache.exists()


@pytest.mark.parametrize("arguments", [[], ["only-one"], ["a", "b", "c"], ["a", "b", "--backwards"]])
def test_bad_usage_is_an_event_too(arguments, capsys):
    assert_refused(*bake(capsys, *arguments), "usage:", "SNAPSHOT")


@pytest.mark.parametrize("threads", ["-1", "257", "2.5"])
def test_a_number_of_threads_that_is_none_is_refused(threads, capsys):
    assert_refused(*bake(capsys, "a", "b", "--threads", threads), "--threads", threads)


@pytest.mark.slow
def test_the_process_ends_with_the_status(tmp_path):
    process = subprocess.run(
        [sys.executable, "-m", "solver_core.worker", str(tmp_path / "nowhere"), str(tmp_path / "cache")],
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == ExitStatus.BAD_INPUT and process.stderr == ""
    assert lines(process.stdout)[0]["event"] == "error"
