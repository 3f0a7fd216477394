# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames go along with a file that is saved elsewhere, renamed or moved, and are found where they are lost."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest

from ..bakes_by_friction import bake, go_back, height, record


def test_frames_go_along_when_an_unsaved_file_gets_its_name(bodies, tmp_path):
    scene = bpy.context.scene
    scene.stiction.cache_directory = "//stiction_cache"
    assert bake(0.25).is_relative_to(bpy.app.tempdir)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "named.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "named.blend"))
    assert Path(bpy.path.abspath(bpy.context.scene.stiction.bake.cache)).parent == tmp_path / "stiction_cache"
    assert height(bpy.data.objects["Body.0"]) == pytest.approx(4 * 0.25)


def test_a_project_that_is_moved_as_a_whole_keeps_its_frames(bodies, tmp_path):
    bpy.context.scene.stiction.cache_directory = "//stiction_cache"
    (tmp_path / "here").mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "here" / "shot.blend"))
    bake(0.25)
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    (tmp_path / "here").rename(tmp_path / "there")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "there" / "shot.blend"))
    assert height(bpy.data.objects["Body.0"]) == pytest.approx(4 * 0.25)


@pytest.mark.parametrize("as_copy", [False, True])
def test_what_is_saved_elsewhere_finds_the_frames_where_they_are(bodies, tmp_path, as_copy):
    bpy.context.scene.stiction.cache_directory = "//stiction_cache"
    (tmp_path / "other").mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bake(0.25)
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "other" / "shot.blend"), copy=as_copy)
    assert height(bpy.data.objects["Body.0"]) == pytest.approx(4 * 0.25)
    for file in (tmp_path / "shot.blend", tmp_path / "other" / "shot.blend"):
        bpy.ops.wm.open_mainfile(filepath=str(file))
        assert height(bpy.data.objects["Body.0"]) == pytest.approx(4 * 0.25)


def test_a_shot_saved_into_another_folder_of_a_project_moves_along_with_it(bodies, tmp_path):
    bpy.context.scene.stiction.cache_directory = "//stiction_cache"
    for folder in ("project/one", "project/two"):
        (tmp_path / folder).mkdir(parents=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "project" / "one" / "shot.blend"))
    bake(0.25)
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "project" / "two" / "shot_v2.blend"))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    (tmp_path / "project").rename(tmp_path / "archive")
    for file in ("one/shot.blend", "two/shot_v2.blend"):
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "archive" / file))
        assert height(bpy.data.objects["Body.0"]) == pytest.approx(4 * 0.25)


def test_a_save_that_fails_leaves_the_frames_where_they_are(bodies, tmp_path):
    bpy.context.scene.stiction.cache_directory = "//stiction_cache"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bake(0.25)
    with pytest.raises(RuntimeError):
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "nowhere" / "at" / "all" / "shot.blend"))
    assert height(bodies[0]) == pytest.approx(4 * 0.25)
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    assert height(bpy.data.objects["Body.0"]) == pytest.approx(4 * 0.25)


def test_the_bake_that_undo_leads_to_goes_along_with_the_save_after_it(bodies, tmp_path):
    bpy.context.scene.stiction.cache_directory = "//stiction_cache"
    bake(0.25)
    first = record()
    bake(0.5)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "named.blend"))
    go_back(first)
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "named.blend"))
    assert Path(bpy.path.abspath(bpy.context.scene.stiction.bake.cache)).parent == tmp_path / "stiction_cache"
    assert height(bpy.data.objects["Body.0"]) == pytest.approx(4 * 0.25)


@pytest.mark.parametrize("where", ["cache", "../other/cache", "."])
def test_lost_frames_are_found_around_the_file(bodies, tmp_path, where):
    (tmp_path / "project" / "shots").mkdir(parents=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "project" / "shots" / "shot.blend"))
    cache, lost = bake(0.25), record()
    there = tmp_path / "project" / "shots" / where
    there.mkdir(parents=True, exist_ok=True)
    bake(0.5)
    go_back(lost | {"cache": f"D:\\gone\\{cache.name}"})
    cache.rename(there / cache.name)
    bpy.context.scene.stiction.cache_directory = "//cache"
    assert bpy.ops.stiction.find_frames() == {"FINISHED"}
    assert bpy.context.scene.stiction.bake.cache == f"//{where}/{cache.name}".replace("/./", "/")
    assert height(bodies[0]) == pytest.approx(4 * 0.25)


def test_frames_of_another_bake_are_not_found(bodies, tmp_path):
    first, lost = bake(0.25), record()
    other = bake(0.5)
    go_back(lost)
    first.unlink()
    with pytest.raises(RuntimeError, match="are not in"):
        bpy.ops.stiction.find_frames(filepath=str(other))
    other.rename(first)
    with pytest.raises(RuntimeError, match="are not around"):
        bpy.ops.stiction.find_frames()
    assert bpy.context.scene.stiction.bake.cache == str(first)


def test_frames_are_found_in_the_folder_that_is_chosen(bodies, tmp_path):
    cache = bake(0.25)
    (tmp_path / "backup" / "deep").mkdir(parents=True)
    cache.rename(tmp_path / "backup" / "deep" / cache.name)
    assert bpy.ops.stiction.find_frames(filepath=str(tmp_path / "backup")) == {"FINISHED"}
    assert height(bodies[0]) == pytest.approx(4 * 0.25)
