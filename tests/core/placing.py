# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes turned in space and scenes seen in a mirror, with everything that they have: motion, paths, joints, gravity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from solver_core.scene.joints import AxisSpec, JointSpec
from solver_core.scene.spec import BodySpec, SceneSpec, ShapeSpec

__all__ = ["Placement", "mirrored", "turned"]

Floats = np.ndarray
FLIP = np.array([-1.0, 1.0, 1.0])
# Of what is a vector product, as a rotation: a mirror leaves the component along its normal and turns the others round.
AXIAL_FLIP = -FLIP
QUATERNION_FLIP = np.array([1.0, *AXIAL_FLIP])


@dataclass(frozen=True)
class Placement:
    """A mirror image along x if `is_mirrored`, turned in space by `rotation` after that."""

    is_mirrored: bool = False
    rotation: Rotation | None = None

    def applied(self, spec: SceneSpec) -> SceneSpec:
        """The scene there."""
        spec = mirrored(spec) if self.is_mirrored else spec
        return spec if self.rotation is None else turned(spec, self.rotation)

    def undone(self, vectors: Floats) -> Floats:
        """Vectors (..., 3) such as places and velocities of the scene there, in the axes of the scene as it was."""
        return self._undone(vectors, FLIP)

    def undone_axial(self, vectors: Floats) -> Floats:
        """The same of angular velocities and torques."""
        return self._undone(vectors, AXIAL_FLIP)

    def undone_orientations(self, quaternions: Floats) -> Floats:
        """The same of quaternions (..., 4)."""
        if self.rotation is not None:
            inverse = self.rotation.inv()
            flat = quaternions.reshape(-1, 4)
            flat = (inverse * Rotation.from_quat(flat, scalar_first=True)).as_quat(scalar_first=True)
            quaternions = flat.reshape(quaternions.shape)
        return quaternions * QUATERNION_FLIP if self.is_mirrored else quaternions

    def _undone(self, vectors: Floats, flip: Floats) -> Floats:
        if self.rotation is not None:
            vectors = self.rotation.inv().apply(vectors.reshape(-1, 3)).reshape(vectors.shape)
        return vectors * flip if self.is_mirrored else vectors


def mirrored(spec: SceneSpec) -> SceneSpec:
    """The scene in a mirror, its left and right changed, along x."""
    bodies = tuple(
        replace(_placed(body, _flipped), shape=_mirrored_shape(body.shape), inertia=_mirrored_inertia(body.inertia))
        for body in spec.bodies
    )
    joints = tuple(_mirrored_joint(joint) for joint in spec.joints)
    return replace(_with_gravity(spec, lambda vectors: vectors * FLIP), bodies=bodies, joints=joints)


def turned(spec: SceneSpec, rotation: Rotation) -> SceneSpec:
    """The scene turned as a whole in space, gravity with it."""

    def turn(places: Floats, quaternions: Floats, spins: Floats) -> tuple[Floats, Floats, Floats]:
        orientations = (rotation * Rotation.from_quat(quaternions, scalar_first=True)).as_quat(scalar_first=True)
        return rotation.apply(places), orientations, rotation.apply(spins)

    bodies = tuple(_placed(body, turn) for body in spec.bodies)
    joints = []
    for joint in spec.joints:
        place, orientation, _ = turn(joint.position, joint.orientation, np.zeros(3))
        joints.append(replace(joint, position=place, orientation=orientation))
    return replace(_with_gravity(spec, rotation.apply), bodies=bodies, joints=tuple(joints))


Placing = Callable[[Floats, Floats, Floats], tuple[Floats, Floats, Floats]]


def _flipped(places: Floats, quaternions: Floats, spins: Floats) -> tuple[Floats, Floats, Floats]:
    return places * FLIP, quaternions * QUATERNION_FLIP, spins * AXIAL_FLIP


def _placed(body: BodySpec, place: Placing) -> BodySpec:
    """The body with its pose, twist and path changed. Raises ValueError for what belongs to axes of the world."""
    if not (np.all(body.linear_factor == 1.0) and np.all(body.angular_factor == 1.0)):
        raise ValueError(f"{body.name}: a locked axis of the world does not turn with the scene")
    position, orientation, spin = place(body.position, body.orientation, body.angular_velocity)
    velocity = place(body.velocity, body.orientation, body.angular_velocity)[0]
    path = body.path
    if path is not None:
        places, orientations, _ = place(path[:, :3], path[:, 3:], np.zeros((len(path), 3)))
        path = np.concatenate([places, orientations], axis=1)
    return replace(body, position=position, orientation=orientation, velocity=velocity, angular_velocity=spin, path=path)


def _with_gravity(spec: SceneSpec, change: Callable[[Floats], Floats]) -> SceneSpec:
    """Raises ValueError for a scene with force fields."""
    if spec.fields or spec.absorbers:
        raise ValueError("force fields are not turned or mirrored")
    path = spec.gravity_path
    return replace(spec, gravity=change(np.asarray(spec.gravity)), gravity_path=None if path is None else change(path))


def _mirrored_shape(shape: ShapeSpec) -> ShapeSpec:
    children = tuple(
        replace(
            child,
            shape=_mirrored_shape(child.shape),
            position=child.position * FLIP,
            orientation=child.orientation * QUATERNION_FLIP,
        )
        for child in shape.children
    )
    return replace(shape, vertices=shape.vertices * FLIP, triangles=shape.triangles[:, ::-1], children=children)


def _mirrored_inertia(inertia: Floats | None) -> Floats | None:
    return None if inertia is None else inertia * np.outer(FLIP, FLIP)


def _mirrored_joint(joint: JointSpec) -> JointSpec:
    """A mirror turns round the coordinate along x and the angles about y and z."""
    if joint.changes:
        raise ValueError(f"{joint.name}: a joint that changes is not mirrored")
    place, orientation, _ = _flipped(joint.position, joint.orientation, np.zeros(3))
    linear = _reversed(joint.linear[0]), joint.linear[1], joint.linear[2]
    angular = joint.angular[0], _reversed(joint.angular[1]), _reversed(joint.angular[2])
    return replace(joint, position=place, orientation=orientation, linear=linear, angular=angular)


def _reversed(axis: AxisSpec) -> AxisSpec:
    """The same axis in the other direction."""
    return replace(axis, lower=-axis.upper, upper=-axis.lower, rest=-axis.rest, motor_velocity=-axis.motor_velocity)
