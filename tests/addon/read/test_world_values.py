# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the rigid body world that are keyed or driven: what is followed, and what is said of the rest."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from ..objects import read, world_matrix


def key(scene, path: str, frames: dict, interpolation: str = "CONSTANT") -> None:
    from stiction.addon.blender.actions import curves

    owner, _, name = path.rpartition(".")
    target = scene.path_resolve(owner)
    for frame, value in frames.items():
        setattr(target, name, value)
        scene.keyframe_insert(path, frame=frame)
    for curve in curves(scene):
        for point in curve.keyframe_points:
            point.interpolation = interpolation


SPEED, SUBSTEPS = "rigidbody_world.time_scale", "rigidbody_world.substeps_per_frame"


def test_speed_that_stays_is_one_number(scene, make_body):
    make_body()
    scene.rigidbody_world.time_scale = 0.5
    spec = read().spec
    assert spec.speed_path is None and spec.time_scale == 0.5
    key(scene, SPEED, {1: 0.25, 5: 0.25})
    spec = read().spec
    assert spec.speed_path is None and spec.time_scale == 0.25


def test_keyed_speed_is_followed_as_in_blender(scene, make_body):
    """The speed of a frame acts on the way to it: a falling body is where Blender's own simulation has it."""
    ob = make_body()
    ob.rigid_body.linear_damping = 0.0
    key(scene, SPEED, {1: 1.0, 3: 0.5, 4: 0.0, 5: 2.0})
    scene.frame_set(4)
    found = read()
    assert np.allclose(found.spec.speed_path, [1.0, 1.0, 0.5, 0.0, 2.0]) and found.spec.time_scale == 2.0
    assert scene.frame_current == 4
    start = float(found.spec.bodies[0].position[2])
    scene.rigidbody_world.point_cache.frame_end = 5
    heights = []
    for frame in range(1, 6):
        scene.frame_set(frame)
        heights.append(world_matrix(ob)[2, 3])
    # Blender's steps are semi-implicit, and the gravity is that of the scene
    step = found.spec.speed_path / (24.0 * scene.rigidbody_world.substeps_per_frame)
    speed, height, expected = 0.0, start, [start]
    for h in step[1:]:
        for _ in range(scene.rigidbody_world.substeps_per_frame):
            speed -= 9.81 * h
            height += h * speed
        expected.append(height)
    assert np.allclose(heights, expected, atol=1e-4)


def test_a_driver_of_the_speed_is_followed(scene, make_body):
    make_body()
    curve = scene.driver_add(SPEED)
    curve.driver.expression = "frame / 4"
    assert np.allclose(read().spec.speed_path, [0.5, 0.5, 0.75, 1.0, 1.25])


def test_an_animated_body_moves_by_its_keyframes_whatever_the_speed_is_as_in_blender(scene, make_body):
    make_body("Other")
    ob = make_body()
    ob.rigid_body.kinematic = True
    for frame, x in ((1, 0.0), (5, 4.0)):
        ob.location.x = x
        ob.keyframe_insert("location", frame=frame)
    key(scene, SPEED, {1: 1.0, 3: 0.0, 4: 0.1})
    spec = read().spec
    path = next(body.path for body in spec.bodies if body.name == "Body")
    scene.rigidbody_world.point_cache.frame_end = 5
    for frame in range(1, 6):
        scene.frame_set(frame)
        assert np.allclose(path[frame - 1, :3], world_matrix(ob)[:3, 3], atol=1e-5)


def test_keyed_substeps_are_the_most_of_any_frame_and_that_is_said(scene, make_body):
    make_body()
    key(scene, SUBSTEPS, {1: 5, 3: 40, 4: 8})
    found = read()
    assert found.settings.substeps == 40
    (warning,) = [one for one in found.warnings if one.field == "substeps_per_frame"]
    assert "from 5 to 40" in warning.message and "baked with 40" in warning.message
    scene.stiction.use_substeps, scene.stiction.substeps = True, 7
    found = read()
    assert found.settings.substeps == 7 and not found.warnings


@pytest.mark.parametrize("path", ["stiction.tolerance", "rigidbody_world.enabled"])
def test_keyframes_that_cannot_be_followed_are_named(scene, make_body, path):
    make_body()
    scene.keyframe_insert(path, frame=1)
    (warning,) = read().warnings
    assert warning.field == path and "keyframes are not followed" in warning.message


def test_keyed_speed_outdates_a_bake_by_its_keys_and_not_by_the_frame(scene, make_body):
    from stiction.addon.bake.fingerprint import changes_since, made_from, written

    make_body()
    key(scene, SPEED, {1: 1.0, 3: 0.5})
    key(scene, SUBSTEPS, {1: 5, 3: 10})
    scene.frame_set(1)
    before = written(made_from(scene))
    scene.frame_set(5)
    assert changes_since(before, made_from(scene)) == []
    key(scene, SPEED, {3: 0.25})
    assert changes_since(before, made_from(scene)) == ["speed of the scene"]


def test_an_animation_whose_second_frame_is_frozen_gives_no_velocity(scene, make_body):
    from ..objects import problems_of

    ob = make_body()
    ob.stiction.initial_motion = "ANIMATION"
    ob.keyframe_insert("location", frame=1)
    key(scene, SPEED, {1: 0.0, 3: 1.0})
    found = problems_of(read)
    assert set(found) == {("Body", "initial_motion")}
    assert bpy.context.scene == scene
