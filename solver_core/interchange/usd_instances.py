# SPDX-License-Identifier: GPL-3.0-or-later
"""Writing of bodies that differ only in pose and velocity as instances of a point instancer, with their motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, Vt
from scipy.spatial.transform import Rotation

from ..scene.spec import BodyKind, BodySpec, MaterialSpec, ShapeSpec
from .described import Described, Found, Look
from .frames import continuous, matrix_of
from .usd_names import NAMES_ATTRIBUTE, Names

__all__ = ["groups_of", "write_instances"]

Array = NDArray[np.float64]
Prototype = Callable[[Usd.Stage, Sdf.Path, BodySpec, Described, UsdShade.Material, Found], None]


def groups_of(scene: Described) -> list[list[str]]:
    """Return groups of names of active bodies that differ only in pose and velocity, two or more each.

    Bodies of joints and excluded pairs are not among them, because nothing can refer to an instance.
    """
    spec = scene.spec
    named = {name for joint in spec.joints for name in (joint.body_a, joint.body_b)} | {
        n for pair in spec.excluded for n in pair
    }
    kinds: dict[object, list[str]] = {}
    for body in spec.bodies:
        if body.kind is BodyKind.ACTIVE and body.name not in named and body.path is None:
            kinds.setdefault(likeness(body, scene.looks.get(body.name)), []).append(body.name)
    return [kind for kind in kinds.values() if len(kind) > 1]


def likeness(body: BodySpec, look: Look | None) -> object:
    inertia, center = (None if one is None else one.tobytes() for one in (body.inertia, body.center_of_mass))
    seen = None if look is None else (look.points.tobytes(), look.counts.tobytes(), look.corners.tobytes(), look.colour)
    damping, masses = (body.linear_damping, body.angular_damping), (body.mass, body.density, inertia, center)
    others = masses, body.material, body.collections, damping, body.starts_asleep
    return shape_key(body.shape), seen, others, body.linear_factor.tobytes(), body.angular_factor.tobytes()


def shape_key(shape: ShapeSpec) -> object:
    children = tuple((shape_key(one.shape), one.position.tobytes(), one.orientation.tobytes()) for one in shape.children)
    return shape.kind, shape.vertices.tobytes(), shape.triangles.tobytes(), shape.margin, shape.radius, children


def write_instances(
    stage: Usd.Stage,
    names: Names,
    kind: list[str],
    scene: Described,
    materials: Mapping[MaterialSpec, UsdShade.Material],
    found: Found,
    write_prototype: Prototype,
) -> None:
    """Write a group of equal bodies as one instancer, whose prototype is a rigid body. kind: names of the bodies."""
    bodies = [body for body in scene.spec.bodies if body.name in set(kind)]
    first = bodies[0]
    instancer = UsdGeom.PointInstancer.Define(stage, names.path(f"{first.name}_instances"))
    path = instancer.GetPath().AppendChild("Prototypes")
    UsdGeom.Scope.Define(stage, path)
    inner = path.AppendChild("Piece")
    centred = replace(first, position=np.zeros(3), orientation=np.array([1.0, 0.0, 0.0, 0.0]))
    write_prototype(stage, inner, centred, scene, materials[first.material], found)
    instancer.CreatePrototypesRel().AddTarget(inner)
    instancer.CreateProtoIndicesAttr(Vt.IntArray([0] * len(bodies)))
    prim = instancer.GetPrim()
    prim.CreateAttribute(NAMES_ATTRIBUTE, Sdf.ValueTypeNames.StringArray, custom=True).Set([body.name for body in bodies])
    rest = np.array([np.concatenate([body.position, body.orientation]) for body in bodies])
    speeds = np.array([np.concatenate([body.velocity, body.angular_velocity]) for body in bodies])
    write_state(instancer, rest, speeds, Usd.TimeCode.Default())
    paths = [scene.motion.get(body.name) for body in bodies]
    if any(one is None for one in paths):
        return
    spec = scene.spec
    motion = np.array([np.concatenate([one[:, :3], continuous(one[:, 3:])], axis=1) for one in paths if one is not None])
    seconds = spec.time_scale / spec.fps
    for frame in range(motion.shape[1]):
        speeds = rates(motion, frame, seconds) if motion.shape[1] > 1 else speeds
        write_state(instancer, motion[:, frame], speeds, Usd.TimeCode(spec.frame_start + frame))


def rates(motion: Array, frame: int, seconds: float) -> Array:
    """Return velocities [m/s] and angular velocities [rad/s] (n, 6) of poses (n, frames, 7) from a frame to the next one.

    Tools place instances between two samples by them. For the last frame they are those of the frame before. seconds: a frame.
    """
    before = min(frame, motion.shape[1] - 2)
    now, after = motion[:, before], motion[:, before + 1]
    turn = matrix_of(after[:, 3:]) @ np.swapaxes(matrix_of(now[:, 3:]), -1, -2)
    spin = Rotation.from_matrix(turn).as_rotvec()
    return np.concatenate([after[:, :3] - now[:, :3], spin], axis=1) / seconds


def write_state(instancer: UsdGeom.PointInstancer, poses: Array, speeds: Array, time: Usd.TimeCode) -> None:
    single = np.float32
    instancer.CreatePositionsAttr().Set(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(poses[:, :3], dtype=single)), time)
    turns = Vt.QuatfArray([Gf.Quatf(*pose.tolist()) for pose in poses[:, 3:]])
    instancer.CreateOrientationsfAttr().Set(turns, time)
    instancer.CreateVelocitiesAttr().Set(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(speeds[:, :3], dtype=single)), time)
    spins = np.ascontiguousarray(np.degrees(speeds[:, 3:]), dtype=single)
    instancer.CreateAngularVelocitiesAttr().Set(Vt.Vec3fArray.FromNumpy(spins), time)
