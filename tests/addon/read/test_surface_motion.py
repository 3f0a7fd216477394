# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion of surfaces, rolling friction, and the box of a plane are read as they are set."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from ..objects import body_named, corners_in_world, problems_of, read


def plane_mesh():
    mesh = bpy.data.meshes.new("Plane")
    mesh.from_pydata([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], [], [(0, 1, 2, 3)])
    return mesh


def test_a_belt_moves_along_the_axes_of_the_object(make_body):
    make_body("Crate")
    belt = make_body("Belt", kind="PASSIVE")
    belt.stiction.surface_velocity, belt.stiction.surface_spin = (1, 2, 0), (0, 0, 3)
    motion = body_named(read(), "Belt").surface_motion
    assert (motion.velocity.tolist(), motion.spin.tolist()) == ([1, 2, 0], [0, 0, 3])


def test_keyframes_and_drivers_of_a_surface_are_followed_and_nothing_is_said(make_body):
    make_body("Crate")
    belt = make_body("Belt", kind="PASSIVE")
    for frame, value in ((1, 0.0), (5, 2.0)):
        belt.stiction.surface_velocity[0] = value
        belt.keyframe_insert("stiction.surface_velocity", index=0, frame=frame)
    belt.driver_add("stiction.surface_spin", 2).driver.expression = "0.5 * frame"
    found = read()
    motion = body_named(found, "Belt").surface_motion
    assert motion.velocity[[0, 4], 0] == pytest.approx([0, 2])
    assert motion.velocity[:, 1:].tolist() == [[0, 0]] * 5
    assert motion.spin[:, 2] == pytest.approx(0.5 * np.arange(1, 6))
    assert not [one for one in found.warnings if "Belt" in one.objects]


def test_a_belt_that_is_keyed_but_never_changes_has_one_velocity(make_body):
    make_body("Crate")
    belt = make_body("Belt", kind="PASSIVE")
    belt.stiction.surface_velocity = (1, 0, 0)
    belt.keyframe_insert("stiction.surface_velocity", frame=1)
    assert body_named(read(), "Belt").surface_motion.velocity.tolist() == [1, 0, 0]


def test_rolling_and_torsional_friction_are_lengths_of_the_surface(make_body):
    ob = make_body("Ball", shape="SPHERE")
    ob.stiction.rolling, ob.stiction.torsion = 0.01, 0.02
    material = body_named(read(), "Ball").material
    assert (material.rolling, material.torsion) == pytest.approx((0.01, 0.02))


def test_the_box_of_a_plane_is_its_rectangle_and_bodies_rest_on_it(make_body):
    make_body("Crate")
    ground = make_body("Ground", kind="PASSIVE", shape="BOX", mesh=plane_mesh())
    ground.scale, ground.location, ground.rotation_euler = (2, 3, 1), (0, 0, 0.5), (0.1, 0, 0)
    body = body_named(read(), "Ground")
    bpy.context.view_layer.update()
    matrix = np.array(ground.matrix_world)
    expected = np.array([vertex.co for vertex in ground.data.vertices]) @ matrix[:3, :3].T + matrix[:3, 3]
    found = corners_in_world(body)
    assert found.shape == (4, 3)
    assert np.linalg.norm(found[:, None] - expected[None], axis=2).min(axis=1) == pytest.approx(np.zeros(4), abs=1e-6)


def test_an_active_plane_as_box_is_refused_still(make_body):
    make_body("Sheet", shape="BOX", mesh=plane_mesh())
    assert "no thickness" in problems_of(read)["Sheet", "collision_shape"]


def test_what_was_baked_with_another_surface_is_outdated(make_body, scene):
    from stiction.addon.bake.fingerprint import changes_since, made_from, written

    ob = make_body("Box")
    for name, value, words in (
        ("surface_velocity", (1, 0, 0), "surface motion of Box"),
        ("surface_spin", (0, 0, 1), "surface motion of Box"),
        ("rolling", 0.01, "rolling friction of Box"),
        ("torsion", 0.01, "rolling friction of Box"),
    ):
        before = written(made_from(scene))
        setattr(ob.stiction, name, value)
        assert changes_since(before, made_from(scene)) == [words]
