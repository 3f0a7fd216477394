# SPDX-License-Identifier: GPL-3.0-or-later
"""The predictor: bodies moved on by gravity, gyroscopic effects and damping alone (Kaufman et al. 2008, (12)).

Velocities live in the middle of a step, positions at its ends (leapfrog): a force acts over half of the step before and half of
this one. Angular momentum is the state, and a body turns on as it does without torque (`free_rotation.py`); what contacts
change comes on top of that. For them the inertia tensor is that of the orientation half a step ahead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..collision.contact_set import NO_CONTACTS, ContactSet
from ..compile.kernel import kernel, leaf_kernel
from .bodies import Model, State
from .motion.free_rotation import turn_freely
from .motion.rotation import turn, write_matrix

__all__ = ["Begin", "predict", "predicted_step"]

Floats = NDArray[np.float64]


class Begin(NamedTuple):
    """A step as it begins, n bodies, of which `moving` are awake and moved by the solver.

    at: time steps since the first frame; h: s. model: with degrees of freedom for those awake (n,) only. rotation: (n, 3, 3)
    and twist: (n, 6) at the begin; predicted: (n, 6), end_orientation: (n, 4), end_momentum: (n, 3), the twists, orientations
    and angular momenta that it would end with if nothing touched. mass, inverse_mass: (moving, 6, 6). contacts: those that may
    close in the step.
    """

    at: float
    h: float
    awake: NDArray[np.bool_]
    model: Model
    rotation: Floats
    mass: Floats
    inverse_mass: Floats
    twist: Floats
    predicted: Floats
    end_orientation: Floats
    end_momentum: Floats
    contacts: ContactSet


@leaf_kernel
def _world_inertia(rotation, inertia, out):
    """out := R I R^T."""
    for i in range(3):
        for j in range(3):
            s = 0.0
            for k in range(3):
                for m in range(3):
                    s += rotation[i, k] * inertia[k, m] * rotation[j, m]
            out[i, j] = s


@kernel
def predict(
    model, state, prescribed, h, force_time, rotation, mass, inverse_mass, twist, predicted, end_orientation, end_momentum
):
    """Fill what the step's contact problem needs to know of the bodies.

    prescribed: (n, 6) twists over this step of the bodies that the solver does not move. h: the step in s; force_time: the time
    in s over which forces act. Out: rotation (n, 3, 3) at the step's begin; mass, inverse_mass (moving, 6, 6) blocks; twist (n,
    6), the linear and angular velocities at the step's begin; predicted (n, 6), those that the step would end with if nothing
    touched; end_orientation (n, 4) and end_momentum (n, 3), the orientations and angular momenta that it would end with.
    """
    half = np.empty((3, 3))
    world = np.empty((3, 3))
    middle = np.empty(4)
    for b in range(model.dof.size):
        write_matrix(state.orientation[b], rotation[b])
        d = model.dof[b]
        if d < 0:
            twist[b] = prescribed[b]
            predicted[b] = prescribed[b]
            continue
        momentum = state.angular_momentum[b]
        locked = model.lock[b, 3] == 0.0 or model.lock[b, 4] == 0.0 or model.lock[b, 5] == 0.0
        if locked:
            _world_inertia(rotation[b], model.inertia[b], world)
            w = np.linalg.solve(world, momentum)
            turn(state.orientation[b], 0.5 * h * w[0], 0.5 * h * w[1], 0.5 * h * w[2], middle)
        else:
            turn_freely(state.orientation[b], momentum, model.axes[b], model.moments[b], 0.5 * h, middle)
        write_matrix(middle, half)
        _world_inertia(half, model.inertia[b], world)
        for i in range(3):
            for j in range(3):
                # a locked axis neither turns nor couples to the others
                if i != j and (model.lock[b, 3 + i] == 0.0 or model.lock[b, 3 + j] == 0.0):
                    world[i, j] = 0.0
        w = np.linalg.solve(world, momentum)
        inverse = np.linalg.inv(world)
        mass[d] = 0.0
        inverse_mass[d] = 0.0
        for i in range(3):
            mass[d, i, i] = model.mass[b]
            inverse_mass[d, i, i] = 1.0 / model.mass[b]
            for j in range(3):
                mass[d, 3 + i, 3 + j] = world[i, j]
                inverse_mass[d, 3 + i, 3 + j] = 0.5 * (inverse[i, j] + inverse[j, i])
        keep, keep_turning = (1.0 - model.damping[b, 0]) ** force_time, (1.0 - model.damping[b, 1]) ** force_time
        for i in range(3):
            twist[b, i] = state.velocity[b, i] * model.lock[b, i]
            twist[b, 3 + i] = w[i] * model.lock[b, 3 + i]
            predicted[b, i] = (state.velocity[b, i] + force_time * model.gravity[i]) * keep * model.lock[b, i]
            predicted[b, 3 + i] = w[i] * keep_turning * model.lock[b, 3 + i]
            end_momentum[b, i] = momentum[i] * keep_turning
        if locked:
            w = predicted[b, 3:]
            end_momentum[b] = world @ w
            turn(state.orientation[b], h * w[0], h * w[1], h * w[2], end_orientation[b])
        else:
            turn_freely(state.orientation[b], end_momentum[b], model.axes[b], model.moments[b], h, end_orientation[b])


def predicted_step(
    model: Model, state: State, prescribed: Floats, awake: NDArray[np.bool_], at: float, h: float, force_time: float
) -> Begin:
    """Predict a step of h seconds, with forces acting for `force_time` s; who is not awake (n,) is like one that never
    moves."""
    n, moving = len(awake), int(awake.sum())
    model = model._replace(dof=np.where(awake, np.cumsum(awake) - 1, -1))
    rotation, twist, predicted = np.empty((n, 3, 3)), np.empty((n, 6)), np.empty((n, 6))
    mass, inverse_mass = np.empty((moving, 6, 6)), np.empty((moving, 6, 6))
    end_orientation, end_momentum = np.empty((n, 4)), np.empty((n, 3))
    predict(
        model, state, prescribed, h, force_time, rotation, mass, inverse_mass, twist, predicted, end_orientation, end_momentum
    )
    return Begin(
        at, h, awake, model, rotation, mass, inverse_mass, twist, predicted, end_orientation, end_momentum, NO_CONTACTS
    )
