# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes of other tools without a window: `stiction export`, and bakes of USD and glTF files; a bake's motion goes along."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest
from pxr import Usd, UsdGeom


@pytest.fixture
def run(extension):
    from stiction.addon.command import cli

    return lambda *arguments: int(cli.run([str(argument) for argument in arguments]))


@pytest.fixture
def file(scene, make_body, tmp_path: Path) -> Path:
    make_body("Cube.001").location = (0, 0, 2)
    make_body("Cube.002").location = (3, 0, 2)
    make_body("Odd:name=x", shape="BOX").location = (6, 0, 2)
    path = tmp_path / "scene.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


@pytest.mark.parametrize("ending", ["usda", "usdc", "usd", "glb", "gltf"])
def test_what_is_exported_is_checked_and_baked(run, file, fake_worker, tmp_path, capsys, ending):
    out, baked = tmp_path / f"out.{ending}", tmp_path / "baked.blend"
    assert run("export", file, "-o", out) == 0
    assert "wrote" in capsys.readouterr().out
    assert run("bake", out, "-o", baked) == 0
    bpy.ops.wm.open_mainfile(filepath=str(baked))
    assert {"Cube.001", "Cube.002", "Odd:name=x"} <= {ob.name for ob in bpy.data.objects}
    assert bpy.context.scene.stiction.bake.state == "KEYED"
    # the cache is beside the file that was baked
    assert list(tmp_path.rglob("*.cache"))


def baked(scene, fake_worker):
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    return np.array([fake_worker.displacement(0, frame) @ [0, 0, 2, 1] for frame in range(1, 6)])[:, :3]


def test_the_motion_of_a_bake_is_time_samples(file, scene, fake_worker, tmp_path):
    expected = baked(bpy.context.scene, fake_worker)
    out = tmp_path / "out.usda"
    bpy.ops.stiction.export_usd(filepath=str(out))
    stage = Usd.Stage.Open(str(out))
    prim = next(prim for prim in stage.Traverse() if prim.GetDisplayName() == "Cube.001")
    places = [UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(frame).ExtractTranslation() for frame in range(1, 6)]
    assert np.allclose(places, expected, atol=1e-5)


def test_instances_have_places_and_velocities_frame_by_frame(file, scene, fake_worker, tmp_path):
    expected = baked(bpy.context.scene, fake_worker)
    out = tmp_path / "out.usdc"
    bpy.ops.stiction.export_usd(filepath=str(out), instances=True)
    stage = Usd.Stage.Open(str(out))
    (instancer,) = (UsdGeom.PointInstancer(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.PointInstancer))
    names = list(instancer.GetPrim().GetAttribute("stiction:names").Get())
    assert sorted(names) == ["Cube.001", "Cube.002"]
    places = np.array([instancer.GetPositionsAttr().Get(frame)[names.index("Cube.001")] for frame in range(1, 6)])
    assert np.allclose(places, expected, atol=1e-5)
    speeds = np.array([instancer.GetVelocitiesAttr().Get(frame)[names.index("Cube.001")] for frame in range(1, 5)])
    assert np.allclose(speeds, np.diff(expected, axis=0) * 24.0, atol=1e-3)
    # as a renderer places them, between samples too
    shown = instancer.ComputeInstanceTransformsAtTime(2.5, 2.0)
    middle = np.array(shown[names.index("Cube.001")].ExtractTranslation())
    assert np.allclose(middle, expected[1:3].mean(axis=0), atol=0.05 * np.linalg.norm(expected[2] - expected[1]) + 1e-5)


def test_a_file_of_another_tool_that_is_wrong_is_bad_input(run, scene, tmp_path, capsys):
    bad = tmp_path / "bad.usda"
    bad.write_text("#usda 1.0\ndef Sphere {")
    assert run("bake", bad, "-o", tmp_path / "out.blend") == 2
    assert "export it again" in capsys.readouterr().err
    assert not (tmp_path / "out.blend").exists()


@pytest.mark.parametrize(
    ("name", "words"), [("out.obj", "has to end with"), ("none/out.usda", "no folder"), ("note.usda", "not a USD file")]
)
def test_an_output_that_cannot_be_is_refused(run, file, tmp_path, capsys, name, words):
    (tmp_path / "note.usda").write_text("mine")
    assert run("export", file, "-o", tmp_path / name) == 2
    assert words in capsys.readouterr().err
    assert (tmp_path / "note.usda").read_text() == "mine"


def test_the_file_that_is_read_is_not_written_over(run, file, tmp_path, capsys):
    out = tmp_path / "out.usda"
    assert run("export", file, "-o", out) == 0
    assert run("export", out, "-o", out) == 2
    assert "same file" in capsys.readouterr().err
