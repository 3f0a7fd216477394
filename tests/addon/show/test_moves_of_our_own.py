# SPDX-License-Identifier: GPL-3.0-or-later
"""What the add-on itself moves is no edit of the user's: where the bodies of a bake begin stays as the user left it."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from ..objects import read, world_matrix


class NoProcess:
    """In place of the process of a play, whose events a test makes up."""

    def close(self):
        pass


@pytest.fixture
def begin_play(extension, monkeypatch):
    """Begins a play without a process: returns it, and what shows a frame with the bodies elsewhere."""
    from stiction.addon.bake.job import WorkerMessage
    from stiction.addon.show import live

    started = []
    monkeypatch.setattr(live, "started", lambda _module, events, *_arguments: started.append(events) or NoProcess())

    def begin():
        extraction = read()
        playing = live.Live(bpy.context, extraction)
        rest = [np.concatenate([body.position, body.orientation]) for body in extraction.spec.bodies]

        def show(frame, drop):
            # as rounded as the worker tells them
            poses = np.array(rest).round(7) - [0.0, 0.0, drop, 0.0, 0.0, 0.0, 0.0]
            told = {"rate": 1.0, "missed": 0, "force": None, "pulls": 0, "strongest": 0.0}
            record = {"event": "frame", "frame": frame, "poses": poses.ravel().tolist(), **told}
            started[-1].put(WorkerMessage(record))
            assert playing.follow(bpy.context)
            bpy.context.view_layer.update()

        return playing, show

    return begin


@pytest.fixture
def boxes(make_body, fake_worker):
    """Two boxes at places that have no short binary fraction, and their bake."""
    found = [make_body(name) for name in ("Box", "Ball")]
    for index, ob in enumerate(found):
        ob.location, ob.rotation_euler = (index + 0.1, 0.7, 1.3), (0.3, 0.2, 0.1 * index)
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    return found


def starts(objects) -> list[tuple[float, ...]]:
    """Where the bake, and so Free Bake, has objects begin."""
    return [(*ob.stiction.backup.location, *ob.stiction.backup.rotation_euler) for ob in objects]


def changed() -> list[str]:
    from stiction.addon.bake.outdated import changes

    return changes(bpy.context.scene)


@pytest.fixture
def unmoved(boxes, scene):
    """After the test every box begins where it began, nothing is outdated, and Free Bake puts it there."""
    before = starts(boxes)
    yield boxes
    bpy.context.view_layer.update()
    assert starts(boxes) == before and changed() == []
    bpy.ops.stiction.free_bake()
    assert [(*ob.location, *ob.rotation_euler) for ob in boxes] == before


def call(handlers, *arguments):
    """What Blender calls; in the background it has no undo of its own."""
    for handler in list(handlers):
        handler(*arguments)


@pytest.mark.parametrize("frame", [1, 3])
@pytest.mark.parametrize("frames", [1, 3])
def test_play_on_a_bake(scene, unmoved, begin_play, frame, frames):
    scene.frame_set(frame)
    there = [world_matrix(ob) for ob in unmoved]
    playing, show = begin_play()
    for number in range(frames):
        # the first frame only rounds the poses
        show(1 + number, 0.2 * number)
    playing.end()
    assert scene.frame_current == frame
    np.testing.assert_allclose([world_matrix(ob) for ob in unmoved], there, atol=1e-6)


def test_play_on_a_bake_whose_frames_are_lost(scene, unmoved, begin_play):
    from pathlib import Path

    scene.frame_set(1)
    Path(scene.stiction.bake.cache).unlink()
    playing, show = begin_play()
    show(2, 0.5)
    playing.end()
    assert scene.stiction.bake.shows_start


def test_a_move_of_the_users_after_a_play_counts(scene, boxes, begin_play):
    scene.frame_set(1)
    playing, show = begin_play()
    show(2, 0.5)
    playing.end()
    boxes[0].location.x = 2.0
    bpy.context.view_layer.update()
    assert boxes[0].stiction.backup.location[0] == 2.0 and changed() == ["Box moved"]


def test_playback(scene, unmoved):
    for frame in (1, 2, 1, 5, 1, 3):
        scene.frame_set(frame)
        bpy.context.view_layer.update()


@pytest.mark.parametrize("frame", [1, 4])
def test_resume(scene, unmoved, frame):
    scene.frame_set(frame)
    assert bpy.ops.stiction.bake(resume=True) == {"FINISHED"}
    bpy.context.view_layer.update()


def test_scripts_that_change_frames_and_evaluate(scene, unmoved, begin_play):
    scene.frame_set(1)
    playing, show = begin_play()
    show(2, 0.5)
    for frame in (3, 1):
        scene.frame_set(frame)
        bpy.context.view_layer.update()
        show(3, 0.7)
    playing.end()


def test_undo_and_redo_while_it_plays(scene, unmoved, begin_play):
    scene.frame_set(1)
    playing, show = begin_play()
    show(2, 0.5)
    call(bpy.app.handlers.undo_post, scene, None)
    show(3, 0.7)
    call(bpy.app.handlers.redo_post, scene, None)
    playing.end()
    call(bpy.app.handlers.undo_post, scene, None)


def test_a_file_that_is_saved_while_it_plays_is_as_the_user_left_it(scene, unmoved, begin_play, tmp_path):
    scene.frame_set(1)
    before, path = starts(unmoved), str(tmp_path / "during.blend")
    playing, show = begin_play()
    show(2, 0.5)
    bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
    # the play goes on
    assert not scene.rigidbody_world.enabled
    show(3, 0.7)
    playing.end()
    with bpy.data.libraries.load(path) as (_, into):
        into.objects = ["Box", "Ball"]
    for ob, start in zip(into.objects, before, strict=True):
        assert (*ob.location, *ob.rotation_euler) == start
        bpy.data.objects.remove(ob)


def test_a_file_that_some_other_program_saved_while_it_played(scene, boxes, begin_play, tmp_path):
    """As after a crash: the bodies are anywhere, and the frame is the first."""
    scene.frame_set(1)
    before, path = starts(boxes), str(tmp_path / "during.blend")
    playing, show = begin_play()
    show(2, 0.5)
    handlers = [bpy.app.handlers.save_pre, bpy.app.handlers.save_post]
    kept = [list(each) for each in handlers]
    for each in handlers:
        each.clear()
    bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
    for each, own in zip(handlers, kept, strict=True):
        each.extend(own)
    playing.end()
    bpy.ops.wm.open_mainfile(filepath=path)
    loaded = [bpy.data.objects[name] for name in ("Box", "Ball")]
    loaded[0].location.z += 0.0  # Blender tells of it all the same
    bpy.context.view_layer.update()
    assert starts(loaded) == before and changed() == []
    bpy.ops.stiction.free_bake()
    assert [(*ob.location, *ob.rotation_euler) for ob in loaded] == before


def test_play_in_another_scene_that_has_the_same_bodies(scene, unmoved, begin_play):
    scene.frame_set(1)
    other = bpy.data.scenes.new("Other")
    for ob in unmoved:
        other.collection.objects.link(ob)
    bpy.context.window.scene = other
    bpy.ops.rigidbody.world_add()
    other.rigidbody_world.collection = scene.rigidbody_world.collection
    playing, show = begin_play()
    show(2, 0.5)
    # the first scene is seen in another window
    scene.view_layers[0].update()
    call(bpy.app.handlers.depsgraph_update_post, scene, scene.view_layers[0].depsgraph)
    call(bpy.app.handlers.undo_post, scene, None)
    playing.end()
    bpy.context.window.scene = scene
    assert scene.stiction.bake.shows_start


@pytest.mark.parametrize(
    "run",
    [
        lambda ours: ours.check_scene(),
        lambda ours: (ours.add_pieces(), ours.remove_pieces()),
        lambda ours: ours.copy_to_selected(),
        lambda ours: ours.mend_found(index=0),
    ],
    ids=["check", "pieces", "copy", "mend"],
)
@pytest.mark.parametrize("frame", [1, 3])
def test_other_buttons(scene, unmoved, run, frame):
    scene.frame_set(frame)
    for ob in unmoved:
        ob.select_set(True)
    bpy.context.view_layer.objects.active = unmoved[0]
    run(bpy.ops.stiction)
    bpy.context.view_layer.update()
    scene.frame_set(1)
    bpy.context.view_layer.update()
