# SPDX-License-Identifier: GPL-3.0-or-later
"""Every bake has files of its own, and a scene never shows the motion of another bake than its own."""

from __future__ import annotations

import os
from pathlib import Path

import bpy
import numpy as np
import pytest

from .objects import world_matrix


@pytest.fixture
def bake_files(extension):
    from stiction.addon import bake_files

    return bake_files


@pytest.fixture
def bodies(make_body, fake_worker):
    """Two bodies; the more friction, the higher they go."""
    for x in (0.0, 3.0):
        make_body(f"Body.{x:.0f}").location.x = x
    plain = fake_worker.frame

    def frame(self, number):
        made = plain(self, number)
        for pose, body in zip(made.poses, self.spec.bodies, strict=True):
            pose[:3], pose[3:] = body.position, body.orientation
            pose[2] += (number - 1) * body.material.mu_static
        return made

    fake_worker.frame = frame
    return list(bpy.context.scene.rigidbody_world.collection.objects)


def bake(friction: float) -> Path:
    for ob in bpy.context.scene.rigidbody_world.collection.objects:
        ob.rigid_body.friction = friction
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    return Path(bpy.context.scene.stiction.bake.cache)


def height(ob: bpy.types.Object) -> float:
    bpy.context.scene.frame_set(5)
    return float(world_matrix(ob)[2, 3] - ob.stiction.backup.rest_world[11])


def record() -> dict:
    own = bpy.context.scene.stiction.bake
    return {name: getattr(own, name) for name in ("cache", "digest", "last_frame")}


def go_back(to: dict) -> None:
    """What undo does, which background mode does not have."""
    for name, value in to.items():
        setattr(bpy.context.scene.stiction.bake, name, value)


def test_going_back_to_an_earlier_bake_shows_its_motion(bodies):
    first = bake(0.25)
    then = record()
    assert bake(0.5) != first
    assert height(bodies[0]) == pytest.approx(4 * 0.5)
    go_back(then)
    assert height(bodies[0]) == pytest.approx(4 * 0.25)
    assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}
    assert height(bodies[0]) == pytest.approx(4 * 0.25)


def test_a_saved_file_shows_its_own_bake_after_the_scene_was_baked_otherwise(bodies, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "saved.blend"))
    bake(0.25)
    bpy.ops.wm.save_mainfile()
    bake(0.5)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "saved.blend"))
    assert height(bpy.data.objects["Body.0"]) == pytest.approx(4 * 0.25)


def test_frames_of_another_bake_are_neither_shown_nor_made_keyframes(bodies, capsys):
    mine = bake(0.25)
    then = record()
    mine.write_bytes(bake(0.5).read_bytes())
    go_back(then)
    before = world_matrix(bodies[0])
    bpy.context.scene.frame_set(5)
    assert np.array_equal(world_matrix(bodies[0]), before)
    assert "another scene or with other settings" in capsys.readouterr().out
    with pytest.raises(RuntimeError, match="another scene or with other settings"):
        bpy.ops.stiction.bake_to_keyframes()
    assert bpy.context.scene.stiction.bake.state == "CACHED"


def test_a_cache_that_lost_frames_is_not_made_keyframes(bodies):
    cache = bake(0.25)
    cache.write_bytes(cache.read_bytes()[:-10])
    with pytest.raises(RuntimeError, match="only frames 1 to 4, but frame 5 was baked; resume"):
        bpy.ops.stiction.bake_to_keyframes()


def test_a_bake_of_a_scene_that_has_changed_is_not_resumed(bodies, fake_worker):
    fake_worker.last_frame, fake_worker.status = 3, 1
    with pytest.raises(RuntimeError):
        bake(0.25)
    then = record()
    bodies[0].rigid_body.friction = 0.5
    with pytest.raises(RuntimeError, match="changed since the bake"):
        bpy.ops.stiction.bake(resume=True)
    assert record() == then


def test_a_bake_is_resumed_where_it_is_though_the_file_has_another_name_now(bodies, fake_worker, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "one.blend"))
    cache = bake(0.25)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "two.blend"))
    assert bpy.ops.stiction.bake(resume=True) == {"FINISHED"}
    assert record()["cache"] == str(cache)
    assert bake(0.25) != cache and cache.exists()


def test_old_bakes_are_removed_but_the_newest_and_those_in_use(bodies, bake_files):
    scene = bpy.context.scene
    shown = bake(0.0)
    other = bpy.data.scenes.new("Other")
    other.stiction.bake.state, other.stiction.bake.cache = "CACHED", str(shown)
    foreign = shown.with_name(f"another-{'0' * 12}.cache")
    foreign.write_bytes(b"")
    written = bake(0.01)
    from stiction.solver_core.file_lock import FileLock

    writer = FileLock.acquire(written)
    made = [shown, written, *(bake(0.1 * k) for k in range(1, bake_files.BAKES_KEPT + 3))]
    for age, path in enumerate((foreign, *made)):
        for one in (path, path.with_suffix(".snapshot")):
            if one.exists():
                os.utime(one, (1e9 + age, 1e9 + age))
    made.append(bake(1.5))
    newest = made[-bake_files.BAKES_KEPT :]
    left = {path for path in shown.parent.iterdir() if path.suffix == ".cache"}
    assert left == {foreign, shown, written, *newest}
    assert {path.with_suffix(".cache") for path in shown.parent.glob("*.snapshot")} == {shown, written, *newest}
    writer.release()
    bake(1.6)
    assert shown.exists() and not written.exists() and scene.stiction.bake.state == "CACHED"


def frames_to_go_on_with(bake_files) -> list[int]:
    from stiction.addon.extract import extract
    from stiction.solver_core.io.cache import FrameCacheReader

    read = extract(bpy.context)
    files = bake_files.files_to_resume(bpy.context.scene, (read.spec, read.settings))
    return list(FrameCacheReader(files.cache, files.digest).frames) if files.cache.exists() else []


def test_a_longer_scene_goes_on_after_the_frames_that_there_are(bodies, bake_files):
    bake(0.25)
    bpy.context.scene.rigidbody_world.point_cache.frame_end = 9
    assert frames_to_go_on_with(bake_files) == [1, 2, 3, 4, 5]


def test_a_longer_scene_goes_on_where_only_the_folder_tells_of_a_bake(bodies, bake_files):
    bake(0.25)
    bpy.ops.stiction.free_bake()
    bpy.context.scene.rigidbody_world.point_cache.frame_end = 9
    assert frames_to_go_on_with(bake_files) == [1, 2, 3, 4, 5]
    bodies[0].rigid_body.friction = 0.5
    assert frames_to_go_on_with(bake_files) == []


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
