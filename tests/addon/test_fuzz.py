# SPDX-License-Identifier: GPL-3.0-or-later
"""What strangers put into .blend files and command lines is a clear error or a right result."""

from __future__ import annotations

import bpy
import pytest
from core.fuzzing import try_case

from .fuzzing import KINDS, Room


@pytest.fixture(scope="module")
def room(extension, tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "room"
    path.mkdir()
    return Room.made(path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_few_of_what_strangers_send(kind, room):
    # far from those that tests/bench/fuzz.py tries first
    for number in range(100_000, 100_006):
        try_case(kind, number, room, KINDS)


def test_code_in_a_strangers_file_is_not_run(extension, tmp_path, capsys):
    from stiction.addon import cli

    marks = [tmp_path / name for name in ("by text", "by driver")]
    bpy.ops.wm.read_factory_settings(use_empty=True)
    text = bpy.data.texts.new("register.py")
    text.from_string(f"open({str(marks[0])!r}, 'w')")
    text.use_module = True
    bpy.context.scene.driver_add("gravity", 0).driver.expression = f"open({str(marks[1])!r}, 'w')"
    bpy.ops.rigidbody.world_add()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "sent.blend"))
    for mark in marks:
        mark.unlink(missing_ok=True)
    assert cli.run(["check", str(tmp_path / "sent.blend")]) == 2
    assert "the rigid body world has no rigid bodies" in capsys.readouterr().err
    bpy.context.scene.frame_set(2)
    assert not any(mark.exists() for mark in marks)
