# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies as instances of one object are where the bodies would be; when it goes, everything is as it was."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from ..dump import dump
from ..objects import PLACEMENTS, box_mesh, euler_zyx, world_matrix

TIMES = (1.0, 2.0, 3.5, 5.0)


def show(time: float) -> None:
    bpy.context.scene.frame_set(int(np.floor(time)), subframe=time - np.floor(time))


def instances() -> dict[str, np.ndarray]:
    """World matrices of the instances, by the names of the meshes that they show."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    return {
        instance.object.data.name: np.array(instance.matrix_world)
        for instance in depsgraph.object_instances
        if instance.is_instance
    }


def motion(objects) -> list[dict[str, np.ndarray]]:
    result = []
    for time in TIMES:
        show(time)
        result.append({ob.data.name: world_matrix(ob) for ob in objects})
    return result


def shown() -> list[dict[str, np.ndarray]]:
    result = []
    for time in TIMES:
        show(time)
        result.append(instances())
    return result


def assert_same(found, wanted) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            assert np.abs(one[name] - other[name]).max() < 5e-6


@pytest.mark.parametrize("place", PLACEMENTS)
def test_instances_are_where_the_bodies_would_be(make_body, fake_worker, place):
    ob, other = make_body(), make_body("Other")
    place(ob)
    other.location = (0.0, 3.0, 0.0)
    bpy.ops.stiction.bake()
    wanted = motion([ob, other])
    assert bpy.ops.stiction.add_pieces() == {"FINISHED"}
    assert_same(shown(), wanted)
    assert ob.hide_viewport and ob.hide_render
    assert bpy.ops.stiction.remove_pieces() == {"FINISHED"}
    assert_same(motion([ob, other]), wanted)


def test_more_pieces_than_digits_of_their_number_are_not_mixed_up(make_body, fake_worker):
    objects = [make_body(f"Body {number}", mesh=box_mesh(f"Mesh {number}", (0.1, 0.1, 0.1))) for number in range(12)]
    for number, ob in enumerate(objects):
        ob.location.y = 2.0 * number
    bpy.ops.stiction.bake()
    wanted = motion(objects)
    bpy.ops.stiction.add_pieces()
    assert_same(shown(), wanted)


def test_modifiers_and_materials_of_objects_are_those_of_the_pieces(make_body, fake_worker):
    ob = make_body()
    ob.modifiers.new("Array", "ARRAY").count = 3
    red = bpy.data.materials.new("Red")
    ob.data.materials.append(None)
    ob.material_slots[0].link, ob.material_slots[0].material = "OBJECT", red
    bpy.ops.stiction.bake()
    bpy.ops.stiction.add_pieces()
    (piece,) = bpy.context.scene.stiction_display.pieces.objects
    assert len(piece.data.vertices) == 3 * len(ob.data.vertices) and piece.material_slots[0].material == red


@pytest.mark.parametrize("end", ["remove_pieces", "free_bake"])
def test_nothing_is_left_of_it(make_body, fake_worker, end):
    ob = make_body()
    euler_zyx(ob)
    ob.hide_render = True
    ob.modifiers.new("Array", "ARRAY")
    bpy.ops.stiction.bake()
    if end == "free_bake":
        bpy.ops.stiction.free_bake()
    before = dump()
    if end == "free_bake":
        bpy.ops.stiction.bake()
    bpy.ops.stiction.add_pieces()
    show(3.0)
    show(1.0)
    assert getattr(bpy.ops.stiction, end)() == {"FINISHED"}
    assert dump() == before
    assert not bpy.context.scene.stiction_display.hidden_bodies


def test_a_bake_again_moves_the_instances(make_body, fake_worker):
    ob = make_body()
    bpy.ops.stiction.bake()
    bpy.ops.stiction.add_pieces()
    before = shown()
    fake_worker.displacement = staticmethod(lambda body, frame: np.diag([-1.0, -1.0, 1.0, 1.0]) if frame > 1 else np.eye(4))
    ob.rigid_body.friction = 0.25
    bpy.ops.stiction.bake()
    now = shown()
    assert np.abs(now[1][ob.data.name] - before[1][ob.data.name]).max() > 0.1
    assert np.allclose(now[1][ob.data.name][:2, :2], -np.eye(2), atol=1e-5)


def test_keyframes_are_written_to_the_bodies_all_the_same(make_body, fake_worker):
    ob = make_body()
    bpy.ops.stiction.bake()
    wanted = motion([ob])
    bpy.ops.stiction.add_pieces()
    bpy.ops.stiction.bake_to_keyframes()
    bpy.ops.stiction.remove_pieces()
    found = motion([ob])
    for row in (0, 1, 3):
        assert np.abs(found[row][ob.data.name] - wanted[row][ob.data.name]).max() < 5e-6


def test_a_body_that_is_deleted_goes_and_the_others_keep_their_pieces(make_body, fake_worker):
    objects = [make_body(name) for name in ("A", "B", "C")]
    for row, ob in enumerate(objects):
        ob.location.y = 2.0 * row
    bpy.ops.stiction.bake()
    wanted = motion([objects[0], objects[2]])
    bpy.ops.stiction.add_pieces()
    bpy.data.objects.remove(objects[1])
    assert_same(shown(), wanted)


def test_what_carries_another_object_moves_by_itself(make_body, fake_worker):
    carrier, other = make_body("Carrier"), make_body("Other")
    lamp = bpy.data.objects.new("Lamp", None)
    bpy.context.scene.collection.objects.link(lamp)
    lamp.parent = carrier
    bpy.ops.stiction.bake()
    wanted = motion([carrier])
    show(3.0)
    there = world_matrix(lamp)
    show(1.0)
    bpy.ops.stiction.add_pieces()
    assert not carrier.hide_viewport and other.hide_viewport
    assert_same(motion([carrier]), wanted)
    show(3.0)
    assert np.abs(world_matrix(lamp) - there).max() < 1e-6
