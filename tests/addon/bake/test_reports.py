# SPDX-License-Identifier: GPL-3.0-or-later
"""What users of Blender's rigid bodies report as wrong, in one .blend file, baked by the add-on as they would, and keyed.

The groups of the scene are far from each other. Each has a closed form, which is exact in leapfrog steps but for impacts.
"""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from ..objects import add_empty, box_mesh, world_matrix

pytestmark = pytest.mark.slow

G, FPS, LAST = 9.81, 24.0, 61
HALF = 0.2  # m, of the glued blocks
RECOVERY = 20.0  # half extents a second
RELEASED, CAUGHT, ENABLED = 10, 40, 12


def open_box(name):
    """A crate of 1 m without a lid, whose walls and floor are 0.05 m thick."""
    outer, inner = 0.5, 0.45
    rings = [(outer, 0.0), (outer, 0.6), (inner, 0.6), (inner, 0.05)]
    corners = [(x * r, y * r, z) for r, z in rings for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    faces = [(3, 2, 1, 0), (12, 13, 14, 15)]
    faces += [(4 * r + k, 4 * r + (k + 1) % 4, 4 * r + 4 + (k + 1) % 4, 4 * r + 4 + k) for r in range(3) for k in range(4)]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(corners, [], faces)
    return mesh


def ball_mesh(radius):
    import bmesh

    mesh, made = bpy.data.meshes.new("Ball"), bmesh.new()
    bmesh.ops.create_uvsphere(made, u_segments=16, v_segments=8, radius=radius)
    made.to_mesh(mesh)
    made.free()
    return mesh


def add(name, mesh, location, kind="ACTIVE", shape="CONVEX_HULL"):
    ob = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(ob)
    bpy.context.scene.rigidbody_world.collection.objects.link(ob)
    body = ob.rigid_body
    body.type, body.collision_shape, body.friction = kind, shape, 0.5
    body.linear_damping = body.angular_damping = 0.0
    ob.location = location
    return ob


def constrain(name, first, second, location=(0.0, 0.0, 0.0)):
    ob = add_empty(name, location, (0, 0, 0))
    bpy.context.view_layer.update()
    bpy.context.view_layer.objects.active = ob
    assert bpy.ops.rigidbody.constraint_add(type="FIXED") == {"FINISHED"}
    ob.rigid_body_constraint.object1, ob.rigid_body_constraint.object2 = first, second
    return ob


def key(ob, path, values):
    """Linear keyframes of a value, or of one below `rigid_body` or `rigid_body_constraint`."""
    from stiction.addon.blender.actions import curves

    *owners, last = path.split(".")
    target = ob
    for owner in owners:
        target = getattr(target, owner)
    for frame, value in values.items():
        setattr(target, last, value)
        target.keyframe_insert(last, frame=frame)
    for curve in curves(ob):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"


def thrown_and_caught():
    ob = add("Caught", ball_mesh(0.1), (0, 0, 20), shape="SPHERE")
    key(ob, "location", {1: (0, 0, 20), RELEASED: (3, 0, 20), CAUGHT: (20, 5, 15), LAST - 1: (20, 9, 15)})
    key(ob, "rigid_body.kinematic", {1: True, RELEASED: False, CAUGHT: True})


def thrown_by_two_frames():
    ob = add("Thrown", ball_mesh(0.1), (-30, 10, 25), shape="SPHERE")
    key(ob, "location", {1: (-30, 10, 25), 11: (-25, 10, 25)})
    key(ob, "rigid_body.kinematic", {1: True, 3: False})


def planks():
    add("Table", box_mesh("Table", (1, 1, 0.5)), (0, -10, 0.5), "PASSIVE", "BOX")
    for name, y in (("Plank by Volume", -10.5), ("Plank by Origin", -9.5)):
        mesh = box_mesh(name, (0.5, 0.1, 0.025))
        mesh.transform(Matrix.Translation((0.2, 0.0, 0.0)))
        ob = add(name, mesh, (0.9, y, 1.025))
        ob.stiction.center_of_mass = "ORIGIN" if name.endswith("Origin") else "VOLUME"


def glued_blocks():
    for y, passes in ((30.0, True), (32.0, False)):
        ends = [
            add(f"{name} {passes}", box_mesh(name, (HALF,) * 3), (0, y, z)) for name, z in (("Low", HALF), ("High", 4 * HALF))
        ]
        glue = constrain(f"Glue {passes}", *ends, location=(0, y, 2.5 * HALF)).rigid_body_constraint
        glue.use_breaking, glue.breaking_threshold, glue.disable_collisions = True, 0.01, passes


def tiles():
    for number in range(13):
        add(f"Tile {number}", box_mesh("Tile", (0.125, 1, 0.1)), (0.25 * number, -20, 0.9), "PASSIVE", "BOX")
    slides = add("Slides", box_mesh("Slides", (0.1, 0.1, 0.1)), (0.05, -20.5, 1.1), shape="BOX")
    rolls = add("Rolls", ball_mesh(0.1), (0.05, -19.5, 1.1), shape="SPHERE")
    for ob, spin in ((slides, 0.0), (rolls, 10.0)):
        ob.stiction.initial_motion, ob.stiction.velocity = "VALUES", (1, 0, 0)
        ob.stiction.angular_velocity = (0, spin, 0)


def sleeper():
    ob = add("Sleeps", box_mesh("Sleeps", (0.2, 0.2, 0.2)), (0, 20, 5), shape="BOX")
    ob.rigid_body.use_deactivation = ob.rigid_body.use_start_deactivated = True
    hammer = add("Hammer", box_mesh("Hammer", (0.2, 0.2, 0.2)), (-4, 20, 5), "PASSIVE", "BOX")
    hammer.rigid_body.kinematic = True
    key(hammer, "location", {1: (-4, 20, 5), LAST: (2, 20, 5)})


def held_later():
    for name, choice, x in (("Held", "ENABLED", 0), ("Pulled Back", "SET_UP", 5)):
        ob = add(name, box_mesh(name, (0.1, 0.1, 0.1)), (x, 50, 30), shape="BOX")
        joint = constrain(f"Hold {name}", None, ob, (x, 50, 30))
        joint.stiction.hold_bodies = choice
        key(joint, "rigid_body_constraint.enabled", {1: False, ENABLED: True})


def crates():
    for shape, y in (("CONVEX_HULL", 60), ("MESH", 63)):
        add(f"Crate {shape}", open_box(shape), (0, y, 0), "PASSIVE", shape)
        add(f"Ball {shape}", ball_mesh(0.2), (0, y, 1), shape="SPHERE").rigid_body.restitution = 0.0


@pytest.fixture(scope="module")
def played(extension, tmp_path_factory):
    """By the names of the objects: their places (frames, 3), frame 1 first, from the keyframes of a bake."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    bpy.ops.rigidbody.world_add()
    world = scene.rigidbody_world
    world.collection, world.constraints = (bpy.data.collections.new(name) for name in ("World", "Constraints"))
    world.point_cache.frame_end = scene.frame_end = LAST
    folder = tmp_path_factory.mktemp("reports")
    scene.stiction.cache_directory, scene.stiction.recovery_speed = str(folder / "cache"), RECOVERY
    add("Floor", box_mesh("Floor", (100, 100, 0.5)), (0, 0, -0.5), "PASSIVE", "BOX")
    for build in (thrown_and_caught, thrown_by_two_frames, planks, glued_blocks, tiles, sleeper, held_later, crates):
        build()
    scene.frame_set(1)
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "reports.blend"))
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}
    places: dict[str, list[np.ndarray]] = {}
    for frame in range(1, LAST + 1):
        scene.frame_set(frame)
        for ob in world.collection.objects:
            places.setdefault(ob.name, []).append(world_matrix(ob)[:3, 3])
    return {name: np.array(rows) for name, rows in places.items()}


def in_free_fall(places):
    """Second differences of a flight, in m."""
    np.testing.assert_allclose(np.diff(places, 2, axis=0), np.tile([0, 0, -G / FPS**2], (len(places) - 2, 1)), atol=2e-5)


def test_a_ball_flies_from_its_keyframes_and_is_caught_by_later_ones(played):
    places = played["Caught"]
    in_free_fall(places[RELEASED : CAUGHT - 1])
    np.testing.assert_allclose(np.diff(places[RELEASED : CAUGHT - 1, 0]), 3 / 9, atol=1e-5)
    for frame in range(CAUGHT, LAST):
        expected = (20, 5 + 4 * (frame - CAUGHT) / (LAST - 1 - CAUGHT), 15)
        np.testing.assert_allclose(places[frame - 1], expected, atol=1e-4)


def test_two_keyed_frames_are_an_initial_velocity(played):
    places = played["Thrown"][:30]
    np.testing.assert_allclose(np.diff(places[:, 0]), 0.5, atol=1e-5)
    in_free_fall(places[3:])


def test_a_plank_stays_on_its_table_if_its_origin_is_its_center_of_mass(played):
    np.testing.assert_allclose(played["Plank by Origin"][-1], played["Plank by Origin"][0], atol=1e-3)
    assert played["Plank by Volume"][-1, 2] < 0.9


def test_blocks_whose_glue_broke_bear_each_other_unless_collisions_are_disabled(played):
    assert played["High False"][-1, 2] == pytest.approx(3 * HALF, abs=1e-3)
    assert played["High True"][-1, 2] == pytest.approx(HALF, abs=1e-3)


def test_tiles_are_slid_and_rolled_over_as_one_floor_is(played):
    slid = played["Slides"][-1] - played["Slides"][0]
    np.testing.assert_allclose(slid, (1 / (2 * 0.25 * G), 0, 0), atol=1e-3)
    rolled = played["Rolls"]
    np.testing.assert_allclose(rolled[:, 0] - rolled[0, 0], np.arange(LAST) / FPS, atol=2e-3)
    assert np.ptp(rolled[:, 2]) < 1e-3


def test_a_deactivated_body_stays_in_the_air_until_it_is_hit_and_then_moves_with_what_hit_it(played):
    places, touched = played["Sleeps"], 36
    np.testing.assert_allclose(places[:touched], np.tile(places[0], (touched, 1)), atol=1e-5)
    assert places[touched + 3, 0] > 0.2 and places[-1, 2] < 4.0


def test_a_constraint_that_is_enabled_later_holds_a_body_where_it_has_fallen_to(played):
    """From the steps on that lead to the frame of its key."""
    z, free = played["Held"][:, 2], ENABLED - 1
    np.testing.assert_allclose(z[:free], 30 - 0.5 * G * (np.arange(free) / FPS) ** 2, atol=1e-5)
    np.testing.assert_allclose(z[free:], z[free - 1], atol=1e-4)


def test_a_constraint_that_is_enabled_later_pulls_a_body_back_to_where_it_was_set_up(played):
    """At a speed that stays the same, at most the recovery speed; then the body stays there."""
    z = played["Pulled Back"][:, 2]
    steps = np.diff(z[ENABLED:])
    there = np.flatnonzero(np.abs(z - 30) < 1e-4)
    back = there[there > ENABLED][0]
    assert 0 < steps[0] <= RECOVERY * 0.1 / FPS * (1 + 1e-6)
    np.testing.assert_allclose(steps[: back - ENABLED - 1], steps[0], rtol=1e-3)
    np.testing.assert_allclose(z[back:], 30, atol=1e-4)


def test_balls_enter_a_crate_that_is_a_mesh_and_rest_on_the_opening_of_its_hull(played):
    assert played["Ball MESH"][-1, 2] == pytest.approx(0.05 + 0.2, abs=2e-3)
    assert played["Ball CONVEX_HULL"][-1, 2] == pytest.approx(0.6 + 0.2, abs=2e-3)
