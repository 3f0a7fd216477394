# SPDX-License-Identifier: GPL-3.0-or-later
"""What strangers put into .blend files and command lines is a clear error or a right result."""

from __future__ import annotations

import bpy
import pytest

from ..core.fuzzing import try_case
from .fuzzing import KINDS, Room
from .objects import kept, problems_of, read


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
    from stiction.addon.command import cli

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


def test_what_cannot_be_read_is_dropped_as_the_file_is_opened_and_said(scene, make_body, tmp_path, capsys):
    ob, pair = make_body("Box"), scene.stiction.pairs.add()
    pair.b, ob.stiction.density, scene.stiction.bake.last_frame = "Ice", 7.0, 3
    kept(ob)["stiction"]["material"] = b"\xff\xfe"
    kept(scene)["stiction"]["pairs"][0]["a"] = b"\xff"
    kept(scene)["stiction"]["bake"]["made_from"] = b"\xff"
    # at which Blender itself crashes
    scene.stiction_display.show_contacts = True
    kept(scene)["stiction_display"]["hidden_bodies"] = ["a"]
    kept(scene)["stiction_display"]["points_object"] = scene.rigidbody_world.collection
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "sent.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "sent.blend"))
    said = [line for line in capsys.readouterr().out.splitlines() if "is left empty" in line]
    assert {line.split(" cannot be read")[0] for line in said} == {
        "Stiction: Scene: stiction_display.hidden_bodies",
        "Stiction: Scene: stiction_display.points_object",
        "Stiction: Scene: stiction.bake.made_from",
        "Stiction: Scene: stiction.pairs[0].a",
        "Stiction: Box: stiction.material",
    }
    own = bpy.context.scene.stiction
    assert len(bpy.context.scene.stiction_display.hidden_bodies) == 0
    assert (own.pairs[0].a, own.pairs[0].b, bpy.data.objects["Box"].stiction.material) == ("", "Ice", "")
    assert list(problems_of(read)) == [("Scene", "pairs")]


@pytest.mark.parametrize("button", ["bake", "bake_to_keyframes", "free_bake"])
def test_nothing_is_said_of_a_file_that_was_only_baked(scene, make_body, fake_worker, tmp_path, capsys, button):
    make_body("Box")
    make_body("Keyed").keyframe_insert("location", frame=1)
    bpy.ops.stiction.bake()
    if button != "bake":
        getattr(bpy.ops.stiction, button)()
    for name in ("once.blend", "twice.blend"):
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / name))
        capsys.readouterr()
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / name))
        assert "Stiction" not in capsys.readouterr().out
    own = bpy.data.objects["Keyed"].stiction.backup.action
    assert own == (None if button == "free_bake" else bpy.data.actions["KeyedAction"])


@pytest.mark.parametrize("path", ["", ".", "/", "//", ".."])
def test_a_bake_whose_cache_is_no_file_is_refused_by_whoever_reads_it(scene, make_body, tmp_path, capsys, path):
    from stiction.addon.command import cli

    make_body("Box")
    scene.stiction.bake.state, scene.stiction.bake.cache = "CACHED", path
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "sent.blend"))
    for command in ("report", "impacts"):
        assert cli.run([command, "-o", str(tmp_path / "out.csv")]) == 2
    assert cli.run(["bake", "--keep-to", "2", "-o", str(tmp_path / "baked.blend")]) in (1, 2)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3 and "the bake cannot start" in said[2]
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "moved.blend"))


def test_a_pair_that_is_none_is_not_removed(scene):
    scene.stiction.pairs.add()
    kept(scene)["stiction"]["pair_index"] = -1
    assert not bpy.ops.stiction.remove_pair.poll() and len(scene.stiction.pairs) == 1
