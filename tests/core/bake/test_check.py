# SPDX-License-Identifier: GPL-3.0-or-later
"""The command of Check: its exit status and its messages."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from solver_core import check
from solver_core.process.command_line import ExitStatus
from solver_core.scene.parts import ground
from solver_core.scene.spec import SolverSettings

from ..bodies import body, material, scene
from ..worker_runs import snapshot

ROUGH = material(0.6)
DROP = scene(ground(ROUGH), body("Box", position=(0.0, 0.0, 0.5), material=ROUGH))


@pytest.mark.slow
def test_findings_are_written(tmp_path):
    output = tmp_path / "findings.json"
    assert check.main([snapshot(tmp_path, DROP, SolverSettings()), str(output)]) == ExitStatus.DONE
    findings = json.loads(output.read_text())
    assert set(findings) == {"warnings", "loads", "shared", "flexible"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "required: SNAPSHOT, FINDINGS"),
        (["a.snapshot"], "required: FINDINGS"),
        (["a.snapshot", "b.json", "c", "d"], "unrecognized arguments: d"),
        (["missing.snapshot", "b.json"], "No such file.*missing.snapshot"),
        (["broken.snapshot", "b.json"], "broken.snapshot: "),
        (["scene.snapshot", "no/folder/b.json"], "no/folder"),
        (["scene.snapshot", "scene.snapshot"], "is not a report of Stiction"),
    ],
)
def test_a_wrong_argument_is_one_sentence(tmp_path, monkeypatch, capfd, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.snapshot").write_bytes(b"not a snapshot")
    snapshot(tmp_path, DROP, SolverSettings())
    assert check.main(arguments) == ExitStatus.BAD_INPUT
    message = capfd.readouterr().err
    assert re.search(words, message), message
    assert "Traceback" not in message


def test_a_scene_that_cannot_be_simulated_is_named(tmp_path, capfd):
    bad = replace(DROP, bodies=(DROP.bodies[0], replace(DROP.bodies[1], mass=-1.0)))
    assert check.main([snapshot(tmp_path, bad, SolverSettings()), str(tmp_path / "b.json")]) == ExitStatus.BAD_INPUT
    assert "Box" in capfd.readouterr().err
    assert not (tmp_path / "b.json").exists()
