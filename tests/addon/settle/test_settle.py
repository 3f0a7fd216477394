# SPDX-License-Identifier: GPL-3.0-or-later
"""*Settle* in Blender: who moves, onto what, where objects end, and what it leaves alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import bpy
import numpy as np
import pytest

from ..bakes import bake
from ..objects import PLACEMENTS, add_empty, box_mesh, world_matrix

ROOT = Path(__file__).resolve().parents[3]


def screw():
    """A rigid motion along and about an axis that is none of the scene's."""
    axis, angle = np.array([1.0, 2.0, -2.0]) / 3.0, 0.8
    across = np.cross(np.eye(3), axis)
    result = np.eye(4)
    result[:3, :3] = np.eye(3) + np.sin(angle) * across.T + (1.0 - np.cos(angle)) * (np.outer(axis, axis) - np.eye(3))
    result[:3, 3] = (0.5, -0.25, -1.0)
    return result


def plain(name="Plain", half=(0.3, 0.2, 0.1), parent=None):
    """A mesh object without a rigid body."""
    ob = bpy.data.objects.new(name, box_mesh(name, half))
    bpy.context.scene.collection.objects.link(ob)
    ob.parent = parent
    return ob


def select(*objects):
    bpy.context.view_layer.update()
    for ob in bpy.context.scene.objects:
        ob.select_set(ob in objects)


def settle(**options):
    assert bpy.ops.stiction.settle(**options) == {"FINISHED"}


def refused(**options):
    """The message of a settle that is refused."""
    with pytest.raises(RuntimeError) as caught:
        bpy.ops.stiction.settle(**options)
    return str(caught.value)


@pytest.fixture
def floor(make_body):
    ob = make_body("Floor", kind="PASSIVE", shape="MESH", mesh=box_mesh("Floor", (4.0, 4.0, 0.1)))
    ob.location.z = -3.0
    return ob


@pytest.mark.parametrize("has_body", [True, False])
@pytest.mark.parametrize("placement", PLACEMENTS, ids=lambda each: each.__name__)
def test_an_object_ends_where_its_body_settled(fake_settle, make_body, floor, placement, has_body):
    ob = make_body() if has_body else plain()
    placement(ob)
    select(ob)
    before = world_matrix(ob)
    fake_settle.displacement = screw()
    settle()
    np.testing.assert_allclose(world_matrix(ob), screw() @ before, atol=1e-5)
    assert (ob.rigid_body is not None) == has_body


def test_selected_objects_move_and_all_other_rigid_bodies_stand(fake_settle, make_body, floor):
    chosen, other, loose = make_body("Chosen"), make_body("Other"), plain("Loose")
    select(chosen, loose, floor)
    settle()
    kinds = {body.name: body.kind.value for body in fake_settle.spec.bodies}
    assert kinds == {"Chosen": "active", "Loose": "active", "Other": "passive", "Floor": "passive"}
    select(other)
    settle(whole_world=True)
    kinds = {body.name: body.kind.value for body in fake_settle.spec.bodies}
    assert kinds == {"Chosen": "active", "Other": "active", "Floor": "passive"}


def test_without_a_suitable_selection_the_whole_world_settles(fake_settle, make_body, floor):
    make_body("Body")
    lamp = bpy.data.objects.new("Lamp", bpy.data.lights.new("Lamp", "POINT"))
    bpy.context.scene.collection.objects.link(lamp)
    select(lamp, floor)
    settle()
    assert {body.name for body in fake_settle.spec.bodies if body.kind.value == "active"} == {"Body"}


def test_objects_land_on_visible_meshes_where_that_is_asked_for(fake_settle, scene):
    table, hidden, empty_mesh = plain("Table"), plain("Hidden"), plain("Nothing")
    empty_mesh.data = bpy.data.meshes.new("Nothing")
    hidden.hide_set(True)
    cup = plain("Cup")
    cup.location.z = 2.0
    select(cup)
    assert "nothing to land on" in refused()
    settle(land_on="MESHES")
    assert {body.name for body in fake_settle.spec.bodies} == {"Table", "Cup"}
    del table


def test_without_a_rigid_body_world_objects_settle_on_meshes(fake_settle, extension):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    plain("Table")
    cup = plain("Cup")
    cup.location.z = 2.0
    select(cup)
    fake_settle.displacement = screw()
    settle(land_on="MESHES")
    assert bpy.context.scene.rigidbody_world is None
    assert fake_settle.spec.gravity.tolist() == pytest.approx([0.0, 0.0, -9.81], abs=1e-6)


