# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading of point instancers whose prototypes are rigid bodies. Each instance is a body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from ..scene.spec import BodyKind, BodySpec
from .usd_names import NAMES_ATTRIBUTE
from .usd_read_bodies import Group, groups_of
from .usd_stage import Opened

__all__ = ["instances_of"]

Array = NDArray[np.float64]
# A function of a group, a name, a path and a world matrix (4, 4). It returns the body, or None.
Add = Callable[[Group, str, str, Array | None], BodySpec | None]


@dataclass(frozen=True)
class Instances:
    """The instances of an instancer.

    indices: (n,) of the prototypes. places: n matrices (4, 4) in the axes of the instancer. names: (n,).
    velocities, spins: (n, 3) in the axes and units of the instancer, or None. Spins are in degrees per second.
    """

    indices: list[int]
    places: list[Array]
    names: list[str]
    velocities: Array | None
    spins: Array | None


def instances_of(stage: Opened, prim: Usd.Prim, taken: dict[str, str], add: Add) -> list[BodySpec]:
    """Return the bodies of a point instancer whose prototypes are rigid bodies. taken: names in use."""
    path, above = str(prim.GetPath()), stage.world(prim)
    targets = UsdGeom.PointInstancer(prim).GetPrototypesRel().GetForwardedTargets()
    groups = prototypes(stage, path, targets)
    instances = read_instances(stage, prim, len(targets))
    bodies = []
    for number, index in enumerate(instances.indices if instances is not None else ()):
        if instances is None or index not in groups:
            continue
        group = groups[index]
        within = np.linalg.inv(stage.local(stage.stage.GetPrimAtPath(targets[index]))) @ stage.local(group.prim)
        name = instances.names[number]
        name = name if name not in taken else f"{path.lstrip('/')}_{number}"
        body = add(group, name, f"{path}[{number}]", above @ instances.places[number] @ within)
        if body is not None:
            bodies.append(moving(body, instances, number, above))
    if bodies and UsdGeom.PointInstancer(prim).GetPositionsAttr().ValueMightBeTimeVarying():
        stage.found.odd(path, "positions", "its time samples are left out, because the solver moves its bodies")
    return bodies


def prototypes(stage: Opened, path: str, targets: list[Sdf.Path]) -> dict[int, Group]:
    """Return the prototypes that are rigid bodies, by index."""
    groups = {}
    for number, target in enumerate(targets):
        inner = stage.stage.GetPrimAtPath(target)
        if not inner:
            stage.found.wrong(path, "prototypes", f"there is no prim {target}; name another")
            continue
        found = [one for one in groups_of(stage, iter(Usd.PrimRange(inner, Usd.TraverseInstanceProxies()))) if one.colliders]
        if len(found) == 1 and found[0].prim.HasAPI(UsdPhysics.RigidBodyAPI):
            groups[number] = found[0]
        elif found:
            stage.found.odd(str(target), "prototypes", "it is not a single rigid body; its instances are left out")
    return groups


def read_instances(stage: Opened, prim: Usd.Prim, count: int) -> Instances | None:
    """Return the instances of an instancer, or None if a problem was added. count: number of prototypes."""
    instancer, path = UsdGeom.PointInstancer(prim), str(prim.GetPath())
    indices = list(instancer.GetProtoIndicesAttr().Get(stage.time) or [])
    if indices and (min(indices) < 0 or max(indices) >= count):
        stage.found.wrong(path, "protoIndices", f"there is no prototype {max(indices)} of {count}; repair the instancer")
        return None
    places = instancer.ComputeInstanceTransformsAtTime(
        stage.time, stage.time, UsdGeom.PointInstancer.IncludeProtoXform, UsdGeom.PointInstancer.IgnoreMask
    )
    if len(places) != len(indices):
        message = f"there are {len(indices)} instances, and not as many positions or orientations; repair the instancer"
        stage.found.wrong(path, "positions", message)
        return None
    stored = list(prim.GetAttribute(NAMES_ATTRIBUTE).Get() or []) if prim.HasAttribute(NAMES_ATTRIBUTE) else []
    names = stored if len(stored) == len(indices) else [f"{prim.GetName()}_{number}" for number in range(len(indices))]
    return Instances(
        indices,
        [np.array(place, dtype=np.float64).T for place in places],
        names,
        rates(stage, prim, instancer.GetVelocitiesAttr(), len(indices)),
        rates(stage, prim, instancer.GetAngularVelocitiesAttr(), len(indices)),
    )


def rates(stage: Opened, prim: Usd.Prim, attribute: Usd.Attribute, count: int) -> Array | None:
    """Return velocities (n, 3) of instances, or None. Time samples are ignored, because they belong to a baked motion."""
    value = attribute.Get(Usd.TimeCode.Default()) if attribute else None
    if value is None or len(value) != count:
        return None
    array = np.array(value, dtype=np.float64).reshape(-1, 3)
    return array if stage.found.is_finite(str(prim.GetPath()), attribute.GetName(), array) else None


def moving(body: BodySpec, instances: Instances, number: int, above: Array) -> BodySpec:
    """Return a body with the velocities of its instance. above: (4, 4) world matrix of the instancer."""
    if body.kind is not BodyKind.ACTIVE:
        return body
    if instances.velocities is not None:
        body = replace(body, velocity=above[:3, :3] @ instances.velocities[number])
    if instances.spins is not None:
        turn = above[:3, :3] / np.linalg.norm(above[:3, :3], axis=0)
        body = replace(body, angular_velocity=turn @ np.radians(instances.spins[number]))
    return body
