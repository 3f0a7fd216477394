# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake, with the real worker process, of a body that is animated until a frame wakes it."""

from __future__ import annotations

import bpy
import pytest

from ..objects import world_matrix


@pytest.mark.slow
def test_a_bake_lets_an_animated_body_go_with_its_speed_and_gives_it_its_animation_back(scene, make_body, tmp_path):
    """It rises at 1.2 m/s and wakes at the sixth frame."""
    from stiction.addon.blender.actions import curves

    scene.rigidbody_world.point_cache.frame_start, scene.rigidbody_world.point_cache.frame_end = 1, 11
    fps = scene.render.fps / scene.render.fps_base
    ob = make_body("Piece")
    ob.rigid_body.kinematic, ob.rigid_body.linear_damping, ob.rigid_body.angular_damping = True, 0.0, 0.0
    for frame in (1, 11):
        ob.location.z = 1.2 * (frame - 1) / fps
        ob.keyframe_insert("location", frame=frame)
    for curve in curves(ob):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
    collection = bpy.data.collections.new("Wall")
    scene.collection.children.link(collection)
    collection.objects.link(ob)
    own = collection.stiction_activation
    own.use_activation, own.use_frame, own.wake_frame = True, True, 6
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "activation.blend"))

    def height(frame):
        scene.frame_set(frame)
        return float(world_matrix(ob)[2, 3])

    seconds = 5.0 / fps
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    assert height(6) == pytest.approx(1.2 * seconds, abs=1e-5)
    assert height(11) == pytest.approx(2.4 * seconds - 0.5 * 9.81 * seconds**2, abs=1e-4)
    assert bpy.ops.stiction.free_bake() == {"FINISHED"}
    assert ob.rigid_body.kinematic
    assert height(11) == pytest.approx(2.4 * seconds, abs=1e-5)
