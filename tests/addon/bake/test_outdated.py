# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake knows what it was made from: what a user changes afterwards is named, and what a bake itself does is no change."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from ..fields import add_field
from ..objects import PLACEMENTS, add_empty, box_mesh, world_matrix


@pytest.fixture
def changes(extension):
    from stiction.addon.bake.outdated import changes

    return lambda: changes(bpy.context.scene)


@pytest.fixture
def baked(make_body, fake_worker):
    """A floor, and two boxes that were baked."""
    floor = make_body("Floor", kind="PASSIVE", shape="BOX")
    boxes = [make_body(name) for name in ("Box", "Ball")]
    for index, ob in enumerate(boxes):
        ob.location = (index, 0.0, 1.0)
    bake()
    return floor, *boxes


def bake() -> None:
    assert bpy.ops.stiction.bake() == {"FINISHED"}


def key(ob, path, frames):
    for frame, value in frames.items():
        setattr(ob, path, value)
        ob.keyframe_insert(path, frame=frame)


def add_pair(scene):
    pair = scene.stiction.pairs.add()
    pair.a, pair.b = "Steel", "Ice"


CHANGES = {
    "friction of Box": lambda scene, floor, box: setattr(box.rigid_body, "friction", 0.01),
    "bounciness of Box": lambda scene, floor, box: setattr(box.rigid_body, "restitution", 0.3),
    "mass of Box": lambda scene, floor, box: setattr(box.rigid_body, "mass", 500.0),
    "type of Box": lambda scene, floor, box: setattr(box.rigid_body, "type", "PASSIVE"),
    "shape of Floor": lambda scene, floor, box: floor.data.transform(Matrix.Scale(2.0, 4)),
    "collision collections of Box": lambda scene, floor, box: setattr(box.rigid_body, "collision_collections", [False] * 20),
    "damping or locks of Box": lambda scene, floor, box: setattr(box, "lock_location", (True, False, False)),
    "Floor moved": lambda scene, floor, box: setattr(floor, "location", (0.0, 0.0, -2.0)),
    "animation of Floor": lambda scene, floor, box: key(floor, "location", {1: (0, 0, 0), 5: (1, 0, 0)}),
    "gravity of the scene": lambda scene, floor, box: setattr(scene, "gravity", (0.0, 0.0, -1.6)),
    "substeps of the scene": lambda scene, floor, box: setattr(scene.rigidbody_world, "substeps_per_frame", 33),
    "tolerance of the scene": lambda scene, floor, box: setattr(scene.stiction, "tolerance", 1e-9),
    "last frame of the scene": lambda scene, floor, box: setattr(scene.rigidbody_world.point_cache, "frame_end", 9),
    "material of Box": lambda scene, floor, box: setattr(box.stiction, "material", "Steel"),
    "initial motion of Box": lambda scene, floor, box: setattr(box.stiction, "initial_motion", "ANIMATION"),
    "pairs of the scene": lambda scene, floor, box: add_pair(scene),
    "force field weights of the scene": lambda scene, floor, box: setattr(scene.rigidbody_world.effector_weights, "wind", 0.5),
    "friction rule of the scene": lambda scene, floor, box: setattr(scene.stiction, "friction_combine", "AVERAGE"),
}


@pytest.mark.parametrize("text", ["no", "[" * 100_000, "[]", "7", "null", '{"Box": 3}', '{"Box": {"friction": 5}}', "9" * 5000])
def test_a_note_of_the_bake_that_somebody_else_wrote_is_said_to_be_unreadable(scene, baked, changes, text):
    scene.stiction.bake.made_from = text
    (line,) = changes()
    assert line.startswith("the inputs of the bake are unknown")
    baked[1].location.x += 1.0
    scene.stiction.bake.digest = "another"
    with pytest.raises(RuntimeError, match="the file's record of them cannot be read"):
        bpy.ops.stiction.bake(resume=True)


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_named_and_taken_back_is_none(scene, baked, changes, what):
    assert changes() == []
    CHANGES[what](scene, *baked[:2])
    said = changes()
    # keys also place what was placed by hand
    assert what in said and set(said) <= {what, "Floor moved"}
    scene.frame_set(3)
    bake()
    assert changes() == []


