# SPDX-License-Identifier: GPL-3.0-or-later
"""How bodies begin: at rest, asleep, with a velocity; and gravity that changes on the way."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest

from ..objects import PLACEMENTS, add_empty, body_named, problems_of, read, world_matrix


def key(ob, path: str, frames: dict, interpolation: str = "LINEAR") -> None:
    from stiction.addon.blender.actions import curves

    for frame, value in frames.items():
        setattr(ob, path, value)
        ob.keyframe_insert(path, frame=frame)
    for curve in curves(ob):
        for point in curve.keyframe_points:
            point.interpolation = interpolation


def warned() -> list[tuple[tuple[str, ...], str]]:
    return [(warning.objects, warning.field) for warning in read().warnings]


def blender_heights(scene, ob, frames: int) -> np.ndarray:
    scene.rigidbody_world.point_cache.frame_end = frames
    heights = []
    for frame in range(1, frames + 1):
        scene.frame_set(frame)
        heights.append(world_matrix(ob)[2, 3])
    return np.array(heights)


def test_a_body_begins_at_rest_until_it_has_a_velocity(make_body):
    ob = make_body()
    own = ob.stiction
    own.velocity, own.angular_velocity = (1.0, -2.0, 0.5), (0.0, math.pi, 0.0)
    assert not body_named(read(), "Body").velocity.any()
    own.initial_motion = "VALUES"
    body = body_named(read(), "Body")
    assert np.allclose(body.velocity, (1.0, -2.0, 0.5)) and np.allclose(body.angular_velocity, (0.0, math.pi, 0.0))
    make_body("Other")
    ob.rigid_body.type = "PASSIVE"
    assert not body_named(read(), "Body").velocity.any()


@pytest.mark.parametrize("place", PLACEMENTS)
def test_a_body_goes_on_as_its_animation_moves_it(scene, make_body, place):
    ob = make_body()
    place(ob)
    carrier = add_empty("Carrier", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    top = ob if ob.parent is None else ob.parent
    top.parent = carrier
    turn = 0.3
    key(carrier, "rotation_euler", {1: (0.0, 0.0, 0.0), 2: (0.0, 0.0, turn), 5: (0.0, 0.0, 4.0 * turn)})
    key(carrier, "location", {1: (0.0, 0.0, 0.0), 2: (0.1, 0.0, 0.2), 5: (9.0, 9.0, 9.0)})
    scene.render.fps, scene.rigidbody_world.time_scale = 48, 0.5
    ob.stiction.initial_motion = "ANIMATION"
    body = body_named(read(), "Body")
    scene.rigidbody_world.enabled = False
    way = []
    for frame in (1, 2):
        scene.frame_set(frame)
        way.append(world_matrix(ob)[:3, 3])
    # a frame lasts half of a 48th of a second
    assert np.allclose(body.velocity, (way[1] - way[0]) * 96.0, atol=1e-4)
    assert np.allclose(body.angular_velocity, (0.0, 0.0, turn * 96.0), atol=1e-4)
    assert np.allclose(body.position, way[0], atol=1e-6)


def test_an_animation_that_leads_nowhere_is_named_at_the_second_frame(make_body):
    make_body("Other")
    ob = make_body()
    key(ob, "scale", {1: (1.0, 1.0, 1.0), 2: (0.0, 1.0, 1.0)})
    ob.stiction.initial_motion = "ANIMATION"
    found = problems_of(read)
    assert set(found) == {("Body", "scale")} and found["Body", "scale"].startswith("at the second frame")


@pytest.mark.parametrize("may_rest", [True, False])
@pytest.mark.parametrize("deactivated", [True, False])
def test_a_body_that_starts_deactivated_sleeps_where_it_does_in_blender(scene, make_body, may_rest, deactivated):
    ob = make_body()
    ob.location.z = 5.0
    ob.rigid_body.use_deactivation, ob.rigid_body.use_start_deactivated = may_rest, deactivated
    sleeps = body_named(read(), "Body").starts_asleep
    assert sleeps == (may_rest and deactivated)
    assert (blender_heights(scene, ob, 12)[-1] > 4.99) == sleeps


def test_only_active_bodies_start_asleep(make_body):
    make_body("Other")
    ob = make_body(kind="PASSIVE")
    ob.rigid_body.use_deactivation = ob.rigid_body.use_start_deactivated = True
    assert not body_named(read(), "Body").starts_asleep


def test_gravity_that_stays_has_no_path(scene, make_body):
    make_body()
    assert read().spec.gravity_path is None
    scene.keyframe_insert("gravity", frame=1)
    assert read().spec.gravity_path is None


@pytest.mark.parametrize("what", ["gravity", "weight", "switch"])
def test_keyed_gravity_is_followed_as_in_blender(scene, make_body, what):
    ob = make_body()
    ob.rigid_body.linear_damping = 0.0
    if what == "gravity":
        key(scene, "gravity", {1: (0.0, 0.0, 0.0), 3: (0.0, 0.0, -10.0)}, "CONSTANT")
    elif what == "weight":
        scene.gravity = (0.0, 0.0, -10.0)
        weights = scene.rigidbody_world.effector_weights
        for frame, value in ((1, 0.0), (3, 1.0)):
            weights.gravity = value
            scene.keyframe_insert("rigidbody_world.effector_weights.gravity", frame=frame)
        from stiction.addon.blender.actions import curves

        for curve in curves(scene):
            for point in curve.keyframe_points:
                point.interpolation = "CONSTANT"
    else:
        scene.gravity = (0.0, 0.0, -10.0)
        key(scene, "use_gravity", {1: False, 3: True}, "CONSTANT")
    path = read().spec.gravity_path
    assert path is not None and np.allclose(path, [[0.0, 0.0, 0.0]] * 2 + [[0.0, 0.0, -10.0]] * 3)
    heights = blender_heights(scene, ob, 5)
    # gravity of a frame acts on the way to it, and the body has fallen at frame 3; Blender sometimes is a frame late
    step = 1.0 / (24.0 * scene.rigidbody_world.substeps_per_frame)
    fallen = [0.0] * 3 + [-10.0 * step**2 * n * (n + 1) / 2.0 for n in (10, 20, 30)]
    assert np.allclose(heights, fallen[1:], atol=1e-4) or np.allclose(heights, fallen[:5], atol=1e-4)


def test_keyed_gravity_outdates_a_bake_by_its_keys_and_not_by_the_frame(scene, make_body, fake_worker):
    from stiction.addon.bake.outdated import changes

    make_body()
    key(scene, "gravity", {1: (0.0, 0.0, 0.0), 3: (0.0, 0.0, -10.0)})
    scene.frame_set(1)
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    for frame in (1, 2, 5):
        scene.frame_set(frame)
        assert changes(scene) == []
    key(scene, "gravity", {4: (0.0, 0.0, -20.0)})
    assert changes(scene) == ["gravity of the scene"]


def held_until(ob, frame: int) -> None:
    """Keyframes that let the object go on the way to a frame."""
    for at, value in ((1, True), (frame, False)):
        ob.rigid_body.kinematic = value
        ob.keyframe_insert("rigid_body.kinematic", frame=at)


def test_a_body_that_is_let_go_follows_its_animation_for_as_long_as_in_blender(scene, make_body):
    ob = make_body()
    ob.rigid_body.linear_damping = 0.0
    scene.gravity = (0.0, 0.0, -10.0)
    held_until(ob, 4)
    key(ob, "location", {1: (0.0, 0.0, 0.0), 5: (0.4, 0.0, 0.0)})
    from stiction.addon.blender.actions import curves

    next(curve for curve in curves(ob) if curve.data_path.endswith("kinematic")).keyframe_points[0].interpolation = "CONSTANT"
    body = body_named(read(), "Body")
    assert body.kind.name == "ACTIVE" and not warned()
    assert np.allclose(body.path[:, :3], [[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.2, 0.0, 0.0]], atol=1e-6)
    # Blender's body falls from the last of these places
    heights = blender_heights(scene, ob, 5)
    assert np.allclose(heights[:3], 0.0, atol=1e-6) and (heights[3:] < -1e-3).all()


def test_what_is_held_for_one_frame_only_or_for_all_is_no_such_body(make_body):
    make_body("Other")
    ob = make_body()
    held_until(ob, 2)
    body = body_named(read(), "Body")
    assert body.kind.name == "ACTIVE" and body.path is None
    ob.animation_data_clear()
    held_until(ob, 9)
    body = body_named(read(), "Body")
    assert body.kind.name == "ANIMATED" and len(body.path) == 5
    # a key that no frame comes to has nothing that could be followed
    assert not warned()


def test_a_body_that_is_caught_again_follows_its_animation_from_that_key_on(scene, make_body):
    ob = make_body()
    scene.rigidbody_world.point_cache.frame_end = scene.frame_end = 12
    held_until(ob, 3)
    assert body_named(read(), "Body").spans is None
    for frame, value in ((7, True), (10, False)):
        ob.rigid_body.kinematic = value
        ob.keyframe_insert("rigid_body.kinematic", frame=frame)
    key(ob, "location", {1: (0.0, 0.0, 0.0), 12: (1.1, 0.0, 0.0)})
    ob.stiction.blend_frames = 2
    body = body_named(read(), "Body")
    assert body.kind.name == "ACTIVE" and body.spans == ((0, 1), (6, 8)) and body.blend_frames == 2
    assert np.allclose(body.path[:, 0], 0.1 * np.arange(9), atol=1e-6)
    assert not warned()


def test_a_body_that_its_animation_takes_over_begins_as_a_simulated_one(scene, make_body):
    ob = make_body()
    for frame, value in ((1, False), (3, True)):
        ob.rigid_body.kinematic = value
        ob.keyframe_insert("rigid_body.kinematic", frame=frame)
    ob.stiction.initial_motion, ob.stiction.velocity = "VALUES", (1.0, 0.0, 0.0)
    body = body_named(read(), "Body")
    assert body.kind.name == "ACTIVE" and body.spans == ((2, 4),) and np.allclose(body.velocity, (1.0, 0.0, 0.0))
    assert "Body" in read().rest


def test_who_keys_dynamic_off_is_told_what_follows_keyframes(make_body):
    make_body("Other")
    ob = make_body()
    ob.keyframe_insert("rigid_body.enabled", frame=1)
    (warning,) = read().warnings
    assert "key Animated on" in warning.message


def test_keys_that_let_a_body_go_do_not_give_a_baked_one_to_blender(scene, make_body, fake_worker):
    from ..dump import dump

    ob = make_body()
    held_until(ob, 3)
    scene.frame_set(1)
    before = dump()
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    for frame in (1, 4, 5, 2):
        scene.frame_set(frame)
        assert ob.rigid_body.kinematic
        expected = fake_worker.displacement(0, frame)
        assert np.allclose(world_matrix(ob), expected, atol=1e-5)
    scene.frame_set(1)
    assert bpy.ops.stiction.free_bake() == {"FINISHED"}
    assert dump() == before
