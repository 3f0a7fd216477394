# SPDX-License-Identifier: GPL-3.0-or-later
"""Check Scene says what a bake would, before it; what its buttons mend is not found again; and it changes nothing itself."""

from __future__ import annotations

import json

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


def switched_off(scene, make_body):
    scene.rigidbody_world.enabled = False


def no_folder(scene, make_body):
    scene.stiction.cache_directory = "/dev/null/cache"


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
}


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
@pytest.mark.parametrize("fix", [passive, animated, frozen])
def test_a_motor_with_both_ends_fixed_is_warned_about_by_the_check_and_by_the_bake(scene, make_body, tmp_path, fix):
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
