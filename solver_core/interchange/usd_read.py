# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading of stages of UsdPhysics, also those of other programs, as described scenes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pxr import Sdf, Tf, Usd, UsdGeom, UsdPhysics

from ..scene.spec import BodySpec, SceneSpec, SolverSettings
from ..validation.findings import SceneError, SceneProblem
from ..validation.scene import validate
from .described import Described, Found, Look, seconds_a_step
from .usd_read_bodies import Group, groups_of, read_body, rigid_ancestor
from .usd_read_filters import with_filters
from .usd_read_instances import instances_of
from .usd_read_joints import read_joint
from .usd_stage import Opened, opened, sentence_of

__all__ = ["read_stage"]

Array = NDArray[np.float64]

EARTH = 9.81


def read_stage(file: Path, found: Found) -> Described:
    """Return the scene of a .usd, .usda, .usdc or .usdz file. found: gets a warning for each feature that is left out.

    Raises SceneError with all problems, each with the path of its prim, or with the message of OpenUSD about a value that it
    cannot read. OpenUSD reads values only when they are needed.
    """
    try:
        return described(opened(file, found), file, found)
    except Tf.ErrorException as error:
        message = f"a part of it cannot be read: {sentence_of(error)}; it is damaged, export it again"
        raise SceneError((SceneProblem(str(file), "file", message),)) from error


def described(stage: Opened, file: Path, found: Found) -> Described:
    """Return the scene of a stage. Raises SceneError, and Tf.ErrorException for values that cannot be read."""
    settings = SolverSettings()
    bodies, looks, paths = read_bodies(stage)
    found.refuse()
    if not bodies:
        message = "it has no rigid bodies; give prims RigidBodyAPI and CollisionAPI, or import it with Blender's own USD"
        raise SceneError((SceneProblem(str(file), "bodies", message),))
    spec = SceneSpec(
        bodies=tuple(bodies),
        gravity=gravity_of(stage),
        frame_start=stage.start,
        frame_end=stage.end,
        fps=stage.rate,
        time_scale=stage.rate / stage.fps,
        friction_combine=stage.rules[0],
        restitution_combine=stage.rules[1],
    )
    by_path = {path: name for name, path in paths.items()}
    spec = with_joints(stage, spec, by_path, seconds_a_step(spec, settings))
    spec = with_filters(stage, spec, by_path)
    found.refuse()
    try:
        validate(spec, settings)
    except SceneError as error:
        # A scene in which nothing moves can be imported; the user can make bodies active.
        for problem in (one for one in error.problems if one.field != "bodies"):
            found.wrong(paths.get(problem.object, problem.object), problem.field, problem.message)
        found.refuse()
    return Described(spec, settings, looks)


def read_bodies(stage: Opened) -> tuple[list[BodySpec], dict[str, Look], dict[str, str]]:
    """Return the bodies, and their looks and the paths of their prims by their names."""
    instancers = [prim for prim in stage.stage.Traverse() if prim.IsA(UsdGeom.PointInstancer)]
    prototypes = [path for one in instancers for path in UsdGeom.PointInstancer(one).GetPrototypesRel().GetForwardedTargets()]
    hidden = [*prototypes, *(one.GetPath() for one in instancers)]
    bodies: list[BodySpec] = []
    looks: dict[str, Look] = {}
    paths: dict[str, str] = {}

    def add(group: Group, name: str, path: str, world: Array | None) -> BodySpec | None:
        read = read_body(stage, group, name, world)
        if read is None:
            return None
        paths[name] = path
        if read[1] is not None:
            looks[name] = read[1]
        return read[0]

    for group in groups_of(stage, prims_of(stage.stage, hidden)):
        path = str(group.prim.GetPath())
        if (body := add(group, free_name(group.prim, paths), path, None)) is not None:
            bodies.append(body)
    for prim in instancers:
        bodies += instances_of(stage, prim, paths, add)
    return bodies, looks, paths


def prims_of(stage: Usd.Stage, hidden: list[Sdf.Path]) -> Iterator[Usd.Prim]:
    """Yield all prims, also those of instances, except those at and below hidden paths."""
    prims = iter(Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()))
    for prim in prims:
        if any(prim.GetPath().HasPrefix(path) for path in hidden):
            prims.PruneChildren()
            continue
        yield prim


def free_name(prim: Usd.Prim, taken: dict[str, str]) -> str:
    """Return the display name of a prim, or its path if the name is taken."""
    name = prim.GetDisplayName() if prim.HasAuthoredDisplayName() and prim.GetDisplayName() else prim.GetName()
    if name not in taken:
        return name
    return str(prim.GetPath()).lstrip("/")


def gravity_of(stage: Opened) -> Array:
    """Return the gravity (3,) of the first scene, or that of the earth [m/s^2]."""
    scenes = [prim for prim in stage.stage.Traverse() if prim.IsA(UsdPhysics.Scene)]
    for other in scenes[1:]:
        stage.found.odd(
            str(other.GetPath()),
            "PhysicsScene",
            f"only one scene is read, {scenes[0].GetPath()}; the bodies of this one are added to it",
        )
    down = np.array([0.0, 0.0, -1.0])
    if not scenes:
        return EARTH * down
    scene = UsdPhysics.Scene(scenes[0])
    direction = stage.up @ stage.vector(scenes[0], scene.GetGravityDirectionAttr())
    strength = stage.number(scenes[0], scene.GetGravityMagnitudeAttr(), -1.0)
    length = float(np.linalg.norm(direction))
    # In the schema a negative number means the gravity of the earth.
    return (direction / length if length > 0.0 else down) * (strength * stage.length if strength >= 0.0 else EARTH)


def with_joints(stage: Opened, spec: SceneSpec, by_path: dict[str, str], step: float) -> SceneSpec:
    """Return a scene with the joints of a stage. by_path: names of bodies, by the paths of their prims. step: time step [s]."""
    taken: dict[str, str] = {}
    joints, excluded = [], set(spec.excluded)
    moving = {body.name for body in spec.bodies}

    def body_of(prim: Usd.Prim) -> str:
        ancestor: Usd.Prim | None = rigid_ancestor(prim) or prim
        while ancestor and not ancestor.IsPseudoRoot():
            if str(ancestor.GetPath()) in by_path:
                return by_path[str(ancestor.GetPath())]
            ancestor = ancestor.GetParent()
        return ""

    for prim in prims_of(stage.stage, []):
        if not prim.IsA(UsdPhysics.Joint):
            continue
        name = free_name(prim, taken)
        read = read_joint(stage, prim, name, body_of, step)
        if read is None:
            continue
        taken[name] = str(prim.GetPath())
        joints.append(read.joint)
        ends = (read.joint.body_a, read.joint.body_b)
        if not read.collides and moving.issuperset(ends):
            excluded.add((min(ends), max(ends)))
    return replace(spec, joints=tuple(joints), excluded=tuple(sorted(excluded)))
