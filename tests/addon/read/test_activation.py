# SPDX-License-Identifier: GPL-3.0-or-later
"""Activation of a collection as the extraction reads it, and what it says of bad input."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from ..objects import body_named, box_mesh, problems_of, read


@pytest.fixture
def wall(scene, make_body):
    """A collection of two bodies whose activation is on; the third body is in none."""
    collection = bpy.data.collections.new("Wall")
    scene.collection.children.link(collection)
    for name, x in (("A", 0.0), ("B", 2.0), ("Ball", 6.0)):
        ob = make_body(name)
        ob.location.x = x
        if name != "Ball":
            collection.objects.link(ob)
    scene.rigidbody_world.point_cache.frame_start, scene.rigidbody_world.point_cache.frame_end = 1, 11
    collection.stiction_activation.use_activation = True
    bpy.context.view_layer.update()
    return collection


@pytest.fixture
def box(scene):
    """A box that is no body, and grows with its scale from nothing to twice its size at frame 11."""
    ob = bpy.data.objects.new("Box", box_mesh("Box", (1.0, 1.0, 1.0)))
    scene.collection.objects.link(ob)
    for frame, size in ((1, 0.0), (11, 2.0)):
        ob.scale = (size, size, size)
        ob.keyframe_insert("scale", frame=frame)
    return ob


def problem(where):
    return problems_of(read)["Wall", where]


def test_all_conditions_are_read(wall, box):
    own = wall.stiction_activation
    own.use_frame, own.wake_frame = True, 5
    own.use_volume, own.volume_object = True, box
    own.use_proximity, own.near_object, own.distance = True, bpy.data.objects["Ball"], 0.25
    own.use_impulse, own.least_impulse = True, 30.0
    box["wake"] = 0.0
    box.keyframe_insert('["wake"]', frame=3)
    box["wake"] = 1.0
    box.keyframe_insert('["wake"]', frame=4)
    own.use_value, own.value_object, own.value_name = True, box, "wake"
    (one,) = read().spec.activations
    assert (one.name, one.bodies, one.frame, one.impulse) == ("Wall", ("A", "B"), 4, 30.0)
    assert one.holds and one.releases
    np.testing.assert_array_equal(one.values > 0.0, [False] * 3 + [True] * 8)
    volume, near = one.zones
    assert volume.is_volume and volume.transforms.shape == (11, 3, 4)
    assert volume.transforms[-1, 0, 0] == pytest.approx(2.0) and volume.transforms[0, 0, 0] == 0.0
    # what the solver moves takes its surface along
    assert (near.body, near.distance, near.is_volume) == ("Ball", 0.25, False)
    np.testing.assert_allclose(np.abs(near.vertices).max(axis=0), (0.3, 0.2, 0.1), rtol=1e-6)


def test_an_empty_counts_as_a_point(wall, scene):
    empty = bpy.data.objects.new("Empty", None)
    scene.collection.objects.link(empty)
    empty.location = (1.0, 2.0, 3.0)
    own = wall.stiction_activation
    own.use_proximity, own.near_object = True, empty
    bpy.context.view_layer.update()
    ((zone,),) = [one.zones for one in read().spec.activations]
    assert zone.transforms.shape == (1, 3, 4)
    np.testing.assert_allclose(zone.vertices @ zone.transforms[0, :, :3].T + zone.transforms[0, :, 3], [(1.0, 2.0, 3.0)])


def test_an_animated_body_that_is_held_becomes_active_with_its_path(wall):
    ob = bpy.data.objects["A"]
    ob.rigid_body.kinematic = True
    for frame in (1, 11):
        ob.location.z = 0.1 * frame
        ob.keyframe_insert("location", frame=frame)
    wall.stiction_activation.use_frame = True
    body = body_named(read(), "A")
    assert body.kind.value == "active" and body.path.shape == (11, 7)
    wall.stiction_activation.use_hold = False
    # who is not held is animated for good, and cannot wake
    assert body_named(read(), "A").kind.value == "animated"
    assert read().spec.activations[0].bodies == ("B",)


def test_what_is_animated_goes_on_with_its_speed_in_a_simulation(wall, tmp_path):
    from solver_core.dynamics.simulation import Simulation
    from solver_core.io.snapshot import read_snapshot
    from stiction.solver_core.io.snapshot import write_snapshot

    ob = bpy.data.objects["A"]
    ob.rigid_body.kinematic = True
    for frame in (1, 11):
        ob.location.x = 10.0 + 0.05 * frame
        ob.keyframe_insert("location", frame=frame)
    for curve in curves(ob):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
    wall.stiction_activation.use_frame, wall.stiction_activation.wake_frame = True, 6
    found = read()
    # a bake, too, is another process, with kernels of its own
    write_snapshot(tmp_path / "scene", found.spec, found.settings)
    frames = Simulation(*read_snapshot(tmp_path / "scene")).run(10)
    fps = found.spec.fps
    at = [body.name for body in found.spec.bodies].index("A")
    assert frames[5].poses[at, 2] == pytest.approx(0.0, abs=1e-6)
    assert frames[10].poses[at, 0] == pytest.approx(10.55, abs=0.01)
    assert frames[10].poses[at, 2] == pytest.approx(-0.5 * 9.81 * (5 / fps) ** 2, rel=0.02)


def curves(ob):
    from stiction.addon.blender.actions import curves as curves_of

    return curves_of(ob)


@pytest.mark.parametrize(
    ("switch", "pointer"), [("use_volume", "volume_object"), ("use_proximity", "near_object"), ("use_value", "value_object")]
)
def test_a_condition_without_an_object_is_refused(wall, switch, pointer):
    setattr(wall.stiction_activation, switch, True)
    assert "no object is chosen" in problem(pointer)


def test_an_object_that_was_deleted_is_refused(wall, box, scene):
    own = wall.stiction_activation
    own.use_volume, own.volume_object = True, box
    scene.collection.objects.unlink(box)
    assert "not in the scene" in problem("volume_object")


def test_a_volume_without_a_mesh_is_refused(wall, scene):
    empty = bpy.data.objects.new("Empty", None)
    scene.collection.objects.link(empty)
    own = wall.stiction_activation
    own.use_volume, own.volume_object = True, empty
    assert "Empty" in problem("volume_object")


def test_an_open_volume_and_one_without_size_are_refused(wall, scene):
    open_mesh = bpy.data.meshes.new("Open")
    open_mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    ob = bpy.data.objects.new("Open", open_mesh)
    scene.collection.objects.link(ob)
    own = wall.stiction_activation
    own.use_volume, own.volume_object = True, ob
    assert "is open" in problems_of(read)["Open", "triangles"]
    ob.data = box_mesh("Whole", (1.0, 1.0, 1.0))
    ob.scale = (0.0, 0.0, 0.0)
    assert "scale is 0" in problems_of(read)["Open", "scale"]


def test_a_body_that_would_wake_itself_is_refused(wall):
    own = wall.stiction_activation
    own.use_proximity, own.near_object = True, bpy.data.objects["A"]
    assert "would wake itself" in problems_of(read)["A", "activation"]


def test_a_property_that_is_none_is_refused(wall, box):
    own = wall.stiction_activation
    own.use_value, own.value_object, own.value_name = True, box, "missing"
    assert "no custom property 'missing'" in problem("value_object")


def test_a_collection_without_bodies_is_pointed_out(wall, scene):
    empty = bpy.data.collections.new("Nobody")
    scene.collection.children.link(empty)
    empty.stiction_activation.use_activation = True
    assert any(one.objects == ("Nobody",) and one.field == "activation" for one in read().warnings)


def test_settings_and_objects_of_an_activation_make_a_bake_outdated(wall, box, scene):
    from stiction.addon.bake.fingerprint import changes_since, made_from, written

    own = wall.stiction_activation
    own.use_volume, own.volume_object = True, box
    before = written(made_from(scene))
    assert not changes_since(before, made_from(scene))
    box.location.x = 3.0
    assert changes_since(before, made_from(scene)) == ["activation of the scene"]
    box.location.x, own.use_hold = 0.0, False
    assert changes_since(before, made_from(scene)) == ["activation of the scene"]
