# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong in a stage is said with the path of its prim and what to do, all at once, and nothing is read of it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from pxr import Gf, UsdGeom, UsdPhysics, Vt

from solver_core.interchange.described import Described, Found
from solver_core.interchange.files import read, write
from solver_core.scenes import plain
from solver_core.validation.findings import SceneError

from .stages import cube, new_stage, saved


def ball(stage, scale=(1.0, 1.0, 1.0), radius=1.0):
    shape = UsdGeom.Sphere.Define(stage, "/World/Bad")
    shape.CreateRadiusAttr(radius)
    shape.AddScaleOp().Set(Gf.Vec3f(*scale))
    UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
    UsdPhysics.RigidBodyAPI.Apply(shape.GetPrim())
    return shape.GetPrim()


def mesh(stage, points, counts=(3,), corners=(0, 1, 2)):
    shape = UsdGeom.Mesh.Define(stage, "/World/Bad")
    shape.CreatePointsAttr(Vt.Vec3fArray([Gf.Vec3f(*point) for point in points]))
    shape.CreateFaceVertexCountsAttr(list(counts))
    shape.CreateFaceVertexIndicesAttr(list(corners))
    UsdPhysics.CollisionAPI.Apply(shape.GetPrim())


def joint_to_nowhere(stage):
    joint = UsdPhysics.FixedJoint.Define(stage, "/World/Bad")
    joint.CreateBody0Rel().AddTarget("/World/Good")
    joint.CreateBody1Rel().AddTarget("/World/Nowhere")


def material(stage, **values):
    from pxr import UsdShade

    surface = UsdShade.Material.Define(stage, "/World/Bad")
    own = UsdPhysics.MaterialAPI.Apply(surface.GetPrim())
    for name, value in values.items():
        getattr(own, f"Create{name}Attr")(value)
    prim = stage.GetPrimAtPath("/World/Good")
    UsdShade.MaterialBindingAPI.Apply(prim).Bind(surface, UsdShade.Tokens.weakerThanDescendants, "physics")


def mass(stage, **values):
    own = UsdPhysics.MassAPI.Apply(cube(stage, "/World/Bad", mass=1.0))
    for name, value in values.items():
        getattr(own, f"Create{name}Attr")(value)


def velocity(stage, value):
    UsdPhysics.RigidBodyAPI(ball(stage)).CreateVelocityAttr(Gf.Vec3f(*value))


def drive(stage, stiffness):
    joint = UsdPhysics.PrismaticJoint.Define(stage, "/World/Bad")
    joint.CreateBody1Rel().AddTarget("/World/Good")
    UsdPhysics.DriveAPI.Apply(joint.GetPrim(), "linear").CreateStiffnessAttr(stiffness)


def unknown(stage):
    UsdPhysics.CollisionAPI.Apply(UsdGeom.BasisCurves.Define(stage, "/World/Bad").GetPrim())


def uneven_capsule(stage):
    shape = UsdGeom.Capsule.Define(stage, "/World/Bad")
    shape.AddScaleOp().Set(Gf.Vec3f(1, 1, 2))
    UsdPhysics.CollisionAPI.Apply(shape.GetPrim())


