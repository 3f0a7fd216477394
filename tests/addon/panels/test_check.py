# SPDX-License-Identifier: GPL-3.0-or-later
"""Check Scene says what a bake would, before it; what its buttons mend is not found again; and it changes nothing itself."""

from __future__ import annotations

import json
from itertools import pairwise

import bpy
import numpy as np
import pytest

from ..dump import dump
from ..fields import add_field
from ..objects import add_empty, box_mesh


@pytest.fixture
def look(scene):
    from stiction.addon.bake.findings import look

    return lambda: look(bpy.context)


def found(look) -> set[tuple[str, tuple[str, ...], str]]:
    return {(one.level, one.objects, one.field) for one in look().findings}


def no_faces(scene, make_body):
    make_body("Empty", mesh=bpy.data.meshes.new("Empty"))


def add_constraint(scene, kind, first, second):
    scene.rigidbody_world.constraints = bpy.data.collections.new("RigidBodyConstraints")
    ob = add_empty("Hinge", (0, 0, 0), (0, 0, 0))
    bpy.context.view_layer.objects.active = ob
    bpy.ops.rigidbody.constraint_add(type=kind)
    ob.rigid_body_constraint.object1, ob.rigid_body_constraint.object2 = first, second
    return ob.rigid_body_constraint


def half_a_hinge(scene, make_body):
    add_constraint(scene, "HINGE", make_body("Door"), None)


def hinge_on_nothing(scene, make_body):
    add_constraint(scene, "HINGE", add_empty("Post", (0, 0, 0), (0, 0, 0)), make_body("Door"))


def crossed_limits(scene, make_body):
    hinge = add_constraint(scene, "HINGE", make_body("Door"), make_body("Post"))
    hinge.use_limit_ang_z, hinge.limit_ang_z_lower, hinge.limit_ang_z_upper = True, 1.0, -0.5


def braked_spring(scene, make_body):
    spring = add_constraint(scene, "GENERIC_SPRING", make_body("Door"), make_body("Post"))
    spring.spring_type, spring.use_spring_x, spring.spring_damping_x = "SPRING1", True, 0.99


def ellipsoid(scene, make_body):
    make_body("Egg", shape="SPHERE").scale = (1.0, 1.0, 2.0)


def uneven(scene, make_body):
    make_body("Plank").scale = (1.0, 1.0, -2.0)


def stranger(scene, make_body):
    ob = make_body("Stranger")
    scene.rigidbody_world.collection.objects.unlink(ob)


def product(scene, make_body):
    make_body("Slippery").rigid_body.friction = 0.5


def unseen(scene, make_body):
    make_body("Hidden").hide_set(True)


def disabled(scene, make_body):
    make_body("Hidden").hide_viewport = True


def excluded(scene, make_body):
    ob, apart = make_body("Hidden"), bpy.data.collections.new("Apart")
    scene.collection.children.link(apart)
    apart.objects.link(ob)
    scene.collection.objects.unlink(ob)
    bpy.context.view_layer.layer_collection.children["Apart"].exclude = True


def instances(scene, make_body):
    copied = bpy.data.collections.new("Copied")
    copied.objects.link(make_body("Crate"))
    ob = add_empty("Instance", (2, 0, 0), (0, 0, 0))
    ob.instance_type, ob.instance_collection = "COLLECTION", copied


def dynamic(scene, make_body):
    own = make_body("Odd").stiction
    own.use_mu_static = own.use_mu_dynamic = True
    own.mu_static, own.mu_dynamic = 0.2, 0.4


def moving_floor(scene, make_body):
    floor = make_body("Lift", kind="PASSIVE")
    for frame in (1, 5):
        floor.location.z = -5.0 - frame
        floor.keyframe_insert("location", frame=frame)


def keyed_friction(scene, make_body):
    ob = make_body("Keyed")
    ob.stiction.use_mu_static = True
    for frame, mu in ((1, 2.0), (3, 0.0)):
        ob.stiction.mu_static = mu
        ob.keyframe_insert("stiction.mu_static", frame=frame)


