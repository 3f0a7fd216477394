# SPDX-License-Identifier: GPL-3.0-or-later
"""Playback leaves alone what stands as it left it, and nothing else."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from ..bakes import bake, closeness
from ..objects import add_empty, world_matrix


@pytest.fixture
def at_rest(make_body, fake_worker):
    """Two bodies, baked: the first moves up with each frame, the second rests."""
    bodies = [make_body(name) for name in "AB"]
    bodies[1].location = (2.0, 0.5, 0.25)
    fake_worker.displacement = staticmethod(risen)
    return bodies


def risen(body: int, frame: int) -> np.ndarray:
    result = np.eye(4)
    result[2, 3] = 0.0 if body else frame - 1.0
    return result


@pytest.fixture
def placed(monkeypatch):
    """The names of the objects that playback has placed."""
    from stiction.addon.bake import playback

    names, place = [], playback.place_bodies

    def noted(objects, basis, read):
        names.extend(ob.name for ob in objects)
        place(objects, basis, read)

    monkeypatch.setattr(playback, "place_bodies", noted)
    return names


def show(frame: int) -> None:
    bpy.context.scene.frame_set(frame)


def test_of_two_bodies_only_the_one_that_moves_is_placed(at_rest, placed):
    bake()
    show(2)
    placed.clear()
    show(3)
    assert placed == ["A"] and at_rest[0].location.z == 2.0


def test_what_the_user_moves_is_back_at_the_next_frame(at_rest):
    bake()
    rest = world_matrix(at_rest[1])
    show(2)
    at_rest[1].location.x += 1.0
    at_rest[1].rotation_euler.z += 0.5
    show(3)
    assert closeness(world_matrix(at_rest[1]), rest) < 1e-6


def test_what_was_moved_at_the_first_frame_is_where_the_bake_has_it_at_the_second(at_rest):
    bake()
    rest = world_matrix(at_rest[1])
    show(1)
    at_rest[1].location.x += 1.0
    show(2)
    assert closeness(world_matrix(at_rest[1]), rest) < 1e-6


@pytest.mark.parametrize("change", ["come", "gone", "renamed"])
def test_objects_that_come_go_or_have_another_name_mistake_nobody(make_body, at_rest, change):
    others = [add_empty(name, (0, 0, 0), (0, 0, 0)) for name in ("0", "C")]
    bake()
    rest = world_matrix(at_rest[1])
    show(2)
    if change == "come":
        add_empty("A0", (0, 0, 0), (0, 0, 0))
    elif change == "gone":
        bpy.data.objects.remove(others[0])
    else:
        at_rest[0].name, at_rest[1].name = "Z", "Y"
    show(3)
    assert closeness(world_matrix(at_rest[1]), rest) < 1e-6
    assert at_rest[0].matrix_world.translation.z == pytest.approx(2.0)


def test_a_body_at_rest_whose_parent_is_animated_stays_where_it_is(at_rest):
    cart = add_empty("Cart", (0, 0, 0), (0, 0, 0))
    at_rest[1].parent = cart
    for frame in (1, 5):
        cart.location.x = frame
        cart.keyframe_insert("location", frame=frame)
    show(1)
    rest = world_matrix(at_rest[1])
    bake()
    for frame in (2, 3, 4):
        show(frame)
        assert closeness(world_matrix(at_rest[1]), rest) < 1e-6


def test_channels_that_are_read_at_once_are_those_that_objects_have(scene, make_body):
    from stiction.addon.bake.standing import CHANNELS, Standing

    modes = "QUATERNION", "AXIS_ANGLE", "XYZ", "ZXY"
    for number, mode in enumerate(modes, 1):
        ob = make_body(f"Body {mode}")
        ob.rotation_mode = mode
        for place, (name, width) in enumerate(CHANNELS.items()):
            setattr(ob, name, [0.1 * number + place + 0.01 * axis for axis in range(width)])
    standing = Standing()
    standing.channels()
    rows = np.array([row for row, ob in enumerate(standing.objects) if ob.name.startswith("Body")][::-1])
    for name in CHANNELS:
        asked = np.array([getattr(standing.objects[row], name)[:] for row in rows])
        assert len(asked) == len(modes) and np.array_equal(standing.values(rows, name), asked)


def test_a_pose_that_is_applied_while_a_bake_plays_is_taken_back_with_the_bake(scene, make_body, fake_worker):
    """Settle is the way to keep poses; a bake leaves the file as it was."""
    ob = make_body("Thing")
    ob.location = (1.0, 2.0, 3.0)
    bake()
    scene.frame_set(5)
    assert np.abs(world_matrix(ob)[:3, 3] - (1.0, 2.0, 3.0)).max() > 0.1
    ob.select_set(True)
    bpy.context.view_layer.objects.active = ob
    assert bpy.ops.object.visual_transform_apply() == {"FINISHED"}
    assert bpy.ops.stiction.free_bake() == {"FINISHED"}
    scene.frame_set(1)
    assert tuple(ob.location) == (1.0, 2.0, 3.0)
    np.testing.assert_allclose(world_matrix(ob)[:3, 3], (1.0, 2.0, 3.0), atol=1e-6)
