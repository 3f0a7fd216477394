# SPDX-License-Identifier: GPL-3.0-or-later
"""What was played becomes the bake of its scene: it plays, can be keyed and gone on after, and says what it is."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import bpy
import numpy as np
import pytest

from ..objects import read, world_matrix


@pytest.fixture
def played(scene, make_body, fake_worker):
    """Two boxes, and what makes a play of them that ended at a frame."""
    from stiction.addon.bake.fingerprint import made_from, written
    from stiction.addon.show.take import Take, without_bends
    from stiction.solver_core.io.snapshot import write_snapshot
    from stiction.solver_core.live import settings_of_play

    boxes = [make_body("Box"), make_body("Ball")]
    boxes[1].location.x = 2.1

    def take(last, pulls=2):
        extraction = read()
        folder = tempfile.TemporaryDirectory()
        snapshot, cache = (Path(folder.name) / f"play.{ending}" for ending in ("snapshot", "cache"))
        spec = replace(without_bends(extraction.spec), frame_end=last)
        write_snapshot(snapshot, spec, settings_of_play(spec, extraction.settings))
        list(fake_worker(snapshot, cache).all_events())
        return Take(scene.session_uid, extraction, written(made_from(scene)), folder, cache, last, pulls, 31.4)

    return take, boxes


@pytest.fixture
def changes(extension):
    from stiction.addon.bake.outdated import changes

    return lambda: changes(bpy.context.scene)


def keep(take):
    from stiction.addon.show.take import keep

    return keep(bpy.context.scene, take)


def test_it_plays_is_no_other_scene_and_is_freed(scene, played, changes, fake_worker):
    take, boxes = played
    before = [tuple(ob.location) for ob in boxes]
    assert keep(take(4)) == 4
    bake = scene.stiction.bake
    assert (bake.state, bake.frame_start, bake.last_frame, bake.frame_end) == ("CACHED", 1, 4, 5)
    assert changes() == []
    scene.frame_set(3)
    moved = fake_worker.displacement(0, 3)
    there = np.array(boxes[0].stiction.backup.rest_world).reshape(4, 4)
    names = sorted(ob.name for ob in boxes)
    column = names.index("Box")
    np.testing.assert_allclose(world_matrix(boxes[0]), fake_worker.displacement(column, 3) @ there, atol=1e-5)
    assert not np.allclose(world_matrix(boxes[0]), there) and moved.shape == (4, 4)
    bpy.ops.stiction.free_bake()
    assert [tuple(ob.location) for ob in boxes] == before


def test_it_says_that_it_was_played_with_pulls_and_fewer_steps(scene, played):
    take, _ = played
    keep(take(4))
    said = scene.stiction.bake.earlier
    assert "Frames 1 to 4" in said and "played in the viewport with 2 pulls of up to 31.4 N" in said and "substeps 5" in said
    assert scene.stiction.bake.summary == "Kept from Play: frames 1 to 4, 2 pulls of up to 31.4 N"


def test_resume_goes_on_after_it(scene, played, changes):
    take, boxes = played
    keep(take(3))
    scene.frame_set(3)
    there = world_matrix(boxes[0])
    assert bpy.ops.stiction.bake(resume=True) == {"FINISHED"}
    assert scene.stiction.bake.last_frame == 5 and changes() == []
    assert "played in the viewport" in scene.stiction.bake.earlier
    scene.frame_set(3)
    np.testing.assert_allclose(world_matrix(boxes[0]), there, atol=1e-6)


def test_it_can_be_keyframed(scene, played):
    take, boxes = played
    keep(take(4))
    scene.frame_set(4)
    there = world_matrix(boxes[0])
    assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}
    scene.frame_set(1)
    scene.frame_set(4)
    np.testing.assert_allclose(world_matrix(boxes[0]), there, atol=1e-5)


@pytest.mark.parametrize("own_range", [False, True])
def test_a_play_that_is_longer_than_the_bake_lengthens_it(scene, played, changes, own_range):
    take, _ = played
    scene.stiction.use_frame_range, scene.stiction.frame_start, scene.stiction.frame_end = own_range, 1, 6
    assert keep(take(9)) == 9
    own = scene.stiction if own_range else scene.rigidbody_world.point_cache
    assert own.frame_end == 9 == scene.stiction.bake.frame_end and changes() == []


@pytest.mark.parametrize("own_range", [False, True])
def test_free_bake_restores_the_frame_range_that_keep_lengthened(scene, played, own_range):
    take, _ = played
    scene.stiction.use_frame_range, scene.stiction.frame_start, scene.stiction.frame_end = own_range, 1, 5
    own = scene.stiction if own_range else scene.rigidbody_world.point_cache
    own.frame_end = 5
    keep(take(9))
    keep(take(12))
    assert own.frame_end == 12
    assert bpy.ops.stiction.free_bake() == {"FINISHED"}
    assert own.frame_end == 5 and not scene.stiction.bake.end_before


def test_free_bake_leaves_a_frame_range_that_the_user_has_set_since(scene, played):
    take, _ = played
    keep(take(9))
    scene.rigidbody_world.point_cache.frame_end = 20
    assert bpy.ops.stiction.free_bake() == {"FINISHED"}
    assert scene.rigidbody_world.point_cache.frame_end == 20


def test_two_takes_are_two_bakes(scene, played):
    take, boxes = played
    keep(take(4, pulls=1))
    first = scene.stiction.bake.digest, scene.stiction.bake.cache
    bpy.ops.stiction.free_bake()
    boxes[0].location.z += 0.5
    keep(take(4, pulls=1))
    assert scene.stiction.bake.digest != first[0] and scene.stiction.bake.cache != first[1]
    # undo finds the frames of the first
    assert Path(first[1]).exists()


def test_the_button_keeps_the_play_of_its_scene_alone(scene, played):
    from stiction.addon.show.play import STICTION_OT_play

    take, _ = played
    assert not bpy.ops.stiction.keep_play.poll()
    STICTION_OT_play.last.set(take(4))
    session = bpy.context.window_manager.stiction
    assert session.take == "frames 1 to 4, 2 pulls of up to 31.4 N" and session.take_scene == str(scene.session_uid)
    assert bpy.ops.stiction.keep_play() == {"FINISHED"}
    assert session.take == "" and not bpy.ops.stiction.keep_play.poll()
    assert scene.stiction.bake.state == "CACHED"


def test_a_play_that_is_longer_than_the_timeline_says_so(scene, played, capsys):
    """A card pulled after the timeline's end was kept, and nothing of it was to be seen."""
    from stiction.addon.show.play import STICTION_OT_play

    take, _ = played
    scene.frame_end = 6
    STICTION_OT_play.last.set(take(9))
    assert bpy.ops.stiction.keep_play() == {"FINISHED"}
    assert "the timeline ends at frame 6, set its End to 9" in capsys.readouterr().out
    scene.frame_end = 9
    STICTION_OT_play.last.set(take(9))
    assert bpy.ops.stiction.keep_play() == {"FINISHED"} and "timeline" not in capsys.readouterr().out
