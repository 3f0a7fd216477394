# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigid bodies of a USD stage: their prims, shapes, masses, surfaces, motion and looks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from pxr import Usd, UsdGeom, UsdPhysics, UsdShade

from ..scene.spec import BodyKind, BodySpec, ChildSpec, FrictionCombine, MaterialSpec, ShapeKind, ShapeSpec
from .described import Look
from .frames import matrix_of, nearest_rotation, quaternion_of
from .links import as_link
from .solids import Named, hull_if_open, placed
from .usd_names import DAMPING_ATTRIBUTES
from .usd_read_shapes import look_of, solid_at
from .usd_stage import Opened

__all__ = ["Group", "groups_of", "read_body", "rigid_ancestor"]

Array = NDArray[np.float64]

# kg/m^3, of bodies without a mass; the default of the schema.
DEFAULT_DENSITY = 1000.0
KNOWN = ("Physics", "MaterialBindingAPI", "CollectionAPI", "GeomModelAPI", "SemanticsAPI")


@dataclass
class Group:
    """The prims of a body. prim: the body itself. colliders: its shapes. looks: visible meshes."""

    prim: Usd.Prim
    colliders: list[Usd.Prim] = field(default_factory=list)
    looks: list[Usd.Prim] = field(default_factory=list)


def rigid_ancestor(prim: Usd.Prim) -> Usd.Prim | None:
    """Return the prim or its nearest ancestor that is a rigid body, or None."""
    while prim and not prim.IsPseudoRoot():
        if prim.HasAPI(UsdPhysics.RigidBodyAPI):
            return prim
        prim = prim.GetParent()
    return None


def groups_of(opened: Opened, prims: Iterator[Usd.Prim]) -> list[Group]:
    """Return the bodies among prims: rigid bodies, and each collider that belongs to none of them."""
    groups: dict[str, Group] = {}
    unseen = 0
    for prim in prims:
        owner = rigid_ancestor(prim)
        collides = prim.HasAPI(UsdPhysics.CollisionAPI)
        if collides and UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get(opened.time) is False:
            opened.found.odd(str(prim.GetPath()), "collisionEnabled", "it is off; the shape is left out")
            collides = False
        body = owner if owner is not None else prim if collides else None
        if body is None:
            unseen += prim.IsA(UsdGeom.Gprim)
            continue
        group = groups.setdefault(str(body.GetPath()), Group(body))
        if collides:
            group.colliders.append(prim)
        if prim.IsA(UsdGeom.Mesh) and is_seen(prim, opened):
            group.looks.append(prim)
    if unseen:
        message = f"{unseen} shapes without physics are left out; import them with Blender's own USD importer"
        opened.found.odd("stage", "geometry", message)
    return list(groups.values())


def is_seen(prim: Usd.Prim, opened: Opened) -> bool:
    image = UsdGeom.Imageable(prim)
    shown = image.ComputePurpose() in (UsdGeom.Tokens.default_, UsdGeom.Tokens.render)
    return shown and image.ComputeVisibility(opened.time) != UsdGeom.Tokens.invisible


def read_body(opened: Opened, group: Group, name: str, world: Array | None = None) -> tuple[BodySpec, Look | None] | None:
    """Return the body of a group and its look, or None if a problem was added.

    world: (4, 4) world matrix of the body, by default that of its prim.
    """
    found, prim = opened.found, group.prim
    path, kind = str(prim.GetPath()), kind_of(opened, prim)
    matrix = opened.world(prim) if world is None else world
    if not found.is_finite(path, "xformOp", matrix):
        return None
    if not group.colliders and kind is BodyKind.PASSIVE:
        return None
    frame = np.eye(4)
    try:
        frame[:3, :3] = nearest_rotation(matrix[:3, :3])
    except ValueError as error:
        found.wrong(path, "xformOp:scale", str(error))
        return None
    frame[:3, 3] = matrix[:3, 3]
    outside = matrix @ np.linalg.inv(opened.local(prim))
    if len(group.colliders) == 1 and group.colliders[0].GetTypeName() == "Plane":
        frame = plane_frame(opened, group.colliders[0], outside)
    if group.colliders:
        shape = read_shape(opened, group, np.linalg.inv(frame) @ outside, is_active=kind is BodyKind.ACTIVE)
    else:
        shape = ShapeSpec(ShapeKind.NONE)
    if shape is None:
        return None
    pose = np.concatenate([frame[:3, 3], quaternion_of(frame[:3, :3])])
    body = BodySpec(name, kind, shape, position=pose[:3], orientation=pose[3:], material=read_material(opened, group))
    if kind is BodyKind.ACTIVE:
        body = with_mass(opened, group, with_motion(opened, prim, body), np.linalg.inv(frame) @ matrix)
    elif kind is BodyKind.ANIMATED:
        body = replace(body, path=path_of(opened, prim, pose))
    if kind is not BodyKind.ANIMATED and world is None:
        warn_of_time_samples(opened, prim, kind)
    say_unknown_schemas(opened, prim)
    return body, merged_look(opened, group, np.linalg.inv(frame) @ outside)


