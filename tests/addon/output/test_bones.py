# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones that follow baked bodies by constraints, in playback and with keyframes of their own."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest

from ..objects import world_matrix

FRAMES = range(1, 6)


@pytest.fixture
def rig(scene, make_body):
    """An armature that is moved, turned and scaled, with a root, and three bones below it; and a body for each of these.

    One follows by Child Of, one by Copy Transforms, one by Copy Location alone; the second is a child of the first.
    """
    bodies = [make_body(f"Body {k}") for k in range(3)]
    for k, body in enumerate(bodies):
        body.location = (0.4 * k, 0.3, 1.0)
        body.rotation_euler = (0.2 * k, 0.5, -0.3)
    rig = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    scene.collection.objects.link(rig)
    rig.location, rig.rotation_euler, rig.scale = (0.1, -0.2, 0.3), (0.1, 0.2, 0.7), (1.5, 1.5, 1.5)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    for name, head, parent in (("root", 0.0, None), ("of", 0.3, "root"), ("copies", 0.6, "of"), ("place", 0.2, "root")):
        bone = bones.new(name)
        bone.head, bone.tail = (0.0, 0.1, head), (0.05, 0.1, head + 0.2)
        bone.parent = None if parent is None else bones[parent]
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    for name, kind, body in zip(
        ("of", "copies", "place"), ("CHILD_OF", "COPY_TRANSFORMS", "COPY_LOCATION"), bodies, strict=True
    ):
        constraint = rig.pose.bones[name].constraints.new(kind)
        constraint.target = body
        if kind == "CHILD_OF":
            constraint.inverse_matrix = body.matrix_world.inverted()
    for name, mode in (("of", "QUATERNION"), ("copies", "XYZ"), ("place", "AXIS_ANGLE")):
        rig.pose.bones[name].rotation_mode = mode
    rig.pose.bones["root"].keyframe_insert("location", frame=1)
    rig.pose.bones["root"].location = (0.2, 0.0, 0.1)
    rig.pose.bones["root"].keyframe_insert("location", frame=5)
    return rig


def posed(rig) -> dict[str, np.ndarray]:
    """The world matrices (frames, 4, 4) of the bones."""
    found = {bone.name: [] for bone in rig.pose.bones}
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        seen = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for bone in seen.pose.bones:
            found[bone.name].append(np.array(seen.matrix_world @ bone.matrix))
    return {name: np.array(matrices) for name, matrices in found.items()}


def bodies_in(frames) -> np.ndarray:
    """The world matrices (bodies, frames, 4, 4) of the bodies."""
    found = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        found.append([world_matrix(bpy.data.objects[f"Body {k}"]) for k in range(3)])
    return np.swapaxes(np.array(found), 0, 1)


def test_bones_follow_the_bodies_of_a_bake_at_every_frame(rig, fake_worker):
    bpy.context.scene.frame_set(1)
    start = posed(rig)["of"][0]
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    bodies, bones = bodies_in(FRAMES), posed(rig)
    np.testing.assert_allclose(bones["copies"], bodies[1], atol=2e-6)
    np.testing.assert_allclose(bones["place"][:, :3, 3], bodies[2][:, :3, 3], atol=2e-6)
    # the root is keyed, and Child Of keeps what the bone would be without it
    np.testing.assert_allclose(bones["of"][0], start, atol=2e-6)
    turned = bones["of"][:, :3, :3] @ np.linalg.inv(bones["of"][0, :3, :3])
    np.testing.assert_allclose(turned, bodies[0][:, :3, :3] @ np.linalg.inv(bodies[0][0, :3, :3]), atol=5e-6)


@pytest.mark.parametrize("keyed", [False, True], ids=["cached", "keyed"])
@pytest.mark.parametrize("remove", [False, True])
def test_baked_to_bones_they_move_as_they_did_without_constraints_and_bodies(rig, fake_worker, keyed, remove):
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    if keyed:
        assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}
    bpy.context.scene.frame_set(3)
    before = posed(rig)
    assert bpy.ops.stiction.bake_to_bones(remove_constraints=remove) == {"FINISHED"}
    constraints = [one for bone in rig.pose.bones for one in bone.constraints]
    assert len(constraints) == (0 if remove else 3) and all(one.mute for one in constraints)
    for k in range(3):
        bpy.data.objects.remove(bpy.data.objects[f"Body {k}"])
    after = posed(rig)
    for name, expected in before.items():
        np.testing.assert_allclose(after[name], expected, atol=5e-5, err_msg=name)


def test_the_frame_stays_and_angles_do_not_jump(rig, fake_worker):
    from stiction.addon.blender import actions

    assert bpy.ops.stiction.bake() == {"FINISHED"}
    bpy.context.scene.frame_set(4)
    assert bpy.ops.stiction.bake_to_bones() == {"FINISHED"}
    assert bpy.context.scene.frame_current == 4
    keys = {(one.data_path, one.array_index): [p.co[1] for p in one.keyframe_points] for one in actions.curves(rig)}
    eulers = [values for (path, _), values in keys.items() if path == 'pose.bones["copies"].rotation_euler']
    assert len(eulers) == 3 and all(len(values) == len(FRAMES) for values in eulers)
    assert max(abs(np.diff(values)).max() for values in eulers) < math.pi
    # the root keeps its own two keys
    assert len(keys['pose.bones["root"].location', 0]) == 2


def test_what_cannot_be_baked_to_bones_is_refused_with_what_to_do(rig, fake_worker):
    assert not bpy.ops.stiction.bake_to_bones.poll()
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    rig.select_set(False)
    with pytest.raises(RuntimeError, match="No bone of the selected armatures follows a baked body; give bones a Child Of"):
        bpy.ops.stiction.bake_to_bones(only_selected=True)
    for bone in rig.pose.bones:
        for one in bone.constraints:
            one.mute = True
    with pytest.raises(RuntimeError, match="No bone follows a baked body"):
        bpy.ops.stiction.bake_to_bones()
    assert rig.animation_data.action.name and rig.pose.bones["of"].constraints[0].mute