def test_an_empty_settles_with_the_meshes_below_it_as_one_body(fake_settle, floor):
    root = add_empty("Mug", (1.0, 0.0, 0.0), (0.0, 0.0, 0.3))
    root.scale = (0.001,) * 3
    bowl, handle = plain("Bowl", (40.0, 40.0, 50.0), root), plain("Handle", (10.0, 5.0, 20.0), root)
    handle.location = (50.0, 0.0, 0.0)
    select(root, bowl, handle)
    before = [world_matrix(ob) for ob in (root, bowl, handle)]
    fake_settle.displacement = screw()
    settle()
    mug = next(body for body in fake_settle.spec.bodies if body.name == "Mug")
    assert [child.shape.vertices.shape for child in mug.shape.children] == [(8, 3), (8, 3)]
    assert np.ptp(mug.shape.children[0].shape.vertices[:, 2]) == pytest.approx(0.1)
    for ob, was in zip((root, bowl, handle), before, strict=True):
        np.testing.assert_allclose(world_matrix(ob), screw() @ was, atol=1e-6)


def test_a_selected_part_of_a_compound_settles_its_compound(fake_settle, make_body, floor):
    whole = make_body("Whole", shape="COMPOUND")
    part = make_body("Part")
    part.parent = whole
    select(part)
    settle()
    assert [body.name for body in fake_settle.spec.bodies] == ["Whole", "Floor"]


def test_a_body_that_stands_still_does_so_where_its_parent_settles(fake_settle, make_body, floor):
    plate, fork = make_body("Plate"), make_body("Fork")
    fork.parent = plate
    fork.location = (1.0, 0.0, 0.0)
    select(plate)
    before = world_matrix(fork)
    fake_settle.displacement = screw()
    settle()
    np.testing.assert_allclose(world_matrix(fork), before, atol=1e-6)


def test_where_nothing_moved_nothing_changes_to_the_last_bit(fake_settle, make_body, floor):
    ob = make_body()
    ob.location = (0.1, 0.2, 0.3)
    select(ob)
    before = tuple(ob.location), tuple(ob.rotation_euler)
    settle()
    assert (tuple(ob.location), tuple(ob.rotation_euler)) == before


def test_what_fell_past_everything_stays_where_it_was(fake_settle, make_body, floor, capfd):
    falls, lands = make_body("Falls"), make_body("Lands")
    select(falls, lands)
    before, fake_settle.displacement, fake_settle.lost = world_matrix(falls), screw(), ("Falls",)
    settle()
    assert np.array_equal(world_matrix(falls), before)
    np.testing.assert_allclose(world_matrix(lands), screw(), atol=1e-6)
    assert "Falls fell past everything" in capfd.readouterr().out


def test_a_bake_of_other_bodies_stays_what_it_is(fake_settle, fake_worker, make_body, floor):
    from stiction.addon.bake.outdated import changes

    make_body("Baked")
    bake()
    loose = plain("Loose")
    select(loose)
    fake_settle.displacement = screw()
    settle()
    assert changes(bpy.context.scene) == []


def test_a_settle_of_baked_bodies_that_moves_nothing_leaves_the_bake_alone(fake_settle, fake_worker, make_body, floor):
    from stiction.addon.bake.outdated import changes

    ob = make_body("Baked")
    bake()
    bpy.context.scene.frame_set(1)
    select(ob)
    settle()
    assert changes(bpy.context.scene) == []


@pytest.mark.parametrize("frame", [1, 4])
def test_a_baked_body_starts_where_it_settled_and_the_bake_is_said_to_be_outdated(
    fake_settle, fake_worker, make_body, floor, capfd, frame
):
    from stiction.addon.bake.outdated import changes

    ob = make_body("Baked")
    bake()
    scene = bpy.context.scene
    scene.frame_set(frame)
    select(ob)
    shown = world_matrix(ob)
    fake_settle.displacement = screw()
    settle()
    assert scene.frame_current == 1
    np.testing.assert_allclose(world_matrix(ob), screw() @ shown, atol=1e-5)
    assert changes(scene) == ["Baked moved"]
    assert "outdated now: Baked moved" in capfd.readouterr().out
    # playback leaves the start where it is, and Free Bake brings it back
    for other in (3, 1):
        scene.frame_set(other)
    np.testing.assert_allclose(world_matrix(ob), screw() @ shown, atol=1e-5)
    bpy.ops.stiction.free_bake()
    np.testing.assert_allclose(world_matrix(ob), screw() @ shown, atol=1e-5)


def test_objects_get_rigid_bodies_or_lose_them(fake_settle, make_body, floor):
    body, loose = make_body("Body"), plain("Loose")
    select(body, loose)
    settle(bodies="ADD")
    assert loose.rigid_body.type == "ACTIVE" and loose.stiction.mass_source == "DENSITY"
    select(body, loose)
    settle(bodies="REMOVE")
    assert body.rigid_body is None and loose.rigid_body is None and floor.rigid_body is not None


def test_a_random_start_moves_objects_and_is_repeatable(fake_settle, make_body, floor):
    ob = make_body()
    select(ob)
    for seed in (5, 5, 6):
        ob.location, ob.rotation_euler = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        settle(seed=seed, distance=0.2, angle=1.0)
        where = tuple(ob.location)
        assert 0.0 < np.linalg.norm(where) < 0.2001
        if seed == 5:
            first = where
    assert where != first