def textured_field(scene, make_body):
    make_body("Leaf")
    add_field("TEXTURE", name="Waves", texture=bpy.data.textures.new("Clouds", "CLOUDS"))


def stops_before_the_scene(scene, make_body):
    scene.frame_end = 400


def goes_on_unseen(scene, make_body):
    scene.frame_end = 3


def goes_on_unseen_by_its_own_range(scene, make_body):
    scene.stiction.use_frame_range, scene.stiction.frame_end = True, 300


def constraint_outside(scene, make_body):
    add_constraint(scene, "HINGE", make_body("Door"), make_body("Post"))
    scene.rigidbody_world.constraints.objects.unlink(bpy.data.objects["Hinge"])


def no_collection_of_constraints(scene, make_body):
    add_constraint(scene, "HINGE", make_body("Door"), make_body("Post"))
    scene.rigidbody_world.constraints = None


def glue(scene, make_body):
    add_constraint(scene, "FIXED", make_body("Door"), make_body("Post")).use_breaking = True


def switched_off(scene, make_body):
    scene.rigidbody_world.enabled = False


def no_folder(scene, make_body):
    scene.stiction.cache_directory = "/dev/null/cache"


def debris_without_contacts(scene, make_body):
    make_body("Box")
    scene.stiction_debris.shown = bpy.data.objects.new("Debris", bpy.data.meshes.new("Debris"))


def test_what_a_density_comes_to_is_told(make_body, look):
    """0.6 m by 0.4 m by 0.2 m at 500 kg/m3, and the same eight times."""
    for name, edge in (("Small", 1.0), ("Large", 2.0)):
        ob = make_body(name)
        ob.scale = (edge, edge, edge)
        ob.stiction.mass_source, ob.stiction.density = "DENSITY", 500.0
    (one,) = (finding for finding in look().findings if finding.field == "density")
    assert one.level == "INFO" and set(one.objects) == {"Small", "Large"}
    assert one.message == "a density of 500 kg/m³ gives 24 to 192 kg, 216 kg in all"


CASES = {
    no_faces: ("ERROR", ("Empty",), "mesh", True),
    hinge_on_nothing: ("ERROR", ("Hinge",), "object1", True),
    crossed_limits: ("ERROR", ("Hinge",), "angular.z.lower", True),
    half_a_hinge: ("WARNING", ("Hinge",), "object2", True),
    braked_spring: ("WARNING", ("Hinge",), "spring_type", True),
    switched_off: ("ERROR", ("Scene",), "rigidbody_world.enabled", True),
    no_folder: ("ERROR", (), "cache_directory", False),
    ellipsoid: ("WARNING", ("Egg",), "collision_shape", True),
    stranger: ("WARNING", ("Stranger",), "membership", True),
    moving_floor: ("WARNING", ("Lift",), "kinematic", True),
    keyed_friction: ("WARNING", ("Keyed",), "mu_static", False),
    textured_field: ("WARNING", ("Waves",), "field.type", False),
    uneven: ("INFO", ("Plank",), "scale", True),
    product: ("INFO", (), "friction_combine", True),
    unseen: ("INFO", ("Hidden",), "hidden", True),
    disabled: ("INFO", ("Hidden",), "hidden", True),
    excluded: ("INFO", ("Hidden",), "hidden", True),
    instances: ("WARNING", ("Instance",), "instance_collection", False),
    stops_before_the_scene: ("WARNING", (), "bake_range", True),
    goes_on_unseen: ("INFO", (), "bake_range", True),
    goes_on_unseen_by_its_own_range: ("INFO", (), "bake_range", True),
    constraint_outside: ("WARNING", ("Hinge",), "constraint_membership", True),
    no_collection_of_constraints: ("WARNING", ("Hinge",), "constraint_membership", True),
    glue: ("WARNING", ("Hinge",), "disable_collisions", True),
    debris_without_contacts: ("WARNING", (), "keep_contacts", True),
}


