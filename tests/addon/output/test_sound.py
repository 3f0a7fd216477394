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


class SoundStrip:
    """A color strip of Blender's own sequencer that stands for a sound strip, with the sound as a custom property."""

    def __init__(self, strip):
        object.__setattr__(self, "strip", strip)

    def __getattr__(self, name):
        if name in ("name", "channel", "frame_start", "mute"):
            return getattr(self.strip, name)
        return self.strip[name]

    def __setattr__(self, name, value):
        if name in ("channel", "mute"):
            setattr(self.strip, name, value)
        else:
            self.strip[name] = value


class SoundStrips:
    """Blender's own strips with `new_sound`, which the module bpy lacks because it is built without audio."""

    def __init__(self, strips):
        self.strips = strips

    def __iter__(self):
        return map(SoundStrip, self.strips)

    def get(self, name):
        return next((strip for strip in self if strip.name == name), None)

    def new_color(self, name, channel, frame_start):
        # later Blenders want a length instead of an end
        end = "length" if "length" in self.strips.bl_rna.functions["new_effect"].parameters else "frame_end"
        values = {"name": name, "channel": channel, "frame_start": frame_start, end: frame_start + 5}
        return SoundStrip(self.strips.new_effect(type="COLOR", **values))

    def new_sound(self, name, filepath, channel, frame_start):
        strip = self.new_color(name, channel, frame_start)
        strip.type, strip.volume, strip.pan = "SOUND", 1.0, 0.0
        strip.sound = bpy.data.sounds.load(filepath)
        return strip

    def remove(self, strip):
        self.strips.remove(strip.strip)


@pytest.fixture
def strips(monkeypatch, baked):
    """Return a function that reads the strips of the scene, of which there is one on channel 2 already."""
    from stiction.addon.output import sound

    blenders = sound.strips_of
    monkeypatch.setattr(sound, "has_audio", lambda: True)
    monkeypatch.setattr(sound, "strips_of", lambda scene: SoundStrips(blenders(scene)))
    sound.strips_of(baked).new_color("Music", 2, 1)
    # undo may replace the scene
    return lambda: {strip.name: strip for strip in sound.strips_of(bpy.context.scene)}


def test_blenders_sound_strips_have_what_is_kept_of_them():
    sound = getattr(bpy.types, "SoundStrip", None) or bpy.types.SoundSequence
    assert {"channel", "volume", "pan", "mute", "sound", "type"} <= set(sound.bl_rna.properties.keys())
    editor = bpy.types.SequenceEditor.bl_rna.properties
    strips = (editor["strips"] if "strips" in editor else editor["sequences"]).srna
    assert {"name", "filepath", "channel", "frame_start"} <= set(strips.functions["new_sound"].parameters.keys())


def test_the_sound_is_in_the_sequencer_once_and_leaves_with_the_bake(baked, strips):
    from stiction.addon.bake.bake_files import cache_path, sound_of

    assert bpy.ops.stiction.bake_sound() == {"FINISHED"}
    file = sound_of(Path(cache_path(baked)))
    strip = strips()[STRIP]
    assert set(strips()) == {"Music", STRIP}
    assert file.is_file() and (strip.channel, strip.frame_start) == (3, 1) and strip.sound.packed_file is not None
    first = file.read_bytes()
    strip.volume, strip.channel = 0.5, 7
    # another material, a camera that moves, and a body that was deleted since
    bpy.data.objects["A"].stiction_sound.material = "Steel"
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    baked.collection.objects.link(camera)
    baked.camera = camera
    camera.location = (0.0, -5.0, 0.0)
    camera.keyframe_insert("location", frame=1)
    bpy.data.objects.remove(bpy.data.objects["B"])
    assert bpy.ops.stiction.bake_sound() == {"FINISHED"}
    strip = strips()[STRIP]
    assert set(strips()) == {"Music", STRIP} and (strip.volume, strip.channel) == (0.5, 7)
    assert file.read_bytes() != first and baked.frame_current == 1
    bpy.ops.stiction.free_bake()
    assert set(strips()) == {"Music"}


def test_undo_takes_the_sound_away_or_brings_back_the_former_one(strips):
    """Each undo step of Bake Sound is one strip with its packed samples, and they are never two."""

    def heard():
        found = [strip.sound.packed_file.data for name, strip in strips().items() if name == STRIP]
        assert len(found) == len(bpy.data.sounds)
        return found

    bpy.ops.ed.undo_push(message="before")
    steps = [heard()]
    for material in ("Steel", "Rubber"):
        bpy.data.objects["A"].stiction_sound.material = material
        assert bpy.ops.stiction.bake_sound() == {"FINISHED"}
        # which Blender pushes by itself only where it has a window
        bpy.ops.ed.undo_push(message=material)
        steps.append(heard())
    assert [len(step) for step in steps] == [0, 1, 1] and steps[1] != steps[2]
    for expected, move in zip((1, 0, 1, 2), (bpy.ops.ed.undo, bpy.ops.ed.undo, bpy.ops.ed.redo, bpy.ops.ed.redo), strict=True):
        move()
        assert heard() == steps[expected] and "Music" in strips()
    assert "UNDO" in bpy.types.STICTION_OT_bake_sound.bl_options


def test_what_is_missing_of_a_sound_is_told(baked, monkeypatch, capfd):
    from stiction.addon.output import sound
    from stiction.addon.output.sound import strips_of
    from stiction.solver_core.sound.write import WrittenSound

    monkeypatch.setattr(sound, "has_audio", lambda: False)
    monkeypatch.setattr(sound, "write_scene_sound", lambda context, file: WrittenSound(3, {"A": "it is too thin"}))
    assert bpy.ops.stiction.bake_sound() == {"FINISHED"}
    said = capfd.readouterr().out
    assert "A only clicks and does not ring: it is too thin" in said and "built without audio" in said
    assert not list(strips_of(baked))


def test_what_makes_no_sound_is_told_and_changes_nothing(baked, strips):
    for name in ("A", "B"):
        bpy.data.objects[name].stiction_sound.volume = 0.0
    with pytest.raises(RuntimeError, match="the sound is silent"):
        bpy.ops.stiction.bake_sound()
    assert set(strips()) == {"Music"}
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
