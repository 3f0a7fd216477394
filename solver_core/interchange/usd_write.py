# SPDX-License-Identifier: GPL-3.0-or-later
"""Writing of a described scene as a stage of UsdPhysics, in m and kg with Z up. The time codes are the frames of the scene."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt

from ..scene.spec import BodyKind, BodySpec, FrictionCombine, MaterialSpec, SceneSpec, ShapeKind
from .described import Described, Found, Look, say_activation_left_out, say_surface_left_out
from .filters import collide
from .frames import continuous, matrix_of, quaternion_of
from .solids import Named, leaves, solid_of
from .usd_instances import groups_of, write_instances
from .usd_names import (
    DAMPING_ATTRIBUTES,
    FRICTION_RULE_ATTRIBUTE,
    MARGIN_ATTRIBUTE,
    RESTITUTION_RULE_ATTRIBUTE,
    ROOT_PRIM,
    Names,
)
from .usd_write_joints import write_joints
from .usd_write_shapes import write_look, write_solid

__all__ = ["write_stage"]

Array = NDArray[np.float64]


def write_stage(scene: Described, file: Path, found: Found, *, instances: bool = False) -> None:
    """Write a scene to a .usd, .usda or .usdc file. found: gets a warning for each feature that USD lacks.

    instances: bodies that are alike but for their place become one point instancer a kind. Raises OSError.
    """
    try:
        stage = Usd.Stage.CreateNew(str(file))
    except Tf.ErrorException as error:
        raise OSError(f"{file} cannot be made: {error}") from error
    spec = scene.spec
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    stage.SetStartTimeCode(spec.frame_start)
    stage.SetEndTimeCode(spec.frame_end)
    stage.SetFramesPerSecond(spec.fps)
    stage.SetTimeCodesPerSecond(spec.fps / spec.time_scale)
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, ROOT_PRIM).GetPrim())
    names = Names(stage)
    write_gravity(stage, names, spec, found)
    materials = {material: write_material(stage, names, material, spec) for material in {b.material: None for b in spec.bodies}}
    kinds = groups_of(scene) if instances else []
    within = {name for kind in kinds for name in kind}
    paths: dict[str, Sdf.Path] = {}
    for body in spec.bodies:
        if body.name not in within:
            paths[body.name] = write_body(stage, names, body, scene, materials[body.material], found)
    for kind in kinds:
        write_instances(stage, names, kind, scene, materials, found, write_prototype)
    write_joints(stage, names, scene, paths, found)
    write_filters(stage, names, spec, paths, within, found)
    say_what_is_left_out(spec, found)
    try:
        stage.Save()
    except Tf.ErrorException as error:
        raise OSError(f"{file} cannot be written: {error}") from error


def write_gravity(stage: Usd.Stage, names: Names, spec: SceneSpec, found: Found) -> None:
    scene = UsdPhysics.Scene.Define(stage, names.path("Physics"))
    strength = float(np.linalg.norm(spec.gravity))
    direction = spec.gravity / strength if strength > 0.0 else np.array([0.0, 0.0, -1.0])
    scene.CreateGravityDirectionAttr(Gf.Vec3f(*direction.tolist()))
    scene.CreateGravityMagnitudeAttr(strength)
    for name, rule in (
        (FRICTION_RULE_ATTRIBUTE, spec.friction_combine),
        (RESTITUTION_RULE_ATTRIBUTE, spec.restitution_combine),
    ):
        scene.GetPrim().CreateAttribute(name, Sdf.ValueTypeNames.Token, custom=True).Set(rule.value)
    if spec.gravity_path is not None:
        found.odd("gravity", "gravity_path", "its change is left out; the file has the gravity of the first frame")


def write_material(stage: Usd.Stage, names: Names, material: MaterialSpec, spec: SceneSpec) -> UsdShade.Material:
    """Write a material. Its coefficients are those of two such surfaces in contact, whatever the combination rule."""
    prim = UsdShade.Material.Define(stage, names.path(material.name or "Surface", "Surfaces"))
    prim.GetPrim().SetDisplayName(material.name)
    surface = UsdPhysics.MaterialAPI.Apply(prim.GetPrim())
    rule, other = spec.friction_combine, spec.restitution_combine
    surface.CreateStaticFrictionAttr(rule.pair(material.mu_static, material.mu_static))
    surface.CreateDynamicFrictionAttr(rule.pair(material.mu_dynamic, material.mu_dynamic))
    surface.CreateRestitutionAttr(other.pair(material.restitution, material.restitution))
    return prim


def write_body(
    stage: Usd.Stage, names: Names, body: BodySpec, scene: Described, material: UsdShade.Material, found: Found
) -> Sdf.Path:
    spec, path = scene.spec, names.path(body.name)
    xform = UsdGeom.Xform.Define(stage, path)
    prim = xform.GetPrim()
    prim.SetDisplayName(body.name)
    samples = scene.motion.get(body.name) if body.kind is BodyKind.ACTIVE else body.path
    write_pose(xform, np.concatenate([body.position, body.orientation]), samples, spec.frame_start)
    write_rigid_body(prim, body, found)
    if body.kind is BodyKind.ACTIVE and body.path is not None:
        found.odd(
            body.name,
            "path",
            "the motion that it follows at first is left out; the solver moves it from the first frame on",
        )
    write_colliders(stage, path, body, scene.looks.get(body.name), spec, found)
    UsdShade.MaterialBindingAPI.Apply(prim).Bind(material, UsdShade.Tokens.weakerThanDescendants, "physics")
    return path


def write_prototype(
    stage: Usd.Stage, path: Sdf.Path, body: BodySpec, scene: Described, material: UsdShade.Material, found: Found
) -> None:
    """Write a body at the origin, the prototype of an instancer."""
    prim = UsdGeom.Xform.Define(stage, path).GetPrim()
    write_rigid_body(prim, body, found, moves=False)
    write_colliders(stage, path, body, scene.looks.get(body.name), scene.spec, found)
    UsdShade.MaterialBindingAPI.Apply(prim).Bind(material, UsdShade.Tokens.weakerThanDescendants, "physics")


def write_pose(xform: UsdGeom.Xformable, pose: Array, samples: Array | None, start: int) -> None:
    translate = xform.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble)
    orient = xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble)
    translate.Set(Gf.Vec3d(*pose[:3].tolist()))
    orient.Set(Gf.Quatd(*pose[3:].tolist()))
    if samples is None:
        return
    with Sdf.ChangeBlock():
        for number, (place, turn) in enumerate(zip(samples[:, :3], continuous(samples[:, 3:]), strict=True)):
            translate.Set(Gf.Vec3d(*place.tolist()), start + number)
            orient.Set(Gf.Quatd(*turn.tolist()), start + number)


def write_rigid_body(prim: Usd.Prim, body: BodySpec, found: Found, *, moves: bool = True) -> None:
    rigid = UsdPhysics.RigidBodyAPI.Apply(prim)
    rigid.CreateRigidBodyEnabledAttr(body.kind is not BodyKind.PASSIVE)
    rigid.CreateKinematicEnabledAttr(body.kind is BodyKind.ANIMATED)
    if body.kind is not BodyKind.ACTIVE:
        return
    rigid.CreateStartsAsleepAttr(body.starts_asleep)
    if moves:
        turn = matrix_of(body.orientation)
        rigid.CreateVelocityAttr(Gf.Vec3f(*(turn.T @ body.velocity).tolist()))
        rigid.CreateAngularVelocityAttr(Gf.Vec3f(*np.degrees(turn.T @ body.angular_velocity).tolist()))
    write_mass(prim, body)
    for name, value in zip(DAMPING_ATTRIBUTES, (body.linear_damping, body.angular_damping), strict=True):
        if value > 0.0:
            prim.CreateAttribute(name, Sdf.ValueTypeNames.Float, custom=True).Set(value)
            attribute = name.partition(":")[2]
            found.odd(body.name, attribute, "UsdPhysics has no attribute for it; only Stiction reads it from this file")
    if not (np.all(body.linear_factor == 1.0) and np.all(body.angular_factor == 1.0)):
        found.odd(body.name, "lock_location", "its locked axes are left out; use a constraint to the world for them")


def write_mass(prim: Usd.Prim, body: BodySpec) -> None:
    mass = UsdPhysics.MassAPI.Apply(prim)
    if body.mass is not None:
        mass.CreateMassAttr(body.mass)
    elif body.density is not None:
        mass.CreateDensityAttr(body.density)
    if body.inertia is not None:
        moments, axes = np.linalg.eigh(body.inertia)
        axes[:, 2] *= np.linalg.det(axes)
        mass.CreateDiagonalInertiaAttr(Gf.Vec3f(*moments.tolist()))
        mass.CreatePrincipalAxesAttr(Gf.Quatf(*quaternion_of(axes).tolist()))
    if body.center_of_mass is not None:
        mass.CreateCenterOfMassAttr(Gf.Vec3f(*body.center_of_mass.tolist()))


def write_colliders(stage: Usd.Stage, path: Sdf.Path, body: BodySpec, look: Look | None, spec: SceneSpec, found: Found) -> None:
    parts = list(leaves(body.shape))
    # A visible mesh that is also the collider is written once.
    is_seen = (
        look is not None
        and len(parts) == 1
        and body.shape.kind in (ShapeKind.HULL, ShapeKind.MESH)
        and solid_of(body.shape).kind in (Named.HULL, Named.MESH)
        and look.points.shape == body.shape.vertices.shape
        and bool(np.allclose(look.points, body.shape.vertices, atol=1e-6))
    )
    for number, (shape, position, rotation) in enumerate(parts):
        solid = solid_of(shape)
        place = path.AppendChild("Shape" if len(parts) == 1 else f"Shape_{number + 1}")
        prim = write_solid(stage, place, solid, position, rotation, look if is_seen else None)
        UsdPhysics.CollisionAPI.Apply(prim)
        if solid.kind in (Named.HULL, Named.MESH):
            form = UsdPhysics.MeshCollisionAPI.Apply(prim)
            whole = UsdPhysics.Tokens.convexHull if solid.kind is Named.HULL else UsdPhysics.Tokens.none
            form.CreateApproximationAttr(whole)
            if solid.margin > 0.0:
                prim.CreateAttribute(MARGIN_ATTRIBUTE, Sdf.ValueTypeNames.Float, custom=True).Set(solid.margin)
                found.odd(
                    body.name, "collision_margin", "UsdPhysics has no attribute for it; only Stiction reads it from this file"
                )
        if look is not None and not is_seen:
            UsdGeom.Imageable(prim).CreatePurposeAttr(UsdGeom.Tokens.guide)
        if body.deformation is not None and number == 0:
            points = UsdGeom.Mesh(prim).GetPointsAttr()
            for frame, moved in enumerate(body.deformation):
                points.Set(Vt.Vec3fArray.FromNumpy(np.asarray(moved, dtype=np.float32)), spec.frame_start + frame)
    if look is not None and not is_seen:
        write_look(stage, path.AppendChild("Look"), look)


def write_filters(
    stage: Usd.Stage, names: Names, spec: SceneSpec, paths: Mapping[str, Sdf.Path], within: set[str], found: Found
) -> None:
    """Write collision groups for masks that exclude collisions, and filtered pairs for excluded pairs without a joint."""
    masks = sorted({body.collections for body in spec.bodies})
    table = collide(masks)
    if not table.all():
        groups = [UsdPhysics.CollisionGroup.Define(stage, names.path(f"Group_{k + 1}", "Groups")) for k in range(len(masks))]
        for row, group in enumerate(groups):
            for column, other in enumerate(groups):
                if not table[row, column]:
                    group.CreateFilteredGroupsRel().AddTarget(other.GetPath())
            members = group.GetCollidersCollectionAPI()
            for body in spec.bodies:
                if body.collections == masks[row] and body.name in paths:
                    members.CreateIncludesRel().AddTarget(paths[body.name])
        if within:
            found.odd("instances", "collision_collections", "bodies within an instancer are in no collision group")
    joined = {frozenset((joint.body_a, joint.body_b)) for joint in spec.joints}
    for pair in spec.excluded:
        if frozenset(pair) not in joined and pair[0] in paths and pair[1] in paths:
            prim = stage.GetPrimAtPath(paths[pair[0]])
            UsdPhysics.FilteredPairsAPI.Apply(prim).CreateFilteredPairsRel().AddTarget(paths[pair[1]])


def say_what_is_left_out(spec: SceneSpec, found: Found) -> None:
    say_activation_left_out(spec, "UsdPhysics", found)
    for one in spec.fields:
        found.odd(one.name, "field", "UsdPhysics has no force fields; it is left out")
    for body in spec.bodies:
        say_surface_left_out(body, "UsdPhysics", found)
    for pair in spec.pairs:
        found.odd(f"{pair.a}, {pair.b}", "pairs", "UsdPhysics has no friction of pairs of materials; it is left out")
    if spec.friction_combine is not FrictionCombine.AVERAGE and len({body.material.mu_static for body in spec.bodies}) > 1:
        found.odd(
            "scene",
            "friction_combine",
            f"other tools combine friction by their own rule, not by {spec.friction_combine.value}; that of two equal surfaces "
            "is the same, that of unequal ones is not",
        )
    if spec.speed_path is not None:
        message = "its change is left out: the motion is that of the frames, slow where Stiction's is, and gravity is not"
        found.odd("scene", "speed_path", message)
    if not math.isclose(spec.time_scale, 1.0):
        found.odd("scene", "time_scale", "it is written as time codes a second, and the motion has its speed in other tools")
