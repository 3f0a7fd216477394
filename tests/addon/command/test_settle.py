# SPDX-License-Identifier: GPL-3.0-or-later
"""`stiction settle`: what it writes, what it refuses, and how it ends."""

from __future__ import annotations

import json

import bpy
import pytest

from ..objects import box_mesh


@pytest.fixture
def drop(scene, make_body, tmp_path):
    """A file with an active box above a passive floor, and a box that is no rigid body."""
    make_body("Floor", kind="PASSIVE", shape="MESH", mesh=box_mesh("Floor", (4.0, 4.0, 0.1)))
    make_body("Box").location.z = 1.0
    loose = bpy.data.objects.new("Loose", box_mesh("Loose", (0.1, 0.1, 0.1)))
    scene.collection.objects.link(loose)
    loose.location = (1.0, 0.0, 1.0)
    path = tmp_path / "drop.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    return path


@pytest.mark.slow
def test_active_bodies_settle_and_the_input_stays(run, drop, tmp_path):
    before, output, report = drop.read_bytes(), tmp_path / "settled.blend", tmp_path / "report.json"
    assert run("settle", drop, "-o", output, "--report", report) == 0
    assert drop.read_bytes() == before
    bpy.ops.wm.open_mainfile(filepath=str(output))
    assert bpy.data.objects["Box"].location.z == pytest.approx(0.2, abs=1e-4)
    assert bpy.data.objects["Loose"].location.z == 1.0
    told = json.loads(report.read_text())
    assert told["all_rest"] and [body["object"] for body in told["bodies"]] == ["Box"]


@pytest.mark.slow
def test_named_objects_settle_and_what_does_not_rest_is_told_by_the_status(run, drop, tmp_path, capsys):
    output = tmp_path / "settled.blend"
    assert run("settle", drop, "-o", output, "--object", "Loose", "--seconds", "0.1") == 3
    assert "Loose still moves after 0.1 s" in capsys.readouterr().out
    assert run("settle", drop, "-o", output, "--object", "Loose", "--seconds", "0.1", "--accept-unconverged") == 0
    bpy.ops.wm.open_mainfile(filepath=str(output))
    assert bpy.data.objects["Box"].location.z == 1.0 and bpy.data.objects["Loose"].location.z < 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--object", "Nobody"), "the scene has no object 'Nobody'"),
        (("--seconds", "0"), "0 is too short"),
        (("--seconds", "nan"), "must be 0 or more and finite"),
        (("--seed", "-1"), "below 0"),
        (("--gravity", "0", "0", "inf"), "must be finite"),
        (("--land-on", "clouds"), "invalid choice"),
    ],
)
def test_wrong_arguments_are_refused(run, drop, tmp_path, capsys, arguments, message):
    output = tmp_path / "settled.blend"
    assert run("settle", drop, "-o", output, *arguments) == 2
    assert message in capsys.readouterr().err and not output.exists()


def test_a_scene_in_which_nothing_can_settle_is_refused_with_a_report(run, scene, tmp_path, capsys):
    path, report = tmp_path / "empty.blend", tmp_path / "report.json"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    assert run("settle", path, "-o", tmp_path / "settled.blend", "--report", report) == 2
    assert "nothing can settle" in capsys.readouterr().err
    assert "nothing can settle" in json.loads(report.read_text())["problems"][0]["message"]