def test_many_strangers_are_one_line(scene, make_body, look):
    for number in range(36):
        scene.rigidbody_world.collection.objects.unlink(make_body(f"Plate {number}"))
    make_body("Member")
    (one,) = (finding for finding in look().findings if finding.field == "membership")
    assert len(one.objects) == 36 and one.message.startswith("36 objects")


def test_bodies_without_a_world_are_named_as_the_cause(scene, make_body, look):
    make_body("Box")
    make_body("Ball")
    bpy.ops.rigidbody.world_remove()
    # what Blender leaves in a file whose scene was copied or appended
    bpy.ops.rigidbody.world_remove() if scene.rigidbody_world is not None else None
    has_bodies = [ob for ob in scene.objects if ob.rigid_body is not None]
    (one,) = (finding for finding in look().findings if finding.field == "rigidbody_world")
    assert one.level == "ERROR" and (f"{len(has_bodies)} objects have" in one.message or not has_bodies)


@pytest.fixture
def causes(scene):
    """What the user is told of overlaps that the solver found: names and depths in m."""
    from stiction.addon.bake.causes import with_causes
    from stiction.addon.bake.finding import Finding
    from stiction.solver_core.scene.words import distance

    from ..objects import read

    def told(*overlaps):
        found = [
            Finding("WARNING", (a, b), "overlap", f"{a} and {b} overlap by {distance(depth)} at frame 1: they are pushed apart")
            for a, b, depth in overlaps
        ]
        bpy.context.view_layer.update()
        return with_causes(read().spec, found)

    return told