@pytest.mark.parametrize(
    "change",
    [
        lambda ours: ours.apply_solver_preset(preset="Debris"),
        lambda ours: ours.apply_material(material="Ice"),
        lambda ours: ours.copy_to_selected(),
        lambda ours: ours.add_published_pairs(which="ALL"),
        lambda ours: ours.remove_pair(),
        lambda ours: ours.mend_found(index=0),
        lambda ours: ours.mend_found(index=1),
    ],
    ids=["solver preset", "material", "copy", "published pairs", "pair removed", "mend of a body", "mend of the scene"],
)
def test_blender_tells_the_watch_of_what_a_button_changes(scene, baked, change):
    """Of values that a script sets it tells nothing by itself."""
    _, box, ball = baked
    box.stiction.use_mu_static, box.stiction.use_mu_dynamic = True, True
    box.stiction.mu_static, box.stiction.mu_dynamic = 0.2, 0.4
    for ob in (box, ball):
        ob.select_set(True)
    bpy.context.view_layer.objects.active = box
    scene.stiction.pairs.add()
    for field in ("mu_dynamic", "friction_combine"):
        found = bpy.context.window_manager.stiction.findings.add()
        found.field, found.objects.add().name = field, "Box"
    bpy.context.view_layer.update()
    told = []
    bpy.app.handlers.depsgraph_update_post.append(lambda *_: told.append(True))
    assert change(bpy.ops.stiction) == {"FINISHED"}
    bpy.context.view_layer.update()
    bpy.app.handlers.depsgraph_update_post.pop()
    assert told


def test_bodies_that_come_and_go_are_named_and_renamed_ones_are_not(scene, make_body, baked, changes):
    floor, box, _ = baked
    floor.name, box.name = "Ground", "Crate"
    assert changes() == []
    make_body("New")
    scene.rigidbody_world.collection.objects.unlink(floor)
    assert changes() == ["New added", "Floor removed"]
    for number in range(5):
        make_body(f"More.{number}")
    assert changes()[0] == "New, More.0 and 4 more added"


def test_what_a_constraint_is_made_from_counts(scene, make_body, fake_worker, changes):
    door, post = make_body("Door"), make_body("Post", kind="PASSIVE")
    scene.rigidbody_world.constraints = bpy.data.collections.new("RigidBodyConstraints")
    hinge = add_empty("Hinge", (0, 0, 0), (0, 0, 0))
    bpy.context.view_layer.objects.active = hinge
    bpy.ops.rigidbody.constraint_add(type="HINGE")
    constraint = hinge.rigid_body_constraint
    constraint.object1, constraint.object2 = door, post
    bake()
    for frame in (4, 1):
        scene.frame_set(frame)
        assert changes() == []
    door.name, post.name = "Gate", "Pillar"
    assert changes() == []
    post.name, post.location.y = "Post", 0.25
    assert set(changes()) == {"constraint of Hinge", "Post moved"}
    bake()
    for change in (
        lambda: setattr(constraint, "use_limit_ang_z", True),
        lambda: setattr(constraint, "limit_ang_z_upper", 1.5),
        lambda: setattr(constraint, "type", "GENERIC"),
        lambda: setattr(constraint, "disable_collisions", False),
        lambda: setattr(constraint, "enabled", False),
        lambda: setattr(constraint, "object2", None),
    ):
        change()
        assert changes() == ["constraint of Hinge"]
        constraint.enabled = True
        bake()
        assert changes() == []
    hinge.location.x = 0.5
    assert changes() == ["Hinge moved"]
    bake()
    scene.rigidbody_world.constraints.objects.unlink(hinge)
    assert changes() == ["Hinge removed"]


