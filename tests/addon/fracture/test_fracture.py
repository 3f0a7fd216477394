# SPDX-License-Identifier: GPL-3.0-or-later
"""Fracture as a user sees it: objects, materials, normals, maps, rigid bodies, and the way back."""

from __future__ import annotations

import math

import bmesh
import bpy
import numpy as np
import pytest
from mathutils import Matrix

from ..objects import box_mesh


def volume(ob) -> float:
    sheet = bmesh.new()
    sheet.from_mesh(ob.data)
    sheet.transform(ob.matrix_world)
    found = sheet.calc_volume(signed=True)
    assert all(edge.is_manifold for edge in sheet.edges)
    sheet.free()
    return found


def select(*objects) -> None:
    bpy.context.view_layer.update()
    for ob in bpy.context.view_layer.objects:
        ob.select_set(ob in objects)
    bpy.context.view_layer.objects.active = objects[0]


def fracture(ob, **options) -> list[bpy.types.Object]:
    select(ob)
    assert bpy.ops.stiction.fracture(**options) == {"FINISHED"}
    bpy.context.view_layer.update()
    return [*bpy.data.collections[f"{ob.name} Pieces"].objects]


def corners_of(objects) -> np.ndarray:
    return np.array([ob.matrix_world @ vertex.co for ob in objects for vertex in ob.data.vertices])


def test_pieces_fill_the_object_and_take_its_place(make_body):
    ob = make_body()
    ob.rigid_body.mass, ob.rigid_body.friction = 12.0, 0.9
    pieces = fracture(ob, count=12)
    assert len(pieces) == 12
    assert sum(map(volume, pieces)) == pytest.approx(0.6 * 0.4 * 0.2, rel=1e-5)
    assert sum(piece.rigid_body.mass for piece in pieces) == pytest.approx(12.0, rel=1e-5)
    assert {round(piece.rigid_body.friction, 5) for piece in pieces} == {0.9}
    assert {piece.rigid_body.collision_shape for piece in pieces} == {"CONVEX_HULL"}
    assert ob.hide_viewport and ob.hide_render
    assert ob.name not in bpy.context.scene.rigidbody_world.collection.objects


def test_shape_keys_that_pieces_lose_are_named_in_a_warning(make_body, capfd):
    ob = make_body("Vase")
    ob.shape_key_add(name="Basis")
    fracture(ob, count=3)
    assert "without shape keys of Vase. Join Back restores the original" in capfd.readouterr().out


def test_join_back_leaves_nothing_behind(make_body):
    ob = make_body()
    kinds = ("objects", "meshes", "collections")
    before = {kind: {one.name for one in getattr(bpy.data, kind)} for kind in kinds}
    fracture(ob, count=5)
    assert bpy.ops.stiction.join_back() == {"FINISHED"}
    assert {kind: {one.name for one in getattr(bpy.data, kind)} for kind in kinds} == before
    assert not ob.hide_viewport and not ob.hide_render and ob.select_get()
    assert ob.name in bpy.context.scene.rigidbody_world.collection.objects


@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (2.0, 0.5, 1.5), (-1.0, 2.0, 1.0), (-1.0, -2.0, -0.5)])
def test_scale_and_parents_place_the_pieces_and_leave_them_unscaled(scene, make_body, scale):
    parent = bpy.data.objects.new("Parent", None)
    scene.collection.objects.link(parent)
    parent.matrix_world = Matrix.LocRotScale((1.0, -2.0, 3.0), None, (1.0, 3.0, 1.0)) @ Matrix.Rotation(0.5, 4, "Y")
    ob = make_body()
    ob.parent, ob.scale, ob.rotation_euler = parent, scale, (0.3, 0.2, -0.7)
    bpy.context.view_layer.update()
    expected, corners = abs(volume(ob)), corners_of([ob])
    pieces = fracture(ob, count=7, use_bodies=False)
    assert sum(map(volume, pieces)) == pytest.approx(expected, rel=1e-5)
    found = corners_of(pieces)
    assert np.ptp(found, axis=0) == pytest.approx(np.ptp(corners, axis=0), rel=1e-5)
    assert all(tuple(piece.scale) == (1.0, 1.0, 1.0) and piece.parent is None for piece in pieces)


