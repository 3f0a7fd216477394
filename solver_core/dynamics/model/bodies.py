# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigid bodies as arrays: what is constant through a simulation, and the state that a step moves on."""

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
    """The constants of all bodies, as kernels take them; n bodies, of which `moving` are moved by the solver.

    dof: (n,) index among the moving bodies, -1 for the others. mass: (n,) kg, inertia: (n, 3, 3) kg m^2 about the centre of
    mass in body axes; axes: (n, 3, 3), moments: (n, 3), its `principal_axes`. lock: (n, 6) 1 for free and 0 for locked world
    axes, linear then angular. damping: (n, 2) fractions of linear and angular velocity lost in a second. mu: (n, 2) static and
    dynamic; restitution: (n,). size: (n,) m, half the largest extent, infinite for planes. collections: (n,) bit masks.
    gravity: (3,) m/s^2.
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
    """What a step changes: position (n, 3) of the centres of mass, orientation (n, 4), velocity (n, 3) of the centres of mass,
    and angular momentum (n, 3) about them, world axes. Velocities and momenta belong to the middle of the step (leapfrog).
    modal, modal_velocity: (k,) how far bodies are bent in their modes, one body after the other, and how fast.
    """

    position: Floats
    orientation: Floats
    velocity: Floats
    angular_momentum: Floats
    modal: Floats
    modal_velocity: Floats


@dataclass(frozen=True)
class Bodies:
    """What of the bodies is constant: their model; shapes in centre-of-mass frames; where each centre of mass lies in its body
    frame, (n, 3) m; and which bodies do not collide, (k, 2) sorted pairs."""

    model: Model
    shapes: ShapeTable
    center_of_mass: Floats
    excluded: NDArray[np.int64]


def build_bodies(spec: SceneSpec) -> tuple[Bodies, State]:
    """Arrays and first state of a validated scene, without modes: a body's modes are counted where they are computed."""
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
            # it has no extent, and its rotation has to count as motion
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
    """Half the largest extent in m, by which rest offsets scale; infinite where another body's size must count."""
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
    """The path (frames, 7) of a centre of mass, which is at `center` (3,) in the body frame whose path is given."""
    arm = rotate(np.ascontiguousarray(path[:, 3:]), np.tile(center, (len(path), 1)))
    return np.concatenate([path[:, :3] + arm, path[:, 3:]], axis=1)


def angular_momentum(inertia: Floats, orientation: Floats, angular: Floats) -> Floats:
    """(3,) that of a body with inertia (3, 3) in body axes, which turns with an angular velocity (3,) in world axes."""
    return momenta(matrices(orientation[None]), inertia[None], angular[None])[0]


def momenta(rotation: Floats, inertia: Floats, angular: Floats) -> Floats:
    """(n, 3) angular momenta of bodies with rotations and inertia tensors (n, 3, 3), the latter in body axes, that turn with
    angular velocities (n, 3) in world axes."""
    back = rotation.transpose(0, 2, 1)
    return product(rotation, product(inertia, product(back, angular[..., None])))[..., 0]


def to_body_frames(bodies: Bodies, state: State) -> tuple[Floats, Floats]:
    """Poses (n, 7) and velocities (n, 6) of the body frames, from those of the centres of mass."""
    arm = rotate(state.orientation, bodies.center_of_mass)
    rotation = matrices(state.orientation)
    back = rotation.transpose(0, 2, 1)
    local = product(inverses(bodies.model.inertia), product(back, state.angular_momentum[..., None]))
    angular = product(rotation, local)[..., 0]
    poses = np.concatenate([state.position - arm, state.orientation], axis=1)
    velocities = np.concatenate([state.velocity - np.cross(angular, arm), angular], axis=1)
    return poses, velocities