@pytest.mark.parametrize("place", PLACEMENTS)
def test_what_a_bake_does_is_no_change(scene, make_body, fake_worker, changes, place):
    ob = make_body("Box")
    place(ob)
    keyed = make_body("Keyed")
    key(keyed, "location", {1: (5, 0, 0), 5: (6, 0, 0)})
    keyed.constraints.new("COPY_ROTATION").target = add_empty("Guide", (0, 0, 0), (0.3, 0, 0))
    scene.frame_set(2)
    bake()
    for frame in (1, 4, 2):
        scene.frame_set(frame)
        assert changes() == []
    bpy.ops.stiction.bake_to_keyframes()
    scene.frame_set(3)
    assert changes() == []


def test_what_an_animated_body_follows_counts(scene, make_body, baked, changes):
    floor = baked[0]
    guide = add_empty("Guide", (0, 0, 0), (0, 0, 0))
    floor.rigid_body.kinematic = True
    floor.parent = guide
    floor.constraints.new("COPY_ROTATION").target = add_empty("Other", (0, 0, 0), (0, 0, 0))
    bake()
    assert changes() == []
    key(guide, "location", {1: (0, 0, 0), 5: (0, 1, 0)})
    assert "animation of Floor" in changes()
    bake()
    bpy.data.objects["Other"].rotation_euler.x = 1.0
    assert changes() == ["animation of Floor"]


def test_a_modifier_counts_where_it_shapes_the_body(baked, changes):
    floor = baked[0]
    floor.rigid_body.collision_shape = "MESH"
    floor.rigid_body.mesh_source = "FINAL"
    bake()
    floor.modifiers.new("Solid", "SOLIDIFY")
    assert changes() == ["shape of Floor"]
    bake()
    floor.modifiers["Solid"].show_expanded = False
    assert changes() == []
    floor.modifiers["Solid"].thickness = 0.3
    assert changes() == ["shape of Floor"]


def test_an_input_of_geometry_nodes_counts(baked, changes):
    floor = baked[0]
    floor.rigid_body.collision_shape, floor.rigid_body.mesh_source = "MESH", "FINAL"
    group = bpy.data.node_groups.new("Nodes", "GeometryNodeTree")
    for name, way, kind in (
        ("Geometry", "INPUT", "NodeSocketGeometry"),
        ("Size", "INPUT", "NodeSocketFloat"),
        ("Geometry", "OUTPUT", "NodeSocketGeometry"),
    ):
        group.interface.new_socket(name, in_out=way, socket_type=kind)
    ends = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
    group.links.new(ends[0].outputs[0], ends[1].inputs[0])
    modifier = floor.modifiers.new("Nodes", "NODES")
    modifier.node_group = group
    bake()
    assert changes() == []
    if hasattr(modifier, "properties"):
        modifier.properties.inputs.Socket_1.value = 2.0
    else:
        modifier["Socket_1"] = 2.0
    assert changes() == ["shape of Floor"]


def move(ob, place) -> None:
    ob.location = place
    # the handlers hear of it with the next evaluation
    bpy.context.view_layer.update()


def test_a_body_moved_at_the_first_frame_begins_there(scene, baked, changes):
    box = baked[1]
    scene.frame_set(1)
    move(box, (2.0, 0.5, 1.0))
    assert changes() == ["Box moved"]
    scene.frame_set(4)
    scene.frame_set(1)
    assert tuple(box.location) == (2.0, 0.5, 1.0)
    bake()
    assert changes() == []
    assert np.allclose(world_matrix(box)[:3, 3], (2.0, 0.5, 1.0))
    bpy.ops.stiction.free_bake()
    assert tuple(box.location) == (2.0, 0.5, 1.0)


def test_a_body_moved_at_another_frame_goes_back_to_its_motion(scene, baked, changes):
    box = baked[1]
    scene.frame_set(3)
    there = world_matrix(box)
    move(box, (9.0, 9.0, 9.0))
    assert changes() == []
    scene.frame_set(1)
    scene.frame_set(3)
    assert np.allclose(world_matrix(box), there)


