# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape Mesh is the mesh: solid where it is closed, a sheet where it is open, and named where it cannot be simulated."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from ..objects import body_named, box_mesh, corners_in_world, problems_of, read, world_matrix


def mesh_of(name, points, faces, edges=()) -> bpy.types.Mesh:
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, list(edges), faces)
    return mesh


def bowl() -> bpy.types.Mesh:
    points = [(-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1), (0, 0, 0)]
    return mesh_of("Bowl", points, [(1, 0, 4), (2, 1, 4), (3, 2, 4), (0, 3, 4)])


def two_sided(mesh) -> bpy.types.Mesh:
    """The surface with a second one a hair below it that closes it, as of a body without thickness."""
    points, faces = [tuple(vertex.co) for vertex in mesh.vertices], [tuple(face.vertices) for face in mesh.polygons]
    below = [tuple(len(points) + i for i in reversed(face)) for face in faces]
    rim = [(i, (i + 1) % 4, len(points) + (i + 1) % 4, len(points) + i) for i in range(4)]
    return mesh_of("Two-sided", points + [(x, y, z - 1e-7) for x, y, z in points], faces + below + rim)


def dented() -> bpy.types.Mesh:
    points = [(x, y, z) for z in (0, 1) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    faces = [(3, 2, 1, 0), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7), (4, 5, 8), (5, 6, 8), (6, 7, 8), (7, 4, 8)]
    return mesh_of("Dented", [*points, (0, 0, 0.5)], faces)


def corner() -> bpy.types.Mesh:
    return mesh_of("Corner", [(0, 0, 0), (2, 0, 0), (2, 1, 0), (1, 1, 0), (1, 2, 0), (0, 2, 0)], [(0, 1, 2, 3, 4, 5)])


def volume_of(shape):
    from stiction.solver_core.geometry.surfaces import mesh_surface

    return mesh_surface(shape.vertices, shape.triangles).volume


@pytest.mark.parametrize(("mesh", "volume"), [(bowl, 0.0), (dented, 4.0 * (1.0 - 0.5 / 3.0)), (corner, 0.0)])
def test_a_concave_mesh_keeps_its_surface(make_body, mesh, volume):
    make_body("Falling")
    make_body("Ground", kind="PASSIVE", shape="MESH", mesh=mesh())
    shape = body_named(read(), "Ground").shape
    assert shape.kind.name == "MESH"
    assert volume_of(shape) == pytest.approx(volume, abs=1e-6)


@pytest.mark.parametrize("scale", [(2.0, 1.0, 0.5), (-1.0, 1.0, 1.0), (-2.0, -1.0, -1.0)])
def test_scale_and_mirroring_leave_the_normals_outwards(make_body, scale):
    ob = make_body("Pit", shape="MESH", mesh=dented())
    ob.scale, ob.rotation_euler, ob.location = scale, (0.3, 0.2, 1.0), (1, 2, 3)
    body = body_named(read(), "Pit")
    assert volume_of(body.shape) == pytest.approx(4.0 * (1.0 - 0.5 / 3.0) * abs(np.prod(scale)), rel=1e-5)
    seen = np.array([ob.matrix_world @ v.co for v in ob.data.vertices])
    np.testing.assert_allclose(corners_in_world(body), seen, atol=1e-5)


def test_a_convex_mesh_is_a_hull_which_is_the_same(make_body):
    make_body("Box", shape="MESH")
    make_body("Wall", kind="PASSIVE", shape="MESH")
    assert {body.shape.kind.name for body in read().spec.bodies} == {"HULL"}


def test_an_active_mesh_turned_inside_out_is_solid_and_a_passive_one_a_room(make_body):
    for name, kind in (("Solid", "ACTIVE"), ("Room", "PASSIVE")):
        mesh = dented()
        mesh.flip_normals()
        make_body(name, kind=kind, shape="MESH", mesh=mesh)
    extraction = read()
    assert volume_of(body_named(extraction, "Solid").shape) > 0.0
    assert volume_of(body_named(extraction, "Room").shape) < 0.0


def test_a_closed_mesh_with_a_body_inside_is_a_room_and_says_so(make_body):
    make_body("Inside")
    make_body("Room", kind="PASSIVE", shape="MESH", mesh=box_mesh("Room", (2, 2, 2)))
    make_body("Pillar", kind="PASSIVE", shape="MESH", mesh=box_mesh("Pillar", (0.5, 0.5, 2))).location = (1.2, 0, 0)
    make_body("Half", kind="PASSIVE", shape="MESH", mesh=box_mesh("Half", (2, 2, 2))).location = (0, 0, 2)
    extraction = read()
    room = body_named(extraction, "Room").shape
    assert room.kind.name == "MESH" and volume_of(room) < 0.0
    assert body_named(extraction, "Pillar").shape.kind.name == body_named(extraction, "Half").shape.kind.name == "HULL"
    warning = next(warning for warning in extraction.warnings if "container" in warning.message)
    assert warning.objects == ("Room", "Inside")