def kind_of(opened: Opened, prim: Usd.Prim) -> BodyKind:
    """Return the kind of a body."""
    rigid = UsdPhysics.RigidBodyAPI(prim)
    if not prim.HasAPI(UsdPhysics.RigidBodyAPI) or rigid.GetRigidBodyEnabledAttr().Get(opened.time) is False:
        return BodyKind.PASSIVE
    return BodyKind.ANIMATED if rigid.GetKinematicEnabledAttr().Get(opened.time) else BodyKind.ACTIVE


def say_unknown_schemas(opened: Opened, prim: Usd.Prim) -> None:
    """Add a warning for each applied schema that is not supported."""
    for schema in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
        if not schema.startswith(KNOWN):
            opened.found.odd(str(prim.GetPath()), schema, "this schema is not supported; its values are left out")


def plane_frame(opened: Opened, collider: Usd.Prim, outside: Array) -> Array:
    """Return the frame (4, 4) of a half-space in the world, with its normal along z."""
    world, solid = outside @ opened.local(collider), solid_at(opened, collider)
    frame = np.eye(4)
    frame[:3, 3] = world[:3, 3]
    frame[:3, :3] = nearest_rotation(world[:3, :3]) @ (np.eye(3) if solid is None else solid.rotation)
    return frame


def read_shape(opened: Opened, group: Group, to_body: Array, *, is_active: bool) -> ShapeSpec | None:
    """Return the shape of a body, or None if a problem was added.

    One collider is a shape in the axes of the body. Several are a compound, each in its own axes.

    to_body: (4, 4), from the axes of the stage to the body frame.
    is_active: the solver moves the body, so open meshes become hulls.
    """
    children = []
    is_whole = True
    for collider in group.colliders:
        path, solid = str(collider.GetPath()), solid_at(opened, collider)
        if solid is None:
            is_whole = False
            continue
        if solid.kind is Named.PLANE:
            if len(group.colliders) == 1:
                return ShapeSpec(ShapeKind.PLANE)
            opened.found.wrong(path, "Plane", "a plane cannot be a part of a body; make it a body of its own")
            is_whole = False
            continue
        affine = to_body @ opened.local(collider)
        try:
            turn = nearest_rotation(affine[:3, :3])
            frame = np.eye(4)
            if len(group.colliders) > 1:
                frame[:3, :3], frame[:3, 3] = turn, affine[:3, 3]
            shape = placed(solid, np.linalg.inv(frame) @ affine)
        except ValueError as error:
            opened.found.wrong(path, "xformOp:scale", str(error))
            is_whole = False
            continue
        shape = hull_if_open(shape, path, opened.found) if is_active else shape
        children.append(ChildSpec(shape, frame[:3, 3], quaternion_of(frame[:3, :3])))
    if not is_whole:
        return None
    return children[0].shape if len(children) == 1 else ShapeSpec(ShapeKind.COMPOUND, children=tuple(children))


def with_motion(opened: Opened, prim: Usd.Prim, body: BodySpec) -> BodySpec:
    """Return a body with its velocities, which are in its axes in the schema, its sleep and its damping."""
    rigid, turn = UsdPhysics.RigidBodyAPI(prim), matrix_of(body.orientation)
    damping = [opened.number(prim, prim.GetAttribute(name)) if prim.HasAttribute(name) else 0.0 for name in DAMPING_ATTRIBUTES]
    return replace(
        body,
        velocity=turn @ opened.vector(prim, rigid.GetVelocityAttr()) * opened.length,
        angular_velocity=turn @ np.radians(opened.vector(prim, rigid.GetAngularVelocityAttr())),
        starts_asleep=bool(rigid.GetStartsAsleepAttr().Get()),
        linear_damping=damping[0],
        angular_damping=damping[1],
    )


