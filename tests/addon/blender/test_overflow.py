# SPDX-License-Identifier: GPL-3.0-or-later
"""What is too large for Blender's single precision is refused by its name, or is no limit where none is a choice."""

from __future__ import annotations

import math

import bpy
import pytest

from ..fields import add_field
from ..joints import constrain
from ..objects import body_named, box_mesh, problems_of, read

LARGEST = 3.4028234663852886e38


def driven(owner, path, index=-1, *, before="1.0"):
    """Drive a value beyond single precision from frame 4 on: up to Blender 4.5 no number comes of it, later the largest one."""
    owner.driver_add(path, index).driver.expression = f"1e48 if frame > 3 else {before}"


def test_gravity_that_becomes_too_large_is_refused_with_its_frame_also_where_only_part_of_it_counts(scene, make_body):
    make_body("Falling")
    scene.rigidbody_world.effector_weights.gravity = 0.5
    driven(scene, "gravity", 2)
    assert problems_of(read)["Scene", "gravity_path"].startswith("gravity at frame 4 is not finite")


@pytest.mark.parametrize("name", ["strength", "flow"])
def test_a_field_that_becomes_too_strong_is_refused_with_its_frame(make_body, name):
    make_body("Falling")
    driven(add_field("FORCE"), f"field.{name}")
    assert problems_of(read)["Field", name].startswith("is not finite at frame 4")


def test_a_field_that_goes_too_far_is_refused_with_its_frame(make_body):
    make_body("Falling")
    field = add_field("FORCE", rotation=(0.0, 0.0, 0.7))
    driven(field, "location", 0)
    assert "not finite at frame 4" in problems_of(read)["Field", "position"]


def test_the_mesh_of_a_field_with_a_vertex_too_far_is_refused(make_body):
    make_body("Falling")
    plate = bpy.data.objects.new("Plate", box_mesh("Plate", (1.0, 1.0, 1.0)))
    bpy.context.scene.collection.objects.link(plate)
    add_field("FORCE", rotation=(0.3, -0.4, 0.7), ob=plate, shape="POINTS")
    plate.data.vertices[5].co.x = LARGEST
    assert "not finite" in problems_of(read)["Plate", "vertices"]


def test_a_mesh_with_a_vertex_too_far_is_refused_with_the_vertex(make_body):
    make_body("Spiked").data.vertices[5].co.x = LARGEST
    assert problems_of(read)["Spiked", "mesh"].startswith("vertex 5 is at (3.4028234663852886e+38, ")


@pytest.mark.parametrize("name", ["motor_lin_target_velocity", "motor_lin_max_impulse"])
def test_a_motor_that_becomes_too_large_is_refused(make_body, name):
    motor = constrain("MOTOR", make_body("First"), make_body("Second"), use_motor_lin=True)
    driven(motor, f"rigid_body_constraint.{name}")
    field = {"motor_lin_target_velocity": "motor_velocity", "motor_lin_max_impulse": "motor_force"}[name]
    assert "finite" in problems_of(read)["Joint", f"linear.x.{field}"]


@pytest.mark.parametrize(
    ("path", "field"), [("rigid_body.mass", "mass"), ("rigid_body.friction", "mu_static"), ("stiction.velocity", "velocity")]
)
def test_a_body_with_too_large_a_value_is_refused(make_body, path, field):
    ob = make_body("Heavy")
    ob.stiction.initial_motion = "VALUES"
    ob.driver_add(path, 0 if field == "velocity" else -1).driver.expression = "1e48"
    assert ("Heavy", field) in problems_of(read)


def test_the_largest_number_is_no_limit_where_a_limit_may_be_left_away(make_body):
    joint = constrain("SLIDER", make_body("First"), make_body("Second"), use_limit_lin_x=True, use_breaking=True)
    constraint = joint.rigid_body_constraint
    constraint.limit_lin_x_lower, constraint.limit_lin_x_upper, constraint.breaking_threshold = -LARGEST, LARGEST, LARGEST
    add_field("FORCE", use_max_distance=True, distance_max=LARGEST)
    spec = read().spec
    (read_joint,), (field,) = spec.joints, spec.fields
    assert (read_joint.linear[0].lower, read_joint.linear[0].upper) == (-math.inf, math.inf)
    assert (read_joint.breaking_impulse, field.max_distance) == (math.inf, math.inf)


def test_what_is_large_and_below_the_largest_is_taken_as_it_is(make_body):
    ob = make_body("Planet")
    ob.rigid_body.mass, ob.location.x = 6e24, 1.5e11
    body = body_named(read(), "Planet")
    assert body.mass == pytest.approx(6e24, rel=1e-6) and body.position[0] == pytest.approx(1.5e11, rel=1e-6)