def test_all_that_cannot_be_a_mesh_is_named_at_once_and_nothing_is_changed(scene, make_body):
    make_body("Fine")
    make_body("Open", shape="MESH", mesh=bowl())
    make_body("Thin", shape="MESH", mesh=two_sided(bowl()))
    make_body("Empty", kind="PASSIVE", shape="MESH", mesh=bpy.data.meshes.new("Nothing"))
    make_body("Wire", kind="PASSIVE", shape="MESH", mesh=mesh_of("Wire", [(0, 0, 0), (1, 0, 0)], [], [(0, 1)]))
    line = [(0, 0, 0), (1, 0, 0), (2, 0, 0)]
    make_body("Line", kind="PASSIVE", shape="MESH", mesh=mesh_of("Line", line, [(0, 1, 2)]))
    holed = box_mesh("Holed", (1, 1, 1))
    holed.vertices[3].co.x = float("nan")
    make_body("Lost", kind="PASSIVE", shape="MESH", mesh=holed)
    found = problems_of(read)
    assert "open" in found[("Open", "collision_shape")] and "Passive" in found[("Open", "collision_shape")]
    assert "thinner" in found[("Thin", "collision_shape")] and "open" not in found[("Thin", "collision_shape")]
    assert "no vertices" in found[("Empty", "mesh")]
    assert "no faces" in found[("Wire", "mesh")]
    assert "area" in found[("Line", "mesh")]
    assert "vertex 3" in found[("Lost", "mesh")]
    assert {name for name, _ in found} == {"Open", "Thin", "Empty", "Wire", "Line", "Lost"}
    assert scene.rigidbody_world.enabled


def test_loose_edges_and_vertices_are_said_not_to_collide(make_body):
    make_body("Falling")
    mesh = dented()
    mesh.vertices.add(3)
    mesh.edges.add(1)
    mesh.edges[-1].vertices = (9, 10)
    make_body("Ground", kind="PASSIVE", shape="MESH", mesh=mesh)
    warning = next(warning for warning in read().warnings if warning.objects == ("Ground",))
    assert "1 loose edges and 1 loose vertices" in warning.message


def swaying(make_body, name, kind="PASSIVE", **more):
    """A dented block that a Wave of the scene's time bends, with the mesh source Deform."""
    ob = make_body(name, kind=kind, shape="MESH", mesh=dented())
    bend = ob.modifiers.new("Bend", "SIMPLE_DEFORM")
    bend.deform_method, bend.deform_axis = "TAPER", "Z"
    for frame, factor in ((1, 0.0), (5, 0.8)):
        bend.factor = factor
        bend.keyframe_insert("factor", frame=frame)
    ob.rigid_body.mesh_source, ob.rigid_body.use_deform = "DEFORM", True
    for field, value in more.items():
        setattr(ob, field, value)
    return ob


@pytest.mark.parametrize("animated", [False, True])
def test_a_deforming_mesh_is_read_at_every_frame_where_blender_shows_it(scene, make_body, animated):
    from stiction.addon.blender.rotations import matrix_of_quaternion

    make_body("Falling")
    ob = swaying(make_body, "Block", scale=(2.0, 1.0, 0.5), rotation_euler=(0.3, 0.2, 0.1), location=(1, 2, 3))
    if animated:
        ob.rigid_body.kinematic = True
        for frame in (1, 5):
            ob.location, ob.rotation_euler = (frame, 0, 0), (0, 0, 0.3 * frame)
            ob.keyframe_insert("location", frame=frame)
            ob.keyframe_insert("rotation_euler", frame=frame)
    scene.frame_set(4)
    body = body_named(read(), "Block")
    assert scene.frame_current == 4
    assert body.shape.kind.name == "MESH" and body.deformation.shape == (5, 9, 3)
    np.testing.assert_allclose(body.deformation[0], body.shape.vertices, atol=1e-6)
    assert np.ptp(body.deformation, axis=0).max() > 0.1
    for row, frame in enumerate(range(1, 6)):
        scene.frame_set(frame)
        evaluated = ob.evaluated_get(bpy.context.evaluated_depsgraph_get())
        own = np.array([vertex.co for vertex in evaluated.data.vertices])
        world = world_matrix(ob)
        pose = body.path[row] if animated else np.concatenate([body.position, body.orientation])
        seen = body.deformation[row] @ matrix_of_quaternion(pose[3:]).T + pose[:3]
        np.testing.assert_allclose(seen, own @ world[:3, :3].T + world[:3, 3], atol=1e-5)


def test_deforming_meshes_that_cannot_be_followed_are_named(make_body):
    swaying(make_body, "Jelly", kind="ACTIVE")
    grows = swaying(make_body, "Grows")
    array = grows.modifiers.new("Copies", "ARRAY")
    for frame, count in ((1, 1), (5, 3)):
        array.count = count
        array.keyframe_insert("count", frame=frame)
    grows.rigid_body.mesh_source = "FINAL"
    make_body("Fine")
    found = problems_of(read)
    assert "active" in found[("Jelly", "use_deform")]
    assert "vertices, but 9 at the first frame" in found[("Grows", "use_deform")]
    assert {name for name, _ in found} == {"Jelly", "Grows"}


def test_deforming_without_modifiers_that_count_is_a_mesh_that_stays(make_body):
    make_body("Falling")
    ob = swaying(make_body, "Block")
    ob.rigid_body.mesh_source = "BASE"
    assert body_named(read(), "Block").deformation is None


def test_an_animated_deforming_mesh_follows_its_scale_and_a_zero_one_is_named_with_its_frame(scene, make_body):
    make_body("Falling")
    ob = swaying(make_body, "Block")
    ob.rigid_body.kinematic = True
    for frame, size in ((1, 1.0), (5, 3.0)):
        ob.scale = (size, 1.0, 2.0 * size)
        ob.keyframe_insert("scale", frame=frame)
    extraction = read()
    assert not extraction.warnings
    first, last = (np.ptp(body_named(extraction, "Block").deformation[row], axis=0) for row in (0, 4))
    assert last[2] == pytest.approx(3.0 * first[2], rel=1e-5)
    ob.scale = (0.0, 0.0, 0.0)
    ob.keyframe_insert("scale", frame=5)
    found = problems_of(read)
    assert list(found) == [("Block", "scale")] and "at frame 5" in found["Block", "scale"]
