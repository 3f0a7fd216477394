# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of another file have rigid bodies and constraints that the rigid body world does not know: a bake names them."""

from __future__ import annotations

import bpy

from ..objects import add_empty, problems_of, read


def leave(scene, ob):
    scene.rigidbody_world.collection.objects.unlink(ob)


def test_a_bake_names_bodies_and_constraints_outside_of_the_world(scene, make_body):
    first, second, third = (make_body(name) for name in ("First", "Second", "Third"))
    hinge = add_empty("Hinge", (0, 0, 0), (0, 0, 0))
    scene.rigidbody_world.constraints = bpy.data.collections.new("Constraints")
    bpy.context.view_layer.objects.active = hinge
    bpy.ops.rigidbody.constraint_add(type="HINGE")
    hinge.rigid_body_constraint.object1, hinge.rigid_body_constraint.object2 = first, second
    assert not read().warnings
    scene.rigidbody_world.constraints.objects.unlink(hinge)
    leave(scene, third)
    told = {one.field: (one.objects, one.message) for one in read().warnings}
    assert told["membership"][0] == ("Third",) and "not simulated" in told["membership"][1]
    assert told["constraint_membership"][0] == ("Hinge",) and "holds nothing" in told["constraint_membership"][1]


def test_that_nothing_is_active_is_put_down_to_bodies_outside_of_the_world(scene, make_body):
    make_body("Floor", kind="PASSIVE")
    (message,) = problems_of(read).values()
    assert "make at least one body Active" in message
    for number in range(6):
        leave(scene, make_body(f"Hair {number}"))
    (message,) = problems_of(read).values()
    assert "Hair 0" in message and "and 2 more have rigid bodies, but are not in its collection" in message
    assert "Active" not in message
