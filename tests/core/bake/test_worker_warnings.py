# SPDX-License-Identifier: GPL-3.0-or-later
"""The worker says what is wrong with its input, by name: what it refuses, what it warns of, and where it has to stop."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from solver_core.io.cache import FrameCacheReader
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.snapshot import snapshot_digest
from solver_core.process.command_line import ExitStatus
from solver_core.scene.spec import MaterialSpec, ShapeKind, ShapeSpec

from ..worker_runs import ROOT, SETTINGS, SPEC, bake, cube, lines, scene, snapshot


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
    assert bake(capsys, snapshot(tmp_path / "short", shortened(lost, 7)), tmp_path / "other")[0] == ExitStatus.DONE
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
    assert status == ExitStatus.DONE
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