def with_mass(opened: Opened, group: Group, body: BodySpec, to_body: Array) -> BodySpec:
    """Return a body with its mass, center of mass and inertia.

    The mass is the first of these that is authored: the mass of the body, the sum of the masses of its colliders, the density
    of its colliders, of the body, of the material, and the default density.

    to_body: (4, 4), from the space of the prim, which may be scaled, to the body frame.
    """
    found, prim = opened.found, group.prim
    density_unit = opened.mass / opened.length**3
    mass_api = UsdPhysics.MassAPI(prim)
    mass = checked(opened, prim, mass_api.GetMassAttr()) * opened.mass
    parts = [UsdPhysics.MassAPI(one) for one in group.colliders if one != prim]
    masses = [checked(opened, one.GetPrim(), one.GetMassAttr()) * opened.mass for one in parts]
    if mass == 0.0 and masses and all(value > 0.0 for value in masses):
        mass = sum(masses)
        if len(masses) > 1:
            found.odd(
                str(prim.GetPath()), "mass", "the masses of its colliders are added; the density of a body is uniform here"
            )
    if mass == 0.0 and any(value > 0.0 for value in masses):
        found.odd(str(prim.GetPath()), "mass", "not all of its colliders have a mass; those masses are left out")
    if mass > 0.0:
        body = replace(body, mass=mass)
    elif group.colliders:
        body = replace(body, density=density_of(opened, group) * density_unit or DEFAULT_DENSITY)
    moments = opened.vector(prim, mass_api.GetDiagonalInertiaAttr()) * opened.mass * opened.length**2
    if (moments < 0.0).any():
        found.wrong(
            str(prim.GetPath()),
            "diagonalInertia",
            f"{tuple(moments.tolist())} are not moments of inertia; make them all above 0",
        )
    elif moments.any():
        # Validation refuses moments that no body can have.
        axes = matrix_of(opened.quaternion(prim, mass_api.GetPrincipalAxesAttr()))
        body = replace(body, inertia=symmetric(axes @ np.diag(moments) @ axes.T))
    center = mass_api.GetCenterOfMassAttr().Get(opened.time) if mass_api.GetCenterOfMassAttr() else None
    # In the schema minus infinity means that the center is not given.
    if center is not None and np.isfinite(np.array(center)).all():
        place = to_body @ np.append(np.array(center, dtype=np.float64), 1.0)
        body = replace(body, center_of_mass=place[:3])
    return body if group.colliders else as_link(body, str(prim.GetPath()), ("mass", "diagonalInertia"), found)


def symmetric(matrix: Array) -> Array:
    """Return the symmetric part of a matrix (3, 3), which differs only by rounding."""
    return 0.5 * (matrix + matrix.T)


def density_of(opened: Opened, group: Group) -> float:
    """Return the density of the colliders, of the body or of their material, in units of the stage; 0 if none is authored."""
    densities = [checked(opened, one, UsdPhysics.MassAPI(one).GetDensityAttr()) for one in group.colliders if one != group.prim]
    positive = {value for value in densities if value > 0.0}
    if len(positive) > 1 or (positive and min(densities) == 0.0):
        opened.found.odd(
            str(group.prim.GetPath()), "density", "its colliders differ in density; the whole body has the largest"
        )
    density = max(positive, default=0.0) or checked(opened, group.prim, UsdPhysics.MassAPI(group.prim).GetDensityAttr())
    material = bound(group.colliders[0])
    if density == 0.0 and material is not None:
        density = checked(opened, material, UsdPhysics.MaterialAPI(material).GetDensityAttr())
    return density


def checked(opened: Opened, prim: Usd.Prim, attribute: Usd.Attribute) -> float:
    """Return a number of 0 or more, 0 if it is not authored. Adds a problem for others."""
    value = opened.number(prim, attribute)
    if value < 0.0 or math.isinf(value):
        message = f"it is {value:g}; make it a finite number above 0, or remove it"
        opened.found.wrong(str(prim.GetPath()), attribute.GetName(), message)
        return 0.0
    return value


