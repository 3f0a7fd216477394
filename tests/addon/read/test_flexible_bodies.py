# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that bend: what is read of them, and what is refused by name."""

from __future__ import annotations

import re

import bpy
import pytest

from ..bakes import bake
from ..objects import body_named, outward_volume, problems_of, read
from ..planks import plank_mesh


def test_what_the_panel_says_is_what_is_read(make_plank):
    ob = make_plank()
    ob.stiction.poisson, ob.stiction.damping_ratio = 0.25, 0.1
    body = body_named(read(), "Plank")
    assert body.shape.kind.name == "MESH" and len(body.shape.vertices) == 28
    spec = body.deformable
    assert (spec.young, spec.modes, spec.resolution) == (1e7, 3, 20)
    assert (spec.poisson, spec.damping_ratio) == pytest.approx((0.25, 0.1), rel=1e-6)
    assert spec.kind.value == "linear"
    ob.stiction.use_large_bends = True
    assert body_named(read(), "Plank").deformable.kind.value == "stvk"


def test_a_body_that_is_not_flexible_is_read_as_ever(make_body):
    make_body("Box", shape="MESH")
    body = body_named(read(), "Box")
    assert body.deformable is None and body.shape.kind.name == "HULL"


def armature(ob):
    ob.modifiers.new("Wave", "WAVE")


def doubled(ob):
    ob.rigid_body.mesh_source = "FINAL"
    ob.modifiers.new("Fine", "SUBSURF")


def absolute(ob):
    ob.shape_key_add(name="Basis")
    ob.data.shape_keys.use_relative = False


def solo(ob):
    ob.shape_key_add(name="Basis")
    ob.show_only_shape_key = True


def opened(ob):
    mesh = bpy.data.meshes.new("Open")
    full = plank_mesh()
    mesh.from_pydata([v.co[:] for v in full.vertices], [], [p.vertices[:] for p in list(full.polygons)[1:]])
    ob.data = mesh


def in_two(ob):
    mesh, one = bpy.data.meshes.new("Two"), plank_mesh()
    own = [v.co[:] for v in one.vertices]
    faces = [p.vertices[:] for p in one.polygons]
    other = [(x, y, z + 3.0) for x, y, z in own], [[i + len(own) for i in face] for face in faces]
    mesh.from_pydata(own + other[0], [], faces + other[1])
    ob.data = mesh


def flattened(ob, share=0.0):
    for vertex in ob.data.vertices:
        vertex.co.z *= share


def thrown(ob):
    ob.vertex_groups.new(name="Root").add([0, 1, 2, 3], 1.0, "REPLACE")
    ob.stiction.pin_group, ob.stiction.initial_motion = "Root", "VALUES"
    ob.stiction.velocity = 1.0, 0.0, 0.0


REFUSED = {
    "modifiers": (armature, "Wave moves vertices.*choose the source Base"),
    "modifiers ": (doubled, r"\(Fine\) make \d+ vertices of 28.*choose the source Base or Deform"),
    "deformable": (absolute, "absolute.*enable Relative"),
    "deformable ": (solo, "disable Solo"),
    "poisson": (lambda ob: setattr(ob.stiction, "poisson", 0.5), "0.45"),
    "young": (lambda ob: setattr(ob.stiction, "young", 0.0), "rubber has"),
    "modes": (lambda ob: setattr(ob.stiction, "modes", 100), "choose 1 to 60"),
    "resolution": (lambda ob: setattr(ob.stiction, "resolution", 3), "thin"),
    "resolution ": (lambda ob: flattened(ob, 1e-4), "choose 0"),
    "collision_shape": (opened, "open"),
    "collision_shape ": (flattened, "give it a thickness"),
    "shape ": (in_two, "2 parts that hang on each other by nothing.*join them"),
    "velocity": (thrown, "pinned vertices do not move; start the body at rest"),
    "shape": (lambda ob: setattr(ob.rigid_body, "collision_shape", "BOX"), "choose the shape Mesh"),
    "deformable  ": (lambda ob: setattr(ob.rigid_body, "type", "PASSIVE"), "only an active body bends"),
    "use_deform": (lambda ob: setattr(ob.rigid_body, "use_deform", True), "disable Deforming"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_bend_is_refused_by_name_with_what_to_do(make_plank, make_body, case):
    make_body("Box").location.z = 5.0
    ob = make_plank()
    spoil, said = REFUSED[case]
    spoil(ob)
    found = problems_of(read)
    assert [name for name, _ in found] == ["Plank"], found
    ((_, field), message) = next(iter(found.items()))
    assert field == case.strip() and re.search(said, message), (field, message)


def test_a_part_of_a_compound_is_refused_and_a_jointed_body_is_not(scene, make_plank, make_body):
    whole = make_body("Whole", shape="COMPOUND")
    part = make_plank("Part")
    part.parent = whole
    assert "cannot bend; disable Flexible" in problems_of(read)["Part", "deformable"]
    part.parent = None
    whole.rigid_body.collision_shape = "BOX"
    joint = bpy.data.objects.new("Hinge", None)
    scene.rigidbody_world.constraints = bpy.data.collections.new("Constraints")
    scene.rigidbody_world.constraints.objects.link(joint)
    joint.rigid_body_constraint.object1, joint.rigid_body_constraint.object2 = whole, part
    assert body_named(read(), "Part").deformable is not None


def test_an_inside_out_mesh_bends_as_the_same_the_right_way_round(make_plank):
    ob = make_plank()
    wanted = body_named(read(), "Plank").shape
    ob.data.flip_normals()

    assert (
        outward_volume(body_named(read(), "Plank").shape) == pytest.approx(outward_volume(wanted))
        and outward_volume(wanted) > 0
    )


def test_a_pin_group_is_read_and_a_missing_or_an_empty_one_refused_by_name(make_plank, fake_worker):
    from stiction.addon.bake.outdated import changes

    ob = make_plank()
    group = ob.vertex_groups.new(name="Root")
    group.add([0, 1, 2, 3], 1.0, "REPLACE")
    group.add([4, 5], 0.2, "REPLACE")
    ob.stiction.pin_group = "Root"
    assert body_named(read(), "Plank").deformable.pinned.tolist() == [0, 1, 2, 3]
    bake()
    assert changes(bpy.context.scene) == []
    group.add([4, 5], 1.0, "REPLACE")
    assert changes(bpy.context.scene) == ["flexible of Plank"]
    group.remove(range(28))
    assert "'Root' is empty" in problems_of(read)["Plank", "pin_group"]
    ob.stiction.pin_group = "Rood"
    assert "no vertex group 'Rood'" in problems_of(read)["Plank", "pin_group"]


def test_an_override_is_refused_by_name(scene, make_plank, make_body, tmp_path):
    source = make_plank("Source")
    bpy.data.libraries.write(str(tmp_path / "library.blend"), {source})
    bpy.data.objects.remove(source)
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, here):
        here.objects = ["Source"]
    ob = here.objects[0].override_create()
    scene.collection.objects.link(ob)
    scene.rigidbody_world.collection.objects.link(ob)
    make_body("Box").location.z = 3.0
    assert any(field == "deformable" and "library override" in said for (_, field), said in problems_of(read).items())