def test_frames_are_not_taken_for_moves(scene, baked, changes):
    """Blender tells of every evaluation, those between a new frame and its motion too."""
    starts = [tuple(ob.stiction.backup.location) for ob in baked[1:]]
    for frame in (5, 1, 3, 1, 2):
        scene.frame_current = frame
        bpy.context.view_layer.update()
        scene.frame_set(frame)
        bpy.context.view_layer.update()
    assert [tuple(ob.stiction.backup.location) for ob in baked[1:]] == starts and changes() == []


def test_a_duplicate_of_a_baked_body_is_one_of_its_own(scene, baked, changes):
    box = baked[1]
    scene.frame_set(3)
    copy = box.copy()
    scene.collection.objects.link(copy)
    copy.location.x += 4.0
    here = tuple(copy.location)
    scene.frame_set(5)
    assert tuple(copy.location) == here
    assert changes() == ["Box.001 added"]
    bake()
    assert changes() == []
    scene.frame_set(1)
    assert np.allclose(copy.location, here) and not np.allclose(box.location, here)
    bpy.ops.stiction.free_bake()
    assert not copy.rigid_body.kinematic and tuple(copy.location) == here


@pytest.mark.parametrize("handled", [True, False], ids=["saved by the add-on", "saved without it"])
def test_after_loading_a_duplicate_is_not_the_original(scene, baked, tmp_path, handled):
    """Blender numbers the objects of a file by name, so a duplicate that comes first in the alphabet seemed to be older."""
    copy = baked[1].copy()
    scene.collection.objects.link(copy)
    copy.name = "A Duplicate"
    handlers = bpy.app.handlers.save_pre
    kept = list(handlers)
    if not handled:
        handlers.clear()
    try:
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "a.blend"))
    finally:
        handlers[:] = kept
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "a.blend"))
    original, copy = bpy.data.objects["Box"], bpy.data.objects["A Duplicate"]
    assert copy.session_uid < original.session_uid
    assert original.stiction.backup.baked and not copy.stiction.backup.baked
    bpy.context.scene.frame_set(1)
    there = world_matrix(original).copy(), world_matrix(copy).copy()
    bpy.context.scene.frame_set(5)
    assert not np.allclose(world_matrix(original), there[0])
    assert np.allclose(world_matrix(copy), there[1])


def test_a_renamed_original_stays_the_original_after_loading(scene, baked, tmp_path):
    box = baked[1]
    copy = box.copy()
    scene.collection.objects.link(copy)
    box.name = "Z Original"
    copy.name = "Box"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "a.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "a.blend"))
    assert bpy.data.objects["Z Original"].stiction.backup.baked
    assert not bpy.data.objects["Box"].stiction.backup.baked


def test_the_panel_is_told_of_changes_and_of_lost_frames(scene, baked, extension):
    from pathlib import Path

    from stiction.addon.bake import outdated

    watch = outdated.Watch()
    said = bpy.context.window_manager.stiction.changes
    baked[1].rigid_body.friction = 0.9
    watch.mark()
    while watch.turn() is not None:
        pass
    assert [(line.scene, line.name, line.is_lost) for line in said] == [("Scene", "friction of Box", False)]
    Path(scene.stiction.bake.cache).unlink()
    watch.mark()
    while watch.turn() is not None:
        pass
    assert len(said) == 1 and said[0].is_lost and scene.stiction.bake.cache in said[0].name


def test_the_panel_forgets_what_had_changed_when_the_scene_is_baked_again(scene, baked, extension):
    """Blender announces no change of an object at the end of a bake, and the panel went on to call the new bake outdated."""
    from stiction.addon.bake import outdated

    (watch,) = outdated.watches()
    said = bpy.context.window_manager.stiction.changes
    baked[1].rigid_body.friction = 0.9
    watch.mark()
    while watch.turn() is not None:
        pass
    assert len(said) == 1
    handlers = bpy.app.handlers.depsgraph_update_post
    kept = list(handlers)
    handlers.clear()
    try:
        assert bpy.ops.stiction.bake() == {"FINISHED"}
    finally:
        handlers.extend(kept)
    assert watch.has_to_look
    while watch.turn() is not None:
        pass
    assert len(said) == 0


