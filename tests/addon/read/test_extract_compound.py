# SPDX-License-Identifier: GPL-3.0-or-later
"""A compound is one body made of its direct children, where they are seen."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from ..objects import BOX, body_named, problems_of, read, world_matrix


@pytest.fixture
def table(make_body):
    """A turned, scaled compound with two legs and, in a compound of its own, a third; returns the objects by name."""
    objects = {name: make_body(name) for name in ("Leg.1", "Leg.2", "Leg.3")}
    for name in ("Table", "Frame"):
        objects[name] = make_body(name, shape="COMPOUND")
    objects["Table"].location, objects["Table"].rotation_euler, objects["Table"].scale = (1, 2, 3), (0.4, -0.7, 1.1), (2, 2, 2)
    for number, name in enumerate(("Leg.1", "Leg.2", "Frame")):
        objects[name].parent = objects["Table"]
        objects[name].location, objects[name].rotation_euler = (number, -0.5, 0.3), (0.3 * number, 0.2, 0.0)
    objects["Leg.2"].scale = (-1.0, 1.0, 0.5)
    objects["Leg.3"].parent, objects["Leg.3"].location = objects["Frame"], (0.1, 0.2, 0.3)
    return objects


def parts_in_world(body):
    from stiction.addon.blender.rotations import matrix_of_quaternion
    from stiction.solver_core.geometry.compounds import parts

    turn = matrix_of_quaternion(body.orientation)
    return [(part.shape.vertices @ part.rotation.T + part.position) @ turn.T + body.position for part in parts(body.shape)]


def test_parts_are_where_blender_shows_them(table):
    extraction = read()
    assert [body.name for body in extraction.spec.bodies] == ["Table"]
    assert list(extraction.rest) == ["Table"]
    for corners, name in zip(parts_in_world(extraction.spec.bodies[0]), ("Leg.3", "Leg.1", "Leg.2"), strict=True):
        world = world_matrix(table[name])
        expected = BOX @ world[:3, :3].T + world[:3, 3]
        np.testing.assert_allclose(np.sort(corners, axis=0), np.sort(expected, axis=0), atol=1e-6)


def test_only_children_in_the_rigid_body_world_take_part(scene, make_body, table):
    bystander = bpy.data.objects.new("Bystander", table["Leg.1"].data)
    scene.collection.objects.link(bystander)
    bystander.parent = table["Table"]
    rider = make_body("Rider")
    rider.parent = table["Leg.1"]
    bodies = {body.name for body in read().spec.bodies}
    assert bodies == {"Table", "Rider"}
    assert len(parts_in_world(body_named(read(), "Table"))) == 3


def test_the_compound_has_the_mass_and_the_parts_their_own_shapes(table):
    table["Table"].rigid_body.mass = 7.0
    table["Leg.1"].rigid_body.mass, table["Leg.1"].rigid_body.collision_shape = 100.0, "SPHERE"
    body = body_named(read(), "Table")
    assert body.mass == 7.0
    assert body.shape.children[1].shape.margin == pytest.approx(0.6)


def test_what_is_wrong_is_named_with_the_part_that_has_it(make_body, table):
    make_body("Lonely", shape="COMPOUND")
    table["Leg.2"].data = bpy.data.meshes.new("Nothing")
    make_body("Tent", shape="COMPOUND")
    pole = make_body("Pole")
    pole.parent, pole.scale = bpy.data.objects["Tent"], (1.0, 0.0, 1.0)
    found = problems_of(read)
    assert "no children" in found[("Lonely", "collision_shape")]
    assert "no vertices" in found[("Leg.2", "mesh")]
    assert ("Pole", "scale") in found
    assert len(found) == 3


@pytest.mark.parametrize("hide", [lambda part: setattr(part, "hide_viewport", True), lambda part: part.hide_set(True)])
def test_hidden_parts_collide_like_hidden_bodies(table, hide):
    bpy.context.view_layer.update()
    hide(table["Leg.1"])
    bpy.context.view_layer.update()
    assert not table["Leg.1"].visible_get()
    assert len(parts_in_world(body_named(read(), "Table"))) == 3


def test_a_part_that_is_no_sphere_is_named_as_a_body_would_be(table):
    table["Leg.3"].rigid_body.collision_shape = "SPHERE"
    assert [warning.objects for warning in read().warnings if warning.field == "collision_shape"] == [("Leg.3",)]


def test_a_part_that_moves_in_its_compound_is_named_and_one_that_moves_with_it_is_not(make_body, table):
    make_body("Falling")
    table["Table"].rigid_body.kinematic = True
    for frame in (1, 5):
        for name, path in (("Table", "location"), ("Table", "rotation_euler"), ("Leg.2", "location")):
            setattr(table[name], path, np.array(getattr(table[name], path)) + 0.3)
            table[name].keyframe_insert(path, frame=frame)
    warnings = read().warnings
    assert [warning.objects for warning in warnings] == [("Leg.2", "Table")]
    assert "in its compound is animated" in warnings[0].message
