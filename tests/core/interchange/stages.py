# SPDX-License-Identifier: GPL-3.0-or-later
"""Stages of UsdPhysics as other tools write them, made with USD's own library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from solver_core.interchange.described import Described, Found
from solver_core.interchange.usd_read import read_stage


def new_stage(file: Path, *, up: str = "Z", metres: float = 1.0, frames: int = 48) -> Usd.Stage:
    stage = Usd.Stage.CreateNew(str(file))
    UsdGeom.SetStageUpAxis(stage, up)
    UsdGeom.SetStageMetersPerUnit(stage, metres)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    stage.SetStartTimeCode(1)
    stage.SetEndTimeCode(frames)
    UsdGeom.Xform.Define(stage, "/World")
    UsdPhysics.Scene.Define(stage, "/World/Physics")
    return stage


def cube(stage: Usd.Stage, path: str, size=(1.0, 1.0, 1.0), at=(0.0, 0.0, 0.0), *, mass: float | None = None) -> Usd.Prim:
    """A box that collides, and is a rigid body where it has a mass."""
    shape = UsdGeom.Cube.Define(stage, path)
    shape.CreateSizeAttr(1.0)
    shape.AddTranslateOp().Set(Gf.Vec3d(*map(float, at)))
    shape.AddScaleOp().Set(Gf.Vec3f(*map(float, size)))
    UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
    if mass is not None:
        UsdPhysics.RigidBodyAPI.Apply(shape.GetPrim())
        UsdPhysics.MassAPI.Apply(shape.GetPrim()).CreateMassAttr(mass)
    return shape.GetPrim()


def saved(stage: Usd.Stage) -> tuple[Described, Found]:
    """What is read of a stage once it is saved."""
    stage.Save()
    found = Found()
    return read_stage(Path(stage.GetRootLayer().realPath), found), found


def body_named(scene: Described, name: str):
    return next(body for body in scene.spec.bodies if body.name == name)


def corners(body) -> np.ndarray:
    """The corners of a hull in the world."""
    from solver_core.interchange.frames import matrix_of

    return body.shape.vertices @ matrix_of(body.orientation).T + body.position