def cup(name):
    """A square cup of 0.2 m with walls and a floor of 0.02 m."""
    outer, inner = 0.1, 0.08
    rings = [(outer, 0.0), (outer, 0.2), (inner, 0.2), (inner, 0.02)]
    corners = [(x * r, y * r, z) for r, z in rings for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    faces = [(3, 2, 1, 0), (12, 13, 14, 15)]
    faces += [(4 * r + k, 4 * r + (k + 1) % 4, 4 * r + 4 + (k + 1) % 4, 4 * r + 4 + k) for r in range(3) for k in range(4)]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(corners, [], faces)
    return mesh


@pytest.mark.parametrize("turn", [0.0, 0.9])
def test_a_hull_that_fills_a_hollow_is_named_once_and_not_what_is_in_it(make_body, causes, turn):
    mug = make_body("Mug", mesh=cup("Mug"))
    mug.rotation_euler, mug.scale, mug.location = (0.0, 0.0, turn), (2.0, 2.0, 2.0), (3.0, 1.0, 0.5)
    for number in range(3):
        make_body(f"Pen {number}", mesh=box_mesh("Pen", (0.01, 0.01, 0.2))).location = (3.0 + 0.03 * number, 1.0, 0.75)
    make_body("Table", kind="PASSIVE", mesh=box_mesh("Table", (1.0, 1.0, 0.05))).location = (3.0, 1.0, 0.46)
    hollow, table = causes(*(("Mug", f"Pen {k}", 0.3) for k in range(3)), ("Mug", "Table", 0.01))
    assert hollow.objects == ("Mug",) and hollow.field == "hollow"
    assert hollow.message == "the hull fills the hollow of Mug, in which Pen 0 and 2 more start: choose the shape Mesh"
    # that one stands in the other all the same
    assert table.field == "overlap" and set(table.objects) == {"Mug", "Table"}


def test_a_hull_that_fills_a_hollow_is_named_before_anything_rests_on_its_opening(make_body, look, no_contacts):
    crate = make_body("Crate", kind="PASSIVE", mesh=cup("Crate"))
    for number in range(3):
        make_body(f"Pen {number}", mesh=box_mesh("Pen", (0.01, 0.01, 0.05))).location = (0.03 * number, 0.0, 0.5)
    (one,) = (finding for finding in look().findings if finding.field == "hollow")
    assert (one.level, one.objects) == ("INFO", ("Crate",))
    assert (
        one.message == "the hull fills the hollow of Crate, so Pen 0 and 2 more do not enter it: choose the shape Mesh for "
        "bodies with others inside"
    )
    assert bpy.ops.stiction.check_scene() == {"FINISHED"}
    fields = [one.field for one in bpy.context.window_manager.stiction.findings]
    assert bpy.ops.stiction.mend_found(index=fields.index("hollow")) == {"FINISHED"}
    assert crate.rigid_body.collision_shape == "MESH"
    assert not [finding for finding in look().findings if finding.field == "hollow"]


def test_a_bake_names_the_hull_that_fills_a_hollow_in_which_a_body_begins(make_body, fake_worker, capfd):
    make_body("Mug", kind="PASSIVE", mesh=cup("Mug"))
    make_body("Pen", mesh=box_mesh("Pen", (0.01, 0.01, 0.05))).location = (0.0, 0.0, 0.1)
    overlap = "Mug and Pen overlap by 80 mm at frame 1: they are pushed apart slowly"
    fake_worker.warnings = ({"objects": ["Mug", "Pen"], "field": "overlap", "message": overlap},)
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    told = capfd.readouterr().out
    assert "the hull fills the hollow of Mug, in which Pen starts" in told and "overlap by" not in told


def test_what_is_wrong_with_many_objects_alike_is_one_line(make_body, look):
    for number in range(5):
        make_body(f"Sheet {number}", mesh=box_mesh("Sheet", (0.1, 0.1, 0.0)))
    (one,) = (finding for finding in look().findings if finding.level == "ERROR")
    assert one.objects == tuple(f"Sheet {number}" for number in range(5)) and "Solidify" in one.message
    with pytest.raises(RuntimeError, match="5 problems") as refused:
        bpy.ops.stiction.bake()
    assert str(refused.value).count("Solidify") == 1 and "Sheet 3 and 1 more" in str(refused.value)


def test_bodies_of_a_chain_that_overlap_at_their_joints_are_one_line(scene, make_body, causes):
    names = [f"Plate {number}" for number in range(37)]
    for number, name in enumerate(names):
        make_body(name).location.x = 0.5 * number
    first, joints = bpy.data.objects[names[0]], bpy.data.collections.new("RigidBodyConstraints")
    scene.rigidbody_world.constraints = joints
    for a, b in pairwise(names):
        ob = add_empty(f"Joint {a}", (0, 0, 0), (0, 0, 0))
        joints.objects.link(ob)
        ob.rigid_body_constraint.type, ob.rigid_body_constraint.disable_collisions = "GENERIC_SPRING", False
        ob.rigid_body_constraint.object1, ob.rigid_body_constraint.object2 = bpy.data.objects[a], bpy.data.objects[b]
    pairs = [(a, b, 1e-3 * (k + 1)) for k, (a, b) in enumerate(pairwise(names))]
    (one,) = causes(*pairs)
    assert one.field == "joined_overlap" and len(one.objects) == 36 and first.name not in one.objects
    assert one.message.startswith("36 pairs of connected bodies overlap at the joint, by up to 36 mm (Plate 35 and Plate 36)")


def test_many_overlaps_are_one_line_with_the_deepest(make_body, causes):
    names = [f"Box {number}" for number in range(8)]
    for number, name in enumerate(names):
        make_body(name, shape="BOX").location.x = 5.0 * number
    pairs = [(a, b, 0.002 * (k + 1)) for k, (a, b) in enumerate(pairwise(names))]
    (one,) = causes(*pairs)
    assert one.message.startswith("7 pairs of bodies overlap by up to 14 mm (Box 6 and Box 7) at frame 1")
    assert len(causes(*pairs[:3])) == 3


def test_many_findings_that_differ_in_names_and_numbers_are_one_line(extension):
    from stiction.addon.bake.causes import alike
    from stiction.addon.bake.finding import Finding

    found = [Finding("WARNING", (f"Egg {k}",), "mass", f"Egg {k} weighs {k + 0.5} kg") for k in range(5)]
    (one,) = alike(found)
    assert one.objects == tuple(f"Egg {k}" for k in range(5)) and one.message == "Egg 0 weighs 0.5 kg (5 such messages)"
    assert list(alike(found[:3])) == found[:3]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_each_thing_is_found_and_mended(scene, make_body, look, no_contacts, case):
    level, objects, field, is_mended = CASES[case]
    other = make_body("Other")
    other.rigid_body.friction = 1.0
    case(scene, make_body)
    assert (level, objects, field) in found(look)
    assert bpy.ops.stiction.check_scene() == {"FINISHED"}
    findings = bpy.context.window_manager.stiction.findings
    index = [finding.field for finding in findings].index(field)
    if is_mended:
        assert bpy.ops.stiction.mend_found(index=index) == {"FINISHED"}
        assert (level, objects, field) not in found(look)
    else:
        assert bpy.ops.stiction.mend_found(index=index) == {"CANCELLED"}


def test_a_contact_check_that_does_not_end_is_stopped_and_says_what_to_do(scene, make_body, look, monkeypatch):
    from stiction.addon.bake import findings

    make_body("Box")
    monkeypatch.setattr(findings, "LONGEST_CHECK", 0.0)
    contacts = findings.Contacts(look().sound)
    try:
        assert not contacts.runs
        (told,) = contacts.findings()
    finally:
        contacts.end()
    assert told.level == "ERROR" and "did not end within 0 s and was stopped" in told.message and "Reduce" in told.message


@pytest.fixture
def no_contacts(monkeypatch, extension):
    """The look at contacts takes a process of its own; where it has no part it is left out."""
    from stiction.addon.bake import findings

    class Nothing:
        def __init__(self, extraction, folder):
            self.runs, self.flexible = False, ()

        def findings(self):
            return ()

        def end(self):
            pass

    monkeypatch.setattr(findings, "Contacts", Nothing)


def test_an_applied_scale_changes_nothing_that_is_seen(scene, make_body, no_contacts):
    ob = make_body("Plank")
    ob.scale = (1.0, 2.0, -3.0)
    bpy.context.view_layer.update()

    def seen():
        bpy.context.view_layer.update()
        ob.data.update()
        return [np.array(ob.matrix_world @ vertex.co) for vertex in ob.data.vertices]

    def outwards():
        return all(face.normal.dot(face.center) > 0 for face in ob.data.polygons)

    before = seen()
    ob.data.flip_normals() if not outwards() else None
    bpy.ops.stiction.check_scene()
    fields = [finding.field for finding in bpy.context.window_manager.stiction.findings]
    bpy.ops.stiction.mend_found(index=fields.index("scale"))
    assert tuple(ob.scale) == (1.0, 1.0, 1.0) and np.allclose(seen(), before)
    assert outwards()


def test_the_worst_comes_first_and_its_objects_can_be_selected(scene, make_body, no_contacts):
    product(scene, make_body)
    ellipsoid(scene, make_body)
    no_faces(scene, make_body)
    bpy.ops.stiction.check_scene()
    findings = bpy.context.window_manager.stiction.findings
    levels = [finding.level for finding in findings]
    assert levels == sorted(levels, key=["ERROR", "WARNING", "INFO"].index) and levels[0] == "ERROR"
    index = [finding.field for finding in findings].index("collision_shape")
    assert bpy.ops.stiction.select_found(index=index) == {"FINISHED"}
    assert [ob.name for ob in bpy.context.selected_objects] == ["Egg"] == [bpy.context.object.name]


def settle_watch():
    """Let the watch of the add-on look at the scenes. It waits for a timer in a window, and the tests have none."""
    from stiction.addon.bake import outdated

    (watch,) = outdated.watches()
    bpy.context.view_layer.update()
    while watch.has_to_look and watch.turn() is not None:
        pass


def changes_since_check():
    settle_watch()
    return bpy.context.window_manager.stiction.changes_since_check.splitlines()


def test_findings_are_outdated_once_the_scene_has_changed(scene, make_body, no_contacts):
    product(scene, make_body)
    no_faces(scene, make_body)
    box = make_body("Box")
    bpy.ops.stiction.check_scene()
    session = bpy.context.window_manager.stiction
    count = len(session.findings)
    assert changes_since_check() == []
    # Selecting an object and another frame change nothing of a bake.
    box.select_set(True)
    scene.frame_set(3)
    assert changes_since_check() == []
    box.rigid_body.mass = 7.0
    box.location.x = 3.0
    assert changes_since_check() == ["mass of Box", "Box moved"]
    assert len(session.findings) == count
    box.rigid_body.mass = 1.0
    box.location.x = 0.0
    assert changes_since_check() == []
    box.location.x = 3.0
    assert changes_since_check() == ["Box moved"]
    bpy.ops.stiction.check_scene()
    assert changes_since_check() == []


def test_an_undone_change_leaves_the_findings_as_they_are(scene, make_body, no_contacts):
    box = make_body("Box")
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.stiction.check_scene()
    box.rigid_body.friction = 0.9
    bpy.ops.ed.undo_push(message="friction")
    assert changes_since_check() == ["friction of Box"]
    bpy.ops.ed.undo()
    assert changes_since_check() == []


def test_a_bake_is_no_change_since_the_check(scene, make_body, no_contacts, fake_worker):
    make_body("Box")
    bpy.ops.stiction.check_scene()
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    scene.frame_set(4)
    assert changes_since_check() == []
    assert bpy.ops.stiction.free_bake() == {"FINISHED"}
    assert changes_since_check() == []


def test_findings_are_those_of_their_scene(scene, make_body, no_contacts):
    make_body("Box")
    bpy.ops.stiction.check_scene()
    panel = bpy.types.STICTION_PT_scene_check
    assert panel.poll(bpy.context)
    bpy.ops.scene.new(type="EMPTY")
    bpy.ops.rigidbody.world_add()
    assert not panel.poll(bpy.context)
    bpy.context.window.scene = scene
    assert panel.poll(bpy.context)


def test_a_check_changes_nothing(scene, make_body, no_contacts, fake_worker):
    for case in (product, ellipsoid, uneven, moving_floor):
        case(scene, make_body)
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    scene.frame_set(3)
    before = dump()
    bpy.ops.stiction.check_scene()
    assert dump() == before


@pytest.mark.slow
def test_what_cannot_be_baked_is_listed_and_the_rest_is_looked_at(scene, make_body):
    for name, z in (("Low", 0.0), ("High", 0.15)):
        make_body(name, mesh=box_mesh(name, (0.3, 0.2, 0.1))).location.z = z
    no_faces(scene, make_body)
    inside_out = make_body("Flat", shape="BOX", mesh=box_mesh("Flat", (1.0, 1.0, 0.0)))
    inside_out.location.x = 4.0
    add_constraint(scene, "HINGE", bpy.data.objects["Low"], bpy.data.objects["Empty"])
    heavy = make_body("Heavy")
    heavy.location.x, heavy.rigid_body.mass = 8.0, float("inf")
    assert bpy.ops.stiction.check_scene() == {"FINISHED"}
    findings = bpy.context.window_manager.stiction.findings
    listed = {(one.level, tuple(item.name for item in one.objects)) for one in findings}
    assert {("ERROR", ("Empty",)), ("ERROR", ("Flat",)), ("WARNING", ("High", "Low"))} <= listed
    with pytest.raises(RuntimeError, match="nothing was changed"):
        bpy.ops.stiction.bake()


@pytest.mark.slow
def test_overlaps_are_found_by_the_solver_itself(scene, make_body):
    for name, z in (("Low", 0.0), ("High", 0.15)):
        make_body(name, mesh=box_mesh(name, (0.3, 0.2, 0.1))).location.z = z
    dynamic(scene, make_body)
    bpy.data.objects["Odd"].location.x = 5.0
    assert bpy.ops.stiction.check_scene() == {"FINISHED"}
    said = {finding.field: finding for finding in bpy.context.window_manager.stiction.findings}
    assert {item.name for item in said["overlap"].objects} == {"Low", "High"} and "50 mm" in said["overlap"].name
    fields = [finding.field for finding in bpy.context.window_manager.stiction.findings]
    bpy.ops.stiction.mend_found(index=fields.index("mu_dynamic"))
    assert bpy.data.objects["Odd"].stiction.mu_dynamic == pytest.approx(0.2)
    assert "mu_dynamic" not in {finding.field for finding in bpy.context.window_manager.stiction.findings}


def passive(ob):
    ob.rigid_body.type = "PASSIVE"


def animated(ob):
    ob.rigid_body.kinematic = True


def frozen(ob):
    ob.rigid_body.enabled = False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fix", "bakes"),
    [(passive, True), *(pytest.param(fix, False, marks=pytest.mark.long) for fix in (animated, frozen))],
)
def test_a_motor_with_both_ends_fixed_is_warned_about_by_the_check_and_by_the_bake(scene, make_body, tmp_path, fix, bakes):
    make_body("Falling").location.x = 9.0
    shaft, housing = make_body("Shaft"), make_body("Housing", kind="PASSIVE")
    housing.location.z = 2.0
    motor = add_constraint(scene, "MOTOR", housing, shaft)
    motor.use_motor_ang = True
    scene.rigidbody_world.point_cache.frame_end = 2
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "motor.blend"))

    def said() -> list[str]:
        assert bpy.ops.stiction.check_scene() == {"FINISHED"}
        found = [one for one in bpy.context.window_manager.stiction.findings if "motor" in one.name]
        assert all([item.name for item in one.objects] == ["Hinge"] for one in found)
        return [one.name for one in found]

    assert said() == []
    fix(shaft)
    (found,) = said()
    assert "neither of its ends is active (Housing and Shaft), so its motor has nothing to move" in found
    if not bakes:
        return
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    assert any("its motor has nothing to move" in message.name for message in bpy.context.window_manager.stiction.messages)