def test_a_new_scene_with_copied_settings_has_no_bake(scene, baked):
    from stiction.addon.bake import outdated

    box = baked[1]
    bpy.ops.scene.new(type="EMPTY")
    other = bpy.context.scene
    assert other != scene and other.stiction.bake.state == "CACHED"
    watch = outdated.Watch()
    watch.mark()
    while watch.turn() is not None:
        pass
    assert other.stiction.bake.state == "NONE" and other.stiction.bake.summary == ""
    assert not [line for line in bpy.context.window_manager.stiction.changes if line.scene == other.name]
    # the settings stay, and so does the bake of the first scene
    assert other.stiction.cache_directory == scene.stiction.cache_directory
    bpy.context.window.scene = scene
    assert scene.stiction.bake.state == "CACHED" and box.stiction.backup.baked


def test_a_bake_that_has_just_begun_is_not_lost(scene, baked, extension):
    from pathlib import Path

    from stiction.addon.bake import outdated

    session, watch = bpy.context.window_manager.stiction, outdated.Watch()
    Path(scene.stiction.bake.cache).unlink()
    session.is_baking = True
    watch.mark()
    while watch.turn() is not None:
        pass
    session.is_baking = False
    assert len(session.changes) == 0


def test_a_look_survives_what_happens_between_its_turns(scene, baked, monkeypatch):
    from stiction.addon.bake import outdated

    monkeypatch.setattr(outdated, "SECONDS_A_TURN", 0.0)
    watch = outdated.Watch()
    watch.mark()
    watch.turn()
    bpy.data.objects.remove(baked[1])
    bpy.data.meshes.remove(box_mesh("Other", (1, 1, 1)))
    while watch.turn() is not None:
        pass
    assert bpy.context.window_manager.stiction.changes[0].name == "Box removed"


@pytest.fixture
def windy(make_body, fake_worker):
    """A box that was baked in a wind, with a screen that absorbs it."""
    make_body("Box")
    wind = add_field("WIND", name="Wind", strength=3.0, use_absorption=True)
    screen = bpy.data.objects.new("Screen", box_mesh("Screen", (0.1, 1.0, 1.0)))
    bpy.context.scene.collection.objects.link(screen)
    bpy.context.view_layer.objects.active = screen
    bpy.ops.object.modifier_add(type="COLLISION")
    bake()
    return wind, screen


FIELD_CHANGES = {
    "force field of Wind": lambda wind, screen: setattr(wind.field, "strength", 4.0),
    "animation of Wind": lambda wind, screen: key(wind.field, "strength", {1: 3.0, 5: 4.0}),
    "Wind moved": lambda wind, screen: setattr(wind, "location", (0.0, 0.0, 1.0)),
    "Wind and Screen removed": lambda wind, screen: setattr(wind, "hide_viewport", True),
    "absorption of Screen": lambda wind, screen: setattr(screen.collision, "absorption", 0.5),
    "Screen moved": lambda wind, screen: setattr(screen, "location", (0.0, 0.0, 1.0)),
}


@pytest.mark.parametrize("what", FIELD_CHANGES)
def test_a_change_of_a_force_field_is_named(scene, windy, changes, what):
    assert changes() == []
    FIELD_CHANGES[what](*windy)
    said = changes()
    # a field without keys has other values than one with them
    assert what in said and set(said) <= {what, "force field of Wind"}


def test_frames_of_a_keyed_field_are_no_change(scene, windy, changes):
    wind, _ = windy
    key(wind.field, "strength", {1: 3.0, 5: 4.0})
    bake()
    scene.frame_set(4)
    assert changes() == []


def test_a_field_that_a_body_carries_is_part_of_it(scene, make_body, fake_worker, changes):
    box = make_body("Box")
    make_body("Other")
    bake()
    add_field("FORCE", ob=box)
    assert changes() == ["force field of Box"]
