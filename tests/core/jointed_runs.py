# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies on hinges, runs of what is jointed, and its energy."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.scene.joints import FREE_AXIS, LOCKED, JointSpec
from solver_core.scene.spec import MaterialSpec

from .chains import G

ROUGH = MaterialSpec(0.8, 0.8)
NONE = np.zeros(3)
ROD = (1.0, 0.1, 0.05)


def hinge(name, a, b, at, axis=1, law=FREE_AXIS, **more):
    """Free about one axis of the world, X, Y or Z."""
    angular = tuple(law if k == axis else LOCKED for k in range(3))
    return JointSpec(name, a, b, position=np.asarray(at, dtype=float), angular=angular, **more)


def run(spec, frames, **settings):
    """The frames with the first, a step each unless said otherwise."""
    return list(sc.Simulation(spec, **{"substeps": 1, **settings}).frames(frames))


def solved(frames):
    return all((frame.statistics.status == sc.Status.SOLVED).all() for frame in frames)


def energies(frames, mass, moments, gravity=G):
    """(frames - 2,) of the whole scene, J: velocities belong to the middle between two frames."""
    pose, twist = np.array([f.poses for f in frames]), np.array([f.velocities for f in frames])
    spin = np.empty_like(twist[..., 3:])
    for k in range(pose.shape[1]):
        spin[:, k] = Rotation.from_quat(pose[:, k, 3:], scalar_first=True).inv().apply(twist[:, k, 3:])
    kinetic = 0.5 * (mass * (twist[..., :3] ** 2).sum(axis=2) + (moments * spin**2).sum(axis=2)).sum(axis=1)
    height = (mass * gravity * pose[..., 2]).sum(axis=1)
    return height[1:-1] + 0.5 * (kinetic[1:-1] + kinetic[2:])


def box_moments(size, mass):
    x, y, z = size
    return mass / 12.0 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
