# SPDX-License-Identifier: GPL-3.0-or-later
"""Center of mass, inertia and collider are read as they are set for an object."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest

from ..objects import add_empty, body_named, box_mesh, problems_of, read


def off_center_mesh(name="Off"):
    """A box of 0.6, 0.4 and 0.2 m whose center is 0.3 m above the origin."""
    mesh = box_mesh(name, (0.3, 0.2, 0.1))
    for vertex in mesh.vertices:
        vertex.co.z += 0.3
    return mesh


def test_without_a_choice_the_center_is_that_of_the_volume(make_body):
    make_body("Box")
    body = body_named(read(), "Box")
    assert (body.center_of_mass, body.inertia, body.surface_motion) == (None, None, None)


def test_the_origin_is_the_center_that_blender_has(make_body):
    ob = make_body("Box", mesh=off_center_mesh())
    ob.location, ob.scale = (1, 2, 3), (2, 2, 2)
    ob.stiction.center_of_mass = "ORIGIN"
    assert body_named(read(), "Box").center_of_mass.tolist() == [0, 0, 0]


def test_an_empty_is_the_center_and_has_the_principal_axes(make_body):
    ob = make_body("Box")
    ob.location, ob.rotation_euler = (1, 2, 3), (0, 0, math.pi / 2)
    empty = add_empty("Center", (1.0, 2.5, 3.2), (0, 0, math.pi / 2 + math.pi / 6))
    own = ob.stiction
    own.center_of_mass, own.center_object = "OBJECT", empty
    own.own_inertia, own.moments = True, (0.02, 0.03, 0.04)
    body = body_named(read(), "Box")
    assert body.center_of_mass == pytest.approx([0.5, 0.0, 0.2], abs=1e-6)
    c, s = math.cos(math.pi / 6), math.sin(math.pi / 6)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    assert np.allclose(body.inertia, turn @ np.diag([0.02, 0.03, 0.04]) @ turn.T, atol=1e-7)


def test_an_empty_below_the_body_moves_with_it(make_body):
    ob = make_body("Box")
    ob.location = (5, 0, 0)
    empty = add_empty("Center", (0.0, 0.0, -0.1), (0, 0, 0))
    empty.parent = ob
    ob.stiction.center_of_mass, ob.stiction.center_object = "OBJECT", empty
    assert body_named(read(), "Box").center_of_mass == pytest.approx([0, 0, -0.1], abs=1e-6)


def test_a_center_that_is_not_chosen_is_named(make_body):
    ob = make_body("Box")
    ob.stiction.center_of_mass = "OBJECT"
    assert "choose an empty" in problems_of(read)["Box", "center_object"]
    ob.stiction.center_object = ob
    assert "choose Origin" in problems_of(read)["Box", "center_object"]


@pytest.mark.parametrize(("moments", "words"), [((1, 1, 3), "exceed the sum"), ((1, 1, 0), "must be above 0")])
def test_moments_that_no_body_has_are_named(make_body, moments, words):
    ob = make_body("Box")
    ob.stiction.own_inertia, ob.stiction.moments = True, moments
    assert words in problems_of(read)["Box", "inertia"]


def test_a_link_needs_no_mesh_but_a_mass_and_moments(make_body):
    from stiction.solver_core.scene.spec import ShapeKind

    make_body("Other")
    ob = make_body("Link", mesh=bpy.data.meshes.new("Empty"))
    ob.stiction.use_collider = False
    assert "needs its moments" in problems_of(read)["Link", "inertia"]
    ob.stiction.own_inertia, ob.stiction.moments = True, (1, 1, 1)
    assert body_named(read(), "Link").shape.kind is ShapeKind.NONE
    ob.stiction.mass_source = "DENSITY"
    assert "has no collider" in problems_of(read)["Link", "density"]


def test_a_part_of_a_compound_without_a_collider_is_no_part_of_its_shape(make_body):
    make_body("Other")
    whole = make_body("Whole", shape="COMPOUND")
    for name in ("A", "B"):
        make_body(name).parent = whole
    bpy.data.objects["B"].stiction.use_collider = False
    assert len(body_named(read(), "Whole").shape.children) == 1
    bpy.data.objects["A"].stiction.use_collider = False
    assert "no children with a collider" in problems_of(read)["Whole", "collision_shape"]


def test_what_is_not_active_has_no_mass_properties(make_body):
    make_body("Box")
    ob = make_body("Wall", kind="PASSIVE")
    ob.stiction.center_of_mass, ob.stiction.own_inertia = "OBJECT", True
    body = body_named(read(), "Wall")
    assert (body.center_of_mass, body.inertia) == (None, None)


def test_check_names_origins_that_are_off_center(make_body):
    from stiction.addon.bake.findings import look

    make_body("Centered")
    ob = make_body("Off", mesh=off_center_mesh())
    found = [one for one in look(bpy.context).findings if one.field == "center_of_mass"]
    assert [(one.level, one.objects) for one in found] == [("INFO", ("Off",))]
    assert "300 mm" in found[0].message
    ob.stiction.center_of_mass = "ORIGIN"
    assert not [one for one in look(bpy.context).findings if one.field == "center_of_mass"]


def test_what_was_baked_with_another_center_is_outdated(make_body, scene):
    from stiction.addon.bake.fingerprint import changes_since, made_from, written

    ob = make_body("Box")
    empty = add_empty("Center", (0.0, 0.0, -0.1), (0, 0, 0))
    for change in (
        lambda: setattr(ob.stiction, "center_of_mass", "ORIGIN"),
        lambda: (setattr(ob.stiction, "center_object", empty), setattr(ob.stiction, "center_of_mass", "OBJECT")),
        lambda: setattr(empty, "location", (0, 0, -0.2)),
        lambda: setattr(ob.stiction, "own_inertia", True),
        lambda: setattr(ob.stiction, "use_collider", False),
    ):
        before = written(made_from(scene))
        change()
        assert changes_since(before, made_from(scene)) == ["mass properties of Box"]