def bound(prim: Usd.Prim) -> Usd.Prim | None:
    """Return the physics material of a prim, also if an ancestor has it, or None."""
    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
    prim = material.GetPrim()
    return prim if prim and prim.HasAPI(UsdPhysics.MaterialAPI) else None


def read_material(opened: Opened, group: Group) -> MaterialSpec:
    found = opened.found
    materials = [bound(collider) for collider in group.colliders or [group.prim]]
    if len({None if one is None else one.GetPath() for one in materials}) > 1:
        message = "its colliders differ in material; a body has one surface here, that of the first"
        found.odd(str(group.prim.GetPath()), "material:binding:physics", message)
    prim = materials[0]
    if prim is None:
        return MaterialSpec()
    surface, (rule, other) = UsdPhysics.MaterialAPI(prim), opened.rules
    name = prim.GetDisplayName() if prim.HasAuthoredDisplayName() else prim.GetName()
    restitution = checked(opened, prim, surface.GetRestitutionAttr())
    if restitution > 1.0:
        found.wrong(str(prim.GetPath()), "restitution", f"{restitution:g} gives bodies energy at impacts; make it 1 at most")
    return MaterialSpec(
        own_share(rule, checked(opened, prim, surface.GetStaticFrictionAttr())),
        own_share(rule, checked(opened, prim, surface.GetDynamicFrictionAttr())),
        own_share(other, restitution),
        name,
    )


def own_share(rule: FrictionCombine, pair: float) -> float:
    """Return the coefficient of a surface such that two of them in contact have the coefficient `pair`."""
    return math.sqrt(pair) if rule is FrictionCombine.PRODUCT else pair


def path_of(opened: Opened, prim: Usd.Prim, first: Array) -> Array:
    """Return the poses (frames, 7) of a prim. first: (7,) pose that replaces all of them if a problem is added."""
    poses = []
    for frame in range(opened.start, opened.end + 1):
        matrix = opened.world(prim, frame)
        where = f"xformOp at frame {frame}"
        if not opened.found.is_finite(str(prim.GetPath()), where, matrix):
            return np.tile(first, (opened.end - opened.start + 1, 1))
        try:
            poses.append(np.concatenate([matrix[:3, 3], quaternion_of(nearest_rotation(matrix[:3, :3]))]))
        except ValueError as error:
            opened.found.wrong(str(prim.GetPath()), where, str(error))
            return np.tile(first, (opened.end - opened.start + 1, 1))
    return np.array(poses)


def warn_of_time_samples(opened: Opened, prim: Usd.Prim, kind: BodyKind) -> None:
    """Add a warning if the prim or an ancestor has time samples, which only kinematic bodies follow."""
    ancestor: Usd.Prim | None = prim
    while ancestor and not ancestor.IsPseudoRoot():
        xform = UsdGeom.Xformable(ancestor)
        if xform and xform.TransformMightBeTimeVarying():
            reason = (
                "the solver moves it"
                if kind is BodyKind.ACTIVE
                else "it stays at its first pose; make it kinematic to follow them"
            )
            opened.found.odd(str(prim.GetPath()), "xformOp", f"its time samples are left out: {reason}")
            return
        ancestor = ancestor.GetParent()


def merged_look(opened: Opened, group: Group, to_body: Array) -> Look | None:
    """Return the visible meshes of a body as one look in its frame, or None. Colliders are used only if there are no others."""
    alone = [prim for prim in group.looks if prim not in group.colliders]
    looks = []
    for prim in alone or group.looks:
        if (look := look_of(opened, prim)) is not None:
            affine = to_body @ opened.local(prim)
            looks.append(replace(look, points=look.points @ affine[:3, :3].T + affine[:3, 3]))
    if not looks:
        return None
    before = np.cumsum([0, *(len(look.points) for look in looks)])
    return Look(
        np.concatenate([look.points for look in looks]),
        np.concatenate([look.counts for look in looks]),
        np.concatenate([look.corners + offset for look, offset in zip(looks, before[:-1], strict=True)]).astype(np.int32),
        looks[0].colour,
    )
