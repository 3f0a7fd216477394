# SPDX-License-Identifier: GPL-3.0-or-later
"""Between frames cached motion goes on, as keyframes do: for motion blur, slow motion and time remapping."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from ..objects import add_empty, axis_angle, euler_zyx, quaternion, world_matrix

TIMES = (1.0, 1.25, 1.5, 2.75, 4.01, 4.99)


def show(time: float) -> None:
    bpy.context.scene.frame_set(int(np.floor(time)), subframe=time - np.floor(time))


def shown(ob, times=TIMES) -> np.ndarray:
    worlds = []
    for time in times:
        show(time)
        worlds.append(world_matrix(ob))
    return np.array(worlds)


@pytest.mark.parametrize("place", [euler_zyx, quaternion, axis_angle])
def test_a_cached_body_is_on_its_way_between_two_frames(make_body, fake_worker, place):
    ob = make_body()
    place(ob)
    rest = world_matrix(ob)
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    wanted = [fake_worker.displacement(0, time) @ rest for time in TIMES]
    assert np.abs(shown(ob) - wanted).max() < 3e-6


def test_a_cached_child_of_a_moving_parent_is_on_its_way_too(make_body, fake_worker):
    ob = make_body()
    ob.parent = add_empty("Cart", (0, 0, 0), (0, 0, 0))
    for frame in (1, 5):
        ob.parent.location, ob.parent.rotation_euler = (frame, 1, 0), (0.2 * frame, 0, 0.5 * frame)
        ob.parent.keyframe_insert("location", frame=frame)
        ob.parent.keyframe_insert("rotation_euler", frame=frame)
    bpy.context.scene.frame_set(1)
    rest = world_matrix(ob)
    fake_worker.displacement = staticmethod(lambda body, frame: moved((frame - 1) * np.array([0.3, 0.0, -0.2])))
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    wanted = [fake_worker.displacement(0, time) @ rest for time in TIMES]
    assert np.abs(shown(ob) - wanted).max() < 3e-6


def moved(way) -> np.ndarray:
    result = np.eye(4)
    result[:3, 3] = way
    return result


def test_before_the_first_frame_and_after_the_last_a_body_is_where_it_is_there(make_body, fake_worker):
    ob = make_body()
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    ends = shown(ob, (1.0, 5.0))
    assert np.array_equal(shown(ob, (0.5, 5.5)), ends)


def test_a_move_between_frames_is_no_move_of_the_start(make_body, fake_worker):
    make_body()
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    show(1.0)
    assert bpy.context.scene.stiction.bake.shows_start
    show(1.5)
    assert not bpy.context.scene.stiction.bake.shows_start


@pytest.mark.parametrize("time", [2.0, 2.5, 7.0])
def test_remapped_time_shows_what_keyframes_show(make_body, fake_worker, time):
    ob = make_body()
    fake_worker.displacement = staticmethod(lambda body, frame: moved((frame - 1) ** 2 * np.array([0.3, 0.0, -0.2])))
    bpy.context.scene.render.frame_map_old, bpy.context.scene.render.frame_map_new = 100, 200
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    cached = shown(ob, [time])
    assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}
    assert np.abs(shown(ob, [time]) - cached).max() < 1e-6


@pytest.mark.slow
def test_cycles_blurs_cached_motion_as_it_blurs_keyframes(make_body, fake_worker, tmp_path):
    scene, ob = bpy.context.scene, make_body()
    glow = bpy.data.materials.new("Glow")
    glow.use_nodes = True
    glow.node_tree.nodes.clear()
    out, emission = (glow.node_tree.nodes.new(f"ShaderNode{kind}") for kind in ("OutputMaterial", "Emission"))
    glow.node_tree.links.new(emission.outputs[0], out.inputs[0])
    ob.data.materials.append(glow)
    scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(scene.camera)
    scene.camera.location, scene.camera.data.type, scene.camera.data.ortho_scale = (0.8, 0, 5), "ORTHO", 4.0
    fake_worker.displacement = staticmethod(lambda body, frame: moved(((frame - 1) * 0.4, 0.0, 0.0)))
    scene.render.engine, scene.cycles.samples, scene.cycles.use_denoising = "CYCLES", 32, False
    scene.cycles.use_adaptive_sampling = False
    scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = 64, 16, 100
    scene.render.use_motion_blur, scene.render.motion_blur_shutter = True, 1.0
    scene.view_settings.view_transform = "Raw"
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    cached = rendered(tmp_path / "cached.png")
    assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}
    assert np.abs(rendered(tmp_path / "keyed.png") - cached).max() < 0.02
    # to both sides, by half a frame of motion each: 0.2 m where 4 m are 64 pixels
    partly = np.flatnonzero((cached[8] > 0.02) & (cached[8] < 0.98))
    middle = cached[8] @ np.arange(64) / cached[8].sum()
    assert abs(middle - 31.5) < 0.5 and (partly < 32).sum() >= 5 and (partly >= 32).sum() >= 5


def rendered(file) -> np.ndarray:
    scene = bpy.context.scene
    scene.frame_set(3)
    scene.render.filepath = str(file)
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(str(file))
    pixels = np.array(image.pixels[:]).reshape(16, 64, 4)[..., 0]
    bpy.data.images.remove(image)
    return pixels
