# SPDX-License-Identifier: GPL-3.0-or-later
"""Jumps of animated bodies, as Blender animates them: keys, parents, drivers and constraints."""

from __future__ import annotations

import numpy as np
import pytest

from ..objects import add_empty, body_named, read

FRAMES = 24


@pytest.fixture
def long_scene(scene):
    scene.rigidbody_world.point_cache.frame_end = scene.frame_end = FRAMES
    return scene


def key(ob, path: str, frames: dict, interpolation: str) -> None:
    from stiction.addon.blender.actions import curves

    for frame, value in frames.items():
        setattr(ob, path, value)
        ob.keyframe_insert(path, frame=frame)
    for curve in curves(ob):
        if curve.data_path == path:
            for point in curve.keyframe_points:
                point.interpolation = interpolation


def animated(make_body):
    make_body("Other").location.x = 50.0
    ob = make_body()
    ob.rigid_body.kinematic = True
    return ob


def teleports() -> tuple[int, ...] | None:
    return body_named(read(), "Body").teleports


HERE, THERE = (0.0, 0.0, 0.0), (2.0, 0.0, 0.0)


def test_a_constant_key_is_a_jump_at_its_frame_and_is_said(long_scene, make_body):
    ob = animated(make_body)
    key(ob, "location", {1: HERE, 11: THERE}, "CONSTANT")
    found = read()
    # counted from the first frame of the scene
    assert body_named(found, "Body").teleports == (10,)
    (warning,) = [one for one in found.warnings if one.field == "teleports"]
    assert warning.objects == ("Body",) and "teleports at frame 11" in warning.message


@pytest.mark.parametrize("interpolation", ["LINEAR", "BEZIER"])
def test_a_body_that_moves_within_a_frame_hits_what_is_on_its_way(long_scene, make_body, interpolation):
    ob = animated(make_body)
    key(ob, "location", {1: HERE, 10: HERE, 11: THERE, 20: THERE}, interpolation)
    assert teleports() is None


@pytest.mark.parametrize("interpolation", ["LINEAR", "BEZIER", "CONSTANT"])
def test_keys_of_two_frames_in_a_row_are_a_jump_if_they_are_far_apart(long_scene, make_body, interpolation):
    ob = animated(make_body)
    key(ob, "location", {1: HERE, 10: HERE, 11: (100.0, 0.0, 0.0), 20: (100.0, 0.0, 0.0)}, interpolation)
    assert teleports() == (10,)


def test_a_parent_a_driver_and_a_constraint_may_make_a_jump(long_scene, make_body):
    ob = animated(make_body)
    carrier = add_empty("Carrier", HERE, HERE)
    ob.parent = carrier
    key(carrier, "location", {1: HERE, 6: THERE}, "CONSTANT")
    assert teleports() == (5,)
    carrier.animation_data_clear()
    carrier.location = HERE
    ob.parent = None
    ob.driver_add("location", 0).driver.expression = "0 if frame < 9 else 3"
    assert teleports() == (8,)
    ob.driver_remove("location", 0)
    ob.location = HERE
    target = add_empty("Target", THERE, HERE)
    follows = ob.constraints.new("COPY_LOCATION")
    follows.target = target
    for frame, value in ((1, 0.0), (15, 1.0)):
        follows.influence = value
        follows.keyframe_insert("influence", frame=frame)
    from stiction.addon.blender.actions import curves

    for curve in curves(ob):
        for point in curve.keyframe_points:
            point.interpolation = "CONSTANT"
    assert teleports() == (14,)


def test_reading_jumps_leaves_the_frame_that_is_shown(long_scene, make_body):
    ob = animated(make_body)
    key(ob, "location", {1: HERE, 11: THERE}, "CONSTANT")
    long_scene.frame_set(7, subframe=0.25)
    read()
    assert (long_scene.frame_current, long_scene.frame_subframe) == (7, 0.25)


@pytest.mark.parametrize(("later", "expected"), [(None, 0.0), (3.0, 0.3)])
def test_a_parked_body_is_let_go_where_it_appears_at_rest_or_as_its_later_keyframes_move_it(
    long_scene, make_body, later, expected
):
    """Parked far away, keyed to its start at frame 11, and let go on the way to frame 12."""
    ob = make_body()
    ob.rigid_body.kinematic = True
    key(ob, "location", {1: (200.0, 0.0, 0.0)}, "CONSTANT")
    frames = {11: HERE} if later is None else {11: HERE, 21: (later, 0.0, 0.0)}
    for frame, place in frames.items():
        ob.location = place
        ob.keyframe_insert("location", frame=frame)
    from stiction.addon.blender.actions import curves

    for curve in curves(ob):
        curve.keyframe_points[0].interpolation = "CONSTANT"
        for point in list(curve.keyframe_points)[1:]:
            point.interpolation = "LINEAR"
    for frame, value in ((1, True), (12, False)):
        ob.rigid_body.kinematic = value
        ob.keyframe_insert("rigid_body.kinematic", frame=frame)
    body = body_named(read(), "Body")
    assert len(body.path) == 11 and body.teleports == (10,)
    assert np.allclose(body.velocity, (expected * 24.0, 0.0, 0.0), atol=1e-4)
