# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts as points with attributes follow the frame, geometry nodes see them, and Free Bake takes them away."""

from __future__ import annotations

import csv

import bpy
import numpy as np
import pytest


@pytest.fixture
def baked(scene, make_body, fake_worker):
    make_body("A").stiction.material = "Steel"
    make_body("B")
    scene.stiction.keep_contacts = True
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    scene.frame_set(3)
    return scene


@pytest.fixture
def points(baked):
    assert bpy.ops.stiction.add_contact_points(with_marks=False) == {"FINISHED"}
    return baked.stiction_display.points_object


def values(mesh, name):
    data = mesh.attributes[name].data
    key = "vector" if mesh.attributes[name].data_type == "FLOAT_VECTOR" else "value"
    found = np.zeros(len(data) * (3 if key == "vector" else 1))
    data.foreach_get(key, found)
    return found.reshape(len(data), -1).squeeze()


def heights(mesh):
    return [vertex.co[2] for vertex in mesh.vertices]


def test_each_contact_and_impact_is_a_point_with_its_attributes(baked, points):
    mesh = points.data
    # three contacts and an impact of the frame 3, whose step is a 240th of a second
    assert heights(mesh) == [4.0, 5.0, 3.0, 3.0]
    np.testing.assert_array_equal(values(mesh, "state"), [1, 2, 0, 3])
    np.testing.assert_allclose(values(mesh, "impulse"), [3 / 240, 3 / 240, 0, 1], rtol=1e-6)
    np.testing.assert_allclose(values(mesh, "force"), [3, 3, 0, 240], rtol=1e-6)
    np.testing.assert_allclose(values(mesh, "slip_speed"), [0, 1, 0, 0])
    np.testing.assert_array_equal(values(mesh, "body_b"), [1, 1, 1, 1])
    np.testing.assert_array_equal(values(mesh, "material_a"), [0, 0, 0, 0])
    np.testing.assert_array_equal(values(mesh, "material_b"), [-1, -1, -1, -1])
    np.testing.assert_allclose(values(mesh, "contact_normal"), np.tile([0, 0, 1], (4, 1)))
    assert (points["bodies"], points["materials"]) == ("A, B", "Steel")


def test_points_follow_the_frame_as_blender_evaluates_them(baked, points):
    for frame in (5, 2, 1, 4):
        baked.frame_set(frame)
        seen = points.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
        # no step led to the first frame
        assert heights(seen) == ([] if frame == 1 else [frame + 1.0, frame + 2.0, frame, frame])
        assert "impulse" in seen.attributes


def test_a_new_bake_is_followed_and_free_bake_takes_the_points_away(baked, points):
    name = points.name
    baked.frame_set(1)
    bpy.ops.stiction.bake()
    baked.frame_set(4)
    assert heights(baked.stiction_display.points_object.data) == [5.0, 6.0, 4.0, 4.0]
    assert not bpy.ops.stiction.add_contact_points.poll()
    meshes = len(bpy.data.meshes)
    bpy.ops.stiction.free_bake()
    assert name not in bpy.data.objects and len(bpy.data.meshes) == meshes - 1
    baked.frame_set(3)


def test_points_are_saved_and_follow_after_loading(baked, points, tmp_path):
    file = str(tmp_path / "scene.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.open_mainfile(filepath=file)
    scene = bpy.context.scene
    scene.frame_set(2)
    assert heights(scene.stiction_display.points_object.data) == [3.0, 4.0, 2.0, 2.0]


def test_the_example_marks_what_slides_and_what_meets_by_the_cube_root_of_its_impulse(baked):
    bpy.ops.stiction.add_contact_points()
    baked.frame_set(4)
    shown = bpy.context.evaluated_depsgraph_get().object_instances
    marks = sorted(np.array(one.matrix_world)[2, 2:].tolist() for one in shown if one.is_instance)
    # size and height: 3 N for a 240th of a second at z = 6, and the impact of 1 N s at 4
    np.testing.assert_allclose(marks, [[0.05 * (3 / 240) ** (1 / 3), 6.0], [0.05, 4.0]], rtol=1e-5)
    bpy.ops.stiction.free_bake()
    bpy.ops.stiction.bake()
    bpy.ops.stiction.add_contact_points()
    assert len([tree for tree in bpy.data.node_groups if tree.name.startswith("Stiction Marks")]) == 1


def test_points_that_the_user_deleted_can_be_had_again(baked, points):
    bpy.data.objects.remove(points)
    baked.frame_set(2)
    assert bpy.ops.stiction.add_contact_points() == {"FINISHED"}


def test_without_contacts_there_are_no_points(scene, make_body, fake_worker):
    make_body("A")
    make_body("B")
    assert not bpy.ops.stiction.add_contact_points.poll()
    bpy.ops.stiction.bake()
    assert not bpy.ops.stiction.add_contact_points.poll() and not bpy.ops.stiction.export_impacts.poll()


def test_impacts_are_exported_from_panel_and_command_line(baked, tmp_path):
    from stiction.addon.command import cli

    files = [tmp_path / "panel.csv", tmp_path / "command.csv"]
    assert bpy.ops.stiction.export_impacts(filepath=str(files[0])) == {"FINISHED"}
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "scene.blend"))
    assert int(cli.run(["impacts", str(tmp_path / "scene.blend"), "-o", str(files[1])])) == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    rows = list(csv.DictReader(files[0].read_text().splitlines()))
    assert [(row["body_a"], row["material_a"], float(row["frame"])) for row in rows] == [
        ("A", "Steel", pytest.approx(frame - 0.5)) for frame in (2, 3, 4, 5)
    ]
    bpy.ops.stiction.free_bake()
    assert int(cli.run(["impacts", "-o", str(files[1])])) == 2