def test_inner_faces_have_a_material_and_a_map_and_outer_ones_keep_theirs(make_body):
    mesh = box_mesh("Box", (0.5, 0.5, 0.5))
    paint = bpy.data.materials.new("Paint")
    mesh.materials.append(paint)
    layer = mesh.uv_layers.new(name="Mine")
    places = np.array([mesh.vertices[loop.vertex_index].co for loop in mesh.loops])
    # a map that is linear in the place, so that cuts do not bend it
    layer.data.foreach_set("uv", (places @ np.array([[1.0, 0.2], [0.3, 0.7], [0.1, -0.4]])).astype(np.float32).ravel())
    ob = make_body(mesh=mesh)
    for piece in fracture(ob, count=9, use_bodies=False):
        names = [slot.material.name for slot in piece.material_slots]
        assert names == ["Paint", "Inside"]
        for polygon in piece.data.polygons:
            where = [piece.matrix_world @ piece.data.vertices[v].co for v in polygon.vertices]
            is_outer = any(all(abs(abs(point[axis]) - 0.5) < 1e-5 for point in where) for axis in range(3))
            assert names[polygon.material_index] == ("Paint" if is_outer else "Inside")
            uv = np.array([piece.data.uv_layers["Mine"].data[loop].uv for loop in polygon.loop_indices])
            if is_outer:
                assert uv == pytest.approx(np.array(where) @ np.array([[1.0, 0.2], [0.3, 0.7], [0.1, -0.4]]), abs=1e-5)
            else:
                assert np.ptp(uv, axis=0).max() > 0.0


def test_a_smooth_ball_keeps_its_normals_and_its_cuts_are_flat(make_body):
    bpy.ops.mesh.primitive_uv_sphere_add(segments=24, ring_count=12)
    ball = bpy.context.object
    for polygon in ball.data.polygons:
        polygon.use_smooth = True
    for piece in fracture(ball, count=8, use_bodies=False):
        mesh, off = piece.data, []
        for polygon in mesh.polygons:
            for loop in polygon.loop_indices:
                normal = mesh.corner_normals[loop].vector
                if piece.material_slots[polygon.material_index].material is not None:
                    assert normal.dot(polygon.normal) > 1.0 - 1e-4
                else:
                    point = piece.matrix_world @ mesh.vertices[mesh.loops[loop].vertex_index].co
                    off.append(normal.angle(point))
        assert max(off) < math.radians(2.0)


def test_sharp_edges_stay_sharp(make_body):
    mesh = box_mesh("Box", (0.5, 0.5, 0.5))
    for polygon in mesh.polygons:
        polygon.use_smooth = True
    for edge in mesh.edges:
        edge.use_edge_sharp = True
    for piece in fracture(make_body(mesh=mesh), count=6, use_bodies=False):
        for polygon in piece.data.polygons:
            for loop in polygon.loop_indices:
                assert piece.data.corner_normals[loop].vector.dot(polygon.normal) > 1.0 - 1e-4


def test_points_are_dense_around_the_cursor_along_a_curve_and_where_weights_are_painted(scene, make_body):
    ob = make_body(mesh=box_mesh("Long", (2.0, 0.2, 0.2)))
    group = ob.vertex_groups.new(name="Weights")
    group.add([vertex.index for vertex in ob.data.vertices if vertex.co.x > 0.0], 1.0, "REPLACE")
    scene.cursor.location = (2.0, 0.0, 0.0)
    curve = bpy.data.curves.new("Curve", "CURVE")
    spline = curve.splines.new("POLY")
    spline.points.add(1)
    for point, x in zip(spline.points, (1.5, 2.0), strict=True):
        point.co = (x, 0.0, 0.0, 1.0)
    line = bpy.data.objects.new("Curve", curve)
    scene.collection.objects.link(line)
    for where in ("CURSOR", "CURVE", "WEIGHTS"):
        select(ob, line)
        assert bpy.ops.stiction.fracture(count=20, where=where, radius=0.3, use_bodies=False) == {"FINISHED"}
        bpy.context.view_layer.update()
        pieces = [*bpy.data.collections[f"{ob.name} Pieces"].objects]
        right = sum(piece.location.x > 0.0 for piece in pieces)
        assert right >= 17, where
        select(pieces[0])
        assert bpy.ops.stiction.join_back() == {"FINISHED"}


def open_box(make_body):
    mesh = box_mesh("Box", (0.5, 0.5, 0.5))
    sheet = bmesh.new()
    sheet.from_mesh(mesh)
    sheet.faces.ensure_lookup_table()
    sheet.faces.remove(sheet.faces[0])
    sheet.to_mesh(mesh)
    sheet.free()
    return make_body("Open", mesh=mesh)


