# SPDX-License-Identifier: GPL-3.0-or-later
"""What the solver is told about a scene is what Blender has."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from ..objects import (
    BOX,
    PLACEMENTS,
    body_named,
    box_mesh,
    corners_in_world,
    kept,
    outward_volume,
    problems_of,
    read,
    world_matrix,
)


@pytest.mark.parametrize("place", PLACEMENTS)
@pytest.mark.parametrize("shape", ["CONVEX_HULL", "MESH", "BOX"])
def test_vertices_lie_where_blender_has_them(make_body, place, shape):
    ob = make_body(shape=shape)
    ob.location = (0.3, 0.2, 5.0)
    place(ob)
    body = body_named(read(), "Body")
    world = world_matrix(ob)
    expected = BOX @ world[:3, :3].T + world[:3, 3]
    found = corners_in_world(body)
    distances = np.linalg.norm(found[:, None] - expected[None], axis=2)
    assert distances.min(axis=0).max() < 1e-6 and distances.min(axis=1).max() < 1e-6
    assert abs(np.linalg.norm(body.orientation) - 1.0) < 1e-12
    assert np.allclose(outward_volume(body.shape), 8 * 0.006 * abs(np.linalg.det(world[:3, :3])), rtol=1e-5)


@pytest.mark.parametrize(
    ("kind", "enabled", "kinematic", "expected"),
    [
        ("ACTIVE", True, False, "ACTIVE"),
        ("ACTIVE", True, True, "ANIMATED"),
        ("ACTIVE", False, False, "PASSIVE"),
        ("ACTIVE", False, True, "PASSIVE"),
        ("PASSIVE", True, False, "PASSIVE"),
        ("PASSIVE", True, True, "ANIMATED"),
    ],
)
def test_who_moves_a_body(make_body, kind, enabled, kinematic, expected):
    make_body("Other")
    ob = make_body(kind=kind)
    ob.rigid_body.enabled, ob.rigid_body.kinematic = enabled, kinematic
    assert body_named(read(), "Body").kind.name == expected


def test_values_of_blender_hold_until_the_user_sets_others(make_body):
    ob = make_body()
    rigid = ob.rigid_body
    rigid.friction, rigid.restitution, rigid.mass = 0.625, 0.25, 2.5
    rigid.linear_damping, rigid.angular_damping = 0.125, 0.75
    rigid.collision_collections = [index in (1, 4) for index in range(20)]
    ob.lock_location, ob.lock_rotation = (True, False, False), (False, True, True)
    body = body_named(read(), "Body")
    assert (body.material.mu_static, body.material.mu_dynamic, body.material.restitution) == (0.625, 0.625, 0.25)
    assert (body.mass, body.density) == (2.5, None)
    assert (body.linear_damping, body.angular_damping, body.collections) == (0.125, 0.75, 0b10010)
    assert body.linear_factor.tolist() == [0.0, 1.0, 1.0] and body.angular_factor.tolist() == [1.0, 0.0, 0.0]


def test_own_values_start_from_what_held_before(make_body):
    ob = make_body()
    ob.rigid_body.friction, ob.rigid_body.restitution = 0.625, 0.25
    own = ob.stiction
    own.use_mu_static = own.use_mu_dynamic = own.use_restitution = True
    assert (own.mu_static, own.mu_dynamic, own.restitution) == (0.625, 0.625, 0.25)
    own.mu_dynamic = 0.5
    own.mass_source, own.density = "DENSITY", 700.0
    body = body_named(read(), "Body")
    assert (body.material.mu_static, body.material.mu_dynamic) == (0.625, 0.5)
    assert (body.mass, body.density) == (None, 700.0)


def test_switching_back_and_forth_keeps_what_the_user_typed(make_body):
    own = make_body().stiction
    own.use_mu_static = True
    own.mu_static = 0.875
    own.use_mu_static = False
    own.use_mu_static = True
    assert own.mu_static == 0.875


def test_the_scene_settings(scene, make_body):
    make_body()
    scene.gravity = (0.5, 0.0, -2.0)
    scene.rigidbody_world.effector_weights.gravity = 0.5
    scene.render.fps, scene.render.fps_base = 30, 1.001
    scene.rigidbody_world.time_scale, scene.rigidbody_world.substeps_per_frame = 0.5, 7
    extraction = read()
    spec = extraction.spec
    assert np.allclose(spec.gravity, (0.25, 0.0, -1.0))
    assert math.isclose(spec.fps, 30 / 1.001, rel_tol=1e-6) and spec.time_scale == 0.5
    assert (spec.frame_start, spec.frame_end, extraction.settings.substeps) == (1, 5, 7)
    assert extraction.settings.polygon_sides == 0
    assert extraction.settings.sleeping

    own = scene.stiction
    scene.use_gravity = False
    own.use_frame_range, own.frame_start, own.frame_end = True, 3, 9
    own.use_substeps, own.substeps = True, 20
    own.friction_combine = "MINIMUM"
    own.use_sleeping = False
    extraction = read()
    assert not extraction.spec.gravity.any()
    assert (extraction.spec.frame_start, extraction.spec.frame_end) == (3, 9)
    assert (extraction.settings.substeps, extraction.settings.sleeping) == (20, False)
    assert extraction.spec.friction_combine.name == "MINIMUM"


def test_paths_of_animated_bodies_are_read_at_every_frame_and_the_shown_frame_stays(scene, make_body):
    ob = make_body(kind="PASSIVE")
    make_body("Falling")
    ob.rigid_body.kinematic = True
    for frame in (1, 5):
        ob.location, ob.rotation_euler = (frame, 0, 0), (0, 0, 0.3 * frame)
        ob.keyframe_insert("location", frame=frame)
        ob.keyframe_insert("rotation_euler", frame=frame)
    scene.frame_set(4)
    path = body_named(read(), "Body").path
    assert scene.frame_current == 4 and scene.rigidbody_world.enabled
    for row, frame in enumerate(range(1, 6)):
        scene.frame_set(frame)
        world = world_matrix(ob)
        assert np.allclose(path[row, :3], world[:3, 3], atol=1e-6)
        assert math.isclose(2 * math.atan2(path[row, 6], path[row, 3]), math.atan2(world[1, 0], world[0, 0]), abs_tol=1e-6)


def test_hidden_members_of_the_world_take_part_and_others_do_not(scene, make_body):
    make_body("Hidden").hide_viewport = True
    make_body("Unlinked")
    scene.collection.objects.unlink(bpy.data.objects["Unlinked"])
    make_body("Left")
    scene.rigidbody_world.collection.objects.unlink(bpy.data.objects["Left"])
    assert {body.name for body in read().spec.bodies} == {"Hidden", "Unlinked"}


def test_the_mesh_source_decides_which_modifiers_count(make_body):
    ob = make_body()
    ob.rigid_body.mesh_source = "DEFORM"
    taper = ob.modifiers.new("Taper", "SIMPLE_DEFORM")
    taper.deform_method, taper.factor = "STRETCH", 1.0
    ob.modifiers.new("Copies", "ARRAY").count = 3
    heights = {}
    for source in ("BASE", "DEFORM", "FINAL"):
        ob.rigid_body.mesh_source = source
        extents = np.ptp(body_named(read(), "Body").shape.vertices, axis=0)
        heights[source] = extents
        assert ob.modifiers["Copies"].show_viewport
    assert np.allclose(heights["BASE"], (0.6, 0.4, 0.2), atol=1e-6)
    assert heights["DEFORM"].max() > 0.6 + 1e-3
    assert heights["FINAL"][0] > 2.0 * heights["DEFORM"][0]


@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_a_sphere_has_the_radius_of_its_mesh(make_body, scale):
    ob = make_body(shape="SPHERE", mesh=box_mesh("Ball", (0.5, 0.5, 0.5)))
    ob.scale = (scale, scale, scale)
    ob.location = (1, 2, 3)
    body = body_named(read(), "Body")
    assert body.shape.vertices.shape == (1, 3) and np.allclose(body.shape.vertices, 0.0)
    assert math.isclose(body.shape.margin, 0.5 * scale, rel_tol=1e-6)


def test_a_capsule_stands_on_the_local_z_axis(make_body):
    ob = make_body(shape="CAPSULE", mesh=box_mesh("Pill", (0.2, 0.1, 1.0)))
    ob.rotation_euler = (0.0, math.pi / 2, 0.0)
    body = body_named(read(), "Body")
    assert math.isclose(body.shape.margin, 0.2, rel_tol=1e-6)
    ends = corners_in_world(body)
    assert np.allclose(np.sort(ends[:, 0]), (-0.8, 0.8), atol=1e-6) and np.allclose(ends[:, 1:], 0.0, atol=1e-6)


@pytest.mark.parametrize("shape", ["CYLINDER", "CONE"])
def test_cylinders_and_cones_stand_on_the_local_z_axis_where_the_mesh_is(make_body, shape):
    """As wide as the wider side of the mesh, its whole height, the base below and the apex above."""
    mesh = box_mesh("Can", (0.2, 0.1, 0.5))
    mesh.transform(Matrix.Translation((0.0, 0.0, 0.5)))
    ob = make_body(shape=shape, mesh=mesh)
    ob.rotation_euler = (0.0, math.pi / 2, 0.0)
    ob.scale = (2.0, 5.0, 3.0)
    body = body_named(read(), "Body")
    assert body.shape.kind.name == shape
    assert math.isclose(body.shape.radius, 0.5, rel_tol=1e-6) and body.shape.margin == 0.0
    assert np.allclose(corners_in_world(body), [(0, 0, 0), (3, 0, 0)], atol=1e-6)
    ob.scale.z = -3.0
    assert np.allclose(corners_in_world(body_named(read(), "Body")), [(0, 0, 0), (-3, 0, 0)], atol=1e-6)


def test_the_margin_counts_only_where_it_is_switched_on(make_body):
    ob = make_body()
    ob.rigid_body.collision_margin = 0.03
    assert body_named(read(), "Body").shape.margin == 0.0
    ob.rigid_body.use_margin = True
    assert math.isclose(body_named(read(), "Body").shape.margin, 0.03, rel_tol=1e-6)


def test_a_flat_mesh_is_ground_but_no_active_body_without_a_margin(make_body):
    mesh = bpy.data.meshes.new("Sheet")
    mesh.from_pydata([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], [], [(0, 1, 2, 3)])
    make_body("Other")
    ob = make_body(kind="PASSIVE", shape="MESH", mesh=mesh)
    assert len(body_named(read(), "Body").shape.vertices) == 4
    ob.rigid_body.type, ob.rigid_body.collision_shape = "ACTIVE", "CONVEX_HULL"
    assert "thickness" in problems_of(read)[("Body", "collision_shape")]
    ob.rigid_body.use_margin = True
    assert body_named(read(), "Body").shape.margin > 0.0


@pytest.mark.parametrize("shape", ["CYLINDER", "CONE"])
def test_a_cylinder_or_a_cone_without_height_is_named(make_body, shape):
    mesh = bpy.data.meshes.new("Sheet")
    mesh.from_pydata([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], [], [(0, 1, 2, 3)])
    make_body(shape=shape, mesh=mesh)
    assert "no height" in problems_of(read)[("Body", "collision_shape")]


def test_all_problems_are_found_in_one_go(scene, make_body):
    make_body("Fine")
    make_body("Flat").scale = (1.0, 0.0, 1.0)
    make_body("Empty", mesh=bpy.data.meshes.new("Nothing"))
    lines = bpy.data.meshes.new("Lines")
    lines.from_pydata([(0, 0, 0), (1, 0, 0)], [(0, 1)], [])
    make_body("Wire", mesh=lines)
    make_body("Childless", shape="COMPOUND")
    make_body("Lost").location = (math.nan, 0, 0)
    massless = make_body("Massless")
    massless.stiction.mass_source, massless.stiction.density = "DENSITY", 0.0
    found = problems_of(read)
    assert set(found) >= {
        ("Flat", "scale"),
        ("Empty", "mesh"),
        ("Wire", "mesh"),
        ("Childless", "collision_shape"),
        ("Lost", "matrix_world"),
        ("Massless", "density"),
    }
    assert not any(name == "Fine" for name, _ in found)


def test_a_scene_without_a_world_or_with_it_switched_off_says_so(scene, make_body):
    assert ("Scene", "rigidbody_world.collection") in problems_of(read)
    make_body()
    scene.rigidbody_world.enabled = False
    assert ("Scene", "rigidbody_world.enabled") in problems_of(read)
    assert not scene.rigidbody_world.enabled
    bpy.ops.rigidbody.world_remove()
    assert ("Scene", "rigidbody_world") in problems_of(read)


def test_a_range_that_ends_before_it_begins_is_named(scene, make_body):
    make_body()
    own = scene.stiction
    own.use_frame_range, own.frame_start, own.frame_end = True, 9, 3
    assert any(field == "frame_start" for _, field in problems_of(read))


def test_a_range_may_begin_before_frame_0(scene, make_body):
    make_body()
    own = scene.stiction
    own.use_frame_range, own.frame_start, own.frame_end = True, -10, -2
    spec = read().spec
    assert (spec.frame_start, spec.frame_end) == (-10, -2)


def test_what_is_odd_about_many_objects_is_said_once(make_body):
    eggs = [make_body(f"Egg {i}", shape="SPHERE") for i in range(6)]
    for number, egg in enumerate(eggs):
        egg.scale, egg.location.x = (1.0, 1.0, 2.0), 3.0 * number
    (said,) = (warning for warning in read().warnings if warning.field == "collision_shape")
    assert said.objects == tuple(egg.name for egg in eggs)


def test_what_is_not_simulated_yet_is_said(scene, make_body):
    a, b = make_body("A"), make_body("B", kind="PASSIVE")
    b.parent = a
    a.keyframe_insert("rigid_body.friction", frame=1)
    fields = {warning.field for warning in read().warnings}
    assert {"parent", "friction"} <= fields


@pytest.mark.parametrize("field", ["method", "friction_combine"])
def test_a_choice_of_a_later_version_is_refused_by_name_and_panels_go_on(scene, make_body, field):
    from stiction.addon.bake.outdated import changes

    make_body("Box")
    scene.stiction.tolerance = 1e-5
    kept(scene)["stiction"][field] = 77
    (message,) = problems_of(read).values()
    assert list(problems_of(read)) == [("Scene", field)] and message.startswith("the file has a choice that this version")
    scene.stiction.bake.state = "CACHED"
    assert changes(scene)


@pytest.mark.parametrize("field", ["mass_source", "initial_motion"])
def test_a_choice_of_a_later_version_for_a_body_is_refused_by_its_name(make_body, field):
    ob = make_body("Box")
    ob.stiction.density = 100.0
    kept(ob)["stiction"][field] = 77
    assert list(problems_of(read)) == [("Box", field)]
