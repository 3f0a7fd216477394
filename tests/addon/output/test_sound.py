# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake Sound writes a wav beside the cache and has one strip of it in the sequencer, which leaves with the bake."""

from __future__ import annotations

import csv
from pathlib import Path

import bpy
import pytest

STRIP = "Stiction Sound"


@pytest.fixture
def baked(scene, make_body, fake_worker):
    """The fake worker's impacts of two bodies of 1 N s, one a frame."""
    make_body("A")
    make_body("B")
    scene.stiction.keep_contacts = True
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    return scene


def strips_of(scene):
    editor = scene.sequence_editor
    if editor is None:
        return []
    return list(editor.strips if hasattr(editor, "strips") else editor.sequences)


def test_the_sound_is_in_the_sequencer_once_and_leaves_with_the_bake(baked):
    from stiction.addon.bake.bake_files import cache_path, sound_of

    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.stiction.bake_sound() == {"FINISHED"}
    file = sound_of(Path(cache_path(baked)))
    (strip,) = strips_of(baked)
    assert file.is_file() and (strip.type, strip.frame_start) == ("SOUND", 1) and strip.sound.packed_file is not None
    first = file.read_bytes()
    strip.volume = 0.5
    # a camera in the way of nothing, another material, and a body that was deleted since
    bpy.data.objects["A"].stiction_sound.material = "Steel"
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    baked.collection.objects.link(camera)
    baked.camera = camera
    camera.location = (0.0, -5.0, 0.0)
    camera.keyframe_insert("location", frame=1)
    bpy.data.objects.remove(bpy.data.objects["B"])
    assert bpy.ops.stiction.bake_sound() == {"FINISHED"}
    (strip,) = strips_of(baked)
    assert strip.volume == 0.5 and len(bpy.data.sounds) == 1
    assert file.read_bytes() != first and baked.frame_current == 1
    bpy.ops.stiction.free_bake()
    assert not strips_of(baked) and not bpy.data.sounds


def test_what_makes_no_sound_is_told_and_changes_nothing(baked):
    for name in ("A", "B"):
        bpy.data.objects[name].stiction_sound.volume = 0.0
    with pytest.raises(RuntimeError, match="the sound is silent"):
        bpy.ops.stiction.bake_sound()
    assert not strips_of(baked)
    bpy.ops.stiction.free_bake()
    assert not bpy.ops.stiction.bake_sound.poll()


def test_the_command_writes_sound_and_table(baked, tmp_path, capsys):
    from stiction.addon.command.cli import run

    bpy.data.objects["A"].stiction_sound.material = "Rubber"
    scene_file, sound, table = (str(tmp_path / name) for name in ("scene.blend", "shot.wav", "shot.csv"))
    bpy.ops.wm.save_as_mainfile(filepath=scene_file)
    assert run(["sound", scene_file, "-o", sound]) == 0 and run(["sound", scene_file, "-o", table]) == 0
    assert Path(sound).read_bytes()[:4] == b"RIFF"
    rows = list(csv.DictReader(Path(table).read_text().splitlines()))
    assert {(row["kind"], row["material_a"]) for row in rows} == {("hit", "Rubber")}
    assert run(["sound", scene_file, "-o", str(tmp_path / "shot.mp3")]) == 2
    assert "has to end with .wav" in capsys.readouterr().err