def single_vertex(make_body):
    mesh = bpy.data.meshes.new("Vertex")
    mesh.from_pydata([(0.0, 0.0, 0.0)], [], [])
    return make_body("Vertex", mesh=mesh)


def flat_scale(make_body):
    ob = make_body("Flat")
    ob.scale = (1.0, 0.0, 1.0)
    return ob


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (open_box, "Open is open at 4 edges"),
        (single_vertex, "Vertex has no faces"),
        (flat_scale, "Flat cannot be cut: the scale"),
    ],
)
def test_what_cannot_be_cut_is_named_and_nothing_changes(make_body, make, message):
    good, bad = make_body("Good"), make(make_body)
    bpy.context.view_layer.update()
    count = len(bpy.data.objects), len(bpy.data.meshes), len(bpy.data.collections)
    select(good, bad)
    with pytest.raises(RuntimeError, match=message):
        bpy.ops.stiction.fracture(count=3)
    assert (len(bpy.data.objects), len(bpy.data.meshes), len(bpy.data.collections)) == count
    assert not good.hide_viewport and not bad.hide_viewport


def test_pieces_of_an_animated_object_follow_it(scene, make_body):
    ob = make_body()
    ob.rigid_body.kinematic = True
    for frame, x in ((1, 0.0), (5, 4.0)):
        ob.location.x = x
        ob.keyframe_insert("location", frame=frame)
    scene.frame_set(1)
    pieces = fracture(ob, count=4)
    before = [piece.matrix_world.translation.copy() for piece in pieces]
    scene.frame_set(5)
    moved = [piece.matrix_world.translation.x - place.x for piece, place in zip(pieces, before, strict=True)]
    assert moved == pytest.approx([4.0] * 4, abs=1e-5)


def test_pieces_of_a_bonded_collection_are_joined_where_they_touch(scene, make_body):
    """A row of three boxes, as another tool would make them, of which two touch."""
    from ..objects import read

    row = bpy.data.collections.new("Row")
    scene.collection.children.link(row)
    for name, x in (("A", 0.0), ("B", 0.6), ("C", 1.3)):
        ob = make_body(name)
        ob.location.x = x
        row.objects.link(ob)
    row.stiction_bonds.use_bonds, row.stiction_bonds.material = True, "BRICK_AND_MORTAR"
    assert (row.stiction_bonds.tension, row.stiction_bonds.shear) == pytest.approx((0.1, 0.2))
    bpy.context.view_layer.update()
    (joint,) = read().spec.joints
    assert {joint.body_a, joint.body_b} == {"A", "B"}
    assert joint.strength.tension == pytest.approx(0.1e6 * 0.4 * 0.2, rel=1e-5)
    assert joint.strength.shear == pytest.approx(0.2e6 * 0.4 * 0.2, rel=1e-5)
    row.stiction_bonds.use_release, row.stiction_bonds.release_frame = True, scene.rigidbody_world.point_cache.frame_start + 5
    (change,) = read().spec.joints[0].changes
    assert (change.frame, change.enabled) == (6, False)
    row.stiction_bonds.gap = 0.2
    assert len(read().spec.joints) == 2
    row.stiction_bonds.use_bonds = False
    assert not read().spec.joints


def test_fracture_bonds_all_pieces_on_request(scene, make_body):
    from ..objects import read

    pieces = fracture(make_body(), count=6, bond="CONCRETE")
    joints = read().spec.joints
    joined = {name for joint in joints for name in (joint.body_a, joint.body_b)}
    assert joined == {piece.name for piece in pieces}
    assert len(joints) >= 5


def test_a_world_is_added_before_there_are_pieces(scene, monkeypatch):
    """Blender 4.3 crashed if it was added after the meshes of the pieces in one operator; 4.2 and 5.2 do not."""
    from stiction.addon.fracture import operators

    bpy.ops.rigidbody.world_remove()
    bpy.ops.mesh.primitive_cube_add()
    made, build = [], operators.build_pieces

    def build_with_world(*arguments):
        made.append(scene.rigidbody_world is not None)
        return build(*arguments)

    monkeypatch.setattr(operators, "build_pieces", build_with_world)
    assert bpy.ops.stiction.fracture(count=4) == {"FINISHED"} and made == [True]
