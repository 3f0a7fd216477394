# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes out to another tool and comes in again is the scene that it was, in all that both know."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

# Boxes, a compound, meshes, spheres, and each kind of joint
DEMOS = ["slope", "four_ball_solid", "jamming_tube", "newtons_cradle", "hanging_chain", "drawbridge"]
MORE = [
    "card_house",
    "arch",
    "tower",
    "wall",
    "dominoes",
    "dropped_cube",
    "jamming_rod",
    "chain_of_rings",
    "rope_bridge",
    "bombarded_card_house",
    "catenary_arch",
    "log_house",
    "rods_of_1991",
    "bar_on_four_feet",
]
ALL = [(name, {}) for name in DEMOS] + [("breakable_wall", {"columns": 3, "rows": 2})]


def out_and_in(file, **options):
    """The open scene's SceneSpec, and that of the file that it was written to, in a new file of Blender."""
    from stiction.addon.interchange.build import build
    from stiction.addon.interchange.describe import describe
    from stiction.addon.read.extract import extract
    from stiction.solver_core.interchange.described import Found
    from stiction.solver_core.interchange.files import read, write

    described = describe(bpy.context, Found())
    write(described, file, Found(), **options)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    build(bpy.context, read(file, Found()), "Imported", Found())
    bpy.context.view_layer.update()
    return described.spec, extract(bpy.context).spec


def compare(before, after, *, is_gltf=False):
    """is_gltf: that it has no densities, no damping, no sleep and no joints that break."""
    from stiction.solver_core.geometry.solids import shape_mass_properties

    assert {body.name for body in after.bodies} == {body.name for body in before.bodies}
    assert (after.frame_start, after.frame_end) == (before.frame_start, before.frame_end)
    assert after.fps / after.time_scale == pytest.approx(before.fps / before.time_scale, rel=1e-6)
    assert np.allclose(after.gravity, before.gravity, atol=1e-6)
    assert after.friction_combine is before.friction_combine
    assert {frozenset(pair) for pair in after.excluded} == {frozenset(pair) for pair in before.excluded}
    old = {body.name: body for body in before.bodies}
    for body in after.bodies:
        was = old[body.name]
        assert (body.kind, body.shape.kind) == (was.kind, was.shape.kind), body.name
        assert body.starts_asleep == (was.starts_asleep and not is_gltf)
        assert np.allclose(body.position, was.position, atol=1e-6)
        assert abs(body.orientation @ was.orientation) == pytest.approx(1.0, abs=1e-6)
        assert np.allclose(body.velocity, was.velocity, atol=1e-5)
        assert np.allclose(body.angular_velocity, was.angular_velocity, atol=1e-5)
        assert body.linear_damping == pytest.approx(0.0 if is_gltf else was.linear_damping, abs=1e-6)
        surfaces = [(m.mu_static, m.mu_dynamic, m.restitution) for m in (body.material, was.material)]
        assert surfaces[0] == pytest.approx(surfaces[1], abs=1e-6)
        assert is_gltf or [body.mass is None, body.density is None] == [was.mass is None, was.density is None]
        if body.kind.value == "active":
            now = shape_mass_properties(body.shape, mass=body.mass, density=body.density)
            then = shape_mass_properties(was.shape, mass=was.mass, density=was.density)
            assert now.mass == pytest.approx(then.mass, rel=1e-5)
            assert np.allclose(now.inertia, then.inertia, rtol=1e-4, atol=1e-5 * np.abs(then.inertia).max())
    joints = {joint.name: joint for joint in before.joints}
    assert {joint.name for joint in after.joints} == set(joints)
    for joint in after.joints:
        was = joints[joint.name]
        assert (joint.body_a, joint.body_b, joint.enabled) == (was.body_a, was.body_b, was.enabled)
        assert np.allclose(joint.position, was.position, atol=1e-6)
        assert abs(joint.orientation @ was.orientation) == pytest.approx(1.0, abs=1e-6)
        for now, then in zip((*joint.linear, *joint.angular), (*was.linear, *was.angular), strict=True):
            for field in ("lower", "upper", "stiffness", "damping", "rest", "motor_velocity", "motor_force"):
                assert getattr(now, field) == pytest.approx(getattr(then, field), rel=1e-5, abs=1e-6), (joint.name, field)
        assert joint.breaking_impulse == pytest.approx(np.inf if is_gltf else was.breaking_impulse, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["usdc", "glb"])
@pytest.mark.parametrize(("name", "properties"), ALL + [pytest.param(name, {}, marks=pytest.mark.long) for name in MORE])
def test_a_demo_comes_back_as_it_went(scene, tmp_path, name, properties, ending):
    assert getattr(bpy.ops.stiction, f"add_{name}")(**properties) == {"FINISHED"}
    compare(*out_and_in(tmp_path / f"demo.{ending}"), is_gltf=ending == "glb")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ending", "options"),
    [
        ("card_house", "usda", {"instances": True}),
        ("drawbridge", "usda", {}),
        ("drawbridge", "gltf", {}),
        *(pytest.param("card_house", ending, {}, marks=pytest.mark.long) for ending in ("usda", "gltf")),
        pytest.param("drawbridge", "usda", {"instances": True}, marks=pytest.mark.long),
    ],
)
def test_as_text_and_as_instances_it_is_the_same(scene, tmp_path, name, ending, options):
    assert getattr(bpy.ops.stiction, f"add_{name}")() == {"FINISHED"}
    compare(*out_and_in(tmp_path / f"demo.{ending}", **options), is_gltf=ending == "gltf")
