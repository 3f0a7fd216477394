# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: what it refuses, and what it never writes over."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import bpy
import pytest


def test_the_input_is_overwritten_only_when_asked(run, file, fake_worker):
    before = file.read_bytes()
    assert run("bake", file) == 2
    assert file.read_bytes() == before
    assert run("bake", file, "-o", file) == 0
    assert file.read_bytes() != before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["COMMAND"]),
        (("bake", "{file}", "-o", "{out}", "--staggering", "plain"), ["--staggering", "staggering='plain'"]),
        (("bake", "{file}", "-o", "{out}", "--crowd-tolerance", "-1"), ["--moving-tolerance", "-1"]),
        (("cook",), ["cook"]),
        (("bake", "{file}"), ["--output"]),
        (("bake", "missing.blend", "-o", "{out}"), ["missing.blend"]),
        (("bake", "{file}", "-o", "/no/such/folder/x.blend"), ["--output", "/no/such/folder"]),
        (("bake", "{file}", "-o", "{out}", "--report", "/no/such/folder/x.json"), ["--report", "/no/such/folder"]),
        (("bake", "{file}", "-o", "{out}", "--method", "magic"), ["--method", "magic"]),
        (("bake", "{file}", "-o", "{out}", "--tolerance", "-1"), ["--tolerance", "-1"]),
        (("bake", "{file}", "-o", "{out}", "--tolerance", "nan"), ["--tolerance", "nan"]),
        (("bake", "{file}", "-o", "{out}", "--threads", "-1"), ["--threads", "-1"]),
        (("bake", "{file}", "-o", "{out}", "--threads", "many"), ["--threads", "many"]),
        (("bake", "{file}", "-o", "{out}", "--substeps", "0"), ["--substeps", "0"]),
        (("bake", "{file}", "-o", "{out}", "--start", "x"), ["--start"]),
        (("bake", "{file}", "-o", "{out}", "--keys-step", "0"), ["--keys-step", "0"]),
        (("bake", "{file}", "-o", "{out}", "--keys-within", "0", "1"), ["--keys-within", "0 mm"]),
        (("bake", "{file}", "-o", "{out}", "--keys-within", "1", "nan"), ["--keys-within", "nan"]),
        (("bake", "{file}", "-o", "{out}", "--keys-within", "1", "1", "--keys-step", "2"), ["--keys-within", "not allowed"]),
        (("bake", "{file}", "-o", "{out}", "--keys-per-frame", "2", "--keys-step", "2"), ["--keys-per-frame", "exclude"]),
        (("bake", "{file}", "-o", "{out}", "--set", "nonsense"), ["nonsense", "OBJECT:FIELD=VALUE"]),
        (("bake", "{file}", "-o", "{out}", "--set", "Nobody:mass=1"), ["Nobody"]),
        (("bake", "{file}", "-o", "{out}", "--set", "Cube.001:colour=1"), ["colour", "friction"]),
        (("bake", "{file}", "-o", "{out}", "--set", "Cube.001:mass=heavy"), ["heavy"]),
        (("bake", "{file}", "-o", "{out}", "--set", "Cube.001:mass=-2"), ["mass", "-2"]),
        (("bake", "{file}", "-o", "{out}", "--set", "Cube.001:friction=nan"), ["friction", "nan"]),
        (("bake", "{file}", "-o", "{out}", "--set", "Cube.001:restitution=1.5"), ["restitution", "1.5"]),
    ],
)
def test_bad_usage_is_status_2_and_says_what_is_wrong(run, file, fake_worker, tmp_path, capsys, arguments, words):
    output = tmp_path / "baked.blend"
    assert run(*(argument.format(file=file, out=output) for argument in arguments)) == 2
    said = capsys.readouterr().err
    assert all(word in said for word in words)
    assert not output.exists()


@pytest.mark.parametrize("options", [("a" * 300,), ("--report", "a" * 300 + "/x.json"), ("--cache", "a" * 300)])
def test_a_name_that_no_file_can_have_is_bad_input_and_no_trace(run, file, fake_worker, tmp_path, capsys, options):
    arguments = options if len(options) == 1 else (file, *options)
    assert run("bake", *arguments, "-o", tmp_path / "baked.blend") in (1, 2)
    assert "File name too long" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "bake"])
@pytest.mark.parametrize("target", ["scene.blend", "other.blend", "kept.cache", "kept.snapshot", "thesis.txt", "."])
def test_a_report_over_anything_else_is_refused_before_the_work(run, file, fake_worker, tmp_path, capsys, command, target):
    kept = {
        "other.blend": b"BLENDER-v402",
        "kept.cache": b"\x93STICT\r\n",
        "kept.snapshot": b"\x93STICT\r\n",
        "thesis.txt": b"x",
    }
    for name, content in kept.items():
        (tmp_path / name).write_bytes(content)
    kept["scene.blend"] = file.read_bytes()
    output = ("-o", tmp_path / "baked.blend") if command == "bake" else ()
    assert run(command, file, *output, "--report", tmp_path / target) == 2
    said = capsys.readouterr()
    assert "--report" in said.err and "%" not in said.out
    assert {name: (tmp_path / name).read_bytes() for name in kept} == kept
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)


