# SPDX-License-Identifier: GPL-3.0-or-later
"""Every bake has files of its own, and a scene never shows the motion of another bake than its own."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

import bpy
import numpy as np
import pytest

from ..bakes_by_friction import bake, go_back, height, record
from ..objects import world_matrix


@pytest.fixture
def bake_files(extension):
    from stiction.addon.bake import bake_files

    return bake_files


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
    from stiction.solver_core.process.file_lock import FileLock

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


def project(folder: Path, name: str = "shot.blend") -> Path:
    """The open scene as the file of a project of its own, baked once and saved; its cache."""
    folder.mkdir(parents=True, exist_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / name))
    cache = bake(0.25)
    bpy.ops.wm.save_mainfile()
    return cache


def bake_often(bake_files) -> list[Path]:
    """Other bakes, of which all but the newest are removed."""
    made = [bake(0.3 + 0.01 * k) for k in range(bake_files.BAKES_KEPT + 3)]
    assert not made[0].exists() and made[-1].exists()
    return made


@pytest.mark.parametrize("saved", [True, False])
def test_bakes_of_two_projects_with_one_folder_and_one_name_never_meet(bodies, bake_files, tmp_path, saved):
    first = project(tmp_path / "a")
    before = first.read_bytes()
    if not saved:
        for note in first.parent.glob("*.shown"):
            note.unlink()
    second = project(tmp_path / "b")
    assert second.parent == first.parent and second != first
    bake_often(bake_files)
    assert first.read_bytes() == before and first.with_suffix(".snapshot").exists()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "a" / "shot.blend"))
    assert height(bpy.data.objects["Body.0"]) == pytest.approx(4 * 0.25)


def test_names_that_are_cleaned_to_the_same_one_are_not_one_file(bodies, bake_files, tmp_path):
    caches = [project(tmp_path, f"{name}.blend") for name in ("take 1", "take_1", "take.1")]
    assert len(set(caches)) == 3
    bake_often(bake_files)
    assert all(cache.exists() for cache in caches)


def test_what_a_copy_shows_is_not_removed_by_the_file_that_baked_it(bodies, bake_files, tmp_path):
    shown = project(tmp_path)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "copy.blend"), copy=True)
    bake_often(bake_files)
    bpy.ops.wm.save_mainfile()
    bake_often(bake_files)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "copy.blend"))
    assert shown.exists() and height(bpy.data.objects["Body.0"]) == pytest.approx(4 * 0.25)


def test_what_the_file_shows_as_it_was_saved_stays_until_it_is_saved_otherwise(bodies, bake_files, tmp_path):
    shown = project(tmp_path)
    bake_often(bake_files)
    assert shown.exists()
    bpy.ops.wm.save_mainfile()
    bake(0.9)
    assert not shown.exists()
    assert not [path for path in shown.parent.iterdir() if path.name.startswith(f"{shown.stem}.")]


def test_a_project_that_is_moved_counts_its_bakes_as_before(bodies, bake_files, tmp_path):
    bpy.context.scene.stiction.cache_directory = "//stiction_cache"
    names = []
    for folder in ("here", "there"):
        blend = tmp_path / folder / "shot.blend"
        (tmp_path / folder).mkdir()
        bpy.ops.wm.save_as_mainfile(filepath=str(blend))
        names.append(bake_files.bake_files(bpy.context.scene, "0" * 32).cache.name)
    assert names[0] == names[1]


def test_on_two_file_systems_the_machine_tells_two_files_of_one_path(extension, tmp_path, monkeypatch):
    from stiction.addon.bake import bake_users

    keys = {}
    for apart in (False, True):
        monkeypatch.setattr(bake_users, "device", lambda folder, apart=apart: str(folder) if apart else 0)
        for host in ("one", "two"):
            monkeypatch.setattr(bake_users.socket, "gethostname", lambda host=host: host)
            keys[apart, host] = bake_users.key_of(tmp_path / "a" / "shot.blend", tmp_path / "caches")
    assert keys[False, "one"] == keys[False, "two"]
    assert len({keys[True, "one"], keys[True, "two"], keys[False, "one"]}) == 3


def test_a_file_that_claims_any_file_as_its_cache_leaves_no_note_beside_it(bodies, tmp_path):
    project(tmp_path / "a")
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "authorized_keys").write_text("x")
    bpy.context.scene.stiction.bake.cache = str(tmp_path / "keys" / "authorized_keys")
    bpy.ops.wm.save_mainfile()
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["authorized_keys"]


@pytest.mark.parametrize("lie", ["cache", "digest too", "only the snapshot"])
def test_resuming_a_strangers_file_touches_nothing_of_what_it_names(bodies, bake_files, tmp_path, lie):
    victim = project(tmp_path / "a")
    bpy.context.scene.stiction.cache_directory = str(tmp_path / "others")
    bake(0.75)
    own = bpy.context.scene.stiction.bake
    if lie == "only the snapshot":
        mine = victim.with_suffix(".mine")
        mine.write_bytes(Path(own.cache).read_bytes())
        own.cache = str(mine)
    else:
        own.cache = str(victim)
    if lie == "digest too":
        from stiction.solver_core.io.cache import FrameCacheReader

        own.digest = FrameCacheReader(victim).info.digest
    os.utime(victim.with_suffix(".snapshot"), (1e9, 1e9))
    before = {path.name: (path.read_bytes(), path.stat().st_mtime) for path in victim.parent.iterdir()}
    # with the victim's digest it is no bake of this scene, whose own is found beside where it would be
    refused = nullcontext() if lie == "digest too" else pytest.raises(RuntimeError, match=r"another scene|left as it is")
    with refused:
        bpy.ops.stiction.bake(resume=True)
    assert {path.name: (path.read_bytes(), path.stat().st_mtime) for path in victim.parent.iterdir()} == before


def frames_to_go_on_with(bake_files) -> list[int]:
    from stiction.addon.read.extract import extract
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
