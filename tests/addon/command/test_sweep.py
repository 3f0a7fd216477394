# SPDX-License-Identifier: GPL-3.0-or-later
"""`stiction sweep` hands the scene of a file, as its options change it, to a sweep of its own process."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest

from solver_core.io.snapshot import read_snapshot


@pytest.fixture
def file(scene, make_body, tmp_path: Path) -> Path:
    make_body("Crate").location = (0, 0, 2)
    path = tmp_path / "scene.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    return path


@pytest.fixture
def handed_over(monkeypatch):
    """The module, the scene and the other arguments that the process would get."""
    from stiction.addon.command import processes

    given = {}

    def run_module(name, snapshot, *arguments):
        given.update(name=name, content=read_snapshot(snapshot), snapshot=Path(snapshot), arguments=list(arguments))
        return 3

    monkeypatch.setattr(processes, "run_module", run_module)
    return given


def test_the_scene_and_the_options_are_handed_over(run, file, handed_over, tmp_path):
    before = file.read_bytes()
    options = ["--vary", "Crate:friction=0.2,0.4", "--vary", "seed=1:3", "--workers", "2", "--stands-within", "5", "2"]
    assert run("sweep", file, "-o", tmp_path / "out", *options, "--end", "7", "--set", "Crate:mass=5") == 3
    spec, _ = handed_over["content"]
    assert (spec.frame_end, spec.bodies[0].mass) == (7, 5.0)
    assert handed_over["name"] == "solver_core.sweep"
    assert handed_over["arguments"] == [
        str(tmp_path / "out"),
        *("--vary=Crate:friction=0.2,0.4", "--vary=seed=1:3", "--workers=2", "--threads=1", "--nudge=0.01"),
        *("--stands-within", "5.0", "2.0", "--take-snapshot"),
    ]
    assert not handed_over["snapshot"].exists()
    assert file.read_bytes() == before and not (tmp_path / "out").exists()


@pytest.mark.slow
def test_what_the_sweep_refuses_ends_the_command_with_its_words_and_status(run, file, tmp_path, capfd):
    assert run("sweep", file, "-o", tmp_path / "out", "--vary", "Crat:friction=1") == 2
    assert "--vary 'Crat:friction': the scene has no rigid body 'Crat'; it has Crate" in capfd.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_baked_is_refused_before_any_process(run, file, handed_over, tmp_path, capsys):
    assert run("sweep", file, "-o", tmp_path / "out", "--vary", "seed=1", "--set", "Nobody:mass=5") == 2
    assert run("sweep", file, "-o", "-", "--vary", "seed=1") == 2
    assert run("sweep", file, "--vary", "seed=1") == 2
    assert run("sweep", file, "-o", tmp_path / "out", "--cache", "x", "--vary", "seed=1") == 2
    assert not handed_over
    said = capsys.readouterr().err
    assert "- is not a folder; name one for the bakes and the sheet" in said
