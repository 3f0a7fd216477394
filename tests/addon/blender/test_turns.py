# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene that is read in turns is the one that is read at once, and one that is given up in between is as it was."""

import threading

import bpy
import pytest

from ..objects import read


@pytest.fixture
def several(scene, make_body):
    """Two active bodies, and one that is pushed along."""
    make_body("First")
    make_body("Second").location = (0.0, 0.0, 2.0)
    pusher = make_body("Pusher", kind="PASSIVE")
    pusher.rigid_body.kinematic = True
    for frame, place in ((1, (3.0, 0.0, 0.0)), (5, (1.0, 0.5, 0.0))):
        pusher.location, pusher.rotation_euler = place, place
        pusher.keyframe_insert("location", frame=frame)
        pusher.keyframe_insert("rotation_euler", frame=frame)
    scene.frame_set(3)
    return scene


def state(scene):
    rows = [(ob.name, tuple(v for row in ob.matrix_basis for v in row), ob.rigid_body.kinematic) for ob in scene.objects]
    bake = scene.stiction.bake.state
    return scene.frame_current, scene.rigidbody_world.enabled, bake, bpy.context.window_manager.stiction.is_reading, rows


def test_a_scene_read_in_turns_is_the_one_read_at_once(several):
    from stiction.addon.blender.cooperative import Turns
    from stiction.addon.read.extract import extracting
    from stiction.solver_core.io.snapshot import snapshot_digest

    before, turns, count = state(several), Turns(extracting(bpy.context)), 0
    while not turns.turn(0.0):
        count += 1
    in_turns, at_once = turns.result, read()
    # three bodies, five frames
    assert count >= 8
    assert state(several) == before
    assert snapshot_digest(in_turns.spec, in_turns.settings) == snapshot_digest(at_once.spec, at_once.settings)
    assert list(in_turns.rest) == ["First", "Second"]


@pytest.mark.parametrize("baked", [False, True])
@pytest.mark.parametrize("steps", range(1, 10))
def test_who_gives_up_anywhere_finds_the_scene_as_it_was(several, fake_worker, baked, steps):
    from stiction.addon.blender.cooperative import Turns
    from stiction.addon.read.extract import extracting

    if baked:
        bpy.ops.stiction.bake()
        several.frame_set(4)
    before, turns = state(several), Turns(extracting(bpy.context))
    for _ in range(steps):
        turns.turn(0.0)
    turns.end()
    assert state(several) == before
    assert bpy.ops.stiction.bake.poll()


def test_nothing_else_can_be_begun_while_a_scene_is_read(several, fake_worker):
    from stiction.addon.blender.cooperative import Turns
    from stiction.addon.read.extract import extracting

    bpy.ops.stiction.bake()
    turns = Turns(extracting(bpy.context))
    turns.turn(0.0)
    for operator in (bpy.ops.stiction.bake, bpy.ops.stiction.check_scene, bpy.ops.stiction.free_bake):
        assert not operator.poll()
    turns.end()
    assert bpy.ops.stiction.free_bake.poll()


def test_a_body_that_is_deleted_between_turns_ends_the_reading_and_leaves_the_rest(several):
    from stiction.addon.blender.cooperative import Turns
    from stiction.addon.read.extract import extracting

    turns = Turns(extracting(bpy.context))
    turns.turn(0.0)
    bpy.data.objects.remove(bpy.data.objects["Second"])
    with pytest.raises(ReferenceError):
        while not turns.turn(1.0):
            pass
    assert several.rigidbody_world.enabled and several.frame_current == 3
    assert len(read().spec.bodies) == 2


def test_what_goes_wrong_aside_is_raised_where_it_is_waited_for():
    from stiction.addon.blender.cooperative import aside, at_once

    def work():
        raise OSError(f"in {threading.current_thread().name}")

    with pytest.raises(OSError, match="in stiction"):
        at_once(aside("Working", work))


def test_who_waits_for_what_is_done_aside_is_not_held_up():
    from stiction.addon.blender.cooperative import Turns, aside

    release = threading.Event()
    turns = Turns(aside("Working", release.wait))
    assert not turns.turn(0.0) and not turns.turn(0.01)
    assert turns.step.status == "Working"
    release.set()
    while not turns.turn(1.0):
        pass
    assert turns.result is True