def test_gravity_of_ones_own_counts(fake_settle, make_body, floor):
    select(make_body())
    settle(use_gravity=True, gravity=(1.0, 0.0, 0.0))
    assert fake_settle.spec.gravity.tolist() == [1.0, 0.0, 0.0]


def test_weak_gravity_in_a_scene_in_millimeters_is_said(fake_settle, make_body, floor, capfd):
    bpy.context.scene.unit_settings.scale_length = 0.001
    select(make_body())
    settle()
    assert "objects fall slowly; set Gravity (--gravity 0 0 -9810)" in capfd.readouterr().out


def keyed(ob):
    ob.keyframe_insert("location", frame=1)


def constrained(ob):
    ob.constraints.new("COPY_LOCATION")


def driven(ob):
    ob.driver_add("location", 2).driver.expression = "1.0"


@pytest.mark.parametrize("how", [keyed, constrained, driven], ids=lambda each: each.__name__)
def test_what_something_else_places_is_refused_by_name(fake_settle, make_body, floor, how):
    ob = make_body("Held")
    how(ob)
    select(ob)
    assert "Held: keyframes, a driver or a constraint move it" in refused()


def test_flat_and_empty_meshes_are_refused_by_name(fake_settle, floor):
    flat = plain("Flat", (1.0, 1.0, 0.0))
    bare = plain("Bare")
    bare.data = bpy.data.meshes.new("Bare")
    select(flat, bare)
    message = refused()
    assert "Flat: its mesh is flat" in message and "Bare: the mesh has no vertices" in message


def test_a_scale_of_zero_is_refused_by_name(fake_settle, floor):
    ob = plain("Squashed")
    ob.scale.z = 0.0
    select(ob)
    assert "Squashed: the scale" in refused()


def test_an_empty_scene_is_refused_in_a_sentence(fake_settle, scene):
    assert "nothing can settle; select mesh objects, or make rigid bodies Active" in refused()


def test_an_open_mesh_settles_as_its_hull_and_says_so(fake_settle, floor, capfd):
    ob = plain("Bowl")
    mesh = ob.data
    faces = [tuple(polygon.vertices) for polygon in mesh.polygons][:-1]
    points = [tuple(vertex.co) for vertex in mesh.vertices]
    ob.data = bpy.data.meshes.new("Open")
    ob.data.from_pydata(points, [], faces)
    select(ob)
    settle()
    assert "Bowl is an open mesh, so its convex hull is used" in capfd.readouterr().out


def test_a_linked_object_is_refused_by_name(fake_settle, scene, tmp_path):
    plain("Linked")
    file = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(file, link=True) as (_, wanted):
        wanted.objects = ["Linked"]
    bpy.context.scene.collection.objects.link(wanted.objects[0])
    select(wanted.objects[0])
    assert "Linked [library.blend]: it is linked from a library" in refused(land_on="MESHES")


def test_what_the_process_refuses_changes_nothing(fake_settle, make_body, floor):
    select(make_body())
    fake_settle.error = "it must be positive"
    assert "Cube: mass: it must be positive" in refused()


def test_the_report_has_poses_and_who_rests(fake_settle, make_body, floor, tmp_path):
    select(make_body("Body"))
    fake_settle.displacement, fake_settle.restless = screw(), ("Body",)
    file = tmp_path / "report.json"
    settle(report_path=str(file), max_seconds=3.0)
    report = json.loads(file.read_text())
    (body,) = report["bodies"]
    assert body["object"] == "Body" and not body["rests"] and body["moved"] and not report["all_rest"]
    np.testing.assert_allclose(body["position"], screw()[:3, 3])
    assert report["max_seconds"] == 3.0 and fake_settle.arguments[:2] == ("--seconds", "3.0")


def test_only_in_object_mode(scene):
    ob = plain()
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(RuntimeError, match="Object Mode"):
        bpy.ops.stiction.settle()
    bpy.ops.object.mode_set(mode="OBJECT")


@pytest.mark.slow
def test_a_box_settles_on_the_floor_for_good(make_body, floor):
    """The process itself, no double."""
    ob = plain("Box")
    ob.rotation_euler = (0.3, 0.2, 0.0)
    select(ob)
    settle()
    bpy.context.scene.frame_set(3)
    matrix = world_matrix(ob)
    assert np.abs(matrix[2, :3]).max() == pytest.approx(1.0, abs=1e-5)
    assert matrix[2, 3] == pytest.approx(-2.9 + 0.1, abs=1e-4)


def test_the_manual_tells_of_every_option_of_the_dialog(extension):
    text = (ROOT / "docs" / "settle.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### (.+)$", text, flags=re.MULTILINE)
    operator = bpy.ops.stiction.settle.get_rna_type()
    hidden = {"rna_type", "report_path", "use_gravity"}
    names = {prop.name for prop in operator.properties if prop.identifier not in hidden}
    assert set(headings) == names
    assert operator.name in re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