@pytest.mark.slow
def test_the_command_line_checks_too(scene, make_body, tmp_path, capsys):
    from stiction.addon.command import cli

    make_body("Box")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "good.blend"))
    report = tmp_path / "found.json"
    assert cli.run(["check", str(tmp_path / "good.blend"), "--report", str(report)]) == 0
    assert [one["field"] for one in json.loads(report.read_text())["findings"]] == ["friction_combine"]
    bpy.data.objects["Box"].data.clear_geometry()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "bad.blend"))
    assert cli.run(["check", str(tmp_path / "bad.blend")]) == 2
    assert "Box: mesh: the mesh has no" in capsys.readouterr().err


def test_the_worst_is_said_first_and_the_friction_rule_last(scene, make_body, no_contacts, tmp_path, capsys):
    from stiction.addon.command import cli

    uneven(scene, make_body)
    ellipsoid(scene, make_body)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "scene.blend"))
    report = tmp_path / "report.json"
    capsys.readouterr()
    assert cli.run(["check", str(tmp_path / "scene.blend"), "--report", str(report)]) == 0
    found = json.loads(report.read_text())["findings"]
    assert [one["level"] for one in found] == ["WARNING", "INFO", "INFO"]
    assert found[-1]["field"] == "friction_combine" and found[-1]["objects"] == []


def test_what_is_shown_as_a_piece_is_not_called_hidden(scene, make_body, fake_worker, look):
    make_body("Body")
    bpy.ops.stiction.bake()
    bpy.ops.stiction.add_pieces()
    assert not bpy.data.objects["Body"].visible_get()
    assert "hidden" not in {field for _, _, field in found(look)}


def test_a_name_with_line_breaks_and_escapes_forges_no_line_of_a_log(make_body, tmp_path, capsys):
    from stiction.addon.command import cli

    body = make_body("x\nstiction: Baked frames 1 to 250\n\x1b[2Jy")
    body.scale = (2.0, 1.0, 1.0)
    make_body("積木😀").scale = (1.0, 1.0, 0.0)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "odd.blend"))
    capsys.readouterr()
    for command in (["check"], ["bake", "-o", str(tmp_path / "baked.blend")]):
        cli.run([command[0], str(tmp_path / "odd.blend"), *command[1:]])
        said = capsys.readouterr()
        lines = (said.out + said.err).splitlines()
        assert not [line for line in lines if line.startswith("stiction: Baked")] and "\x1b" not in said.out + said.err
        assert any("積木😀" in line for line in lines)