@pytest.mark.parametrize("target", ["kept.cache", "thesis.txt", "report.json", ".", os.devnull])
def test_a_baked_file_takes_the_place_of_nothing_but_a_blend(run, file, fake_worker, tmp_path, capsys, target):
    kept = {"kept.cache": b"\x93STICT\r\n", "thesis.txt": b"x", "report.json": b'{"findings": []}'}
    for name, content in kept.items():
        (tmp_path / name).write_bytes(content)
    assert run("bake", file, "-o", tmp_path / target) == 2
    said = capsys.readouterr()
    assert "--output" in said.err and "%" not in said.out
    assert {name: (tmp_path / name).read_bytes() for name in kept} == kept
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode) or sys.platform == "win32"


@pytest.mark.parametrize("command", ["report", "impacts"])
def test_a_table_is_not_written_over_the_scene_that_it_is_about(run, file, fake_worker, tmp_path, capsys, command):
    baked = tmp_path / "baked.csv"
    assert run("bake", file, "-o", tmp_path / "baked.blend", "--contacts") == 0
    os.rename(tmp_path / "baked.blend", baked)
    before = baked.read_bytes()
    assert run(command, baked, "-o", baked) == 2
    assert baked.read_bytes() == before and "left as it is" in capsys.readouterr().err


def test_a_library_of_the_scene_is_not_written_over(run, file, fake_worker, tmp_path, capsys):
    library = tmp_path / "library.blend"
    bpy.data.libraries.write(str(library), {bpy.data.worlds.new("Sky")})
    bpy.ops.wm.open_mainfile(filepath=str(file))
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.worlds = ["Sky"]
    bpy.context.scene.world = wanted.worlds[0]
    bpy.ops.wm.save_mainfile()
    before = library.read_bytes()
    assert run("bake", file, "-o", library) == 2
    assert library.read_bytes() == before and "the same file" in capsys.readouterr().err


def test_one_file_for_scene_and_report_is_refused(run, file, fake_worker, tmp_path, capsys):
    assert run("bake", file, "-o", tmp_path / "x", "--report", tmp_path / "." / "x") == 2
    assert "the same file" in capsys.readouterr().err and not (tmp_path / "x").exists()


def test_what_is_put_where_the_output_goes_while_it_bakes_stays(run, file, fake_worker, tmp_path, capsys, monkeypatch):
    plain, output = fake_worker.frame, tmp_path / "baked.blend"

    def frame(self, number):
        output.write_bytes(b"precious")
        return plain(self, number)

    monkeypatch.setattr(fake_worker, "frame", frame)
    assert run("bake", file, "-o", output) == 1
    assert output.read_bytes() == b"precious" and "in the cache" in capsys.readouterr().err


def test_a_broken_file_is_bad_input(run, tmp_path, fake_worker, capsys):
    broken = tmp_path / "broken.blend"
    broken.write_bytes(b"not a blend file")
    assert run("bake", broken, "-o", tmp_path / "baked.blend") == 2
    assert "broken.blend" in capsys.readouterr().err


def test_a_scene_that_cannot_be_baked_is_status_2_with_its_problems_in_the_report(run, file, fake_worker, tmp_path, capsys):
    bpy.ops.wm.open_mainfile(filepath=str(file))
    bpy.data.objects["Cube.001"].rigid_body.collision_shape = "COMPOUND"
    bpy.data.objects["Odd:name=x"].scale.y = 0.0
    bpy.ops.wm.save_mainfile()
    output, report = tmp_path / "baked.blend", tmp_path / "report.json"
    assert run("bake", file, "-o", output, "--report", report) == 2
    said = capsys.readouterr().err
    assert "Cube.001: collision shape" in said and "Odd:name=x: scale" in said
    found = {(problem["object"], problem["field"]) for problem in json.loads(report.read_text())["problems"]}
    assert found == {("Cube.001", "collision_shape"), ("Odd:name=x", "scale")}
    assert not output.exists()


def test_a_folder_that_cannot_be_written_to_is_said_before_the_bake(run, file, fake_worker, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)
    assert run("bake", file, "-o", tmp_path / "baked.blend") == 2
    said = capsys.readouterr().err
    assert "--output: " in said and f"the folder {tmp_path} cannot be written to" in said


@pytest.mark.parametrize("below", ["", "cache"])
def test_a_cache_folder_that_is_a_file_is_bad_input(run, file, fake_worker, tmp_path, capsys, below):
    (tmp_path / "taken").write_bytes(b"x")
    assert run("bake", file, "-o", tmp_path / "baked.blend", "--cache", tmp_path / "taken" / below) == 2
    assert "taken" in capsys.readouterr().err and (tmp_path / "taken").read_bytes() == b"x"


def test_a_full_disk_under_the_output_is_named(run, file, fake_worker, tmp_path, capsys, monkeypatch):
    """Blender says "No such file or directory", or "Success"."""
    from stiction.addon.command import outputs as cli_outputs

    def fail(*_, **__):
        raise RuntimeError("Error: Success")

    monkeypatch.setattr(cli_outputs.shutil, "disk_usage", lambda _folder: shutil._ntuple_diskusage(9, 9, 0))
    monkeypatch.setattr("stiction.addon.command.bake.bpy", SimpleNamespace(**{**vars(bpy), "ops": fake_ops(fail)}))
    assert run("bake", file, "-o", tmp_path / "baked.blend") == 1
    said = capsys.readouterr().err
    assert "0 bytes are free on its disk" in said and "frames up to 5 are in the cache" in said


def fake_ops(save):
    window_manager = SimpleNamespace(open_mainfile=bpy.ops.wm.open_mainfile, save_as_mainfile=save)
    return SimpleNamespace(wm=window_manager)
