# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigid bodies as arrays: the constants of a simulation, and the state that a step changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...geometry.body_mass import body_mass_properties, radius_of_link
from ...geometry.compounds import parts, shifted
from ...geometry.shapes import ShapeTable, build_shapes
from ...geometry.solids_of_revolution import ROUND, round_bounds
from ...linalg.in_order import product
from ...linalg.mat3 import inverses
from ...scene.spec import BodyKind, SceneSpec, ShapeKind, ShapeSpec
from ..motion.free_rotation import principal_axes
from ..motion.rotation import matrices, rotate

__all__ = [
    "RIGID",
    "Bodies",
    "Model",
    "State",
    "angular_momentum",
    "build_bodies",
    "momenta",
    "to_body_frames",
    "to_center_of_mass",
]

Floats = NDArray[np.float64]

RIGID = 6  # degrees of freedom of a rigid body, those of its twist; they are the first ones of every body


class Model(NamedTuple):
    """The constants of n bodies for kernels. The solver moves `moving` of them.

    Attributes
    ----------
    dof : (n,) index among the moving bodies, -1 for others
    mass : (n,) kg
    inertia : (n, 3, 3) kg m^2, about the center of mass in body axes
    axes, moments : (n, 3, 3) and (n, 3) kg m^2, its `principal_axes`
    lock : (n, 6) 1 for free and 0 for locked world axes, linear then angular
    damping : (n, 2) fractions of linear and angular velocity lost per second
    mu : (n, 2) coefficients of static and dynamic friction
    restitution : (n,)
    size : (n,) m, half the largest extent, infinite for planes
    collections : (n,) bit masks
    gravity : (3,) m/s^2
    """

    dof: NDArray[np.int64]
    mass: Floats
    inertia: Floats
    axes: Floats
    moments: Floats
    lock: Floats
    damping: Floats
    mu: Floats
    restitution: Floats
    size: Floats
    collections: NDArray[np.int64]
    gravity: Floats


class State(NamedTuple):
    """The state of n bodies. Velocities and momenta belong to the middle of the last step (leapfrog).

    position, velocity: (n, 3) m and m/s, of the centers of mass. orientation: (n, 4) quaternions. angular_momentum: (n, 3) N m
    s about the centers of mass, world axes. modal, modal_velocity: (k,) m sqrt(kg) and m/s sqrt(kg), of flexible bodies,
    concatenated.
    """

    position: Floats
    orientation: Floats
    velocity: Floats
    angular_momentum: Floats
    modal: Floats
    modal_velocity: Floats


@dataclass(frozen=True)
class Bodies:
    """The constant data of n bodies.

    model: their constants. shapes: in center-of-mass frames. center_of_mass: (n, 3) m, in body frames. excluded: (k, 2) sorted
    pairs of bodies that do not collide.
    """

    model: Model
    shapes: ShapeTable
    center_of_mass: Floats
    excluded: NDArray[np.int64]


