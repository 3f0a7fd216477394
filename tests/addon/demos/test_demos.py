# SPDX-License-Identifier: GPL-3.0-or-later
"""A demo of the Add menu, read back, is the scene that the solver's own tests use."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from bpy_extras.object_utils import world_to_camera_view
from mathutils import Vector


def read():
    from stiction.addon.read.extract import extract

    return extract(bpy.context).spec


@pytest.fixture
def scenes(extension):
    from stiction.solver_core.scenes import plain as scenes

    return scenes


def scene_named(name):
    """The scene that the operator of this name adds."""
    from stiction.solver_core.scenes import destruction as destruction_scenes
    from stiction.solver_core.scenes import everyday as everyday_scenes
    from stiction.solver_core.scenes import flexible as flexible_scenes
    from stiction.solver_core.scenes import jointed as jointed_scenes
    from stiction.solver_core.scenes import machines as machine_scenes
    from stiction.solver_core.scenes import plain as scenes
    from stiction.solver_core.scenes import published as published_scenes
    from stiction.solver_core.scenes import published_bending as bending_scenes

    if name in DESTRUCTION:
        return getattr(destruction_scenes, name)().spec
    every = scenes, everyday_scenes, jointed_scenes, published_scenes, flexible_scenes, machine_scenes, bending_scenes
    return next(getattr(of, name) for of in every if name in of.__all__)()


def rotated(body) -> np.ndarray:
    from stiction.addon.blender.rotations import matrix_of_quaternion

    return body.shape.vertices @ matrix_of_quaternion(body.orientation).T + body.position


JOINTED = [
    "hanging_chain",
    "chain_of_rings",
    "rope_bridge",
    "drawbridge",
    "breakable_wall",
    "newtons_cradle",
    "four_ball_solid",
]
PUBLISHED = ["bombarded_card_house", "catenary_arch", "jamming_tube", "log_house", "rods_of_1991", "bar_on_four_feet"]
PUBLISHED += ["block_feeder", "double_action_jack", "bunny_drop"]
FLEXIBLE = ["chairs", "bookshelf", "diving_board", "soft_heap", "card_bridge"]
FLEXIBLE += ["composites", "dinosaurs", "bunnies_on_arches", "rubber_jam"]
EVERYDAY = ["table_for_twelve", "bin_of_mugs", "library_shelf", "conveyor", "roly_polies"]
DESTRUCTION = ["brick_wall", "window", "lost_column", "falling_chimney", "bonded_bridge", "ice_on_a_lake"]
PLAIN = ["card_house", "arch", "tower", "wall", "dominoes", "slope", "dropped_cube", "jamming_rod"]


@pytest.mark.parametrize("name", [*PLAIN, *EVERYDAY, *PUBLISHED, *JOINTED, *DESTRUCTION, *FLEXIBLE])
def test_what_is_added_is_what_is_meant(scene, extension, name):
    wanted = scene_named(name)
    assert getattr(bpy.ops.stiction, f"add_{name}")() == {"FINISHED"}
    found = read()
    assert len(found.bodies) == len(wanted.bodies)
    assert (found.frame_start, found.frame_end, found.fps) == (wanted.frame_start, wanted.frame_end, wanted.fps)
    assert np.allclose(found.gravity, wanted.gravity)
    by_name = {body.name: body for body in found.bodies}
    for body in wanted.bodies:
        other = by_name[body.name]
        assert other.kind is body.kind
        assert other.material.mu_static == pytest.approx(body.material.mu_static, rel=1e-6)
        assert other.material.mu_dynamic == pytest.approx(body.material.mu_dynamic, rel=1e-6)
        assert other.material.restitution == pytest.approx(body.material.restitution, rel=1e-6)
        assert other.material.rolling == pytest.approx(body.material.rolling)
        assert (other.surface_motion is None) == (body.surface_motion is None)
        if body.surface_motion is not None:
            assert np.allclose(other.surface_motion.velocity, body.surface_motion.velocity)
        assert (other.linear_damping, other.angular_damping) == (body.linear_damping, body.angular_damping)
        if body.kind.name != "ACTIVE":
            continue
        assert np.allclose(other.velocity, body.velocity)
        assert (other.center_of_mass is None) == (body.center_of_mass is None)
        if body.center_of_mass is not None:
            assert np.allclose(other.center_of_mass, body.center_of_mass, atol=1e-6)
        assert (other.mass, other.density) == (body.mass, body.density) or other.mass == pytest.approx(body.mass)
        assert np.allclose(other.angular_velocity, body.angular_velocity)
        assert other.shape.kind is body.shape.kind
        assert (other.shape.margin, other.shape.radius) == pytest.approx((body.shape.margin, body.shape.radius), rel=1e-6)
        assert (other.deformable is None) == (body.deformable is None)
        if body.deformable is not None:
            meant, made = vars(body.deformable), vars(other.deformable)
            assert all(made[what] == pytest.approx(meant[what], rel=1e-6) for what in meant if what not in ("kind", "pinned"))
            assert other.deformable.kind is body.deformable.kind
            assert len(other.shape.vertices) == len(body.shape.vertices)
        assert (other.path is None) == (body.path is None)
        if body.path is not None:
            assert other.path.shape == body.path.shape and np.allclose(other.path, body.path, atol=1e-6)
        distances = np.linalg.norm(rotated(body)[:, None] - rotated(other)[None], axis=2)
        size = np.ptp(body.shape.vertices, axis=0).max()
        assert max(distances.min(axis=0).max(), distances.min(axis=1).max()) < 1e-6 * max(size, 1.0)


@pytest.mark.parametrize("name", [*JOINTED, "block_feeder", "double_action_jack"])
def test_joints_are_added_as_they_are_meant(scene, extension, name):
    wanted = scene_named(name)
    scene.cursor.location = (1.0, 2.0, 0.0)
    assert getattr(bpy.ops.stiction, f"add_{name}")() == {"FINISHED"}
    found = read()
    assert {frozenset(pair) for pair in found.excluded} == {frozenset(pair) for pair in wanted.excluded}
    by_name = {joint.name: joint for joint in found.joints}
    assert by_name.keys() == {joint.name for joint in wanted.joints}
    for joint in wanted.joints:
        other = by_name[joint.name]
        assert (other.body_a, other.body_b) == (joint.body_a, joint.body_b)
        assert np.allclose(other.position, joint.position + np.array([1.0, 2.0, 0.0]), atol=1e-6)
        assert abs(other.orientation @ joint.orientation) == pytest.approx(1.0)
        assert other.breaking_impulse == pytest.approx(joint.breaking_impulse)
        for axis, meant in zip((*other.linear, *other.angular), (*joint.linear, *joint.angular), strict=True):
            assert tuple(vars(axis).values()) == pytest.approx(tuple(vars(meant).values()), rel=1e-6)


@pytest.mark.parametrize("name", DESTRUCTION)
def test_bonds_are_added_as_they_are_meant(scene, extension, name):
    from stiction.solver_core.scenes import destruction as scenes

    wanted = getattr(scenes, name)()
    assert getattr(bpy.ops.stiction, f"add_{name}")() == {"FINISHED"}
    meant, found = wanted.with_bonds().joints, read().joints
    pairs = [{frozenset((joint.body_a, joint.body_b)) for joint in joints} for joints in (meant, found)]
    assert pairs[0] == pairs[1] and len(pairs[0]) >= 13
    strengths = [sorted((joint.strength.tension, joint.strength.shear) for joint in joints) for joints in (meant, found)]
    # Blender keeps corners in single precision
    np.testing.assert_allclose(strengths[0], strengths[1], rtol=1e-4, atol=1.0)


def test_the_ground_is_the_plane_and_carries_the_whole_scene(scene, scenes):
    bpy.ops.stiction.add_slope(tangent=0.5)
    ground = next(body for body in read().bodies if body.name == "Ground")
    corners = rotated(ground)
    normal = np.array([0.5, 0.0, 1.0]) / np.sqrt(1.25)
    top = corners[np.abs(corners @ normal) < 1e-5]
    assert len(top) == 4 and (corners @ normal).max() < 1e-5
    assert np.ptp(top @ np.array([0.0, 1.0, 0.0])) > 1.0


def test_a_demo_is_one_undoable_step_at_the_cursor_with_the_bodies_selected(scene):
    scene.cursor.location = (3.0, 0.0, 1.0)
    bpy.ops.stiction.add_tower(boxes=3)
    boxes = [ob for ob in bpy.data.objects if ob.name.startswith("Box")]
    assert len(boxes) == 3 and all(ob.select_get() for ob in boxes)
    assert min(ob.location.z for ob in boxes) == pytest.approx(1.1) and boxes[0].location.x == pytest.approx(3.0)
    assert len({ob.data for ob in boxes}) == 1
    from stiction.addon.demos import DEMOS

    assert all({"REGISTER", "UNDO"} <= operator.bl_options for operator in DEMOS)


def test_demos_come_without_a_rigid_body_world(extension):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    assert bpy.context.scene.rigidbody_world is None
    assert bpy.ops.stiction.add_card_house(levels=1) == {"FINISHED"}
    assert len(bpy.context.scene.rigidbody_world.collection.objects) == 3


def test_a_demo_says_what_hides_it(scene, capsys):
    bpy.ops.mesh.primitive_cube_add(size=2.0)
    assert bpy.ops.stiction.add_card_house(levels=1) == {"FINISHED"}
    assert "inside Cube" in capsys.readouterr().out


def test_every_scene_of_the_menu_is_tested(extension):
    from stiction.addon.demos import DEMOS

    names = {operator.bl_idname.removeprefix("stiction.add_") for operator in DEMOS}
    assert names == {*PLAIN, *EVERYDAY, *PUBLISHED, *JOINTED, *DESTRUCTION, *FLEXIBLE}


def test_newtons_cradle_sets_the_substeps_that_it_needs_and_refuses_more_balls_than_it_has(scene):
    assert bpy.ops.stiction.add_newtons_cradle() == {"FINISHED"}
    assert scene.rigidbody_world.substeps_per_frame == 40
    with pytest.raises(RuntimeError, match="3 balls cannot have 4"):
        bpy.ops.stiction.add_newtons_cradle(balls=3, raised=4)


def test_one_looks_into_the_tube(scene):
    bpy.ops.stiction.add_jamming_tube(layers=1)
    shown = {ob.name: ob.display_type for ob in bpy.data.objects}
    assert shown["Neck 1"] == shown["Tube 4"] == "WIRE" and shown["Cube 1"] == "TEXTURED"


@pytest.mark.parametrize(
    ("name", "outside", "inside"), [("jamming_tube", "Tube 1", "Cube 1"), ("block_feeder", "Left", "Block 1")]
)
def test_a_render_shows_what_is_inside(scene, name, outside, inside):
    assert getattr(bpy.ops.stiction, f"add_{name}")() == {"FINISHED"}
    alpha = {}
    for ob in (bpy.data.objects[outside], bpy.data.objects[inside]):
        (material,) = {slot.material for slot in ob.material_slots}
        alpha[ob.name] = material.node_tree.nodes["Principled BSDF"].inputs["Alpha"].default_value
    assert alpha[outside] < 0.5 and alpha[inside] == 1.0


@pytest.mark.parametrize("name", ["jamming_tube", "rubber_jam"])
def test_the_camera_sees_the_ground_below_bodies_that_fall(scene, name):
    assert getattr(bpy.ops.stiction, f"add_{name}")() == {"FINISHED"}
    bpy.context.view_layer.update()
    fallen = [ob.matrix_world.translation * Vector((1.0, 1.0, 0.0)) for ob in scene.objects if ob.name.startswith("Cube")]
    assert len(fallen) > 8 and all(in_the_picture(scene, place) for place in fallen)


def drawn_menu(name):
    """The operators and the menus that a menu shows."""
    shown = {"operator": [], "menu": [], "separator": []}
    layout = SimpleNamespace(**{kind: (lambda *what, kind=kind: shown[kind].extend(what)) for kind in shown})
    getattr(bpy.types, name).draw(SimpleNamespace(layout=layout), bpy.context)
    return shown


def test_the_menu_has_a_few_demos_by_topic_and_those_of_the_papers(extension):
    shown = drawn_menu("STICTION_MT_add_demo")
    assert shown["operator"] == [] and len(shown["menu"]) == 7
    topics = {getattr(bpy.types, name).bl_label: drawn_menu(name)["operator"] for name in shown["menu"]}
    papers = topics.pop("From the Papers")
    everyday = [name for names in topics.values() for name in names]
    assert len(everyday) <= 18 and topics["Standing"][0] == "stiction.add_card_house"
    assert len(set(everyday + papers)) == len(everyday + papers)
    for name in everyday + papers:
        assert getattr(bpy.ops.stiction, name.removeprefix("stiction.")).get_rna_type().identifier


def in_the_picture(scene, point) -> bool:
    """Whether the camera of the scene sees a point (3,)."""
    x, y, depth = world_to_camera_view(scene, scene.camera, Vector(point))
    return depth > 0.0 and 0.0 < x < 1.0 and 0.0 < y < 1.0


@pytest.mark.parametrize("name", ["card_house", "tower", "conveyor", "roly_polies", "bookshelf", "table_for_twelve"])
def test_a_demo_has_a_camera_that_sees_it_lights_materials_and_a_floor(scene, name):
    """Also in a file without any of these, and in a tall picture."""
    scene.render.resolution_x, scene.render.resolution_y = 1080, 1920
    assert getattr(bpy.ops.stiction, f"add_{name}")() == {"FINISHED"}
    bpy.context.view_layer.update()
    bodies = [ob for ob in scene.objects if ob.rigid_body is not None]
    floor = [ob for ob in bodies if ob.name == "Ground"]
    assert len(floor) == 1 and floor[0].rigid_body.type == "PASSIVE" and scene.world is not None
    for ob in bodies:
        assert ob.material_slots[0].material is not None
        if ob is not floor[0]:
            assert all(in_the_picture(scene, ob.matrix_world @ Vector(corner)) for corner in ob.bound_box)
    assert sum(ob.type == "LIGHT" for ob in scene.objects) == 2
    active = {ob.material_slots[0].material.name for ob in bodies if ob.rigid_body.type == "ACTIVE"}
    assert floor[0].material_slots[0].material.name not in active
    # five seconds to see what differs from Bullet, and no half minute to wait for
    assert 48 <= scene.frame_end - scene.frame_start <= 250


def test_a_second_demo_uses_the_materials_of_the_first_and_keeps_its_world(scene):
    world = scene.world = bpy.data.worlds.new("Mine")
    bpy.ops.stiction.add_card_house(levels=2)
    made, camera = set(bpy.data.materials), scene.camera
    bpy.ops.stiction.add_card_house(levels=2)
    assert set(bpy.data.materials) == made and scene.world is world and scene.camera is not camera
    for name in {ob.material_slots[0].material.name for ob in scene.objects if ob.rigid_body is not None}:
        assert bpy.data.materials[name].node_tree.nodes.get("Principled BSDF") is not None


def test_the_center_of_mass_of_a_roly_poly_is_an_empty_that_moves_along(scene):
    bpy.ops.stiction.add_roly_polies(count=1, depth=0.5, tilt=0.0)
    toy = bpy.data.objects["Roly-Poly 1"]
    empty = toy.stiction.center_object
    assert empty.type == "EMPTY" and empty.parent is toy
    bpy.context.view_layer.update()
    assert toy.matrix_world.translation.z - empty.matrix_world.translation.z == pytest.approx(0.06, abs=1e-6)
