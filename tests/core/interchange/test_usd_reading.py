# SPDX-License-Identifier: GPL-3.0-or-later
"""A stage that another tool wrote is the scene that it describes: units, axes, hierarchies, instances, surfaces and masses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from solver_core.geometry.body_mass import body_mass_properties
from solver_core.geometry.solids import shape_mass_properties
from solver_core.interchange.filters import collide, masks_of
from solver_core.interchange.frames import matrix_of
from solver_core.scene.spec import BodyKind, FrictionCombine, ShapeKind

from .stages import body_named, corners, cube, new_stage, saved


def bind(prim, stage, path, *, static=0.0, dynamic=0.0, restitution=0.0, density=0.0):
    material = UsdShade.Material.Define(stage, path)
    surface = UsdPhysics.MaterialAPI.Apply(material.GetPrim())
    surface.CreateStaticFrictionAttr(static)
    surface.CreateDynamicFrictionAttr(dynamic)
    surface.CreateRestitutionAttr(restitution)
    surface.CreateDensityAttr(density)
    UsdShade.MaterialBindingAPI.Apply(prim).Bind(material, UsdShade.Tokens.weakerThanDescendants, "physics")


def test_centimetres_with_y_up_become_metres_with_z_up(tmp_path):
    stage = new_stage(tmp_path / "a.usda", up="Y", metres=0.01)
    cube(stage, "/World/Box", (20, 40, 60), (100, 200, 300), mass=2.0)
    scene, _ = saved(stage)
    box = body_named(scene, "Box")
    low, high = corners(box).min(axis=0), corners(box).max(axis=0)
    assert (low + high) / 2 == pytest.approx([1.0, -3.0, 2.0])
    assert high - low == pytest.approx([0.2, 0.6, 0.4])
    assert scene.spec.gravity == pytest.approx([0, 0, -9.81])
    assert box.mass == 2.0


def test_gravity_in_units_of_the_stage(tmp_path):
    stage = new_stage(tmp_path / "a.usda", up="Y", metres=0.01)
    cube(stage, "/World/Box", mass=1.0)
    physics = UsdPhysics.Scene(stage.GetPrimAtPath("/World/Physics"))
    physics.CreateGravityDirectionAttr(Gf.Vec3f(1, 0, 0))
    physics.CreateGravityMagnitudeAttr(162.0)
    assert saved(stage)[0].spec.gravity == pytest.approx([1.62, 0, 0])


def test_nested_transforms_scale_the_shape_and_turn_the_body(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    group = UsdGeom.Xform.Define(stage, "/World/Group")
    group.AddTranslateOp().Set(Gf.Vec3d(0, 0, 5))
    group.AddRotateZOp().Set(90.0)
    group.AddScaleOp().Set(Gf.Vec3f(2, 2, 2))
    prim = cube(stage, "/World/Group/Box", (1, 0.5, 0.25), (3, 0, 0), mass=1.0)
    UsdPhysics.RigidBodyAPI(prim).CreateVelocityAttr(Gf.Vec3f(1, 0, 0))
    UsdPhysics.RigidBodyAPI(prim).CreateAngularVelocityAttr(Gf.Vec3f(180, 0, 0))
    box = body_named(saved(stage)[0], "Box")
    assert box.position == pytest.approx([0, 6, 5])
    assert np.ptp(corners(box), axis=0) == pytest.approx([1.0, 2.0, 0.5])
    # both are in the axes of the body
    assert box.velocity == pytest.approx([0, 1, 0])
    assert box.angular_velocity == pytest.approx([0, math.pi, 0], abs=1e-6)


def test_a_body_of_several_colliders_is_a_compound_and_its_masses_add_up(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    body = UsdGeom.Xform.Define(stage, "/World/Hammer")
    UsdPhysics.RigidBodyAPI.Apply(body.GetPrim())
    for name, size, at, mass in (("Head", (0.1, 0.3, 0.1), (0, 0, 0.5), 2.0), ("Shaft", (0.04, 0.04, 1.0), (0, 0, 0), 0.5)):
        part = cube(stage, f"/World/Hammer/{name}", size, at)
        UsdPhysics.MassAPI.Apply(part).CreateMassAttr(mass)
    scene, found = saved(stage)
    hammer = body_named(scene, "Hammer")
    assert hammer.shape.kind is ShapeKind.COMPOUND
    assert [child.position.tolist() for child in hammer.shape.children] == [[0, 0, 0.5], [0, 0, 0]]
    assert hammer.mass == 2.5
    assert "density of a body is uniform" in " ".join(one.message for one in found.warnings)


def test_instances_of_a_prototype_are_bodies_of_their_own(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    stage.CreateClassPrim("/Brick")
    UsdGeom.Xform.Define(stage, "/Brick/Body")
    UsdPhysics.RigidBodyAPI.Apply(stage.GetPrimAtPath("/Brick/Body"))
    cube(stage, "/Brick/Body/Shape", (0.2, 0.1, 0.05))
    for number in range(3):
        xform = UsdGeom.Xform.Define(stage, f"/World/Brick_{number}")
        xform.AddTranslateOp().Set(Gf.Vec3d(number, 0, 0))
        xform.GetPrim().GetReferences().AddInternalReference("/Brick")
        xform.GetPrim().SetInstanceable(True)
    scene, _ = saved(stage)
    assert [body.position[0] for body in scene.spec.bodies] == [0, 1, 2]
    assert len({body.name for body in scene.spec.bodies}) == 3
    assert {body.kind for body in scene.spec.bodies} == {BodyKind.ACTIVE}


def test_surfaces_are_inherited_and_combined_as_the_tools_of_the_schema_do(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    cube(stage, "/World/A", mass=1.0)
    cube(stage, "/World/B", (1, 1, 1), (3, 0, 0), mass=1.0)
    bind(stage.GetPrimAtPath("/World"), stage, "/Looks/Wood", static=0.6, dynamic=0.4, restitution=0.2)
    bind(stage.GetPrimAtPath("/World/B"), stage, "/Looks/Ice", static=0.1, dynamic=0.05)
    scene, _ = saved(stage)
    wood, ice = (body_named(scene, name).material for name in "AB")
    assert (wood.mu_static, wood.mu_dynamic, wood.restitution) == pytest.approx((0.6, 0.4, 0.2))
    assert (ice.mu_static, ice.mu_dynamic, ice.name) == (pytest.approx(0.1), pytest.approx(0.05), "Ice")
    assert scene.spec.friction_combine is FrictionCombine.AVERAGE


@pytest.mark.parametrize(("own", "material", "expected"), [(0.0, 0.0, 1000.0), (0.0, 700.0, 700.0), (2700.0, 700.0, 2700.0)])
def test_density_has_the_precedence_of_the_schema(tmp_path, own, material, expected):
    stage = new_stage(tmp_path / "a.usda", metres=0.01)
    prim = cube(stage, "/World/A", (10, 10, 10))
    UsdPhysics.RigidBodyAPI.Apply(prim)
    UsdPhysics.MassAPI.Apply(prim).CreateDensityAttr(own * 1e-6)
    bind(prim, stage, "/Looks/Stuff", density=material * 1e-6)
    body = body_named(saved(stage)[0], "A")
    assert body.density == pytest.approx(expected)
    assert shape_mass_properties(body.shape, density=body.density).mass == pytest.approx(expected * 1e-3)


def test_an_inertia_that_is_given_counts(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    prim = cube(stage, "/World/A", mass=2.0)
    mass = UsdPhysics.MassAPI(prim)
    mass.CreateDiagonalInertiaAttr(Gf.Vec3f(1, 2, 3))
    half = math.sqrt(0.5)
    mass.CreatePrincipalAxesAttr(Gf.Quatf(half, 0, 0, half))
    assert np.diag(body_named(saved(stage)[0], "A").inertia) == pytest.approx([2, 1, 3])


def test_a_center_of_mass_is_in_the_scaled_space_of_the_prim(tmp_path):
    stage = new_stage(tmp_path / "a.usda", up="Y", metres=0.01)
    prim = cube(stage, "/World/A", (10, 20, 30), mass=2.0)
    UsdPhysics.MassAPI(prim).CreateCenterOfMassAttr(Gf.Vec3f(1, 2, 3))
    body = body_named(saved(stage)[0], "A")
    # 10, 40 and 90 cm along x, y and z of the stage, whose y is up
    assert matrix_of(body.orientation) @ body.center_of_mass == pytest.approx([0.1, -0.9, 0.4])
    arm = np.array([0.1, 0.9, 0.4])
    whole = body_mass_properties(body).inertia - shape_mass_properties(body.shape, mass=2.0).inertia
    assert np.trace(whole) == pytest.approx(4.0 * arm @ arm)


def test_a_body_without_a_collider_is_a_link(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    for name in ("Link", "Bare"):
        UsdPhysics.RigidBodyAPI.Apply(UsdGeom.Xform.Define(stage, f"/World/{name}").GetPrim())
    own = UsdPhysics.MassAPI.Apply(stage.GetPrimAtPath("/World/Link"))
    own.CreateMassAttr(3.0)
    own.CreateDiagonalInertiaAttr(Gf.Vec3f(1, 2, 2.5))
    own.CreateCenterOfMassAttr(Gf.Vec3f(0, 0, 0.5))
    scene, found = saved(stage)
    link, bare = body_named(scene, "Link"), body_named(scene, "Bare")
    assert (link.shape.kind, link.mass, link.center_of_mass.tolist()) == (ShapeKind.NONE, 3.0, [0.0, 0.0, 0.5])
    assert np.allclose(link.inertia, np.diag([1, 2, 2.5]))
    # as OpenUSD has it: a ball of 0.1 m
    assert bare.mass == 1.0
    assert np.allclose(bare.inertia, 0.004 * np.eye(3))
    assert [(one.objects[0], one.field) for one in found.warnings] == [
        ("/World/Bare", "mass"),
        ("/World/Bare", "diagonalInertia"),
    ]


@pytest.mark.parametrize("axis", "XYZ")
def test_round_shapes_lie_along_their_axis_and_bear_uneven_scale_only_there(tmp_path, axis):
    stage = new_stage(tmp_path / "a.usda")
    shape = UsdGeom.Cylinder.Define(stage, "/World/A")
    shape.CreateAxisAttr(axis)
    shape.CreateRadiusAttr(0.1)
    shape.CreateHeightAttr(2.0)
    scale = [1.0, 1.0, 1.0]
    scale["XYZ".index(axis)] = 3.0
    shape.AddScaleOp().Set(Gf.Vec3f(*scale))
    UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
    body = body_named(saved(stage)[0], "A")
    assert body.kind is BodyKind.PASSIVE
    assert body.shape.radius == pytest.approx(0.1)
    along = body.shape.vertices[1] - body.shape.vertices[0]
    assert along == pytest.approx(6.0 * np.eye(3)["XYZ".index(axis)], abs=1e-6)


def test_a_kinematic_body_follows_its_time_samples(tmp_path):
    stage = new_stage(tmp_path / "a.usda", frames=11)
    prim = cube(stage, "/World/A", mass=1.0)
    UsdPhysics.RigidBodyAPI(prim).CreateKinematicEnabledAttr(True)
    move = UsdGeom.Xformable(prim).GetOrderedXformOps()[0]
    move.Set(Gf.Vec3d(0, 0, 0), 1)
    move.Set(Gf.Vec3d(10, 0, 0), 11)
    body = body_named(saved(stage)[0], "A")
    assert body.kind is BodyKind.ANIMATED
    assert body.path[:, 0] == pytest.approx(np.arange(11))


def test_groups_keep_apart_whom_they_filter(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    for number, name in enumerate("ABC"):
        cube(stage, f"/World/{name}", (1, 1, 1), (3 * number, 0, 0), mass=1.0)
    groups = {name: UsdPhysics.CollisionGroup.Define(stage, f"/World/G{name}") for name in "AB"}
    for name, group in groups.items():
        group.GetCollidersCollectionAPI().CreateIncludesRel().AddTarget(f"/World/{name}")
    groups["A"].CreateFilteredGroupsRel().AddTarget("/World/GB")
    groups["A"].CreateFilteredGroupsRel().AddTarget("/World/GA")
    scene, _ = saved(stage)
    a, b, c = (body_named(scene, name).collections for name in "ABC")
    assert (bool(a & a & b), bool(a & c), bool(b & c), bool(b & b)) == (False, True, True, True)


def test_filtered_pairs_are_excluded(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    first = cube(stage, "/World/A", mass=1.0)
    cube(stage, "/World/B", (1, 1, 1), (3, 0, 0), mass=1.0)
    UsdPhysics.FilteredPairsAPI.Apply(first).CreateFilteredPairsRel().AddTarget("/World/B")
    assert saved(stage)[0].spec.excluded == (("A", "B"),)


@pytest.mark.parametrize("seed", range(20))
def test_masks_are_just_those_of_the_groups_that_collide(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    table = rng.random((n, n)) < 0.6
    table |= table.T
    masks, lost = masks_of(table)
    # a group that does not collide with itself shares no bit, so it cannot share one with another
    mute = ~np.diag(table)
    wanted = table & ~mute[:, None] & ~mute[None, :]
    assert np.array_equal(collide(masks) & ~mute[:, None] & ~mute[None, :], wanted)
    assert all(mute[i] or mute[j] for i, j in lost)


def test_what_is_unknown_or_has_no_place_is_said_by_its_name(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    prim = cube(stage, "/World/A", mass=1.0)
    prim.AddAppliedSchema("PhysxRigidBodyAPI")
    distance = UsdPhysics.DistanceJoint.Define(stage, "/World/Rope")
    distance.CreateBody0Rel().AddTarget("/World/A")
    UsdGeom.Cube.Define(stage, "/World/Scenery")
    _, found = saved(stage)
    said = {one.field: one.objects for one in found.warnings}
    assert said["PhysxRigidBodyAPI"] == ("/World/A",)
    assert said["PhysicsDistanceJoint"] == ("/World/Rope",)
    assert "geometry" in said


def test_a_layer_that_is_referenced_is_read(tmp_path):
    part = Usd.Stage.CreateNew(str(tmp_path / "part.usda"))
    part.SetDefaultPrim(UsdGeom.Xform.Define(part, "/Part").GetPrim())
    cube(part, "/Part/Box", mass=3.0)
    part.Save()
    stage = new_stage(tmp_path / "a.usda")
    stage.DefinePrim(Sdf.Path("/World/One")).GetReferences().AddReference("./part.usda")
    assert body_named(saved(stage)[0], "Box").mass == 3.0
