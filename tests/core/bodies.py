# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies, scenes and what comes of them, for tests of whole simulations."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.scene.parts import box_shape
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec


def material(mu=0.5, restitution=0.0, mu_dynamic=None) -> MaterialSpec:
    """Coefficients that both bodies of a pair have, under Blender's product rule."""
    return MaterialSpec(math.sqrt(mu), math.sqrt(mu if mu_dynamic is None else mu_dynamic), math.sqrt(restitution))


def body(name="Box", size=(0.2, 0.2, 0.2), position=(0.0, 0.0, 0.0), mass=1.0, **changes) -> BodySpec:
    """An active box; vectors may be given as tuples."""
    changes = {k: np.asarray(v, dtype=float) if isinstance(v, tuple) else v for k, v in changes.items()}
    return BodySpec(name, BodyKind.ACTIVE, box_shape(size), position=np.asarray(position, dtype=float), mass=mass, **changes)


def scene(*bodies, **changes) -> SceneSpec:
    """A scene of these bodies."""
    return SceneSpec(bodies, **changes)


def run(spec, frames, **settings):
    """The frames of a simulation, the first one too."""
    return sc.Simulation(spec, **settings).run(frames)


def track(frames, index=0):
    """Poses (frames, 7) and velocities (frames, 6) of one body."""
    return np.array([f.poses[index] for f in frames]), np.array([f.velocities[index] for f in frames])


def box_inertia(size, mass):
    """(3, 3) kg m^2 of a box of the given edge lengths about its centre."""
    x, y, z = np.square(size)
    return mass / 12.0 * np.diag([y + z, x + z, x + y])


def to_matrix(orientation):
    """Rotation matrix of a quaternion (w, x, y, z)."""
    return Rotation.from_quat(orientation[[1, 2, 3, 0]]).as_matrix()


def spin(pose, twist, inertia):
    """Angular momentum about the centre of mass and energy of rotation."""
    rotation = to_matrix(pose[3:])
    world = rotation @ inertia @ rotation.T
    return world @ twist[3:], 0.5 * twist[3:] @ world @ twist[3:]


def poses(frames, body):
    return np.array([frame.poses[body] for frame in frames])


def point(frames, body, local):
    """Where a point of a body is, frame by frame."""
    pose = poses(frames, body)
    return pose[:, :3] + Rotation.from_quat(pose[:, 3:], scalar_first=True).apply(local)


def gaps(frames, spec):
    """(joints, frames) m: how far the two places of each joint are from each other, or from their place in the world."""
    number = {body.name: k for k, body in enumerate(spec.bodies)}
    found = []
    for joint in spec.joints:
        ends = []
        for name in (joint.body_a, joint.body_b):
            if name == "":
                ends.append(np.tile(joint.position, (len(frames), 1)))
                continue
            first = frames[0].poses[number[name]]
            local = Rotation.from_quat(first[3:], scalar_first=True).inv().apply(joint.position - first[:3])
            ends.append(point(frames, number[name], local))
        found.append(np.linalg.norm(ends[1] - ends[0], axis=1))
    return np.array(found)