BAD = {
    "zero scale": (lambda stage: ball(stage, (1, 0, 1)), "no volume"),
    "uneven ball": (lambda stage: ball(stage, (1, 2, 1)), "scale it evenly"),
    "uneven capsule": (uneven_capsule, "scale it evenly"),
    "no radius": (lambda stage: ball(stage, radius=0.0), "above 0"),
    "radius that is no number": (lambda stage: ball(stage, radius=math.nan), "not a number"),
    "place that is no number": (lambda stage: ball(stage).GetAttribute("xformOp:scale").Set(Gf.Vec3f(math.nan)), "finite"),
    "unknown shape": (unknown, "make it a Mesh"),
    "inertia that no body has": (lambda stage: mass(stage, DiagonalInertia=Gf.Vec3f(1, 1, 5)), "exceed the sum"),
    "inertia about two axes": (lambda stage: mass(stage, DiagonalInertia=Gf.Vec3f(1, 1, 0)), "must be above 0"),
    "negative mass": (lambda stage: mass(stage, Mass=-1.0), "above 0"),
    "infinite density": (lambda stage: mass(stage, Mass=0.0, Density=math.inf), "finite"),
    "negative inertia": (lambda stage: mass(stage, DiagonalInertia=Gf.Vec3f(1, -1, 1)), "above 0"),
    "velocity that is no number": (lambda stage: velocity(stage, (0, math.nan, 0)), "not finite"),
    "negative friction": (lambda stage: material(stage, StaticFriction=-0.1), "above 0"),
    "restitution above one": (lambda stage: material(stage, Restitution=1.5), "1 at most"),
    "point that is no number": (lambda stage: mesh(stage, [(0, 0, 0), (1, 0, 0), (0, math.nan, 0)]), "point 2"),
    "no points": (lambda stage: mesh(stage, []), "no points"),
    "no such point": (lambda stage: mesh(stage, [(0, 0, 0), (1, 0, 0), (0, 1, 0)], corners=(0, 1, 7)), "point 7"),
    "too few corners": (lambda stage: mesh(stage, [(0, 0, 0), (1, 0, 0), (0, 1, 0)], counts=(4,)), "4 corners"),
    "joint to nowhere": (joint_to_nowhere, "there is no body /World/Nowhere"),
    "spring that pushes": (lambda stage: drive(stage, -5.0), "0 or more"),
}


@pytest.mark.parametrize("name", BAD)
def test_it_is_named_with_its_prim_and_what_to_do(tmp_path, name):
    spoil, words = BAD[name]
    stage = new_stage(tmp_path / "a.usda")
    cube(stage, "/World/Good", mass=1.0)
    spoil(stage)
    with pytest.raises(SceneError) as caught:
        saved(stage)
    (problem,) = caught.value.problems
    assert problem.object == "/World/Bad"
    assert words in problem.message
    assert ";" in problem.message


def test_all_is_said_at_once(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    ball(stage, (1, 2, 1))
    cube(stage, "/World/Other", mass=-3.0)
    lone = UsdGeom.Xform.Define(stage, "/World/Lone")
    UsdPhysics.RigidBodyAPI.Apply(lone.GetPrim())
    UsdPhysics.MassAPI.Apply(lone.GetPrim()).CreateMassAttr(-1.0)
    with pytest.raises(SceneError) as caught:
        saved(stage)
    assert {problem.object for problem in caught.value.problems} == {"/World/Bad", "/World/Other", "/World/Lone"}


@pytest.mark.parametrize("ending", ["usda", "usdc"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_file_that_is_cut_off_is_refused(tmp_path, ending, share):
    file = tmp_path / f"a.{ending}"
    write(Described(plain.card_house(levels=1)), file, Found())
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(SceneError, match=r"a\.usd[ac]"):
        read(file, Found())


def test_a_file_that_is_something_else_is_refused(tmp_path):
    file = tmp_path / "a.usd"
    file.write_text("BLENDER or what")
    with pytest.raises(SceneError, match="export it again"):
        read(file, Found())
    with pytest.raises(SceneError, match="no such file"):
        read(tmp_path / "none.usda", Found())
    with pytest.raises(SceneError, match="ends with"):
        read(Path("a.obj"), Found())


def test_a_layer_that_is_missing_is_named(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    cube(stage, "/World/Good", mass=1.0)
    stage.DefinePrim("/World/One").GetReferences().AddReference("./gone.usda")
    with pytest.raises(SceneError, match=r"gone\.usda"):
        saved(stage)


@pytest.mark.parametrize("metres", [0.0, -1.0, math.nan])
def test_a_unit_that_is_none_is_refused(tmp_path, metres):
    stage = new_stage(tmp_path / "a.usda", metres=metres)
    cube(stage, "/World/Good", mass=1.0)
    with pytest.raises(SceneError, match="metersPerUnit"):
        saved(stage)


def test_what_cannot_be_written_leaves_the_file_that_was_there(tmp_path, monkeypatch):
    file = tmp_path / "a.usda"
    write(Described(plain.card_house(levels=1)), file, Found())
    before = file.read_bytes()
    from solver_core.interchange import usd_write

    monkeypatch.setattr(usd_write, "write_joints", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write(Described(plain.card_house(levels=2)), file, Found())
    assert file.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["a.usda"]
    other = tmp_path / "note.usda"
    other.write_text("mine")
    with pytest.raises(OSError, match="not a USD file"):
        write(Described(plain.card_house(levels=1)), other, Found())
