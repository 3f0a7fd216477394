# SPDX-License-Identifier: GPL-3.0-or-later
"""What a file of another tool becomes in Blender: objects whose bodies are those of the file, or nothing at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import bpy
import numpy as np
import pytest


@pytest.fixture
def parts(extension):
    from stiction.solver_core.interchange.described import Described, Found, Look
    from stiction.solver_core.interchange.files import write
    from stiction.solver_core.scene import parts
    from stiction.solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, SceneSpec, ShapeKind, ShapeSpec

    shapes_by_name = {
        "box aside": ShapeSpec(ShapeKind.HULL, parts.box_shape((1, 2, 3)).vertices + np.array([5, 0, 0]), parts.BOX_TRIANGLES),
        "ball aside": ShapeSpec(ShapeKind.HULL, np.array([[0.5, 0.0, 0.0]]), margin=0.3),
        "capsule": ShapeSpec(ShapeKind.HULL, np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]), margin=0.25),
        "lying capsule": ShapeSpec(ShapeKind.HULL, np.array([[-1.0, 0.0, 0.0], [1.0, 0.5, 0.0]]), margin=0.25),
        "cylinder": parts.cylinder_shape(0.5, 2.0),
        "lying cylinder": ShapeSpec(ShapeKind.CYLINDER, np.array([[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]]), radius=0.2),
        "cone": parts.cone_shape(0.5, 2.0),
        "hanging cone": ShapeSpec(ShapeKind.CONE, np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]), radius=0.2),
        "wedge": ShapeSpec(ShapeKind.HULL, np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1.0]])),
        "hammer": ShapeSpec(
            ShapeKind.COMPOUND,
            children=(
                ChildSpec(parts.box_shape((0.1, 0.3, 0.1)), np.array([0, 0, 0.5]), parts.axis_angle((0, 0, 1), 0.4)),
                ChildSpec(parts.cylinder_shape(0.05, 1.0), np.zeros(3), parts.axis_angle((1, 0, 0), 0.2)),
            ),
        ),
    }

    class Parts:
        shapes = shapes_by_name

        @staticmethod
        def scene(shape, **more):
            body = BodySpec("Body", BodyKind.ACTIVE, shape, position=np.array([1.0, 2.0, 3.0]), mass=2.0, **more)
            return SceneSpec(bodies=(body, parts.ground(parts.pair_material(0.5))))

        @staticmethod
        def file(spec, path: Path, look: Look | None = None) -> Path:
            write(Described(spec, looks={} if look is None else {"Body": look}), path, Found())
            return path

    return Parts


def read():
    from stiction.addon.read.extract import extract

    bpy.context.view_layer.update()
    return extract(bpy.context).spec


def moments(body):
    from stiction.solver_core.geometry.solids import shape_mass_properties

    whole = shape_mass_properties(body.shape, mass=body.mass)
    return np.concatenate([[whole.mass], whole.center_of_mass, whole.inertia.ravel()])


def test_each_shape_is_the_same_body_in_blender(scene, parts, tmp_path):
    from stiction.solver_core.scene.spec import SceneSpec

    (body, ground), wanted = parts.scene(parts.shapes["wedge"]).bodies, {}
    for number, (name, shape) in enumerate(parts.shapes.items()):
        one = replace(body, name=name.replace(" ", "_"), shape=shape, position=np.array([10.0 * number, 2.0, 3.0]))
        wanted[one.name] = one
    file = parts.file(SceneSpec(bodies=(*wanted.values(), ground)), tmp_path / "a.usda")
    assert bpy.ops.stiction.import_usd(filepath=str(file)) == {"FINISHED"}
    found = {one.name: one for one in read().bodies}
    assert found.keys() == {*wanted, ground.name}
    for name, one in wanted.items():
        assert found[name].position == pytest.approx(one.position)
        assert np.allclose(moments(found[name]), moments(one), rtol=1e-4, atol=1e-5), name


def test_a_look_that_is_not_the_shape_shows_it_and_does_not_collide(scene, parts, tmp_path):
    from stiction.solver_core.interchange.described import Look

    look = Look(np.array([[0, 0, 0], [9, 0, 0], [0, 9.0, 0]]), np.array([3]), np.array([0, 1, 2]), (1.0, 0.0, 0.0))
    spec = parts.scene(parts.shapes["cylinder"])
    bpy.ops.stiction.import_usd(filepath=str(parts.file(spec, tmp_path / "a.usda", look)))
    ob = bpy.data.objects["Body"]
    assert len(ob.data.polygons) == 1
    assert tuple(ob.active_material.diffuse_color) == pytest.approx((1, 0, 0, 1))
    assert [(child.display_type, child.hide_render) for child in ob.children] == [("WIRE", True)]
    body = next(one for one in read().bodies if one.name == "Body")
    assert np.allclose(moments(body), moments(spec.bodies[0]), rtol=1e-4, atol=1e-5)


def test_an_animated_body_follows_the_path_of_the_file(scene, parts, tmp_path):
    from stiction.solver_core.scene.parts import axis_angle
    from stiction.solver_core.scene.spec import BodyKind, BodySpec, SceneSpec

    turns = np.array([axis_angle((0, 0, 1), 0.8 * frame) for frame in range(10)])
    path = np.column_stack([np.arange(10.0), np.zeros((10, 2)), turns])
    mover = BodySpec("Mover", BodyKind.ANIMATED, parts.shapes["cone"], position=path[0, :3], orientation=path[0, 3:], path=path)
    bodies = (*parts.scene(parts.shapes["capsule"]).bodies, mover)
    file = parts.file(SceneSpec(bodies=bodies, frame_start=1, frame_end=10), tmp_path / "a.usdc")
    bpy.ops.stiction.import_usd(filepath=str(file))
    found = next(one for one in read().bodies if one.name == "Mover")
    assert found.kind is BodyKind.ANIMATED
    assert np.allclose(found.path[:, :3], path[:, :3], atol=1e-5)
    assert np.abs(np.einsum("ij,ij->i", found.path[:, 3:], turns)) == pytest.approx(np.ones(10), abs=1e-6)


def test_what_blender_has_no_place_for_is_said(scene, parts, tmp_path, capfd):
    spec = parts.scene(parts.shapes["cone"], inertia=np.diag([1.0, 1.0, 1.5]))
    bpy.ops.stiction.import_usd(filepath=str(parts.file(spec, tmp_path / "a.usda")))
    said = capfd.readouterr().out
    assert "Body: inertia" not in said
    assert "Ground: Plane" in said


@pytest.mark.parametrize("is_link", [False, True])
def test_mass_properties_are_those_of_the_file(scene, parts, tmp_path, is_link):
    from stiction.solver_core.geometry.body_mass import body_mass_properties
    from stiction.solver_core.scene.parts import axis_angle
    from stiction.solver_core.scene.spec import ShapeKind, ShapeSpec

    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    inertia = quarter @ np.array([[0.03, 0.004, 0.0], [0.004, 0.04, 0.0], [0.0, 0.0, 0.05]]) @ quarter.T
    shape = ShapeSpec(ShapeKind.NONE) if is_link else parts.shapes["wedge"]
    given = {"center_of_mass": np.array([0.1, 0.2, -0.3]), "inertia": inertia, "orientation": axis_angle((0, 0, 1), 0.5)}
    spec = parts.scene(shape, **given)
    bpy.ops.stiction.import_usd(filepath=str(parts.file(spec, tmp_path / "a.usda")))
    body = next(one for one in read().bodies if one.name == "Body")
    now, then = body_mass_properties(body), body_mass_properties(spec.bodies[0])
    assert (body.shape.kind is ShapeKind.NONE) == is_link
    assert now.mass == pytest.approx(then.mass)
    assert now.center_of_mass == pytest.approx(then.center_of_mass, abs=1e-6)
    assert np.allclose(now.inertia, then.inertia, atol=1e-7)


def names_in_file():
    kinds = ("objects", "meshes", "collections", "materials", "actions")
    return {kind: sorted(one.name for one in getattr(bpy.data, kind)) for kind in kinds}


@pytest.mark.parametrize("has_world", [True, False])
def test_an_import_that_fails_leaves_the_file_as_it_was(scene, parts, tmp_path, monkeypatch, has_world):
    from stiction.addon.interchange import build

    if not has_world:
        bpy.ops.rigidbody.world_remove()
    file = parts.file(parts.scene(parts.shapes["hammer"]), tmp_path / "a.usda")
    selected, active = two_objects()
    before, settings = names_in_file(), settings_of(scene)
    # as late as can be
    monkeypatch.setattr(build, "set_scene", lambda *_: (_ for _ in ()).throw(OSError("late")))
    with pytest.raises(RuntimeError, match="Nothing was imported"):
        bpy.ops.stiction.import_usd(filepath=str(file))
    assert names_in_file() == before
    assert settings_of(scene) == settings
    assert (scene.rigidbody_world is not None) == has_world
    assert bpy.context.selected_objects == [selected]
    assert bpy.context.view_layer.objects.active == active


def two_objects():
    """An object that is selected, and another one that is active."""
    selected, active = (bpy.data.objects.new(name, None) for name in ("Selected", "Active"))
    for ob in (selected, active):
        bpy.context.scene.collection.objects.link(ob)
    selected.select_set(True)
    active.select_set(False)
    bpy.context.view_layer.objects.active = active
    return selected, active


def settings_of(scene):
    """The settings of a scene that an import changes."""
    world = scene.rigidbody_world
    of_world = (world.time_scale, world.point_cache.frame_start, world.point_cache.frame_end) if world is not None else ()
    render, rule = scene.render, scene.stiction.friction_combine
    return (
        tuple(scene.gravity),
        scene.use_gravity,
        scene.frame_start,
        scene.frame_end,
        render.fps,
        render.fps_base,
        rule,
        of_world,
    )


@pytest.mark.parametrize("frames", [(1, 5), (100, 200)])
def test_a_setting_that_blender_refuses_changes_no_other(scene, parts, frames):
    from stiction.addon.interchange.build import set_scene

    settings = settings_of(scene)
    spec = replace(parts.scene(parts.shapes["cone"]), gravity=np.array([0.0, 0.0, -1.0]))
    spec = replace(spec, frame_start=frames[0], frame_end=frames[1])
    with pytest.raises(ValueError, match="fps"):
        set_scene(scene, spec, (2**40, 1.0))
    assert settings_of(scene) == settings


@pytest.mark.parametrize("fps", [1e-7, 1e10])
def test_a_frame_rate_that_blender_does_not_have_is_refused(scene, parts, tmp_path, fps):
    file = parts.file(replace(parts.scene(parts.shapes["cone"]), fps=fps), tmp_path / "a.gltf")
    with pytest.raises(RuntimeError, match=r"Nothing was imported: .*frames per second is outside of Blender's range"):
        bpy.ops.stiction.import_gltf(filepath=str(file))
    assert bpy.ops.stiction.import_gltf(filepath=str(file), with_settings=False) == {"FINISHED"}


@pytest.mark.parametrize("fps", [0.5, 23.976, 1e5])
def test_a_frame_rate_is_that_of_the_file(scene, parts, tmp_path, fps):
    file = parts.file(replace(parts.scene(parts.shapes["cone"]), fps=fps), tmp_path / "a.gltf")
    bpy.ops.stiction.import_gltf(filepath=str(file))
    assert scene.render.fps / scene.render.fps_base == pytest.approx(fps)


def test_the_bodies_of_an_import_are_selected(scene, parts, tmp_path):
    two_objects()
    bpy.ops.stiction.import_usd(filepath=str(parts.file(parts.scene(parts.shapes["cone"]), tmp_path / "a.usda")))
    names = {ob.name for ob in bpy.context.selected_objects}
    assert names == {"Body", "Ground"}
    assert bpy.context.view_layer.objects.active.name in names


def test_a_damaged_file_imports_nothing_and_is_named(scene, parts, tmp_path):
    file = parts.file(parts.scene(parts.shapes["cone"]), tmp_path / "a.usdc")
    file.write_bytes(file.read_bytes()[:300])
    before = names_in_file()
    with pytest.raises(RuntimeError, match=r"Nothing was imported: .*a\.usdc.*export it again"):
        bpy.ops.stiction.import_usd(filepath=str(file))
    assert names_in_file() == before


def test_the_scene_keeps_its_settings_if_asked(scene, parts, tmp_path):
    file = parts.file(parts.scene(parts.shapes["cone"]), tmp_path / "a.usda")
    bpy.ops.stiction.import_usd(filepath=str(file), with_settings=False)
    assert scene.rigidbody_world.point_cache.frame_end == 5
    bpy.ops.stiction.import_usd(filepath=str(file))
    assert scene.rigidbody_world.point_cache.frame_end == 250


def test_a_hinge_with_a_motor_is_two_constraints(extension):
    from stiction.addon.interchange.joints import for_constraints
    from stiction.solver_core.interchange.described import Found
    from stiction.solver_core.interchange.frames import matrix_of
    from stiction.solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec

    driven = AxisSpec(-1.0, 1.0, motor_velocity=2.0, motor_force=3.0)
    joint = JointSpec("Wheel", "A", "B", angular=(LOCKED, LOCKED, driven))
    hinge, motor = for_constraints(joint, Found())
    assert hinge.angular == (LOCKED, LOCKED, AxisSpec(-1.0, 1.0))
    assert motor.angular == (AxisSpec(motor_velocity=2.0, motor_force=3.0), FREE_AXIS, FREE_AXIS)
    assert matrix_of(motor.orientation)[:, 0] == pytest.approx([0, 0, 1])