def build_bodies(spec: SceneSpec) -> tuple[Bodies, State]:
    """Return the constants and the first state of the bodies of a validated scene. `Bending` adds the modes to the state."""
    n = len(spec.bodies)
    moving = np.array([body.kind is BodyKind.ACTIVE for body in spec.bodies], dtype=bool)
    center, mass, inertia = np.zeros((n, 3)), np.ones(n), np.tile(np.eye(3), (n, 1, 1))
    for i, body in enumerate(spec.bodies):
        if moving[i]:
            properties = body_mass_properties(body)
            center[i], mass[i], inertia[i] = properties.center_of_mass, properties.mass, properties.inertia
    deforming = {i for i, body in enumerate(spec.bodies) if body.deformation is not None or body.deformable is not None}
    table = build_shapes([shifted(body.shape, -center[i]) for i, body in enumerate(spec.bodies)], deforming)
    size = np.array([_size(body.shape) for body in spec.bodies])
    collections = np.array([body.collections for body in spec.bodies], dtype=np.int64)
    for i, body in enumerate(spec.bodies):
        if body.shape.kind is ShapeKind.NONE:
            collections[i] = 0
            # The body has no extent, but its rotation has to count as motion.
            table.radius[i] = radius_of_link(body)
            size[i] = table.radius[i] or np.inf
    orientation = np.array([body.orientation for body in spec.bodies], dtype=float).reshape(n, 4)
    orientation /= np.linalg.norm(orientation, axis=1, keepdims=True)
    arm = rotate(orientation, center)
    position = np.array([body.position for body in spec.bodies], dtype=float).reshape(n, 3) + arm
    angular = np.array([body.angular_velocity for body in spec.bodies], dtype=float).reshape(n, 3)
    velocity = np.array([body.velocity for body in spec.bodies], dtype=float).reshape(n, 3) + np.cross(angular, arm)
    rotation = matrices(orientation)
    momentum = momenta(rotation, inertia, angular)
    velocity[~moving] = 0.0
    momentum[~moving] = 0.0
    axes, moments = principal_axes(inertia)
    model = Model(
        dof=np.where(moving, np.cumsum(moving) - 1, -1).astype(np.int64),
        mass=mass,
        inertia=inertia,
        axes=axes,
        moments=moments,
        lock=np.array([np.concatenate([b.linear_factor, b.angular_factor]) for b in spec.bodies], dtype=float).reshape(n, 6),
        damping=np.array([[b.linear_damping, b.angular_damping] for b in spec.bodies], dtype=float).reshape(n, 2),
        mu=np.array([[b.material.mu_static, b.material.mu_dynamic] for b in spec.bodies], dtype=float).reshape(n, 2),
        restitution=np.array([b.material.restitution for b in spec.bodies], dtype=float),
        size=size,
        collections=collections,
        gravity=np.asarray(spec.gravity, dtype=float),
    )
    number = {body.name: i for i, body in enumerate(spec.bodies)}
    excluded = np.array(sorted({tuple(sorted(number[name] for name in pair)) for pair in spec.excluded}), dtype=np.int64)
    state = State(position, orientation, velocity, momentum, np.zeros(0), np.zeros(0))
    return Bodies(model, table, center, excluded.reshape(-1, 2)), state


def _size(shape: ShapeSpec) -> float:
    """Return half the largest extent in m, to which rest offsets are relative.

    The result is infinite for half-spaces and for shapes without extent, so that the size of the other body counts.
    """
    lower, upper = np.full(3, np.inf), np.full(3, -np.inf)
    for part in parts(shape):
        if part.shape.kind is ShapeKind.PLANE or not len(part.shape.vertices):
            return np.inf
        corners = product(part.shape.vertices, part.rotation.T) + part.position
        low, high = corners.min(axis=0), corners.max(axis=0)
        if part.shape.kind in ROUND:
            low, high = round_bounds(replace(part.shape, vertices=corners))
        lower = np.minimum(lower, low - part.shape.margin)
        upper = np.maximum(upper, high + part.shape.margin)
    extent = float((upper - lower).max()) / 2.0
    return extent if extent > 0.0 else np.inf


def to_center_of_mass(path: Floats, center: Floats) -> Floats:
    """Return the path (frames, 7) of a center of mass from that of its body frame. center: (3,) m, in the body frame."""
    arm = rotate(np.ascontiguousarray(path[:, 3:]), np.tile(center, (len(path), 1)))
    return np.concatenate([path[:, :3] + arm, path[:, 3:]], axis=1)


def angular_momentum(inertia: Floats, orientation: Floats, angular: Floats) -> Floats:
    """Return the angular momentum (3,) N m s of a body, world axes.

    inertia: (3, 3) kg m^2 in body axes. orientation: (4,). angular: (3,) rad/s in world axes.
    """
    return momenta(matrices(orientation[None]), inertia[None], angular[None])[0]


def momenta(rotation: Floats, inertia: Floats, angular: Floats) -> Floats:
    """Return the angular momenta (n, 3) N m s of bodies, world axes.

    rotation: (n, 3, 3). inertia: (n, 3, 3) kg m^2 in body axes. angular: (n, 3) rad/s in world axes.
    """
    back = rotation.transpose(0, 2, 1)
    return product(rotation, product(inertia, product(back, angular[..., None])))[..., 0]


def to_body_frames(bodies: Bodies, state: State) -> tuple[Floats, Floats]:
    """Return the poses (n, 7) and velocities (n, 6) of the body frames, from those of the centers of mass."""
    arm = rotate(state.orientation, bodies.center_of_mass)
    rotation = matrices(state.orientation)
    back = rotation.transpose(0, 2, 1)
    local = product(inverses(bodies.model.inertia), product(back, state.angular_momentum[..., None]))
    angular = product(rotation, local)[..., 0]
    poses = np.concatenate([state.position - arm, state.orientation], axis=1)
    velocities = np.concatenate([state.velocity - np.cross(angular, arm), angular], axis=1)
    return poses, velocities
